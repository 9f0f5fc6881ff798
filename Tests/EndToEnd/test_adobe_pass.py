"""Section 4.2 with `kind: adobe-pass`, against the playground's double of Adobe Pass, which is written from
documentation."""
from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

import pytest

from harness import expect
from harness.binaries import postern
from harness.connection import Connection
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar, StartError
from harness.waiting import eventually
from test_preauthorize import call, codes, permits

Start = Callable[..., Sidecar]
STATEMENT = "eyJhbGciOiJub25lIn0.eyJzb2Z0d2FyZV9pZCI6InBsYXlncm91bmQifQ.c2lnbmF0dXJl"
FAST = {"rateLimit": {"perSecond": 1000, "burst": 1000}}


@pytest.fixture
def adobe(playground: Playground) -> Iterator[Playground]:
    """The double, as at the start and without its throttle."""
    playground.request("DELETE", "/playground/adobe")
    switch(playground, throttle=False)
    yield playground
    playground.request("DELETE", "/playground/adobe")


def switch(playground: Playground, **changes: Any) -> Dict[str, Any]:
    status, _, body = playground.request("POST", "/playground/adobe", json.dumps(changes).encode())
    assert status == 200, body
    return json.loads(body)


def counts(playground: Playground) -> Dict[str, int]:
    statistics = playground.statistics()
    return {name: statistics[f"adobe{name.capitalize()}"] for name in ("registrations", "tokens", "decisions", "throttled")}


def questions(playground: Playground) -> List[Dict[str, Any]]:
    requests = json.loads(playground.request("GET", "/playground/adobe")[2])["requests"]
    return [request for request in requests if "/preauthorize/" in request["path"]]


def point(directory: Path, playground: Playground, **changes: Any) -> Dict[str, Any]:
    statement = directory / "statement"
    statement.write_text(STATEMENT + "\n")
    statement.chmod(0o600)
    return {
        "kind": "adobe-pass", "baseUrl": playground.base + "/adobe", "serviceProvider": "REF30", "mvpd": "Cable vision",
        "softwareStatementFile": str(statement), "deviceIdFile": str(directory / "device-id"), **FAST, **changes}


@pytest.fixture
def begin(start: Start, adobe: Playground, directory: Path) -> Callable[..., Sidecar]:
    """A sidecar with a store that lasts, and changes to its decision point."""
    store = {"kind": "file", "path": str(directory / "sessions")}

    def begin(store: Dict[str, Any] = store, **changes: Any) -> Sidecar:
        return start({"store": store, "preauthorization": {"pass": point(directory, adobe, **changes)}})

    return begin


@pytest.fixture
def ask(begin: Callable[..., Sidecar]) -> Iterator[Callable[..., Connection]]:
    opened: List[Connection] = []

    def ask(**changes: Any) -> Connection:
        opened.append(begin(**changes).connect())
        return opened[-1]

    yield ask
    for connection in opened:
        connection.close()


def fetch(connection: Connection, *resources: str, **params: Any) -> Dict[str, Any]:
    return call(connection, *resources, subject=None, **params)


def test_mixed_decisions_keep_their_order_and_their_reasons(ask: Callable[..., Connection], adobe: Playground) -> None:
    switch(adobe, reverse=True)
    names = ["a", "deny", "login", "b", "novel", "a", "parental", "temp", "dummy", "silent"]
    result = fetch(ask(), *names)
    assert permits(result) == [True, False, False, True, False, True, False, True, True, False]
    errors = {decision["id"]: decision.get("error", {}) for decision in result["decisions"]}
    assert errors["deny"]["code"] == "preauthorization_denied_by_mvpd" and errors["deny"]["status"] == 403
    assert errors["deny"]["trace"] == "trace-preauthorization_denied_by_mvpd" and errors["deny"]["helpUrl"]
    assert errors["login"] == {**errors["login"], "code": "authenticated_profile_expired", "action": "authentication"}
    # Sets that may grow: what nobody knows passes through.
    assert (errors["novel"]["status"], errors["novel"]["action"]) == (499, "an-action-of-tomorrow")
    assert errors["silent"]["code"] == "authorization_denied"
    assert {decision["source"] for decision in result["decisions"]} == {"backend"}
    # A login that is missing costs no credentials.
    assert counts(adobe) == {"registrations": 1, "tokens": 1, "decisions": 2, "throttled": 0}


