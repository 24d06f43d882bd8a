"""The script that trains a translation model, at the smallest possible size."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

sentencepiece = pytest.importorskip("sentencepiece", reason="needs the extra translate")

PAIRS = [
    ("I saw Tom in Boston.", "Ich sah Tom in Boston."),
    ("She bought 12 red lamps.", "Sie kaufte 12 rote Lampen."),
    ("The «old lamp» is red.", "Die «alte Lampe» ist rot."),
    ("In May we sing.", "Im Mai singen wir."),
]
NAMES = ["Ada Lovelace", "1,024", "Kraków"]


@pytest.fixture
def data(load_script: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    script = load_script("translator_data")
    monkeypatch.setattr(script, "POOL", 500)  # 16,384 examples are for a GPU
    monkeypatch.setattr(script, "ALONE", 1)
    return script


@pytest.fixture
def pieces(data: Any, tmp_path: Path) -> Any:
    sides = [side for pair in PAIRS for side in pair] * 20
    path = tmp_path / "pieces.model"
    data.train_pieces(sides, 310, path)  # 256 of them are bytes
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def test_the_converted_model_gives_the_same_probabilities(
    data: Any, pieces: Any, load_script: Callable[[str], Any], tmp_path: Path
) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2", reason="needs the extra translate")
    script = load_script("translator")
    folder, out = tmp_path / "en-de-torch", tmp_path / "en-de"
    folder.mkdir()
    numbers = data.numbers_of(pieces)
    torch.manual_seed(0)
    model = script.make_model(len(numbers), 64, (1, 1))
    stream = iter(data.Batches(PAIRS, NAMES, pieces, 200))
    how = {"began": time.perf_counter(), "minutes": 0.02, "rate": 1e-3, "device": "cpu"}
    script.train(model, stream, [], **how)
    script.save(model, pieces, folder)
    script.convert(folder, out, "float32")

    source, target = (pieces.encode(text, out_type=str) for text in PAIRS[0])
    engine = ctranslate2.Translator(str(out), compute_type="float32")
    found = engine.score_batch([[*source, "</s>"]], [target])[0].log_probs
    assert json.loads((folder / "vocab.json").read_text("utf-8")) == numbers
    given = torch.tensor([[*(numbers[piece] for piece in source), 0]])
    wanted = torch.tensor([[*(numbers[piece] for piece in target), 0]])
    before = torch.cat([torch.tensor([[0]]), wanted[:, :-1]], dim=1)
    with torch.no_grad():
        logits = model.float().eval()(input_ids=given, decoder_input_ids=before).logits
    expected = logits.log_softmax(-1).gather(2, wanted[..., None])[0, :, 0]
    assert found == pytest.approx(expected.tolist(), abs=1e-3)
