"""`explainCall` and `postern explain`: what a call would come to, without a trace of it."""
from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest

from harness import binaries, expect, settings
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, acting_as, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Step = Dict[str, Any]
NO_HANDLE = "A" * 43
API_KEY = "k3y-of-tests-0815"
ACCESS_TOKEN = "token-of-alice-4711"


def explain(connection: Connection, method: str, params: Any = None) -> Dict[str, Any]:
    given = {"method": method} if params is None else {"method": method, "params": params}
    result: Dict[str, Any] = connection.call("explainCall", given)
    assert result["allowed"] == all(step["verdict"] != "rejects" for step in result["steps"])
    for step in result["steps"]:
        assert ("errorCode" in step) == (step["verdict"] == "rejects"), step
    return result


def step(result: Dict[str, Any], name: str) -> Step:
    return next(found for found in result["steps"] if found["step"] == name)


def rejection(result: Dict[str, Any]) -> Optional[int]:
    """The code of the first step that rejects the call."""
    return next((found["errorCode"] for found in result["steps"] if found["verdict"] == "rejects"), None)


@pytest.fixture
def all_kinds(directory: Path, playground: Playground) -> Dict[str, Any]:
    """A resource of each kind of authentication."""
    key = directory / "key"
    key.write_text(API_KEY)
    key.chmod(0o600)
    base = playground.base + "/open/"
    point = {"kind": "authzen", "baseUrl": "http://127.0.0.1:9"}
    signer = directory / "client-key.pem"
    signer.write_bytes(playground.request("GET", "/playground/clientKey")[2])
    signer.chmod(0o600)
    changes = {
        "issuers": {"play": {"clientKeyFile": str(signer), "implicit": {"grant": "jwt_bearer", "scope": "profile"}}},
        "tokens": {"leaveTheSidecar": True},
        "resources": {
            "users": {"baseUrl": playground.base + "/resource/", "issuer": "play", "auth": "user"},
            "guests": {"baseUrl": playground.base + "/resource/", "issuer": "play", "auth": "implicit"},
            "keyed": {"baseUrl": base, "auth": "credential", "credential": {"query": "key", "valueFile": str(key)}},
            "pinned": {"baseUrl": base, "auth": "none", "cookies": {"store": True}},
            "limited": {"baseUrl": base, "auth": "none", "limits": {"concurrency": 1, "queue": 0}},
        },
        "preauthorization": {"films": point, "news": {**point, "issuer": "play"}},
    }
    return settings.changed(settings.standard(directory, playground), changes)


def login(connection: Connection, **grant: Any) -> str:
    made = connection.call("createSession", {
        "issuer": "play", "grant": {"type": "tokens", "accessToken": ACCESS_TOKEN, "expiresIn": 600, **grant}})
    session: str = made["session"]
    return session


def requests(playground: Playground) -> Dict[str, Any]:
    """What has reached the playground, by kind."""
    return {name: count for name, count in playground.statistics().items() if name not in ("openRequests", "connections")}


def fetch(resource: str, path: str = "echo", **more: Any) -> Tuple[str, Dict[str, Any]]:
    return "fetchResource", {"resource": resource, "path": path, **more}


