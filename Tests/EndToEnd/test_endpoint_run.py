"""`postern run --resource`: a program with an endpoint of its own, for as long as it runs."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from harness import binaries
from harness.connection import Connection
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]


@pytest.fixture
def gateway(start: Start, directory: Path) -> Sidecar:
    made = start({"gateway": {"listen": {"path": str(directory / "http.sock")}}})
    made.awaits_log("gateway listening")
    return made


def arguments(sidecar: Sidecar, words: List[str], command: List[str]) -> List[str]:
    return [binaries.postern(), "run", "--socket", sidecar.path, *words, "--", *command]


def run(sidecar: Sidecar, words: List[str], command: List[str], **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        arguments(sidecar, words, command), capture_output=True, text=True, timeout=60, cwd=sidecar.directory,
        env={"PATH": os.environ["PATH"], "HOME": str(sidecar.directory), **variables})


def endpoints(sidecar: Sidecar) -> List[Dict[str, Any]]:
    with sidecar.connect() as connection:
        found: List[Dict[str, Any]] = connection.call("listEndpoints")["endpoints"]
        return found


@pytest.fixture
def child(gateway: Sidecar) -> Any:
    """Starts `postern run --resource orders` with a program that shows its socket and waits; stops what is left."""
    started: List["subprocess.Popen[str]"] = []

    def start(script: str = "exec sleep 60", *words: str, first: str = "") -> "subprocess.Popen[str]":
        command = ["sh", "-c", first + 'echo "$POSTERN_SOCKET"; ' + script]
        # A shell has no trap for a signal that it found ignored: tests may be run by nohup, or in the background.
        usual = ["env", "--default-signal"]
        started.append(subprocess.Popen(
            usual + arguments(gateway, ["--resource", "orders", *words], command), stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        if process.stdout is not None:
            process.stdout.close()
        if process.poll() is None:
            process.terminate()
        process.wait(20)


CHILD = """
import json, os, subprocess, sys
postern = sys.argv[1]
def call(*words):
    done = subprocess.run([postern, "call", *words], capture_output=True, text=True)
    return json.loads(done.stdout or done.stderr)
print(json.dumps({
    "sockets": {name: os.environ.get(name) for name in ("POSTERN_SOCKET", "POSTERN_HTTP_SOCKET")},
    "descriptors": os.listdir("/proc/self/fd"),
    "orders": call("fetchResource", "resource=orders", "path=orders"),
    "open": call("fetchResource", "resource=open", "path=hello"),
    "nothing": call("fetchResource", "resource=nothing", "path=hello"),
    "sessions": call("listSessions"), "token": call("getAccessToken", "resource=orders"), "info": call("getInfo"),
    "curl": subprocess.run(["curl", "-s", "--unix-socket", os.environ.get("POSTERN_HTTP_SOCKET", "-"),
        "http://postern/orders/orders"], capture_output=True, text=True).stdout,
}))
sys.exit(7)
"""


def test_the_program_reaches_its_resource(gateway: Sidecar) -> None:
    """Catches a program that cannot fetch, one that can do more, and an endpoint that outlives it."""
    done = run(gateway, ["--resource", "orders", "--for", "10m"], [sys.executable, "-c", CHILD, binaries.postern()])
    assert done.returncode == 7 and done.stderr == "", done
    found = json.loads(done.stdout)
    assert found["orders"]["status"] == 200 and '"orders"' in found["curl"] and found["info"]["name"] == "postern"
    assert found["open"]["code"] == -32602 and found["open"]["message"] == found["nothing"]["message"]
    assert found["sessions"]["code"] == found["token"]["code"] == -32020
    assert found["sockets"]["POSTERN_SOCKET"].startswith(gateway.path + ".e-")
    assert len(found["descriptors"]) == 4, "the connection that the endpoint is bound to is not the program's"
    assert endpoints(gateway) == [] and not [path for path in found["sockets"].values() if os.path.exists(path)]


def test_limits(gateway: Sidecar, child: Any) -> None:
    """Catches an option that leaves no limit."""
    words = [
        "--for", "90", "--http-method", "GET", "--http-method", "HEAD", "--path", "orders/", "--rpc-method", "fetchResource",
        "--label", "a report", "--resource", "open"]
    child("exec sleep 60", *words).stdout.readline()
    made = endpoints(gateway)[0]
    limits = {name: value for name, value in made["limits"].items() if value is not None}
    assert {name: sorted(value) for name, value in limits.items()} == {
        "resources": ["open", "orders"], "methods": ["fetchResource"], "httpMethods": ["GET", "HEAD"], "paths": ["orders/"]}
    assert made["label"] == "a report" and made["expiresAt"]


def test_the_time_is_up(gateway: Sidecar) -> None:
    """Catches an endpoint that a program keeps for longer than it may."""
    script = 'test -S "$POSTERN_SOCKET" && while test -e "$POSTERN_SOCKET"; do sleep 0.05; done; echo over'
    began = time.monotonic()
    done = run(gateway, ["--resource", "orders", "--for", "1s"], ["sh", "-c", script])
    assert done.stdout == "over\n" and time.monotonic() - began >= 1, done
    with gateway.connect() as connection:
        assert 'postern_endpoints_ended_total{reason="expired"} 1' in connection.call("metrics")["text"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_are_passed_on(gateway: Sidecar, child: Any, number: signal.Signals) -> None:
    """Catches a program that goes on without its endpoint, and an end that looks like another one."""
    started = child("while :; do sleep 0.05; done", first=f'trap "exit 9" {number.name[3:]}; ')
    path = started.stdout.readline().strip()
    started.send_signal(number)
    assert started.wait(20) == 9 and not os.path.exists(path)
    killed = child()
    path = killed.stdout.readline().strip()
    killed.send_signal(number)
    assert killed.wait(20) == -number and not os.path.exists(path)
    assert endpoints(gateway) == []


def test_a_command_that_is_killed_ends_the_endpoint(gateway: Sidecar, child: Any) -> None:
    """Catches an endpoint that stays where nothing is left to revoke it."""
    started = child("echo $$; exec sleep 60")
    path, pid = started.stdout.readline().strip(), int(started.stdout.readline())
    assert os.path.exists(path)
    started.kill()
    started.wait(20)
    eventually(lambda: not os.path.exists(path) and endpoints(gateway) == [], what="the end of the endpoint")
    os.kill(pid, signal.SIGKILL)


def test_signals_that_are_ignored_stay_so(gateway: Sidecar) -> None:
    """Catches a program under nohup that a hang-up ends, and signals that the program cannot get."""
    # Not 32 and 33, which are the C library's.
    status = [sys.executable, "-c", "print([hex(int(line[8:], 16) & ~(3 << 31))"
              " for line in open('/proc/self/status') if line.startswith(('SigBlk', 'SigIgn'))])"]
    plain = subprocess.run(["nohup", *status], capture_output=True, text=True, check=True).stdout
    command = ["nohup", *arguments(gateway, ["--resource", "orders"], status)]
    assert subprocess.run(command, capture_output=True, text=True, timeout=60).stdout == plain


def test_without_the_gateway(sidecar: Sidecar) -> None:
    """Catches a program that needs no HTTP and does not start without it, and a socket of the caller's environment."""
    done = run(
        sidecar, ["--resource", "orders"],
        ["sh", "-c", f'{binaries.postern()} call fetchResource path=orders resource=orders && echo "${{POSTERN_HTTP_SOCKET-none}}"'],
        POSTERN_HTTP_SOCKET="/another")
    assert done.returncode == 0 and done.stdout.endswith("\nnone\n"), done


