"""The long description: the README, with links that work outside of this folder."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

#: Where the README is in the repository.
FOLDER = "clients/python"
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")


def with_absolute_links(text: str, repository: str) -> str:
    """`text` with `repository`'s pages of the main branch in place of paths relative to `FOLDER`."""

    def absolute(link: re.Match[str]) -> str:
        path, mark, fragment = link[1].partition("#")
        return f"]({repository}/blob/main/{posixpath.normpath(posixpath.join(FOLDER, path))}{mark}{fragment})"

    return LINK.sub(absolute, text)


class LongDescription(MetadataHookInterface):
    """`readme` of the package's metadata (pyproject.toml declares it as dynamic)."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = with_absolute_links(text, metadata["urls"]["Source"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