def table(session: str) -> List[Tuple[str, Any]]:
    """Calls of many kinds, good and bad. None of them changes what another one comes to."""
    return [
        ("getInfo", None), ("health", None), ("listTasks", {"limit": 5}), ("listTasks", {"limit": "5"}),
        ("listTasks", {"limits": 5}), ("fetchResourc", {}), ("nothingLikeIt", {}), ("getInfo", {"x": 1}),
        ("getInfo", {"meta": {"timeoutMs": 0}}), ("getInfo", {"meta": {"traceparent": 3}}),
        ("listTasks", {"meta": {"timeoutMs": 60_000}}),
        fetch("open"), fetch("opne"), fetch("open", "../x"), fetch("open", "//evil.example/"),
        fetch("open", "http://evil.example/"), fetch("open", "a\tb"), fetch("open", method="PUT"),
        fetch("open", method="TRACE"), fetch("open", headers={"Host": "x"}), fetch("open", headers={"X-Own": "1"}),
        fetch("open", headers={"Authorization": "Bearer x"}), fetch("open", headers={"a b": "1"}),
        fetch("open", timeoutMs=0), fetch("open", timeoutMs=5000), fetch("open", timeoutMs=600_001),
        fetch("open", session=session), fetch("open", session=NO_HANDLE), fetch("open", session="short"),
        fetch("open", onBehalfOf={"token": "x"}), fetch("open", auth="clientCredentials"), fetch("open", auth="user"),
        fetch("open", auth="credential"), fetch("open", auth="onBehalfOf"), fetch("open", task=""),
        fetch("open", body="x", bodyBase64="eA=="), fetch("open", bodyBase64="%"),
        fetch("open", method="POST", multipart=[]), fetch("open", method="GET", multipart=[{"name": "a", "data": "b"}]),
        fetch("open", method="POST", multipart=[{"name": "a"}]), fetch("open", parameters={"a": 1}),
        fetch("open", stream=True), ("fetchResource", {"path": "x"}), ("fetchResource", {"resource": 3}),
        fetch("orders", "orders"), fetch("orders", "orders", session=session),
        fetch("users", "orders"), fetch("users", "orders", session=session), fetch("users", "orders", session=NO_HANDLE),
        fetch("users", "orders", session="only"), fetch("users", "orders", auth="implicit"),
        fetch("guests", "orders"), fetch("guests", "orders", session=session),
        fetch("keyed"), fetch("keyed", "echo?key=1"), fetch("keyed", parameters={"key": "1"}),
        fetch("pinned"), fetch("limited"),
        ("getAccessToken", {"resource": "orders"}), ("getAccessToken", {"resource": "nowhere"}),
        ("getAccessToken", {"resource": "keyed"}), ("getAccessToken", {"resource": "open"}), ("getAccessToken", {}),
        ("getAccessToken", {"resource": "users", "session": session}), ("getAccessToken", {"resource": "users"}),
        ("getAccessToken", {"resource": "users", "minTtlSeconds": -1}),
        ("getAccessToken", {"resource": "guests", "session": session}),
        ("getAccessToken", {"issuer": "nowhere"}), ("getAccessToken", {"issuer": "play", "session": NO_HANDLE}),
        ("getAccessToken", {"issuer": "play", "resource": "orders"}),
        ("preauthorize", {"resources": []}), ("preauthorize", {"resources": ["x"], "provider": "nowhere"}),
        ("preauthorize", {"resources": ["x"], "provider": "films", "session": session}),
        ("preauthorize", {"resources": ["x"], "provider": "films", "context": {"subject": 3}}),
        ("preauthorize", {"resources": ["x"], "provider": "films", "timeoutMs": 0}),
        ("getSession", {"session": session}), ("getSession", {"session": NO_HANDLE}), ("getSession", {}),
        ("createSession", {"issuer": "nowhere", "grant": {"type": "tokens", "accessToken": "x", "expiresIn": 60}}),
        ("beginAuthorization", {"issuer": "nowhere", "redirectUri": "http://127.0.0.1/callback"}),
        ("beginDeviceAuthorization", {"issuer": "nowhere"}), ("introspectToken", {"issuer": "nowhere", "token": "x"}),
        ("refreshSession", {"session": NO_HANDLE}), ("revokeToken", {"session": NO_HANDLE}),
        ("subscribe", {"events": ["nothing"]}),
    ]


def test_what_is_explained_is_what_happens(all_kinds: Dict[str, Any], start: Start) -> None:
    """Each call both ways: catches an explanation that drifts away from the code that carries calls out."""
    sidecar = start(all_kinds)
    with sidecar.connect() as connection:
        session = login(connection)
        calls = table(session)
        assert len(calls) >= 60
        wrong = []
        for method, params in calls:
            explained = explain(connection, method, params)
            message = connection.answer_to(connection.request(method, params))
            code = message.get("error", {}).get("code")
            if rejection(explained) != code:
                wrong.append((method, params, rejection(explained), code, message.get("error", {}).get("message")))
        assert not wrong, "\n".join(map(str, wrong))


