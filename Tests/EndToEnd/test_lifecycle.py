"""Section 1 and 2: half-close, order of answers, cancellation by closing, and the end of the process."""
from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from harness import binaries, expect
from harness.connection import Connection
from harness.issuer import IssuerDouble, document
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually

Connect = Callable[..., Connection]


def slow(milliseconds: int) -> Dict[str, Any]:
    return {"resource": "open", "path": "slow", "parameters": {"ms": milliseconds}}


HELD = {"resource": "own", "path": "held"}


def held(issuer: IssuerDouble, gate: threading.Event) -> Dict[str, Any]:
    """The resource of `HELD`, whose answers wait for `gate`: however long a machine stands still, none comes before."""
    issuer.answers["/held"] = lambda _: (gate.wait(20), document({}))[1]
    return {"resources": {"own": {"baseUrl": issuer.base + "/", "auth": "none"}}}


def test_after_half_close_every_pending_answer_is_written_before_the_end(connection: Connection) -> None:
    first = connection.request("fetchResource", slow(400))
    second = connection.request("getInfo")
    third = connection.request("fetchResource", slow(100))
    connection.half_close()
    assert {message["id"] for message in connection.ends()} == {first, second, third}  # type: ignore[call-overload]


def test_half_close_without_a_word_ends_the_connection(connection: Connection) -> None:
    connection.half_close()
    assert connection.ends() == []


def test_answers_may_come_in_any_order(start: Callable[..., Sidecar], connect: Connect, issuer: IssuerDouble) -> None:
    gate = threading.Event()
    connection = connect(start(held(issuer, gate)))
    late = connection.request("fetchResource", HELD)
    early = connection.request("getInfo")
    assert connection.receive()["id"] == early  # type: ignore[call-overload]
    gate.set()
    assert connection.receive()["id"] == late  # type: ignore[call-overload]


def test_a_cancel_sent_right_behind_its_request_works(connection: Connection, playground: Playground) -> None:
    request = '{"jsonrpc":"2.0","id":"c","method":"fetchResource","params":{"resource":"open","path":"slow?ms=20000"}}'
    cancel = '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"c"}}'
    began = time.monotonic()
    connection.send_bytes(connection.frame(request) + connection.frame(cancel))
    expect.error(connection.answer_to("c"), -32800, "c")
    assert time.monotonic() - began < 15
    assert connection.works()


def test_a_cancelled_fetch_is_cancelled_upstream(connection: Connection, playground: Playground) -> None:
    identifier = connection.request("fetchResource", slow(20_000))
    eventually(lambda: playground.statistics()["openRequests"] == 1)
    connection.notify("$/cancelRequest", {"id": identifier})
    expect.error(connection.answer_to(identifier), -32800, identifier)
    eventually(lambda: playground.statistics()["abandonedRequests"] == 1)


def test_closing_the_connection_cancels_what_it_asked_for(connection: Connection, playground: Playground) -> None:
    connection.request("fetchResource", slow(20_000))
    eventually(lambda: playground.statistics()["openRequests"] == 1)
    connection.close()
    eventually(lambda: playground.statistics()["abandonedRequests"] == 1)


def test_one_connections_end_does_not_touch_another(sidecar: Sidecar, connect: Connect) -> None:
    staying = connect(sidecar)
    identifier = staying.request("fetchResource", slow(800))
    for _ in range(20):
        leaving = connect(sidecar)
        leaving.request("fetchResource", slow(5000))
        leaving.send_bytes(b'{"half a message')
        leaving.close()
    assert staying.answer_to(identifier)["result"]["status"] == 200


def test_on_sigterm_pending_requests_are_answered_and_the_exit_status_is_0(sidecar: Sidecar, connect: Connect) -> None:
    connection, idle = connect(sidecar), connect(sidecar)
    assert idle.works()
    pending = connection.request("fetchResource", slow(1500))
    assert connection.works()
    sidecar.signal(signal.SIGTERM)
    assert connection.answer_to(pending)["result"]["status"] == 200
    assert connection.ends() == []
    assert idle.ends() == []
    assert sidecar.wait() == 0


def test_on_sigterm_new_requests_are_refused(
    start: Callable[..., Sidecar], connect: Connect, issuer: IssuerDouble
) -> None:
    gate = threading.Event()
    sidecar = start(held(issuer, gate))
    connection = connect(sidecar)
    pending = connection.request("fetchResource", HELD)
    eventually(lambda: issuer.count("/held") == 1)
    sidecar.signal(signal.SIGTERM)

    def refused() -> bool:
        answer = connection.answer_to(connection.request("getInfo"))
        if "result" in answer:
            return False
        data = expect.fault(answer["error"], -32021)
        # Clients send it to the successor, whatever it does.
        assert data["outcome"] == "not_sent" and data["retryable"] is True
        return True

    eventually(refused, what="the refusal")
    gate.set()
    assert connection.answer_to(pending)["result"]["status"] == 200
    assert sidecar.wait() == 0


@pytest.mark.parametrize(
    "number",
    [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGPWR,
     signal.SIGPIPE, signal.SIGRTMIN, signal.SIGRTMAX],
)
def test_signals_that_mean_nothing_do_not_end_it(sidecar: Sidecar, number: int) -> None:
    with sidecar.connect() as connection:
        for _ in range(3):
            sidecar.signal(number)
            assert connection.works()
    assert sidecar.is_running()


