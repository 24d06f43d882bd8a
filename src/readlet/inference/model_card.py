"""The model card: the generated README.md of a reader's or classifier's folder."""

import platform
import re
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

from readlet.inference.hub import is_hub_name
from readlet.models.recipe_files import recipe_of

if TYPE_CHECKING:
    from readlet.inference.classifier import Classifier
    from readlet.inference.reader import Reader
    from readlet.inference.trained_model import TrainedModel

_PACKAGES = ("readlet", "torch", "numpy", "regex", "transformers", "accelerate")


class CardParts(NamedTuple):
    """The parts of a card that depend on the task."""

    title: str
    introduction: str
    below_scores: list[str]
    fitted_on: int | None
    """Items that the calibration was fitted on; None: values have no probabilities."""


def model_card(model: "TrainedModel") -> str:
    """Data, recipe, scores, versions, seed and commit as Markdown."""
    notice = ["## Licence and data", "", model.notice.strip(), ""] if model.notice else []
    parts = _PARTS[model.kind_of_task](model)
    lines = [
        "---",
        card_data(model),
        "---",
        "",
        f"# {model.name}: {parts.title}",
        "",
        parts.introduction,
        "",
        *_facts(model),
        "",
        *notice,
        "## Scores",
        "",
        *_scores(model),
        *parts.below_scores,
        "",
        "## Calibration",
        "",
        *_calibration(model, parts.fitted_on),
        "",
        "## Recipe",
        "",
        *_recipe(model),
        "",
        "## Made with",
        "",
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
        + f"; commit {_commit()}.",
        "",
    ]
    return "\n".join(lines)


def card_data(model: "TrainedModel", licence: str = "", name: str = "") -> str:
    """The card's metadata for the hub, as YAML: library, task, languages, data, licence, scores.

    `name` is that of the repository; without it the model has that of its recipe.
    """
    from huggingface_hub import EvalResult, ModelCardData

    recipe, dev = recipe_of(model.recipe), model.metrics.get("dev", {})
    task = _PIPELINES[model.kind_of_task]
    source = str(model.metrics.get("dev_source") or f"the held-out {model.task.noun}")
    named = source.partition(" (")[0]
    results = [
        EvalResult(
            task_type=task,
            dataset_type=_slug(named),
            dataset_name=named,
            metric_type=_METRICS[name],
            metric_name=name,
            metric_value=round(value, 2),
        )
        for name, value in dev.items()
        if name in _METRICS
    ]
    files = " ".join(recipe.data.train).lower()
    data = ModelCardData(
        library_name="readlet",
        pipeline_tag=task,
        tags=["readlet", recipe.model.kind],
        language=[*getattr(model, "languages", ())] or None,
        datasets=[*dict.fromkeys(n for part, n in _DATASETS.items() if part in files)] or None,
        license=licence or ("other" if model.notice else None),
        license_link="NOTICE.md" if model.notice and not licence else None,
        license_name="see-notice" if model.notice and not licence else None,
        base_model=_base_model(recipe),
        model_name=name or model.name,
        eval_results=results or None,
    )
    return data.to_yaml().strip()


