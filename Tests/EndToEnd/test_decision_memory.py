"""Section 4.2: what `preauthorize` remembers, for how long, and who shares which question."""
from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect, journeys
from harness.connection import Connection
from harness.decisions import DecisionDouble
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually
from test_journeys import step_up
from test_preauthorize import authzen, call, codes, permits

Start = Callable[..., Sidecar]


@pytest.fixture
def double() -> Iterator[DecisionDouble]:
    started = DecisionDouble(lambda *_: (404, {}, {}))
    yield started
    started.stop()


def sources(result: Dict[str, Any]) -> List[str]:
    return [decision["source"] for decision in result["decisions"]]


def test_a_hundred_identical_calls_of_many_connections_are_one_question_for_each_batch(
    start: Start, double: DecisionDouble
) -> None:
    gate = threading.Event()

    def decide(identifier: str) -> Any:
        gate.wait(10)
        return {"decision": identifier != "r7"}
    authzen(double, decide)
    # Denies are remembered too: a call that comes to its turn only after the answer asks nobody.
    point = {"kind": "authzen", "baseUrl": double.url, "maxBatch": 5, "cache": {"deny": "60s"}}
    sidecar = start({"preauthorization": {"pdp": point}})
    resources = [f"r{number}" for number in range(12)]
    params = {"resources": resources, "context": {"subject": "alice"}}
    connections = [sidecar.connect() for _ in range(10)]
    asked = [(connection, connection.request("preauthorize", params)) for connection in connections for _ in range(10)]
    eventually(lambda: len(double.posts()) == 3, what="three questions")
    time.sleep(0.3)
    gate.set()
    for connection, identifier in asked:
        assert permits(connection.answer_to(identifier)["result"]) == [name != "r7" for name in resources]
    assert sorted(len(body["evaluations"]) for _, _, _, body in double.posts()) == [2, 5, 5]
    for connection in connections:
        connection.close()


def test_a_permit_in_use_is_renewed_before_it_expires(start: Start, double: DecisionDouble) -> None:
    authzen(double, lambda identifier: {"decision": True})
    point = {"kind": "authzen", "baseUrl": double.url, "cache": {"permit": "4s"}}
    with start({"preauthorization": {"pdp": point}}).connect() as connection:
        first = call(connection, "used", "unused")["decisions"][0]
        begun = last = time.monotonic()
        was_held_up = False
        while time.monotonic() < begun + 9:
            result = call(connection, "used")
            # Whoever comes by only after the last fifth of the permit's life, because the machine stood still, has to
            # ask.
            is_held_up = time.monotonic() - last > 0.5
            was_held_up = was_held_up or is_held_up
            assert permits(result) == [True] and (sources(result) == ["local"] or is_held_up), time.monotonic() - begun
            last = time.monotonic()
            time.sleep(0.05)
        assert result["decisions"][0]["expiresAt"] > first["expiresAt"]
        asked = [[item["resource"]["id"] for item in body["evaluations"]] for _, _, _, body in double.posts()]
        assert asked[0] == ["used", "unused"] and asked[1:] == [["used"]] * len(asked[1:])
        assert (2 if was_held_up else 3) <= len(asked) <= 4
        if not was_held_up:
            line = f'postern_decision_renewals_total{{provider="pdp",outcome="renewed"}} {len(asked) - 1}'
            eventually(lambda: line in connection.call("metrics")["text"], what=line)
        # Without the decision point it runs out: a renewal that fails prolongs nothing.
        double.script = lambda *_: (500, {}, {})
        eventually(lambda: call(connection, "used").get("status"), what="the permit's end")
        assert call(connection, "used")["status"]["code"] == "internal_server_error"
        eventually(lambda: 'outcome="failed"} 1' in connection.call("metrics")["text"], what="the renewal that failed")