def test_a_rejection_has_the_words_of_the_error(all_kinds: Dict[str, Any], start: Start) -> None:
    sidecar = start(all_kinds)
    with sidecar.connect() as connection:
        for method, params in [fetch("opne"), fetch("open", "../x"), ("listTasks", {"limit": "5"}), ("listTask", {})]:
            error = connection.error(method, params)
            found = next(found for found in explain(connection, method, params)["steps"] if found["verdict"] == "rejects")
            assert found["summary"] == error["message"]
            assert found["details"].get("path") == error["data"].get("path")
            assert found["details"]["reason"] == error["data"]["reason"]


def test_nothing_is_sent_and_no_secret_is_shown(all_kinds: Dict[str, Any], start: Start, playground: Playground) -> None:
    """Catches an explanation that gets a token, refreshes a session, or quotes a secret."""
    sidecar = start(all_kinds)
    with sidecar.connect() as connection:
        session = login(connection, refreshToken="refresh-of-alice-42")
        expiring = login(connection, refreshToken="refresh-of-alice-43", expiresIn=1)
        before = requests(playground)
        texts = []
        for method, params in table(session) + [fetch("users", "orders", session=expiring)]:
            texts.append(json.dumps(explain(connection, method, params)))
        assert requests(playground) == before
        text = "\n".join(texts)
        for secret in ("svcsecret", API_KEY, ACCESS_TOKEN, "refresh-of-alice"):
            assert secret not in text, secret
        url = step(explain(connection, *fetch("keyed", parameters={"a": 1})), "url")["details"]["url"]
        assert url.endswith("/open/echo?a=1&key=***"), url


def test_a_token_is_described_as_it_is(all_kinds: Dict[str, Any], start: Start) -> None:
    sidecar = start(all_kinds)
    with sidecar.connect() as connection:
        found = step(explain(connection, *fetch("orders", "orders")), "token")
        assert found["verdict"] == "open" and found["details"]["tokenOf"] == "client", found
        connection.call(*fetch("orders", "orders"))
        found = step(explain(connection, *fetch("orders", "orders")), "token")
        assert found["verdict"] == "passes" and found["details"]["freshForMs"] > 0, found
        assert found["details"]["issuer"] == "play" and found["details"]["wouldBeRefreshed"] is False
        session = login(connection)
        found = step(explain(connection, *fetch("users", "orders", session="only")), "token")
        assert found["details"]["tokenOf"] == "session" and found["details"]["session"] == session, found
        old = login(connection, expiresIn=1)
        time.sleep(1.2)
        explained = explain(connection, *fetch("users", "orders", session=old))
        assert rejection(explained) == connection.error(*fetch("users", "orders", session=old))["code"]


def test_limits_are_shown_as_they_stand_and_not_counted(
    all_kinds: Dict[str, Any], start: Start, playground: Playground
) -> None:
    """Catches an explanation that uses up what it is about."""
    rule = {"uid": os.getuid(), "methods": ["*"], "concurrency": 2, "rate": {"perSecond": 0.01, "burst": 40}}
    sidecar = start(settings.changed(all_kinds, {"peers": [rule]}))
    with sidecar.connect() as connection:
        slow = {"resource": "limited", "path": "slow", "parameters": {"ms": 3000}}
        pending = connection.request("fetchResource", slow)
        eventually(lambda: playground.statistics()["openRequests"] == 1, what="a fetch under way")
        found = explain(connection, *fetch("limited"))
        assert step(found, "origin")["verdict"] == "rejects" and step(found, "origin")["details"]["inFlight"] == 1
        assert connection.error(*fetch("limited"))["code"] == rejection(found)
        assert step(found, "concurrency")["details"] == {"inFlight": 1, "limit": 2}
        other = connection.request("fetchResource", {**slow, "resource": "open"})
        eventually(lambda: playground.statistics()["openRequests"] == 2, what="two fetches under way")
        found = explain(connection, *fetch("open"))
        assert step(found, "concurrency")["verdict"] == "rejects"
        assert connection.error(*fetch("open"))["code"] == rejection(found) == -32009
        connection.answer_to(pending)
        connection.answer_to(other)
        # Health has a rate of its own; the other calls are explained for nothing but their own call.
        for _ in range(60):
            message = connection.answer_to(connection.request("explainCall", {"method": "health"}))
            if "error" in message:
                break
        assert message["error"]["code"] == -32009
        assert connection.call("health")["status"]


