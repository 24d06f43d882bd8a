"""The networks of scorers with plain tensors as inputs and outputs, which a graph can have."""

from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from readlet.encoding.sentence_batches import SentenceBatch
from readlet.encoding.subword_batches import SubwordBatch
from readlet.encoding.word_batches import FormTables, WordBatch
from readlet.export.plain_attention import with_plain_attention
from readlet.export.plain_qacnn import plain_qacnn
from readlet.families.classifier_scorer import ClassifierScorer
from readlet.families.encoder_scorer import EncoderScorer
from readlet.families.family import Scorer
from readlet.families.onnx_inputs import Inputs
from readlet.families.onnx_subwords import SentenceInputs, SubwordInputs
from readlet.families.onnx_words import WordInputs
from readlet.families.qacnn import QacnnScorer
from readlet.models.span_scores import SpanLogits

_SPANS = ("start", "end", "null")


class Network(NamedTuple):
    """A module that takes the arrays of its inputs in their order."""

    module: nn.Module
    inputs: Inputs
    outputs: tuple[str, ...]


def network_of(scorer: Scorer) -> Network | None:
    """None for a kind of model that cannot be exported."""
    if isinstance(scorer, ClassifierScorer):
        texts = _OfTexts(with_plain_attention(scorer.module))
        return Network(texts, SentenceInputs(scorer.encoder, False), ("scores",))
    module: nn.Module
    inputs: Inputs
    if isinstance(scorer, QacnnScorer):
        module = _OfWords(plain_qacnn(scorer.module))
        inputs = WordInputs(scorer.encoder, scorer.can_refuse)
    elif isinstance(scorer, EncoderScorer):
        module = _OfSubwords(with_plain_attention(scorer.module))
        inputs = SubwordInputs(scorer.encoder, scorer.can_refuse)
    else:
        return None
    return Network(module, inputs, _SPANS if scorer.can_refuse else _SPANS[:-1])


class _Tables(NamedTuple):
    """`FormTables` of tensors that are inputs, not buffers."""

    words: Tensor  # (F,)
    characters: Tensor  # (F, W)
    keys: Tensor  # (F,)
    languages: Tensor  # (F,)
    character_vectors: None = None  # no word is read twice within a batch


class _OfWords(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        forms: Tensor,
        context: Tensor,
        question: Tensor,
        words: Tensor,
        characters: Tensor,
        keys: Tensor,
        languages: Tensor,
    ) -> tuple[Tensor, ...]:
        batch = WordBatch(**_no_rows(), forms=forms, context=context, question=question)
        tables = cast(FormTables, _Tables(words, characters, keys, languages))
        return _given_spans(self.network(batch, tables))


class _OfSubwords(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, tokens: Tensor, types: Tensor, keep: Tensor, first: Tensor, allowed: Tensor
    ) -> tuple[Tensor, ...]:
        batch = SubwordBatch(
            **_no_rows(), tokens=tokens, types=types, keep=keep, first=first, allowed=allowed
        )
        return _given_spans(self.network(batch))


class _OfTexts(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, tokens: Tensor, types: Tensor, keep: Tensor) -> Tensor:
        batch = SentenceBatch(**_no_rows(), tokens=tokens, types=types, keep=keep)
        scores: Tensor = self.network(batch)  # (B, outputs)
        return scores


def _no_rows() -> dict[str, Any]:
    """What only training reads of a batch."""
    return dict.fromkeys(("rows", "labels", "weight"), torch.zeros(0))  # (0,)


def _given_spans(found: SpanLogits) -> tuple[Tensor, ...]:
    """The scores as the outputs of a graph."""
    start, end, _, null = found  # (B, L) three times, (B, 2)
    return (start, end) if null is None else (start, end, null)
