"""Section 4.2: `preauthorize` with two real engines, Cedar and Rego, behind thin fronts of the tests' own.

What passes proves round trips and faults; it does not prove that another vendor's HTTP layer is understood.
"""
from __future__ import annotations

import itertools
import json
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from harness import expect
from harness.browser import announce_login, callback_of
from harness.connection import Connection
from harness.decisions import DecisionDouble, DecisionEngines
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all

Start = Callable[..., Sidecar]
REDIRECT = "http://127.0.0.1:8765/callback"
STATUS = {"status", "code", "message", "details", "helpUrl", "trace", "action"}


@pytest.fixture(scope="module")
def running_engines() -> Iterator[DecisionEngines]:
    started = DecisionEngines()
    yield started
    started.stop()


@pytest.fixture
def engines(running_engines: DecisionEngines) -> DecisionEngines:
    running_engines.forget()
    return running_engines


@pytest.fixture
def double() -> Iterator[DecisionDouble]:
    started = DecisionDouble(lambda *_: (404, {}, {}))
    yield started
    started.stop()


@pytest.fixture
def ask(start: Start) -> Iterator[Callable[..., Connection]]:
    """A connection to a sidecar with these decision points and nothing else of its own."""
    opened: List[Connection] = []

    def ask(**points: Dict[str, Any]) -> Connection:
        opened.append(start({"preauthorization": points}).connect())
        return opened[-1]

    yield ask
    for connection in opened:
        connection.close()


def call(connection: Connection, *resources: str, subject: Any = "alice", **params: Any) -> Dict[str, Any]:
    context = {"subject": subject, **params.pop("context", {})} if subject is not None else params.pop("context", {})
    result = connection.call("preauthorize", {"resources": list(resources), "context": context, **params})
    assert set(result) <= {"outcome", "decisions", "status", "unhonoredFeatures"}, result
    assert result["outcome"] in ("response", "failure")
    if "status" in result:
        assert result["decisions"] == [] and set(result["status"]) <= STATUS, result
        assert (result["outcome"] == "failure") == (result["status"]["status"] == 0), result
    else:
        assert [decision["id"] for decision in result["decisions"]] == list(resources), result
    for decision in result["decisions"]:
        assert decision["authorized"] is ("error" not in decision), decision
        assert set(decision) <= {"id", "authorized", "error", "source", "ageMs", "expiresAt"}, decision
        assert set(decision.get("error", {})) <= STATUS
        if "expiresAt" in decision:
            assert expect.RFC3339_MILLISECONDS.match(decision["expiresAt"])
    return result


def permits(result: Dict[str, Any]) -> List[bool]:
    return [decision["authorized"] for decision in result["decisions"]]


def codes(result: Dict[str, Any]) -> List[Any]:
    return [decision.get("error", {}).get("code") for decision in result["decisions"]]


CERTIFICATION: List[Tuple[Any, str, str, Dict[str, Any], bool]] = [
    ("alice", "read", "record-1", {}, True),
    ("alice", "write", "record-1", {}, True),
    ("bob", "read", "record-1", {}, True),
    ("bob", "write", "record-1", {}, False),
    ("alice", "write", "record-2", {}, False),
    ({"id": "bob", "properties": {"role": "admin"}}, "write", "record-2", {}, True),
    ("alice", "delete", "record-1", {"soft": True}, True),
    ("alice", "delete", "record-1", {"soft": False}, False),
]


@pytest.mark.parametrize("base, endpoint", [("", "/access/v1/evaluations"), ("/one", "/one/access/v1/evaluation")])
def test_the_eight_decisions_of_the_authzen_certification_by_cedar(
    ask: Callable[..., Connection], engines: DecisionEngines, base: str, endpoint: str
) -> None:
    points = {
        action: {"kind": "authzen", "baseUrl": engines.authzen + base, "action": action, "resourceType": "record"}
        for action in ("read", "write", "delete")
    }
    connection = ask(**points)
    for subject, action, record, context, permitted in CERTIFICATION:
        result = call(connection, record, subject=subject, provider=action, context=context)
        assert permits(result) == [permitted], (subject, action, record, result)
        assert result["decisions"][0]["source"] == "backend"
    denied = call(connection, "record-1", subject="bob", provider="write")["decisions"][0]["error"]
    assert denied["code"] == "policy_denied" and denied["status"] == 403 and denied["action"] == "none"
    assert denied["message"] == "Not with this role." and json.loads(denied["details"])["reason"] == "policy_denied"
    asked = engines.log(engines.authzen)
    for request in asked:
        assert request["problems"] == [], request
        assert request["path"] == endpoint
    assert len(asked) == len(CERTIFICATION) + 1
    # What came back as trace is what the decision point was told.
    assert denied["trace"] == asked[-1]["headers"]["X-Request-ID"]


