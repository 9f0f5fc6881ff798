"""`postern login` as a child process."""
from __future__ import annotations

import os
import re
import subprocess
from typing import Optional

from . import binaries
from .sidecar import Sidecar


class Login:
    """The command, up to the address it prints. Without a `browser`, a program in the place of xdg-open, it opens
    none."""

    def __init__(self, sidecar: Sidecar, *arguments: str, browser: Optional[str] = None) -> None:
        own = [] if browser else ["--no-browser"]
        found = {"PATH": f"{browser}:{os.environ['PATH']}", "DISPLAY": ":0"} if browser else {}
        self.process = subprocess.Popen(
            [binaries.postern(), "login", *own, "--socket", sidecar.path, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **found})
        assert self.process.stderr is not None
        self.line = self.process.stderr.readline()
        address = re.search(r"open (http\S+)", self.line)
        self.url = address.group(1) if address else ""

    def end(self) -> "subprocess.CompletedProcess[str]":
        output, errors = self.process.communicate(timeout=20)
        return subprocess.CompletedProcess(self.process.args, self.process.returncode, output, self.line + errors)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate(timeout=10)