def test_a_maker_with_few_methods(start: Start) -> None:
    """Catches a maker that may fetch and cannot let a program do so."""
    sidecar = start({"peers": [{"uid": os.getuid(), "methods": ["fetchResource", "createEndpoint"]}]})
    done = run(sidecar, ["--resource", "orders"], [binaries.postern(), "call", "fetchResource", "resource=orders", "path=orders"])
    assert done.returncode == 0 and '"status":200' in done.stdout, done
    done = run(sidecar, ["--resource", "orders", "--rpc-method", "getInfo"], ["true"])
    assert done.returncode == 1 and "-32020" in done.stderr, done


def test_in_an_endpoint_of_its_own(gateway: Sidecar) -> None:
    """Catches a program that gets from its own endpoint more than that has."""
    inner = [binaries.postern(), "run", "--resource", "open", "--", "true"]
    outer = ["--resource", "orders", "--http-method", "GET"]
    assert "-32020" in run(gateway, outer, inner).stderr
    inner[3:4] = ["orders", "--http-method", "GET"]
    assert run(gateway, outer, inner).returncode == 0
    inner[5:6] = ["POST"]
    assert "-32020" in run(gateway, outer, inner).stderr


@pytest.mark.parametrize("words, command, code", [
    (["--resource", "orders", "--for", "10"], ["./nothing-here"], 127),
    (["--resource", "orders"], ["./postern.yaml"], 126),
    (["--resource", "orders", "--socket", "/nothing"], ["true"], 1),
    (["--for", "10m"], ["true"], 64), (["--path", "a"], ["true"], 64), (["--label", "a"], ["true"], 64),
    (["--resource", "orders", "--for", "0s"], ["true"], 64), (["--resource", "orders", "--for", "VAR=orders"], ["true"], 64),
    (["--resource", "orders", "--set", "A=orders"], ["true"], 64), (["--resource", "orders", "--git", "orders"], ["true"], 64),
])
def test_what_does_not_run(gateway: Sidecar, words: List[str], command: List[str], code: int) -> None:
    """Catches a program that runs with more, or less, than it was to be given, and an endpoint of one that did not."""
    done = run(gateway, words, command)
    assert done.returncode == code and done.stderr, done
    assert endpoints(gateway) == []
    with gateway.connect() as connection:
        # Before the command has ended, and not when the sidecar notices its end.
        revoked = 'postern_endpoints_ended_total{reason="revoked"} 1' in connection.call("metrics")["text"]
        assert revoked == (code in (126, 127))
