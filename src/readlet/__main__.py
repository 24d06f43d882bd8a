"""`python -m readlet` is the `readlet` command."""

import sys

from readlet.console import INTERRUPTED, report_interrupts, say


def main() -> None:
    report_interrupts()
    try:
        from readlet.cli import main as run  # takes a while
    except KeyboardInterrupt:
        say("readlet: interrupted")
        sys.exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
