"""The units on a machine that systemd booted: user, sandbox, credentials, reload and restart as they really are."""
from __future__ import annotations

import json
import re
import shlex
import stat
import threading
import time
from typing import Iterator, List

import pytest

from harness.connection import Connection
from harness.browser import announce_login, callback_of
from harness.playground import Playground
from harness.waiting import eventually
from machines.booted import BootedMachine
from machines.files import DEPLOY, foreign_libraries, needs, needs_namespaces, postern

SOCKET = "/run/postern/postern.sock"
REDIRECT = "http://127.0.0.1:8765/callback"

PREPARE = r"""
cp {deploy}/systemd/postern.service {deploy}/systemd/postern.socket $root/etc/systemd/system/
install -m 755 {binary} $root/usr/bin/postern
systemd-sysusers --root=$root {deploy}/systemd/postern.sysusers
systemd-tmpfiles --root=$root --create {deploy}/systemd/postern.tmpfiles
install -m 600 /dev/stdin $root/etc/postern/secrets/shop <<<shopsecret
install -m 600 /dev/stdin $root/etc/postern/secrets/store-key <<<$(openssl rand -base64 32)
clients=$(awk -F: '$1 == "postern-clients" {{print $3}}' $root/etc/group)
cat >$root/etc/postern/postern.yaml <<END
peers:
  - {{ uid: 0, methods: ["*"] }}
  - {{ gid: $clients, methods: [getInfo, health] }}
store: {{ keyFile: secret_store-key }}
issuers:
  shop:
    issuer: {issuer}
    clientId: shop
    clientSecretFile: secret_shop
    scope: openid offline_access orders
resources:
  mine: {{ baseUrl: "{base}/resource/", issuer: shop, auth: user, scope: orders }}
  open: {{ baseUrl: "{base}/open/", auth: none }}
development: {{ plainHTTPOnLoopback: true }}
END


# A user with units and a configuration of its own.
echo 'ann:x:20002:20002::/home/ann:/bin/sh' >>$root/etc/passwd
echo 'ann:x:20002:' >>$root/etc/group
units=$root/home/ann/.config/systemd/user
mkdir -p $units $root/home/ann/.config/postern
cp {deploy}/systemd/user/postern.service {deploy}/systemd/user/postern.socket $units
sed 's/^peers:.*//; /^  - /d; s/^store:.*//; s/secret_shop/shop/' $root/etc/postern/postern.yaml \
  >$root/home/ann/.config/postern/postern.yaml
echo shopsecret >$root/home/ann/.config/postern/shop
chmod 600 $root/home/ann/.config/postern/shop
chown -R 20002:20002 $root/home/ann
# Her manager, as user@.service starts it, without logind.
cat >$root/etc/systemd/system/ann.service <<END
[Service]
Type=notify
User=ann
Environment=XDG_RUNTIME_DIR=/run/user/20002
ExecStartPre=+/bin/install -d /run/user
ExecStartPre=+/bin/install -d -m 700 -o ann -g ann /run/user/20002
ExecStart=/lib/systemd/systemd --user
Delegate=yes
END
"""

DEBUG_BUILD = r"""
mkdir $root/etc/systemd/system/postern.service.d
printf '[Service]\nExecPaths=%s\n' {libraries} >$root/etc/systemd/system/postern.service.d/debug.conf
"""


@pytest.fixture(scope="module")
def machine(playground: Playground) -> Iterator[BootedMachine]:
    needs("systemd-analyze", "nsenter")
    needs_namespaces()
    prepare = PREPARE.format(
        deploy=shlex.quote(str(DEPLOY)), binary=shlex.quote(postern()), issuer=playground.issuer, base=playground.base)
    libraries = foreign_libraries(postern())
    if libraries:
        prepare += DEBUG_BUILD.format(libraries=shlex.quote(" ".join(libraries)))
    booted = BootedMachine(prepare, ["postern.socket"])
    yield booted
    booted.stop()


