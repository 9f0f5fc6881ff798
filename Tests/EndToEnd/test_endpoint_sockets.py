"""The sockets of endpoints: files, descriptors, processes, and many of them."""
from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.endpoints import Endpoint, PassingConnection, connect_to, ids, refused
from harness.sidecar import Sidecar
from harness.users import ALICE, BOTH, acting_as, connect_as, needs_root, open_to_all
from harness.waiting import eventually
from test_transport import ACTIVATION

Start = Callable[..., Sidecar]
ORDERS = {"resource": "orders", "path": "orders"}

#: Connects to its argument when a line comes, and shows what a call is answered.
CHILD = """
import json, socket, sys
for line in sys.stdin:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(line.strip())
        connection.sendall(b'{"jsonrpc":"2.0","id":1,"method":"getInfo"}\\n')
        text = connection.recv(1 << 16)
    except OSError:
        text = b""
    print("served" if b'"result"' in text else "closed", flush=True)
"""


@pytest.fixture(params=["stream", "headers"])
def framing(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def maker(sidecar: Sidecar, framing: str) -> Iterator[PassingConnection]:
    with connect_to(sidecar, framing) as connection:
        yield connection  # type: ignore[misc]


class Child:
    """Another process, which connects where it is sent."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def pid(self) -> int:
        return self.process.pid

    def visits(self, path: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(path + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


# Files


def test_a_socket_is_private_and_next_to_the_main_one(sidecar: Sidecar, maker: Connection) -> None:
    endpoint = Endpoint(maker)
    path = Path(endpoint.path or "")
    status = path.lstat()
    assert stat.S_ISSOCK(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o600
    assert path.parent == Path(sidecar.path).parent and path.name.startswith(Path(sidecar.path).name + ".e-")
    endpoint.revoke()
    assert not path.exists()


def test_sockets_go_with_the_sidecar(sidecar: Sidecar, maker: Connection) -> None:
    endpoint = Endpoint(maker)
    with endpoint.connect() as child:
        sidecar.signal(signal.SIGTERM)
        eventually(lambda: not os.path.exists(endpoint.path or ""), what="the end of the socket")
        assert child.ends() == []
    assert sidecar.wait() == 0


def test_leftovers_of_a_crash_go_at_the_next_start_and_nothing_else(start: Start, directory: Path) -> None:
    path = directory / "p.sock"
    sidecar = start({"listen": {"path": str(path)}})
    with sidecar.connect() as maker:
        left = [Path(Endpoint(maker).path or "") for _ in range(3)]
        sidecar.process.kill()
        sidecar.wait()
    assert all(one.exists() for one in left) and path.exists()
    # Of another sidecar in the same directory, which runs.
    second = start({"listen": {"path": str(directory / "p.sock.other")}})
    with second.connect() as maker:
        others = [Path(Endpoint(maker).path or "") for _ in range(2)]
        file, link = directory / "p.sock.e-0123456789ab", directory / "p.sock.e-abcdefabcdef"
        file.write_text("x")
        link.symlink_to(left[0])
        third = start({"listen": {"path": str(path)}})
        assert not any(one.exists() for one in left)
        assert all(one.exists() for one in others) and file.read_text() == "x" and link.is_symlink()
        with third.connect() as connection, Endpoint(connection).connect() as child:
            assert child.works()
        assert maker.works()


def test_a_path_that_is_too_long_is_an_error_and_a_descriptor_works(start: Start, directory: Path) -> None:
    path = directory / ("x" * (100 - len(str(directory)) - 1))
    sidecar = start({"listen": {"path": str(path)}})
    with connect_to(sidecar, "stream") as connection:
        expect.fault(connection.error("createEndpoint", {}), -32602, "/descriptor")
        assert ids(connection) == []
        assert Endpoint(connection, descriptor=True).path is None
        with Connection("", "stream", connected=connection.take()) as child:
            assert child.works()
    assert "the socket's path is too long for socket files of endpoints" in sidecar.log()


def test_a_directory_that_is_gone_is_an_error_and_nothing_is_left(start: Start, directory: Path) -> None:
    own = directory / "run"
    own.mkdir()
    sidecar = start({"listen": {"path": str(own / "p.sock")}})
    with sidecar.connect() as connection:
        own.rename(directory / "elsewhere")
        expect.fault(connection.error("createEndpoint", {}), -32603)
        assert ids(connection) == [] and connection.works()
        (directory / "elsewhere").rename(own)
        with Endpoint(connection).connect() as child:
            assert child.works()


def test_an_inherited_socket_has_endpoints_next_to_it(start: Start, directory: Path) -> None:
    path = directory / "inherited.sock"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(16)
    number = listener.fileno()
    launcher = [sys.executable, "-c", ACTIVATION, str(number), "me"]
    sidecar = start({"listen": None}, path=path, launcher=launcher, pass_fds=[number])
    listener.close()
    with sidecar.connect() as connection, Endpoint(connection).connect() as child:
        assert child.works()


# Processes


def test_only_the_process_that_it_is_for_may_connect(sidecar: Sidecar, maker: Connection) -> None:
    with Child() as child, Child() as other:
        endpoint = Endpoint(maker, bindTo={"pid": child.pid})
        path = endpoint.path or ""
        assert other.visits(path) == "closed" and child.visits(path) == "served"
        text = maker.call("metrics")["text"]
        assert 'postern_connections_refused_total{reason="other_process"} 1' in text
        with pytest.raises((EOFError, ConnectionResetError, BrokenPipeError)):
            endpoint.connect().call("getInfo")


def test_an_endpoint_ends_with_its_process(maker: Connection) -> None:
    with Child() as child:
        endpoint = Endpoint(maker, bindTo={"pid": child.pid})
        assert child.visits(endpoint.path or "") == "served"
        assert ids(maker) == [endpoint.id]
        child.process.kill()
        eventually(lambda: ids(maker) == [], what="the end of the endpoint")
        eventually(lambda: refused(endpoint.path or ""), what="the end of its socket")
        # It is not reaped yet: its number is still its own, and it has ended all the same.
        expect.fault(maker.error("createEndpoint", {"bindTo": {"pid": child.pid}}), -32602, "/bindTo/pid")
        child.process.wait()
        expect.fault(maker.error("createEndpoint", {"bindTo": {"pid": child.pid}}), -32602, "/bindTo/pid")


def test_a_process_that_gets_the_number_of_another_one_is_not_let_in(start: Start) -> None:
    """In a PID namespace of its own numbers come again as soon as the counter is set back."""
    probe = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*probe, "true"], capture_output=True).returncode != 0:
        pytest.skip("no PID namespaces here")
    sidecar = start(launcher=probe)
    script = (
        "import json, os, socket, sys, time\n"
        "def call(path, method, params):\n"
        "    c = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM); c.connect(path)\n"
        "    c.sendall(json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params}).encode() + b'\\n')\n"
        "    return json.loads(c.makefile().readline() or '{}')\n"
        "read, write = os.pipe()\n"
        "first = os.fork()\n"
        "if first == 0:\n"
        "    os.close(write); os.read(read, 1); os._exit(0)\n"
        "answer = call(sys.argv[1], 'createEndpoint', {'bindTo': {'pid': first}})['result']\n"
        "os.close(write); os.waitpid(first, 0)\n"
        "for _ in range(200):\n"
        "    open('/proc/sys/kernel/ns_last_pid', 'w').write(str(first - 1))\n"
        "    second = os.fork()\n"
        "    if second == 0:\n"
        "        if os.getpid() != first: os._exit(3)\n"
        "        try: text = call(answer['path'], 'getInfo', {})\n"
        "        except OSError: text = {}\n"
        "        os._exit(1 if 'result' in text else 0)\n"
        "    status = os.waitstatus_to_exitcode(os.waitpid(second, 0)[1])\n"
        "    if status != 3: break\n"
        "print(status)\n")
    inside = next(
        child for child in _children(sidecar.process.pid) if b"postern" in Path(f"/proc/{child}/cmdline").read_bytes())
    done = subprocess.run(
        ["nsenter", "-t", str(inside), "-p", "-m", sys.executable, "-c", script, sidecar.path],
        capture_output=True, text=True, timeout=60)
    if "ns_last_pid" in done.stderr:
        pytest.skip("ns_last_pid cannot be set here")
    assert done.stdout.strip() == "0", done


def _children(process: int) -> List[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@needs_root
def test_a_user_binds_to_processes_of_its_own_only(start: Start, directory: Path) -> None:
    sidecar = start(BOTH)
    open_to_all(directory)
    open_to_all(sidecar.directory)
    with Child() as roots, connect_as(ALICE, sidecar) as alice:
        expect.fault(alice.error("createEndpoint", {"bindTo": {"pid": roots.pid}}), -32602, "/bindTo/pid")


# Descriptors


def test_a_descriptor_comes_with_its_answer(maker: PassingConnection) -> None:
    endpoint = Endpoint(maker, descriptor=True, methods=["getInfo"])
    assert len(maker.descriptors) == 1
    with Connection("", maker.framing, connected=maker.take()) as child:
        assert child.works()
        expect.fault(child.error("health"), -32020)
        waiting = maker.call("listEndpoints")["endpoints"][0]
        assert waiting["connections"] == 1
        assert endpoint.revoke() == 1
        assert child.ends() == []


def test_descriptors_of_a_batch_come_in_the_order_of_its_answers(maker: PassingConnection) -> None:
    batch: List[Dict[str, Any]] = []
    for number in range(6):
        params = {"descriptor": number % 2 == 0, "label": f"label {number}"}
        batch.append({"jsonrpc": "2.0", "id": number, "method": "createEndpoint", "params": params})
    # Behind a long answer that the connection is still busy with.
    maker.request("fetchResource", {"resource": "open", "path": "slow", "parameters": {"ms": 50}}, "before")
    maker.send(batch)
    answers = maker.receive()
    if isinstance(answers, dict):
        answers = maker.receive()
    assert len(maker.descriptors) == 3
    for answer in sorted(answers, key=lambda one: one["id"]):  # type: ignore[union-attr]
        if answer["id"] % 2:
            continue
        with Connection("", maker.framing, connected=maker.take()) as child:
            own = child.call("createEndpoint", {"label": "below"})["endpoint"]
            chain = next(one for one in maker.call("listEndpoints")["endpoints"] if one["endpoint"] == own)["chain"]
            assert chain == [answer["result"]["endpoint"]]


@needs_root
def test_a_descriptor_works_after_a_fork_as_another_user(start: Start, sidecar: Sidecar, framing: str) -> None:
    """The child may not open any socket file, and is its maker all the same."""
    with connect_to(sidecar, framing) as maker:
        Endpoint(maker, descriptor=True, resources=["orders"])
        passed = maker.take()  # type: ignore[attr-defined]
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                os.setgroups([])
                os.setresgid(65534, 65534, 65534)
                os.setresuid(65534, 65534, 65534)
                answer: Any = {"reached": not refused(sidecar.path)} if os.access(sidecar.path, os.W_OK) else {}
                connection = Connection("", framing, connected=passed)
                answer["status"] = connection.call("fetchResource", ORDERS)["status"]
                os.write(write, json.dumps(answer).encode())
            os._exit(0)
        os.close(write)
        passed.close()
        with os.fdopen(read) as pipe:
            assert json.loads(pipe.read()) == {"status": 200}
        os.waitpid(child, 0)
        eventually(
            lambda: maker.call("listEndpoints")["endpoints"][0]["connections"] == 0, what="the end of the connection")


def test_descriptors_that_are_not_taken_are_closed(sidecar: Sidecar, framing: str) -> None:
    def sockets() -> int:
        folder, count = Path(f"/proc/{sidecar.process.pid}/fd"), 0
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                count += os.readlink(folder / name).startswith("socket:")
        return count

    with sidecar.connect(framing) as other:
        assert other.works()
        before = sockets()
        for _ in range(3):
            with sidecar.connect(framing) as maker:
                for number in range(8):
                    maker.request("createEndpoint", {"descriptor": True, "bindTo": "connection"}, number)
                # Gone before it has read any answer.
        eventually(lambda: ids(other) == [], what="the end of the endpoints")
        eventually(lambda: sockets() <= before, what="as many sockets as before")
        assert other.works()


# Many


def test_a_thousand_endpoints_cost_little(sidecar: Sidecar, connect: Callable[..., Connection]) -> None:
    maker = connect(sidecar)
    warm = [Endpoint(maker, resources=["orders"], methods=["fetchResource"]) for _ in range(20)]
    for endpoint in warm:
        endpoint.revoke()
    before = sidecar.resident_kilobytes()
    endpoints = [
        Endpoint(maker, resources=["orders"], methods=["fetchResource"], expiresInMs=600_000) for _ in range(1000)]
    after = sidecar.resident_kilobytes()
    assert after - before <= 4096, f"{after - before} KiB"
    assert maker.call("fetchResource", ORDERS)["status"] == 200
    with endpoints[-1].connect() as child:
        assert child.call("fetchResource", ORDERS)["status"] == 200
    for endpoint in endpoints:
        assert endpoint.revoke() == 1
    assert not [name for name in os.listdir(Path(sidecar.path).parent) if ".e-" in name]


def test_endpoints_take_no_descriptors_from_connections(start: Start) -> None:
    sidecar = start(launcher=["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"])
    with sidecar.connect() as maker:
        made = 0
        while True:
            answer = maker.answer_to(maker.request("createEndpoint", {}))
            if "error" in answer:
                expect.error(answer, -32009)
                break
            made += 1
        assert 0 < made < 60
        # Upstream requests and connections still get theirs.
        with sidecar.connect() as another:
            assert another.call("fetchResource", ORDERS)["status"] == 200
        assert Endpoint(maker).id if maker.call("revokeEndpoint", {"endpoint": ids(maker)[0]})["revoked"] else False


def test_no_descriptor_left_is_an_error_that_passes(sidecar: Sidecar) -> None:
    with sidecar.connect() as maker:
        assert maker.works()
        Endpoint(maker).revoke()
        before = resource.prlimit(sidecar.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(sidecar.process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
        try:
            for params in ({}, {"descriptor": True}):
                error = maker.error("createEndpoint", params)
                assert error["code"] in (-32009, -32603), error
            assert ids(maker) == []
        finally:
            resource.prlimit(sidecar.process.pid, resource.RLIMIT_NOFILE, before)
        with Endpoint(maker).connect() as child:
            assert child.works()
        assert not [name for name in os.listdir(Path(sidecar.path).parent) if ".e-" in name][1:]