def _slug(source: str) -> str:
    """The data as the hub names it, or else its own name as an identifier."""
    known = (name for part, name in _DATASETS.items() if part in source.lower())
    stem = source.rpartition("/")[2].partition(".")[0]
    return next(known, re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-"))


def _base_model(recipe: Any) -> str | None:
    """What the weights began as, if the hub has it."""
    for name in (recipe.training.start, getattr(recipe.model, "encoder", "")):
        if name and is_hub_name(name):
            return str(name).partition("@")[0]
    encoder = getattr(recipe.model, "encoder", "")
    return "sentence-transformers/all-MiniLM-L6-v2" if encoder == "minilm" else None


_PIPELINES = {"spans": "question-answering", "classes": "text-classification"}
# As the hub names them.
_METRICS = {
    **{name: name for name in ("f1", "accuracy", "matthews_correlation")},
    "exact": "exact_match",
    "pearson": "pearsonr",
}
_DATASETS = {
    "train-v1.1": "rajpurkar/squad",
    "train-v2.0": "rajpurkar/squad_v2",
    "dev-v1.1": "rajpurkar/squad",
    "dev-v2.0": "rajpurkar/squad_v2",
    "cola": "nyu-mll/glue",
    "sst-2": "stanfordnlp/sst2",
    "mrpc": "nyu-mll/glue",
}


def _facts(model: "TrainedModel") -> list[str]:
    recipe, metrics = recipe_of(model.recipe), model.metrics
    facts = [
        f"- kind `{recipe.model.kind}`, {model.scorer.parameters:,} trainable parameters",
        *model.scorer.facts(),
        f"- trained on: {', '.join(recipe.data.train)}; {metrics.get('steps', 0):,} steps",
        f"- seed {recipe.training.seed}",
    ]
    if metrics.get("rollbacks"):
        facts.append(f"- training was rolled back {metrics['rollbacks']:,} times")
    if "slimmed_from" in metrics:
        facts.append(f"- slimmed: it had {metrics['slimmed_from']:,} words with vectors")
    return facts


def _scores(model: "TrainedModel") -> list[str]:
    source = model.metrics.get("dev_source", f"the held-out {model.task.noun}")
    scores = {
        name: f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
        for name, value in model.metrics.get("dev", {}).items()
    }
    return [f"On {source}:", "", *_table(scores), ""]


def _calibration(model: "TrainedModel", fitted_on: int | None) -> list[str]:
    if fitted_on is None:
        return ["Values have no probabilities."]
    if not fitted_on:
        return [f"Not fitted: too few {model.task.noun} were held out."]
    source = recipe_of(model.recipe).data.calibration or "the training data, held out"
    values = model.calibration.model_dump(exclude={"documents"}, exclude_none=True)
    shown = {name: f"{value:.4g}" for name, value in values.items()}
    return [f"Fitted on {fitted_on:,} {model.task.noun} of {source}:", "", *_table(shown)]


def _recipe(model: "TrainedModel") -> list[str]:
    recipe = recipe_of(model.recipe)
    values = recipe.model_dump()
    return _table(
        {
            f"{section}.{field}": repr(value)
            for section in recipe.sections
            for field, value in values[section].items()
        }
    )


def _table(rows: Mapping[str, str]) -> list[str]:
    return ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]


def _reader_parts(reader: "Reader") -> CardParts:
    always = "; it always gives an answer."
    ending = ", or reports that there is none." if reader.scorer.can_abstain else always
    raw = reader.metrics.get("dev_raw", {})
    listed = ", ".join(f"{name} {value:.2f}" for name, value in raw.items())
    below = [f"If it abstains whenever that scores highest: {listed}."] if raw else []
    if "no_answer_area" in reader.metrics:
        area = reader.metrics["no_answer_area"]
        below.append(f"The no-answer probability has an area under the ROC curve of {area:.3f}.")
    introduction = f"Finds the answer to a question inside a passage{ending}"
    if reader.languages:
        introduction += f" Trained on passages in: {', '.join(reader.languages)}."
    return CardParts("a small reader", introduction, below, reader.calibration.questions)


def _classifier_parts(classifier: "Classifier") -> CardParts:
    labels = classifier.labels
    title = "a small classifier"
    what = "pairs of texts" if classifier.scorer.encoder.pairs else "texts"
    if labels.kind == "numbers":
        return CardParts(title, f"Gives {what} a value.", [], None)
    below = []
    if (error := classifier.metrics.get("dev_calibration_error")) is not None:
        below.append(f"The expected calibration error of its probabilities there is {error:.3f}.")
    introduction = f"Puts {what} into one of {len(labels.classes)} classes."
    return CardParts(title, introduction, below, classifier.calibration.texts)


_PARTS: dict[str, Callable[[Any], CardParts]] = {
    "spans": _reader_parts,
    "classes": _classifier_parts,
}


@cache  # to find it takes milliseconds
def _version(package: str) -> str:
    try:
        return version(package)
    except ImportError:
        return "(not installed)"


def _commit() -> str:
    """The git commit of the current folder, if it is in a repository."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip() or "unknown"