def test_everything_that_is_sent_meets_the_published_schemas(
    ask: Callable[..., Connection], engines: DecisionEngines
) -> None:
    fragment = '<rss version="2.0"><channel><title>record-1</title></channel></rss>'
    subjects: List[Any] = ["alice", {"id": "bob", "type": "member", "properties": {"role": "admin", "tags": [1, 2]}}]
    extras: List[Dict[str, Any]] = [
        {}, {"context": {"deep": {"x": ["a", "b"]}}}, {"disableFeatures": ["LOCAL_CACHE", "REMOTE_CACHE"]}]
    connection = ask(**{
        name: {"kind": "authzen", "baseUrl": engines.authzen + base, "action": "read"}
        for name, base in [("batches", ""), ("single", "/one")]})
    for provider, subject, more in itertools.product(["batches", "single"], subjects, extras):
        result = call(connection, "record-1", fragment, "\u00e9, \"x\"", subject=subject, provider=provider, **more)
        assert result["outcome"] == "response" and permits(result)[0] is True, result
    log = engines.log(engines.authzen)
    assert {request["path"] for request in log} == {"/access/v1/evaluations", "/one/access/v1/evaluation"}
    for request in log:
        assert request["problems"] == [], request


def test_rego_decides_about_batches_with_reasons_and_lifetimes(
    ask: Callable[..., Connection], engines: DecisionEngines
) -> None:
    connection = ask(tv={"kind": "opa", "baseUrl": engines.opa, "path": "pass/decisions"})
    resources = ["channel-1-free", "channel-2", "channel-3-gold", "short-1", "channel-2", "elsewhere"]
    result = call(connection, *resources, subject="user-1001", context={"plan": "gold"})
    assert permits(result) == [True, False, True, True, False, False]
    assert codes(result) == [
        None, "preauthorization_denied_by_programmer", None, None, "preauthorization_denied_by_programmer",
        "server_response_format_unknown"]
    assert result["decisions"][1]["error"]["message"] == "not in the package"
    assert result["decisions"][5]["error"]["action"] == "retry"
    body = engines.log(engines.opa)[-1]["body"]
    assert body["input"]["subject"] == {"type": "user", "id": "user-1001"}
    assert body["input"]["action"] == {"name": "view"} and body["input"]["context"] == {"plan": "gold"}
    # Each resource once, in order.
    assert [r["id"] for r in body["input"]["resources"]] == list(dict.fromkeys(resources))


def test_a_rule_that_is_not_loaded_denies_nobody(ask: Callable[..., Connection], engines: DecisionEngines) -> None:
    connection = ask(tv={"kind": "opa", "baseUrl": engines.opa, "path": "pass/mistyped"})
    result = call(connection, "channel-1-free", subject="user-1001")
    assert result["outcome"] == "failure" and result["status"]["code"] == "server_response_format_unknown"
    assert "pass/mistyped" in result["status"]["details"]


