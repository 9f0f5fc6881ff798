"""Bodies over descriptors (`bodyTo`, `bodyFrom`: "fd"), next to messages: whole, no faster than they are taken, and
without a descriptor left behind."""
from __future__ import annotations

import array
import json
import os
import select
import socket
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Sequence

import pytest

from harness import expect
from harness.connection import Connection
from harness.echo import EchoServer, pattern
from harness.linger import lingering_socket
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
ECHO = {"resource": "echo"}


@pytest.fixture
def sidecar(start: Start, echo: EchoServer) -> Sidecar:
    return start({"resources": {"echo": {"baseUrl": echo.base, "auth": "none", "timeout": "5s"}}})


def pass_along(connection: Connection, text: bytes, descriptors: Sequence[int]) -> None:
    """Sends a text as the connection frames it, with descriptors."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    data = connection.frame(text)
    sent = connection.socket.sendmsg([data], rights)
    connection.socket.sendall(data[sent:])


def request(connection: Connection, params: Dict[str, Any], descriptors: Sequence[int], identifier: Any) -> None:
    message = {"jsonrpc": "2.0", "id": identifier, "method": "fetchResource", "params": {**ECHO, **params}}
    pass_along(connection, json.dumps(message).encode(), descriptors)


def fetch(connection: Connection, params: Dict[str, Any], descriptors: Sequence[int], identifier: Any = 1) -> Any:
    """The whole response to a fetch with descriptors."""
    request(connection, params, descriptors, identifier)
    return connection.answer_to(identifier)


class Drain:
    """Reads a descriptor to its end, in a thread."""

    def __init__(self, descriptor: int) -> None:
        self._pieces: List[bytes] = []
        self._thread = threading.Thread(target=self._read, args=(descriptor,), daemon=True)
        self._thread.start()

    def _read(self, descriptor: int) -> None:
        while True:
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                return
            self._pieces.append(piece)

    def bytes(self) -> bytes:
        self._thread.join(20)
        assert not self._thread.is_alive(), "the descriptor never came to its end"
        return b"".join(self._pieces)


class Identity:
    """What a descriptor refers to, to be found among the sidecar's."""

    def __init__(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        self._file = (status.st_dev, status.st_ino)

    def count(self, sidecar: Sidecar) -> int:
        """How many descriptors of it the sidecar has."""
        found = 0
        for path in Path(f"/proc/{sidecar.process.pid}/fd").iterdir():
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            found += (status.st_dev, status.st_ino) == self._file
        return found

    def is_gone(self, sidecar: Sidecar) -> None:
        eventually(lambda: self.count(sidecar) == 0, what="no descriptor is left")


# The response's body


@pytest.mark.parametrize("framing", ["stream", "headers"])
@pytest.mark.parametrize("size", [0, 1, 5_000_000])
def test_a_body_goes_to_a_pipe(sidecar: Sidecar, framing: str, size: int) -> None:
    """Catches bytes that are lost, doubled or reordered, a body in the result besides, and a pipe that does not end."""
    with sidecar.connect(framing) as connection:
        reader, writer = os.pipe()
        request(connection, {"path": f"pattern/{size}", "bodyTo": "fd"}, [writer], 1)
        os.close(writer)
        drain = Drain(reader)
        result = connection.answer_to(1)["result"]
        assert drain.bytes() == pattern(size)
        os.close(reader)
        assert (result["status"], result["bodyBytes"]) == (200, size)
        assert "body" not in result and "bodyBase64" not in result
        assert connection.works()


def test_a_body_goes_to_a_socket(sidecar: Sidecar) -> None:
    with sidecar.connect() as connection:
        ours, theirs = socket.socketpair()
        request(connection, {"path": "pattern/3000000", "bodyTo": "fd"}, [theirs.fileno()], 1)
        theirs.close()
        drain = Drain(ours.fileno())
        assert connection.answer_to(1)["result"]["bodyBytes"] == 3_000_000
        assert drain.bytes() == pattern(3_000_000)
        ours.close()


def test_a_body_goes_to_files_at_their_offset(sidecar: Sidecar) -> None:
    """A file and one in memory; what was in it before stays."""
    with sidecar.connect() as connection, tempfile.TemporaryFile() as file:
        memory = os.memfd_create("body")
        for descriptor in (file.fileno(), memory):
            os.write(descriptor, b"before ")
            answer = fetch(connection, {"path": "pattern/100000", "bodyTo": "fd"}, [descriptor])
            assert answer["result"]["bodyBytes"] == 100_000
            os.lseek(descriptor, 0, os.SEEK_SET)
            assert os.read(descriptor, 200_000) == b"before " + pattern(100_000)
        os.close(memory)


def test_any_status_is_written(sidecar: Sidecar) -> None:
    """Also one whose body is delivered at its end, since the fetch might have gone on."""
    with sidecar.connect() as connection:
        for status in (404, 401, 302, 503):
            reader, writer = os.pipe()
            answer = fetch(connection, {"path": f"status/{status}", "bodyTo": "fd"}, [writer])
            os.close(writer)
            text = b"status %d" % status
            assert (answer["result"]["status"], answer["result"]["bodyBytes"]) == (status, len(text))
            assert os.read(reader, 100) == text
            os.close(reader)


def test_the_callers_flags_are_not_changed(sidecar: Sidecar) -> None:
    """The sidecar shares the file status flags: O_NONBLOCK would break the caller's own reads and writes."""
    with sidecar.connect() as connection:
        reader, writer = os.pipe()
        drain = Drain(reader)
        assert "result" in fetch(connection, {"path": "pattern/1000000", "bodyTo": "fd"}, [writer])
        assert os.get_blocking(writer) and os.get_blocking(reader)
        os.close(writer)
        assert len(drain.bytes()) == 1_000_000


def test_a_body_larger_than_the_limit_goes_through(start: Start, echo: EchoServer) -> None:
    sidecar = start({"resources": {"echo": {"baseUrl": echo.base, "auth": "none", "maxBodyBytes": 1000}}})
    with sidecar.connect() as connection:
        reader, writer = os.pipe()
        request(connection, {"path": "pattern/2000000", "bodyTo": "fd"}, [writer], 1)
        os.close(writer)
        drain = Drain(reader)
        assert connection.answer_to(1)["result"]["bodyBytes"] == 2_000_000
        assert drain.bytes() == pattern(2_000_000)


# The request's body


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_a_body_comes_from_a_pipe_in_chunks(sidecar: Sidecar, echo: EchoServer, size: int) -> None:
    with sidecar.connect() as connection:
        reader, writer = os.pipe()
        request(connection, {"path": "echo", "method": "POST", "bodyFrom": "fd"}, [reader], 1)
        os.close(reader)
        with open(writer, "wb") as sink:
            sink.write(pattern(size))
        result = connection.answer_to(1)["result"]
        assert result["status"] == 200
        method, _, headers, body = echo.requests[-1]
        assert (method, headers.get("Transfer-Encoding")) == ("POST", "chunked")
        assert body == pattern(size)


def test_a_body_comes_from_a_file_at_its_offset(sidecar: Sidecar, echo: EchoServer) -> None:
    """With its length; the offset stays where it is."""
    with sidecar.connect() as connection, tempfile.TemporaryFile() as file:
        file.write(b"before" + pattern(200_000))
        file.flush()
        os.lseek(file.fileno(), 6, os.SEEK_SET)
        answer = fetch(connection, {"path": "echo", "method": "PUT", "bodyFrom": "fd"}, [file.fileno()])
        assert answer["result"]["status"] == 200
        _, _, headers, body = echo.requests[-1]
        assert headers["Content-Length"] == "200000" and body == pattern(200_000)
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 6
        fetch(connection, {"path": "echo", "method": "PUT", "bodyFrom": "fd", "contentLength": 10}, [file.fileno()])
        assert echo.requests[-1][3] == pattern(200_000)[:10]


def test_a_declared_length_is_read_and_no_more(sidecar: Sidecar, echo: EchoServer) -> None:
    with sidecar.connect() as connection:
        reader, writer = os.pipe()
        os.write(writer, b"0123456789rest")
        params = {"path": "echo", "method": "POST", "bodyFrom": "fd", "contentLength": 10}
        assert fetch(connection, params, [reader])["result"]["status"] == 200
        assert echo.requests[-1][2]["Content-Length"] == "10" and echo.requests[-1][3] == b"0123456789"
        assert os.read(reader, 100) == b"rest"
        os.close(reader)
        os.close(writer)


def test_both_ways_at_once(sidecar: Sidecar) -> None:
    """The first descriptor is the request's. More than fits into either pipe."""
    with sidecar.connect() as connection:
        (source, feed), (reader, writer) = os.pipe(), os.pipe()
        params = {"path": "echo", "method": "POST", "bodyFrom": "fd", "bodyTo": "fd"}
        request(connection, params, [source, writer], 1)
        os.close(source)
        os.close(writer)
        drain = Drain(reader)
        with open(feed, "wb") as sink:
            sink.write(pattern(2_000_000, seed=7))
        assert connection.answer_to(1)["result"]["bodyBytes"] == 2_000_000
        assert drain.bytes() == pattern(2_000_000, seed=7)


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_sends_a_file_again_and_no_pipe(sidecar: Sidecar, echo: EchoServer, status: int) -> None:
    with sidecar.connect() as connection:
        params = {"path": f"redirect/{status}-echo", "method": "POST", "bodyFrom": "fd"}
        with tempfile.TemporaryFile() as file:
            file.write(pattern(100_000))
            file.flush()
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            assert fetch(connection, params, [file.fileno()])["result"]["status"] == 200
            assert [body for *_, body in echo.requests[-2:]] == [pattern(100_000)] * 2
        reader, writer = os.pipe()
        os.write(writer, b"once")
        os.close(writer)
        assert fetch(connection, params, [reader])["result"]["status"] == status
        os.close(reader)


# Bad input: a clear error before anything is sent


@pytest.mark.parametrize("framing", ["stream", "headers"])
@pytest.mark.parametrize(
    "params, path",
    [
        ({"path": "echo", "bodyTo": "fd"}, "/bodyTo"),
        ({"path": "echo", "method": "POST", "bodyFrom": "fd"}, "/bodyFrom"),
    ],
)
def test_a_missing_descriptor(sidecar: Sidecar, echo: EchoServer, framing: str, params: Any, path: str) -> None:
    with sidecar.connect(framing) as connection:
        error = connection.error("fetchResource", {**ECHO, **params})
        assert (error["code"], error["data"]["path"]) == (-32602, path)
        assert connection.works() and not echo.requests


def test_wrong_descriptors(sidecar: Sidecar, echo: EchoServer) -> None:
    """A directory, a listening and a datagram socket, an epoll descriptor, and the wrong direction."""
    listener = socket.create_server(("127.0.0.1", 0))
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    reader, writer = os.pipe()
    events = select.epoll()
    wrong = [os.open("/", os.O_RDONLY), listener.fileno(), datagrams.fileno(), events.fileno()]
    with sidecar.connect() as connection:
        for descriptor in wrong + [reader]:
            error = fetch(connection, {"path": "echo", "bodyTo": "fd"}, [descriptor])["error"]
            assert (error["code"], error["data"]["path"]) == (-32602, "/bodyTo"), descriptor
        for descriptor in wrong + [writer]:
            error = fetch(connection, {"path": "echo", "method": "POST", "bodyFrom": "fd"}, [descriptor])["error"]
            assert (error["code"], error["data"]["path"]) == (-32602, "/bodyFrom"), descriptor
        for descriptor in wrong[:3] + [reader, writer]:
            Identity(descriptor).is_gone(sidecar)
        assert not echo.requests


@pytest.mark.parametrize(
    "params, path",
    [
        ({"bodyTo": "fd", "stream": True}, "/bodyTo"),
        ({"bodyFrom": "fd"}, "/bodyFrom"),
        ({"bodyFrom": "fd", "method": "HEAD"}, "/bodyFrom"),
        ({"bodyFrom": "fd", "method": "POST", "body": "x"}, "/bodyFrom"),
        ({"bodyFrom": "fd", "method": "POST", "multipart": [{"name": "a", "data": "b"}]}, "/bodyFrom"),
        ({"bodyFrom": "fd", "method": "POST", "contentLength": -1}, "/contentLength"),
        ({"bodyTo": "fd", "contentLength": 1}, "/contentLength"),
        ({"bodyTo": "fd", "resource": "other"}, None),
        ({"bodyTo": "fd", "timeoutMs": -1}, "/timeoutMs"),
        ({"bodyTo": "fd", "unknown": 1}, "/unknown"),
    ],
)
def test_a_rejected_call_claims_its_descriptor(sidecar: Sidecar, echo: EchoServer, params: Any, path: Any) -> None:
    """Otherwise the next call would write into the descriptor of this one."""
    with sidecar.connect() as connection:
        rejected = tempfile.TemporaryFile()
        os.write(rejected.fileno(), b"as it was")
        answer = fetch(connection, {"path": "echo", **params}, [rejected.fileno()])
        assert "error" in answer and (path is None or answer["error"]["data"]["path"] == path), answer
        assert not echo.requests
        with tempfile.TemporaryFile() as file:
            assert "result" in fetch(connection, {"path": "pattern/10", "bodyTo": "fd"}, [file.fileno()])
            assert os.fstat(file.fileno()).st_size == 10
        assert os.fstat(rejected.fileno()).st_size == 9
        Identity(rejected.fileno()).is_gone(sidecar)


def test_each_call_of_a_batch_gets_its_own(sidecar: Sidecar) -> None:
    """Also beside members that are no such call, and one that is rejected."""
    with sidecar.connect() as connection:
        files = [tempfile.TemporaryFile() for _ in range(3)]
        batch = [
            {"jsonrpc": "2.0", "id": 1, "method": "fetchResource", "params": {**ECHO, "path": "pattern/100-1", "bodyTo": "fd"}},
            {"jsonrpc": "2.0", "id": 2, "method": "getInfo"},
            {"jsonrpc": "1.0", "id": 3, "method": "fetchResource", "params": {**ECHO, "path": "pattern/1", "bodyTo": "fd"}},
            {"jsonrpc": "2.0", "id": 4, "method": "fetchResource", "params": {**ECHO, "path": "pattern/100-4", "bodyTo": "fd"}},
        ]
        pass_along(connection, json.dumps(batch).encode(), [file.fileno() for file in files])
        answers = connection.receive()
        assert isinstance(answers, list) and ["result" in answer for answer in answers] == [True, True, False, True]
        for file, expected in zip(files, (pattern(100, 1), b"", pattern(100, 4))):
            assert os.pread(file.fileno(), 200, 0) == expected


def test_pipelined_calls_keep_their_descriptors(sidecar: Sidecar) -> None:
    """Catches a body that is written to a neighbour's descriptor: 100 at once on one connection, of differing size."""
    with sidecar.connect(timeout=30) as connection:
        files = [tempfile.TemporaryFile() for _ in range(100)]
        for number, file in enumerate(files):
            request(connection, {"path": f"pattern/{number * 997}-{number}", "bodyTo": "fd"}, [file.fileno()], number)
        for number in range(len(files)):
            assert connection.answer_to(number)["result"]["bodyBytes"] == number * 997
        for number, file in enumerate(files):
            assert os.pread(file.fileno(), 1 << 20, 0) == pattern(number * 997, number)
            file.close()


def test_a_descriptor_with_a_text_that_cannot_be_read_is_dropped(sidecar: Sidecar) -> None:
    """The next call must not take it for its own."""
    with sidecar.connect("headers") as connection, tempfile.TemporaryFile() as lost:
        pass_along(connection, b'{"jsonrpc": "2.0", "id": 1, ', [lost.fileno()])
        assert connection.receive()["error"]["code"] == -32700  # type: ignore[call-overload]
        error = connection.error("fetchResource", {**ECHO, **{"path": "pattern/10", "bodyTo": "fd"}})
        assert error["data"]["path"] == "/bodyTo"
        assert os.fstat(lost.fileno()).st_size == 0


def test_seventeen_unclaimed_descriptors_end_the_connection(sidecar: Sidecar) -> None:
    with sidecar.connect() as connection, sidecar.connect() as other:
        reader, writer = os.pipe()
        connection.socket.sendmsg([b" "], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [reader] * 16))])
        assert connection.works()
        eventually(lambda: Identity(reader).count(sidecar) == 16)
        connection.socket.sendmsg([b" "], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [reader]))])
        assert connection.ends() == []
        Identity(reader).is_gone(sidecar)
        assert other.works()
        os.close(reader)
        os.close(writer)


