"""`python -m readlet` is the `readlet` command."""

from readlet.terminal import report_interrupts


def main() -> None:
    report_interrupts()  # before the imports, which take a while
    from readlet.cli import main as run

    run()


if __name__ == "__main__":
    main()
