"""Bodies of programs' requests: sent while they are read, and kept as long as their request may be sent once more."""
from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import threading
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from harness.gateway import Answer
from harness.loopback import Loopback
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, acting_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
MEBIBYTE = 1 << 20


class Server:
    """Reads bodies byte by byte, as they come. Under `/guarded` and `/early` the token that came first is rejected: with
    `/early` before the body is read. Under `/waits` nothing is answered."""

    def __init__(self) -> None:
        self._loopback = Loopback(self._serve)
        self.base = f"http://127.0.0.1:{self._loopback.port}"
        #: The first token.
        self.rejected: Optional[str] = None
        #: How many bytes of bodies have come, by path.
        self.arrived: Dict[str, int] = {}
        #: The paths of the requests that have begun.
        self.begun: List[str] = []
        #: Path, token and hash of each body that was whole.
        self.whole: List[Tuple[str, str, str]] = []
        self.stopped = threading.Event()
        self._loopback.start()

    def stop(self) -> None:
        self.stopped.set()
        self._loopback.stop()

    def _serve(self, client: socket.socket, _: int) -> None:
        stream = client.makefile("rb")
        while True:
            line = stream.readline().decode()
            if not line:
                return
            fields: Dict[str, str] = {}
            while (field := stream.readline().decode().strip()) != "":
                name, _, value = field.partition(":")
                fields[name.lower()] = value.strip()
            path, token = line.split(" ")[1], fields.get("authorization", "")
            self.begun.append(path)
            self.rejected = self.rejected or token
            is_rejected = token == self.rejected and path.split("/")[-1] in ("guarded", "early")
            if is_rejected and path.endswith("early"):
                client.sendall(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\n\r\n")
            digest, count = hashlib.sha256(), 0
            for piece in self._body(stream, fields):
                self.arrived[path] = self.arrived.get(path, 0) + len(piece)
                digest.update(piece)
                count += len(piece)
            self.whole.append((path, token, digest.hexdigest()))
            if path.endswith("waits"):
                self.stopped.wait(60)
            if not (is_rejected and path.endswith("early")):
                status = b"401 Unauthorized\r\nWWW-Authenticate: Bearer" if is_rejected else b"200 OK"
                client.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%d" % (status, len(str(count)), count))

    @staticmethod
    def _body(stream: Any, fields: Dict[str, str]) -> Iterator[bytes]:
        def read(left: int) -> Iterator[bytes]:
            while left:
                piece = stream.read1(min(left, 65536))
                if not piece:
                    raise ConnectionError("the body ended early")
                left -= len(piece)
                yield piece

        if fields.get("transfer-encoding") != "chunked":
            yield from read(int(fields.get("content-length", 0)))
            return
        while line := stream.readline():
            size = int(line, 16)
            yield from read(size)
            stream.readline()
            if size == 0:
                return
        raise ConnectionError("the body ended early")


class Upload:
    """A program's request whose body is sent in parts."""

    def __init__(self, path: str, target: str, length: Optional[int]) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.is_chunked = length is None
        framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        self.socket.sendall(f"POST {target} HTTP/1.1\r\nHost: x\r\n{framing}\r\n\r\n".encode())

    def send(self, piece: bytes) -> None:
        self.socket.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if self.is_chunked else piece)

    def end(self) -> Answer:
        if self.is_chunked:
            with contextlib.suppress(OSError):
                self.socket.sendall(b"0\r\n\r\n")
        return self.answer()

    def answer(self) -> Answer:
        response = HTTPResponse(self.socket, method="POST")
        response.begin()
        return Answer(response)

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.stop()


@pytest.fixture
def http(directory: Path) -> str:
    return str(directory / "http.sock")


@pytest.fixture
def gateway(start: Start, server: Server, http: str) -> Callable[..., Sidecar]:
    """A sidecar with the resources `open`, without tokens, and `mine`, with those of the client."""

    def begin(**changes: Any) -> Sidecar:
        made = start({
            "gateway": {"listen": {"path": http, "mode": "0666"}},
            "resources": {
                "open": {"baseUrl": server.base + "/", "auth": "none"},
                "mine": {"baseUrl": server.base + "/", "auth": "clientCredentials", "issuer": "play", "scope": "orders"},
            }, **changes})
        made.awaits_log("gateway listening")
        return made

    return begin


