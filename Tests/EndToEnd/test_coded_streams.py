"""Streams of bodies that are compressed although that was not requested: an unread one needs little memory, and what is
read is what was compressed."""
from __future__ import annotations

import base64
import json
import socket
import time
import zlib
from pathlib import Path
from random import Random
from typing import Callable, Iterable, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.loopback import Loopback
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

STREAM = {"resource": "bombs", "path": "x", "stream": True}


def packed(pieces: Iterable[bytes]) -> bytes:
    """`pieces` in gzip."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join([packer.compress(piece) for piece in pieces] + [packer.flush()])


def brotli(body: bytes) -> bytes:
    """`body` in brotli, uncompressed (RFC 7932 section 9.2): at most 64 KiB."""
    # A window of 64 KiB; an uncompressed meta-block, its length in four nibbles; an empty last one.
    header = 1 << 20 | (len(body) - 1) << 4
    return header.to_bytes(3, "little") + body + b"\x03"


def costly(count: int) -> bytes:
    """About so many bytes of deflate that make none: blocks of tables of codes with nothing that is coded by them."""
    bits = ""

    def add(value: int, width: int) -> None:
        nonlocal bits
        bits += "".join(str(value >> index & 1) for index in range(width))

    # Not the last block; dynamic codes; 257 lengths for literals, 1 for distances, 18 for the codes of these.
    for value, width in ((0, 1), (2, 2), (0, 5), (0, 5), (14, 4)):
        add(value, width)
    # In the order of RFC 1951 section 3.2.7: the lengths 18 (a run of zeros) and 1 have codes of one bit, "1" and "0".
    for length in (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1):
        add(1 if length in (1, 18) else 0, 3)
    # 256 zeros in two runs; the block's end and the only distance have one bit each; the end.
    for run in (138, 118):
        add(1, 1)
        add(run - 11, 7)
    add(0, 3)
    bits *= 8
    block = bytes(int(bits[start:start + 8][::-1], 2) for start in range(0, len(bits), 8))
    return b"\x78\x9c" + block * (count // len(block))


class CodedServer:
    """Answers everything with one body in a content coding, and notes the requests."""

    def __init__(self, coding: str, body: bytes, ends: bool = True) -> None:
        # Chunked: while a stream is paused, libcurl adds the chunks that it has read to what it offers again.
        parts = [body[start:start + 4096] for start in range(0, len(body), 4096)] + ([b""] if ends else [])
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.answer = head.encode() + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
        self.requests: List[str] = []
        self._loopback = Loopback(self._serve)
        self.base = f"http://127.0.0.1:{self._loopback.port}/"
        self._loopback.start()

    def stop(self) -> None:
        self._loopback.stop()

    def _serve(self, connection: socket.socket, _: int) -> None:
        while request := connection.recv(65536):
            self.requests.append(request.decode().lower())
            connection.sendall(self.answer)


@pytest.fixture
def serve() -> Iterator[Callable[..., CodedServer]]:
    servers: List[CodedServer] = []

    def make(coding: str, body: bytes, ends: bool = True) -> CodedServer:
        servers.append(CodedServer(coding, body, ends))
        return servers[-1]

    yield make
    for server in servers:
        server.stop()


def resident(sidecar: Sidecar) -> int:
    return int(Path(f"/proc/{sidecar.process.pid}/statm").read_text().split()[1]) * 4096


def ask(connection: Connection, count: int) -> None:
    """So many streams, asked for in one go."""
    requests = [{"jsonrpc": "2.0", "id": number, "method": "fetchResource", "params": STREAM} for number in range(count)]
    connection.send_text("\n".join(json.dumps(request) for request in requests))


def answers(connection: Connection) -> bytes:
    """The body of the connection's only stream."""
    body = b""
    while True:
        message = connection.receive()
        assert isinstance(message, dict)
        if "id" in message:
            assert message["result"]["status"] == 200, message
            return body
        body += base64.b64decode(message["params"]["dataBase64"])


