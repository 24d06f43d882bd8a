"""`readlet.compat.pipeline` against results that transformers 5.2.0 gave for the same models."""

import ast
import importlib.util
import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from readlet.compat import pipeline
from readlet.errors import ReadletError
from readlet.inference.inputs import ALL_ANSWERABLE

HERE = Path(__file__).parents[1] / "fixtures" / "pipeline"
RECORDED: dict[str, Any] = json.loads((HERE / "recorded.json").read_text("utf-8"))
MODELS = ("bert", "roberta", "xlm-roberta", "fine-tuned")


@pytest.fixture(scope="module")
def models() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pipeline_models", HERE / "models.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder_of(models: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    made: dict[str, Path] = {}

    def of(model: str) -> Path:
        if model not in made:
            made[model] = models.write_random(model, tmp_path_factory.mktemp(model))
        return made[model]

    return of


@pytest.fixture(scope="module")
def small(folder_of: Callable[..., Path]) -> Any:
    return pipeline("question-answering", folder_of("bert"), device=-1, max_seq_len=96)


@pytest.mark.parametrize("model", MODELS)
def test_results_are_those_of_transformers(
    model: str, models: ModuleType, folder_of: Callable[..., Path]
) -> None:
    if model == "fine-tuned":
        pytest.importorskip(models.MINILM)
        network, tokenizer = models.fine_tuned()
        answer = pipeline("question-answering", network, tokenizer, device="cpu")
    else:
        answer = pipeline("question-answering", model=str(folder_of(model)), device="cpu")
    questions, contexts = RECORDED["questions"], models.CONTEXTS
    wrong = []
    for call in RECORDED["calls"]:
        if call["model"] != model:
            continue
        about = call["about"]
        several = isinstance(about, list)
        found = answer(
            question=[questions[name] for name in about] if several else questions[about],
            context=[contexts[name] for name in about] if several else contexts[about],
            **call["options"],
        )
        if not _same(found, _possible(call["result"])):
            wrong.append((call, found))
    assert not wrong, f"{len(wrong)} calls, first: {wrong[0]}"


def _possible(result: Any) -> Any:
    """Without answers of score 0: with fewer spans than it wanted, 5.2 took any pair of tokens."""
    if isinstance(result, dict):
        return result
    if result and isinstance(result[0], list):
        return [_possible(one) for one in result]
    kept = [one for one in result if isinstance(one, list) or one["score"] > 0]
    return kept[0] if len(kept) == 1 and len(result) > 1 else kept


def _same(found: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(map(_same, found, expected))
        )
    places = ("start", "end", "answer")
    return (
        isinstance(found, dict)
        and found.keys() == expected.keys()
        and all(found[name] == expected[name] for name in places)
        and abs(found["score"] - expected["score"]) < 1e-4
    )


def _flat(result: Any) -> list[dict[str, Any]]:
    return [a for one in result for a in _flat(one)] if isinstance(result, list) else [result]


CONTEXT = "The old kiln was built by Ada Brook in 1881. Her nephew Tobias ran it."
PAIR = {"question": "Who built it?", "context": CONTEXT}


def test_ways_to_ask(small: Any) -> None:
    """Those of version 4 too, and each gives the same."""
    expected = small(**PAIR)
    assert set(expected) == {"score", "start", "end", "answer"}
    assert CONTEXT[expected["start"] : expected["end"]] == expected["answer"]
    example = SimpleNamespace(question_text=PAIR["question"], context_text=CONTEXT)
    assert small(PAIR["question"], CONTEXT) == expected
    for one in (PAIR, example, [PAIR], [example]):
        assert small(one) == expected
    assert small(question=[PAIR["question"]], context=CONTEXT) == expected
    other = small(question="When?", context=CONTEXT)
    both = [expected, other]
    second = {"question": "When?", "context": CONTEXT}
    assert _same(small([PAIR, second]), both)
    assert _same(small(PAIR, second), both)
    assert _same(small(question=["Who built it?", "When?"], context=CONTEXT), both)
    assert _same(small(question=["Who built it?", "When?"], context=[CONTEXT] * 2), both)
    lazily = small(iter([PAIR, second]))
    assert not isinstance(lazily, list)
    assert _same(list(lazily), both)


def test_a_loaded_model(small: Any, folder_of: Callable[..., Path]) -> None:
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    folder = folder_of("bert")
    model = AutoModelForQuestionAnswering.from_pretrained(folder)
    with pytest.raises(ReadletError, match="needs its tokenizer"):
        pipeline("question-answering", model)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    loaded = pipeline("question-answering", model, tokenizer, max_seq_len=96, batch_size=1)
    assert _same(loaded(**PAIR, top_k=3), small(**PAIR, top_k=3))


def test_a_reader_of_readlet(tmp_path: Path, random_reader: Callable[..., Any]) -> None:
    reader = random_reader(CONTEXT, null=True)
    reader.save(tmp_path / "reader")
    answer: Any = pipeline("question-answering", tmp_path / "reader", device="cpu")
    certain = reader.answer(PAIR["question"], CONTEXT, ALL_ANSWERABLE)
    found = answer(**PAIR)
    assert (found["answer"], found["start"]) == (certain.text, certain.start)
    assert found["score"] == pytest.approx(certain.score)
    prediction = reader.answer(PAIR["question"], CONTEXT)
    several = answer(**PAIR, top_k=50, handle_impossible_answer=True)
    impossible = [one for one in several if not one["answer"]]
    assert [one["score"] for one in impossible] == [pytest.approx(prediction.no_answer)]
    assert [one["score"] for one in several] == sorted((o["score"] for o in several), reverse=True)
    with pytest.warns(UserWarning, match="doc_stride") as warned:
        assert answer(**PAIR, doc_stride=10) == found
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="tokenizer"):
        pipeline("question-answering", tmp_path / "reader", tokenizer="bert")


