"""The real sidecar and playground, and a double that misbehaves."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "Tests" / "EndToEnd"))

from double import Double
from harness import journeys, settings
from harness.playground import Playground
from harness.sidecar import Sidecar

from postern_auth import Client


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short temporary path: socket paths end at 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def playground() -> Iterator[Playground]:
    upstream = Playground()
    yield upstream
    upstream.stop()


def configuration(directory: Path, playground: Playground) -> dict[str, Any]:
    """The playground's halves as `orders` and `open`, its gateway as `gate`, and an access manager."""
    base = settings.standard(directory, playground)
    gate = {"baseUrl": playground.base + "/gateway/", "issuer": "am", "auth": "user", "scope": "orders"}
    changes = {**journeys.settings(playground, directory), "tokens": {"leaveTheSidecar": True}}
    changes["resources"]["gate"] = gate
    changed: dict[str, Any] = settings.changed(base, changes)
    return changed


@pytest.fixture(scope="session")
def sidecar(playground: Playground) -> Iterator[Sidecar]:
    """One for all tests that leave it as it is."""
    path = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
    running = Sidecar(path, configuration(path, playground))
    yield running
    running.stop()
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def start(directory: Path, playground: Playground) -> Iterator[Callable[..., Sidecar]]:
    """Starts sidecars of the test's own; the same `name` is the same socket again."""
    started: list[Sidecar] = []

    def start(changes: dict[str, Any] | None = None, name: str = "own") -> Sidecar:
        own = directory / name
        own.mkdir(exist_ok=True)
        started.append(Sidecar(own, settings.changed(configuration(own, playground), changes)))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def client(sidecar: Sidecar) -> Iterator[Client]:
    with Client(sidecar.path, timeout=20) as client:
        yield client


@pytest.fixture
def double(directory: Path) -> Iterator[Double]:
    """A sidecar under the test's control."""
    server = Double(directory / "double.sock")
    yield server
    server.stop()


@pytest.fixture
def session(client: Client, playground: Playground) -> str:
    """A user who is signed on."""
    grant = {"type": "sso", "ssoToken": journeys.sign_on(playground)}
    return client.create_session("am", grant).session