def test_decisions_go_with_a_stronger_login_and_with_the_session(
    start: Start, playground: Playground, double: DecisionDouble, directory: Path
) -> None:
    authzen(double, lambda identifier: {"decision": True})
    settings = journeys.settings(playground, directory)
    settings["preauthorization"] = {"pdp": {"kind": "authzen", "baseUrl": double.url, "issuer": "am"}}
    with start(settings).connect() as connection:
        session = journeys.session(connection, playground)
        assert sources(call(connection, "a", "b", subject=None, session=session)) == ["backend"] * 2
        assert sources(call(connection, "a", "b", subject=None, session=session)) == ["local"] * 2
        step = step_up(connection, session, (journeys.SERVICE, "ConfirmPassword"))
        while step["state"] == "callbacks":
            step = connection.call("authenticateWithAdvice", {
                "continuation": step["continuation"], "answers": {
                    "NameCallback": "alice", "PasswordCallback": "alice-password", "ConfirmationCallback": "Yes"}})
        assert step["sessionUpgraded"] is True
        assert sources(call(connection, "a", "b", subject=None, session=session)) == ["backend"] * 2
        connection.call("endSession", {"session": session})
        assert connection.call("invalidateDecisions", {}) == {"removed": 0}
        assert call(connection, "a", subject=None, session=session)["status"]["code"] == "authentication_session_missing"


def test_a_cancelled_call_ends_its_own_question_only(start: Start, double: DecisionDouble) -> None:
    gate = threading.Event()

    def decide(identifier: str) -> Any:
        gate.wait(10)
        return {"decision": True}
    authzen(double, decide)
    with start({"preauthorization": {"pdp": {"kind": "authzen", "baseUrl": double.url}}}).connect() as connection:
        params = {"resources": ["a"], "context": {"subject": "alice"}}
        first = connection.request("preauthorize", params)
        eventually(lambda: len(double.posts()) == 1)
        # What it asks itself shows that it waits for the rest as well.
        second = connection.request("preauthorize", {**params, "resources": ["a", "c"]})
        eventually(lambda: len(double.posts()) == 2)
        connection.notify("$/cancelRequest", {"id": first})
        expect.fault(connection.answer_to(first)["error"], -32800)
        gate.set()
        assert permits(connection.answer_to(second)["result"]) == [True, True]
        asked = [[item["resource"]["id"] for item in body["evaluations"]] for _, _, _, body in double.posts()]
        assert asked == [["a"], ["c"]]
        gate.clear()
        # The last one that waits takes the question along.
        last = connection.request("preauthorize", {**params, "resources": ["b"]})
        eventually(lambda: len(double.posts()) == 3)
        connection.notify("$/cancelRequest", {"id": last})
        expect.fault(connection.answer_to(last)["error"], -32800)
        # It is answered at once, and leaves a moment later: the call that asks is the only one then.
        eventually(lambda: "\npostern_rpc_in_flight 1\n" in connection.call("metrics")["text"])
        gate.set()
        assert sources(call(connection, "b")) == ["backend"]
        assert len(double.posts()) == 4


def test_what_was_not_answered_in_time_is_no_deny(start: Start, double: DecisionDouble) -> None:
    gate = threading.Event()
    authzen(double, lambda identifier: (identifier == "slow" and gate.wait(10), {"decision": True})[1])
    point = {"kind": "authzen", "baseUrl": double.url, "maxBatch": 1}
    with start({"preauthorization": {"pdp": point}}).connect() as connection:
        result = call(connection, "a", "slow", "b", timeoutMs=3000)
        gate.set()
        assert result["outcome"] == "response" and permits(result) == [True, False, True]
        assert codes(result)[1] == "network_error" and result["decisions"][1]["error"]["status"] == 0
        assert result["decisions"][1]["error"]["action"] == "retry"


def test_a_fragment_goes_out_byte_by_byte(start: Start, double: DecisionDouble) -> None:
    authzen(double, lambda identifier: {"decision": identifier == 'A, "B" & Ç'})
    fragment = (
        '<rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>A, "B" &amp; \u00c7</title>'
        '<item><media:rating scheme="urn:v-chip">tv-pg</media:rating></item></channel></rss>')
    with start({"preauthorization": {"pdp": {"kind": "authzen", "baseUrl": double.url}}}).connect() as connection:
        assert permits(call(connection, fragment, "a,b")) == [True, False]
        sent = double.posts()[0][3]["evaluations"]
        assert sent[0]["resource"]["properties"] == {"mrss": fragment, "rating": "tv-pg"}
        assert sent[1]["resource"] == {"type": "channel", "id": "a,b"}
