"""The README as the package index shows it: there, a relative link leads nowhere."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")


class CustomMetadataHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        """Relative links become links to the files of this version."""
        source = metadata["urls"]["Source"]

        def absolute(link: re.Match[str]) -> str:
            kind = "raw" if link[1].endswith((".svg", ".png")) else "blob"
            return f"]({source}/{kind}/v{metadata['version']}/{link[1]})"

        text = _LINK.sub(absolute, Path(self.root, "README.md").read_text("utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
