"""Highway layers (Srivastava et al. 2015): a learned choice between a transform and the input."""

import torch.nn.functional as F
from torch import Tensor, nn

# sigmoid(-1) = 0.27: a new layer mostly passes its input on, so a deep stack starts near identity.
CARRY_BIAS = -1.0


class Highway(nn.Module):
    """y = g * relu(W x + b) + (1 - g) * x, with the gate g = sigmoid(V x + c), `layers` times."""

    def __init__(self, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(layers):
            # Transform and gate have the same input, so one product computes both: the first half
            # of its outputs is the transform, the second half the gate.
            layer = nn.Linear(width, 2 * width)
            nn.init.constant_(layer.bias[width:], CARRY_BIAS)
            self.layers.append(layer)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., D) -> (..., D); positions are independent, so no mask is needed."""
        for layer in self.layers:
            transform, gate = layer(x).chunk(2, dim=-1)  # 2 of (..., D)
            transform = self.dropout(F.relu(transform))  # (..., D)
            x = x + gate.sigmoid() * (transform - x)  # (..., D), = g t + (1 - g) x
        return x
