"""The gateway is a proxy: representations and field values pass as they are, and whatever HTTP permits is a request."""
from __future__ import annotations

import base64
import gzip
import socket
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

from harness import expect
from harness.loopback import Loopback
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]

#: Bytes that are no text, and differ from what they are coded of.
FILE = gzip.compress(b"a file of an archive " * 50, mtime=0)


class RawServer:
    """Answers each request as `on[path]` has it, with the bytes of a response or a function of the connection."""

    def __init__(self) -> None:
        self.on: Dict[str, Any] = {}
        self.seen: List[bytes] = []
        self._loopback = Loopback(self._serve, timeout=30)
        self._loopback.start()
        self.base = f"http://127.0.0.1:{self._loopback.port}"

    def stop(self) -> None:
        self._loopback.stop()

    def _serve(self, connection: socket.socket, _: int) -> None:
        with connection.makefile("rb") as stream:
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = stream.readline()
                    if not line:
                        return
                    head += line
                length = next((int(l.split(b":")[1]) for l in head.split(b"\r\n") if l.lower().startswith(b"content-length:")), 0)
                stream.read(length)
                self.seen.append(head)
                path = head.split(b" ")[1].split(b"?")[0].decode("latin-1")
                made = self.on.get(path, response(b"ok"))
                if callable(made):
                    made(connection)
                else:
                    whole, _, body = made.partition(b"\r\n\r\n")
                    connection.sendall(whole + b"\r\n\r\n" + (b"" if head.startswith(b"HEAD") else body))


