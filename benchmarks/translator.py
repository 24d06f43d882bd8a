"""Train a small translation model for `readlet augment`, where none can be downloaded.

    python benchmarks/translator.py --pairs tatoeba.en-de.tsv.gz --names train-v1.1.json.gz \\
        --out models/en-de --minutes 6
    python benchmarks/translator.py --pairs tatoeba.en-de.tsv.gz --reverse ... --out models/de-en
    readlet augment data.json --to de --engine models/en-de --out augmented.json

An mBART model of transformers, trained from scratch on lines "source TAB target" and converted to
CTranslate2 with int8 weights; `translator_data.py` says what is made of the pairs. Other processes
do that, so that a GPU never waits. Needs one for more than a try, and the extra `translate`; the
library ctranslate2 only for the conversion.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from torch.utils.data import DataLoader
from translator_data import (
    END,
    NOTHING,
    Batch,
    Batches,
    names_in,
    numbers_of,
    read_pairs,
    train_pieces,
)

from readlet.data import read_questions
from readlet.engine.processes import stop_signals
from readlet.nn.qanet import sinusoids
from readlet.processes import own_cores


def make_model(vocabulary: int, width: int, layers: tuple[int, int]) -> Any:
    """Of the kind mBART: layers that normalise their inputs learn faster than those of Marian."""
    from transformers import MBartConfig, MBartForConditionalGeneration

    config = MBartConfig(
        vocab_size=vocabulary,
        d_model=width,
        encoder_layers=layers[0],
        decoder_layers=layers[1],
        encoder_attention_heads=width // 64,
        decoder_attention_heads=width // 64,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        max_position_embeddings=512,
        activation_function="relu",
        scale_embedding=True,
        init_std=width**-0.5,  # so that tokens weigh as much as their positions
        dropout=0.1,
        pad_token_id=vocabulary - 1,
        bos_token_id=0,
        eos_token_id=0,
        decoder_start_token_id=0,
        forced_eos_token_id=0,
        normalize_before=True,  # for the conversion
        tokenizer_class="MarianTokenizer",
    )
    model = MBartForConditionalGeneration(config)
    for name, weight in model.named_parameters():
        if "layers" in name and weight.ndim > 1:
            torch.nn.init.xavier_uniform_(weight)
        elif "embed_positions" in name:
            weight.data.copy_(sinusoids(*weight.shape))
    return model


def train(
    model: Any,
    stream: Iterator[Batch],
    stopped: Sequence[int],
    *,
    began: float,
    minutes: float,
    rate: float,
    device: str,
) -> None:
    """Adam with a rate that rises for a tenth of the time, and falls to zero at its end.

    Ends before if a signal was received (`stopped`).
    """
    # It plans anew for each shape, and there are many: 80 % of the time of the first steps.
    torch.backends.cuda.enable_cudnn_sdp(False)
    model.to(device).train()
    padding = model.config.pad_token_id
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01, fused=device == "cuda"
    )
    step, positions, shown = 0, 0, 0.0
    while (gone := (time.perf_counter() - began) / (60 * minutes)) < 1 and not stopped:
        source, target = (side.to(device, non_blocking=True).long() for side in next(stream))
        step += 1
        positions += source.numel() + target.numel()
        for group in optimizer.param_groups:
            group["lr"] = rate * min(gone / 0.1, (1 - gone) / 0.9)
        before = target.roll(1, dims=1)  # (B, T) the token before each
        before[:, 0] = model.config.decoder_start_token_id
        # Of a mask (B, S) transformers asks whether it is all True, and waits for the GPU.
        keep = (source != padding)[:, None, None]  # (B, 1, 1, S)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            logits = model(
                input_ids=source,
                attention_mask=keep,
                decoder_input_ids=before,
                use_cache=False,
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
            speed = positions / (time.perf_counter() - began)
            print(
                f"{gone:4.0%} step {step}: loss {loss.item():.3f}, {speed:,.0f} positions/s",
                flush=True,
            )


def save(model: Any, pieces: Any, folder: Path) -> None:
    """As the conversion loads it, in half precision; with files of pieces as Marian has them."""
    model.half().cpu().save_pretrained(folder)
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(pieces.serialized_model_proto())
    vocabulary = json.dumps(numbers_of(pieces), ensure_ascii=False)
    (folder / "vocab.json").write_text(vocabulary, "utf-8")
    kind = {"tokenizer_class": "MarianTokenizer", "bos_token": END}  # a translation begins with it
    (folder / "tokenizer_config.json").write_text(json.dumps(kind), "utf-8")


def convert(folder: Path, out: Path, quantization: str = "int8_float32") -> None:
    from ctranslate2.converters import TransformersConverter

    pieces = ["source.spm", "target.spm"]
    TransformersConverter(str(folder), copy_files=pieces).convert(
        str(out), quantization=quantization, force=True
    )


def run(arguments: argparse.Namespace) -> None:
    began = time.perf_counter()
    arguments.torch.mkdir(parents=True, exist_ok=True)
    pairs = read_pairs(arguments.pairs, reverse=arguments.reverse)
    texts = sorted({e.context for path in arguments.names for e in read_questions(path)})
    path = arguments.pieces or arguments.torch / "pieces.model"
    if not path.exists():
        sides = [side.translate(NOTHING) for pair in pairs for side in pair]
        train_pieces([*sides, *texts], arguments.vocabulary, path)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))
    names = names_in(texts, pairs)
    print(f"{len(pairs)} pairs, {len(names)} names, {pieces.vocab_size()} pieces", flush=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    stream = DataLoader(
        Batches(pairs, names, pieces, arguments.tokens),
        batch_size=None,
        num_workers=arguments.workers,
        # A process draws many examples at once, and hands out nothing meanwhile.
        prefetch_factor=64,
        in_order=False,
        pin_memory=device == "cuda",
    )
    torch.manual_seed(0)
    model = make_model(len(numbers_of(pieces)), arguments.width, tuple(arguments.layers))
    with stop_signals() as stopped:
        train(
            model,
            iter(stream),
            stopped,
            began=began,
            minutes=arguments.minutes,
            rate=arguments.rate,
            device=device,
        )
        save(model, pieces, arguments.torch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, nargs="+", help="files of sentence pairs")
    parser.add_argument("--reverse", action="store_true", help="from the second language")
    parser.add_argument("--names", nargs="*", default=[], help="questions whose texts have names")
    parser.add_argument("--pieces", type=Path, help="SentencePiece model; made if it is not there")
    parser.add_argument("--out", type=Path, required=True, help="folder, named after the languages")
    parser.add_argument("--torch", type=Path, help="folder of the model before its conversion")
    parser.add_argument("--only", choices=("train", "convert"))
    parser.add_argument(
        "--minutes",
        type=float,
        default=6.0,
        help="until it is trained; SIGTERM ends it before, and it is saved",
    )
    parser.add_argument("--vocabulary", type=int, default=16_000)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, nargs=2, default=(6, 3), help="encoder, decoder")
    parser.add_argument("--tokens", type=int, default=24_000, help="in a batch, on each side")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--workers", type=int, default=max(1, own_cores() - 2))
    arguments = parser.parse_args()
    arguments.torch = arguments.torch or arguments.out.with_name(f"{arguments.out.name}-torch")
    if arguments.only != "convert":
        run(arguments)
    if arguments.only != "train":
        convert(arguments.torch, arguments.out)


if __name__ == "__main__":
    main()
