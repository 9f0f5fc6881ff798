"""Fixtures. The sidecar's harness is that of the end-to-end tests."""
from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "EndToEnd")]

from harness.playground import Playground  # noqa: E402
from machines import roots  # noqa: E402
from machines.files import foreign_libraries, needs, needs_namespaces, postern  # noqa: E402


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


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """As `directory`, for as long as a module's tests."""
    path = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def image() -> Iterator[Dict[str, Any]]:
    """The image, built and unpacked: its root and its configuration."""
    needs("buildah", "strip")
    needs_namespaces()
    if foreign_libraries(postern()):
        pytest.skip("a debug build: its Swift libraries are not the system's")
    path = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
    path.chmod(0o755)
    root, configuration = roots.unpack(roots.build_image(), path)
    yield {"root": root, "config": configuration["config"]}
    shutil.rmtree(path, ignore_errors=True)