def test_the_request_is_the_documented_one(ask: Callable[..., Connection], adobe: Playground, directory: Path) -> None:
    connection = ask(deviceInfo={"model": "Settop 5", "primaryHardwareType": "SetTopBox", "vendor": "Ünï"})
    fragments = [
        '<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>Kanal "Ä", 1</title>'
        "<item><media:rating scheme=\"urn:v-chip\">tv-pg</media:rating></item></channel></rss>",
        "e\u0301, 'quoted' \\ back / slash \U0001F4FA", "\u00e9"]
    assert permits(fetch(connection, *fragments, context={"ip": "2001:db8::7"})) == [True] * 3
    (question,) = questions(adobe)
    assert question["path"] == "/adobe/api/v2/REF30/decisions/preauthorize/Cable%20vision"
    assert [text.encode() for text in question["resources"]] == [text.encode() for text in fragments]
    assert question["device"] == "2001:db8::7" and question["contentType"].startswith("application/json")
    kept = (directory / "device-id").read_text().strip()
    assert question["identifier"] == "fingerprint " + base64.b64encode(kept.encode()).decode()
    information = json.loads(base64.b64decode(question["information"], validate=True))
    assert information == {
        **information, "model": "Settop 5", "primaryHardwareType": "SetTopBox", "vendor": "Ünï", "osName": "Linux",
        "osVersion": os.uname().release}
    assert {"version", "connectionType"} <= set(information)
    params = {"resources": ["a"], "context": {"ip": "1.2.3.4, 5.6.7.8"}}
    expect.fault(connection.error("preauthorize", params), -32602, "/context/ip")


@pytest.mark.parametrize("count, expected", [(5, 1), (6, 2), (11, 3)])
def test_resources_go_out_five_at_a_time(
    ask: Callable[..., Connection], adobe: Playground, count: int, expected: int
) -> None:
    assert permits(fetch(ask(), *[f"r{number}" for number in range(count)])) == [True] * count
    assert [len(question["resources"]) <= 5 for question in questions(adobe)] == [True] * expected


@pytest.mark.parametrize("empty", [False, True])
def test_the_limit_is_learnt(ask: Callable[..., Connection], adobe: Playground, empty: bool) -> None:
    switch(adobe, maxResources=6, emptyOverLimit=empty)
    connection = ask(maxBatch=12)
    assert permits(fetch(connection, *[f"r{number}" for number in range(12)])) == [True] * 12
    assert counts(adobe)["decisions"] == 3
    assert permits(fetch(connection, *[f"s{number}" for number in range(12)])) == [True] * 12
    assert counts(adobe)["decisions"] == 5


def test_only_what_is_to_be_retried_is_asked_again(ask: Callable[..., Connection], adobe: Playground) -> None:
    result = fetch(ask(attempts=3), "a", "flaky", "slow", "broken", "deny")
    assert permits(result) == [True, True, False, False, False]
    assert codes(result)[2:4] == ["network_received_error", "internal_server_error"]
    assert result["decisions"][2]["error"]["action"] == "retry"
    assert [question["resources"] for question in questions(adobe)] == [
        ["a", "flaky", "slow", "broken", "deny"], ["flaky", "slow"], ["slow"]]


def test_odd_lists_of_decisions(ask: Callable[..., Connection], adobe: Playground) -> None:
    result = fetch(ask(attempts=1), "spaced", "twice", "twice-contradictory", "missing", "a")
    assert permits(result) == [True, True, False, False, True]
    assert codes(result)[2:4] == ["server_response_format_unknown"] * 2
    assert {decision["error"]["action"] for decision in result["decisions"][2:4]} == {"retry"}


def test_one_unknown_id_that_silences_a_batch_costs_only_itself(
    ask: Callable[..., Connection], adobe: Playground
) -> None:
    result = fetch(ask(attempts=1), "a", "b", "poison", "c", "d")
    assert permits(result) == [True, True, False, True, True]
    assert codes(result)[2] == "server_response_format_unknown"


