"""Two users of one sidecar: neither reads, ends, uses, delays or starves what is the other's.

A test a row of proto-docs/isolation.md. The users are two uids; each test says what one could do to the other without
the wall it is about.
"""
from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect, journeys
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

pytestmark = needs_root

Start = Callable[..., Sidecar]
REDIRECT = "http://127.0.0.1:8765/callback"


@pytest.fixture
def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    settings = journeys.settings(playground, directory)
    settings["issuers"]["am"]["implicit"] = {"grant": "token_exchange", "scope": "profile"}
    settings["resources"]["gate"] = {
        "baseUrl": playground.base + "/gateway/", "issuer": "am", "auth": "user", "scope": "orders"}
    settings["resources"]["jar"] = {
        "baseUrl": playground.base + "/open/", "auth": "none", "cookies": {"store": True}}
    return {**settings, **BOTH, "tokens": {"leaveTheSidecar": True}}


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any], directory: Path) -> Sidecar:
    sidecar = start(settings)
    open_to_all(sidecar.directory)
    return sidecar


@pytest.fixture
def alice(sidecar: Sidecar) -> Iterator[Connection]:
    with connect_as(ALICE, sidecar) as connection:
        yield connection


@pytest.fixture
def bob(sidecar: Sidecar) -> Iterator[Connection]:
    with connect_as(BOB, sidecar) as connection:
        yield connection


def test_a_session_is_unknown_to_another_user(alice: Connection, bob: Connection, playground: Playground) -> None:
    """A handle that leaked, or was guessed, would be enough to use the user's tokens."""
    session = journeys.session(alice, playground)
    advice = {"type": journeys.SERVICE, "value": "/alpha:ConfirmPassword"}
    attempts: List[Any] = [
        ("getSession", {"session": session}),
        ("refreshSession", {"session": session}),
        ("endSession", {"session": session}),
        ("revokeToken", {"session": session}),
        ("getAccessToken", {"resource": "mine", "session": session}),
        ("fetchResource", {"resource": "mine", "session": session}),
        ("authenticateWithAdvice", {"session": session, "advice": advice}),
    ]
    for method, params in attempts:
        theirs = bob.error(method, params)
        expect.fault(theirs, 5001)
        made_up = bob.error(method, {**params, "session": "A" * len(session)})
        assert (made_up["code"], made_up["message"]) == (theirs["code"], theirs["message"]), method
    assert bob.call("listSessions")["sessions"] == []
    expect.fault(bob.error("fetchResource", {"resource": "mine", "session": "only"}), 1001)
    assert alice.call("fetchResource", {"resource": "mine", "path": "orders", "session": session})["status"] == 200


def test_the_only_session_is_the_users_own(alice: Connection, bob: Connection, playground: Playground) -> None:
    """`only` is found among the caller's sessions; the other user's must not be taken, nor counted."""
    first = journeys.session(alice, playground, "alice")
    second = journeys.session(bob, playground, "bob")
    subjects = set()
    for connection, session in ((alice, first), (bob, second)):
        assert [entry["session"] for entry in connection.call("listSessions")["sessions"]] == [session]
        subjects.add(connection.call("getSession", {"session": session})["subject"])
        assert connection.call("fetchResource", {"resource": "mine", "path": "orders", "session": "only"})["status"] == 200
    assert len(subjects) == 2
    only = {"resource": "mine", "session": "only"}
    tokens = {connection.call("getAccessToken", only)["accessToken"] for connection in (alice, bob)}
    assert len(tokens) == 2


def test_a_login_in_progress_is_its_beginners(alice: Connection, bob: Connection, playground: Playground) -> None:
    """Who completes another user's authorization would have that user's session."""
    from harness.browser import announce_login, callback_of

    announce_login(playground)
    begun = alice.call("beginAuthorization", {"issuer": "am", "redirectUri": REDIRECT})
    callback = callback_of(begun)
    expect.fault(bob.error("completeAuthorization", callback), 5006)
    assert alice.call("completeAuthorization", callback)["issuer"] == "am", "nothing was used up"
    device = alice.call("beginDeviceAuthorization", {"issuer": "am"})
    expect.fault(bob.error("completeDeviceAuthorization", {"handle": device["handle"]}), 5006)
    expect.fault(alice.error("completeDeviceAuthorization", {"handle": device["handle"]}), 5007)


def test_a_profile_is_registered_for_one_user_alone(alice: Connection, bob: Connection, playground: Playground) -> None:
    """A profile is logged in without its user: by whom it is known decides."""
    session = journeys.session(alice, playground)
    profile = alice.call("getSession", {"session": session})["subject"]
    grant = {"type": "implicit", "profile": profile}
    assert alice.call("createSession", {"issuer": "am", "grant": grant})["kind"] == "implicit"
    assert "result" not in bob.answer_to(bob.request("createSession", {"issuer": "am", "grant": grant}))


def test_a_stopped_fetch_is_its_callers(alice: Connection, bob: Connection, playground: Playground) -> None:
    """Whoever could resume it would have the other user's answer; whoever could step it up, that user's session."""
    session = journeys.session(alice, playground)
    fetch = {"resource": "gate", "path": "service/pay", "session": session}
    stopped = expect.fault(alice.error("fetchResource", fetch), 1017)
    continuation = {"continuation": stopped["continuation"]}
    expect.fault(bob.error("fetchResource", continuation), 3002)
    expect.fault(bob.error("authenticateWithAdvice", continuation), 3002)
    step = alice.call("authenticateWithAdvice", continuation)
    answers = {"continuation": step["continuation"], "callbacks": journeys.filled(step, "alice-password")}
    expect.fault(bob.error("authenticateWithAdvice", answers), 3002)
    assert alice.call("authenticateWithAdvice", answers)["state"] == "completed"
    expect.fault(bob.error("fetchResource", continuation), 3002)
    assert alice.call("fetchResource", continuation)["status"] == 200


