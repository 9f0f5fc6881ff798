"""Bodies without JSON: frames and descriptors, with every sidecar that there is."""

from __future__ import annotations

import base64
import collections
import gzip
import hashlib
import io
import json
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable

import pytest
from double import Double, Peer
from harness.sidecar import Sidecar
from harness.waiting import eventually
from test_others import Callers, callers  # noqa: F401 - a fixture
from test_streams import RESULT as HEAD
from test_streams import chunk, pattern

import postern_auth
from postern_auth import Client
from postern_auth._bodies import DIRECT
from postern_auth._framing import Frames, Piece

MIB = 1 << 20
RESULT = {"task": "t", **HEAD}
Make = Callable[..., Callers]


class Store(BaseHTTPRequestHandler):
    """Says what it got. A body that breaks off is none."""

    protocol_version = "HTTP/1.1"
    complete = 0

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length")
        data = self.rfile.read(int(length)) if length else b"".join(iter(self._chunk, b""))
        type(self).complete += 1
        told = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "length": length}
        text = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_PUT = do_POST

    def _chunk(self) -> bytes:
        data = self.rfile.read(int(self.rfile.readline(), 16))
        self.rfile.readline()
        return data

    def log_message(self, format: str, *arguments: Any) -> None: ...


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def caller(callers: Make, start: Callable[..., Sidecar], store: str) -> Callers:  # noqa: F811
    sidecar = start({"resources": {"store": {"baseUrl": store, "auth": "none"}}})
    return callers(sidecar.path)


def sent(caller: Callers, body: Any, **named: Any) -> dict[str, Any]:
    call = caller._later(lambda: caller.client.fetch_resource("store", "x", method="POST", body=body, **named))
    return dict(call.result(30).json())


def told(data: bytes, has_length: bool = True) -> dict[str, Any]:
    length = str(len(data)) if has_length else None
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "length": length}


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


SIZES = [0, 1, DIRECT + 1, 5_000_000]


@pytest.mark.parametrize("size", SIZES)
def test_responses_are_exact(caller: Callers, size: int, directory: Path) -> None:
    expected = pattern(size)
    path = f"bytes/{size}"
    assert caller.read(caller.stream(resource="open", path=path)).result(20) == expected
    assert all(one.knows_bodies for one in caller.streaming), "frames were refused"
    with tempfile.TemporaryFile() as file:
        file.write(b"before")
        result = caller.fetch(path, body_to=file).result(20)
        assert (result.body_bytes, result.body, result.body_base64) == (size, None, None)
        file.write(b"behind")
        file.seek(0)
        assert file.read() == b"before" + expected + b"behind"
    assert caller.fetch(path, body_to=directory / "file").result(20).status == 200
    assert (directory / "file").read_bytes() == expected
    memory = io.BytesIO()
    assert caller.fetch(path, body_to=memory).result(20).body_bytes == size
    assert memory.getvalue() == expected
    ours, theirs = socket.socketpair()
    with ours, theirs:
        call = caller.fetch(path, body_to=theirs)
        received = b""
        while len(received) < size:
            received += ours.recv(1 << 16)
        assert received == expected
        assert call.result(20).body_bytes == size


@pytest.mark.parametrize("size", SIZES)
def test_requests_are_exact(caller: Callers, size: int, directory: Path) -> None:
    data = pattern(size)
    (directory / "file").write_bytes(b"before" + data)
    (directory / "whole").write_bytes(data)
    assert sent(caller, data) == told(data)
    assert sent(caller, memoryview(data)) == told(data)
    assert sent(caller, directory / "whole") == told(data)
    assert sent(caller, io.BytesIO(data)) == told(data)
    text = "é" * (size // 2)
    assert sent(caller, text) == told(text.encode())
    with (directory / "file").open("rb") as file, (directory / "file").open("rb", buffering=0) as raw:
        assert file.read(6) == raw.read(6) == b"before"
        for one in (file, raw):
            assert sent(caller, one) == told(data), "from its offset on, whatever was read ahead"
            assert one.tell() == 6 + size and one.read() == b"", "and to its end"
    with gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(data))) as unpacked:
        assert sent(caller, unpacked)["sha256"] == told(data)["sha256"], "not what its file has"


