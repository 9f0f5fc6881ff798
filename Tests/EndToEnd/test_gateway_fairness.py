"""One user's load on the gateway delays another user's requests little more than it delays JSON-RPC calls."""
from __future__ import annotations

import contextlib
import http.client
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest

from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, acting_as, connect_as, needs_root, open_to_all
from test_gateway_listener import KEY, UnixConnection, port_of

Start = Callable[..., Sidecar]

CONNECTIONS = 200
SAMPLES = 150

#: Sends the same bytes on many connections for as long as it is left alone, and connects again where it is closed.
LOAD = """
import os, selectors, socket, sys
uid, count, family, address, payload = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], open(sys.argv[5], "rb").read()
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
waiting = selectors.DefaultSelector()
def connect():
    client = socket.socket(socket.AF_UNIX if family == "unix" else socket.AF_INET)
    try:
        client.connect(address if family == "unix" else ("127.0.0.1", int(address)))
    except OSError:
        return client.close()
    client.setblocking(False)
    waiting.register(client, selectors.EVENT_READ | selectors.EVENT_WRITE, [0])
for _ in range(count):
    connect()
print("ready", flush=True)
while True:
    for key, ready in waiting.select(0.1):
        try:
            if ready & selectors.EVENT_READ and not key.fileobj.recv(65536):
                raise OSError("closed")
            if ready & selectors.EVENT_WRITE:
                sent = key.data[0]
                key.data[0] = (sent + key.fileobj.send(payload[sent:sent + 65536])) % len(payload)
        except BlockingIOError:
            pass
        except OSError:
            waiting.unregister(key.fileobj)
            key.fileobj.close()
            connect()
"""


@contextlib.contextmanager
def load(directory: Path, family: str, address: str, payload: bytes) -> Iterator[None]:
    """Alice's programs are busy meanwhile."""
    file = directory / "payload"
    file.write_bytes(payload)
    file.chmod(0o644)
    command = [sys.executable, "-c", LOAD, str(ALICE), str(CONNECTIONS), family, address, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            time.sleep(0.5)
            yield
        finally:
            process.send_signal(signal.SIGKILL)


def nearly_worst(call: Callable[[], Any]) -> float:
    """The 99th percentile of the time that a call takes, in seconds."""
    times: List[float] = []
    for _ in range(SAMPLES):
        begin = time.monotonic()
        call()
        times.append(time.monotonic() - begin)
    return sorted(times)[SAMPLES * 99 // 100 - 1]


def check(over_http: Callable[[], Any], over_rpc: Callable[[], Any]) -> None:
    """Both share the machine with the load, and with whatever else runs on it; only one shares its loops."""
    rpc = nearly_worst(over_rpc)
    gateway = nearly_worst(over_http)
    rpc = max(rpc, nearly_worst(over_rpc))
    assert gateway < 5 * rpc + 0.1, f"{gateway * 1000:.1f} ms over HTTP, {rpc * 1000:.1f} ms over JSON-RPC"


CHUNKS = b"POST /unknown HTTP/1.1\r\nHost: postern\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 100_000 + b"0\r\n\r\n"
PATH = b"GET /unknown/" + b"a" * 8000 + b" HTTP/1.1\r\nHost: postern\r\n\r\n"


@needs_root
@pytest.mark.parametrize("payload", [PATH, CHUNKS], ids=["long paths", "chunks of one byte"])
def test_busy_programs_of_one_user_do_not_delay_anothers(start: Start, directory: Path, payload: bytes) -> None:
    path = str(directory / "http.sock")
    sidecar = start({"gateway": {"listen": {"path": path, "mode": "0666"}}, **BOTH})
    sidecar.awaits_log("gateway listening")
    open_to_all(sidecar.directory)
    directory.chmod(0o755)
    connection = UnixConnection(path)
    with acting_as(BOB):
        connection.connect()

    def request() -> None:
        connection.request("GET", "/unknown")
        assert connection.getresponse().read()

    with connect_as(BOB, sidecar) as rpc, load(directory, "unix", path, payload):
        check(request, lambda: rpc.call("getInfo"))
    connection.close()


MESSAGE = b"POST /rpc HTTP/1.1\r\nHost: postern\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n" + b"1\r\n \r\n" * 100_000 + b"0\r\n\r\n"


@needs_root
@pytest.mark.parametrize("payload", [PATH, MESSAGE], ids=["long paths", "a message in chunks of one byte"])
def test_http_of_one_user_on_the_socket_of_json_rpc_does_not_delay_anothers_calls(
    start: Start, directory: Path, payload: bytes
) -> None:
    sidecar = start(BOTH)
    open_to_all(sidecar.directory)
    connection = UnixConnection(str(sidecar.path))
    with acting_as(BOB):
        connection.connect()

    def request() -> None:
        connection.request("GET", "/health")
        assert connection.getresponse().read()

    with connect_as(BOB, sidecar) as rpc:
        alone = nearly_worst(lambda: rpc.call("getInfo"))
        with load(directory, "unix", str(sidecar.path), payload):
            check(request, lambda: rpc.call("getInfo"))
            loaded = nearly_worst(lambda: rpc.call("getInfo"))
    assert loaded < 5 * alone + 0.1, f"{loaded * 1000:.1f} ms beside the load, {alone * 1000:.1f} ms without"
    connection.close()


@needs_root
def test_programs_without_the_key_do_not_delay_those_with_it(start: Start, directory: Path) -> None:
    sidecar = start({"gateway": {"listen": {"address": "127.0.0.1:0", "key": KEY}}})
    port = port_of(sidecar)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def request() -> None:
        connection.request("GET", "/unknown", headers={"Postern-Key": KEY})
        answer = connection.getresponse()
        assert answer.status == 404 and answer.read()

    request()
    with sidecar.connect() as rpc, load(directory, "internet", str(port), b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        check(request, lambda: rpc.call("getInfo"))
    connection.close()
