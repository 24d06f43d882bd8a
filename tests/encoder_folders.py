"""Tiny encoders with random weights and their own kinds of tokenizers, written to a folder.

A folder is what `save_pretrained` of transformers writes. Nothing is downloaded: the tokenizers
are made from a few texts.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

WIDTH, LAYERS, POSITIONS = 16, 2, 512
KINDS = (
    *("bert", "albert", "minilm-like", "electra", "roberta"),
    *("deberta-v2", "distilbert", "xlm-roberta"),
)
_SUBWORDS, _WORDS = 320, 300
_BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_encoder(kind: str, folder: Path, texts: Sequence[str], **changes: Any) -> Path:
    """The encoder and its tokenizer; `changes` are values of its configuration."""
    from transformers import AutoConfig, AutoModel

    tokenizer = _TOKENIZERS[kind](texts)
    tokenizer.save_pretrained(folder)
    values = _sizes(kind) | {"pad_token_id": tokenizer.pad_token_id, "vocab_size": len(tokenizer)}
    name = {"minilm-like": "bert"}.get(kind, kind)
    config = AutoConfig.for_model(name, **values | changes)
    torch.manual_seed(len(kind))
    AutoModel.from_config(config).save_pretrained(folder)
    return folder


def _sizes(kind: str) -> dict[str, Any]:
    """Sizes by the names that each kind has for them, and large weights: they decide something."""
    if kind == "distilbert":
        sizes = {"dim": WIDTH, "n_layers": LAYERS, "n_heads": 2, "hidden_dim": 2 * WIDTH}
    else:
        sizes = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 2}
        sizes["intermediate_size"] = 2 * WIDTH
    own = {
        "albert": {"embedding_size": 8},  # the layers share their weights
        "minilm-like": {"num_hidden_layers": 3, "num_attention_heads": 4},
        "electra": {"embedding_size": 8},
        "roberta": {"type_vocab_size": 1, "max_position_embeddings": POSITIONS + 2},
        "xlm-roberta": {"type_vocab_size": 1, "max_position_embeddings": POSITIONS + 2},
        "deberta-v2": {  # as in version 3
            "type_vocab_size": 0,
            "relative_attention": True,
            "position_buckets": 8,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_biased_input": False,
        },
    }
    common = {"max_position_embeddings": POSITIONS, "initializer_range": 0.2}
    return sizes | common | own.get(kind, {})


def _word_pieces(texts: Sequence[str]) -> dict[str, int]:
    """The commonest words, and letters for all others: the same in every run, unlike a training."""
    normalizer, splitter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        split = splitter.pre_tokenize_str(normalizer.normalize_str(text))
        counts.update(word for word, _ in split)
    letters = sorted(set("".join(counts)))
    inside = [f"##{letter}" for letter in letters]
    words = sorted((word for word in counts if len(word) > 1), key=lambda w: (-counts[w], w))
    pieces = [*_BERT_TOKENS, *letters, *inside, *words[:_WORDS]]
    return {token: number for number, token in enumerate(pieces)}


def _sentence_pieces(texts: Sequence[str], special: Sequence[str]) -> list[tuple[str, float]]:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=_SUBWORDS, show_progress=False)
    tokenizer.train_from_iterator([text.lower() for text in texts], trainer)
    scores = json.loads(tokenizer.to_str())["model"]["vocab"]
    return [*((token, 0.0) for token in special), *((token, score) for token, score in scores)]


def _bert(texts: Sequence[str]) -> Any:
    from transformers import BertTokenizer

    return BertTokenizer(vocab=_word_pieces(texts))


def _electra(texts: Sequence[str]) -> Any:
    from transformers import ElectraTokenizer

    return ElectraTokenizer(vocab=_word_pieces(texts))


def _distilbert(texts: Sequence[str]) -> Any:
    from transformers import DistilBertTokenizer

    return DistilBertTokenizer(vocab=_word_pieces(texts))


def _albert(texts: Sequence[str]) -> Any:
    from transformers import AlbertTokenizer

    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    return AlbertTokenizer(vocab=_sentence_pieces(texts, special))


def _deberta(texts: Sequence[str]) -> Any:
    from transformers import DebertaV2Tokenizer

    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    return DebertaV2Tokenizer(vocab=_sentence_pieces(texts, special), unk_id=3)


def _xlm_roberta(texts: Sequence[str]) -> Any:
    from transformers import XLMRobertaTokenizer

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    return XLMRobertaTokenizer(vocab=_sentence_pieces(texts, special))


def _roberta(texts: Sequence[str]) -> Any:
    from transformers import RobertaTokenizer

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_SUBWORDS + 256,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return RobertaTokenizer(vocab=model["vocab"], merges=[tuple(m) for m in model["merges"]])


_TOKENIZERS = {
    "bert": _bert,
    "minilm-like": _bert,
    "electra": _electra,
    "distilbert": _distilbert,
    "albert": _albert,
    "deberta-v2": _deberta,
    "xlm-roberta": _xlm_roberta,
    "roberta": _roberta,
}
