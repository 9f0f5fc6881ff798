"""Fixtures of the documents' tests."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from stage import Stage  # noqa: E402


@pytest.fixture(scope="session")
def stage():
    """The playground, a decision point and, for each example, a sidecar."""
    stage = Stage()
    yield stage
    stage.stop()
