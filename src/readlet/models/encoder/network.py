"""An encoder as a reader: a span head over its layers (BERT; layers mixed as by Silva, 2020)."""

import torch
from torch import Tensor, nn

from readlet.models.pretrained.encoder import PretrainedEncoder
from readlet.models.torch_scorer import SpanLogits
from readlet.nn.layer_mix import LayerMix
from readlet.nn.softmax import normalised
from readlet.text.tensors import SubwordBatch


class EncoderReader(nn.Module):
    """Scores of the context's tokens; those of "no answer" are the scores of the CLS token."""

    def __init__(
        self,
        encoder: PretrainedEncoder,
        mix: LayerMix,
        null_token: int,  # index of the CLS token
        *,
        null: bool,
        loss_gamma: float | None = None,  # cap of NormSoftmax in the loss; None: standard softmax
        token_dropout: float = 0.0,
        mask_token: int = 0,  # what replaces a dropped token
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.mix = mix
        self.null_token = null_token
        self.null = null
        self.loss_gamma = loss_gamma
        self.token_dropout = token_dropout
        self.mask_token = mask_token

    def forward(self, batch: SubwordBatch) -> SpanLogits:
        scores = self.mix(self.states(batch))  # (B, T, 2)
        null = scores[:, self.null_token].unsqueeze(1)  # (B, 1, 2)
        width = scores.shape[1]
        # From tokens to positions of the context, whose start differs between rows.
        token = batch.first.unsqueeze(1) + torch.arange(width, device=scores.device)  # (B, T)
        token = token.clamp(max=width - 1).unsqueeze(-1)  # (B, T, 1); beyond: not allowed
        places = scores.gather(1, token.expand_as(scores))  # (B, T, 2)
        allowed = batch.allowed  # (B, T)
        if self.loss_gamma is not None:
            places, null = self._normalised(places, null, allowed, self.loss_gamma)
        start, end = places.unbind(dim=-1)  # (B, T) each
        return SpanLogits(start, end, allowed, null.squeeze(1) if self.null else None)

    def states(self, batch: SubwordBatch) -> tuple[Tensor, ...]:
        """The states that the mix reads: (B, T, H) each."""
        tokens = self._dropped(batch.tokens)  # (B, T)
        states: tuple[Tensor, ...] = self.encoder(
            tokens, batch.types, batch.keep, all_layers=self.mix.reads_all_layers
        )
        return states

    def _dropped(self, tokens: Tensor) -> Tensor:
        """In training the mask token replaces some tokens, except CLS, which scores "no answer"."""
        if not self.token_dropout or not self.training:
            return tokens
        drop = torch.rand(tokens.shape, device=tokens.device) < self.token_dropout  # (B, T)
        drop[:, self.null_token] = False
        return torch.where(drop, self.mask_token, tokens)  # (B, T)

    def _normalised(
        self, places: Tensor, null: Tensor, allowed: Tensor, gamma: float
    ) -> tuple[Tensor, Tensor]:
        """Scores whose softmax is the NormSoftmax of the given ones."""
        both = torch.cat([null, places], dim=1)  # (B, 1 + T, 2)
        first = (torch.ones_like if self.null else torch.zeros_like)(allowed[:, :1])  # (B, 1)
        keep = torch.cat([first, allowed], dim=1).unsqueeze(-1)  # (B, 1 + T, 1)
        scaled = normalised(both, keep, 1, gamma)  # (B, 1 + T, 2)
        return scaled[:, 1:], scaled[:, :1]