def test_a_reload_requested_right_after_the_start_does_not_end_it(directory: Any) -> None:
    """It requests what happens anyway. From the first own code on: until the libraries are there, none can run."""
    config = directory / "early.yaml"
    config.write_text(f'{{"listen": {{"path": "{directory}/early.sock"}}, "store": {{"kind": "memory"}}}}')
    process = subprocess.Popen([binaries.postern(), "serve", "--config", str(config)], stderr=subprocess.DEVNULL)
    try:
        def signals(line: str) -> int:
            found = Path(f"/proc/{process.pid}/status").read_text()
            return int(next(text for text in found.splitlines() if text.startswith(line)).split()[1], 16)

        begun = time.monotonic()
        while not (signals("SigIgn") | signals("SigCgt")) & 1:
            assert time.monotonic() - begun < 20
        assert not signals("SigCgt") & (1 << 14), "it is ignored before anything else is set up"
        process.send_signal(signal.SIGHUP)
        assert eventually(lambda: (directory / "early.sock").exists() or process.poll() is not None)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_second_sigterm_ends_it_at_once_with_130(
    start: Callable[..., Sidecar], connect: Connect, issuer: IssuerDouble
) -> None:
    gate = threading.Event()
    sidecar = start(held(issuer, gate))
    connection = connect(sidecar)
    connection.request("fetchResource", HELD)
    eventually(lambda: issuer.count("/held") == 1)
    sidecar.signal(signal.SIGTERM)
    sidecar.awaits_log("draining")
    assert sidecar.is_running()
    sidecar.signal(signal.SIGTERM)
    assert sidecar.wait() == 130
    gate.set()


def test_an_idle_sidecar_ends_at_once_on_sigterm(sidecar: Sidecar) -> None:
    with sidecar.connect() as connection:
        assert connection.works()
        began = time.monotonic()
        sidecar.signal(signal.SIGTERM)
        assert sidecar.wait() == 0
        # Not when the 30 s to drain are over.
        assert time.monotonic() - began < 15


def test_what_is_pending_when_the_time_to_drain_is_over_is_answered(
    start: Callable[..., Sidecar], connect: Connect, playground: Playground
) -> None:
    """Catches calls that end without a word, tasks that end with the event loop, and a batch of which only a part is
    told."""
    sidecar = start({"listen": {"drain": "300ms"}})
    connections = [connect(sidecar) for _ in range(3)]
    pending = [connection.request("fetchResource", slow(20_000)) for connection in connections]
    connections[0].send([
        {"jsonrpc": "2.0", "id": "quick", "method": "getInfo"},
        {"jsonrpc": "2.0", "id": "slow", "method": "fetchResource", "params": slow(20_000)},
    ])
    assert all(connection.works() for connection in connections)
    eventually(lambda: playground.statistics()["openRequests"] == 4)
    began = time.monotonic()
    sidecar.signal(signal.SIGTERM)
    for connection, identifier in zip(connections, pending):
        data = expect.fault(connection.answer_to(identifier)["error"], -32021)
        # Not refused before anything was done: it may have had an effect.
        assert data["retryable"] is False and data["outcome"] == "sent_no_reply"
    [batch] = connections[0].ends()
    assert {member["id"]: "result" in member for member in batch} == {"quick": True, "slow": False}
    assert all(connection.ends() == [] for connection in connections[1:])
    assert sidecar.wait() == 0
    assert time.monotonic() - began < 15
    eventually(lambda: playground.statistics()["abandonedRequests"] == 4)
    log = sidecar.awaits_log("calls were cut off")
    assert "EventLoop" not in log and "leaking" not in log.lower()


def test_a_sigterm_while_a_reload_hangs_is_a_clean_end(start: Callable[..., Sidecar], directory: Any) -> None:
    """A configuration file on a file system that does not answer must not make the process one that only SIGKILL
    ends."""
    sidecar = start()
    with sidecar.connect() as connection:
        # Many of them: one is at work when the SIGTERM comes.
        for _ in range(50):
            sidecar.signal(signal.SIGHUP)
        assert connection.works()
        sidecar.signal(signal.SIGTERM)
        assert sidecar.wait() == 0


# The caller's process


def held_by_another(path: str, request: bytes) -> int:
    """Connects in a process that ends, while a child of it keeps the connection; the end of a pipe on which the child
    says `end` when the connection has ended."""
    ours, theirs = os.pipe()
    middle = os.fork()
    if middle == 0:
        try:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.connect(path)
            connection.sendall(request)
            if os.fork() == 0:
                connection.settimeout(30)
                while connection.recv(4096):
                    pass
                os.write(theirs, b"end")
        finally:
            os._exit(0)
    os.close(theirs)
    os.waitpid(middle, 0)
    return ours


def test_a_connection_whose_process_has_ended_goes_though_a_child_holds_it(
    sidecar: Sidecar, playground: Playground
) -> None:
    """The child is not whom the kernel vouches for: it must not go on in the name of its parent."""
    request = b'{"jsonrpc":"2.0","id":1,"method":"fetchResource","params":{"resource":"open","path":"slow?ms=20000"}}\n'
    pipe = held_by_another(sidecar.path, request)
    try:
        assert select.select([pipe], [], [], 15)[0] and os.read(pipe, 16) == b"end"
    finally:
        os.close(pipe)
    eventually(lambda: playground.statistics()["abandonedRequests"] == 1)
    sidecar.awaits_log("the caller's process has exited")


def test_what_a_process_asked_for_before_its_end_is_still_done(sidecar: Sidecar, playground: Playground) -> None:
    request = b'{"jsonrpc":"2.0","id":1,"method":"fetchResource","params":{"resource":"open","path":"echo"}}\n'
    os.close(held_by_another(sidecar.path, request))
    with sidecar.connect() as connection:
        eventually(lambda: 'method="fetchResource",outcome="result"} 1' in connection.call("metrics")["text"])
