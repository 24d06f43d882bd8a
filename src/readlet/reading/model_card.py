"""The model card: the generated README.md of a reader's folder."""

import platform
import subprocess
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from readlet.reading.reader import Reader

_PACKAGES = ("readlet", "torch", "numpy", "regex", "transformers", "accelerate")


def check_metrics(metrics: dict[str, Any]) -> None:
    """Raise a ValueError if stored metrics are not of the types that a card needs."""
    types = {"dev": dict, "dev_source": str, "steps": int, "rollbacks": int, "slimmed_from": int}
    types |= {"keeps_refusals": bool, "dev_raw": dict, "refusal_area": float}
    for name, kind in types.items():
        if name in metrics and type(metrics[name]) is not kind:
            raise ValueError(f"{name}: {metrics[name]!r:.40} is no {kind.__name__}")
    for part in ("dev", "dev_raw"):
        for name, value in metrics.get(part, {}).items():
            if type(value) not in (int, float):
                raise ValueError(f"{part}, {name}: {value!r:.40} is no number")


def model_card(reader: "Reader") -> str:
    """Data, recipe, scores, versions, seed and commit as Markdown."""
    notice = ["## Licence and data", "", reader.notice.strip(), ""] if reader.notice else []
    lines = [
        f"# {reader.name}: a small reader",
        "",
        "Finds the answer to a question inside a passage"
        + (
            ", or reports that there is none."
            if reader.scorer.can_refuse
            else "; it always gives an answer."
        ),
        "",
        *_facts(reader),
        "",
        *notice,
        "## Scores",
        "",
        *_scores(reader),
        "",
        "## Calibration",
        "",
        _calibration(reader),
        "",
        "## Recipe",
        "",
        *_recipe(reader),
        "",
        "## Made with",
        "",
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
        + f"; commit {_commit()}.",
        "",
    ]
    return "\n".join(lines)


def _facts(reader: "Reader") -> list[str]:
    recipe, metrics = reader.recipe, reader.metrics
    facts = [
        f"- kind `{recipe.model.kind}`, {reader.scorer.parameters:,} trainable parameters",
        *reader.scorer.facts(),
        f"- trained on: {', '.join(recipe.data.train)}; {metrics.get('steps', 0):,} steps",
        f"- seed {recipe.training.seed}",
    ]
    if metrics.get("rollbacks"):
        facts.append(f"- training was rolled back {metrics['rollbacks']:,} times")
    if "slimmed_from" in metrics:
        facts.append(f"- slimmed: it had {metrics['slimmed_from']:,} words with vectors")
    return facts


def _scores(reader: "Reader") -> list[str]:
    rows = [
        f"| {name} | {value:,} |" if isinstance(value, int) else f"| {name} | {value:.2f} |"
        for name, value in reader.metrics.get("dev", {}).items()
    ]
    source = reader.metrics.get("dev_source", "the held-out questions")
    raw = reader.metrics.get("dev_raw", {})
    listed = ", ".join(f"{name} {value:.2f}" for name, value in raw.items())
    below = [f"With the raw scores, without a fitted threshold: {listed}."] if raw else []
    if "refusal_area" in reader.metrics:
        area = reader.metrics["refusal_area"]
        below.append(f"Refusals have an area under the ROC curve of {area:.3f}.")
    return [f"On {source}:", "", "| | |", "|---|---|", *rows, "", *below]


def _calibration(reader: "Reader") -> str:
    from readlet.reading.fit_calibration import TOO_FEW, TOO_FEW_OF_A_KIND

    fitted = reader.calibration
    source = reader.recipe.data.calibration or "the training data, held out"
    fit = f"Fitted on {fitted.questions:,} questions of {source}"
    if not fitted.questions:
        kept = (
            "that of the reader it started from"
            if reader.recipe.training.start
            else "default values"
        )
        fit = f"Not fitted ({TOO_FEW} of {source}); {kept}"
    measured = "not measured"
    if fitted.error_before is not None and fitted.error_after is not None:
        measured = f"{fitted.error_before:.3f} before, {fitted.error_after:.3f} after"
    if reader.scorer.can_refuse and fitted.questions and not fitted.has_fitted_refusals:
        measured += f". No-answer probability and threshold are the defaults: {TOO_FEW_OF_A_KIND}"
    elif fitted.questions and reader.metrics.get("keeps_refusals"):
        measured += ". No-answer probability and threshold are those of the reader it started from"
    return (
        f"{fit}: temperature {fitted.temperature:.3f}, no-answer threshold "
        f"{fitted.no_answer_threshold:.3f}; expected calibration error {measured}."
    )


def _recipe(reader: "Reader") -> list[str]:
    values = reader.recipe.model_dump()
    rows = [
        f"| {section}.{field} | {value!r} |"
        for section in reader.recipe.sections
        for field, value in values[section].items()
    ]
    return ["| field | value |", "|---|---|", *rows]


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
