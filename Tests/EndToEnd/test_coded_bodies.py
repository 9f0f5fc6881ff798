"""Small bodies that decode to many megabytes: one user's are undone between the bytes of everybody else."""
from __future__ import annotations

import json
import socket
import time
import zlib
from typing import Any, Callable, Dict

from harness import expect
from harness.connection import Connection
from harness.loopback import Loopback
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all

#: Just over what a body may have.
MEBIBYTES = 17
REQUESTS = 64


def answer() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    body = b"".join([packer.compress(bytes(1 << 20)) for _ in range(MEBIBYTES)] + [packer.flush()])
    return b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def middle_of_seven(connection: Connection, fetch: Dict[str, Any]) -> float:
    """How long the fourth longest of seven fetches took."""
    times = []
    for _ in range(7):
        began = time.monotonic()
        assert connection.call("fetchResource", fetch)["status"] == 200
        times.append(time.monotonic() - began)
    return sorted(times)[3]


@needs_root
def test_another_users_fetches_go_on_meanwhile(start: Callable[..., Sidecar]) -> None:
    """Each would be a fiftieth of a second of the transport's thread, and all that are there come before anybody's
    turn."""
    wire = answer()

    def serve(connection: socket.socket, _: int) -> None:
        while connection.recv(65536):
            connection.sendall(wire)

    server = Loopback(serve)
    server.start()
    base = f"http://127.0.0.1:{server.port}/"
    try:
        sidecar = start({**BOTH, "resources": {"bombs": {"baseUrl": base, "auth": "none"}}})
        open_to_all(sidecar.directory)
        with connect_as(ALICE, sidecar, timeout=120) as alice, connect_as(BOB, sidecar, timeout=60) as bob:
            fetch = {"resource": "open", "path": "echo"}
            undisturbed = middle_of_seven(bob, fetch)
            # All of them are a gigabyte to undo: on a busy machine the usual deadline passes meanwhile.
            bomb = {"resource": "bombs", "path": "x", "timeoutMs": 100_000}
            calls = [
                {"jsonrpc": "2.0", "id": number, "method": "fetchResource", "params": bomb}
                for number in range(REQUESTS)
            ]
            alice.send_text("\n".join(json.dumps(call) for call in calls))
            answered = alice.answer_to(0)
            assert "error" in answered, str(answered)[:900]
            expect.fault(answered["error"], 1012)
            # Ten times as long only where the machine is busy, and was before.
            took = middle_of_seven(bob, fetch)
            assert took < max(0.1, 10 * undisturbed), f"{took:.3f} s, before {undisturbed:.3f} s"
            for number in range(1, REQUESTS):
                answered = alice.answer_to(number)
                assert "error" in answered, (number, str(answered)[:900])
                expect.fault(answered["error"], 1012)
    finally:
        server.stop()
