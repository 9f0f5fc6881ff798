"""Fixtures: one sidecar for all tests, started as the end-to-end tests start theirs."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Iterator

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "EndToEnd"))

from harness.sidecar import Sidecar  # noqa: E402

from judges import Postern  # noqa: E402


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """A short path that programs of other users can read: socket paths end at 107 bytes."""
    made = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="session")
def postern() -> Iterator[Postern]:
    """A connection to a sidecar that lets its callers say what time it is."""
    directory = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
    directory.chmod(0o700)
    configuration = {
        "listen": {"path": str(directory / "postern.sock")},
        "store": {"kind": "memory"},
        "development": {"callerClock": True},
    }
    sidecar = Sidecar(directory, configuration)
    try:
        with sidecar.connect(timeout=60) as connection:
            yield Postern(connection)
            assert connection.works(), "the sidecar does not answer any more"
    finally:
        sidecar.stop()
        shutil.rmtree(directory, ignore_errors=True)
