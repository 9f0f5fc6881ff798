"""`audit`: what is recorded, that it cannot be changed unseen, and what happens when it cannot be written."""
from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import signal
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import binaries, expect, settings
from harness.browser import announce_login, callback_of
from harness.connection import Connection
from harness.decisions import DecisionDouble
from harness.playground import Playground
from harness.sidecar import Sidecar, StartError
from harness.signing import SigningKey
from harness.waiting import eventually

Start = Callable[..., Sidecar]
REDIRECT = "http://127.0.0.1:8765/callback"
NOW = 1_700_000_000


def records(path: Path) -> List[Dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def verify(*arguments: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [binaries.postern(), "audit", "verify", *map(str, arguments)], capture_output=True, text=True, timeout=30)


@pytest.fixture
def log(directory: Path) -> Path:
    return directory / "audit.log"


@pytest.fixture
def key(directory: Path) -> Path:
    path = directory / "audit-key"
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    return path


@pytest.fixture
def point() -> Iterator[DecisionDouble]:
    def script(method: str, path: str, headers: Dict[str, str], body: Any) -> Any:
        if method == "GET":
            return 404, {}, {}
        asked = body.get("evaluations") or [body]
        decisions = [{"decision": item["resource"]["id"] == "news"} for item in asked]
        return 200, {"evaluations": decisions} if "evaluations" in body else decisions[0], {}

    double = DecisionDouble(script)
    yield double
    double.stop()


def ask_for(connection: Connection, method: str, params: Any = None) -> Dict[str, Any]:
    """The whole answer, an error too."""
    return connection.answer_to(connection.request(method, params))


def of(log: Path, **wanted: Any) -> List[Dict[str, Any]]:
    return [record for record in records(log) if all(record.get(name) == value for name, value in wanted.items())]


def test_decisions_are_recorded_with_who_what_and_outcome(
    start: Start, log: Path, playground: Playground, rsa: SigningKey, directory: Path
) -> None:
    secret = directory / "shop-secret"
    secret.write_text("shopsecret")
    shop = {
        "issuer": playground.issuer, "clientId": "shop", "clientAuth": "client_secret_basic",
        "clientSecretFile": str(secret), "scope": "openid profile offline_access orders",
    }
    mine = {"baseUrl": playground.base + "/resource/", "issuer": "shop", "auth": "user", "scope": "orders"}
    sidecar = start({
        "audit": {"path": str(log)}, "issuers": {"shop": shop}, "resources": {"mine": mine},
        "tokens": {"leaveTheSidecar": True},
        "development": {"plainHTTPOnLoopback": True, "callerClock": True},
    })
    claims = {"iss": "https://idp.example.com", "sub": "alice", "aud": "shop", "exp": NOW + 300, "iat": NOW - 10}
    pieces = {"expectedIssuer": "https://idp.example.com", "clientId": "shop", "jwks": rsa.jwks(), "now": NOW}
    with sidecar.connect() as connection:
        good = rsa.sign(claims)
        thumbprint = connection.call("validateIdToken", {"idToken": good, **pieces})["key"]["thumbprint"]
        connection.call("validateIdToken", {"idToken": rsa.sign({**claims, "exp": NOW - 400}), **pieces})
        announce_login(playground)
        begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
        session = connection.call("completeAuthorization", callback_of(begun))
        handle = session["session"]
        connection.call("fetchResource", {
            "resource": "mine", "path": "orders?secret=query-1", "headers": {"X-Key": "header-1"}, "session": handle})
        connection.call("fetchResource", {"resource": "orders", "path": "orders"})
        connection.call("fetchResource", {"resource": "open", "path": "echo"})
        token = connection.call("getAccessToken", {"resource": "mine", "session": handle})["accessToken"]
        expect.error(ask_for(connection, "fetchResource", {"resource": "mine", "path": "x", "session": "nope"}), 5001)
        connection.call("endSession", {"session": handle})
        connection.call("reloadConfig")
        connection.call("getInfo")
    sidecar.stop()

    digest = hashlib.sha256(handle.encode()).hexdigest()
    who = {"uid": os.getuid(), "gid": os.getgid(), "pid": os.getpid()}
    told = records(log)
    assert len({record["connection"] for record in told if "method" in record}) == 1
    for record in told:
        if "method" in record:
            assert {name: record[name] for name in who} == who, record
            assert re.fullmatch(r"[0-9a-f]{32}", record["traceId"]), record
    valid, = of(log, event="validation", outcome="valid")
    assert (valid["method"], valid["subject"], valid["expectedIssuer"]) == ("validateIdToken", "alice", claims["iss"])
    assert valid["key"] == {"kid": "rsa-1", "alg": "RS256", "thumbprint": thumbprint}
    invalid, = of(log, event="validation", outcome="invalid")
    assert invalid["reason"] == "token_expired" and "subject" not in invalid
    created, = of(log, event="session", outcome="created")
    assert (created["session"], created["issuer"], created["subject"]) == (digest, "shop", session["subject"])
    user, device = of(log, event="access", outcome="allowed")
    assert (user["resource"], user["auth"], user["status"], user["session"]) == ("mine", "user", 200, digest)
    assert (device["resource"], device["auth"]) == ("orders", "clientCredentials") and "session" not in device
    issued, = of(log, event="token", outcome="issued")
    assert (issued["resource"], issued["session"]) == ("mine", digest)
    refused, = of(log, event="access", outcome="fault")
    assert refused["reason"] == "session_not_found" and "session" not in refused
    assert [record["session"] for record in of(log, event="session", outcome="ended")] == [digest]
    assert [record["session"] for record in of(log, event="session", outcome="over")] == [digest]
    assert of(log, event="configuration", outcome="reloaded")
    assert [record["what"] for record in told if record["event"] == "log"] == ["begun", "closed"]
    assert not of(log, method="getInfo") and not of(log, resource="open")
    for secret_text in (handle, good, token, "query-1", "header-1", "shopsecret"):
        assert secret_text not in log.read_text()
    assert oct(log.stat().st_mode & 0o777) == "0o600"
    done = verify(log)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"records 1 to {len(told)} are whole")


