"""NormSoftmax on images: a small vision transformer and a small CNN on scikit-learn's digits.

    python examples/vision.py            # 10 to 20 minutes on one core
    python examples/vision.py --quick    # one seed, few epochs

Needs torch and scikit-learn (`pip install 'readlet[train]' scikit-learn`).
All variants have the same network and initial weights; only the softmax differs: in attention
(`norm attention`), in the loss (`norm loss`), or in both.
"""

import argparse
import math
import statistics
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import Tensor, nn

from readlet.nn.normsoftmax import norm_attention
from readlet.nn.softmax import normalised

PATCH, WIDTH, DEPTH, CLASSES = 2, 48, 4, 10
BATCH, RATE, TRAINING = 64, 1e-3, 1200
# Without a cap ten classes would have a confidence of at most 0.76.
LOSS_GAMMA = 1.0
Loss = Callable[[Tensor, Tensor], Tensor]


def norm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    every = torch.ones_like(logits, dtype=torch.bool)  # (B, C)
    return F.cross_entropy(normalised(logits, every, -1, LOSS_GAMMA), labels)


class Block(nn.Module):
    """Self-attention and a feed-forward layer, pre-norm."""

    def __init__(self, heads: int, norm: bool) -> None:
        super().__init__()
        self.heads, self.norm = heads, norm
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.feed_forward = nn.Sequential(
            nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        qkv = self.qkv(self.first(x)).view(batch, length, 3, self.heads, -1)  # (B, L, 3, H, E)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)  # 3 of (B, H, L, E)
        attend = norm_attention if self.norm else F.scaled_dot_product_attention
        mixed = attend(query, key, value).transpose(1, 2).reshape(x.shape)  # (B, L, D)
        x = x + self.out(mixed)  # (B, L, D)
        return x + self.feed_forward(self.second(x))  # (B, L, D)


class Transformer(nn.Module):
    """Patches of 2 x 2 pixels, four blocks, the mean of all patches."""

    def __init__(self, heads: int, norm: bool) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, WIDTH, PATCH, stride=PATCH)
        self.positions = nn.Parameter(0.02 * torch.randn((8 // PATCH) ** 2, WIDTH))  # (L, D)
        self.blocks = nn.Sequential(*(Block(heads, norm) for _ in range(DEPTH)))
        self.classify = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES))

    def forward(self, images: Tensor) -> Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2) + self.positions  # (B, L, D)
        logits: Tensor = self.classify(self.blocks(x).mean(dim=1))  # (B, C)
        return logits


def convolutional(*_: object) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(512, CLASSES),
    )


def train(model: nn.Module, loss: Loss, epochs: int, data: tuple[Tensor, ...]) -> Iterator[float]:
    """Accuracy on the test images, in percent, after every epoch."""
    images, labels, test_images, test_labels = data
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    steps = epochs * math.ceil(len(images) / BATCH)
    # Decay to zero over the last third: at the full rate the last epoch would be noisy.
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, 3 * (1 - step / steps))
    )
    for _ in range(epochs):
        model.train()
        for rows in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            loss(model(images[rows]), labels[rows]).backward()
            optimizer.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            correct = model(test_images).argmax(dim=1) == test_labels  # (test,)
        yield 100 * float(correct.float().mean())


def digits(seed: int) -> tuple[Tensor, ...]:
    found = load_digits()
    images = torch.tensor(found.images / 16, dtype=torch.float32).unsqueeze(1)  # (N, 1, 8, 8)
    labels = torch.tensor(found.target)  # (N,)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
    train_rows, test_rows = order[:TRAINING], order[TRAINING:]
    return images[train_rows], labels[train_rows], images[test_rows], labels[test_rows]


def variants(heads: list[int]) -> Iterator[tuple[str, str, Callable[[], nn.Module], Loss]]:
    for count in heads:
        for norm in (False, True):
            for loss in (F.cross_entropy, norm_loss):
                name = " + ".join(["norm attention"] * norm + ["norm loss"] * (loss is norm_loss))
                model = f"transformer, {count} head{'s' * (count > 1)}"
                yield model, name or "standard", lambda h=count, n=norm: Transformer(h, n), loss
    for loss in (F.cross_entropy, norm_loss):
        yield "CNN", "norm loss" if loss is norm_loss else "standard", convolutional, loss


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: give a number of 1 or more")
    return int(text)


def _heads(text: str) -> int:
    if WIDTH % _positive(text):
        raise argparse.ArgumentTypeError(f"{text}: give a number that divides {WIDTH}")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heads", nargs="*", type=_heads, default=[1, 4, 16])
    parser.add_argument("--seeds", type=_positive, default=5)
    parser.add_argument("--epochs", type=_positive, default=15)
    parser.add_argument("--quick", action="store_true", help="one seed, two epochs, one head")
    arguments = parser.parse_args()
    heads, seeds, epochs = arguments.heads, arguments.seeds, arguments.epochs
    if arguments.quick:
        heads, seeds, epochs = [1], 1, 2
    # Sums over several threads round differently, which grows to whole points in fifteen epochs.
    torch.set_num_threads(1)
    shown = sorted({1, math.ceil(epochs / 5), epochs})
    print(
        "| network | softmax | "
        + " | ".join(f"after {e} epoch{'s' * (e > 1)}" for e in shown)
        + " |"
    )
    print("| --- | --- |" + " ---: |" * len(shown))
    for network, name, build, loss in variants(heads):
        curves = []
        for seed in range(seeds):
            torch.manual_seed(seed)
            curves.append(list(train(build(), loss, epochs, digits(seed))))
        cells = []
        for epoch in shown:
            scores = [curve[epoch - 1] for curve in curves]
            spread = f" ± {statistics.stdev(scores):.2f}" if seeds > 1 else ""
            cells.append(f"{statistics.fmean(scores):.2f}{spread}")
        print(f"| {network} | {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
