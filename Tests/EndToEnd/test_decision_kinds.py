"""Section 4.2 with an access manager's policies, by recorded shapes of the tests' own, and with an operator's rule."""
from __future__ import annotations

import json
import time
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.decisions import DecisionDouble
from harness.sidecar import Sidecar
from test_preauthorize import call, codes, permits

Start = Callable[..., Sidecar]
EVALUATE = "/am/json/realms/root/realms/alpha/policies?_action=evaluate"
LOGIN = "/am/json/realms/root/realms/alpha/authenticate"
FOREVER = 9223372036854775807


@pytest.fixture
def manager() -> Iterator[DecisionDouble]:
    started = DecisionDouble(lambda *_: (404, {}, {}))
    yield started
    started.stop()


@pytest.fixture
def connect_to(start: Start, manager: DecisionDouble, directory: Any) -> Iterator[Callable[..., Connection]]:
    opened: List[Connection] = []

    def connect_to(**changes: Any) -> Connection:
        (directory / "sso").write_text("evaluator-token")
        (directory / "name").write_text("amadmin")
        (directory / "password").write_text("secret-word")
        for name in ("sso", "name", "password"):
            (directory / name).chmod(0o600)
        point = {
            "kind": "access-manager", "baseUrl": manager.url + "/am", "realm": "alpha", "action": "GET",
            "application": "tv", "credentials": {"ssoTokenFile": str(directory / "sso")}, **changes}
        opened.append(start({"preauthorization": {"am": point}}).connect())
        return opened[-1]

    yield connect_to
    for connection in opened:
        connection.close()


def row(resource: str, actions: Any, advices: Any = (), ttl: Any = FOREVER) -> Dict[str, Any]:
    return {"resource": resource, "actions": actions, "attributes": {}, "advices": list(advices) or advices or [], "ttl": ttl}


def test_rows_in_any_order_empty_maps_and_advices(
    connect_to: Callable[..., Connection], manager: DecisionDouble
) -> None:
    rows = [
        {"resource": "https://tv/c", "actions": {}, "advices": {"AuthLevelConditionAdvice": ["5"]}, "ttl": 0},
        row("https://tv/b", []), row("https://tv/a", {"GET": True}), row("https://tv/d", {"GET": False, "POST": True}),
        row("https://tv/e", {"GET": "true"}), row("https://tv/f", {"GET": True}), row("https://tv/f", {"GET": False}),
        row("https://tv/g", {"GET": True}, ttl=0), row("https://tv/h", {"GET": True}, ttl=1000),
        row("https://tv/i", {"GET": True}, ttl=int(time.time() * 1000) + 2000),
    ]
    manager.script = lambda *_: (200, rows, {})
    connection = connect_to()
    names = [f"https://tv/{letter}" for letter in "abcdefghix"]
    result = call(connection, *names, context={"IP": "192.0.2.1", "TxId": ["t"], "n": 7})
    assert permits(result) == [True, False, False, False, False, False, True, True, True, False]
    assert codes(result)[1:6] == [
        "authorization_denied", "advice_required", "authorization_denied", "server_response_format_unknown",
        "server_response_format_unknown"]
    assert codes(result)[9] == "server_response_format_unknown"
    advised = result["decisions"][2]["error"]
    assert advised["action"] == "authentication" and advised["status"] == 403
    # What authenticateWithAdvice takes as it is.
    assert json.loads(advised["details"]) == {"advices": {"AuthLevelConditionAdvice": ["5"]}}
    method, path, headers, body = manager.posts()[0]
    assert path == EVALUATE and headers["iplanetdirectorypro"] == "evaluator-token"
    assert headers["accept-api-version"] == "resource=2.1, protocol=1.0"
    assert body == {
        "resources": names, "application": "tv", "subject": {"claims": {"sub": "alice"}},
        "environment": {"IP": ["192.0.2.1"], "TxId": ["t"], "n": ["7"]}}
    # For ever is as long as the configuration says, no time at all is not kept.
    again = call(connection, "https://tv/a", "https://tv/g", context={"IP": "192.0.2.1", "TxId": ["t"], "n": 7})
    assert [decision["source"] for decision in again["decisions"]] == ["local", "backend"]