@pytest.fixture
def connection(machine: BootedMachine) -> Iterator[Connection]:
    with machine.connect(SOCKET) as opened:
        yield opened


def status_text(machine: BootedMachine) -> str:
    return machine.property("postern.service", "StatusText")


def test_the_first_connection_starts_the_service(machine: BootedMachine) -> None:
    assert machine.property("postern.service", "ActiveState") == "inactive"
    with machine.connect(SOCKET) as connection:
        try:
            assert connection.works()
        except (EOFError, ConnectionResetError, BrokenPipeError):
            pytest.fail(machine.journal("postern.service"))
    eventually(lambda: machine.property("postern.service", "ActiveState") == "active")
    assert status_text(machine).startswith("Serving ")


def test_it_runs_without_privileges_as_a_user_that_exists_only_now(
    machine: BootedMachine, connection: Connection
) -> None:
    assert connection.works()
    process = machine.property("postern.service", "MainPID")
    status = dict(re.findall(r"^(\w+):\t(.*)$", machine.run("cat", f"/proc/{process}/status"), re.MULTILINE))
    uid = int(status["Uid"].split()[0])
    assert 61184 <= uid <= 65519, "not a dynamic user"
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert {int(status[name], 16) for name in status if name.startswith("Cap")} == {0}
    limits = machine.run("cat", f"/proc/{process}/limits")
    assert re.search(r"Max core file size +0 +0", limits)


def test_nothing_in_the_log_speaks_of_a_refused_system_call(machine: BootedMachine, connection: Connection) -> None:
    assert connection.works()
    # The journal takes lines in a moment after they were written.
    eventually(lambda: "listening" in machine.journal("postern.service"))
    assert "could not be forbidden" not in machine.journal("postern.service")


def test_secrets_reach_it_as_credentials_and_sessions_are_stored(
    machine: BootedMachine, connection: Connection, playground: Playground
) -> None:
    announce_login(playground)
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
    session = connection.call("completeAuthorization", callback_of(begun))["session"]
    fetch = {"resource": "mine", "path": "orders", "session": session}
    assert connection.call("fetchResource", fetch)["status"] == 200
    machine.run("systemctl", "restart", "postern.service")
    with machine.connect(SOCKET) as later:
        assert later.call("fetchResource", fetch)["status"] == 200
    assert stat.S_IMODE(machine.path("/var/lib/private/postern").stat().st_mode) == 0o700


@pytest.mark.parametrize("group, answered", [("postern-clients", True), ("nogroup", False)])
def test_the_group_decides_who_may_connect(machine: BootedMachine, group: str, answered: bool) -> None:
    member = ["setpriv", "--reuid=20001", f"--regid={group}", "--clear-groups"]
    said = machine.run(*member, "postern", "call", "getInfo", check=False)
    assert ('"name":"postern"' in said.replace(" ", "")) == answered, said
    assert ("Permission denied" in said) != answered, said


def test_peers_decide_what_they_may_call(machine: BootedMachine) -> None:
    member = ["setpriv", "--reuid=20001", "--regid=postern-clients", "--clear-groups"]
    said = machine.run(*member, "postern", "call", "fetchResource", '{"resource":"open","path":"hello"}', check=False)
    assert "peer_forbidden" in said, said


def test_a_bad_file_is_survived_by_systemctl_reload_and_shows_in_the_status(
    machine: BootedMachine, connection: Connection
) -> None:
    assert connection.works()
    file = machine.path("/etc/postern/postern.yaml")
    good = file.read_text()
    try:
        file.write_text(good + "nonsense: 1\n")
        machine.run("systemctl", "reload", "postern.service")
        eventually(lambda: "reload failed" in status_text(machine))
        assert connection.works()
    finally:
        file.write_text(good)
    machine.run("systemctl", "reload", "postern.service")
    eventually(lambda: status_text(machine).startswith("Serving ") and "failed" not in status_text(machine))