# The other end of a descriptor


def test_a_reader_that_goes(sidecar: Sidecar) -> None:
    with sidecar.connect() as connection:
        reader, writer = os.pipe()
        request(connection, {"path": "pattern/5000000", "bodyTo": "fd"}, [writer], 1)
        pipe = Identity(writer)
        os.close(writer)
        os.read(reader, 1000)
        os.close(reader)
        error = connection.answer_to(1)["error"]
        assert (error["data"]["reason"], error["data"]["outcome"]) == ("request_cancelled", "replied")
        assert error["data"]["path"] == "/bodyTo"
        pipe.is_gone(sidecar)
        assert connection.works()


def test_a_full_device(sidecar: Sidecar) -> None:
    with sidecar.connect() as connection, open("/dev/full", "wb", buffering=0) as full:
        error = fetch(connection, {"path": "pattern/100000", "bodyTo": "fd"}, [full.fileno()])["error"]
        assert (error["code"], error["data"]["path"], error["data"]["outcome"]) == (-32602, "/bodyTo", "replied")
        assert "No space left" in error["message"]


def test_a_reader_that_sleeps_delays_only_its_fetch(start: Start, echo: EchoServer) -> None:
    """And ends with its time; meanwhile the connection serves other calls."""
    sidecar = start({"resources": {"echo": {"baseUrl": echo.base, "auth": "none", "timeout": "2s"}}})
    with sidecar.connect(timeout=20) as connection:
        reader, writer = os.pipe()
        before = time.monotonic()
        request(connection, {"path": "pattern/5000000", "bodyTo": "fd"}, [writer], "sleeper")
        os.close(writer)
        for _ in range(20):
            assert connection.call("fetchResource", {**ECHO, **{"path": "pattern/10"}})["status"] == 200
        error = connection.answer_to("sleeper")["error"]
        assert (error["data"]["reason"], error["data"]["outcome"]) == ("deadline_exceeded", "replied")
        assert 1.5 < time.monotonic() - before < 15
        os.close(reader)


