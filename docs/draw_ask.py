"""Draw what `readlet ask` prints with the bundled reader: `python docs/draw_ask.py`.

Writes docs/ask.svg, the picture of the README.
"""

import io
import re
import tempfile
from contextlib import chdir
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

from readlet.cli import answers
from readlet.cli.ask import ask

PASSAGE = (
    "The lighthouse on Gull Island was designed by the engineer Anna Verhoeven and completed in "
    "1874. Its lamp burned whale oil until 1902, when an electric cable was laid under the bay. "
    "In 1988 the last keeper retired, and his house became a museum."
)
NAME = "lighthouse.txt"
QUESTIONS = ("Who designed the lighthouse?", "How tall is the lighthouse?")


def main() -> None:
    console = Console(record=True, file=io.StringIO(), width=88, highlight=False)
    answers.console = console  # the command prints there
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path(NAME).write_text(PASSAGE, "utf-8")
        for number, question in enumerate(QUESTIONS):
            if number:
                console.print()
            console.print(Text(f'$ readlet ask "{question}" {NAME}', style="bold"))
            ask(question, [NAME])
    svg = console.export_svg(title="readlet", theme=DEFAULT_TERMINAL_THEME, unique_id="ask")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)  # fonts from the network
    svg = svg.replace("rgba(255,255,255,0.35)", "#bbbbbb")  # a border that shows on white
    svg = re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)
    Path(__file__).with_name("ask.svg").write_text(svg, "utf-8")


if __name__ == "__main__":
    main()