@needs_root
def test_unread_streams_need_little_memory(
    start: Callable[..., Sidecar], serve: Callable[[str, bytes], CodedServer]
) -> None:
    """Each would keep 64 MiB in libcurl. Another user's stream begins meanwhile."""
    server = serve("gzip", packed([bytes(1 << 20)] * 128))
    sidecar = start({**BOTH, "resources": {"bombs": {"baseUrl": server.base, "auth": "none"}}})
    open_to_all(sidecar.directory)
    before = resident(sidecar)
    alices = [connect_as(ALICE, sidecar, timeout=60) for _ in range(8)]
    try:
        for connection in alices:
            ask(connection, 4)
            assert connection.receive()["method"] == "fetchResource.chunk"  # type: ignore[call-overload]
        with connect_as(BOB, sidecar, timeout=60) as bob:
            ask(bob, 1)
            assert bob.receive()["method"] == "fetchResource.chunk"  # type: ignore[call-overload]
        # With what waits on their connections: a window for each stream.
        assert resident(sidecar) - before < 96 << 20
    finally:
        for connection in alices:
            connection.close()
    assert all("accept-encoding: identity" in request for request in server.requests)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_what_is_read_is_what_was_compressed(
    start: Callable[..., Sidecar], serve: Callable[[str, bytes], CodedServer], coding: str
) -> None:
    """A reader who lets it wait, so that the body stops within what libcurl has read, gets every byte once: also where
    libcurl has read on meanwhile, behind a chunk that makes more than a step may."""
    random = Random(7)
    body = b"".join(bytes(random.randrange(400_000)) + random.randbytes(random.randrange(9_000)) for _ in range(40))
    server = serve(coding, packed([body]) if coding == "gzip" else zlib.compress(body))
    sidecar = start({"resources": {"bombs": {"baseUrl": server.base, "auth": "none"}}})
    with sidecar.connect(timeout=60) as first, sidecar.connect(timeout=60) as second:
        ask(first, 1)
        ask(second, 1)
        # Meanwhile the buffers of the first are full.
        assert answers(second) == body
        assert answers(first) == body


def test_a_stream_whose_coding_is_cut_off_fails(
    start: Callable[..., Sidecar], serve: Callable[[str, bytes], CodedServer]
) -> None:
    """The length is as declared: only the coding shows that something is missing."""
    server = serve("gzip", packed([b"abc" * 100_000])[:-12])
    sidecar = start({"resources": {"bombs": {"baseUrl": server.base, "auth": "none"}}})
    with sidecar.connect(timeout=60) as connection:
        ask(connection, 1)
        while "id" not in (message := connection.receive()):
            assert message["method"] == "fetchResource.chunk"
        expect.fault(message["error"], 1013)


@needs_root
def test_of_other_codings_a_user_has_one_stream(
    start: Callable[..., Sidecar], serve: Callable[[str, bytes], CodedServer]
) -> None:
    """libcurl undoes them, and keeps up to 64 MiB for a stream that is not read. It does not count for another user."""
    server = serve("br", brotli(b"x" * 5000), ends=False)
    sidecar = start({**BOTH, "resources": {"bombs": {"baseUrl": server.base, "auth": "none"}}})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar, timeout=60) as alice, connect_as(BOB, sidecar, timeout=60) as bob:
        for connection in (alice, bob):
            ask(connection, 1)
            assert connection.receive()["method"] == "fetchResource.chunk"  # type: ignore[call-overload]
        with connect_as(ALICE, sidecar, timeout=60) as again:
            ask(again, 1)
            message = again.receive()
            assert isinstance(message, dict)
            expect.fault(message["error"], 1012)
            assert message["error"]["data"]["outcome"] == "replied"


@needs_root
def test_a_costly_coding_does_not_delay_another_user(
    start: Callable[..., Sidecar], serve: Callable[..., CodedServer]
) -> None:
    """Streams whose decoding takes long and makes nothing never fill their windows: without a bound on each step, one
    fetch of another user waits for seconds."""
    body = costly(8 << 20)
    assert zlib.decompressobj().decompress(body[:1 << 16]) == b""
    bad, good = serve("deflate", body, ends=False), serve("identity", b"good")
    resources = {name: {"baseUrl": server.base, "auth": "none"} for name, server in (("bombs", bad), ("good", good))}
    sidecar = start({**BOTH, "resources": resources})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar, timeout=60) as alice, connect_as(BOB, sidecar, timeout=60) as bob:
        ask(alice, 12)
        eventually(lambda: len(bad.requests) == 12, 60, "the requests")
        begun = time.monotonic()
        for _ in range(10):
            assert bob.call("fetchResource", {"resource": "good", "path": "x"})["status"] == 200
        assert time.monotonic() - begun < 10
