"""Starts the programs that are compared: the sidecar and its gateway, nginx, haproxy and Apache."""

from __future__ import annotations

import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

from harness.sidecar import Sidecar
from harness.waiting import eventually


#: Makes a connection.
Connect = Callable[[], socket.socket]


def tcp(port: int) -> Connect:
    return lambda: socket.create_connection(("127.0.0.1", port), 10)


def unix(path: Path) -> Connect:
    def connect() -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.connect(str(path))
        return made

    return connect


@contextmanager
def sidecar_in(directory: Path, **configuration: Any) -> Iterator[Sidecar]:
    """A sidecar in a new directory, for plain HTTP on loopback, until the block's end; it must still run then."""
    directory.mkdir(mode=0o700)
    sidecar = Sidecar(directory, {
        "listen": {"path": str(directory / "postern.sock")},
        "store": {"kind": "memory"},
        "development": {"plainHTTPOnLoopback": True},
        **configuration,
    })
    try:
        yield sidecar
        assert sidecar.is_running(), sidecar.log()
    finally:
        sidecar.stop()


def resource(port: int) -> Dict[str, Any]:
    """`resources` with the server at that port, as `up`."""
    return {"up": {"baseUrl": f"http://127.0.0.1:{port}/up/", "auth": "none"}}


@contextmanager
def gateway_in(directory: Path, port: int) -> Iterator[Connect]:
    """A gateway in front of the server at that port: how to connect to it."""
    path = directory / "http.sock"
    with sidecar_in(directory, gateway={"listen": {"path": str(path)}}, resources=resource(port)):
        eventually(path.exists, what="the gateway's socket")
        yield unix(path)


@contextmanager
def proxy_in(
    directory: Path, start: Callable[..., Tuple["Program", int]], upstream: Any,
) -> Iterator[Connect]:
    """nginx or haproxy (`start`) in front of `upstream`: how to connect to it."""
    directory.mkdir()
    program, port = start(directory, upstream)
    try:
        yield tcp(port)
    finally:
        program.stop()


class Program:
    """A server in the foreground with a configuration of its own, on loopback, until `stop`."""

    def __init__(self, arguments: List[str], directory: Path, port: int) -> None:
        self._log = directory / "output.log"
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(arguments, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._await(port)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)

    def _await(self, port: int) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self._log.read_text(errors="replace")
            try:
                tcp(port)().close()
                return
            except OSError:
                time.sleep(0.02)
        self.stop()
        raise AssertionError(f"it does not listen: {self._log.read_text(errors='replace')}")
