"""Callers leave while policy advice is met, asked about and satisfied: by `$/cancelRequest`, by `meta.timeoutMs`, and
with their connection. Whenever that is, the session stays whole, nothing is left behind, and what comes next works."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable, Dict, Iterator

import pytest

from harness import expect, journeys
from harness.connection import Connection
from harness.journeys import SERVICE, filled, types
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]
RECEIVED = "delegate.onPolicyAdviceReceived"
PASSWORD = {"PasswordCallback": "alice-password"}
# Long enough for the caller to leave in between also where a process stands still for a second.
SLOW = {"kind": "slow", "delayMs": 4000, "times": 1}
WAYS = ["cancelRequest", "timeoutMs", "connection"]


class Scene:
    """A session, the connection that leaves, and what is looked at afterwards."""

    def __init__(self, sidecar: Sidecar, playground: Playground, way: str) -> None:
        self.sidecar, self.playground, self.way = sidecar, playground, way
        self.connection = sidecar.connect("stream")
        self.token = journeys.sign_on(playground)

    def sign_in(self) -> None:
        grant = {"type": "sso", "ssoToken": self.token}
        self.session = self.connection.call("createSession", {"issuer": "am", "grant": grant})["session"]
        self.playground.request("DELETE", "/playground/statistics")

    def begin(self, method: str, params: Dict[str, Any]) -> Any:
        meta = {"meta": {"timeoutMs": 2500}} if self.way == "timeoutMs" else {}
        return self.connection.request(method, {**params, **meta})

    def leave(self, identifier: Any) -> None:
        """The caller leaves its request; another connection takes over where it took its own along."""
        if self.way == "cancelRequest":
            self.connection.notify("$/cancelRequest", {"id": identifier})
            expect.fault(self.connection.answer_to(identifier)["error"], -32800)
        elif self.way == "timeoutMs":
            expect.fault(self.connection.answer_to(identifier)["error"], -32022)
        else:
            self.connection.close()
            self.connection = self.sidecar.connect("stream")

    def count(self, counter: str, count: int = 1) -> None:
        eventually(lambda: self.playground.statistics()[counter] >= count, what=counter)

    def metric(self, name: str) -> int:
        text = self.connection.call("metrics")["text"]
        found = re.search(rf"^{re.escape(name)} (\d+)$", text, re.MULTILINE)
        return int(found.group(1)) if found else 0

    def fetch(self, path: str) -> Dict[str, Any]:
        return {"resource": "gate", "path": path, "session": self.session}

    def stopped(self, path: str = "service/x") -> Dict[str, Any]:
        return expect.fault(self.connection.error("fetchResource", self.fetch(path)), 1017)

    def passes(self, path: str) -> bool:
        """Whether the gateway asks for nothing."""
        return self.connection.call("fetchResource", self.fetch(path))["status"] == 200

    def is_whole(self) -> None:
        """The session has tokens of one login, which the resource takes."""
        result = self.connection.call("fetchResource", {"resource": "mine", "path": "orders", "session": self.session})
        assert result["status"] == 200

    def next_works(self, path: str = "level/x") -> None:
        """Another advice, another journey, another fetch."""
        data = self.stopped(path)
        params = {"continuation": data["continuation"], "answers": {"PasswordCallback": "123456"}}
        result = self.connection.call("authenticateWithAdvice", params)
        assert result["state"] == "completed" and result["sessionUpgraded"], result
        assert self.connection.call("fetchResource", {"continuation": data["continuation"]})["status"] == 200
        eventually(lambda: self.metric("postern_journeys_waiting") == self.metric("postern_fetches_stopped") == 0)
        self.nothing_lingers()

    def nothing_lingers(self) -> None:
        """What was left is answered at once, and comes to its end a moment later."""
        eventually(lambda: self.metric("postern_rpc_in_flight") == 1, what="an end of all calls but the one that asks")


@pytest.fixture
def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    settings = journeys.settings(playground, directory)
    settings["resources"]["gate"] = {
        "baseUrl": playground.base + "/gateway/", "issuer": "am", "auth": "user", "scope": "orders"}
    return settings


@pytest.fixture(params=WAYS)
def scene(
    request: pytest.FixtureRequest, start: Start, settings: Dict[str, Any], playground: Playground
) -> Iterator[Scene]:
    scene = Scene(start(settings), playground, request.param)
    yield scene
    scene.connection.close()


def test_while_the_name_of_the_cookie_is_asked_for(scene: Scene) -> None:
    scene.playground.request("DELETE", "/playground/statistics")
    scene.playground.faults(serverInfo=SLOW)
    left = scene.begin("authenticate", {"issuer": "am"})
    scene.count("serverInfoRequests")
    scene.leave(left)
    step = journeys.begin(scene.connection)
    assert types(step) == ["NameCallback", "PasswordCallback"]
    result = journeys.go_on(scene.connection, step, "alice", "alice-password")
    scene.session = result["session"]
    scene.is_whole()
    scene.next_works()


def test_while_a_journey_begins(scene: Scene) -> None:
    scene.sign_in()
    data = scene.stopped()
    scene.playground.faults(authenticate=SLOW)
    left = scene.begin("authenticateWithAdvice", {"continuation": data["continuation"]})
    scene.count("authenticateRequests")
    scene.leave(left)
    scene.is_whole()
    # The fetch waits on: what was left was only a journey.
    params = {"continuation": data["continuation"], "answers": PASSWORD}
    assert scene.connection.call("authenticateWithAdvice", params)["state"] == "completed"
    assert scene.connection.call("fetchResource", {"continuation": data["continuation"]})["status"] == 200
    scene.next_works()


def test_while_the_delegate_is_asked(scene: Scene) -> None:
    scene.sign_in()
    scene.connection.call("registerDelegate", {"methods": [RECEIVED]})
    left = scene.begin("fetchResource", scene.fetch("service/x"))
    question = _question(scene.connection)
    continuation = question["params"]["continuation"]
    scene.leave(left)
    scene.is_whole()
    if scene.way == "connection":
        # Who was asked comes back and goes on by what it was told.
        eventually(lambda: scene.metric("postern_fetches_stopped") == 1)
        params = {"continuation": continuation, "answers": PASSWORD}
        assert scene.connection.call("authenticateWithAdvice", params)["continuation"] == continuation
        assert scene.connection.call("fetchResource", {"continuation": continuation})["status"] == 200
    else:
        scene.nothing_lingers()
        expect.fault(scene.connection.error("fetchResource", {"continuation": continuation}), 3002)
        # The next fetch has a question of its own; nobody's answer to the old one is taken for it.
        second = scene.connection.request("fetchResource", scene.fetch("service/x"))
        fresh = _question(scene.connection)
        assert fresh["id"] != question["id"] and fresh["params"]["continuation"] != continuation
        scene.connection.send({"jsonrpc": "2.0", "id": question["id"], "result": {"satisfied": True}})
        params = {"continuation": fresh["params"]["continuation"], "answers": PASSWORD}
        assert scene.connection.call("authenticateWithAdvice", params)["state"] == "completed"
        scene.connection.send({"jsonrpc": "2.0", "id": fresh["id"], "result": {"satisfied": True}})
        assert scene.connection.answer_to(second)["result"]["status"] == 200
        scene.connection.call("registerDelegate", {"methods": []})
    scene.next_works()


@pytest.mark.parametrize(
    "fault, counter",
    [("authenticate", "authenticateRequests"), ("ssoAuthorization", "ssoAuthorizations"), ("token", "tokenRequests")],
)
def test_while_callbacks_are_submitted_and_the_session_is_exchanged(scene: Scene, fault: str, counter: str) -> None:
    scene.sign_in()
    data = scene.stopped()
    step = scene.connection.call("authenticateWithAdvice", {"continuation": data["continuation"]})
    scene.playground.request("DELETE", "/playground/statistics")
    scene.playground.faults(**{fault: SLOW})
    params = {"continuation": step["continuation"], "callbacks": filled(step, "alice-password")}
    left = scene.begin("authenticateWithAdvice", params)
    scene.count(counter)
    scene.leave(left)
    # Good once: the step has gone to the access manager.
    expect.fault(scene.connection.error("authenticateWithAdvice", params), 3002, "/continuation")
    scene.is_whole()
    # What has been sent is carried through: the session has the new login, whole.
    eventually(lambda: scene.metric('postern_session_renewals_total{outcome="renewed"}') == 1, what="the new login")
    # The old login is ended behind that.
    eventually(lambda: not journeys.is_signed_on(scene.playground, scene.token), what="the old login's end")
    assert scene.passes("service/other")
    scene.is_whole()
    assert scene.connection.call("fetchResource", {"continuation": data["continuation"]})["status"] == 200
    scene.next_works()


def test_while_the_fetch_is_sent_again(scene: Scene) -> None:
    scene.sign_in()
    data = scene.stopped()
    params = {"continuation": data["continuation"], "answers": PASSWORD}
    assert scene.connection.call("authenticateWithAdvice", params)["state"] == "completed"
    scene.playground.request("DELETE", "/playground/statistics")
    scene.playground.faults(gateway=SLOW)
    left = scene.begin("fetchResource", {"continuation": data["continuation"]})
    scene.count("gatewayRequests")
    scene.leave(left)
    # It may have had its effect.
    expect.fault(scene.connection.error("fetchResource", {"continuation": data["continuation"]}), 3002)
    scene.is_whole()
    assert scene.passes("service/x")
    scene.next_works()


def _question(connection: Connection) -> Dict[str, Any]:
    while True:
        message: Any = connection.receive()
        if message.get("method") == RECEIVED:
            return message
        connection._set_aside.append(message)