def test_tasks_of_one_name_are_two(alice: Connection, bob: Connection) -> None:
    """Names are the callers' own: one that another user chose as well is another task."""
    slow = {"resource": "jar", "path": "slow?ms=60000", "task": "mine", "timeoutMs": 90000}
    pending = {connection: connection.request("fetchResource", slow) for connection in (alice, bob)}
    for connection in (alice, bob):
        eventually(lambda: len(connection.call("listTasks")["tasks"]) == 1)
    alice.call("cancelTask", {"task": "mine"})
    expect.fault(alice.answer_to(pending[alice])["error"], -32800)
    assert bob.call("getTask", {"task": "mine"})["state"] == "running"
    for method in ("getTask", "suspendTask", "cancelTask"):
        expect.fault(alice.error(method, {"task": "another"}), 1016)
    bob.call("cancelTask", {"task": "mine"})
    expect.fault(bob.answer_to(pending[bob])["error"], -32800)


def test_cookies_stay_with_the_user_they_were_set_for(alice: Connection, bob: Connection) -> None:
    """A server's cookie is its session with one user; sent for another, it is that user's session taken over."""
    def sent(connection: Connection, path: str = "cookies") -> List[str]:
        return json.loads(connection.call("fetchResource", {"resource": "jar", "path": path})["body"])["cookies"]

    sent(alice, "cookies?set=who%3Dalice")
    assert sent(bob) == []
    sent(bob, "cookies?set=who%3Dbob")
    assert sent(alice) == ["who=alice"] and sent(bob) == ["who=bob"]


def test_events_go_to_the_user_they_are_about(alice: Connection, bob: Connection, playground: Playground) -> None:
    """An event names a session and tells when its user is there."""
    events = ["event.sessionRefreshed", "event.sessionEnded", "event.sessionExpiring"]
    for connection in (alice, bob):
        connection.call("subscribe", {"events": events})
    session = journeys.session(alice, playground)
    alice.call("refreshSession", {"session": session})
    alice.call("endSession", {"session": session})
    assert bob.works() and bob.others() == []
    assert alice.works()
    assert {message["method"] for message in alice.others()} == {"event.sessionRefreshed", "event.sessionEnded"}


def test_a_delegate_gets_requests_about_its_own_calls_only(alice: Connection, bob: Connection, playground: Playground) -> None:
    """A delegate sees requests and answers, and decides whether a step-up is done."""
    bob.call("registerDelegate", {"methods": ["delegate.onPolicyAdviceReceived", "delegate.evaluateAuthorizationPolicy"]})
    session = journeys.session(alice, playground)
    expect.fault(alice.error("fetchResource", {"resource": "gate", "path": "service/pay", "session": session}), 1017)
    assert bob.works() and bob.others() == []


def test_identifiers_are_each_connections_own(alice: Connection, bob: Connection) -> None:
    """The same id on two connections: a cancellation ends the sender's call, and each gets its own answer."""
    for connection, answer in ((alice, 1), (bob, 2)):
        connection.request("fetchResource", {
            "resource": "jar", "path": f"slow?ms=20000&who={answer}", "timeoutMs": 60000}, identifier="same")
    eventually(lambda: bob.call("listTasks")["tasks"] and alice.call("listTasks")["tasks"])
    alice.notify("$/cancelRequest", {"id": "same"})
    expect.fault(alice.answer_to("same")["error"], -32800)
    assert bob.call("listTasks")["tasks"][0]["state"] == "running"
    bob.notify("$/cancelRequest", {"id": "same"})
    expect.fault(bob.answer_to("same")["error"], -32800)


def test_answers_are_not_exchanged(sidecar: Sidecar) -> None:
    """Two users fetch at once, over few shared connections: each answer carries the name its request had."""
    failures: List[str] = []

    def run(connection: Connection, name: str) -> None:
        for number in range(150):
            wanted = f"{name}-{number}"
            result = connection.call("fetchResource", {"resource": "jar", "path": "echo", "parameters": {"who": wanted}})
            if f"who={wanted}" not in result["body"]:
                failures.append(f"{wanted}: {result['body'][:200]}")

    connections = [connect_as(uid, sidecar) for uid in (ALICE, BOB) for _ in range(4)]
    threads = [
        threading.Thread(target=run, args=(connection, f"caller{number}"))
        for number, connection in enumerate(connections)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert failures == []
    for connection in connections:
        connection.close()


def test_one_users_connections_leave_capacity_for_another(start: Start, settings: Dict[str, Any]) -> None:
    """A user who takes all the connections there may be, half of them in the middle of a message."""
    sidecar = start({**settings, "limits": {"connections": 16, "connectionsPerUid": 8}})
    open_to_all(sidecar.directory)
    taken = [connect_as(ALICE, sidecar) for _ in range(20)]
    for connection in taken[:4]:
        connection.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"getInfo","params":{')
    with connect_as(BOB, sidecar) as bob:
        assert bob.works()
    for connection in taken:
        connection.close()


def test_a_rejected_user_learns_nothing(start: Start, settings: Dict[str, Any]) -> None:
    """A uid that no rule names may connect; every method there is gives it one answer."""
    sidecar = start({**settings, "peers": [{"uid": ALICE, "methods": ["*"]}]})
    open_to_all(sidecar.directory)
    with connect_as(BOB, sidecar) as bob:
        answers = {bob.error(method)["code"] for method in ("getInfo", "health", "metrics", "listSessions", "listTasks")}
    assert answers == {-32020}