@pytest.mark.parametrize("buffering", [0, -1])
def test_requests_from_pipes_and_sockets(caller: Callers, buffering: int) -> None:
    data = pattern(3_000_000)

    def write(end: int) -> None:
        with os.fdopen(end, "wb") as file:
            file.write(data)

    def begun(end: int) -> None:
        threading.Thread(target=write, args=(end,), daemon=True).start()

    reader, writer = os.pipe()
    begun(writer)
    with os.fdopen(reader, "rb", buffering) as file:
        head = file.read(10)
        assert sent(caller, file) == told(data[len(head) :], has_length=False)
    ours, theirs = socket.socketpair()
    begun(ours.detach())
    with theirs:
        assert sent(caller, theirs) == told(data, has_length=False)


def test_a_streamed_response_to_a_large_request(caller: Callers, directory: Path) -> None:
    data = pattern(DIRECT + 1)
    (directory / "file").write_bytes(data)
    for body in (data, directory / "file"):
        stream = caller.stream(resource="store", path="x", method="PUT", body=body)
        assert json.loads(caller.read(stream).result(20)) == told(data)


def test_both_bodies_by_descriptors(caller: Callers) -> None:
    data = pattern(2 * MIB)
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
        source.write(data)
        source.seek(0)
        named = {"method": "POST", "body": source, "body_to": target}
        result = caller._later(lambda: caller.client.fetch_resource("store", "x", **named)).result(20)
        assert target.tell() == result.body_bytes
        target.seek(0)
        assert json.loads(target.read()) == told(data)


def test_streams_on_one_connection_do_not_mix(caller: Callers) -> None:
    names = ["plain", "with a space", "100%", "%41", "Öl\r\nContent-Length: 1", "a:b", '"', "x" * 128]
    sizes = [400_000 + 1000 * number for number in range(len(names))]
    streams = [
        caller.stream(resource="open", path=f"bytes/{size}?chunked=true", task=name) for name, size in zip(names, sizes)
    ]
    assert len(caller.streaming) == 1
    reading = [caller.read(stream) for stream in streams]
    for size, body in zip(sizes, reading):
        assert body.result(30) == pattern(size)


def test_who_stops_early_disturbs_nobody(caller: Callers) -> None:
    whole = caller.stream(resource="open", path="bytes/2000000")
    left = caller.stream(resource="open", path="bytes/1000000000", task="left")
    cancelled = caller.stream(resource="open", path="bytes/1000000000", task="cancelled")
    assert caller.read(left, 10).result(20) == pattern(10)
    caller.leave(left)
    reading = caller.read(cancelled)
    caller.call("cancelTask", {"task": "cancelled"}).result(20)
    with pytest.raises(postern_auth.Cancelled):
        reading.result(20)
    assert caller.read(whole).result(20) == pattern(2_000_000)
    assert len(caller.streaming) == 1
    eventually(lambda: caller.call("getTask", {"task": "left"}).result(20)["state"] == "cancelled")


def test_a_reader_that_goes_ends_the_fetch(caller: Callers) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb", 0) as file:
        call = caller.fetch("bytes/1000000000", body_to=file)
        assert os.read(reader, 10) == pattern(10)
        os.close(reader)
        with pytest.raises(postern_auth.PosternError) as raised:
            call.result(20)
    assert (raised.value.reason, raised.value.path) == ("request_cancelled", "/bodyTo")
    assert caller.fetch("bytes/1").result(20).content == b"\0"


