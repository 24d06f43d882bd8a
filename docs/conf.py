"""The site: `make docs`. Pages are Markdown; the reference is made from docstrings."""

import readlet

project = "Readlet"
author = copyright = "The Readlet developers"
release = version = readlet.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["results/*-notes.md"]

myst_heading_anchors = 4
default_role = "code"  # `names` in docstrings

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

html_theme = "furo"
html_title = "Readlet"
html_copy_source = False

# Pages beside docs/ that are on the site under another name.
_PAGES = {"SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md", "README.md": "index.md"}


def _on_the_site(app: object, name: str, source: list[str]) -> None:
    up = "../" * (name.count("/") + 1)
    for file, page in _PAGES.items():
        source[0] = source[0].replace(f"]({up}{file}", f"]({up[3:]}{page}")


def setup(app) -> None:  # type: ignore[no-untyped-def]
    app.connect("source-read", _on_the_site)