def test_permits_are_remembered_and_denies_are_not(ask: Callable[..., Connection], engines: DecisionEngines) -> None:
    connection = ask(view={"kind": "authzen", "baseUrl": engines.authzen, "action": "write"})
    first = call(connection, "record-1", "record-2")
    assert permits(first) == [True, False] and "expiresAt" in first["decisions"][0]
    assert "expiresAt" not in first["decisions"][1]
    again = call(connection, "record-1", "record-2")
    assert [decision["source"] for decision in again["decisions"]] == ["local", "backend"]
    assert again["decisions"][0]["ageMs"] >= 0 and again["decisions"][0]["expiresAt"] == first["decisions"][0]["expiresAt"]
    asked = [len(request["body"]["evaluations"]) for request in engines.log(engines.authzen)]
    assert asked == [2, 1]
    # Somebody else's permits are not alice's.
    assert permits(call(connection, "record-1", subject="bob")) == [False]
    fresh = call(connection, "record-1", disableFeatures=["LOCAL_CACHE"])
    assert fresh["decisions"][0]["source"] == "backend" and fresh["unhonoredFeatures"] == []
    remote = call(connection, "record-1", disableFeatures=["LOCAL_CACHE", "REMOTE_CACHE"])
    last = engines.log(engines.authzen)[-1]
    assert last["headers"]["Cache-Control"] == "no-cache" and last["body"]["context"]["postern_bypass_cache"] is True
    assert remote["unhonoredFeatures"] == []
    assert connection.call("invalidateDecisions", {"resources": ["other"]}) == {"removed": 0}
    assert connection.call("invalidateDecisions", {"provider": "view"}) == {"removed": 1}
    assert call(connection, "record-1")["decisions"][0]["source"] == "backend"
    text = connection.call("metrics")["text"]
    assert 'postern_decisions_total{provider="view",decision="permit"}' in text
    assert connection.call("health")["checks"]["preauthorization.view"]["status"] == "ok"


def test_ids_are_compared_byte_by_byte(ask: Callable[..., Connection], engines: DecisionEngines) -> None:
    connection = ask(tv={"kind": "opa", "baseUrl": engines.opa, "path": "pass/decisions"})
    composed, decomposed = "channel-\u00e9-free", "channel-e\u0301-free"
    mrss = '<rss version="2.0"><channel><title>a, "b" &amp; c</title></channel></rss>'
    result = call(connection, composed, decomposed, mrss, subject="user-1001")
    assert permits(result)[:2] == [True, True]
    sent = engines.log(engines.opa)[-1]["body"]["input"]["resources"]
    assert [r["id"] for r in sent] == [composed, decomposed, mrss]
    assert sent[2]["title"] == 'a, "b" & c'


def with_shop(start: Start, playground: Playground, directory: Any, base: str) -> Sidecar:
    """A sidecar whose decision point at `base` decides about the users of an issuer."""
    secret = directory / "shop-secret"
    secret.write_text("shopsecret")
    secret.chmod(0o600)
    return start({
        "issuers": {"shop": {
            "issuer": playground.issuer, "clientId": "shop", "clientAuth": "client_secret_basic",
            "clientSecretFile": str(secret), "scope": "openid profile offline_access orders"}},
        "preauthorization": {"records": {
            "kind": "authzen", "baseUrl": base, "issuer": "shop", "credentials": {"bearer": "user"}}},
    })


def log_in(connection: Connection, playground: Playground) -> Dict[str, Any]:
    announce_login(playground)
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
    return connection.call("completeAuthorization", callback_of(begun))


def test_the_session_is_the_subject_and_its_end_is_the_end_of_its_decisions(
    start: Start, playground: Playground, engines: DecisionEngines, directory: Any
) -> None:
    sidecar = with_shop(start, playground, directory, engines.authzen)
    with sidecar.connect() as connection:
        def is_missing(**params: Any) -> None:
            missing = call(connection, "record-1", subject=None, **params)
            assert missing["outcome"] == "failure"
            assert missing["status"]["code"] == "authentication_session_missing"
            assert missing["status"]["action"] == "authentication"

        is_missing(session="only")
        session = log_in(connection, playground)
        is_missing()
        result = call(connection, "record-1", "record-2", subject=None, session=session["session"])
        assert permits(result) == [True, False]
        asked = engines.log(engines.authzen)[-1]
        assert asked["body"]["subject"] == {"type": "user", "id": "user-1001"}
        assert asked["headers"]["Authorization"].startswith("Bearer ")
        assert call(connection, "record-1", subject=None, session="only")["decisions"][0]["source"] == "local"
        connection.call("endSession", {"session": session["session"]})
        for params in [{}, {"session": "only"}, {"session": session["session"]}, {"session": "nonsense"}]:
            is_missing(**params)
        expect.fault(connection.error("invalidateDecisions", {"session": session["session"]}), 5001)