def test_real_errors_are_raised(caller: Callers, directory: Path) -> None:
    """The first call by descriptors: that it is rejected does not mean that the sidecar is an older one."""
    (directory / "file").write_bytes(b"")
    with (
        os.fdopen(os.open(directory / "file", os.O_RDONLY), "wb", 0) as file,
        pytest.raises(postern_auth.RequestError) as raised,
    ):
        caller.fetch("bytes/1", body_to=file).result(20)
    assert raised.value.path == "/bodyTo"
    assert [one.knows_bodies for one in caller.streaming] == [True]
    for wrong in (io.StringIO("text"), object(), 7):
        with pytest.raises(TypeError):
            sent(caller, wrong)
        with pytest.raises(TypeError):
            caller.fetch("bytes/1", body_to=wrong).result(20)
    with (directory / "file").open("wb") as write_only, pytest.raises(io.UnsupportedOperation):
        sent(caller, write_only)
    with (directory / "file").open("rb") as read_only, pytest.raises(io.UnsupportedOperation):
        caller.fetch("bytes/1", body_to=read_only).result(20)


class Breaking(io.RawIOBase):
    """A file that breaks after some bytes."""

    def __init__(self) -> None:
        self.left = 2 * DIRECT

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.left:
            raise ZeroDivisionError("the file broke")
        size = min(len(buffer), self.left)
        self.left -= size
        return size


def test_a_file_that_breaks_is_no_complete_body(caller: Callers) -> None:
    before = Store.complete
    with pytest.raises(ZeroDivisionError):
        sent(caller, Breaking())
    stream = caller.stream(resource="store", path="x", method="POST", body=Breaking())
    with pytest.raises(ZeroDivisionError):
        caller.read(stream).result(20)
    assert sent(caller, b"x") == told(b"x")
    assert Store.complete == before + 1


def test_no_descriptor_is_left(caller: Callers, directory: Path) -> None:
    (directory / "file").write_bytes(pattern(2 * DIRECT))

    def everything() -> None:
        assert sent(caller, b"x" * (DIRECT + 1))["size"] == DIRECT + 1
        assert sent(caller, directory / "file")["size"] == 2 * DIRECT
        with pytest.raises(ZeroDivisionError):
            sent(caller, Breaking())
        assert caller.fetch("bytes/1000", body_to=directory / "other").result(20).status == 200
        stream = caller.stream(resource="store", path="x", method="POST", body=b"x" * (DIRECT + 1))
        assert caller.read(stream).result(20)
        left = caller.stream(resource="open", path="bytes/1000000000", method="POST", body=b"x" * (DIRECT + 1))
        caller.leave(left)
        with pytest.raises(postern_auth.PosternError):
            sent(caller, b"x" * (DIRECT + 1), headers={"Host": "reserved"})

    everything()
    before = descriptors()
    for _ in range(5):
        everything()
    eventually(lambda: descriptors() <= before)