# As they stand in posts on version 2 to 5.
OLD_CALLS: list[tuple[dict[str, Any], dict[str, Any], set[str]]] = [
    ({}, {"topk": 3}, {"topk"}),
    (
        {"framework": "pt", "device": -1},
        {"max_question_len": 64},
        {"framework", "max_question_len"},
    ),
    ({"revision": "main", "device": "cpu"}, {"padding": "longest"}, {"revision", "padding"}),
    ({"topk": 2, "use_fast": True}, {"num_workers": 0}, {"topk", "use_fast", "num_workers"}),
    ({"handle_impossible_answer": True}, {"topk": 2, "top_k": 3}, {"topk"}),
    (
        {"doc_stride": 32, "max_seq_len": 96, "align_to_words": False, "torch_dtype": None},
        {"max_answer_len": 9, "handle_impossible_answer": False},
        set(),
    ),
]


@pytest.mark.parametrize(("made", "called", "named"), OLD_CALLS)
def test_options_of_old_posts(
    folder_of: Callable[..., Path], made: dict[str, Any], called: dict[str, Any], named: set[str]
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = pipeline("question-answering", folder_of("bert"), **made)
        found: Any = answer(**PAIR, **called)
        assert answer(data=PAIR, **called) == answer(X=[PAIR], **called) == found
    assert {str(one.message).partition(":")[0] for one in caught} == named
    wanted = called.get("top_k") or called.get("topk") or made.get("topk") or 1
    assert len(found) == wanted if wanted > 1 else found["answer"]


def test_the_bundled_reader_is_the_default(
    bundle: Callable[..., Path], random_reader: Callable[..., Any]
) -> None:
    bundle(inside := random_reader(CONTEXT))
    found: Any = pipeline("question-answering")(**PAIR)
    assert found["answer"] == inside.answer(PAIR["question"], CONTEXT, ALL_ANSWERABLE).text


def test_the_example_of_the_guide() -> None:
    """With the reader that comes with the package."""
    page = (Path(__file__).parents[2] / "docs" / "moving.md").read_text("utf-8")
    example, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    *lines, call, comment = example.strip().splitlines()
    exec("\n".join(lines), names := dict[str, Any]())
    shown = ast.literal_eval(comment.removeprefix("# ").removesuffix(", rounded"))
    assert eval(call, names) == shown | {"score": pytest.approx(shown["score"], abs=5e-4)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"question": "", "context": CONTEXT}, "question is empty"),
        ({"question": "Who?", "context": ""}, "context is empty"),
        ({"question": "Who?", "context": None}, "context a NoneType"),
        ({"question": "Who?", "context": [CONTEXT]}, "give question= and context="),
        ({"question": ["Who?"] * 2, "context": [CONTEXT]}, "2 questions and 1 contexts"),
        ({"question": [1], "context": CONTEXT}, "not text"),
        ({}, "give question= and context="),
        (PAIR | {"top_k": 0}, "top_k: 0; give a number from 1"),
        (PAIR | {"max_answer_len": 0}, "max_answer_len: 0; give a number from 1"),
        (PAIR | {"top": 2}, "top: no such option"),
        (PAIR | {"doc_stride": 97}, "doc_stride: 97, above max_seq_len: 96"),
        ({"question": "Who? " * 90, "context": CONTEXT}, "leaves no room for the context"),
        (PAIR | {"max_seq_len": 20, "doc_stride": 19}, "leaves no room for the context"),
    ],
)
def test_bad_calls(small: Any, call: dict[str, Any], message: str) -> None:
    with pytest.raises(ReadletError) as caught:
        small(**call)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_bad_positions(small: Any) -> None:
    for asked in (("Who?",), (5,), ({"question": "Who?"},)):
        with pytest.raises(ReadletError):
            small(*asked)
    with pytest.raises(ReadletError, match="by position and by name"):
        small(PAIR, question="Who?")


def test_bad_models(tmp_path: Path, tiny_encoder: Callable[..., Path]) -> None:
    with pytest.raises(ReadletError, match="task 'fill-mask': not in readlet"):
        pipeline("fill-mask")
    (tmp_path / "empty").mkdir()
    for name, fault in (("none", "no such folder"), ("empty", "has no config.json")):
        with pytest.raises(ReadletError, match=fault) as caught:
            pipeline("question-answering", tmp_path / name)
        # Not the remedy of encoders, which would be refused next.
        assert str(caught.value).endswith("QuestionAnswering loads, or a Readlet reader")
    with pytest.raises(ReadletError, match="bias: it was not trained to answer"):
        pipeline("question-answering", tiny_encoder("bert"))
    with pytest.raises(ReadletError, match="batch_size: 0"):
        pipeline("question-answering", batch_size=0)
