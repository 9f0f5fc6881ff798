"""An authorization endpoint that itself asks for advice before it gives a code, as for a client with a tree of its
own."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, Optional

import pytest

from harness import expect, journeys
from harness.connection import Connection
from harness.journeys import SERVICE, TRANSACTION, filled, types
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually
from test_fetch_advice import RECEIVED, answer, asked, delegates

Start = Callable[..., Sidecar]
YES = {"ConfirmationCallback": "Yes", "PasswordCallback": "alice-password"}
NO = {"ConfirmationCallback": "No"}
REQUIRED = 1017
FAILED = 5005


@pytest.fixture
def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    settings = journeys.settings(playground, directory)
    settings["resources"]["gate"] = {
        "baseUrl": playground.base + "/gateway/", "issuer": "am", "auth": "user", "scope": "orders"}
    return settings


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any]) -> Sidecar:
    return start(settings)


def tree(playground: Playground, name: Optional[str] = "transaction") -> None:
    journeys.control(playground, clientTree=name)


def create(connection: Connection, token: str, code: int = REQUIRED) -> Dict[str, Any]:
    params = {"issuer": "am", "grant": {"type": "sso", "ssoToken": token}}
    return expect.fault(connection.error("createSession", params), code)


def walk(connection: Connection, data: Dict[str, Any], answers: Dict[str, Any] = YES) -> Dict[str, Any]:
    params = {"continuation": data["continuation"], "answers": answers}
    return connection.call("authenticateWithAdvice", params)


def refused(connection: Connection, data: Dict[str, Any], answers: Dict[str, Any] = YES) -> Dict[str, Any]:
    params = {"continuation": data["continuation"], "answers": answers}
    return expect.fault(connection.error("authenticateWithAdvice", params), FAILED)


def orders(connection: Connection, session: str) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": "mine", "path": "orders", "session": session})


def stale(connection: Connection, playground: Playground) -> str:
    """A session whose next token needs another authorization."""
    session = journeys.session(connection, playground)
    playground.faults(revokeTokens=True, revokeRefreshTokens=True)
    playground.request("DELETE", "/playground/statistics")
    return session


def test_a_session_is_made_after_the_advice_of_its_authorization(
    connection: Connection, playground: Playground, sidecar: Sidecar
) -> None:
    tree(playground)
    token = journeys.sign_on(playground)
    data = create(connection, token)
    assert data["advice"]["type"] == TRANSACTION and data["advices"] == [data["advice"]]
    assert data["retryable"] is False and expect.RFC3339_MILLISECONDS.match(data["expiresAt"])
    assert connection.call("listSessions") == {"sessions": []}
    step = connection.call("authenticateWithAdvice", {"continuation": data["continuation"]})
    assert types(step) == ["TextOutputCallback", "ConfirmationCallback"]
    params = {"continuation": step["continuation"], "callbacks": filled(step, 0)}
    result = connection.call("authenticateWithAdvice", params)
    assert set(result) == {"state", "session", "sessionUpgraded", "txId"} and result["state"] == "completed"
    assert result["txId"] == data["advice"]["txId"] and result["sessionUpgraded"] is False
    described = connection.call("getSession", {"session": result["session"]})
    assert described["subject"] == "user-1001" and orders(connection, result["session"])["status"] == 200
    statistics = playground.statistics()
    assert statistics["ssoAuthorizations"] == 2 and statistics["codesIssued"] == 1
    assert journeys.is_signed_on(playground, token) and token not in sidecar.log()
    expect.fault(connection.error("authenticateWithAdvice", {"continuation": data["continuation"]}), 3002)


def test_a_tree_that_replaces_the_login_gives_its_token(connection: Connection, playground: Playground) -> None:
    tree(playground, "service")
    token = journeys.sign_on(playground)
    data = create(connection, token)
    assert data["advice"]["type"] == SERVICE
    result = walk(connection, data)
    assert result["state"] == "completed" and orders(connection, result["session"])["status"] == 200
    # The session has the new login: it renews it.
    playground.faults(revokeRefreshTokens=True)
    assert connection.call("refreshSession", {"session": result["session"]})["session"] == result["session"]
    assert connection.call("endSession", {"session": result["session"]})["upstream"] == "ended"


def test_what_the_user_declines_gives_no_session(connection: Connection, playground: Playground) -> None:
    tree(playground)
    token = journeys.sign_on(playground)
    data = create(connection, token)
    assert refused(connection, data, NO)["upstream"] == {"code": "interaction_required"}
    assert playground.statistics()["codesIssued"] == 0 and connection.call("listSessions") == {"sessions": []}
    # The login is the caller's, and as good as it was.
    assert journeys.is_signed_on(playground, token)
    assert walk(connection, create(connection, token))["state"] == "completed"


def test_a_second_advice_is_one_too_many(connection: Connection, playground: Playground) -> None:
    tree(playground, "again")
    data = create(connection, journeys.sign_on(playground))
    assert refused(connection, data)["upstream"] == {"code": "interaction_required"}
    assert playground.statistics()["ssoAuthorizations"] == 2


@pytest.mark.parametrize("name, code", [
    ("foreignLogin", "redirect_uri_mismatch"), ("foreignGoto", "invalid_goto"), ("otherGoto", "invalid_goto"),
    ("otherPath", "invalid_goto"),
])
def test_what_leads_elsewhere_is_not_followed(
    connection: Connection, playground: Playground, sidecar: Sidecar, name: str, code: str
) -> None:
    tree(playground, name)
    before = playground.statistics()["authenticateRequests"]
    data = create(connection, journeys.sign_on(playground), FAILED)
    assert data["upstream"] == {"code": code} and "continuation" not in data
    sidecar.awaits_log("is not followed")
    assert playground.statistics()["authenticateRequests"] == before


def test_a_login_goes_on_to_the_advice_of_its_authorization(connection: Connection, playground: Playground) -> None:
    tree(playground)
    step = journeys.begin(connection, answers={"NameCallback": "alice", "PasswordCallback": "alice-password"})
    assert types(step) == ["TextOutputCallback", "ConfirmationCallback"]
    result = journeys.go_on(connection, step, 0)
    assert result["state"] == "completed" and orders(connection, result["session"])["status"] == 200
    # Declined: nobody is left signed on.
    ended = playground.statistics()["ssoLogouts"]
    step = journeys.begin(connection, answers={"NameCallback": "alice", "PasswordCallback": "alice-password"})
    params = {"continuation": step["continuation"], "callbacks": filled(step, 1)}
    expect.fault(connection.error("authenticate", params), FAILED)
    assert playground.statistics()["ssoLogouts"] == ended + 1


def test_a_step_up_goes_on_to_the_advice_of_its_exchange(connection: Connection, playground: Playground) -> None:
    session = journeys.session(connection, playground)
    tree(playground)
    advice = {"type": SERVICE, "value": "ConfirmPassword"}
    step = connection.call("authenticateWithAdvice", {"session": session, "advice": advice, "answers": {
        "PasswordCallback": "alice-password"}})
    assert types(step) == ["TextOutputCallback", "ConfirmationCallback"]
    assert orders(connection, session)["status"] == 200, "until then the session is as it was"
    result = journeys.go_on(connection, step, 0)
    assert result["state"] == "completed" and result["sessionUpgraded"] is True
    assert result["session"] == session and orders(connection, session)["status"] == 200
    # Declined: the session has its tokens, and the newer login.
    tree(playground)
    step = connection.call("authenticateWithAdvice", {
        "session": session, "advice": {"type": "AuthLevelConditionAdvice", "value": "5"},
        "answers": {"PasswordCallback": "123456"}})
    params = {"continuation": step["continuation"], "callbacks": filled(step, 1)}
    expect.fault(connection.error("authenticate", params), FAILED)
    assert orders(connection, session)["status"] == 200
    tree(playground, None)
    playground.faults(revokeRefreshTokens=True)
    assert connection.call("refreshSession", {"session": session})["acr"] == "mfa"


def test_a_renewal_asks_once_and_goes_on(connection: Connection, playground: Playground) -> None:
    session = stale(connection, playground)
    tree(playground)
    data = expect.fault(connection.error("refreshSession", {"session": session}), REQUIRED)
    again = expect.fault(connection.error("refreshSession", {"session": session}), REQUIRED)
    # The same transaction for everybody who needs the token.
    assert again["advice"] == data["advice"] and again["continuation"] != data["continuation"]
    result = walk(connection, again)
    assert result["session"] == session and result["sessionUpgraded"] is True
    assert result["txId"] == data["advice"]["txId"] and orders(connection, session)["status"] == 200
    statistics = playground.statistics()
    assert statistics["ssoAuthorizations"] == 2 and statistics["codesIssued"] == 1
    # It is good once.
    expect.fault(connection.error("authenticateWithAdvice", {"continuation": data["continuation"]}), 3005)
    assert orders(connection, session)["status"] == 200


def test_a_declined_renewal_is_asked_for_anew(connection: Connection, playground: Playground) -> None:
    session = stale(connection, playground)
    tree(playground)
    first = expect.fault(connection.error("refreshSession", {"session": session}), REQUIRED)
    refused(connection, first, NO)
    second = expect.fault(connection.error("refreshSession", {"session": session}), REQUIRED)
    assert second["advice"]["txId"] != first["advice"]["txId"]
    tree(playground, None)
    # Asked for under the tree, and given without it: the session is renewed all the same.
    assert walk(connection, second)["sessionUpgraded"] is True


def test_a_fetch_stops_at_the_advice_of_its_token_and_goes_on(connection: Connection, playground: Playground) -> None:
    session = stale(connection, playground)
    tree(playground)
    params = {"resource": "mine", "path": "echo?a=1", "session": session, "method": "POST", "body": "10 coins"}
    data = expect.fault(connection.error("fetchResource", params), REQUIRED)
    assert data["advice"]["type"] == TRANSACTION and data["response"]["status"] == 401
    result = walk(connection, data)
    assert result["continuation"] == data["continuation"] and result["sessionUpgraded"] is True
    result = connection.call("fetchResource", {"continuation": data["continuation"]})
    came = json.loads(result["body"])
    # The transaction was the token's: the resource hears nothing of it.
    assert result["status"] == 200 and came["query"] == "a=1" and came["body"] == "10 coins"
    assert result["advicesSatisfied"] == [data["advice"]] and playground.statistics()["codesIssued"] == 1


def test_a_fetch_without_any_token_has_sent_nothing(
    connection: Connection, playground: Playground
) -> None:
    session = journeys.session(connection, playground)
    playground.faults(revokeRefreshTokens=True)
    connection.call("revokeToken", {"session": session})
    tree(playground)
    playground.request("DELETE", "/playground/statistics")
    params = {"resource": "mine", "path": "orders", "session": session}
    data = expect.fault(connection.error("fetchResource", params), REQUIRED)
    assert data["outcome"] == "not_sent" and "response" not in data
    assert walk(connection, data)["sessionUpgraded"] is True
    assert connection.call("fetchResource", {"continuation": data["continuation"]})["status"] == 200


def test_a_delegate_satisfies_the_advice_of_a_token_for_all_that_wait(
    connection: Connection, playground: Playground
) -> None:
    session = stale(connection, playground)
    tree(playground)
    delegates(connection, RECEIVED)
    params = {"resource": "mine", "path": "orders", "session": session}
    fetches = [connection.request("fetchResource", params) for _ in range(20)]
    request = asked(connection, RECEIVED)
    assert request["params"]["session"] == session and request["params"]["advices"][0]["type"] == TRANSACTION
    assert walk(connection, request["params"])["sessionUpgraded"] is True
    answer(connection, request, {"satisfied": True})
    for fetch in fetches:
        assert connection.answer_to(fetch)["result"]["status"] == 200
    assert [m for m in connection.others() if isinstance(m, dict) and m.get("method") == RECEIVED] == []
    assert playground.statistics()["codesIssued"] == 1


def test_a_delegate_that_only_says_so_ends_the_fetch(connection: Connection, playground: Playground) -> None:
    session = stale(connection, playground)
    tree(playground)
    delegates(connection, RECEIVED)
    params = {"resource": "mine", "path": "orders", "session": session}
    fetch = connection.request("fetchResource", params)
    answer(connection, asked(connection, RECEIVED), {"satisfied": True})
    expect.fault(connection.answer_to(fetch)["error"], 1018)
    fetch = connection.request("fetchResource", params)
    answer(connection, asked(connection, RECEIVED), {"satisfied": False})
    assert expect.fault(connection.answer_to(fetch)["error"], 1018)["response"]["status"] == 401


def test_advice_for_the_token_goes_before_the_resources_own(connection: Connection, playground: Playground) -> None:
    session = stale(connection, playground)
    tree(playground)
    params = {"resource": "gate", "path": "transaction/pay", "session": session}
    data = expect.fault(connection.error("fetchResource", params), REQUIRED)
    walk(connection, data)
    data = expect.fault(connection.error("fetchResource", {"continuation": data["continuation"]}), REQUIRED)
    assert data["response"]["status"] == 401 and data["advice"]["type"] == TRANSACTION
    walk(connection, data)
    result = connection.call("fetchResource", {"continuation": data["continuation"]})
    assert result["status"] == 200 and len(result["advicesSatisfied"]) == 2


def test_replaced_tokens_are_revoked_behind_the_fetches_that_carry_them(
    connection: Connection, sidecar: Sidecar, playground: Playground
) -> None:
    old = journeys.sign_on(playground)
    session = connection.call("createSession", {"issuer": "am", "grant": {"type": "sso", "ssoToken": old}})["session"]
    playground.request("DELETE", "/playground/statistics")
    other = sidecar.connect()
    slow = other.request("fetchResource", {
        "resource": "mine", "path": "slow?ms=5000", "session": session})
    eventually(lambda: playground.statistics()["resourceRequests"] >= 1)
    result = connection.call("authenticateWithAdvice", {
        "session": session, "advice": {"type": SERVICE, "value": "ConfirmPassword"}, "answers": YES})
    assert result["sessionUpgraded"] is True and orders(connection, session)["status"] == 200
    assert playground.statistics()["revocationRequests"] == 0
    # The check behind the wait finds the token good: it was not taken away under the request.
    assert other.answer_to(slow)["result"]["status"] == 200
    eventually(lambda: playground.statistics()["revocationRequests"] == 2)
    assert orders(connection, session)["status"] == 200
    eventually(lambda: not journeys.is_signed_on(playground, old), what="the old login's end")
    assert playground.statistics()["ssoLogouts"] <= 1
    other.close()


def test_a_revocation_that_fails_costs_nothing(connection: Connection, playground: Playground, sidecar: Sidecar) -> None:
    session = journeys.session(connection, playground)
    playground.faults(revocation={"kind": "unavailable"})
    result = connection.call("authenticateWithAdvice", {
        "session": session, "advice": {"type": SERVICE, "value": "ConfirmPassword"}, "answers": YES})
    assert result["state"] == "completed" and result["sessionUpgraded"] is True
    assert orders(connection, session)["status"] == 200
    sidecar.awaits_log("replaced cannot be revoked")


def test_a_step_up_that_gives_no_tokens_leaves_those_there_are(connection: Connection, playground: Playground) -> None:
    session = journeys.session(connection, playground)
    playground.request("DELETE", "/playground/statistics")
    playground.faults(token={"kind": "unavailable", "times": 1})
    params = {"session": session, "advice": {"type": SERVICE, "value": "ConfirmPassword"}, "answers": YES}
    assert connection.error("authenticateWithAdvice", params)["code"] == 5003
    assert orders(connection, session)["status"] == 200
    statistics = playground.statistics()
    assert statistics["revocationRequests"] == 0 and statistics["ssoLogouts"] == 0
    # The refresh token is as good as it was.
    assert connection.call("refreshSession", {"session": session})["session"] == session
