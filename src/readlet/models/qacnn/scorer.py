"""The family of QACNNnet: words with frozen and trainable vectors, and the network on them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from readlet.engine.optimiser import MixedPrecision
from readlet.models.family import Encoder, Scorer, SpanFamily, TrainableScorer
from readlet.models.onnx.model import WEIGHTS
from readlet.models.qacnn.config import QacnnConfig, QacnnNetwork
from readlet.models.qacnn.network import QACNN
from readlet.models.qacnn.onnx_inputs import WordInputs, load_words
from readlet.models.qacnn.recipe import QacnnRecipe
from readlet.models.torch_scorer import SpanLogits, TorchScorer, compiles
from readlet.models.weights import (
    STORED_FACTS,
    in_half_precision,
    on_disk,
    read_weights,
)
from readlet.recipe.recipe import Recipe
from readlet.storage.stored_files import damage_of, save_tensors
from readlet.text.arrays import Batches, Shape, shapes
from readlet.text.rows import Rows, Stored
from readlet.text.tensors import FormTables, WordBatch, word_batches
from readlet.text.vectors import Matrix, word_vectors
from readlet.text.word_features import (
    Features,
    Vocabulary,
    WordEncoder,
    build_vocabulary,
    count_words,
    frozen_table,
)
from readlet.types import Example

_VECTORS = "embedding.frozen"  # the word vectors from files


@dataclass
class QacnnScorer(TorchScorer):
    """The network and its vocabulary."""

    module: QACNN
    encoder: WordEncoder
    settings: QacnnConfig

    def batches(self, rows: Rows, batch_size: int, *, seed: int = 0) -> Batches[WordBatch]:
        assert isinstance(rows, Features)
        null = self.can_abstain
        return word_batches(rows, self._shapes(), batch_size, null=null, seed=seed)

    def _shapes(self) -> list[Shape]:
        languages = self.encoder.vocabulary.languages
        return shapes(self.encoder.windows, null=self.can_abstain, languages=languages)

    def over(self, rows: Rows) -> "_OverTables":
        assert isinstance(rows, Features)
        return _OverTables(self.module, FormTables(rows))

    def scoring(self, rows: Rows) -> "_OverTables":
        """The character vectors of every form are computed once, not at every position."""
        over = self.over(rows).to(self.device)
        self.module.read_characters(over.tables)
        return over

    def save(self, folder: Path) -> list[str]:
        weights = on_disk(dict(self.module.state_dict()), self.stored)
        first = self.encoder.vocabulary.trainable_rows
        weights[_VECTORS] = weights[_VECTORS][first:]  # (words, width): the rows before are zero
        save_tensors(folder / WEIGHTS, weights)
        return [WEIGHTS, *self.inputs().save(folder)]

    def inputs(self) -> WordInputs:
        return WordInputs(self.encoder, self.settings)

    def facts(self) -> list[str]:
        known = self.encoder.vocabulary
        listed = [
            f"- {len(known.frozen):,} words with frozen vectors, {len(known.trainable):,} with "
            f"trainable ones, {len(known.characters):,} characters"
        ]
        if known.languages:
            listed.append(f"- languages: {', '.join(known.languages)}")
        return listed + STORED_FACTS[self.stored]

    @property
    def words(self) -> int:
        """The number of words with frozen vectors, which a slim copy reduces."""
        return len(self.encoder.vocabulary.frozen)

    def bytes_of_words(self) -> list[int]:
        """The least number of bytes that each of these words takes in a slim copy."""
        width = self.encoder.vectors.shape[1]
        return [2 * width + _listed_bytes(word) for word in self.encoder.vocabulary.frozen]

    def slimmed(self, words: int | None = None) -> "QacnnScorer":
        """A copy with the vectors of the most frequent words, all weights in half precision.

        Vector files list frequent words first, and a vocabulary keeps their order. Other words
        become the unknown word, distinguished by their characters only. Words with trainable
        vectors are kept.
        """
        known = replace(self.encoder.vocabulary, frozen=self.encoder.vocabulary.frozen[:words])
        weights = dict(self.module.state_dict())
        weights[_VECTORS] = weights[_VECTORS][: known.trainable_rows + len(known.frozen)]
        weights = in_half_precision(weights)
        return scorer_of(self.settings.model_copy(update={"stored": "float16"}), known, weights)


class QacnnFamily(SpanFamily):
    """Builds, trains and loads QACNNnet."""

    def encoder_settings(self, recipe: Recipe) -> dict[str, Any]:
        return _typed(recipe).words.model_dump(mode="json")

    def fit_encoder(self, recipe: Recipe, examples: Sequence[Example]) -> WordEncoder:
        settings = _typed(recipe).words
        words: list[str] = []
        matrix = None
        if settings.vectors:
            paths = [Path(name) for name in settings.vectors]
            words, matrix = word_vectors(paths, settings.max_words, settings.languages)
        known = build_vocabulary(
            count_words(examples, settings.languages),
            words,
            trainable_words=settings.trainable_words,
            min_count=settings.min_count,
            min_character_count=settings.min_character_count,
            max_characters=settings.max_characters,
            languages=settings.languages,
        )
        width = settings.width if matrix is None else matrix.shape[1]
        return WordEncoder(known, frozen_table(known, matrix, width), _typed(recipe).data.windows)

    def restore_encoder(self, recipe: Recipe, stored: Stored) -> WordEncoder:
        return WordEncoder.from_stored(stored, _typed(recipe).data.windows)

    def restore_rows(self, stored: Stored) -> Features:
        return Features.from_stored(stored)

    def with_encoder_of(self, recipe: Recipe, start: Recipe) -> Recipe:
        return recipe.model_copy(update={"words": _typed(start).words})

    def build(self, recipe: Recipe, encoder: Encoder, *, can_abstain: bool) -> QacnnScorer:
        assert isinstance(encoder, WordEncoder)
        settings = _typed(recipe).config(null_answer=can_abstain)
        frozen = torch.from_numpy(encoder.vectors)  # (rows, width)
        return QacnnScorer(_network(settings, frozen, encoder.vocabulary), encoder, settings)

    def load(self, folder: Path, config: dict[str, Any]) -> QacnnScorer:
        inputs = load_words(folder, config)
        with damage_of(folder / WEIGHTS):
            weights = read_weights(folder / WEIGHTS)
            return scorer_of(inputs.settings, inputs.encoder.vocabulary, weights)

    def compile_ahead(self, recipe: Recipe, device: torch.device, start: Scorer | None) -> bool:
        """Compile the blocks on random inputs; the blocks that are trained reuse the programs."""
        settings = _typed(recipe).config(null_answer=False)
        model = QACNN(settings, torch.zeros(1, 1), 1, 1).to(device)
        model.compile_blocks()
        precision = MixedPrecision(recipe.training.precision, device)
        keep = torch.ones(
            recipe.training.batch_size, 160, dtype=torch.bool, device=device
        )  # (B, L)

        def trial() -> None:
            for block in (model.encoder, model.blocks[0]):
                with precision.autocast():
                    x = torch.randn(*keep.shape, settings.model.width, device=device)  # (B, L, D)
                    out = block(x.requires_grad_(), keep)  # (B, L, D)
                out.sum().backward()

        return compiles(trial)

    def compile(self, scorer: TrainableScorer) -> None:
        assert isinstance(scorer.module, QACNN)
        scorer.module.compile_blocks()


def scorer_of(
    settings: QacnnConfig, vocabulary: Vocabulary, weights: dict[str, Tensor]
) -> QacnnScorer:
    """The model with these weights, which may be in half precision and without the zero rows.

    It computes in float32. Only the table of word vectors may stay in half precision: its rows are
    converted at lookup, at no cost.
    """
    frozen = weights[_VECTORS]  # (words, width)
    rows = vocabulary.trainable_rows
    absent = rows + len(vocabulary.frozen) - len(frozen)
    if len(weights["embedding.trainable.weight"]) != rows or absent not in (0, rows):
        raise ValueError(f"{len(frozen)} words do not match the vocabulary")
    frozen = pad(frozen, (0, 0, absent, 0))  # (rows + words, width)
    _reject_larger_network(settings.model, vocabulary, weights)
    model = _network(settings, frozen, vocabulary)
    model.load_state_dict(weights | {_VECTORS: frozen})
    vectors: Matrix = model.embedding.frozen.numpy()  # (rows + words, width), the same memory
    return QacnnScorer(model.eval(), WordEncoder(vocabulary, vectors, settings.windows), settings)


def _network(settings: QacnnConfig, frozen: Tensor, known: Vocabulary) -> QACNN:
    rows, characters, languages = known.trainable_rows, known.character_count, len(known.languages)
    null = settings.null_answer
    return QACNN(settings, frozen, rows, characters, languages=languages, null=null)


def _reject_larger_network(
    sizes: QacnnNetwork, vocabulary: Vocabulary, weights: dict[str, Tensor]
) -> None:
    """Compare the settings with the weights before the network is built: it could be of any size.

    Only its large parts are counted; whether every tensor fits is checked when it is loaded.
    """
    width = sizes.width
    rest = 4 * width * sizes.heads * sizes.head_width + 2 * width * sizes.feed_forward
    convolutions = sizes.blocks * sizes.convolutions + sizes.embedding_convolutions
    parameters = (sizes.blocks + 1) * rest + (convolutions + sizes.highway_layers) * width**2
    if sizes.character_filters:
        of_filter = sizes.character_width * sizes.character_kernel + width
        parameters += sizes.character_filters * of_filter
        parameters += vocabulary.character_count * sizes.character_width
    stored = sum(tensor.numel() for tensor in weights.values())
    if parameters > stored:
        raise ValueError(f"{stored:,} numbers for at least {parameters:,} of the settings")


class _OverTables(nn.Module):
    """The network with the form tables of a data set: a batch in, scores out."""

    def __init__(self, network: QACNN, tables: FormTables) -> None:
        super().__init__()
        self.network = network
        self.tables = tables

    def forward(self, batch: WordBatch) -> SpanLogits:
        scores: SpanLogits = self.network(batch, self.tables)
        return scores


def _typed(recipe: Recipe) -> QacnnRecipe:
    assert isinstance(recipe, QacnnRecipe)
    return recipe


def _listed_bytes(word: str) -> int:
    """Bytes of a word in vocabulary.json: on its own line, after two spaces, with a comma."""
    text = json.dumps(word, ensure_ascii=False)
    return len(text.encode("utf-8", errors="backslashreplace")) + len("  ,\n")