def test_a_short_body(sidecar: Sidecar, echo: EchoServer) -> None:
    """The server must not take it for whole."""
    with sidecar.connect() as connection:
        reader, writer = os.pipe()
        os.write(writer, b"12345")
        os.close(writer)
        params = {"path": "echo", "method": "POST", "bodyFrom": "fd", "contentLength": 10}
        error = fetch(connection, params, [reader])["error"]
        assert (error["code"], error["data"]["path"]) == (-32602, "/bodyFrom"), error
        assert error["data"]["outcome"] == "sent_no_reply"
        assert "5 of 10" in error["message"]
        assert all(body != b"12345" for *_, body in echo.requests)
        with tempfile.TemporaryFile() as file:
            error = fetch(connection, params, [file.fileno()])["error"]
            assert (error["code"], error["data"]["path"]) == (-32602, "/contentLength")


def test_a_source_that_sends_nothing(start: Start, echo: EchoServer) -> None:
    """Its time ends, and not the caller's params are at fault."""
    sidecar = start({"resources": {"echo": {"baseUrl": echo.base, "auth": "none", "timeout": "1s"}}})
    with sidecar.connect(timeout=20) as connection:
        reader, writer = os.pipe()
        for _ in range(5):
            error = fetch(connection, {"path": "echo", "method": "POST", "bodyFrom": "fd"}, [reader])["error"]
            assert (error["code"], error["data"]["reason"]) == (-32022, "deadline_exceeded"), error
            assert error["data"]["outcome"] == "sent_no_reply"
        os.close(reader)
        os.close(writer)