def test_a_permit_that_arrives_after_the_session_has_ended_counts_for_nothing(
    start: Start, playground: Playground, double: DecisionDouble, directory: Any
) -> None:
    """The user signs out while the decision point is thinking: a yes must not reach the application any more."""
    asked, gate = threading.Event(), threading.Event()

    def decide(identifier: str) -> Any:
        asked.set()
        gate.wait(20)
        return {"decision": True}

    authzen(double, decide)
    sidecar = with_shop(start, playground, directory, double.url)
    with sidecar.connect() as connection, sidecar.connect() as other:
        session = log_in(other, playground)["session"]
        connection.request("preauthorize", {"resources": ["record-1"], "session": session}, 1)
        assert asked.wait(20)
        other.call("endSession", {"session": session})
        gate.set()
        result = connection.receive()["result"]
    assert (result["outcome"], result["decisions"]) == ("failure", [])
    assert result["status"]["code"] == "authentication_session_missing"


@pytest.mark.parametrize("params, path", [
    ({"resources": []}, "/resources"), ({"resources": [""]}, "/resources/0"), ({}, "/resources"),
    ({"resources": ["a"], "disableFeatures": ["NO_CACHE"]}, "/disableFeatures/0"),
    ({"resources": ["a"], "timeoutMs": 0}, "/timeoutMs"), ({"resources": ["a"], "context": []}, "/context"),
    ({"resources": ["a"], "context": {"subject": 7}}, "/context/subject"), ({"resources": ["a"], "x": 1}, "/x"),
])
def test_params_that_make_no_sense(
    ask: Callable[..., Connection], engines: DecisionEngines, params: Dict[str, Any], path: str
) -> None:
    connection = ask(view={"kind": "authzen", "baseUrl": engines.authzen})
    expect.fault(connection.error("preauthorize", params), -32602, path)


def test_no_such_decision_point_is_a_failure(ask: Callable[..., Connection], engines: DecisionEngines) -> None:
    point = {"kind": "authzen", "baseUrl": engines.authzen}
    connection = ask(one=point, two=point)
    for params in [{}, {"provider": "three"}]:
        result = call(connection, "record-1", **params)
        assert result["outcome"] == "failure" and result["status"]["code"] == "requestor_not_configured"
        assert result["status"]["action"] == "retry", "the SDK's action for this code"
    missing = call(connection, "record-1", subject=None, provider="one")
    assert missing["status"]["code"] == "authentication_session_missing"
    expect.fault(connection.error("invalidateDecisions", {"provider": "three"}), -32602, "/provider")


def authzen(double: DecisionDouble, decide: Callable[[str], Any]) -> None:
    """The double answers batches item by item."""
    def script(method: str, path: str, headers: Dict[str, str], body: Any) -> Any:
        if method != "POST" or not path.endswith("/evaluations"):
            return 404, {}, {}
        return 200, {"evaluations": [decide(item["resource"]["id"]) for item in body["evaluations"]]}, {}
    double.script = script


HOSTILE = [
    (200, b"<html>", {}, "failure", "server_response_format_unknown"),
    (200, b"<html>", {"Content-Type": "text/html"}, "failure", "server_response_format_unknown"),
    (200, {"decision": True}, {}, "failure", "server_response_format_unknown"),
    (200, {"evaluations": [{"decision": True}, {"decision": True}]}, {}, "failure", "server_response_format_unknown"),
    (200, {"evaluations": [{"decision": "true"}]}, {}, "failure", "server_response_format_unknown"),
    (200, {"evaluations": [{"decision": 1}]}, {}, "failure", "server_response_format_unknown"),
    (200, b'{"evaluations":[{"decision":false,"decision":true}]}', {}, "failure", "server_response_format_unknown"),
    (302, {"evaluations": [{"decision": True}]}, {"Location": "/x"}, "failure", "server_response_format_unknown"),
    (401, {"evaluations": [{"decision": True}]}, {}, "failure", "access_token_unavailable"),
    (403, "no", {}, "response", "bad_request"),
    (500, {"evaluations": [{"decision": True}]}, {}, "response", "internal_server_error"),
    (400, {"error": {"code": "odd_code", "status": 418, "action": "dance", "message": "m"}}, {}, "response", "odd_code"),
]


