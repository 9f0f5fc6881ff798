"""The gateway next to nginx and haproxy: whatever it lets through, they read in the same way, or reject."""
from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from harness.loopback import Loopback
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.waiting import eventually

PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"
NGINX, HAPROXY = shutil.which("nginx", path=PATH), shutil.which("haproxy", path=PATH)

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(not NGINX or not HAPROXY, reason="needs nginx and haproxy")]

TABLE = json.loads((Path(__file__).parent / "gateway-requests.json").read_text())

#: Method and body of a request that came whole.
Seen = Tuple[str, bytes]


class Recorder:
    """An origin that notes each whole request, with one connection for each."""

    def __init__(self) -> None:
        self.seen: List[Seen] = []
        self._loopback = Loopback(self._serve, timeout=20)
        self._loopback.start()
        self.port = self._loopback.port

    def _serve(self, client: socket.socket, _: int) -> None:
        with client.makefile("rb") as stream:
            try:
                line = stream.readline().decode("latin-1").split(" ")
                fields = {}
                for text in iter(stream.readline, b"\r\n"):
                    if not text:
                        return
                    name, _, value = text.decode("latin-1").partition(":")
                    fields[name.lower()] = value.strip()
                body: Optional[bytes] = b""
                if "expect" in fields:
                    client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                if "content-length" in fields:
                    length = int(fields["content-length"])
                    body = stream.read(length)
                    body = body if len(body) == length else None
                elif "transfer-encoding" in fields:
                    body = self._chunks(stream)
                if body is not None:
                    self.seen.append((line[0], body))
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except (OSError, OverflowError, ValueError):
                pass

    @staticmethod
    def _chunks(stream: Any) -> Optional[bytes]:
        body = b""
        while True:
            line = stream.readline()
            if not line.endswith(b"\r\n"):
                return None
            size = int(line.split(b";")[0], 16)
            if size == 0:
                while line not in (b"\r\n", b""):
                    line = stream.readline()
                return body if line else None
            body += stream.read(size)
            stream.readline()

    def take(self) -> List[Seen]:
        """What has come since the last time."""
        seen, self.seen = self.seen, []
        return seen

    def stop(self) -> None:
        self._loopback.stop()


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder()
    yield made
    made.stop()


@pytest.fixture
def servers(recorder: Recorder, start: Callable[..., Sidecar], directory: Path) -> Iterator[Dict[str, Any]]:
    """Where to connect to each of the three, all in front of the recorder."""
    path = str(directory / "http.sock")
    sidecar = start({
        "gateway": {"listen": {"path": path}},
        "resources": {"a": {"baseUrl": f"http://127.0.0.1:{recorder.port}/", "auth": "none"}},
    })
    sidecar.awaits_log("gateway listening")
    ports = {"nginx": free_port(), "haproxy": free_port()}
    (directory / "nginx.conf").write_text(f"""
        daemon off; pid {directory}/nginx.pid; error_log {directory}/nginx.log; events {{}}
        http {{ access_log off; client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
          fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi; scgi_temp_path {directory}/scgi;
          server {{ listen 127.0.0.1:{ports['nginx']}; location / {{ proxy_pass http://127.0.0.1:{recorder.port}; proxy_http_version 1.1; }} }} }}
        """)
    (directory / "haproxy.cfg").write_text(f"""
defaults
  mode http
  timeout connect 5s
  timeout client 10s
  timeout server 10s
frontend front
  bind 127.0.0.1:{ports['haproxy']}
  default_backend origin
backend origin
  server recorder 127.0.0.1:{recorder.port}
""")
    directory.chmod(0o755)
    processes = [
        subprocess.Popen([NGINX or "", "-p", str(directory), "-c", str(directory / "nginx.conf")], stderr=subprocess.DEVNULL),
        subprocess.Popen([HAPROXY or "", "-f", str(directory / "haproxy.cfg")], stderr=subprocess.DEVNULL),
    ]
    try:
        for port in ports.values():
            eventually(lambda: accepts(port), what="the proxies")
        yield {"gateway": path, **{name: ("127.0.0.1", port) for name, port in ports.items()}}
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(10)


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def answer(address: Any, request: bytes) -> bytes:
    """What a server sends until it closes, or until it is silent because it waits for more."""
    client = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    client.settimeout(10)
    text = b""
    with client:
        client.connect(address)
        try:
            client.sendall(request)
            while True:
                piece = client.recv(65536)
                if not piece:
                    return text
                text += piece
        except OSError:
            return text


def closing(request: str) -> bytes:
    """The request, and one behind it after which every server closes."""
    return request.encode("latin-1") + b"GET /a HTTP/1.1\r\nHost: postern\r\nConnection: close\r\n\r\n"


def test_valid_requests_are_read_as_nginx_and_haproxy_read_them(recorder: Recorder, servers: Dict[str, Any]) -> None:
    compared = 0
    for case in TABLE["valid"]:
        request = closing(case["request"])
        if b"application/problem+json" in answer(servers["gateway"], request):
            recorder.take()
            continue  # a path or query that goes no further, as in `fetchResource`
        ours = recorder.take()
        assert [body.decode("latin-1") for _, body in ours][:len(case["bodies"])] == case["bodies"], case["name"]
        for name in ("nginx", "haproxy"):
            text = answer(servers[name], request)
            theirs = recorder.take()
            # A server may be stricter, and stop at a request; it may not read another one.
            is_rejected = len(theirs) < len(ours) and (b"HTTP/1.1 4" in text or b"HTTP/1.1 5" in text or not text)
            assert theirs == ours or is_rejected and theirs == ours[:len(theirs)], (case["name"], name, theirs, ours)
            compared += theirs == ours
    assert compared >= 60


def test_of_a_malformed_request_nothing_whole_gets_through(recorder: Recorder, servers: Dict[str, Any]) -> None:
    differ = 0
    for case in TABLE["malformed"]:
        answer(servers["gateway"], closing(case["request"]))
        assert recorder.take() == [], case["name"]
        if len(case["request"]) < 1000 and not case.get("inBody"):
            text = {name: answer(servers[name], closing(case["request"])) for name in ("nginx", "haproxy")}
            differ += b" 200 " in text["nginx"] or b" 200 " in text["haproxy"]
            recorder.take()
    # The table is not about what all reject anyway.
    assert differ >= 10
