"""A program that uses all that is public. It is never run: mypy checks it, strictly."""

from pathlib import Path

from readlet import (
    AnswerOptions,
    AugmentationConfig,
    Candidate,
    Classification,
    Classifier,
    DataFormat,
    Documents,
    Example,
    Found,
    Prediction,
    Published,
    Reader,
    ReadletError,
    Sentence,
    Span,
    __version__,
    augment_files,
    evaluate_questions,
    load_recipe,
    predict_file,
    publish,
    read_examples,
    read_sentences,
    train_reader,
    write_examples,
)
from readlet.compat import pipeline


def use_a_reader(reader: Reader) -> float:
    found: Prediction = reader.answer("Who?", "Ada came.", AnswerOptions(n_best=2))
    best: Candidate = found.n_best[0]
    batch = list(reader.answer_batch([("Who?", "Ada came.")], n_best=1))
    again: list[Found] = Documents({"a": best.text}).answer(reader, "Who?")
    names: list[int | str] = [one.passage for one in again]
    return best.score + batch[0].no_answer + len(names)


def use_data(folder: Path) -> list[Span]:
    examples: list[Example] = list(read_examples("bundled:test", DataFormat(encoding="utf-8")))
    write_examples(folder / "some.json", examples)
    sentences: list[Sentence] = list(read_sentences("bundled:reviews-dev"))
    augment_files(["some.json"], "more.json", AugmentationConfig(to=("es",)))
    return [answer for example in examples for answer in example.answers][: len(sentences)]


def use_the_rest(folder: Path) -> str:
    try:
        train_reader(load_recipe("tiny", ["training.epochs=1"]), folder / "runs")
    except ReadletError as error:
        return f"{__version__}: {error}"
    predicted: int = predict_file("bundled", "some.json", "out.csv").questions
    scores: dict[str, float] = evaluate_questions("bundled:test", reader="baseline").official
    found: Classification = Classifier.load(folder).predict("A text")
    pipeline("question-answering")(question="Who?", context="Ada came.")
    return f"{found.label} {predicted} {scores['f1']} {use_a_reader(Reader.load(device='cpu'))}"


def publish_a_model(folder: Path) -> bool:
    sent: Published = publish(str(folder), "ada/reader", dry_run=True)
    return sent.needs_torch