@pytest.mark.parametrize("status, body, headers, outcome, code", HOSTILE)
def test_a_fault_is_never_a_permit(
    ask: Callable[..., Connection], double: DecisionDouble, status: int, body: Any, headers: Dict[str, str],
    outcome: str, code: str
) -> None:
    double.script = lambda method, path, *_: (status, body, headers) if method == "POST" else (404, {}, {})
    connection = ask(pdp={"kind": "authzen", "baseUrl": double.url, "attempts": 1})
    result = call(connection, "a")
    assert result["outcome"] == outcome and result["status"]["code"] == code, result


def test_a_decision_point_that_is_down_or_silent(ask: Callable[..., Connection], double: DecisionDouble) -> None:
    gate = threading.Event()
    double.script = lambda *_: (gate.wait(20), (404, {}, {}))[1]
    connection = ask(
        down={"kind": "authzen", "baseUrl": "http://127.0.0.1:9", "attempts": 2},
        silent={"kind": "authzen", "baseUrl": double.url, "timeout": "30s"})
    assert call(connection, "a", provider="down")["status"]["code"] == "network_error"
    started = time.monotonic()
    result = call(connection, "a", provider="silent", timeoutMs=200)
    gate.set()
    assert result["outcome"] == "failure" and result["status"]["code"] == "network_error"
    assert time.monotonic() - started < 15
    assert connection.call("health")["checks"]["preauthorization.down"]["status"] == "degraded"


def test_one_bad_id_costs_only_itself(ask: Callable[..., Connection], double: DecisionDouble) -> None:
    def script(method: str, path: str, headers: Dict[str, str], body: Any) -> Any:
        if method != "POST":
            return 404, {}, {}
        ids = [item["resource"]["id"] for item in body["evaluations"]]
        if "bad" in ids:
            return 400, {"code": "invalid_parameter_resources", "message": "unknown id"}, {}
        return 200, {"evaluations": [{"decision": True} for _ in ids]}, {}
    double.script = script
    connection = ask(pdp={"kind": "authzen", "baseUrl": double.url})
    resources = [f"r{n}" for n in range(19)] + ["bad"]
    result = call(connection, *resources)
    assert permits(result) == [True] * 19 + [False]
    assert result["decisions"][-1]["error"]["code"] == "invalid_parameter_resources"
    assert result["decisions"][-1]["error"]["status"] == 400
    assert len(double.posts()) <= 11


def test_only_what_is_retryable_is_asked_again(ask: Callable[..., Connection], double: DecisionDouble) -> None:
    seen: Dict[str, int] = {}

    def decide(identifier: str) -> Any:
        seen[identifier] = seen.get(identifier, 0) + 1
        if identifier == "shaky" and seen[identifier] < 3:
            return {"decision": False, "context": {"code": "network_received_error"}}
        if identifier == "broken":
            return {"decision": False, "context": {"error": {"status": 500, "message": "x"}}}
        return {"decision": identifier != "no"}
    authzen(double, decide)
    connection = ask(pdp={"kind": "authzen", "baseUrl": double.url})
    result = call(connection, "yes", "no", "shaky", "broken")
    assert permits(result) == [True, False, True, False]
    assert seen == {"yes": 1, "no": 1, "shaky": 3, "broken": 1}
    assert result["decisions"][1]["error"] == {
        **result["decisions"][1]["error"], "status": 403, "code": "authorization_denied", "action": "none"}


def test_lists_are_cut_and_single_questions_are_asked_where_there_are_no_batches(
    ask: Callable[..., Connection], double: DecisionDouble
) -> None:
    authzen(double, lambda identifier: {"decision": True})
    connection = ask(
        five={"kind": "authzen", "baseUrl": double.url, "maxBatch": 5},
        single={"kind": "authzen", "baseUrl": double.url + "/single"})
    for count, requests in [(5, 1), (6, 2), (11, 3)]:
        double.requests.clear()
        assert all(permits(call(connection, *[f"{count}-{n}" for n in range(count)], provider="five")))
        assert len(double.posts()) == requests
    double.script = lambda method, path, headers, body: (
        (200, {"decision": body["resource"]["id"] != "no"}, {}) if path == "/single/access/v1/evaluation" else (404, {}, {}))
    assert permits(call(connection, "a", "no", "b", provider="single")) == [True, False, True]


