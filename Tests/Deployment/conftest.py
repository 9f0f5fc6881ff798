"""Fixtures. The sidecar's harness is that of the end-to-end tests."""
from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Iterator

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "EndToEnd")]

from harness.playground import Playground  # noqa: E402


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short temporary path that every user may pass: socket paths end at 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def playground() -> Iterator[Playground]:
    upstream = Playground()
    yield upstream
    upstream.stop()
