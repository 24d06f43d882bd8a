"""An encoder as a sentence classifier: a pooler over its states, and a linear head."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.models.pretrained.encoder import PretrainedEncoder
from readlet.nn.layer_mix import LayerMix
from readlet.nn.pooling import BERT_DEVIATION, ClsPooler, Pooler
from readlet.nn.softmax import normalised
from readlet.text.tensors import SentenceBatch


class SentenceClassifier(nn.Module):
    """Scores of the classes, or one value, for each text or pair of texts."""

    def __init__(
        self,
        encoder: PretrainedEncoder,
        mix: LayerMix,
        pooler: Pooler,
        outputs: int,
        *,
        dropout: float = 0.0,
        loss_gamma: float | None = None,  # cap of NormSoftmax in the loss; None: standard softmax
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.mix = mix
        self.pooler = pooler
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(pooler.out_width, outputs)
        nn.init.normal_(self.head.weight, std=BERT_DEVIATION)
        nn.init.zeros_(self.head.bias)
        self.loss_gamma = loss_gamma

    def forward(self, batch: SentenceBatch) -> Tensor:
        """(B, outputs), in float32."""
        states = self.encoder(
            batch.tokens, batch.types, batch.keep, all_layers=self.mix.reads_all_layers
        )
        pooled = self.pooler(self.mix.mixed(states), batch.keep)  # (B, P)
        scores: Tensor = self.head(self.dropout(pooled)).float()  # (B, outputs)
        if self.loss_gamma is None:
            return scores
        every = torch.ones(1, dtype=torch.bool, device=scores.device)  # (1,)
        return normalised(scores, every, -1, self.loss_gamma)  # (B, outputs)

    def take_pretrained_pooler(self) -> None:
        """The pooler of pretraining becomes the `cls` pooler, where the encoder came with one."""
        for part in self.pooler.modules():
            if isinstance(part, ClsPooler) and self.encoder.pretrained_pooler:
                part.dense.load_state_dict(self.encoder.pretrained_pooler)


class ClassLearner(nn.Module):
    """A module that turns a batch into a loss, for training.

    The cross entropy of classes, or the squared error of standardised values.
    """

    def __init__(self, model: SentenceClassifier, label_smoothing: float, *, values: bool) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing = label_smoothing
        self.values = values

    def forward(self, batch: SentenceBatch) -> Tensor:
        scores: Tensor = self.model(batch)  # (B, outputs)
        if self.values:
            of_row = (scores.squeeze(1) - batch.labels).square()  # (B,)
        else:
            of_row = F.cross_entropy(
                scores,
                batch.labels.clamp(min=0),  # fillers have -1, and weight 0
                reduction="none",
                label_smoothing=self.label_smoothing,
            )  # (B,)
        return (of_row * batch.weight).sum()  # ()