@pytest.mark.parametrize("wrapper", ["bare", "error", "errors"])
@pytest.mark.parametrize("shape, outcome, status, code", [
    ("unknownMVPD", "response", 400, "invalid_parameter_mvpd"),
    ("noLogin", "response", 403, "authenticated_profile_missing"),
    ("internalError", "response", 500, "internal_server_error"),
    ("errorAsSuccess", "response", 400, "invalid_parameter_mvpd"),
])
def test_errors_of_the_whole_request(
    ask: Callable[..., Connection], adobe: Playground, wrapper: str, shape: str, outcome: str, status: int, code: str
) -> None:
    switch(adobe, errorShape=wrapper, next=[shape])
    result = fetch(ask(attempts=1), "a", "b")
    assert (result["outcome"], result["decisions"]) == (outcome, [])
    assert (result["status"]["status"], result["status"]["code"]) == (status, code)
    assert result["status"]["trace"] == f"trace-{code}"
    assert counts(adobe)["registrations"] == 1


MESSAGES = {
    "server_response_format_unknown":
        "The request failed due to an unknown server response format. Please capture the device console logs and contact support.",
    "access_token_unavailable":
        "The request failed due to an unexpected error while retrieving the access token. Please check the validity of your software "
        "statement and custom scheme.",
}


@pytest.mark.parametrize("shapes, outcome, status, code", [
    (["html"], "failure", 0, "server_response_format_unknown"),
    (["truncated"], "failure", 0, "server_response_format_unknown"),
    (["badGateway"], "response", 502, "internal_server_error"),
    (["unavailableForLegalReasons"], "response", 451, "bad_request"),
    (["unauthorized", "unauthorized"], "failure", 0, "access_token_unavailable"),
    (["throttled"], "response", 429, "too_many_requests"),
])
def test_faults_are_never_decisions(
    ask: Callable[..., Connection], adobe: Playground, shapes: List[str], outcome: str, status: int, code: str
) -> None:
    connection = ask(attempts=1)
    assert permits(fetch(connection, "a")) == [True]
    switch(adobe, next=shapes)
    result = fetch(connection, "b")
    assert (result["outcome"], result["status"]["status"], result["status"]["code"]) == (outcome, status, code)
    if status == 451:
        assert result["status"]["trace"] == "request-451"
    if status == 0:
        assert result["status"]["message"] == MESSAGES[code] and result["status"]["action"] == "none"
    if status == 429:
        assert result["status"]["action"] == "retry-after"
    assert counts(adobe)["registrations"] == 1
    check = connection.call("health")["checks"]["preauthorization.pass"]
    assert check["status"] == "degraded" and code in check["detail"]
    assert permits(fetch(connection, "b")) == [True]


def test_a_refused_token_is_replaced_and_the_question_repeated_once(
    ask: Callable[..., Connection], adobe: Playground
) -> None:
    connection = ask()
    for shapes, tokens in [(["unauthorized"], 2), (["staleToken"], 3)]:
        switch(adobe, next=shapes)
        assert permits(fetch(connection, f"a{tokens}")) == [True]
        # `staleToken` asks for another registration, which would cost the users their logins: a token is enough.
        assert counts(adobe)["registrations"] == 1 and counts(adobe)["tokens"] == tokens
    switch(adobe, endTokens=True)
    assert permits(fetch(connection, "b")) == [True]
    assert counts(adobe) == {**counts(adobe), "registrations": 1, "tokens": 4}


@pytest.mark.parametrize("status", [200, 201])
def test_tokens_last_as_long_as_they_say(ask: Callable[..., Connection], adobe: Playground, status: int) -> None:
    switch(adobe, createdStatus=status, tokenTtlSeconds=21600, tokenAgeSeconds=21600 - 63)
    connection = ask()
    for number in range(3):
        assert permits(fetch(connection, f"a{number}")) == [True]
    assert counts(adobe)["tokens"] == 1
    # Of a token made long ago little is left, although it says six hours.
    switch(adobe, endTokens=True, tokenTtlSeconds=3, tokenAgeSeconds=0)
    assert permits(fetch(connection, "b")) == [True]
    time.sleep(3)
    assert permits(fetch(connection, "c")) == [True]
    assert counts(adobe) == {**counts(adobe), "registrations": 1, "tokens": 3}


