"""Train a small translation model for `readlet augment`, where none can be downloaded.

    python benchmarks/translator.py --pairs tatoeba.en-de.tsv.gz --names train-v1.1.json.gz \\
        --out models/en-de --minutes 4
    python benchmarks/translator.py --pairs tatoeba.en-de.tsv.gz --reverse ... --out models/de-en
    readlet augment data.json --to de --engine models/en-de --out augmented.json

A Marian model of transformers, trained from scratch on lines "source TAB target" and converted to
CTranslate2 with int8 weights. Pairs of short sentences teach neither long sentences, nor rare
names, nor markers. So most examples are several pairs in a row; words that are the same on both
sides, such as names, are often replaced by names of other texts; and such a name, or one of the
pairs, often stands between the markers « and » on both sides. Needs a GPU for more than a try, and
the extra `translate`.
"""

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import regex
import sentencepiece
import torch

from readlet.formats import read_questions

LEFT, RIGHT = "«", "»"  # as in readlet.augment.relocation
END, UNKNOWN, PADDING = "</s>", "<unk>", "<pad>"
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}.\-]*[\p{L}\p{N}]|[\p{L}\p{N}]")
_NAME = regex.compile(r"\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)*|\p{N}[\p{N}.,]*\p{N}")

Pair = tuple[str, str]


def read_pairs(paths: Sequence[Path], *, reverse: bool) -> list[Pair]:
    pairs = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                source, target = line.rstrip("\n").split("\t")[:2]
                pairs.append((target, source) if reverse else (source, target))
    return pairs


def names_in(texts: Sequence[str]) -> list[str]:
    """Distinct names and numbers, as they stand inside of sentences."""
    return sorted({m[0] for text in texts for m in _NAME.finditer(text) if m.start()})


class Examples:
    """Draws training examples from pairs."""

    def __init__(self, pairs: Sequence[Pair], names: Sequence[str], seed: int) -> None:
        self._pairs, self._names, self._draw = pairs, names, random.Random(seed)

    def __iter__(self) -> Iterator[Pair]:
        while True:
            drawn = [self._one() for _ in range(self._draw.choice((1, 1, 2, 2, 3, 4)))]
            if len(drawn) > 1 and self._draw.random() < 0.15:
                marked = self._draw.randrange(len(drawn))
                drawn[marked] = self._marked(drawn[marked], drawn[marked])
            yield " ".join(one for one, _ in drawn), " ".join(other for _, other in drawn)

    def _one(self) -> Pair:
        source, target = self._draw.choice(self._pairs)
        shared = [
            m[0]
            for m in _WORD.finditer(source)
            if (m[0][0].isupper() or m[0][0].isdigit())
            and source.count(m[0]) == target.count(m[0]) == 1
        ]
        if not shared:
            return source, target
        word = self._draw.choice(shared)
        if self._names and self._draw.random() < 0.6:
            new = self._draw.choice(self._names)
            source, target = source.replace(word, new), target.replace(word, new)
            word = new
        if self._draw.random() < 0.4 and source.count(word) == target.count(word) == 1:
            return self._marked((source, target), (word, word))
        return source, target

    def _marked(self, pair: Pair, parts: Pair) -> Pair:
        """The pair with its parts between markers; at most once in an example."""
        if LEFT in pair[0] or LEFT in pair[1]:
            return pair
        one, other = (
            text.replace(part, f"{LEFT}{part}{RIGHT}")
            for text, part in zip(pair, parts, strict=True)
        )
        return one, other


def train_pieces(texts: Sequence[str], size: int, folder: Path) -> Any:
    """One SentencePiece model for both languages; unknown characters become bytes."""
    prefix = folder / "pieces"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_prefix=str(prefix),
        vocab_size=size,
        character_coverage=0.9998,
        byte_fallback=True,
        user_defined_symbols=[LEFT, RIGHT],
        max_sentence_length=20_000,
        input_sentence_size=400_000,
        minloglevel=1,
    )
    prefix.with_suffix(".vocab").unlink()
    data = prefix.with_suffix(".model").read_bytes()
    prefix.with_suffix(".model").unlink()
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(data)
    return sentencepiece.SentencePieceProcessor(model_proto=data)


def numbers_of(pieces: Any) -> dict[str, int]:
    """The vocabulary as Marian has it: the end first, padding last."""
    own = [pieces.id_to_piece(n) for n in range(pieces.vocab_size())]
    usual = [piece for piece in own if piece not in ("<s>", END, UNKNOWN)]
    return {piece: n for n, piece in enumerate([END, UNKNOWN, *usual, PADDING])}


def make_model(vocabulary: int, width: int, layers: tuple[int, int]) -> Any:
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=vocabulary,
        d_model=width,
        encoder_layers=layers[0],
        decoder_layers=layers[1],
        encoder_attention_heads=width // 64,
        decoder_attention_heads=width // 64,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        max_position_embeddings=512,
        activation_function="swish",
        scale_embedding=True,
        dropout=0.1,
        pad_token_id=vocabulary - 1,
        decoder_start_token_id=vocabulary - 1,
        eos_token_id=0,
        forced_eos_token_id=0,
    )
    return MarianMTModel(config)


