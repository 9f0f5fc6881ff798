"""Responses through the gateway: each has one reading, and none that is cut looks whole."""

from __future__ import annotations

import re
import socket
import socketserver
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import pytest

import request_readers
from request_divergences import RESPONSES
from request_readers import HAPROXY, NGINX, TOKEN, Bytes, Unreadable
from response_cases import OK, SIZED, cases
from starting import gateway_in, proxy_in, resource, sidecar_in

pytestmark = pytest.mark.skipif(not (NGINX and HAPROXY), reason="needs nginx and haproxy")


class Received(NamedTuple):
    """A whole response."""

    status: int
    body: bytes
    #: The fields whose names begin with `X-T`; names in lower case.
    fields: Tuple[Tuple[str, str], ...]


class ScriptedServer:
    """Answers `/up/N` with the bytes of case N, closing behind them, and `/up/next` with a good response."""

    def __init__(self, scripts: List[bytes]) -> None:
        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                self.request.settimeout(10)
                try:
                    head = Bytes(self.request).until(b"\r\n\r\n")
                    name = head.split(b" ")[1].rpartition(b"/")[2]
                    good = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnext"
                    self.request.sendall(good if name == b"next" else scripts[int(name)])
                    self.request.shutdown(socket.SHUT_WR)
                    while self.request.recv(65_536):
                        pass
                except (EOFError, OSError):
                    pass

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def response(stream: Bytes) -> Received:
    """Reads one response as strictly as RFC 9112 allows; an EOFError where it ends too early."""
    while True:
        head = stream.until(b"\r\n\r\n")[:-4]
        if re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n", head):
            raise Unreadable(f"a control character: {head[:300]!r}")
        line, *rest = head.split(b"\r\n")
        found = re.fullmatch(rb"HTTP/1\.[01] ([1-5][0-9]{2})( .*)?", line)
        if not found:
            raise Unreadable(f"not a status line: {line!r}")
        if int(found[1]) >= 200:
            break
    status = int(found[1])
    pairs = [(name, value.strip(b" \t")) for name, _, value in (each.partition(b":") for each in rest)]
    if not all(TOKEN.fullmatch(name) for name, _ in pairs):
        raise Unreadable(f"not a field: {head[:300]!r}")
    fields = [(name.decode().lower(), value.decode("latin-1")) for name, value in pairs]
    framing = [(name, value) for name, value in fields if name in ("content-length", "transfer-encoding")]
    if status in (204, 304):
        body = b""
    elif not framing:
        body = until_close(stream)
    elif len(framing) > 1:
        raise Unreadable(f"two framings: {framing}")
    elif framing[0][0] == "content-length":
        body = stream.exactly(int(framing[0][1]))
    else:
        body = request_readers.read_body(stream, framing)
    return Received(status, body, tuple((name, value) for name, value in fields if name.startswith("x-t")))


def until_close(stream: Bytes) -> bytes:
    body = b""
    while True:
        try:
            body += stream.exactly(1)
        except EOFError:
            return body


Outcome = Tuple[Optional[Received], Optional[Received]]


def outcome(connect: Callable[[], socket.socket], number: int) -> Outcome:
    """The response to a case, and the one to the next request of the connection; None for one that is not whole."""
    with connect() as connection:
        connection.settimeout(10 if connection.family == socket.AF_UNIX else 2)
        stream = Bytes(connection)
        received: List[Optional[Received]] = [None, None]
        for index, name in enumerate([str(number), "next"]):
            try:
                connection.sendall(f"GET /up/{name} HTTP/1.1\r\nHost: postern\r\n\r\n".encode())
                received[index] = response(stream)
            except (EOFError, ConnectionError):
                break
        return received[0], received[1]


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    made = ScriptedServer([case.data for case in cases()])
    yield made
    made.stop()


@pytest.fixture(scope="module")
def connections(directory: Path, server: ScriptedServer) -> Iterator[Dict[str, Callable[[], socket.socket]]]:
    """How to connect to each proxy, by its name."""
    with ExitStack() as stack:
        made = {"gateway": stack.enter_context(gateway_in(directory / "gateway", server.port))}
        for start in [request_readers.nginx, request_readers.haproxy]:
            made[start.__name__] = stack.enter_context(proxy_in(directory / start.__name__, start, server))
        yield made


def test_what_is_passed_on_has_one_reading(connections: Dict[str, Callable[[], socket.socket]]) -> None:
    """Would catch a response that is cut and looks whole, that splits in two, or that another proxy reads otherwise."""
    chosen = cases()

    def read(name: str) -> List[Outcome]:
        found: List[Outcome] = []
        for number in range(len(chosen)):
            try:
                found.append(outcome(connections[name], number))
            except (Unreadable, TimeoutError):
                # Peers pass on what no client should read, or never end; the gateway must not.
                assert name != "gateway", chosen[number]
                found.append((None, None))
        return found

    with ThreadPoolExecutor(3) as pool:
        found = dict(zip(connections, pool.map(read, connections)))
    faults, used = [], set()
    for number, case in enumerate(chosen):
        first, second = found["gateway"][number]
        described = f"{case.name}: {case.data[:200]!r}\n  " + "\n  ".join(
            f"{name} {str(each[number])[:300]}" for name, each in found.items())
        if case.is_valid and (first is None or first.status == 502):
            faults.append(f"a valid response was rejected: {described}")
        if first is not None and (second is None or second.body != b"next"):
            faults.append(f"the next response is not its own: {described}")
        if first is None or first.status == 502:
            # A body that breaks off ends the connection; before that there is always a response.
            if first is None and case.name.startswith(("line", "field")):
                faults.append(f"no response at all: {described}")
            continue
        for name in ("nginx", "haproxy"):
            if found[name][number][0] == first:
                continue
            reason = next((each for each in RESPONSES if each.peer == name and re.match(each.pattern, case.name)), None)
            used.add(reason)
            if reason is None:
                faults.append(f"{name} reads it otherwise: {described}")
    assert not faults, f"{len(faults)} faults in {len(chosen)} cases\n" + "\n".join(faults[:30])
    stale = [each for each in RESPONSES if each not in used]
    assert not stale, f"stated divergences that did not occur: {stale}"


def test_a_folded_first_field_harms_nothing(directory: Path) -> None:
    """Would catch the use of freed memory in libcurl before 8.1.2 (curl issue 11101): a handle that is used again
    appends a folded first field to the last field of an earlier response. Any server could end the process."""
    server = ScriptedServer([OK + b" X-T: " + b"a" * length + b"\r\n" + SIZED for length in (1, 30, 200, 900, 3_000)])
    try:
        folded = sidecar_in(directory / "folded", resources=resource(server.port))
        with folded as sidecar, sidecar.connect() as connection:
            for number in range(50):
                error = connection.error("fetchResource", {"resource": "up", "path": str(number % 5)})
                assert error["code"] == 1013, error
                assert connection.call("fetchResource", {"resource": "up", "path": "next"})["status"] == 200
    finally:
        server.stop()