def test_a_server_that_breaks_off(sidecar: Sidecar) -> None:
    with sidecar.connect() as connection:
        reader, writer = os.pipe()
        error = fetch(connection, {"path": "cut", "bodyTo": "fd"}, [writer])["error"]
        assert (error["data"]["reason"], error["data"]["outcome"]) == ("protocol_error", "replied")
        os.close(writer)
        assert os.read(reader, 2000) == pattern(1000)


def test_a_cancelled_fetch_closes_its_descriptors(sidecar: Sidecar) -> None:
    """A source that never sends, and a reader that never reads."""
    with sidecar.connect() as connection:
        (source, feed), (reader, writer) = os.pipe(), os.pipe()
        request(connection, {"path": "echo", "method": "POST", "bodyFrom": "fd"}, [source], "from")
        request(connection, {"path": "pattern/5000000", "bodyTo": "fd"}, [writer], "to")
        time.sleep(0.2)
        for identifier in ("from", "to"):
            connection.notify("$/cancelRequest", {"id": identifier})
            assert connection.answer_to(identifier)["error"]["data"]["reason"] == "request_cancelled"
        for descriptor in (source, writer):
            Identity(descriptor).is_gone(sidecar)
        os.close(writer)
        Drain(reader).bytes()


def test_a_connection_that_goes_closes_its_descriptors(sidecar: Sidecar) -> None:
    with sidecar.connect() as other:
        reader, writer = os.pipe()
        (unclaimed, other_end) = os.pipe()
        with sidecar.connect() as connection:
            request(connection, {"path": "pattern/5000000", "bodyTo": "fd"}, [writer], 1)
            pass_along(connection, b"", [unclaimed])
            eventually(lambda: Identity(unclaimed).count(sidecar) == 1)
        os.close(writer)
        Drain(reader).bytes()
        for descriptor in (reader, unclaimed):
            Identity(descriptor).is_gone(sidecar)
        os.close(other_end)
        assert other.works()