def test_a_kernel_that_passes_no_descriptors(caller: Callers, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(numbers: Any) -> Any:
        raise PermissionError(1, "SO_PASSRIGHTS is off")

    for module in ("_connection", "_async_connection"):
        monkeypatch.setattr(f"postern_auth.{module}.rights", refused)
    data = pattern(DIRECT + 1)
    assert sent(caller, data) == told(data)
    with tempfile.TemporaryFile() as file:
        assert caller.fetch("bytes/1000", body_to=file).result(20).body_bytes == 1000
        assert file.tell() == 1000
    stream = caller.stream(resource="store", path="x", method="POST", body=data)
    assert json.loads(caller.read(stream).result(20)) == told(data)


# Other sidecars


class Older:
    """A sidecar of the version before: strict about members that it does not know."""

    def __init__(self, may_be_asked: bool = True) -> None:
        self.heard: list[dict[str, Any]] = []
        self._may_be_asked = may_be_asked

    def __call__(self, peer: Peer) -> None:
        for message in peer.messages():
            self.heard.append(message)
            params = message.get("params", {})
            unknown = next((name for name in params if name in ("bodyAs", "bodyFrom", "bodyTo", "contentLength")), None)
            if message["method"] == "rpc.discover" and not self._may_be_asked:
                data = {"reason": "peer_forbidden"}
                error = {"code": -32020, "message": "no", "data": data}
                peer.send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            elif message["method"] == "rpc.discover":
                peer.answer(message, {"methods": [{"name": "fetchResource", "params": [{"name": "stream"}]}]})
            elif unknown is not None:
                peer.reject(message, f"/{unknown}")
            elif params.get("stream"):
                peer.send(chunk(params["task"], 0, b"abc"))
                peer.send(chunk(params["task"], 1, b"def"))
                peer.answer(message, RESULT)
            elif "id" in message:
                peer.answer(message, {**RESULT, "body": params.get("body") or params.get("bodyBase64", "")})

    def count(self, member: str) -> int:
        return sum(member in one.get("params", {}) for one in self.heard)


@pytest.mark.parametrize("may_be_asked", [True, False])
def test_an_older_sidecar(callers: Make, double: Double, may_be_asked: bool, directory: Path) -> None:  # noqa: F811
    older = Older(may_be_asked)
    double.scripts = [older]
    caller = callers(double.path)
    text = "x" * (DIRECT + 1)
    (directory / "file").write_text(text)
    for _ in range(2):
        assert caller.read(caller.stream(resource="r", path="p")).result(20) == b"abcdef"
    assert older.count("bodyAs") == 1, "it was asked again"
    with tempfile.TemporaryFile() as file:
        assert caller.fetch("p", body_to=file).result(20).body_bytes == 6
        file.seek(0)
        assert file.read() == b"abcdef"
    assert caller.fetch("p", method="POST", body=text).result(20).body
    assert caller.fetch("p", method="POST", body=directory / "file").result(20).body
    assert (older.count("bodyTo"), older.count("bodyFrom")) == (0, 0)
    assert [one.knows_bodies for one in caller.streaming] == [False]
    assert not any(one["method"] == "rpc.discover" for one in older.heard)


@pytest.mark.parametrize("may_be_asked", [True, False])
def test_an_older_sidecar_and_descriptors_first(
    callers: Make,  # noqa: F811
    double: Double,
    may_be_asked: bool,
) -> None:
    older = Older(may_be_asked)
    double.scripts = [older]
    caller = callers(double.path)
    text = "x" * (DIRECT + 1)
    reader, writer = os.pipe()
    os.write(writer, b"from a pipe")
    os.close(writer)
    with os.fdopen(reader, "rb", 0) as pipe:
        found = caller.fetch("p", method="POST", body=pipe).result(20).text
        assert base64.b64decode(found) == b"from a pipe"
    for _ in range(2):
        assert caller.fetch("p", method="POST", body=text).result(20).body
        assert caller.fetch("p", body_to=io.BytesIO()).result(20).body_bytes == 6
    assert older.count("bodyFrom") == 1
    assert sum(one["method"] == "rpc.discover" for one in older.heard) == 1
    assert older.count("bodyAs") == 0


def test_bytes_of_a_user_go_as_they_always_went(callers: Make, double: Double) -> None:  # noqa: F811
    """The sidecar keeps no descriptor: a fetch that waits for a step-up would have lost its body."""
    heard: list[dict[str, Any]] = []

    def script(peer: Peer) -> None:
        for message in peer.messages():
            heard.append(message.get("params", {}))
            peer.answer(message, {"registered": [], **RESULT})

    double.scripts = [script]
    caller = callers(double.path)
    data = b"x" * (DIRECT + 1)
    for members in ({"session": "s"}, {"auth": "user"}):
        caller.fetch("p", method="POST", body=data, **members).result(20)
        assert "bodyBase64" in heard[-1]
        caller.fetch("p", method="POST", body=io.BytesIO(b"x" * (12 * MIB)), **members).result(20)
        assert heard[-1]["bodyFrom"] == "fd", "which fits into no message"
    caller.fetch("p", method="POST", body=data, auth="none").result(20)
    assert heard[-1]["bodyFrom"] == "fd"
    caller._later(lambda: caller.client.register_delegate(on_policy_advice_received=lambda _: True)).result(20)
    caller.fetch("p", method="POST", body=data).result(20)
    assert "bodyBase64" in heard[-1]


def test_a_resource_that_needs_bodies_as_a_whole(callers: Make, double: Double) -> None:  # noqa: F811
    """Bytes go as they always went, and what then is wrong is the caller's error; a file's descriptor is an error."""

    def script(peer: Peer) -> None:
        for message in peer.messages():
            if message["method"] == "rpc.discover":
                peer.answer(message, {"methods": [{"name": "fetchResource", "params": [{"name": "bodyTo"}]}]})
            elif "bodyFrom" in message["params"]:
                peer.reject(message, "/bodyFrom")
            else:
                peer.answer(message, {**RESULT, "body": "whole"})

    double.scripts = [script]
    caller = callers(double.path)
    assert caller.fetch("p", method="POST", body=b"x" * (DIRECT + 1)).result(20).text == "whole"
    stream = caller.stream(resource="r", path="p", method="POST", body=b"x" * (DIRECT + 1))
    assert caller.read(stream).result(20) == b""
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * (DIRECT + 1))
        file.seek(0)
        with pytest.raises(postern_auth.RequestError):
            caller.fetch("p", method="POST", body=file).result(20)


