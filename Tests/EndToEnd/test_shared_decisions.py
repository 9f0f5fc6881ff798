"""What a decision point says to, or about, one user decides nothing for another and is shown to nobody else."""
from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness.connection import Connection
from harness.decisions import DecisionDouble
from harness.sidecar import Sidecar
from harness.strays import Request, StrayServer, response
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all

Start = Callable[..., Sidecar]


@pytest.fixture
def double() -> Iterator[DecisionDouble]:
    started = DecisionDouble(lambda *_: (404, {}, {}))
    yield started
    started.stop()


def ask(connection: Connection, subject: str, *resources: str) -> Dict[str, Any]:
    return connection.call("preauthorize", {
        "resources": list(resources), "context": {"subject": subject}, "disableFeatures": ["LOCAL_CACHE"]})


def authorized(result: Dict[str, Any]) -> List[bool]:
    return [decision["authorized"] for decision in result["decisions"]]


def permits(body: Dict[str, Any]) -> Any:
    return 200, {"evaluations": [{"decision": True} for _ in body["evaluations"]]}, {}


@pytest.mark.parametrize("kind", ["authzen", "opa", "access-manager"])
def test_what_everybody_goes_by_has_a_connection_of_its_own(
    start: Start, connect: Callable[..., Connection], directory: Path, kind: str
) -> None:
    def answer(request: Request) -> bytes:
        if "well-known" in request.path:
            return response({}, "404 Not Found")
        if "authenticate" in request.path:
            return response({"tokenId": "genuine"})
        if request.path.startswith("/health"):
            return response({})
        body = json.loads(request.body)
        if kind == "authzen":
            return response({"evaluations": [{"decision": True} for _ in body["evaluations"]]})
        if kind == "opa":
            return response({"result": {item["id"]: True for item in body["input"]["resources"]}})
        return response([{"resource": name, "actions": {"view": True}} for name in body["resources"]])

    server = StrayServer(answer=answer)
    try:
        point: Dict[str, Any] = {"kind": kind, "baseUrl": server.base}
        if kind == "opa":
            point["path"] = "tv"
        if kind == "access-manager":
            for name in ("name", "password"):
                (directory / name).write_text("warden")
                (directory / name).chmod(0o600)
            point["credentials"] = {
                "usernameFile": str(directory / "name"), "passwordFile": str(directory / "password")}
        connection = connect(start({"preauthorization": {"tv": point}}))
        for number in range(3):
            assert authorized(ask(connection, "alice", f"movie-{number}")) == [True]
        first, *questions = server.requests
        assert len(questions) == 3 and first.connection not in {request.connection for request in questions}
    finally:
        server.stop()


@needs_root
def test_health_shows_no_error_about_another_user(start: Start, double: DecisionDouble) -> None:
    def script(method: str, path: str, headers: Dict[str, str], body: Any) -> Any:
        if method == "GET":
            return 404, {}, {}
        return 403, {
            "status": 403, "code": "suspended_" + body["subject"]["id"], "action": "none",
            "message": "alice owes 93.10", "details": "alice asked for channel-9"}, {}

    double.script = script
    sidecar = start({**BOTH, "preauthorization": {"pdp": {"kind": "authzen", "baseUrl": double.url}}})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        status = ask(alice, "alice", "channel-9")["status"]
        assert status["code"] == "suspended_alice" and status["message"] == "alice owes 93.10"
        check = bob.call("health")["checks"]["preauthorization.pdp"]
        assert check["status"] == "degraded" and "status 403" in check["detail"]
        assert "alice" not in json.dumps(check) and "channel-9" not in json.dumps(check)


@needs_root
def test_a_429_about_one_user_delays_no_other(start: Start, double: DecisionDouble) -> None:
    def script(method: str, path: str, headers: Dict[str, str], body: Any) -> Any:
        if method == "GET":
            return 404, {}, {}
        return (429, {}, {"Retry-After": "3600"}) if body["subject"]["id"] == "alice" else permits(body)

    double.script = script
    point = {"kind": "authzen", "baseUrl": double.url, "rateLimit": {"perSecond": 1000, "burst": 1000}}
    sidecar = start({**BOTH, "preauthorization": {"pdp": point}})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        assert ask(alice, "alice", "a")["status"]["status"] == 429
        begun = time.monotonic()
        assert authorized(ask(bob, "bob", "a")) == [True]
        assert time.monotonic() - begun < 3
        # She is held up.
        assert ask(alice, "alice", "a")["status"]["code"] == "network_error"


@needs_root
def test_too_many_for_one_user_are_not_too_many_for_another(start: Start, double: DecisionDouble) -> None:
    def script(method: str, path: str, headers: Dict[str, str], body: Any) -> Any:
        if method == "GET":
            return 404, {}, {}
        if body["subject"]["id"] == "alice" and len(body["evaluations"]) > 1:
            return 400, {"status": 400, "code": "too_many_resources", "action": "none", "message": "m"}, {}
        return permits(body)

    double.script = script
    sidecar = start({**BOTH, "preauthorization": {"pdp": {"kind": "authzen", "baseUrl": double.url}}})
    open_to_all(sidecar.directory)
    names = [f"channel-{number}" for number in range(50)]
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        assert authorized(ask(alice, "alice", *names)) == [True] * 50
        before = len(double.posts())
        assert authorized(ask(bob, "bob", *names)) == [True] * 50
        assert len(double.posts()) == before + 1


@pytest.mark.thorough
@needs_root
def test_concurrent_questions_of_one_user_are_bounded(start: Start, double: DecisionDouble) -> None:
    """Would catch: hundreds of calls about ten thousand resources each, which took a gigabyte; or a few dozens
    refused."""
    def script(method: str, path: str, headers: Dict[str, str], body: Any) -> Any:
        if method == "GET":
            return 404, {}, {}
        if body["subject"]["id"] == "alice":
            time.sleep(3)
        return permits(body)

    double.script = script
    point = {"kind": "authzen", "baseUrl": double.url, "maxBatch": 1000, "timeout": "30s"}
    sidecar = start({**BOTH, "preauthorization": {"pdp": point}})
    open_to_all(sidecar.directory)
    names = [f"channel-{number}" for number in range(10_000)]
    with ExitStack() as stack:
        alices = [stack.enter_context(connect_as(ALICE, sidecar, timeout=120)) for _ in range(8)]
        bob = stack.enter_context(connect_as(BOB, sidecar, timeout=60))
        params = {"resources": names, "context": {"subject": "alice"}}
        calls = [(alices[number % 8], alices[number % 8].request("preauthorize", params)) for number in range(80)]
        assert authorized(ask(bob, "bob", *names)) == [True] * 10_000
        answers = [connection.answer_to(call) for connection, call in calls]
        refused = [answer["error"] for answer in answers if "error" in answer]
        assert {(error["code"], error["data"]["retryable"]) for error in refused} == {(-32009, True)}
        assert 30 <= sum("result" in answer for answer in answers) < 80
        assert authorized(ask(alices[0], "bob", "a")) == [True]
