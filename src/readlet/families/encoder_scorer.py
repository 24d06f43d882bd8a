"""The scorer of encoder readers: the network and its tokenizer, on disk and as batches."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from readlet.encoding.apart_arrays import passage_position, window_keys, window_tables
from readlet.encoding.apart_batches import ApartBatch, apart_batches
from readlet.encoding.batches import Batches
from readlet.encoding.remembered import Remembered
from readlet.encoding.row_batches import as_tensors
from readlet.encoding.rows import Rows
from readlet.encoding.subword_batches import SubwordBatch, subword_batches
from readlet.encoding.subwords import SubwordEncoder, SubwordRows
from readlet.families.eager import eagerly
from readlet.families.family import LayerView
from readlet.families.kept_passages import kept_passages
from readlet.families.pretrained_parts import (
    STORED_FACTS,
    encoder_fact,
    layer_groups,
    save_parts,
    slim_weights,
    with_attention,
)
from readlet.families.torch_scorer import StoredAs, TorchScorer
from readlet.models.apart_reader import ApartReader
from readlet.models.encoder_reader import EncoderReader
from readlet.models.pretrained_encoder import PretrainedEncoder, build_encoder
from readlet.models.span_scores import SpanLogits
from readlet.nn.layer_mix import make_layer_mix
from readlet.recipe.encoder import EncoderRecipe, FineTuning
from readlet.recipe.recipe import Training
from readlet.recipe.softmax import norm_gamma
from readlet.training.optimiser import ParameterGroup

KeptStates = Remembered[bytes, torch.Tensor]


@dataclass
class EncoderScorer(TorchScorer):
    """The network and its tokenizer."""

    module: EncoderReader
    encoder: SubwordEncoder
    recipe: EncoderRecipe
    # The dtype of the weights on disk. Unless float32, they must be rounded already (`slimmed` does
    # that), or the loaded reader would differ from the saved one.
    stored: StoredAs = "float32"
    # None: the weights may change, so no state of a passage is kept after a call.
    kept: KeptStates | None = field(default=None, init=False)

    def batches(
        self, rows: Rows, batch_size: int, *, seed: int = 0
    ) -> Batches[SubwordBatch] | Batches[ApartBatch]:
        assert isinstance(rows, SubwordRows)
        if isinstance(self.module, ApartReader):
            return apart_batches(rows, self.encoder, batch_size, null=self.can_refuse, seed=seed)
        return subword_batches(rows, self.encoder, batch_size, null=self.can_refuse, seed=seed)

    def scoring(self, rows: Rows) -> Callable[[Any], SpanLogits]:
        reader = self.module
        if not isinstance(reader, ApartReader):
            return super().scoring(rows)
        kept = kept_passages(self._read_passages) if self.kept is None else self.kept

        def score(batch: ApartBatch) -> SpanLogits:
            keep = batch.passage_keep  # (B, P)
            tokens = batch.passage_tokens.cpu().numpy()  # (B, P)
            states = kept(window_keys(tokens, keep.cpu().numpy(), self.encoder.layout))
            passages = states[0].new_zeros(len(states[0]), *keep.shape, reader.encoder.width)
            for i, one in enumerate(states):
                passages[:, i, : one.shape[1]] = one  # (K, P, H)
            asked = reader.question_states(batch)  # (B, Q, H) each
            return reader.read(asked, list(passages), batch.question_keep, keep, batch.allowed)

        return score

    def keep_passages(self) -> None:
        """From now on the weights stay as they are."""
        if isinstance(self.module, ApartReader):
            self.kept = kept_passages(self._read_passages)

    def _read_passages(self, keys: list[bytes]) -> list[torch.Tensor]:
        """The states (K, P, H) of the first layers that other layers or the mix read."""
        assert isinstance(self.module, ApartReader)
        if self.device.type == "cpu" and len(keys) > 1:
            # As fast, and what is kept does not depend on what it was read with, to the bit.
            return [states for key in keys for states in self._read_passages([key])]
        tables = as_tensors(window_tables(keys, self.encoder.layout))  # (B, P) each
        tokens, types, keep = (tables[n].to(self.device) for n in ("tokens", "types", "keep"))
        position = self.module.passage_position
        states = torch.stack(self.module.first_states(tokens, types, keep, position), dim=1)
        lengths = tables["keep"].sum(dim=1).tolist()  # B
        return [one[:, :n].clone() for one, n in zip(states, lengths, strict=True)]

    def move_to(self, device: str) -> None:
        super().move_to(device)
        if self.kept is not None:
            self.keep_passages()  # those of the other device are of no use

    def groups(self, settings: Training) -> list[ParameterGroup]:
        assert isinstance(settings, FineTuning)
        return layer_groups(
            self.module, self.module.encoder, self.module.mix.parameters(), settings
        )

    def layer_view(self, rows: Rows, row: int) -> LayerView:
        assert isinstance(rows, SubwordRows)
        batches, number = self.batches(rows, 1), np.array([row], np.int32)
        self.module.eval()
        with torch.inference_mode(), eagerly():
            batch: Any = batches.make(batches.least_shape(number), number).to(self.device)
            states, mix = self.module.states(batch), self.module.mix
            scores = mix(states)[0]  # (T, 2)
            shape = (len(scores), mix.layers, 2)
            weights = mix.weights(states).expand(1, *shape)[0].movedim(0, 1)  # (N, T, 2)
            parts = mix.contributions(states)  # (1, T, N, 2)
        name_of = self.encoder.tokenizer.id_to_token
        return LayerView(
            mix=self.recipe.model.mix,
            tokens=tuple(name_of(token) or "" for token in batch.tokens[0].tolist()),
            first=int(batch.first[0]),
            null=self.encoder.layout.null,
            weights=weights.float().cpu().numpy(),
            contributions=None if parts is None else parts[0].movedim(0, 1).float().cpu().numpy(),
            scores=scores.float().cpu().numpy(),
            normalised=self.module.loss_gamma is not None,
        )

    def save(self, folder: Path) -> list[str]:
        return save_parts(folder, self.module, self.encoder, self.stored)

    def config(self) -> dict[str, Any]:
        return super().config() | {"stored": self.stored}

    def facts(self) -> list[str]:
        model = self.recipe.model
        named = encoder_fact(model.encoder, self.encoder, self.module.encoder)
        listed = [f"- {named}; mix of layers: {model.mix}"]
        if model.apart_layers:
            listed.append(f"- the first {model.apart_layers} layers read the passage alone")
        return listed + STORED_FACTS[self.stored]

    def slimmed(self, stored: StoredAs = "float16") -> "EncoderScorer":
        """A copy with rounded weights; it computes in float32."""
        weights = slim_weights(self.module, stored)
        return scorer_with(
            weights, self.recipe, self.encoder, can_refuse=self.can_refuse, stored=stored
        )


def make_scorer(
    recipe: EncoderRecipe,
    encoder: SubwordEncoder,
    network: PretrainedEncoder,
    *,
    can_refuse: bool,
    stored: StoredAs = "float32",
) -> EncoderScorer:
    mix = make_layer_mix(recipe.model.mix, network.width, network.layers)
    given = with_attention(recipe.attention, network), mix, encoder.layout.null
    settings: dict[str, Any] = {
        "null": can_refuse,
        "loss_gamma": norm_gamma(recipe.loss, network.width),
        "token_dropout": recipe.model.token_dropout,
        "mask_token": encoder.layout.mask,
    }
    module: EncoderReader
    if layers := recipe.model.apart_layers:
        position = passage_position(encoder)
        module = ApartReader(*given, layers=layers, passage_position=position, **settings)
    else:
        module = EncoderReader(*given, **settings)
    return EncoderScorer(module, encoder, recipe.data.max_answer, can_refuse, recipe, stored)


def scorer_with(
    weights: dict[str, torch.Tensor],
    recipe: EncoderRecipe,
    encoder: SubwordEncoder,
    *,
    can_refuse: bool,
    stored: StoredAs,
) -> EncoderScorer:
    """The model with these weights, which may be rounded."""
    network = build_encoder(encoder.config, recipe.model.dropout)
    scorer = make_scorer(recipe, encoder, network, can_refuse=can_refuse, stored=stored)
    scorer.module.load_state_dict({name: w.float() for name, w in weights.items()})
    scorer.module.eval()
    scorer.keep_passages()
    return scorer