def batches(
    examples: Examples, pieces: Any, numbers: dict[str, int], tokens: int, longest: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Padded (B, S) and (B, T), of similar lengths, about `tokens` in each."""
    padding = numbers[PADDING]
    stream = iter(examples)

    def coded(texts: list[str]) -> list[list[int]]:
        return [
            [*(numbers.get(piece, 1) for piece in one), 0]
            for one in pieces.encode(texts, out_type=str)
        ]

    def padded(rows: list[list[int]]) -> torch.Tensor:
        width = -(-max(map(len, rows)) // 8) * 8  # few shapes
        return torch.tensor([row + [padding] * (width - len(row)) for row in rows])  # (B, width)

    while True:
        drawn = [next(stream) for _ in range(4096)]
        rows = list(zip(coded([a for a, _ in drawn]), coded([b for _, b in drawn]), strict=True))
        rows = sorted((r for r in rows if max(map(len, r)) <= longest), key=lambda r: len(r[0]))
        made, start = [], 0
        while start < len(rows):
            size = max(1, tokens // max(len(rows[start][0]), len(rows[start][1]), 8))
            part = rows[start : start + size]
            made.append((padded([a for a, _ in part]), padded([b for _, b in part])))
            start += size
        random.shuffle(made)
        yield from made


def train(model: Any, stream: Iterator[Any], *, minutes: float, rate: float, device: str) -> None:
    """Adam with warm-up and a rate that falls to zero when the time is over."""
    model.to(device).train()
    padding = model.config.pad_token_id
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01, fused=device == "cuda"
    )
    began, step, shown = time.perf_counter(), 0, 0.0
    while (gone := (time.perf_counter() - began) / (60 * minutes)) < 1:
        source, target = (tensor.to(device, non_blocking=True) for tensor in next(stream))
        step += 1
        for group in optimizer.param_groups:
            group["lr"] = rate * min(step / 1000, 1.0 - gone)
        before = target.roll(1, dims=1)  # (B, T) the token before each; padding begins
        before[:, 0] = padding
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            logits = model(
                input_ids=source, attention_mask=source != padding, decoder_input_ids=before
            ).logits  # (B, T, vocabulary)
        loss = torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1),
            target.flatten(),
            ignore_index=padding,
            label_smoothing=0.1,
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if gone - shown > 0.05:
            shown = gone
            print(f"{gone:4.0%} step {step}: loss {float(loss.detach()):.3f}", flush=True)


def save(model: Any, numbers: dict[str, int], folder: Path) -> None:
    """As MarianTokenizer and MarianMTModel load it, in half precision."""
    model.half().cpu().save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(numbers, ensure_ascii=False), "utf-8")
    kind = {"tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(kind), "utf-8")


def convert(folder: Path, out: Path) -> None:
    from ctranslate2.converters import TransformersConverter

    pieces = ["source.spm", "target.spm"]
    TransformersConverter(str(folder), copy_files=pieces).convert(
        str(out), quantization="int8", force=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, nargs="+", help="files of sentence pairs")
    parser.add_argument("--reverse", action="store_true", help="from the second language")
    parser.add_argument("--names", nargs="*", default=[], help="questions whose texts have names")
    parser.add_argument("--out", type=Path, required=True, help="folder, named after the languages")
    parser.add_argument("--marian", type=Path, help="keep the model of transformers here")
    parser.add_argument("--convert", type=Path, help="only convert this model of transformers")
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--vocabulary", type=int, default=16_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, nargs=2, default=(6, 3), help="encoder, decoder")
    parser.add_argument("--tokens", type=int, default=12_000, help="in a batch")
    parser.add_argument("--rate", type=float, default=1e-3)
    arguments = parser.parse_args()
    if arguments.convert:
        convert(arguments.convert, arguments.out)
        return
    marian = arguments.marian or arguments.out.with_name(f"{arguments.out.name}-marian")
    marian.mkdir(parents=True, exist_ok=True)
    pairs = read_pairs(arguments.pairs, reverse=arguments.reverse)
    texts = sorted({e.context for path in arguments.names for e in read_questions(path)})
    sides = [side for pair in pairs for side in pair]
    pieces = train_pieces([*sides, *texts], arguments.vocabulary, marian)
    numbers = numbers_of(pieces)
    torch.manual_seed(0)
    model = make_model(len(numbers), arguments.width, tuple(arguments.layers))
    stream = batches(Examples(pairs, names_in(texts), 0), pieces, numbers, arguments.tokens, 256)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    train(model, stream, minutes=arguments.minutes, rate=arguments.rate, device=device)
    save(model, numbers, marian)
    convert(marian, arguments.out)


if __name__ == "__main__":
    main()
