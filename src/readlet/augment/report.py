"""The report on an augmentation: a self-contained page, and the same numbers as text and JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from readlet.augment import report_plots
from readlet.augment.tally import Tally
from readlet.augment.text_statistics import NEAR, TextStatistics
from readlet.augment.translated_questions import Translated
from readlet.storage.files import write_text
from readlet.storage.outputs import check_file, check_folder, make_folder
from readlet.types import Span

NAME = "augmentation"
# A text by which each file is recognised as a report.
_SIGNS = {
    "html": "<h2>How this page was made</h2>",
    "md": "\n## How this page was made\n",
    "json": '"kept_share"',
}
_AROUND = 240  # characters of a context shown on each side of an answer


def check_report(folder: Path, inputs: Sequence[Path] = ()) -> None:
    """Check that the report may be written: it replaces only reports."""
    check_folder(folder, None)
    for kind, sign in _SIGNS.items() if folder.exists() else ():
        check_file(folder / f"{NAME}.{kind}", inputs, sign=sign)


def write_report(folder: Path, tally: Tally, statistics: TextStatistics, command: str) -> Path:
    """Write all files, and return the path of the page."""
    texts = {
        "html": html(tally, statistics, command),
        "md": markdown(tally, statistics, command),
        "json": json.dumps(as_json(tally, statistics), ensure_ascii=False, indent=1),
    }
    make_folder(folder)
    for kind, text in texts.items():
        write_text(folder / f"{NAME}.{kind}", text)
    return folder / f"{NAME}.html"


def as_json(tally: Tally, statistics: TextStatistics) -> dict[str, Any]:
    return {**tally.as_json(), "texts": statistics.as_json()}


def html(tally: Tally, statistics: TextStatistics, command: str) -> str:
    text = (files("readlet") / "augment" / "report.html.j2").read_text("utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    colours = report_plots.colours(tally)
    return environment.from_string(text).render(
        tally=tally,
        about=about(tally),
        command=command,
        colours=colours,
        parts=report_plots.parts,
        shares=lambda counts: Markup(report_plots.shares(counts, colours)),
        statistics=statistics,
        near=NEAR,
        length_ratios=lambda found: Markup(report_plots.length_ratios(found)),
        vocabulary=Markup(report_plots.vocabulary(statistics.growth)),
        samples=_samples(statistics),
    )


def about(tally: Tally) -> str:
    """The plan in words."""
    plan = tally.plan
    names = {"question": "questions", "context": "contexts and answers"}
    what = ", ".join(names[field] for field in plan.fields).capitalize()
    way = " and ".join(
        f"{plan.source} → {language}" + (f" → {plan.source}" if plan.back else "")
        for language in plan.to
    )
    share = f" of {plan.share:.0%} of the questions" if plan.share < 1 else ""
    return f"{what}{share}, {way}; answers kept: {plan.keep}."


def markdown(tally: Tally, statistics: TextStatistics, command: str) -> str:
    lines = ["# Augmentation by translation", "", about(tally), ""]
    lines += ["| language | translated | kept | share | copies |", "|---|---|---|---|---|"]
    for language, counts in tally.languages.items():
        kept = f"{counts.kept:,} | {counts.kept_share:.1%}"
        lines.append(f"| {language} | {counts.asked:,} | {kept} | {counts.copies:,} |")
    for language, counts in tally.languages.items():
        if counts.lost:
            lines += ["", f"Lost, {language}:", ""]
            lines += [f"- {count:,}: {reason}" for reason, count in counts.lost.most_common()]
        if counts.stages:
            lines += ["", f"Answers by the most certain stage that found them, {language}:", ""]
            lines += [f"- {count:,}: {stage}" for stage, count in counts.stages.most_common()]
    lines += ["", "| texts | pairs | near-duplicates | mean length ratio |", "|---|---|---|---|"]
    for name, found in statistics.fields.items():
        numbers = f"{found.pairs:,} | {found.near_duplicates:,} | {found.mean_ratio:.3f}"
        lines.append(f"| {name}s | {numbers} |")
    last = statistics.growth[-1]
    lines += ["", f"Distinct words: {last.old:,} in the old texts, {last.all:,} with the new ones."]
    lines += ["", "## How this page was made", ""]
    lines += [f"- {pair}: {engine}" for pair, engine in tally.engines.items()]
    return "\n".join([*lines, "", f"    {command}", ""])


@dataclass(frozen=True, slots=True)
class Sample:
    """A question and its translation, with excerpts around the answers."""

    id: str
    language: str
    question: str
    new_question: str
    context: Markup
    new_context: Markup


def _samples(statistics: TextStatistics) -> Mapping[str, list[Sample]]:
    """By kind; those that were kept first."""
    shown = {kind: found.shown for kind, found in sorted(statistics.samples.items())}
    ranked = sorted(shown.items(), key=lambda item: item[1][0].new is None)
    return {
        f"{'Lost' if found[0].new is None else 'Kept'}: {kind}": [_sample(one) for one in found]
        for kind, found in ranked
    }


def _sample(one: Translated) -> Sample:
    old, new = one.source, one.new
    answers = old.answers or old.plausible_answers
    at = answers[0].start / max(1, len(old.context)) if answers else 0.0
    new_answers = (new.answers or new.plausible_answers) if new is not None else ()
    return Sample(
        old.id,
        one.language,
        old.question,
        "" if new is None else new.question,
        excerpt(old.context, answers, at),
        excerpt(one.context, new_answers, at),
    )


def excerpt(text: str, answers: Sequence[Span], at: float) -> Markup:
    """The text around the first answer, or around a relative place, with the answers marked."""
    middle = answers[0].start if answers else int(at * len(text))
    last = answers[0].end if answers else middle
    start, end = max(0, middle - _AROUND), min(len(text), last + _AROUND)
    if start > 0:  # begins and ends with whole words
        start = text.find(" ", start, middle) + 1 or start
    if end < len(text):
        end = text.rfind(" ", last, end) if text.rfind(" ", last, end) >= 0 else end
    shown = Markup("…" if start > 0 else "")
    done = start
    for answer in sorted(set(answers), key=lambda span: (span.start, -span.end)):
        if answer.start < done or answer.end > end:
            continue
        shown += text[done : answer.start]
        shown += Markup("<mark>{}</mark>").format(answer.text)
        done = answer.end
    return shown + text[done:end] + ("…" if end < len(text) else "")
