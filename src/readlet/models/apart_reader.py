"""An encoder whose first layers read question and passage apart (DeFormer, Cao et al. 2020).

What those layers make of a passage does not depend on the question: tokens of the passage have
positions of their own, after the longest question, and attend to each other only. So it can be
computed once for all questions. The other layers read both.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from readlet.encoding.apart_batches import ApartBatch
from readlet.encoding.pretrained import usable_positions
from readlet.errors import ReadletError
from readlet.models.encoder_reader import EncoderReader
from readlet.models.pretrained_encoder import PretrainedEncoder
from readlet.models.span_scores import SpanLogits

# Their layers are called one by one, and their positions can be chosen.
APART_KINDS = ("bert", "electra", "roberta", "xlm-roberta", "distilbert")


class ApartReader(EncoderReader):
    """The same parameters as those of the reader whose layers all read both."""

    def __init__(self, *given: Any, layers: int, passage_position: int, **named: Any) -> None:
        """The first so many layers read the passage alone, its first token at this position."""
        super().__init__(*given, **named)
        check_apart(self.encoder, layers)
        self.passage_position = passage_position
        blocks = self.encoder.blocks
        # Tuples: as attributes of a module, lists of layers would be parameters a second time.
        self._first, self._others = tuple(blocks[:layers]), tuple(blocks[layers:])
        config = self.encoder.network.config.to_dict()
        positions = usable_positions(config)
        assert positions is not None  # all these kinds have a table of them
        self._last_position = positions - 1
        self._position_before = config["max_position_embeddings"] - positions

    def forward(self, batch: ApartBatch) -> SpanLogits:  # type: ignore[override]
        return self.read(
            self.question_states(batch),
            self.passage_states(batch),
            batch.question_keep,
            batch.passage_keep,
            batch.allowed,
        )

    def states(self, batch: ApartBatch) -> tuple[Tensor, ...]:  # type: ignore[override]
        """The states that the mix reads, question and passage side by side: (B, Q + P, H) each."""
        keeps = batch.question_keep, batch.passage_keep
        return self.joint_states(self.question_states(batch), self.passage_states(batch), *keeps)

    def question_states(self, batch: ApartBatch) -> list[Tensor]:
        tokens = self.dropped(batch.question_tokens, self.null_token)  # (B, Q)
        return self.first_states(tokens, batch.question_types, batch.question_keep, 0)

    def passage_states(self, batch: ApartBatch) -> list[Tensor]:
        tokens = self.dropped(batch.passage_tokens)  # (B, P)
        keep, position = batch.passage_keep, self.passage_position
        return self.first_states(tokens, batch.passage_types, keep, position)

    def first_states(
        self, tokens: Tensor, types: Tensor, keep: Tensor, position: int | Tensor
    ) -> list[Tensor]:
        """States (B, T, H) of the first layers that the mix or the other layers read.

        All inputs are (B, T); `position` is that of the first token.
        """
        hidden = self._embedded(tokens, types, position)  # (B, T, H)
        states = self._through(self._first, hidden, keep)
        return states if self.mix.reads_all_layers else states[-1:]

    def joint_states(
        self,
        questions: Sequence[Tensor],  # (B, Q, H) each
        passages: Sequence[Tensor],  # (B, P, H) each
        question_keep: Tensor,
        passage_keep: Tensor,
    ) -> tuple[Tensor, ...]:
        """The states that the mix reads: (B, Q + P, H) each."""
        keep = torch.cat([question_keep, passage_keep], dim=1)  # (B, Q + P)
        pairs = zip(questions, passages, strict=True)
        first = [torch.cat(pair, dim=1) for pair in pairs]  # (B, Q + P, H) each
        others = self._through(self._others, first[-1], keep)
        return (*first, *others) if self.mix.reads_all_layers else (others[-1],)

    def read(
        self,
        questions: Sequence[Tensor],
        passages: Sequence[Tensor],
        question_keep: Tensor,
        passage_keep: Tensor,
        allowed: Tensor,
    ) -> SpanLogits:
        """Scores from the states of the first layers; `allowed` is (B, P)."""
        states = self.joint_states(questions, passages, question_keep, passage_keep)
        scores = self.mix(states)  # (B, Q + P, 2)
        null = scores[:, self.null_token].unsqueeze(1)  # (B, 1, 2)
        return self.spans(scores[:, question_keep.shape[1] :], null, allowed)

    def _embedded(self, tokens: Tensor, types: Tensor, position: int | Tensor) -> Tensor:
        """What the first layer reads: (B, T, H)."""
        network = self.encoder.network
        places = torch.arange(tokens.shape[1], device=tokens.device) + position  # (T,)
        # Beyond the last position there is only padding. RoBERTa does not count from 0.
        places = places.clamp(max=self._last_position) + self._position_before  # (T,)
        given: dict[str, Any] = {"token_type_ids": types} if self.encoder.reads_types else {}
        hidden: Tensor = network.embeddings(
            input_ids=tokens, position_ids=places.unsqueeze(0), **given
        )  # (B, T, E)
        if hasattr(network, "embeddings_project"):  # ELECTRA's may be narrower than its layers
            hidden = network.embeddings_project(hidden)  # (B, T, H)
        return hidden

    def _through(self, blocks: Sequence[nn.Module], hidden: Tensor, keep: Tensor) -> list[Tensor]:
        """The states (B, T, H) after each of these layers."""
        from transformers.masking_utils import create_bidirectional_mask

        config = self.encoder.network.config
        mask = create_bidirectional_mask(
            config=config, inputs_embeds=hidden, attention_mask=keep.long()
        )
        states = []
        for block in blocks:
            hidden = block(hidden, mask)  # (B, T, H)
            states.append(hidden)
        return states


def check_apart(encoder: PretrainedEncoder, layers: int) -> None:
    """Raise an error for an encoder whose layers cannot be divided so."""
    kind = encoder.network.config.model_type
    if kind not in APART_KINDS:
        fault = f"not possible with an encoder of kind {kind!r:.40}"
        raise ReadletError(f"model.apart_layers: {fault}; give 0, or {', '.join(APART_KINDS)}")
    if layers >= encoder.layers:
        fault = f"{layers}; the encoder has {encoder.layers} layers, and one must read both"
        raise ReadletError(f"model.apart_layers: {fault}; give at most {encoder.layers - 1}")
