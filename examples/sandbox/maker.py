"""Gives a child one resource for ten minutes, as a connected descriptor: it needs no path, and no uid of the maker's.

    POSTERN_SOCKET=… python maker.py              runs child.py in a sandbox without any socket
    POSTERN_SOCKET=… python maker.py --at PATH    gives one to each program that connects at PATH: in another container
"""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import postern_auth

HERE = Path(__file__).resolve().parent
LIBRARY = Path(postern_auth.__file__).resolve().parents[1]
CHILD: dict[str, Any] = {
    "resources": ["orders"],
    "methods": ["fetchResource"],
    "http_methods": ["GET"],
    "expires_in_ms": 600_000,
    "descriptor": True,
}


def run(client: postern_auth.Client) -> int:
    """The child inherits the descriptor; its number is in POSTERN_FD."""
    with client.endpoint(**CHILD, label="child.py") as endpoint:
        sandbox = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--dev", "/dev", "--tmpfs", "/tmp"]
        for path in ["bin", "lib", "lib64"]:
            sandbox += ["--symlink", f"usr/{path}", f"/{path}"]
        for outside, inside in [("/usr", "/usr"), (HERE / "child.py", "/child.py"), (LIBRARY, "/library")]:
            sandbox += ["--ro-bind", str(outside), inside]
        return subprocess.run(
            [*sandbox, "/usr/bin/python3", "/child.py"],
            pass_fds=[endpoint.descriptor],
            env={"PATH": "/usr/bin", "PYTHONPATH": "/library", "POSTERN_FD": str(endpoint.descriptor)},
        ).returncode


def give(client: postern_auth.Client, child: socket.socket) -> None:
    """One endpoint for each child, as long as its connection lasts."""
    with child, client.endpoint(**CHILD, label="another container") as endpoint:
        socket.send_fds(child, [b"\0"], [endpoint.descriptor])
        child.recv(1)


def serve(client: postern_auth.Client, path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        os.chmod(path, 0o666)  # who can reach the volume: the other container
        listener.listen()
        print("ready", flush=True)
        while True:
            child, _ = listener.accept()
            threading.Thread(target=give, args=(client, child), daemon=True).start()


if __name__ == "__main__":
    with postern_auth.Client() as maker:
        if sys.argv[1:2] == ["--at"]:
            serve(maker, sys.argv[2])
        else:
            sys.exit(run(maker))