def test_the_server_that_has_forgotten_the_client_gets_one_registration(
    begin: Callable[..., Sidecar], adobe: Playground
) -> None:
    sidecar = begin(cache={"permit": "0s"})
    connection = sidecar.connect()
    assert sidecar.log().count("registered with the decision point") == 0
    assert permits(fetch(connection, "a")) == [True]
    switch(adobe, forgetClients=True, endTokens=True)
    for number in range(8):
        connection.request("preauthorize", {"resources": [f"b{number}"]}, number)
    answers = [connection.receive()["result"] for _ in range(8)]
    assert [permits(answer) for answer in answers] == [[True]] * 8
    assert counts(adobe)["registrations"] == 2
    assert sidecar.awaits_log("which is registered again").count("which is registered again") == 1
    # A second time within minutes it is not believed: the sidecar's trouble, said plainly.
    switch(adobe, forgetClients=True, endTokens=True)
    result = fetch(connection, "c")
    assert result["outcome"] == "failure" and result["status"]["code"] == "access_token_unavailable"
    assert "registered again" in result["status"]["details"]
    assert counts(adobe)["registrations"] == 2
    connection.close()


def test_a_client_that_the_decision_point_refuses_is_registered_once_again(
    ask: Callable[..., Connection], adobe: Playground
) -> None:
    connection = ask()
    switch(adobe, next=["foreignClient", "foreignClient"])
    assert permits(fetch(connection, "a")) == [True]
    assert counts(adobe) == {"registrations": 2, "tokens": 3, "decisions": 3, "throttled": 0}
    switch(adobe, next=["foreignClient"] * 3)
    result = fetch(connection, "b")
    assert result["status"]["code"] == "access_token_unavailable" and counts(adobe)["registrations"] == 2
    assert result["status"]["action"] == "application-registration"


def test_a_restart_registers_nobody(begin: Callable[..., Sidecar], adobe: Playground, directory: Path) -> None:
    identifiers = set()
    for number in range(3):
        sidecar = begin()
        connection = sidecar.connect()
        assert permits(fetch(connection, "a")) == [True]
        connection.close()
        if number == 1:
            sidecar.signal(signal.SIGKILL)
            sidecar.wait()
        sidecar.stop()
        identifiers.add(questions(adobe)[-1]["identifier"])
        assert counts(adobe)["registrations"] == 1 and counts(adobe)["tokens"] == 1
    assert len(identifiers) == 1
    # Nothing of it is in the clear.
    for path in [*(directory / "sessions").iterdir(), *directory.glob("sidecar-*/postern.log")]:
        assert b"client_secret" not in path.read_bytes() and STATEMENT.encode() not in path.read_bytes()


def test_a_sidecar_killed_between_registration_and_storing_begins_anew(
    begin: Callable[..., Sidecar], adobe: Playground
) -> None:
    adobe.faults(adobeRegistration={"kind": "slowAnswer", "times": 1, "delayMs": 5000})
    sidecar = begin()
    connection = sidecar.connect()
    connection.request("preauthorize", {"resources": ["a"]})
    eventually(lambda: counts(adobe)["registrations"] == 1)
    sidecar.signal(signal.SIGKILL)
    sidecar.wait()
    connection.close()
    second = begin().connect()
    # There was nothing to find: the client whose credentials nobody has is an orphan, and there is exactly one more.
    assert permits(fetch(second, "a")) == [True]
    assert counts(adobe)["registrations"] == 2 and counts(adobe)["tokens"] == 1
    second.close()


def test_a_caller_who_leaves_loses_no_credentials(ask: Callable[..., Connection], adobe: Playground) -> None:
    adobe.faults(adobeRegistration={"kind": "slowAnswer", "times": 1, "delayMs": 2500})
    connection = ask()
    result = fetch(connection, "a", timeoutMs=200)
    assert result["outcome"] == "failure" and result["status"]["code"] == "network_error"
    assert permits(fetch(connection, "a")) == [True]
    assert counts(adobe)["registrations"] == 1