@needs_root
def test_a_user_sees_nothing_of_another_one(all_kinds: Dict[str, Any], start: Start, directory: Path) -> None:
    """Catches a session, a resource or a decision point of Alice in what Bob is shown."""
    open_to_all(directory)
    rules = [
        {"uid": ALICE, "methods": ["*"]},
        {"uid": BOB, "methods": ["explainCall", "fetchResource", "getAccessToken", "preauthorize"], "resources": ["open"],
         "issuers": [], "preauthorization": []},
    ]
    sidecar = start(settings.changed(all_kinds, {**BOTH, "peers": rules}))
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        session = login(alice)
        alice.call(*fetch("orders", "orders"))
        hidden = [
            (fetch("users", "orders", session=session), fetch("nowhere", "orders", session=NO_HANDLE)),
            (fetch("orders", "orders"), fetch("nowhere", "orders")),
            (fetch("open", session=session), fetch("open", session=NO_HANDLE)),
            (("getAccessToken", {"resource": "orders"}), ("getAccessToken", {"resource": "nowhere"})),
            (("preauthorize", {"resources": ["x"], "provider": "films"}),
             ("preauthorize", {"resources": ["x"], "provider": "nowhere"})),
        ]
        for of_alice, of_none in hidden:
            assert explain(bob, *of_alice) == explain(bob, *of_none), of_alice
        text = json.dumps([explain(bob, method, params) for method, params in table(session)])
        for word in (ACCESS_TOKEN, '"play"', "films", f"uid {ALICE}"):
            assert word not in text, word
        # The counts of all calls are those of other users as well.
        assert "details" not in step(explain(bob, *fetch("open")), "inFlight")
        assert step(explain(alice, *fetch("open")), "inFlight")["details"]["limit"] > 0


def test_huge_params_are_explained_in_time(start: Start) -> None:
    """Catches a cost that is more than a few times that of the call itself, and an answer that quotes its params."""
    sidecar = start({})
    with sidecar.connect(timeout=60) as connection:
        params = fetch("open", method="POST", parameters={f"p{number}": "x" * 20 for number in range(40_000)})
        began = sidecar.processor_seconds()
        connection.answer_to(connection.request(*params))
        called = sidecar.processor_seconds()
        result = explain(connection, *params)
        assert result["allowed"] and len(json.dumps(result)) < 10_000
        assert sidecar.processor_seconds() - called < 4 * (called - began) + 0.1


def test_an_explained_call_is_not_recorded(start: Start, directory: Path) -> None:
    log = directory / "audit.log"
    sidecar = start({"audit": {"path": str(log)}})
    with sidecar.connect() as connection:
        explain(connection, *fetch("orders", "orders"))
        connection.call(*fetch("orders", "status/404", task="recorded"))
        eventually(lambda: '"event":"access"' in log.read_text(), what="the fetch in the audit log")
        explain(connection, *fetch("orders", "orders"))
        connection.call(*fetch("orders", "status/404", task="recorded"))
        eventually(lambda: log.read_text().count('"event":"access"') >= 2, what="the other fetch in the audit log")
        assert log.read_text().count('"event":"access"') == 2 and "explainCall" not in log.read_text()
        tasks = connection.call("listTasks")["tasks"]
        assert {task["task"] for task in tasks} == {"recorded"}


