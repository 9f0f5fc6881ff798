"""Fixtures: everything that is started here is stopped here."""
from __future__ import annotations

import shutil
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import settings  # noqa: E402
from harness.connection import Connection  # noqa: E402
from harness.echo import EchoServer  # noqa: E402
from harness.issuer import IssuerDouble  # noqa: E402
from harness.playground import Playground  # noqa: E402
from harness.sidecar import Sidecar  # noqa: E402
from harness.signing import SigningKey  # noqa: E402

FRAMINGS = ["stream", "headers"]

#: Framing is the subject, or what both framings do each in their own way: cut messages, limit them, notice an end.
ABOUT_FRAMING = {
    "test_framing_headers.py", "test_framing_stream.py", "test_limits.py", "test_lifecycle.py", "test_transport.py",
    "test_unread_answers.py",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also wait for limits of half a minute and more")
    parser.addoption("--record-snapshots", action="store_true", help="write the files under snapshots/ instead of comparing with them")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a case in both framings where they are the subject."""
    if metafunc.definition.path.name in ABOUT_FRAMING and "framing" in metafunc.fixturenames:
        metafunc.parametrize("framing", FRAMINGS, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: List[pytest.Item]) -> None:
    for item in items:
        for mark in ("slow", "thorough"):
            if mark in item.keywords:
                item.user_properties.append((mark, "yes"))  # for the report that workers.py reads
    if not config.getoption("--slow"):
        slow = [item for item in items if "slow" in item.keywords]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    """A resource server that sends and takes bodies of any size."""
    made = EchoServer()
    yield made
    made.stop()


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short temporary path: socket paths end at 107 bytes."""
    path = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
    path.chmod(0o700)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def running_playground() -> Iterator[Playground]:
    upstream = Playground()
    yield upstream
    upstream.stop()


@pytest.fixture
def playground(running_playground: Playground) -> Playground:
    """The playground, whole and with its counters at zero."""
    running_playground.reset()
    return running_playground


@pytest.fixture
def start_playground() -> Iterator[Callable[..., Playground]]:
    """Starts further playgrounds."""
    started: List[Playground] = []

    def start(*arguments: str) -> Playground:
        started.append(Playground(*arguments))
        return started[-1]

    yield start
    for upstream in started:
        upstream.stop()


@pytest.fixture
def issuer() -> Iterator[IssuerDouble]:
    """An issuer under the test's own control."""
    double = IssuerDouble()
    yield double
    double.stop()


@pytest.fixture(scope="session")
def rsa() -> SigningKey:
    return SigningKey("RS256", "rsa-1")


@pytest.fixture(scope="session")
def ec() -> SigningKey:
    return SigningKey("ES256", "ec-1")


@pytest.fixture(scope="session")
def ed() -> SigningKey:
    return SigningKey("EdDSA", "ed-1")


@pytest.fixture
def configuration(directory: Path, playground: Playground) -> Dict[str, Any]:
    return settings.standard(directory, playground)


@pytest.fixture
def start(directory: Path, configuration: Dict[str, Any]) -> Iterator[Callable[..., Sidecar]]:
    """Starts a sidecar with changes to the standard configuration."""
    started: List[Sidecar] = []

    def start(changes: Optional[Dict[str, Any]] = None, **options: Any) -> Sidecar:
        own = directory / f"sidecar-{len(started)}"
        own.mkdir()
        started.append(Sidecar(own, settings.changed(configuration, changes), **options))
        return started[-1]

    yield start
    for sidecar in started:
        sidecar.stop()


@pytest.fixture
def sidecar(start: Callable[..., Sidecar]) -> Sidecar:
    """A sidecar with the standard configuration."""
    return start()


@pytest.fixture
def framing(request: pytest.FixtureRequest) -> str:
    """The case's own framing, or one of the two by the case's name: always the same, and half of all cases in each."""
    name: bytes = request.node.name.encode()
    return getattr(request, "param", FRAMINGS[zlib.crc32(name) % 2])


@pytest.fixture
def connect(framing: str) -> Iterator[Callable[[Sidecar], Connection]]:
    """Connects in the framing of the case."""
    opened: List[Connection] = []

    def connect(sidecar: Sidecar, timeout: float = 10.0) -> Connection:
        opened.append(sidecar.connect(framing, timeout))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def connection(sidecar: Sidecar, connect: Callable[[Sidecar], Connection]) -> Connection:
    """A connection to a sidecar with the standard configuration."""
    return connect(sidecar)