@pytest.mark.parametrize("name", ["open", "mine"])
@pytest.mark.parametrize("length", [2, 100_000, None])
def test_the_first_byte_goes_up_before_the_last_has_come(
    gateway: Callable[..., Sidecar], server: Server, http: str, name: str, length: Optional[int]
) -> None:
    gateway()
    upload = Upload(http, f"/{name}/x", length)
    upload.send(b"a")
    eventually(lambda: server.arrived.get("/x"), what="the first byte has arrived")
    upload.send(b"b" * ((length or 100_000) - 1))
    answer = upload.end()
    assert (answer.status, answer.body) == (200, b"%d" % (length or 100_000))
    upload.close()


@pytest.mark.parametrize("path", ["guarded", "early"])
@pytest.mark.parametrize("length, is_chunked", [(3, False), (100_000, False), (MEBIBYTE, False), (200_000, True)])
def test_a_retry_sends_the_whole_body_once(
    gateway: Callable[..., Sidecar], server: Server, http: str, path: str, length: int, is_chunked: bool
) -> None:
    gateway()
    body = os.urandom(length)
    upload = Upload(http, f"/mine/{path}", None if is_chunked else length)
    upload.send(body[:2])
    # With an early rejection the second attempt has begun before the body is there.
    count = 2 if path == "early" else 1
    eventually(lambda: server.begun.count("/" + path) == count and server.arrived, what="the attempt")
    upload.send(body[2:])
    answer = upload.end()
    assert (answer.status, answer.body) == (200, b"%d" % length)
    accepted = [digest for _, token, digest in server.whole if token != server.rejected]
    assert accepted == [hashlib.sha256(body).hexdigest()]
    assert {digest for _, _, digest in server.whole} == set(accepted), "each attempt that was whole had the same body"
    upload.close()


@pytest.mark.parametrize("is_chunked", [True, False])
def test_a_body_that_is_not_kept_goes_up_once(
    gateway: Callable[..., Sidecar], server: Server, http: str, is_chunked: bool
) -> None:
    gateway()
    for status in (401, 200):
        upload = Upload(http, "/mine/guarded", None if is_chunked else MEBIBYTE + 1)
        upload.send(b"x" * (MEBIBYTE + 1))
        assert upload.end().status == status
        upload.close()
    assert len(server.whole) == 2


@needs_root
def test_two_users_do_not_share_what_is_kept(
    gateway: Callable[..., Sidecar], server: Server, http: str, directory: Path
) -> None:
    """It would catch bodies of one user that take the memory for another user's retries, or all memory."""
    sidecar = gateway(**BOTH)
    open_to_all(sidecar.directory)
    hoard: List[Upload] = []
    try:
        with acting_as(ALICE):
            for _ in range(40):
                hoard.append(Upload(http, "/mine/kept", MEBIBYTE))
            for upload in hoard:
                upload.send(b"x" * (MEBIBYTE - 1))
        eventually(lambda: server.arrived.get("/kept", 0) >= 33 * (MEBIBYTE - 1), seconds=30, what="the bodies")
        server.rejected = None  # The next request's token.

        def status(uid: int) -> int:
            with acting_as(uid):
                upload = Upload(http, "/mine/guarded", MEBIBYTE)
                try:
                    upload.send(b"y" * MEBIBYTE)
                    return upload.end().status
                finally:
                    upload.close()

        assert status(ALICE) == 401, "all of what she may keep is taken"
        server.rejected = None
        assert status(BOB) == 200
        for upload in hoard:
            upload.send(b"x")
            assert upload.end().status == 200
        server.rejected = None
        assert status(ALICE) == 200, "what was kept is free again"
    finally:
        for upload in hoard:
            upload.close()
