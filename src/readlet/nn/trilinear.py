"""Context-query attention with the trilinear similarity (Seo et al. 2017, Yu et al. 2018)."""

import torch
from torch import Tensor, nn

from readlet.nn.softmax import masked_softmax


class ContextQueryAttention(nn.Module):
    """Question-aware vectors of the context words: [c; a; c * a; c * b].

    S = w . [c; q; c * q] scores every pair of words. S1 is its softmax over the question, S2 over
    the context; A = S1 Q and B = S1 S2' C. Dropout applies to the inputs of S, not to C and Q.
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        # The three parts of w. No bias: it would be added to every score, which softmax ignores.
        self.context_weight = nn.Parameter(torch.empty(width))  # (D,)
        self.question_weight = nn.Parameter(torch.empty(width))  # (D,)
        self.product_weight = nn.Parameter(torch.empty(width))  # (D,)
        self.dropout = nn.Dropout(dropout)
        # Initially S is the scaled dot product: a word attends to similar words. Random signs
        # would hide that similarity, and training might never find it.
        nn.init.constant_(self.product_weight, width**-0.5)
        nn.init.normal_(self.context_weight, std=0.01)
        nn.init.normal_(self.question_weight, std=0.01)

    def forward(
        self, context: Tensor, question: Tensor, context_keep: Tensor, question_keep: Tensor
    ) -> Tensor:
        """(B, Lc, D), (B, Lq, D), (B, Lc), (B, Lq) -> (B, Lc, 4 D).

        At padded context words a and b are zero, so zeros in the context stay zeros.
        """
        scores = self.similarity(self.dropout(context), self.dropout(question))  # (B, Lc, Lq)
        keep = context_keep.unsqueeze(2) & question_keep.unsqueeze(1)  # (B, Lc, Lq)
        over_question = masked_softmax(scores, keep, dim=2)  # S1 (B, Lc, Lq)
        over_context = masked_softmax(scores, keep, dim=1)  # S2 (B, Lc, Lq)
        a = over_question @ question  # (B, Lc, D)
        # S1 (S2' C), not (S1 S2') C: the (B, Lc, Lc) matrix is never materialised.
        b = over_question @ (over_context.transpose(1, 2) @ context)  # (B, Lc, D)
        return torch.cat([context, a, context * a, context * b], dim=-1)  # (B, Lc, 4 D)

    def similarity(self, context: Tensor, question: Tensor) -> Tensor:
        """S, part by part: the (B, Lc, Lq, 3 D) array of all pairs is never materialised."""
        from_context = (context @ self.context_weight).unsqueeze(2)  # (B, Lc, 1)
        from_question = (question @ self.question_weight).unsqueeze(1)  # (B, 1, Lq)
        pairs = (context * self.product_weight) @ question.transpose(1, 2)  # (B, Lc, Lq)
        return pairs + from_context + from_question  # (B, Lc, Lq)