# Neighbours


@needs_root
def test_a_lingering_close_delays_no_neighbour(start: Start, echo: EchoServer) -> None:
    """Catches a thread of all callers that closes what one of them passes: a socket that lingers makes that wait for as
    long as its owner likes (SO_LINGER, socket(7))."""
    sidecar = start({**BOTH, "resources": {"echo": {"baseUrl": echo.base, "auth": "none"}}})
    open_to_all(sidecar.directory)
    listener = socket.create_server(("127.0.0.1", 0))
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        for _ in range(8):
            passed = lingering_socket(listener)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [passed.fileno()]))]
            alice.socket.sendmsg([b" "], rights)
            # The sidecar's is the last one from here on.
            passed.close()
            assert alice.error("fetchResource", {"bodyTo": "fd", "unknown": 1})["code"] == -32602
        before = time.monotonic()
        for _ in range(50):
            assert bob.call("fetchResource", {**ECHO, **{"path": "pattern/10"}})["status"] == 200
            with tempfile.TemporaryFile() as file:
                assert "result" in fetch(bob, {"path": "pattern/10", "bodyTo": "fd"}, [file.fileno()])
        assert time.monotonic() - before < 10
        assert alice.works()


@needs_root
def test_urgent_data_delays_no_neighbour(start: Start, echo: EchoServer) -> None:
    """Catches descriptors that come with urgent data (MSG_OOB): a read that passes over it has the kernel close them in
    the thread of all callers."""
    sidecar = start({**BOTH, "resources": {"echo": {"baseUrl": echo.base, "auth": "none"}}})
    open_to_all(sidecar.directory)
    listener = socket.create_server(("127.0.0.1", 0))
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        for _ in range(4):
            passed = lingering_socket(listener)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [passed.fileno()]))]
            alice.socket.sendmsg([b" "], rights, socket.MSG_OOB)
            passed.close()
            alice.socket.send(b" ")
        before = time.monotonic()
        for _ in range(50):
            assert bob.works()
        assert time.monotonic() - before < 10


