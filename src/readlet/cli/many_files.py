"""Options of commands for one file or many, and what they print about many."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from readlet.console import FEW, console, say
from readlet.errors import ReadletError, bad_input

if TYPE_CHECKING:
    from readlet.cluster.commands import Files
    from readlet.cluster.map_files import Summary
    from readlet.data.columns import DataFormat

Ray = Annotated[
    str,
    typer.Option(
        metavar="WHERE",
        help="Work on many files by Ray: `local` on the cores and GPUs of this machine, `auto` on "
        "the cluster it belongs to, or the address of a cluster.",
        show_default="one file after the other",
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format", metavar="NAME", help="Of the outputs of many files: the suffix of their names."
    ),
]


def many_files(
    sources: Sequence[str],
    out: str,
    ray: str,
    kind: str,
    data_format: "DataFormat",
    only_one: Mapping[str, object],
) -> "Files | None":
    """The files if there may be many: a folder, a pattern, a URL, or any with --ray.

    `only_one` has the options of a single file.
    """
    from readlet.cluster.files import DATA_SUFFIXES, is_remote, names_many
    from readlet.data.datasets import PREFIX, input_path

    if not (ray or is_remote(out) or any(map(names_many, sources))):
        # It may be meant for a folder: else --out would be blamed, which names none.
        for source in sources:
            if not (source.startswith(PREFIX) or input_path(source).exists()):
                raise bad_input(source, "", "no such file or folder", "check the path")
        return None
    if out.removesuffix(".gz").endswith(DATA_SUFFIXES):
        raise ReadletError(f"--out {out}: is the name of a file; for many files give a folder")
    for name, value in only_one.items():
        if value:
            raise ReadletError(f"{name}: is for a single file; leave it out")
    from readlet.cluster.commands import Files

    return Files(sources=sources, out=out, data_format=data_format, kind=kind, ray=ray)


def show_summary(found: "Summary", out: str, what: str) -> None:
    """Print the outcome for all files; failed ones are an error, by reason."""
    done = found.files - found.skipped - len(found.failed)
    line = f"{out}: {done:,} of {found.files:,} files done"
    if found.skipped:
        line += f", {found.skipped:,} were done before"
    console.print(f"{line}; {what}" if done else line, markup=False, soft_wrap=True)
    for text, count in found.warned.most_common():
        say(f"warning: {count:,} × {text}")
    for reason, sources in found.by_reason():
        more = f" and {len(sources) - FEW:,} more" if len(sources) > FEW else ""
        say(f"failed: {', '.join(sources[:FEW])}{more}: {reason}")
    if found.failed:
        remedy = "correct them, and run the same command again for these alone"
        raise ReadletError(f"{len(found.failed):,} of {found.files:,} files failed; {remedy}")