def response(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


class Raw:
    """A response, its bytes as they came."""

    def __init__(self, data: bytes) -> None:
        self.head, _, self.body = data.partition(b"\r\n\r\n")
        self.status = int(self.head.split(b" ")[1]) if self.head else 0
        lines = [line.partition(b": ") for line in self.head.split(b"\r\n")[1:]]
        self.fields = {name.lower(): value for name, _, value in lines}


def ask(path: str, line: str, *fields: str, body: bytes = b"", host: Optional[str] = "postern", seconds: float = 20) -> Raw:
    """One request over a connection of its own, which ends with it."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
        connection.connect(path)
        given = [] if host is None else [f"Host: {host}"]
        lines = [f"{line} HTTP/1.1", *given, "Connection: close", *fields, "", ""]
        connection.sendall("\r\n".join(lines).encode("latin-1") + body)
        data = b""
        while True:
            piece = connection.recv(1 << 16)
            if not piece:
                return Raw(data)
            data += piece


@pytest.fixture
def server() -> Iterator[RawServer]:
    made = RawServer()
    yield made
    made.stop()


@pytest.fixture
def http(directory: Path) -> str:
    return str(directory / "http.sock")


@pytest.fixture
def gateway(start: Start, server: RawServer, http: str) -> Callable[..., Sidecar]:
    """Starts a sidecar with the gateway, and `up`, a resource of `server` without tokens."""

    def begin(**changes: Any) -> Sidecar:
        up = {"baseUrl": server.base + "/", "auth": "none", **changes.pop("up", {})}
        made = start({"gateway": {"listen": {"path": http}}, "resources": {"up": up, **changes.pop("resources", {})}, **changes})
        made.awaits_log("gateway listening")
        return made

    return begin


# Representations


CODED = [("gzip", "200 OK"), ("br", "200 OK"), ("UTF-8", "200 OK"), ("gzip, gzip, gzip", "200 OK"),
         ("zstd", "404 Not Found"), ("gzip", "206 Partial Content"), ("gzip", "401 Unauthorized")]


@pytest.mark.parametrize("coding, status", CODED)
@pytest.mark.parametrize("accepted", [None, "identity", "gzip, br;q=0.5", "*"])
def test_a_representation_passes_as_it_is(
    gateway: Callable[..., Sidecar], server: RawServer, http: str, coding: str, status: str, accepted: Optional[str]
) -> None:
    gateway()
    fields = [f"Content-Encoding: {coding}", 'ETag: "1"', "Content-Type: application/x-tar"]
    if status.startswith("206"):
        fields.append("Content-Range: bytes 3-90/1000")
    server.on["/file"] = response(FILE, *fields, status=status)
    given = [] if accepted is None else [f"Accept-Encoding: {accepted}"]
    for method in ("GET", "HEAD"):
        answer = ask(http, f"{method} /up/file", *given, "Range: bytes=3-90")
        assert answer.status == int(status[:3]) and answer.body == (FILE if method == "GET" else b"")
        assert answer.fields[b"content-encoding"] == coding.encode() and answer.fields[b"etag"] == b'"1"'
        assert answer.fields[b"content-length"] == str(len(FILE)).encode()
        assert (b"content-range" in answer.fields) == status.startswith("206")
        sent = [line for line in server.seen[-1].split(b"\r\n") if line.lower().startswith(b"accept-encoding")]
        assert sent == [b"Accept-Encoding: " + (accepted or "identity").encode()]


def test_the_framing_of_an_upload_is_not_a_coding_of_the_download(
    gateway: Callable[..., Sidecar], server: RawServer, http: str
) -> None:
    """Versity Gateway, NooBaa and others store `aws-chunked` with an object; curl and browsers then reject its bytes."""
    sidecar = gateway()
    for named, left in [("aws-chunked", None), ("aws-chunked, gzip", b"gzip")]:
        server.on["/object"] = response(FILE, f"Content-Encoding: {named}", "Content-Type: text/csv")
        for method in ("GET", "HEAD"):
            answer = ask(http, f"{method} /up/object")
            assert answer.status == 200 and answer.body == (FILE if method == "GET" else b"")
            assert answer.fields.get(b"content-encoding") == left
    server.on["/text"] = response(gzip.compress(b"a,b"), "Content-Encoding: gzip,aws-chunked", "Content-Type: text/csv")
    with sidecar.connect() as connection:
        assert connection.call("fetchResource", {"resource": "up", "path": "text"})["body"] == "a,b"


def test_fetch_resource_decodes_what_it_asked_for_and_fails_for_nothing_else(
    gateway: Callable[..., Sidecar], server: RawServer
) -> None:
    text = b'{"a": 1}'
    json_type = "Content-Type: application/json"
    server.on["/coded"] = response(gzip.compress(text), json_type, "Content-Encoding: gzip")
    server.on["/part"] = response(FILE[3:40], "Content-Encoding: gzip", "Content-Range: bytes 3-39/900", status="206 Partial Content")
    server.on["/named"] = response(text, json_type, "Content-Encoding: UTF-8")
    server.on["/plain"] = response(text, json_type, "Content-Encoding: identity")
    with gateway().connect() as connection:
        def fetch(path: str, **more: Any) -> Dict[str, Any]:
            return connection.call("fetchResource", {"resource": "up", "path": path, **more})

        assert fetch("coded")["body"] == text.decode() and "content-encoding" not in fetch("coded")["headers"]
        assert fetch("plain")["body"] == text.decode()
        for more in ({}, {"headers": {"Range": "bytes=3-39"}}):
            part = fetch("part", **more)
            assert part["status"] == 206 and base64.b64decode(part["bodyBase64"]) == FILE[3:40]
            assert part["headers"]["content-encoding"] == ["gzip"] and part["headers"]["content-range"]
        assert b"Accept-Encoding: identity" in server.seen[-1]
        named = fetch("named")
        assert base64.b64decode(named["bodyBase64"]) == text and named["headers"]["content-encoding"] == ["UTF-8"]
        identifier = connection.request("fetchResource", {"resource": "up", "path": "part", "stream": True, "task": "t"})
        assert connection.answer_to(identifier)["result"]["status"] == 206
        pieces = [message["params"]["dataBase64"] for message in connection.others() if isinstance(message, dict)]
        assert b"".join(map(base64.b64decode, pieces)) == FILE[3:40]


# Field values


LATIN = ["name=Jos\u00e9", "\u00ff\u0080\u009f", "a\u00c3(b"]


@pytest.mark.parametrize("value", [*LATIN, "M\u00fcller".encode().decode("latin-1"), "\U0010ff80".encode().decode("latin-1")])
def test_field_values_are_bytes_in_both_directions(gateway: Callable[..., Sidecar], server: RawServer, http: str, value: str) -> None:
    gateway()
    server.on["/x"] = response(b"ok", f"X-Name: {value}", f"Set-Cookie: c={value}; Path=/", f"Content-Disposition: attachment; filename=\"{value}\"")
    answer = ask(http, "GET /up/x", f"Cookie: {value}; b=2", f"X-Own: {value}")
    raw = value.encode("latin-1")
    assert answer.status == 200, answer.head
    assert b"\r\nX-Own: " + raw + b"\r\n" in server.seen[-1]
    assert b"\r\nCookie: " + raw + b"; b=2\r\n" in server.seen[-1]
    assert answer.fields[b"x-name"] == raw and answer.fields[b"set-cookie"] == b"c=" + raw + b"; Path=/up"
    assert answer.fields[b"content-disposition"] == b'attachment; filename="' + raw + b'"'


# Requests


TARGETS = [
    ("x?f[a]=1", "/x?f%5Ba%5D=1"), ("x?where={%22id%22:1}", "/x?where=%7B%22id%22:1%7D"), ("x?a|b^c`d", "/x?a%7Cb%5Ec%60d"),
    ("users/auth0|12", "/users/auth0%7C12"), ('a"b<c>d', "/a%22b%3Cc%3Ed"), ("a%7cb", "/a%7Cb"),
]


@pytest.mark.parametrize("target, arrives", TARGETS)
def test_characters_that_no_url_has_are_percent_encoded(
    gateway: Callable[..., Sidecar], server: RawServer, http: str, target: str, arrives: str
) -> None:
    sidecar = gateway()
    assert ask(http, f"GET /up/{target}").status == 200
    assert server.seen[-1].split(b" ")[1] == arrives.encode()
    with sidecar.connect() as connection:
        assert connection.call("fetchResource", {"resource": "up", "path": target})["status"] == 200
    assert server.seen[-1].split(b" ")[1] == arrives.encode()


@pytest.mark.parametrize("target", ["up/..|/x", "up/a|/../../x", "up/%7B..%2f..%2f", "up/|\\x", "up/{..;/x"])
def test_a_path_that_leads_elsewhere_does_not_pass_for_them(
    gateway: Callable[..., Sidecar], server: RawServer, http: str, target: str
) -> None:
    gateway()
    answer = ask(http, f"GET /{target}")
    if answer.status == 200:
        assert server.seen[-1].split(b" ")[1] in (b"/..%7C/x", b"/%7B..;/x")
    else:
        assert answer.status == 400 and not server.seen


METHODS = ["LIST", "QUERY", "PROPFIND", "REPORT", "MKCALENDAR", "BASELINE-CONTROL", "M-SEARCH", "X", "!#$%&'*+-.^_`|~"]


@pytest.mark.parametrize("method", METHODS)
def test_methods_are_an_open_registry(gateway: Callable[..., Sidecar], server: RawServer, http: str, method: str) -> None:
    sidecar = gateway()
    assert ask(http, f"{method} /up/x", "Content-Length: 2", body=b"hi").status == 200
    assert server.seen[-1].startswith(f"{method} /x HTTP/1.1\r\n".encode())
    with sidecar.connect() as connection:
        assert connection.call("fetchResource", {"resource": "up", "path": "x", "method": method, "body": "hi"})["status"] == 200
        assert server.seen[-1].startswith(f"{method} /x HTTP/1.1\r\n".encode())
        if method == "LIST":
            connection.call("narrow", {"httpMethods": ["LIST"]})
            assert connection.call("fetchResource", {"resource": "up", "path": "x", "method": method})["status"] == 200
            expect.fault(connection.error("fetchResource", {"resource": "up", "path": "x", "method": "QUERY"}), -32602)


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "TRACK", "connect", "Trace"])
def test_methods_that_are_never_sent(gateway: Callable[..., Sidecar], server: RawServer, http: str, method: str) -> None:
    sidecar = gateway()
    assert ask(http, f"{method} /up/x").status == 501
    with sidecar.connect() as connection:
        expect.fault(connection.error("fetchResource", {"resource": "up", "path": "x", "method": method}), 1004)
        fault = connection.error("narrow", {"httpMethods": ["GET", method.upper()]})
        assert expect.fault(fault, -32602)["path"] == "/httpMethods/1"
    assert not server.seen


@pytest.mark.parametrize("host", ["", "localhost:", "localhost", "[::1]:"])
def test_hosts_of_clients_of_a_unix_socket(gateway: Callable[..., Sidecar], http: str, host: str) -> None:
    gateway()
    assert ask(http, "GET /up/x", host=host).status == 200


def test_empty_elements_of_lists_mean_nothing(gateway: Callable[..., Sidecar], server: RawServer, http: str) -> None:
    gateway()
    assert ask(http, "GET /up/x", "Connection: ,X-Own, ,", "X-Own: 1", "X: 2").status == 200
    assert b"X-Own" not in server.seen[-1] and b"\r\nX: 2\r\n" in server.seen[-1]
    server.on["/x"] = response(b"ok", "Connection: ,X-Hop,,", "X-Hop: 1", "X: 2")
    answer = ask(http, "GET /up/x")
    assert answer.status == 200 and b"x-hop" not in answer.fields and answer.fields[b"x"] == b"2"


# Silence


def test_a_silent_stream_has_its_own_time_and_its_error_names_it(
    gateway: Callable[..., Sidecar], server: RawServer, http: str
) -> None:
    def events(pause: float) -> Callable[[socket.socket], None]:
        def serve(connection: socket.socket) -> None:
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
            time.sleep(pause)
            connection.sendall(b"2\r\ncd\r\n0\r\n\r\n")
        return serve

    server.on["/slow"], server.on["/silent"] = events(1.5), events(6)
    server.on["/never"] = lambda connection: time.sleep(4)
    sidecar = gateway(up={"timeout": "500ms", "idleTimeout": "3s"})
    assert ask(http, "GET /up/slow").body.endswith(b"2\r\ncd\r\n0\r\n\r\n")
    assert ask(http, "GET /up/never").status == 504
    assert not ask(http, "GET /up/silent").body.endswith(b"0\r\n\r\n"), "a body that breaks off is never completed"
    with sidecar.connect() as connection:
        stream = {"resource": "up", "stream": True}
        identifier = connection.request("fetchResource", {**stream, "path": "slow"})
        assert connection.answer_to(identifier)["result"]["status"] == 200
        identifier = connection.request("fetchResource", {**stream, "path": "silent"})
        error = connection.answer_to(identifier)["error"]
        assert expect.fault(error, -32022)["outcome"] == "replied" and "resources.up.idleTimeout" in error["message"]
        error = connection.error("fetchResource", {**stream, "path": "never"})
        assert "resources.up.timeout" in error["message"]
