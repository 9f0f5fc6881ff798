"""Fixtures of the examples' tests: a sidecar with an example's postern.yaml, the example, and a browser."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional, Type

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "EndToEnd"), str(HERE.parent / "Documents")]

from application import Application, WebApplication  # noqa: E402
from harness.chromium import Chromium, Page  # noqa: E402
from harness.playground import Playground  # noqa: E402
from harness.sidecar import Sidecar  # noqa: E402


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    directory = Path(tempfile.mkdtemp(prefix="postern-chromium-", dir="/tmp"))
    browser = Chromium(directory)
    yield browser
    browser.stop()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def page(chromium: Chromium) -> Iterator[Page]:
    """A page without cookies."""
    opened = chromium.page(height=900)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def running_playground() -> Iterator[Playground]:
    upstream = Playground()
    yield upstream
    upstream.stop()


@pytest.fixture
def playground(running_playground: Playground) -> Playground:
    running_playground.reset()
    return running_playground


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short temporary path: socket paths end at 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
    path.chmod(0o700)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def start(directory: Path) -> Iterator[Callable[..., Application]]:
    """Starts a sidecar with the example's postern.yaml, in which `addresses` replace those that it shows."""
    started: List[Application] = []

    def start(name: str, addresses: Dict[str, str], kind: Optional[Type[Application]] = None, **options: int) -> Application:
        own = directory / name
        own.mkdir()
        kind = kind or (WebApplication if name in WebApplication.PROGRAMS else Application)
        started.append(kind(name, own, addresses, **options))
        return started[-1]

    yield start
    for one in started:
        one.stop()
