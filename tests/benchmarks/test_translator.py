"""The script that trains a translation model, at the smallest possible size."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("ctranslate2", reason="needs the extra translate")
pytest.importorskip("sentencepiece", reason="needs the extra translate")

PAIRS = [
    ("Tom lives in Boston now.", "Tom lebt jetzt in Boston."),
    ("She bought 12 red lamps.", "Sie kaufte 12 rote Lampen."),
    ("The lamp is old.", "Die Lampe ist alt."),
]
NAMES = ["Ada Lovelace", "1,024", "Kraków"]


@pytest.fixture
def script(load_script: Callable[[str], Any]) -> Any:
    return load_script("translator")


def test_names_and_markers_stand_on_both_sides(script: Any) -> None:
    drawn = list(itertools.islice(script.Examples(PAIRS, NAMES, seed=0), 400))
    assert any("Kraków" in source for source, _ in drawn)
    assert any("«Ada Lovelace»" in source for source, _ in drawn)
    assert any("«The lamp is old.»" in source for source, _ in drawn)  # a whole sentence
    for source, target in drawn:
        assert all(source.count(name) == target.count(name) for name in NAMES)
        assert source.count("«") == target.count("«") == source.count("»") == target.count("»")
    assert script.names_in(["then Ada Lovelace wrote in 1,843."]) == ["1,843", "Ada Lovelace"]


def test_the_converted_model_gives_the_same_probabilities(script: Any, tmp_path: Path) -> None:
    import ctranslate2

    marian, out = tmp_path / "en-de-marian", tmp_path / "en-de"
    marian.mkdir()
    sides = [side for pair in PAIRS for side in pair] * 20
    pieces = script.train_pieces(sides, 300, marian)  # 256 of them are bytes
    numbers = script.numbers_of(pieces)
    torch.manual_seed(0)
    model = script.make_model(len(numbers), 64, (1, 1))
    stream = script.batches(script.Examples(PAIRS, NAMES, 0), pieces, numbers, 200, 64)
    script.train(model, stream, minutes=0.01, rate=1e-3, device="cpu")
    script.save(model, numbers, marian)
    script.convert(marian, out)

    source, target = (pieces.encode(text, out_type=str) for text in PAIRS[0])
    engine = ctranslate2.Translator(str(out), compute_type="float32")
    found = engine.score_batch([[*source, "</s>"]], [target])[0].log_probs
    assert json.loads((marian / "vocab.json").read_text("utf-8")) == numbers
    given = torch.tensor([[*(numbers[piece] for piece in source), 0]])
    wanted = torch.tensor([[*(numbers[piece] for piece in target), 0]])
    before = torch.cat([torch.tensor([[len(numbers) - 1]]), wanted[:, :-1]], dim=1)
    with torch.no_grad():
        logits = model.float().eval()(input_ids=given, decoder_input_ids=before).logits
    expected = logits.log_softmax(-1).gather(2, wanted[..., None])[0, :, 0]
    assert found == pytest.approx(expected.tolist(), abs=0.1)  # int8 weights