@pytest.fixture
def redis(directory: Path) -> Iterator[str]:
    server = shutil.which("redis-server")
    assert server, "redis-server is not installed (make deps)"
    path = directory / "redis.sock"
    process = subprocess.Popen(
        [server, "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(directory)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(path.exists)
        yield f"unix://{path}"
    finally:
        process.terminate()
        process.wait(10)


def test_two_sidecars_on_one_store_register_once(
    start: Start, adobe: Playground, directory: Path, redis: str
) -> None:
    key = directory / "key"
    key.write_text("5c" * 31 + "d6")
    key.chmod(0o600)
    adobe.faults(adobeRegistration={"kind": "slowAnswer", "times": 2, "delayMs": 500})
    changes = {
        "store": {"kind": "redis", "keyFile": str(key), "redis": {"url": redis}},
        "preauthorization": {"pass": point(directory, adobe)}}
    connections = []
    for number in range(2):
        listen = {"listen": {"path": str(directory / f"postern-{number}.sock")}}
        connections.append(start({**changes, **listen}).connect())
    results: List[Optional[Dict[str, Any]]] = [None, None]

    def one(number: int) -> None:
        results[number] = fetch(connections[number], "a")

    threads = [threading.Thread(target=one, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [permits(result) for result in results if result] == [[True], [True]]
    assert counts(adobe)["registrations"] == 1 and counts(adobe)["tokens"] == 1
    # One of them registers anew, the other finds that.
    switch(adobe, forgetClients=True, endTokens=True)
    for number in range(2):
        assert permits(fetch(connections[number], "b")) == [True]
    assert counts(adobe)["registrations"] == 2
    for connection in connections:
        connection.close()


def test_the_pace_keeps_below_the_servers_limit(start: Start, adobe: Playground, directory: Path) -> None:
    switch(adobe, throttle=True)
    changes = point(directory, adobe)
    del changes["rateLimit"]
    connection = start({"preauthorization": {"pass": changes}}).connect()
    began = time.monotonic()
    # Registration, token and eight questions go at once, the ninth and tenth wait a second each.
    assert permits(fetch(connection, *[f"r{number}" for number in range(50)])) == [True] * 50
    assert 1.5 < time.monotonic() - began < 8
    # A request may arrive a moment before its second is over: that is repeated, and nobody hears of it.
    assert counts(adobe)["throttled"] <= 1 and counts(adobe)["decisions"] == 10
    # Another device has a limit of its own: behind the first one's, eight questions would wait for eight seconds.
    began = time.monotonic()
    assert permits(fetch(connection, *[f"x{number}" for number in range(40)], context={"ip": "192.0.2.9"})) == [True] * 40
    assert time.monotonic() - began < 6
    connection.close()


@pytest.mark.parametrize("seconds", [None, 2])
def test_a_429_is_waited_for(ask: Callable[..., Connection], adobe: Playground, seconds: Optional[int]) -> None:
    connection = ask()
    assert permits(fetch(connection, "a")) == [True]
    switch(adobe, next=["throttled"], **({} if seconds is None else {"retryAfterSeconds": seconds}))
    began = time.monotonic()
    assert permits(fetch(connection, "b")) == [True]
    assert (seconds or 1) <= time.monotonic() - began < (seconds or 1) + 6
    # Not inside a budget that is smaller.
    switch(adobe, next=["throttled"])
    result = fetch(connection, "c", timeoutMs=500)
    assert not any(permits(result)) and codes_or_status(result) in ("too_many_requests", "network_error")


def codes_or_status(result: Dict[str, Any]) -> str:
    return result["status"]["code"] if "status" in result else result["decisions"][0]["error"]["code"]


@pytest.mark.parametrize("rule", ["permit", "deny"])
def test_an_operators_rule_of_the_server(ask: Callable[..., Connection], adobe: Playground, rule: str) -> None:
    switch(adobe, degradation=rule)
    connection = ask(cache={"permit": "60s", "deny": "60s"})
    for _ in range(2):
        result = fetch(connection, "a", "deny")
        assert permits(result) == [rule == "permit"] * 2
        assert {decision["source"] for decision in result["decisions"]} == {"degradation"}
    assert counts(adobe)["decisions"] == 2
    if rule == "deny":
        assert set(codes(result)) == {"authorization_denied_by_degradation_rule"}


def test_what_is_remembered_and_what_cannot_be_left_out(ask: Callable[..., Connection], adobe: Playground) -> None:
    connection = ask()
    # Not login: a login that is over ends the permits.
    names = ["a", "deny"]
    assert fetch(connection, *names)["unhonoredFeatures"] == []
    again = fetch(connection, *names, disableFeatures=["REMOTE_CACHE"])
    assert again["unhonoredFeatures"] == ["REMOTE_CACHE"]
    assert [decision["source"] for decision in again["decisions"]] == ["local", "backend"]
    fresh = fetch(connection, "a", disableFeatures=["LOCAL_CACHE"])
    assert fresh["decisions"][0]["source"] == "backend"
    assert connection.call("invalidateDecisions", {"provider": "pass"})["removed"] == 1


def test_a_changed_device_is_seen_on_reload_and_nothing_is_remembered_of_the_old_one(
    begin: Callable[..., Sidecar], adobe: Playground, directory: Path
) -> None:
    sidecar = begin()
    connection = sidecar.connect()
    assert permits(fetch(connection, "a")) == [True]
    assert fetch(connection, "a")["decisions"][0]["source"] == "local"
    made = directory / "device-id"
    assert made.stat().st_mode & 0o777 == 0o600 and len(made.read_text()) == 65
    before = made.read_text()
    connection.call("reloadConfig")
    assert made.read_text() == before
    made.write_text("another-device\n")
    connection.call("reloadConfig")
    assert fetch(connection, "a")["decisions"][0]["source"] == "backend"
    expected = "fingerprint " + base64.b64encode(b"another-device").decode()
    assert questions(adobe)[-1]["identifier"] == expected
    # A file that is no id stops the reload, not the sidecar.
    made.write_text("")
    assert "device" in json.dumps(connection.error("reloadConfig"))
    fetch(connection, "b")
    assert questions(adobe)[-1]["identifier"] == expected
    assert counts(adobe)["registrations"] == 1
    connection.close()


@pytest.mark.parametrize("make, words", [
    (lambda path: path.symlink_to(path.parent / "nowhere" / "file"), "link"),
    (lambda path: path.mkdir(), "not a regular file"),
    (lambda path: (path.write_text("two\nlines\n"), path.chmod(0o600)), "holds no device id"),
    (lambda path: (path.write_text("x" * 2000), path.chmod(0o600)), "holds no device id"),
    (lambda path: (path.write_text("id\n"), path.chmod(0o666)), "chmod o-w"),
    (lambda path: os.mkfifo(path), "not a regular file"),
])
def test_a_device_id_that_cannot_be_used_stops_the_start(
    begin: Callable[..., Sidecar], directory: Path, make: Callable[[Path], Any], words: str
) -> None:
    make(directory / "device-id")
    with pytest.raises(StartError) as failure:
        begin()
    assert "preauthorization.pass.deviceIdFile" in failure.value.log and words in failure.value.log


def test_many_sidecars_that_begin_at_once_make_one_device_id(
    start: Start, adobe: Playground, directory: Path
) -> None:
    own = [directory / f"own-{number}" for number in range(4)]
    identifiers = []
    sidecars: List[Optional[Sidecar]] = [None] * 4
    configuration = point(directory, adobe)

    def one(number: int) -> None:
        own[number].mkdir()
        changes = {
            "listen": {"path": str(own[number] / "s")}, "store": {"kind": "memory"},
            "preauthorization": {"pass": configuration}, "development": {"plainHTTPOnLoopback": True}}
        sidecars[number] = Sidecar(own[number], changes)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        for sidecar in sidecars:
            assert sidecar is not None
            connection = sidecar.connect()
            fetch(connection, "a")
            connection.close()
            identifiers.append(questions(adobe)[-1]["identifier"])
            sidecar.awaits_log("every start registers a new client")
    finally:
        for sidecar in sidecars:
            if sidecar is not None:
                sidecar.stop()
    assert len(set(identifiers)) == 1
    assert [path.name for path in directory.glob("device-id*")] == ["device-id"]
    assert sum("a new device id was made" in sidecar.log() for sidecar in sidecars if sidecar) == 1


def check(directory: Path, configuration: Dict[str, Any]) -> "subprocess.CompletedProcess[str]":
    path = directory / "check.yaml"
    path.write_text(json.dumps(configuration))
    return subprocess.run([postern(), "check-config", "--config", str(path)], capture_output=True, text=True, timeout=30)


def test_check_looks_and_makes_nothing(adobe: Playground, directory: Path) -> None:
    base = {"development": {"plainHTTPOnLoopback": True}, "store": {"kind": "memory"}}
    good = check(directory, {**base, "preauthorization": {"pass": point(directory, adobe)}})
    assert good.returncode == 0 and "every start registers a new client" in good.stdout + good.stderr
    assert not (directory / "device-id").exists() and "not in this release" not in good.stdout + good.stderr
    for changes, words in [
        ({"deviceIdFile": str(directory / "no" / "such" / "id")}, "cannot be made"),
        ({"deviceInfo": {"osName": "linux"}}, "did you mean Linux?"),
        ({"deviceInfo": {"primaryHardwareType": "Toaster"}}, "must be one of Camera"),
        ({"deviceInfo": {"model": "x" * 300}}, "at most 256 bytes"),
        ({"mvpd": ".."}, "must be an id"),
    ]:
        bad = check(directory, {**base, "preauthorization": {"pass": point(directory, adobe, **changes)}})
        assert bad.returncode != 0 and words in bad.stdout + bad.stderr, (changes, bad)
    odd = check(directory, {**base, "preauthorization": {"pass": point(
        directory, adobe, deviceInfo={"modle": "x"}, credentials={"bearer": "none"})}})
    assert odd.returncode == 0 and "did you mean model?" in odd.stdout + odd.stderr
    assert "credentials do nothing here" in odd.stdout + odd.stderr
    assert STATEMENT not in odd.stdout + odd.stderr


def test_an_outage_is_no_refusal(ask: Callable[..., Connection]) -> None:
    """Catches a server that nobody answers at being told as credentials that nobody takes."""
    result = fetch(ask(attempts=1, baseUrl=f"http://127.0.0.1:{free_port()}/adobe"), "a")
    assert result["outcome"] == "failure" and result["status"]["status"] == 0
    assert (result["status"]["code"], result["status"]["action"]) == ("network_error", "retry"), result
    assert result["status"]["message"] == (
        "The request failed due to a network error. If the issue persists over several retries, please capture the device console logs "
        "and contact support.")
    assert "/o/client/register" in result["status"]["details"]


@pytest.mark.parametrize("part, kind, words", [
    ("adobeRegistration", "refuseCredentials", "unapproved_software_statement"),
    ("adobeRegistration", "html", "has no credentials"), ("adobeRegistration", "serverError", "answered 500"),
    ("adobeToken", "html", "token endpoint"), ("adobeToken", "malformedJSON", "token endpoint"),
    ("adobeToken", "unavailable", "answered 503"),
])
def test_no_token_is_the_sidecars_own_trouble(
    ask: Callable[..., Connection], adobe: Playground, part: str, kind: str, words: str
) -> None:
    adobe.faults(**{part: {"kind": kind}})
    connection = ask(attempts=1)
    result = fetch(connection, "a")
    assert result["outcome"] == "failure" and result["status"]["code"] == "access_token_unavailable"
    assert words in result["status"]["details"] and STATEMENT not in json.dumps(result)
    adobe.faults(**{part: None})

    def works() -> bool:
        return permits(fetch(connection, "a")) == [True]

    eventually(works)
    assert counts(adobe)["registrations"] == (1 if part == "adobeToken" else 2)


def test_decisions_while_the_server_is_down_are_faults(
    start: Start, start_playground: Callable[..., Playground], directory: Path
) -> None:
    upstream = start_playground("--port", str(free_port()))
    changes = {"store": {"kind": "file", "path": str(directory / "sessions")}, "preauthorization": {"pass": point(
        directory, upstream, attempts=1, cache={"permit": "1s"})}}
    connection = start(changes).connect()
    assert permits(fetch(connection, "a")) == [True]
    upstream.stop()
    time.sleep(1.1)
    result = fetch(connection, "a")
    assert result["outcome"] == "failure" and result["status"]["code"] == "network_error"
    connection.close()
