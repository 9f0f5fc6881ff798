"""Section 4.1: what large request bodies cost the sidecar in memory."""
from __future__ import annotations

import base64
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterator

import pytest

from harness.connection import Connection
from harness.sidecar import Sidecar
from harness.waiting import eventually

MEBIBYTE = 1 << 20
#: As large as it fits into a message of 16 MiB as base64.
SIZE = 11 * MEBIBYTE


class Patient:
    """A server that reads a request's body only when it is let go."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.reads = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                left = int(self.headers["Content-Length"])
                server.arrived.set()
                server.reads.wait(30)
                while left:
                    data = self.rfile.read(min(left, 1 << 16))
                    if not data:
                        return  # the other side has gone: read would give nothing for ever
                    left -= len(data)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def patient() -> Iterator[Patient]:
    server = Patient()
    yield server
    server.reads.set()
    server.server.shutdown()
    server.server.server_close()


def content(member: str) -> Dict[str, str]:
    data = os.urandom(SIZE)
    return {member: base64.b64encode(data).decode() if member == "bodyBase64" else data.hex()[:SIZE]}


@pytest.mark.parametrize("member", ["body", "bodyBase64"])
def test_a_large_upload_is_in_memory_once(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], patient: Patient, member: str
) -> None:
    sidecar = start({"resources": {"open": {"baseUrl": patient.url}}})
    connection = connect(sidecar)
    connection.call("getInfo")
    idle = sidecar.resident_kilobytes()
    identifier = connection.request("fetchResource", {"resource": "open", "path": "", "method": "POST", **content(member)})
    assert patient.arrived.wait(10)
    # The body, and what is small; a second copy of it would be beyond that.
    eventually(lambda: sidecar.resident_kilobytes() - idle < SIZE * 2 / 1024)
    patient.reads.set()
    answer = connection.receive()
    assert answer["id"] == identifier and answer["result"]["status"] == 204


def test_the_memory_of_large_uploads_goes_back(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], patient: Patient
) -> None:
    patient.reads.set()
    sidecar = start({"resources": {"open": {"baseUrl": patient.url}}})
    connection = connect(sidecar)
    connection.call("getInfo")
    idle = sidecar.resident_kilobytes()
    for member in ["body", "bodyBase64"] * 2:
        request = {"resource": "open", "path": "", "method": "POST", **content(member)}
        assert connection.call("fetchResource", request)["status"] == 204
    eventually(lambda: sidecar.resident_kilobytes() - idle < SIZE * 2 / 1024)
