"""Where the binaries are."""
from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def binary(variable: str, name: str) -> str:
    """The path of a built binary, of the newer build if there are two; fails with what to do when it is not there."""
    built = [ROOT / ".build" / build / name for build in ("release", "debug")]
    newest = max(built, key=lambda path: path.stat().st_mtime if path.exists() else 0)
    path = os.environ.get(variable) or str(newest)
    if not os.access(path, os.X_OK):
        raise FileNotFoundError(f"{path} is not there: build it with `make release`, or name another one in {variable}")
    # A test may start it in another directory.
    return os.path.abspath(path)


def postern() -> str:
    return binary("POSTERN_BIN", "postern")


def playground() -> str:
    return binary("PLAYGROUND_BIN", "playground")
