"""`python -m readlet` is the `readlet` command."""

from readlet.cli import main

main()
