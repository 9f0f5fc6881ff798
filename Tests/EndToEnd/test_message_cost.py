"""What one message may cost: values, bytes and memory, before and after its sender is known."""
from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.sidecar import Sidecar
from harness.waiting import eventually
from harness.users import acting_as
from test_caller_limits import connect_as, open_directory  # noqa: F401

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]

MEBIBYTE = 1 << 20
#: A little less than the default limit of a message, for the envelope.
SIZE = 16 * MEBIBYTE - 1024

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs to be other users")


def request(params: str, identifier: int = 1) -> str:
    return '{"jsonrpc":"2.0","id":%d,"method":"getInfo","params":{"a":%s}}' % (identifier, params)


def values(count: int) -> str:
    """A request of `count` JSON values: itself, four members, the params' array among them, and that array's."""
    return request("[%s]" % ",".join(["0"] * (count - 6)))


def full(piece: str, size: int = SIZE) -> str:
    return "[%s]" % ",".join([piece] * (size // (len(piece) + 1)))


def members(count: int) -> str:
    return "{%s}" % ",".join('"%0160d":0' % number for number in range(count))


def batch() -> str:
    return "[%s]" % ",".join(request('"%s"' % ("x" * (SIZE // 64 - 100)), number) for number in range(64))


#: 16 MiB of each kind, and the code that it is answered with.
SHAPES: Dict[str, Any] = {
    "empty objects": (lambda: request(full("{}")), -32025),
    "empty arrays": (lambda: request(full("[]")), -32025),
    "nested arrays": (lambda: request(full("[" * 120 + "]" * 120)), -32025),
    "numbers": (lambda: request(full("1")), -32025),
    "small strings": (lambda: request(full('""')), -32025),
    "members": (lambda: request(members(SIZE // 165)), -32025),
    "objects at the bare top": (lambda: full("{}"), -32025),
    "one string": (lambda: request('"%s"' % ("x" * (SIZE - 100))), -32602),
    "one string of escapes": (lambda: request('"%s"' % ("\\u00e9" * ((SIZE - 100) // 6))), -32602),
    "as many strings as allowed": (lambda: request(full('"%s"' % ("y" * 165))), -32602),
    "as many members as allowed": (lambda: request(members(99_000)), -32602),
    "a batch of large strings": (batch, -32602),
    "white space": (lambda: request("1" + " " * (SIZE - 200)), -32602),
}


def reset_peak(sidecar: Sidecar) -> int:
    """Returns the peak from then on, in KiB."""
    Path(f"/proc/{sidecar.process.pid}/clear_refs").write_text("5")
    return peak_kilobytes(sidecar)


def peak_kilobytes(sidecar: Sidecar) -> int:
    for line in Path(f"/proc/{sidecar.process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise AssertionError("no VmHWM")


def codes(answer: Any) -> List[int]:
    return sorted({one["error"]["code"] for one in (answer if isinstance(answer, list) else [answer])})


def test_more_values_than_allowed_are_refused_and_the_connection_goes_on(start: Start, connect: Connect) -> None:
    connection = connect(start({"limits": {"jsonValues": 1000}}))
    connection.send_text(values(1000))
    expect.error(connection.receive(), -32602, 1)  # type: ignore[arg-type]
    for text in [values(1001), values(50_000), "[%s]" % ",".join(["{}"] * 2000)]:
        connection.send_text(text)
        data = expect.error(connection.receive(), -32025, None)  # type: ignore[arg-type]
        assert data["limitValues"] == 1000
        assert connection.works()
    assert connection.others() == []


def test_the_default_is_100_000_values(connection: Connection) -> None:
    connection.send_text(values(100_000))
    expect.error(connection.receive(), -32602, 1)  # type: ignore[arg-type]
    connection.send_text(values(100_001))
    assert expect.error(connection.receive(), -32025, None)["limitValues"] == 100_000  # type: ignore[arg-type]
    assert connection.works()


@needs_root
def test_somebody_without_a_rule_may_send_64_kib(start: Start, open_directory: Path) -> None:  # noqa: F811
    peers = [{"uid": 0, "methods": ["*"]}]
    changes: Dict[str, Any] = {"listen": {"path": str(open_directory / "postern.sock"), "mode": "0666"}, "peers": peers}
    sidecar = start(changes)
    with connect_as(65534, sidecar) as stranger, sidecar.connect() as own:
        small, large = request('"%s"' % ("x" * 65_000)), request('"%s"' % ("x" * 66_000))
        stranger.send_text(small)
        expect.error(stranger.receive(), -32020, 1)  # type: ignore[arg-type]
        stranger.send_text(large)
        assert expect.error(stranger.receive(), -32007, None)["limitBytes"] == 65_536  # type: ignore[arg-type]
        own.send_text(large)
        expect.error(own.receive(), -32602, 1)  # type: ignore[arg-type]
        # A rule that a reload brings holds for connections that are there.
        configuration = json.loads(sidecar.configuration_path.read_text())
        configuration["peers"].append({"uid": 65534, "methods": ["*"]})
        sidecar.write(configuration)
        own.call("reloadConfig")
        stranger.send_text(large)
        expect.error(stranger.receive(), -32602, 1)  # type: ignore[arg-type]


@pytest.fixture
def shared(start: Start, open_directory: Path) -> Sidecar:  # noqa: F811
    peers = [{"uid": 2001, "methods": ["*"]}, {"uid": 2002, "methods": ["*"]}]
    return start({"listen": {"path": str(open_directory / "postern.sock"), "mode": "0666"}, "peers": peers})


@pytest.fixture
def neighbour(shared: Sidecar) -> Iterator[List[bool]]:
    """Another user who is answered all the while; what the answers were."""
    answers: List[bool] = []
    done = threading.Event()
    connection = connect_as(2002, shared)
    connection.socket.settimeout(30)

    def ask() -> None:
        while not done.wait(0.01):
            answers.append(connection.works())

    thread = threading.Thread(target=ask)
    thread.start()
    yield answers
    done.set()
    thread.join()
    connection.close()


@needs_root
@pytest.mark.parametrize("framing", ["stream", pytest.param("headers", marks=pytest.mark.thorough)], indirect=True)
@pytest.mark.parametrize("kind", list(SHAPES))
def test_a_message_of_16_mib_costs_little_and_gives_it_back(
    shared: Sidecar, neighbour: List[bool], framing: str, kind: str
) -> None:
    make, code = SHAPES[kind]
    text = make().encode()
    assert 15 * MEBIBYTE < len(text) <= 16 * MEBIBYTE
    with acting_as(2001):
        connection = shared.connect(framing, 60)
    with connection:
        # What is used the first time only (code, buffers that stay) is no cost of the message.
        connection.send_text(request('"%s"' % ("x" * 100_000)))
        connection.receive()
        idle = shared.resident_kilobytes()
        floor = reset_peak(shared)
        before = len(neighbour)
        connection.send_text(text)
        assert codes(connection.receive()) == [code]
        assert connection.works()
        peak = peak_kilobytes(shared) - floor
        assert peak <= min(8 * len(text) // 1024, 150 * 1024), f"{peak} KiB"
        eventually(lambda: shared.resident_kilobytes() <= idle * 1.1, what=f"{kind}: memory that goes back")
        eventually(lambda: len(neighbour) > before, what="an answer to the other user")
    assert all(neighbour)


@needs_root
@pytest.mark.parametrize("kind", ["empty objects", "nested arrays", "one string"])
def test_a_message_of_a_user_without_a_rule_costs_nothing(shared: Sidecar, kind: str) -> None:
    text = SHAPES[kind][0]().encode()
    with connect_as(65534, shared) as stranger:
        expect.fault(stranger.error("getInfo"), -32020)
        floor = reset_peak(shared)
        stranger.socket.settimeout(60)
        stranger.send_text(text)
        expect.error(stranger.receive(), -32007, None)  # type: ignore[arg-type]
        assert peak_kilobytes(shared) - floor < 4 * 1024