# MARK: postern explain


@pytest.fixture
def command(start: Start) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    sidecar = start({})

    def run(*words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [binaries.postern(), "explain", "--socket", sidecar.path, *words], capture_output=True, text=True, timeout=30,
            env={**os.environ, **environment})

    return run


def test_the_command_prints_a_tree_and_exits_by_the_verdict(command: Any) -> None:
    done = command("fetchResource", "resource=open", "path=echo")
    assert done.returncode == 0 and done.stderr == "", done
    assert done.stdout.startswith("fetchResource would be carried out") and "|- passes  url" in done.stdout, done
    assert done.stdout.isascii()
    done = command("fetchResource", "resource=opne", "path=echo")
    assert done.returncode == 1 and done.stderr == "", done
    assert done.stdout.startswith("fetchResource would be rejected: -32602"), done
    assert "Did you mean" in done.stdout or "open" in done.stdout


def test_the_commands_other_exits(command: Any, directory: Path) -> None:
    done = command("--json", "fetchResource", "resource=open", "path=echo")
    assert done.returncode == 0 and json.loads(done.stdout)["allowed"] is True, done
    assert command("fetchResource", "resource").returncode == 64
    done = subprocess.run(
        [binaries.postern(), "explain", "--socket", str(directory / "nowhere.sock"), "getInfo"], capture_output=True,
        text=True, timeout=30)
    assert done.returncode == 2 and done.stdout == "" and "nowhere.sock" in done.stderr, done


def test_a_terminal_with_unicode_gets_marks(start: Start) -> None:
    sidecar = start({})
    line = f"{binaries.postern()} explain --socket {sidecar.path} fetchResource resource=open path=echo"
    for locale, mark in [("C.UTF-8", "└─ ✓"), ("C", "|- passes")]:
        done = subprocess.run(
            ["script", "-qec", line, "/dev/null"], capture_output=True, text=True, timeout=30,
            env={**os.environ, "LC_ALL": locale})
        assert mark in done.stdout, done


# MARK: chains


def test_a_narrowed_connection_explains_as_what_it_is(all_kinds: Dict[str, Any], start: Start) -> None:
    """The same table through a chain: catches a level that an explanation overlooks, and a name that it reveals."""
    sidecar = start(all_kinds)
    with sidecar.connect() as whole, sidecar.connect() as part:
        session, other = login(whole), login(whole)
        part.call("narrow", {"resources": ["open", "users", "orders"], "sessions": [session], "paths": ["echo", "orders"],
                             "httpMethods": ["GET", "PUT"]})
        part.call("narrow", {"resources": ["open", "users"], "concurrency": 3})
        calls = table(session) + [
            fetch("users", "orders", session=other), fetch("open", "echo/deeper"), fetch("open", method="DELETE"),
            ("getSession", {"session": other}), ("createSession", {
                "issuer": "play", "grant": {"type": "tokens", "accessToken": "x", "expiresIn": 60}}),
        ]
        wrong = []
        for method, params in calls:
            explained = explain(part, method, params)
            message = part.answer_to(part.request(method, params))
            code = message.get("error", {}).get("code")
            if rejection(explained) != code:
                wrong.append((method, params, rejection(explained), code, message.get("error", {}).get("message")))
        assert not wrong, "\n".join(map(str, wrong))
        explained = explain(part, *fetch("orders", "orders"))
        hidden = explain(part, *fetch("nowhere", "orders"))
        assert [found["summary"] for found in explained["steps"]] == [found["summary"] for found in hidden["steps"]]
        levels = [found["details"] for found in explained["steps"] if found["step"] == "endpoint"]
        assert [level["depth"] for level in levels] == [1, 2] and levels[1]["concurrency"] == 3
        assert other not in json.dumps([explain(part, method, params) for method, params in table(session)])