def test_a_bad_file_at_the_start_is_not_tried_again_and_again(machine: BootedMachine) -> None:
    file = machine.path("/etc/postern/postern.yaml")
    good = file.read_text()
    try:
        file.write_text(good + "nonsense: 1\n")
        machine.run("systemctl", "restart", "postern.service", check=False)
        eventually(lambda: machine.property("postern.service", "ActiveState") == "failed")
        assert machine.property("postern.service", "ExecMainStatus") == "78"
        assert machine.property("postern.service", "NRestarts") == "0"
    finally:
        file.write_text(good)
        machine.run("systemctl", "reset-failed", "postern.service", "postern.socket")
        machine.run("systemctl", "restart", "postern.socket", "postern.service")


def test_signs_of_life_are_asked_for_and_given(machine: BootedMachine, connection: Connection) -> None:
    assert connection.works()
    assert machine.property("postern.service", "WatchdogUSec") == "30s"
    first = machine.property("postern.service", "WatchdogTimestampMonotonic")
    eventually(lambda: machine.property("postern.service", "WatchdogTimestampMonotonic") != first, 45)


def test_no_connection_is_refused_while_it_restarts(machine: BootedMachine) -> None:
    outcomes: List[str] = []
    ended = threading.Event()

    def call() -> None:
        while not ended.is_set():
            try:
                with machine.connect(SOCKET) as connection:
                    outcomes.append("answered" if connection.works() else "not answered")
            except (EOFError, ConnectionResetError, BrokenPipeError):
                # Accepted by the process that was about to end.
                outcomes.append("cut")
            except OSError as error:
                outcomes.append(type(error).__name__)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    try:
        for _ in range(3):
            machine.run("systemctl", "restart", "postern.service")
            count = len(outcomes)
            eventually(lambda: len(outcomes) > count + 20)
    finally:
        ended.set()
        for caller in callers:
            caller.join(20)
    assert set(outcomes) <= {"answered", "cut"}, {name: outcomes.count(name) for name in set(outcomes)}
    assert outcomes.count("cut") <= 12


def test_stopping_waits_for_pending_requests(machine: BootedMachine, connection: Connection) -> None:
    pending = connection.request("fetchResource", {"resource": "open", "path": "slow", "parameters": {"ms": 1000}})
    assert connection.works()
    began = time.monotonic()
    machine.run("systemctl", "stop", "postern.service", "postern.socket")
    assert connection.answer_to(pending)["result"]["status"] == 200
    assert time.monotonic() - began < 25, "not only when the time to drain is over"
    assert machine.property("postern.service", "Result") == "success"
    assert not machine.path(SOCKET).exists()


# MARK: one user's own


def test_the_units_of_a_user_serve_that_user_and_keep_sessions_in_the_home(
    machine: BootedMachine, playground: Playground
) -> None:
    machine.run("systemctl", "start", "ann.service")
    user = ["setpriv", "--reuid=20002", "--regid=20002", "--clear-groups", "env", "HOME=/home/ann"]
    user += ["XDG_RUNTIME_DIR=/run/user/20002"]
    machine.run(*user, "systemctl", "--user", "start", "postern.socket")
    socket = machine.path("/run/user/20002/postern.sock")
    assert stat.S_IMODE(socket.stat().st_mode) == 0o600
    said = machine.run(*user, "postern", "call", "getInfo")
    assert '"name":"postern"' in said.replace(" ", "")
    announce_login(playground)
    begun = json.loads(machine.run(
        *user, "postern", "call", "beginAuthorization", json.dumps({"issuer": "shop", "redirectUri": REDIRECT})))
    machine.run(*user, "postern", "call", "completeAuthorization", json.dumps(callback_of(begun)))
    assert list(machine.path("/home/ann/.config/postern/store").iterdir())
    machine.run(*user, "systemctl", "--user", "reload", "postern.service")

    def shown() -> str:
        return machine.run(*user, "systemctl", "--user", "show", "--property=StatusText,NoNewPrivileges", "postern.service")

    # The command ends when the signal is sent.
    eventually(lambda: "StatusText=Serving" in shown(), what="the end of the reload")
    assert "NoNewPrivileges=yes" in shown()
