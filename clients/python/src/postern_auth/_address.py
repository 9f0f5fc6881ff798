"""Where the socket is."""

from __future__ import annotations

import os
from typing import Union

Path = Union[str, "os.PathLike[str]"]


def socket_path(path: Path | None = None) -> str:
    """`path`, else $POSTERN_SOCKET, else $XDG_RUNTIME_DIR/postern.sock, else /run/postern/postern.sock."""
    if path is not None:
        return os.fspath(path)
    named = os.environ.get("POSTERN_SOCKET")
    if named:
        return named
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return os.path.join(runtime, "postern.sock") if runtime else "/run/postern/postern.sock"