def test_decisions_of_a_decision_point_stand_resource_by_resource(
    start: Start, log: Path, point: DecisionDouble
) -> None:
    sidecar = start({
        "audit": {"path": str(log), "subjects": "digest"},
        "preauthorization": {"films": {"kind": "authzen", "baseUrl": point.url}},
    })
    with sidecar.connect() as connection:
        for _ in range(2):
            connection.call("preauthorize", {"resources": ["news", "sport"], "context": {"subject": "alice"}})
        connection.call("preauthorize", {"resources": ["x"] * 200, "context": {"subject": "alice"}})
        connection.call("preauthorize", {"resources": ["x"], "provider": "nobody"})
    sidecar.stop()
    first, second, *rest = of(log, event="decision", outcome="decided")
    assert [(one["id"], one["outcome"], one["source"]) for one in first["decisions"]] == [
        ("news", "permit", "backend"), ("sport", "deny", "backend")]
    assert second["decisions"][0]["source"] == "local"
    assert first["provider"] == "films" and first["subject"] == "sha256:" + hashlib.sha256(b"alice").hexdigest()
    assert [len(record["decisions"]) for record in rest] == [64, 64, 64, 8]
    fault, = of(log, event="decision", outcome="fault")
    assert fault["provider"] == "nobody" and fault["reason"]
    assert verify(log).returncode == 0


def test_who_is_not_allowed_is_recorded(start: Start, log: Path) -> None:
    sidecar = start({
        "audit": {"path": str(log)},
        "peers": [{"uid": os.getuid(), "methods": ["fetchResource", "getInfo"], "resources": ["open"]}],
    })
    with sidecar.connect() as connection:
        expect.error(ask_for(connection, "reloadConfig"), -32020)
        # The caller is told that there is no such resource; the operator, that somebody asked for it.
        expect.error(ask_for(connection, "fetchResource", {"resource": "orders", "path": "x"}), -32602)
    sidecar.stop()
    method, = of(log, event="refusal")
    assert (method["method"], method["outcome"], method["uid"]) == ("reloadConfig", "refused", os.getuid())
    resource_refusal, = of(log, event="access")
    assert (resource_refusal["resource"], resource_refusal["outcome"]) == ("orders", "refused")
    assert resource_refusal["reason"] == "peer_forbidden"


def test_refusals_that_were_not_recorded_one_by_one_are_counted_at_the_end(start: Start, log: Path) -> None:
    """Whoever knocks often must not fill the disk, and must not stay unseen either."""
    sidecar = start({
        "audit": {"path": str(log)}, "peers": [{"uid": os.getuid(), "methods": ["getInfo"]}]})
    with sidecar.connect() as connection:
        for _ in range(40):
            expect.error(ask_for(connection, "reloadConfig"), -32020)
    sidecar.stop()
    refusals = of(log, event="refusal")
    assert 11 <= len(refusals) < 30
    assert sum("method" in record for record in refusals) + sum(record.get("more", 0) for record in refusals) == 40
    assert refusals[-1]["uid"] == os.getuid() and "method" not in refusals[-1]
    assert verify(log).returncode == 0


