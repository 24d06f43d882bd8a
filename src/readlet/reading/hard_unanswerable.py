"""Unanswerable questions that are hard for a reader: what `data unanswerable --hard` calls."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from readlet.augment.hard_questions import POOL, Judge
from readlet.augment.unanswerable_file import Summary, add_unanswerable
from readlet.augment.unanswerable_questions import ALTERED_SHARE, check_fractions
from readlet.errors import bad_input
from readlet.formats.columns import Columns
from readlet.formats.writing import check_target
from readlet.progress import track
from readlet.reading.asked import asked_of
from readlet.reading.devices import AUTO
from readlet.reading.reader import Reader
from readlet.reading.reader_names import BASELINE, BUNDLED, reader_folder
from readlet.storage.outputs import check_file
from readlet.types import Example, Prediction

_REMEDY = f"give a reader's folder, or `{BUNDLED}`"
_CAN_REFUSE = "give a reader that was trained with unanswerable questions"


def add_hard_unanswerable(
    reader: str,
    sources: Sequence[str],
    out: Path,
    share: float,
    seed: int,
    columns: Columns,
    altered: float = ALTERED_SHARE,
    *,
    pool: int = POOL,
    encoding: str = "",
    overwrite: bool = False,
    device: str = AUTO,
) -> Summary:
    """Write all questions and new unanswerable ones that the reader answers with confidence.

    Of `pool` candidates for each new question, those with the lowest no-answer probabilities are
    kept. All outputs and options are checked before the reader is loaded.
    """
    check_fractions(share, altered)
    if reader == BASELINE:
        raise bad_input(reader, "", "its refusals were not learned", _REMEDY)
    if reader != BUNDLED and not (Path(reader) / "config.json").is_file():
        raise bad_input(reader, "", "no reader there", _REMEDY)
    check_target(out, sources, overwrite=overwrite)
    check_file(out, [reader_folder(reader)], overwrite=overwrite)
    judge = judge_by(load_refusing(reader, device=device))
    return add_unanswerable(
        sources,
        out,
        share,
        seed,
        columns,
        altered,
        encoding=encoding,
        overwrite=overwrite,
        judge=judge,
        pool=pool,
    )


def load_refusing(name: str, *, device: str = AUTO) -> Reader:
    """A reader that has scores for "no answer"; any other is rejected."""
    reader = Reader.load(name, device=device)
    if not reader.scorer.can_refuse:
        raise bad_input(name, "", "this reader never refuses", _CAN_REFUSE)
    return reader


def judge_by(reader: Reader) -> Judge:
    """The reader's predictions, in batches, with a progress bar."""

    def judge(examples: Sequence[Example], label: str) -> Iterator[Prediction]:
        answers = reader.answer_batch(map(asked_of, examples), n_best=1)
        return track(answers, len(examples), label)

    return judge