def test_an_evaluator_logs_in_when_needed_and_once_more_when_its_session_has_ended(
    connect_to: Callable[..., Connection], manager: DecisionDouble, directory: Any
) -> None:
    tokens: List[str] = []

    def script(method: str, path: str, headers: Dict[str, str], body: Any) -> Any:
        if path == LOGIN and not body.get("callbacks"):
            return 200, {"authId": "x", "callbacks": [
                {"type": "NameCallback", "output": [], "input": [{"name": "IDToken1", "value": ""}]},
                {"type": "PasswordCallback", "output": [], "input": [{"name": "IDToken2", "value": ""}]}]}, {}
        if path == LOGIN:
            filled = [callback["input"][0]["value"] for callback in body["callbacks"]]
            if filled != ["amadmin", "secret-word"] or body["authId"] != "x":
                return 401, {"code": 401, "reason": "Unauthorized"}, {}
            tokens.append(f"token-{len(tokens)}")
            return 200, {"tokenId": tokens[-1]}, {}
        if headers.get("iplanetdirectorypro") == "token-0":
            return 401, {"code": 401, "reason": "Unauthorized", "message": "Access Denied"}, {}
        return 200, [row("a", {"GET": True})], {}
    manager.script = script
    connection = connect_to(credentials={
        "usernameFile": str(directory / "name"), "passwordFile": str(directory / "password")})
    assert permits(call(connection, "a")) == [True]
    assert tokens == ["token-0", "token-1"]
    assert permits(call(connection, "a", disableFeatures=["LOCAL_CACHE"])) == [True]
    assert len(tokens) == 2


@pytest.mark.parametrize("answer, outcome, code", [
    ((401, {}, {}), "failure", "access_token_unavailable"),
    ((200, {"resource": "a", "actions": {"GET": True}}, {}), "failure", "server_response_format_unknown"),
    ((200, [{"actions": {"GET": True}}], {}), "failure", "server_response_format_unknown"),
    ((403, {"code": 403, "reason": "Forbidden"}, {}), "response", "bad_request"),
    ((503, b"<html>", {"Content-Type": "text/html"}), "response", "internal_server_error"),
])
def test_a_fault_of_the_access_manager_is_no_decision(
    connect_to: Callable[..., Connection], manager: DecisionDouble, answer: Any, outcome: str, code: str
) -> None:
    manager.script = lambda *_: answer
    result = call(connect_to(attempts=1), "a")
    assert result["outcome"] == outcome and result["status"]["code"] == code
    assert "evaluator-token" not in json.dumps(result)


@pytest.mark.parametrize("rule, permitted", [("permit-all", True), ("deny-all", False)])
def test_an_operators_rule_answers_until_it_ends(
    connect_to: Callable[..., Connection], manager: DecisionDouble, rule: str, permitted: bool
) -> None:
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 8))
    manager.script = lambda *_: (200, [row("a", {"GET": not permitted})], {})
    connection = connect_to(degradation={"rule": rule, "until": until})
    result = call(connection, "a", "a")
    assert permits(result) == [permitted] * 2
    assert {decision["source"] for decision in result["decisions"]} == {"degradation"}
    if not permitted:
        assert set(codes(result)) == {"authorization_denied_by_degradation_rule"}
    check = connection.call("health")["checks"]["preauthorization.am"]
    assert check["status"] == "degraded" and until[:-1] in check["detail"]
    assert manager.posts() == []
    deadline = time.monotonic() + 30
    while connection.call("health")["checks"]["preauthorization.am"]["status"] == "degraded":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    after = call(connection, "a")
    assert permits(after) == [not permitted] and after["decisions"][0]["source"] == "backend"