def test_descriptors_of_processes_do_not_pile_up(sidecar: Sidecar) -> None:
    """Catches a descriptor for each read that the owner of a passed socket switches on (SO_PASSPIDFD, Linux 6.5)."""
    ours, theirs = socket.socketpair()
    try:
        theirs.setsockopt(socket.SOL_SOCKET, 76, 1)
    except OSError:
        pytest.skip("this kernel has no SO_PASSPIDFD (Linux 6.5)")
    with sidecar.connect() as connection:
        request(connection, {"path": "echo", "method": "POST", "bodyFrom": "fd"}, [theirs.fileno()], 1)
        for _ in range(20):
            ours.send(b"x")
            time.sleep(0.01)
        links = [os.readlink(path) for path in Path(f"/proc/{sidecar.process.pid}/fd").iterdir()]
        assert not [link for link in links if "pidfd" in link], links
        ours.close()
        assert connection.answer_to(1)["result"]["status"] == 200


@needs_root
def test_two_users_bodies_do_not_mix(start: Start, echo: EchoServer) -> None:
    """100 bodies of each at once: every file has its own user's bytes only."""
    sidecar = start({**BOTH, "resources": {"echo": {"baseUrl": echo.base, "auth": "none"}}})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        files = {(uid, number): tempfile.TemporaryFile() for uid in (ALICE, BOB) for number in range(50)}
        for (uid, number), file in files.items():
            params = {"path": f"pattern/{20000 + number}-{uid * 100 + number}", "bodyTo": "fd"}
            request(alice if uid == ALICE else bob, params, [file.fileno()], number)
        for uid, number in files:
            assert "result" in (alice if uid == ALICE else bob).answer_to(number)
        for (uid, number), file in files.items():
            assert os.pread(file.fileno(), 1 << 20, 0) == pattern(20000 + number, uid * 100 + number)
            file.close()