def test_a_lost_connection_is_not_retried_with_a_body_that_is_gone(
    callers: Make,  # noqa: F811
    double: Double,
) -> None:
    heard: list[dict[str, Any]] = []
    double.scripts = [lambda peer: heard.append(peer.receive())]
    caller = callers(double.path)
    with tempfile.TemporaryFile() as file, pytest.raises(postern_auth.ConnectionLost):
        caller.fetch("p", body_to=file).result(20)
    assert len(heard) == 1, "a part may have been written"


# Frames


def frames(*pieces: tuple[str, bytes]) -> bytes:
    return b"".join(
        b"Content-Length: %d\r\nContent-Type: application/octet-stream\r\nPostern-Task: %b\r\n\r\n%b"
        % (len(data), task.encode(), data)
        for task, data in pieces
    )


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7, 64, 1000])
def test_frames_arrive_in_any_pieces(step: int) -> None:
    text = b'{"jsonrpc":"2.0"}'
    other = b"postern-task: b%C3%B6\r\nContent-Length: 3\r\n\r\n\r\n\n"
    stream = frames(("a", b"\r\n\r\nContent-Length: 9\r\n\r\n")) + b"Content-Length: 17\r\n\r\n" + text + other
    stream += frames(("a%25", b""))
    splitter, found = Frames(1000), list[Any]()
    for start in range(0, len(stream), step):
        found += splitter.feed(stream[start : start + step])
        assert splitter.is_within or start + step >= len(stream) or stream[start + step : start + step + 1] in b"Cp"
    expected = [Piece("a", b"\r\n\r\nContent-Length: 9\r\n\r\n"), text, Piece("bö", b"\r\n\n"), Piece("a%", b"")]
    assert found == expected
    assert not splitter.is_within


@pytest.mark.parametrize(
    "bad",
    [
        b"Content-Length: x\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 1001\r\n\r\n",
        b"Content-Length: 9999999999999\r\n\r\n",
        b"Content-Type: x\r\n\r\n",
        b"\r\n\r\n",
        b"x" * 5000,
        b"Content-Length: 1\r\nPostern-Task: %FF\r\n\r\nx",
    ],
)
def test_frames_that_are_none(bad: bytes) -> None:
    for step in (1, len(bad)):
        splitter = Frames(1000)
        pieces = [bad[start : start + step] for start in range(0, len(bad), step)]
        with pytest.raises(postern_auth.ProtocolViolation):
            collections.deque(map(splitter.feed, pieces), 0)


def test_pieces_that_come_as_frames(double: Double) -> None:
    def script(peer: Peer) -> None:
        message = peer.receive()
        assert message["params"]["bodyAs"] == "frames"
        peer.send_piece("another", b"not this one's")
        peer.send_piece(message["params"]["task"], b"")
        peer.send_piece(message["params"]["task"], b"a piece")
        peer.answer(message, RESULT)
        peer.receive()

    double.scripts = [script]
    with Client(double.path, timeout=5) as client, client.stream_resource("r", "p") as stream:
        assert stream.read() == b"a piece"
        assert stream.result.status == RESULT["status"]
