"""The family of classifiers: a pretrained encoder of transformers, a pooler and a class head."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from readlet.errors import ReadletError
from readlet.models.classifier.config import ClassifierConfig
from readlet.models.classifier.recipe import ClassifierRecipe
from readlet.models.classifier.scorer import ClassifierScorer, make_scorer, scorer_with
from readlet.models.family import ClassFamily
from readlet.models.onnx.model import WEIGHTS
from readlet.models.pretrained.family import PretrainedFamily, require_own_tokenizer
from readlet.models.pretrained.parts import load_parts
from readlet.models.pretrained.tokenizer_files import CONFIG, labels_of
from readlet.recipe.recipe import Recipe
from readlet.storage.stored_files import damage_of
from readlet.text.arrays import check_length
from readlet.text.labels import Labels
from readlet.text.pretrained import load_config, load_tokenizer
from readlet.text.rows import Stored
from readlet.text.subwords import SentenceEncoder, SentenceRows, layout_of, layout_of_one
from readlet.types import Sentence

_ANY = Labels("classes", ("0", "1", "2"))  # before the data is read


class ClassifierFamily(PretrainedFamily, ClassFamily):
    """Builds, trains and loads classifiers."""

    trial_lengths = (32, 48)

    def check_recipe(self, recipe: Recipe) -> None:
        """Load the encoder: its errors, and those of the pooler, come before any data is read."""
        super().check_recipe(recipe)
        if not recipe.training.start:
            self.build(recipe, self._encoder(_typed(recipe), _ANY, pairs=True))

    def fit_encoder(self, recipe: Recipe, examples: Sequence[Sentence]) -> SentenceEncoder:
        typed = _typed(recipe)
        pairs = bool(examples) and examples[0].second is not None
        return self._encoder(typed, Labels.learned(typed.data.labels, examples), pairs=pairs)

    def _encoder(self, recipe: ClassifierRecipe, labels: Labels, *, pairs: bool) -> SentenceEncoder:
        name, length = recipe.model.encoder, recipe.data.max_length
        tokenizer, config = load_tokenizer(name), load_config(name)
        layout = layout_of(tokenizer) if pairs else layout_of_one(tokenizer)
        made = SentenceEncoder(
            tokenizer.backend_tokenizer, layout, config, labels, length, pairs=pairs
        )
        require_own_tokenizer(made.tokenizer, layout, config, name)
        _check_length(made, name)
        return made

    def restore_encoder(self, recipe: Recipe, stored: Stored) -> SentenceEncoder:
        made = SentenceEncoder.from_stored(stored, _typed(recipe).data.max_length)
        _check_length(made, _typed(recipe).model.encoder)
        return made

    def restore_rows(self, stored: Stored) -> SentenceRows:
        return SentenceRows.from_stored(stored)

    def build(self, recipe: Recipe, encoder: SentenceEncoder) -> ClassifierScorer:
        loss = _typed(recipe).loss
        if loss.softmax == "norm" and isinstance(loss.gamma, str) and encoder.labels.outputs == 2:
            # Two scores of deviation 1 are 1 and -1, whatever the weights are: no gradient.
            fault = f"NormSoftmax over two classes learns nothing at {loss.gamma}"
            raise ReadletError(f"loss.gamma: {fault}; give a small number, such as 0.01")
        network = self.trained_network(recipe, encoder.config, sides=1)
        return make_scorer(_typed(recipe).config(), encoder, network)

    def load(self, folder: Path, config: dict[str, Any]) -> ClassifierScorer:
        with damage_of(folder / "config.json"):
            settings = ClassifierConfig.read(config)
        parts = load_parts(folder)
        with damage_of(folder / CONFIG):
            labels, pairs = labels_of(parts.more)
        with damage_of(folder / WEIGHTS):
            encoder = SentenceEncoder(
                parts.tokenizer,
                parts.layout,
                parts.config,
                labels,
                settings.max_length,
                pairs=pairs,
            )
            _check_length(encoder, settings.model.encoder)
            return scorer_with(parts.weights, settings, encoder)


def _check_length(encoder: SentenceEncoder, name: str) -> None:
    field = "data.max_length"
    check_length(encoder.longest, encoder.config, name, field=field, remedy="lower it")


def _typed(recipe: Recipe) -> ClassifierRecipe:
    assert isinstance(recipe, ClassifierRecipe)
    return recipe
