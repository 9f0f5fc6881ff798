"""Front proxies with the files of examples/forward-auth, an API behind them, and requests to them byte by byte."""
from __future__ import annotations

import http.server
import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .loopback import Loopback
from .ports import free_port
from .waiting import eventually

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "forward-auth"
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
PROGRAMS = {"nginx": "nginx", "caddy": "caddy", "haproxy": "haproxy", "apache": "apache2"}
FILES = {"nginx": "nginx.conf", "caddy": "Caddyfile", "haproxy": "haproxy.cfg", "apache": "apache.conf"}


def program(kind: str) -> Optional[str]:
    return shutil.which(PROGRAMS[kind], path=_PATH)


class Received(NamedTuple):
    """A request that the API got: what Postern has not accepted must never become one."""

    method: str
    path: str
    fields: List[Tuple[str, str]]

    def values(self, name: str) -> List[str]:
        return [value for known, value in self.fields if known.lower() == name.lower()]


class API:
    """The API behind a front. It records each request, and answers with 200."""

    def __init__(self) -> None:
        self.received: List[Received] = []
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                # The target as it came: `path` has leading slashes merged.
                target = self.raw_requestline.decode("latin-1").split()[1]
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                api.received.append(Received(self.command, target, list(self.headers.items())))
                self.send_response(200)
                self.send_header("Content-Length", "4")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(b"here")

            def log_message(self, *_: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                """A front that resets a connection is no error."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Answer(NamedTuple):
    """The response that a client of the front got."""

    status: int
    fields: List[Tuple[str, str]]
    body: bytes

    def values(self, name: str) -> List[str]:
        return [value for known, value in self.fields if known.lower() == name.lower()]


class Front:
    """A front proxy in a directory of its own, between its port, Postern's socket and the API."""

    def __init__(self, kind: str, directory: Path, postern: str, api: API) -> None:
        self.kind = kind
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self._directory = directory
        directory.mkdir()
        directory.chmod(0o755)
        replaced: Dict[str, str] = {
            "/run/postern/http.sock": postern,
            "127.0.0.1:9000": f"127.0.0.1:{api.port}",
            "127.0.0.1:8080": f"127.0.0.1:{self.port}",
            "/etc/haproxy/": f"{directory}/",
            "/etc/apache2/postern": f"{directory}/postern",
            "/run/nginx-orders.pid": f"{directory}/pid",
            "/run/apache-orders.pid": f"{directory}/pid",
            "events {}\n\nhttp {\n": "events {}\n\nhttp {\n" + "".join(
                f"  {name}_temp_path {directory}/{name};\n"
                for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")),
        }
        for source in EXAMPLES.iterdir():
            text = source.read_text(encoding="utf-8")
            for old, new in replaced.items():
                text = text.replace(old, new)
            (directory / source.name).write_text(text, encoding="utf-8")
            (directory / source.name).chmod(0o644)
        file = str(directory / FILES[kind])
        arguments = {
            "nginx": ["-e", "stderr", "-p", str(directory), "-c", file, "-g", "daemon off; user root;" if os.geteuid() == 0 else "daemon off;"],
            "caddy": ["run", "--adapter", "caddyfile", "--config", file],
            "haproxy": ["-db", "-f", file],
            "apache": ["-DFOREGROUND", "-C", f"DefaultRuntimeDir {directory}", "-f", file],
        }[kind]
        self._log = directory / "log"
        environment = {"PATH": _PATH, "HOME": str(directory)}
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [program(kind) or kind] + arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                cwd=directory)
        self._await()

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def request(
        self, target: str = "/orders/7", method: str = "GET", token: Optional[str] = None,
        fields: Optional[List[Tuple[str, str]]] = None, body: bytes = b"",
    ) -> Answer:
        """The response to one request on a connection of its own, with target and fields as they are."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as connection:
            return exchange(connection, method, target, f"127.0.0.1:{self.port}", token, fields, body)

    def _await(self) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self.log()
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        self.stop()
        raise AssertionError(f"{self.kind} does not listen:\n{self.log()}")


def exchange(
    connection: socket.socket, method: str, target: str, host: str, token: Optional[str] = None,
    fields: Optional[List[Tuple[str, str]]] = None, body: bytes = b"",
) -> Answer:
    """Sends one request as it is, and reads the response."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    if not any(name.lower() == "connection" for name, _ in fields or []):
        lines.append("Connection: close")
    if token is not None:
        lines.append(f"Authorization: {token}")
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    lines += [f"{name}: {value}" for name, value in fields or []]
    connection.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
    return _response(connection, method)


def direct(path: str, target: str, method: str = "GET", **options: Any) -> Answer:
    """The response of a Unix socket, as a front would get it."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(20)
        connection.connect(path)
        return exchange(connection, method, target, "postern", **options)


def await_socket(path: str) -> None:
    """Returns once something listens at `path`."""
    def listens() -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(path) == 0

    eventually(listens, what=f"a listener at {path}")


def _response(connection: socket.socket, method: str) -> Answer:
    stream = connection.makefile("rb")
    status = stream.readline().split()
    assert len(status) > 1, "no response"
    fields: List[Tuple[str, str]] = []
    while True:
        line = stream.readline().decode("latin-1").rstrip("\r\n")
        if not line:
            break
        name, _, value = line.partition(":")
        fields.append((name, value.strip()))
    answer = Answer(int(status[1]), fields, b"")
    if method == "HEAD" or answer.status in (204, 304):
        return answer
    length = answer.values("content-length")
    return answer._replace(body=stream.read(int(length[0])) if length else stream.read())


class Relay:
    """Passes connections from a loopback port on to a Unix socket: a front that adds nothing."""

    def __init__(self, port: int, path: str) -> None:
        self._path = path
        self._loopback = Loopback(self._serve, port=port)
        self._loopback.start()

    def stop(self) -> None:
        self._loopback.stop()

    def _serve(self, near: socket.socket, _: int) -> None:
        with socket.socket(socket.AF_UNIX) as far:
            far.connect(self._path)
            back = threading.Thread(target=self._copy, args=(far, near), daemon=True)
            back.start()
            self._copy(near, far)
            back.join()

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        try:
            while True:
                data = source.recv(65536)
                if not data:
                    target.shutdown(socket.SHUT_WR)
                    return
                target.sendall(data)
        except OSError:
            return
