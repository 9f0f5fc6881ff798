"""What is deployed, and where it comes from."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

from harness import binaries

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"


def postern() -> str:
    """The built sidecar, by a path that holds wherever a program runs."""
    return os.path.abspath(binaries.postern())


def needs(*programs: str) -> None:
    """Skips the test where a program is missing; `make deps` installs them all."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed: make deps")


def kubernetes_tool(name: str) -> str:
    """helm or kubectl, as `make test-deployment` has unpacked them; skips the test where there is none."""
    unpacked = Path(sys.executable).parent / name
    found = str(unpacked) if os.access(unpacked, os.X_OK) else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: make test-deployment")
    return found


def needs_root(why: str) -> None:
    """Skips the test for other users."""
    if os.geteuid() != 0:
        pytest.skip(f"root is needed to {why}")


def needs_namespaces() -> None:
    """Skips the test where this user may not make namespaces and mounts."""
    needs_root("make namespaces with several users in them")
    tried = subprocess.run(
        ["unshare", "--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if tried.returncode != 0:
        pytest.skip("this machine lets nobody make namespaces: " + tried.stderr.decode(errors="replace").strip())


def foreign_libraries(binary: str) -> List[str]:
    """Directories of libraries outside the system's own: those of the Swift toolchain, for debug builds only."""
    listed = subprocess.run(["ldd", binary], stdout=subprocess.PIPE, check=True).stdout.decode()
    paths = {os.path.dirname(path) for path in re.findall(r"=> (/\S+)", listed)}
    return sorted(path for path in paths if not path.startswith(("/lib", "/usr/lib")))