TAMPERINGS = {
    "changed": (
        lambda lines: [*lines[:2], lines[2].replace('"uid":', '"uid":1'), *lines[3:]], ":3: record 3 was changed"),
    "removed": (lambda lines: [*lines[:2], *lines[3:]], ":3: record 3 is missing"),
    "inserted": (lambda lines: [*lines[:4], lines[1], *lines[4:]], ":5: record 2 is a duplicate or out of order"),
    "reordered": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], ":2: record 2 is missing"),
    "truncated": (lambda lines: [*lines[:-1], lines[-1][:20]], ": the file ends within this line"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
@pytest.mark.parametrize("keyed", [False, True])
def test_tampering_is_found_by_the_command(start: Start, log: Path, key: Path, name: str, keyed: bool) -> None:
    sidecar = start({"audit": {"path": str(log), **({"keyFile": str(key)} if keyed else {})}})
    with sidecar.connect() as connection:
        for _ in range(4):
            connection.call("fetchResource", {"resource": "orders", "path": "orders"})
    sidecar.stop()
    arguments = [log, "--key-file", key] if keyed else [log]
    assert verify(*arguments).returncode == 0
    change, text = TAMPERINGS[name]
    changed = "\n".join(change(log.read_text().splitlines()))
    log.write_text(changed if name == "truncated" else changed + "\n")
    done = verify(*arguments)
    assert done.returncode == 1 and text in done.stderr and done.stdout == "", done
    if keyed:
        assert "--key-file" in verify(log).stderr


def test_the_end_that_was_cut_off_shows_in_the_metric(start: Start, log: Path) -> None:
    sidecar = start({"audit": {"path": str(log)}})
    with sidecar.connect() as connection:
        for _ in range(3):
            connection.call("fetchResource", {"resource": "orders", "path": "orders"})
        text = connection.call("metrics")["text"]
        reached = int(re.search(r"^postern_audit_sequence (\d+)$", text, re.M).group(1))
        assert connection.call("health")["checks"]["audit"]["status"] == "ok"
    assert reached == 4
    assert verify(log, "--at-least", reached).returncode == 0
    sidecar.stop()
    log.write_text("\n".join(log.read_text().splitlines()[:2]) + "\n")
    assert verify(log).returncode == 0
    done = verify(log, "--at-least", reached)
    assert done.returncode == 1 and "records 3 to 4 are missing at its end" in done.stderr


def test_an_end_that_was_written_anew_shows_by_what_the_ordinary_log_told(start: Start, log: Path) -> None:
    """After a restart the chain grows past the number that it had: only a hash tells that it is another chain."""
    def run() -> str:
        sidecar = start({"audit": {"path": str(log)}, "log": {"level": "info"}})
        with sidecar.connect() as connection:
            for _ in range(3):
                connection.call("fetchResource", {"resource": "orders", "path": "orders"})
        sidecar.stop()
        lines = [json.loads(line) for line in sidecar.awaits_log("audit log closed").splitlines()]
        return next(line["record"] for line in lines if line["message"] == "audit log closed")

    noted = run()
    assert verify(log, "--contains", noted).returncode == 0
    log.write_text("\n".join(log.read_text().splitlines()[:2]) + "\n")
    run()
    assert verify(log, "--at-least", noted.split(":")[0]).returncode == 0
    done = verify(log, "--contains", noted)
    assert done.returncode == 1 and "is not the one that was noted" in done.stderr
    assert verify(log, "--contains", "5:sha256:0").returncode == 64


@pytest.mark.thorough
def test_rotation_restart_kill_and_logrotate_keep_one_chain(start: Start, log: Path, key: Path) -> None:
    changes = {"audit": {"path": str(log), "keyFile": str(key), "maxBytes": 65536}}
    sidecar = start(changes)
    with sidecar.connect() as connection:
        for _ in range(350):
            connection.call("fetchResource", {"resource": "orders", "path": "orders"})
    sidecar.process.send_signal(signal.SIGKILL)
    sidecar.wait()
    with open(log, "a") as end:
        end.write('{"seq":999,"half')
    sidecar = start(changes)
    with sidecar.connect() as connection:
        connection.call("fetchResource", {"resource": "orders", "path": "orders"})
        log.rename(log.with_suffix(".old"))
        sidecar.signal(signal.SIGHUP)
        eventually(lambda: log.exists() and bool(records(log)))
        connection.call("fetchResource", {"resource": "orders", "path": "orders"})
    sidecar.stop()
    files = [log, log.with_suffix(".old"), *log.parent.glob("audit.log.0*")]
    assert len(files) >= 4 and len(of(log, event="access")) == 1
    done = verify(*files, "--key-file", key)
    assert done.returncode == 0, done
    everything = [record for file in files for record in records(file)]
    assert sorted(record["seq"] for record in everything) == list(range(1, len(everything) + 1))
    fragment, = [record for record in everything if record.get("what") == "fragment"]
    assert (log.parent / fragment["file"]).read_text() == '{"seq":999,"half'
    assert sum(record["event"] == "access" for record in everything) == 352
    # A file that is not given leaves a gap.
    assert verify(*[file for file in files if file != log.with_suffix(".old")], "--key-file", key).returncode == 1
    # A record in a file that is not given can be neither found nor missed.
    done = verify(log, "--key-file", key, "--contains", f"1:hmac-sha256:{'0' * 64}")
    assert done.returncode == 2 and "record 1 is in a file that was not given" in done.stderr


@pytest.mark.parametrize("fail_closed", [True, False])
def test_a_log_that_cannot_grow(start: Start, log: Path, fail_closed: bool) -> None:
    sidecar = start({"audit": {"path": str(log), "failClosed": fail_closed}})
    ask = ("fetchResource", {"resource": "orders", "path": "orders"})
    with sidecar.connect() as connection:
        connection.call(*ask)
        eventually(lambda: len(of(log, event="access")) == 1)
        before = resource.prlimit(sidecar.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(sidecar.process.pid, resource.RLIMIT_FSIZE, (log.stat().st_size + 100, before[1]))
        if fail_closed:
            data = expect.error(ask_for(connection, *ask), -32024)
            assert data["outcome"] == "replied"
            # From now on nothing is done that could not be recorded, and health says so.
            data = expect.error(ask_for(connection, *ask), -32024)
            assert data["outcome"] == "not_sent" and data["retryable"] is True
        else:
            for _ in range(3):
                connection.call(*ask)
        # What decides nothing works all the same.
        connection.call("getInfo")
        eventually(lambda: connection.call("health")["checks"]["audit"]["status"] != "ok")
        check = connection.call("health")["checks"]["audit"]
        assert check["status"] == ("down" if fail_closed else "degraded")
        assert "File too large" in check["detail"]
        resource.prlimit(sidecar.process.pid, resource.RLIMIT_FSIZE, before)
        eventually(lambda: connection.call("health")["checks"]["audit"]["status"] == "ok")
        connection.call(*ask)
        text = connection.call("metrics")["text"]
    sidecar.stop()
    missing = int(re.search(r"^postern_audit_records_missing_total (\d+)$", text, re.M).group(1))
    note, = of(log, event="log", what="refused" if fail_closed else "lost")
    assert note["records"] == missing > 0 and "File too large" in note["because"]
    assert verify(log).returncode == 0


def test_a_place_that_cannot_be_used_stops_the_start(
    start: Start, configuration: Dict[str, Any], directory: Path, log: Path, key: Path
) -> None:
    def refusal(name: str, status: int, **audit: Any) -> str:
        own = directory / name
        own.mkdir()
        changes = {"audit": audit, "listen": {"path": str(own / "postern.sock")}}
        with pytest.raises(StartError) as failure:
            Sidecar(own, settings.changed(configuration, changes))
        assert failure.value.status == status
        return failure.value.log

    # What another start may find mended; 78 is for what only another configuration mends.
    assert "audit.path: is not usable" in refusal("1", 1, path=str(directory / "nowhere" / "audit.log"))
    key.write_bytes(b"short")
    assert "fewer than 32 bytes" in refusal("2", 78, path=str(log), keyFile=str(key))


def test_a_log_that_another_process_writes_still_is_taken_over_when_that_ends(start: Start, directory: Path, log: Path) -> None:
    first = start({"audit": {"path": str(log)}})
    second = start({"audit": {"path": str(log)}, "listen": {"path": str(directory / "second.sock")}})
    with second.connect() as connection:
        check = connection.call("health")["checks"]["audit"]
        assert check["status"] == "down" and "another process writes to it" in check["detail"]
        fetch = {"resource": "orders", "path": "orders"}
        assert expect.fault(connection.error("fetchResource", fetch), -32024)["outcome"] == "not_sent"
        first.stop()
        eventually(lambda: connection.call("health")["checks"]["audit"]["status"] == "ok")
        connection.call("fetchResource", fetch)
    second.stop()
    assert [record["what"] for record in of(log, event="log")] == ["begun", "closed", "started", "refused", "closed"]
    assert verify(log).returncode == 0


def test_the_command_says_what_it_cannot_decide(log: Path, key: Path) -> None:
    assert verify(log).returncode == 2
    log.write_text("no log\n")
    assert verify(log).returncode == 1
    key.write_bytes(b"short")
    assert verify(log, "--key-file", key).returncode == 2
    assert verify().returncode == 64
