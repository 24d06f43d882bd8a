"""The README.md of a reader's folder, made by the program."""

import platform
import subprocess
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from readlet.reader import Reader

_PACKAGES = ("readlet", "torch", "numpy", "regex", "transformers", "accelerate")


def model_card(reader: "Reader") -> str:
    """Data, recipe, scores, versions, seed and commit, for people."""
    from readlet.calibrating import TOO_FEW
    from readlet.models.qacnn import count_parameters
    from readlet.recipe import SECTIONS

    recipe, calibration = reader.recipe, reader.calibration
    scores = reader.metrics.get("dev", {})
    score_rows = [
        f"| {name} | {value:,} |" if isinstance(value, int) else f"| {name} | {value:.2f} |"
        for name, value in scores.items()
    ]
    known = reader.vocabulary
    settings = [
        f"| {section}.{field} | {value!r} |"
        for section in SECTIONS
        for field, value in recipe.model_dump()[section].items()
    ]
    smaller = []
    if "slimmed_from" in reader.metrics:
        smaller.append(f"- slimmed: it had {reader.metrics['slimmed_from']:,} words with vectors")
    if reader.stored == "float16":
        smaller.append("- weights stored in half precision")
    notice = ["## Licence and data", "", reader.notice.strip(), ""] if reader.notice else []
    measured = (
        f"{calibration.error_before:.3f} before, {calibration.error_after:.3f} after"
        if calibration.error_after is not None and calibration.error_before is not None
        else "not measured"
    )
    source = recipe.data.calibration or "the training data, held out"
    fit = f"Fitted on {calibration.questions:,} questions of {source}"
    if not calibration.questions:
        fit = f"Not fitted ({TOO_FEW} of {source}); the usual values"
    lines = [
        f"# {recipe.name}: a small reader",
        "",
        "Finds the answer to a question inside a passage"
        + (", or says that there is none." if reader.null else "; it always gives an answer."),
        "",
        f"- {count_parameters(reader.model):,} trainable parameters",
        f"- {len(known.frozen):,} words with frozen vectors, {len(known.trainable):,} with "
        f"trainable ones, {len(known.characters):,} characters",
        f"- trained on: {', '.join(recipe.data.train)}; {reader.metrics.get('steps', 0):,} steps",
        f"- seed {recipe.training.seed}",
        *smaller,
        "",
        *notice,
        "## Scores",
        "",
        f"On {reader.metrics.get('dev_source', 'the held-out questions')}:",
        "",
        "| | |",
        "|---|---|",
        *score_rows,
        "",
        "## Calibration",
        "",
        f"{fit}: temperature {calibration.temperature:.3f}, no-answer threshold "
        f"{calibration.no_answer_threshold:.3f}; expected calibration error {measured}.",
        "",
        "## Recipe",
        "",
        "| field | value |",
        "|---|---|",
        *settings,
        "",
        "## Made with",
        "",
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)
        + f"; commit {_commit()}.",
        "",
    ]
    return "\n".join(lines)


def _version(package: str) -> str:
    try:
        return version(package)
    except ImportError:
        return "(not installed)"


def _commit() -> str:
    """The commit of the project in whose folder the reader was made, if it is one."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip() or "unknown"
