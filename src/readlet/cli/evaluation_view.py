"""The tables of `readlet evaluate`."""

from rich.table import Table

from readlet.cli.console import console
from readlet.metrics.evaluation import Evaluation

_MISSING_SHOWN = 5


def show_evaluation(evaluation: Evaluation) -> None:
    official = evaluation.official
    table = Table(box=None)
    for name in ("", "questions", "EM", "F1"):
        table.add_column(name, justify="left" if not name else "right")
    for prefix, label in (("", "all"), ("HasAns_", "with answer"), ("NoAns_", "without answer")):
        if f"{prefix}total" in official:
            scores = (f"{official[prefix + key]:.2f}" for key in ("exact", "f1"))
            table.add_row(label, f"{official[f'{prefix}total']:,}", *scores)
    bounds = (evaluation.intervals["exact"], evaluation.intervals["f1"])
    table.add_row("95% interval", "", *(f"{low:.2f}–{high:.2f}" for low, high in bounds))
    console.print(table)
    if "best_f1" in official and "NoAns_total" in official:
        console.print(
            f"best threshold: EM {official['best_exact']:.2f} at "
            f"{official['best_exact_thresh']:.3f}, F1 {official['best_f1']:.2f} at "
            f"{official['best_f1_thresh']:.3f}"
        )
    if evaluation.calibration_error is not None:
        console.print(f"expected calibration error: {evaluation.calibration_error:.3f}")
    for group, rows in evaluation.breakdown.items():
        _show_group(group, rows)
    if evaluation.against is not None:
        _show_comparison(evaluation.against)
    _show_missing(evaluation.missing)


def show_glue(task: str, scores: dict[str, float], missing: list[str]) -> None:
    shown = ", ".join(f"{name} {v:.4f}" for name, v in scores.items() if name != "total")
    console.print(f"{task}: {shown} ({scores['total']:,} rows)")
    _show_missing(missing)


def _show_group(group: str, rows: dict[str, dict[str, float]]) -> None:
    table = Table(box=None, title=f"by {group}", title_justify="left")
    for name in ("", "questions", "EM", "F1"):
        table.add_column(name, justify="left" if not name else "right")
    for name, row in rows.items():
        table.add_row(name, f"{row['total']:,}", f"{row['exact']:.1f}", f"{row['f1']:.1f}")
    console.print(table)


def _show_comparison(against: dict[str, float]) -> None:
    for name, key in (("EM", "exact"), ("F1", "f1")):
        console.print(
            f"against the other predictions: {name} {against[f'{key}_difference']:+.2f} "
            f"({against[key]:.2f} there), p = {against[f'{key}_p']:.4f}"
        )
    if against["missing"]:
        line = f"{against['missing']} of the other predictions are missing (counted as wrong)"
        console.print(line, style="red")


def _show_missing(missing: list[str]) -> None:
    if missing:
        some = ", ".join(missing[:_MISSING_SHOWN])
        more = ", ..." if len(missing) > _MISSING_SHOWN else ""
        # Ids are not markup: one may hold brackets.
        line = f"{len(missing)} predictions are missing (counted as wrong): {some}{more}"
        console.print(line, style="red", markup=False)