def test_nothing_is_left_after_many(sidecar: Sidecar) -> None:
    """Catches a descriptor or a thread that outlives its call."""
    with sidecar.connect() as connection:
        # The loop that waits for descriptors starts with the first wait, the thread that closes with the first close.
        reader, writer = os.pipe()
        request(connection, {"path": "pattern/1000000", "bodyTo": "fd"}, [writer], 1)
        os.close(writer)
        Drain(reader).bytes()
        connection.answer_to(1)
        before = len(os.listdir(f"/proc/{sidecar.process.pid}/fd"))
        threads = len(os.listdir(f"/proc/{sidecar.process.pid}/task"))
        for number in range(100):
            (source, feed), (reader, writer) = os.pipe(), os.pipe()
            os.write(feed, b"x" * number)
            os.close(feed)
            params = {"path": "echo", "method": "POST", "bodyFrom": "fd", "bodyTo": "fd"}
            assert fetch(connection, params, [source, writer])["result"]["bodyBytes"] == number
            for descriptor in (source, reader, writer):
                os.close(descriptor)
        eventually(lambda: len(os.listdir(f"/proc/{sidecar.process.pid}/fd")) <= before, what="no descriptor is left")
        eventually(lambda: len(os.listdir(f"/proc/{sidecar.process.pid}/task")) <= threads + 2, what="no thread is left")


def test_the_sidecars_own_files_stay_out_of_reach(sidecar: Sidecar) -> None:
    """A number in the params names nothing: only what comes by SCM_RIGHTS is used."""
    with sidecar.connect() as connection:
        for value in (0, 3, "3", "/etc/passwd", True, None):
            answer = connection.answer_to(connection.request("fetchResource", {**ECHO, "path": "pattern/10", "bodyTo": value}))
            if value is None:
                continue
            expect.fault(answer["error"], -32602)
    assert Path(f"/proc/{sidecar.process.pid}").exists()
