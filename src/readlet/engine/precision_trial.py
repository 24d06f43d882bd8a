"""Tries the layers of a network forward and backward in half precision on the CPU.

In a process of its own: if torch misdetects the CPU, an illegal instruction ends the whole process.
"""

import sys

import torch
import torch.nn.functional as F
from torch import nn


def trial(dtype: torch.dtype) -> None:
    with torch.autocast("cpu", dtype):
        x = torch.randn(2, 96, 32, requires_grad=True)  # (B, D, L)
        x = nn.Conv1d(96, 96, 5, padding=2, groups=96)(x).transpose(1, 2)  # (B, L, D)
        x = nn.Linear(97, 96)(nn.Linear(96, 97)(x))  # (B, L, D)
        heads = x.view(2, 32, 6, 16).transpose(1, 2)  # (B, H, L, E)
        mixed = F.scaled_dot_product_attention(heads, heads, heads)  # (B, H, L, E)
        product = mixed @ mixed.transpose(-1, -2)  # (B, H, L, L)
    torch.autograd.backward(product.float().sum())


if __name__ == "__main__":
    trial(getattr(torch, sys.argv[1]))