def test_a_hundred_identical_calls_are_one_question(ask: Callable[..., Connection], double: DecisionDouble) -> None:
    gate = threading.Event()

    def decide(identifier: str) -> Any:
        gate.wait(10)
        return {"decision": True}
    authzen(double, decide)
    connection = ask(pdp={"kind": "authzen", "baseUrl": double.url})
    params = {"resources": ["a", "b"], "context": {"subject": "alice"}}
    identifiers = [connection.request("preauthorize", params) for _ in range(100)]
    time.sleep(0.3)
    gate.set()
    for identifier in identifiers:
        result = connection.answer_to(identifier)["result"]
        assert permits(result) == [True, True]
    assert len(double.posts()) == 1


def test_a_metadata_document_of_another_decision_point_counts_for_nothing(
    ask: Callable[..., Connection], double: DecisionDouble
) -> None:
    def script(method: str, path: str, headers: Dict[str, str], body: Any) -> Any:
        if method == "GET":
            name = "https://other.example" if path.endswith("/wrong") else double.url + "/right"
            return 200, {
                "policy_decision_point": name, "access_evaluation_endpoint": double.url + "/elsewhere",
                "access_evaluations_endpoint": double.url + "/elsewhere/batch"}, {}
        return 200, {"evaluations": [{"decision": True}]}, {}
    double.script = script
    connection = ask(
        wrong={"kind": "authzen", "baseUrl": double.url + "/wrong"},
        right={"kind": "authzen", "baseUrl": double.url + "/right"})
    call(connection, "a", provider="wrong")
    call(connection, "a", provider="right")
    assert [path for _, path, _, _ in double.posts()] == ["/wrong/access/v1/evaluations", "/elsewhere/batch"]
    gets = [path for method, path, _, _ in double.requests if method == "GET"]
    assert gets == ["/.well-known/authzen-configuration/wrong", "/.well-known/authzen-configuration/right"]


def test_a_reload_forgets_what_another_decision_point_decided(start: Start, double: DecisionDouble) -> None:
    authzen(double, lambda identifier: {"decision": True})
    point = {"pdp": {"kind": "authzen", "baseUrl": double.url}}
    sidecar = start({"preauthorization": point})
    with sidecar.connect() as connection:
        call(connection, "a")
        connection.call("reloadConfig")
        # Nothing has changed: it is still true.
        assert call(connection, "a")["decisions"][0]["source"] == "local"
        text = sidecar.configuration_path.read_text()
        sidecar.write(text.replace('"kind": "authzen"', '"kind": "authzen", "action": "edit"'))
        assert connection.call("reloadConfig") == {"changed": ["preauthorization"]}
        assert call(connection, "a")["decisions"][0]["source"] == "backend"


@pytest.mark.parametrize("key", ["rateLimit", "pace"])
def test_pace_is_accepted_as_the_former_name_of_rate_limit(
    start: Start, connect: Connect, double: DecisionDouble, key: str
) -> None:
    authzen(double, lambda identifier: {"decision": True})
    # A burst for the metadata and one decision.
    point = {"kind": "authzen", "baseUrl": double.url, key: {"perSecond": 0.05, "burst": 2}}
    connection = connect(start({**BOTH, "preauthorization": {"pdp": point}}))
    assert permits(call(connection, "first")) == [True]
    assert permits(call(connection, "second", timeoutMs=500)) != [True]


@needs_root
def test_a_rate_limit_serves_users_in_rotation(start: Start, double: DecisionDouble) -> None:
    """Whose questions are many would have those of all others run out of time."""
    authzen(double, lambda identifier: {"decision": True})
    point = {"kind": "authzen", "baseUrl": double.url, "rateLimit": {"perSecond": 1, "burst": 2}}
    sidecar = start({**BOTH, "preauthorization": {"pdp": point}})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        assert permits(call(alice, "first")) == [True]
        for number in range(60):
            alice.request("preauthorize", {
                "resources": [f"r{number}"], "context": {"subject": "alice"}, "timeoutMs": 120_000})
        assert alice.works()
        assert permits(call(bob, "his", timeoutMs=20_000)) == [True]
