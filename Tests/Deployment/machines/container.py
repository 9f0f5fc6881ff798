"""A container without an engine: namespaces, a read-only root, one user without privileges."""
from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

ENCLOSE = Path(__file__).with_name("enclose.py")
Mounts = List[Tuple[str, str, str]]


class Container:
    """Processes of one root file system and one user. Each `start` is a container of its own, in PID, IPC and mount
    namespaces of its own; the network is the host's, for the playground is on its loopback."""

    def __init__(
        self, root: Path, uid: int, gid: int, mounts: Mounts, groups: Optional[List[int]] = None,
        environment: Optional[Dict[str, str]] = None,
    ) -> None:
        self.specification: Dict[str, Any] = {
            "root": str(root), "uid": uid, "gid": gid, "groups": groups or [],
            "mounts": [("proc", "/proc", "nosuid,nodev,noexec")] + mounts,
            "environment": {"PATH": "/usr/bin:/bin", **(environment or {})},
        }

    def start(self, *command: str, **pipes: Any) -> "subprocess.Popen[bytes]":
        specification = {**self.specification, "command": list(command)}
        return subprocess.Popen(
            ["unshare", "--fork", "--pid", "--mount", "--ipc", "--uts", "--kill-child",
             sys.executable, str(ENCLOSE), json.dumps(specification)],
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **pipes})

    def run(self, *command: str) -> Tuple[int, str]:
        """Exit status and output of a command."""
        process = self.start(*command)
        said, _ = process.communicate(timeout=30)
        return process.returncode, said.decode(errors="replace")


def inner(process: "subprocess.Popen[bytes]") -> int:
    """The contained process's id, as it is seen from here."""
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        children = path.read_text().split() if path.exists() else []
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise AssertionError("the container did not start")


def end(process: "subprocess.Popen[bytes]") -> int:
    """Asks the contained process to end, as an engine does, and returns its exit status."""
    if process.poll() is None:
        try:
            subprocess.run(["kill", "-s", signal.Signals(signal.SIGTERM).name, str(inner(process))], check=False)
            process.wait(15)
        except (AssertionError, subprocess.TimeoutExpired):
            process.kill()
            process.wait(10)
    return process.returncode
