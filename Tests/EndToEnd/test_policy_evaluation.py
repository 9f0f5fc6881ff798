"""Section 4.2 against the policies of the playground's access manager, and the way from an advice to a permit."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from harness import journeys
from harness.connection import Connection
from harness.journeys import LEVEL, SERVICE, TRANSACTION
from harness.playground import Playground
from harness.sidecar import Sidecar
from test_preauthorize import codes, permits

Start = Callable[..., Sidecar]
ANSWERS = {"ConfirmationCallback": "Yes", "PasswordCallback": "alice-password"}
SHOP = "https://shop.test/"


def private(directory: Path, name: str, text: str) -> str:
    path = directory / name
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    settings = journeys.settings(playground, directory)
    settings["preauthorization"] = {"policies": {
        "kind": "access-manager", "baseUrl": playground.base + "/am", "issuer": "am", "action": "GET",
        "cookieName": "playgroundSSO", "attempts": 1, "cache": {"permit": "5m"}, "credentials": {
            "usernameFile": private(directory, "warden", "warden"),
            "passwordFile": private(directory, "warden-password", "warden-password")}}}
    return settings


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any]) -> Sidecar:
    return start(settings)


@pytest.fixture
def session(connection: Connection, playground: Playground) -> str:
    return journeys.session(connection, playground)


def ask(connection: Connection, *resources: str, **params: Any) -> Dict[str, Any]:
    names = [resource if "://" in resource else SHOP + resource for resource in resources]
    result = connection.call("preauthorize", {"resources": names, **params})
    assert result["outcome"] == "failure" or "status" in result or [d["id"] for d in result["decisions"]] == names
    return result


def advices(decision: Dict[str, Any]) -> List[Dict[str, str]]:
    """What `authenticateWithAdvice` takes, out of a decision's error."""
    assert decision["error"]["code"] == "advice_required" and decision["error"]["action"] == "authentication"
    found = json.loads(decision["error"]["details"])["advices"]
    return [{"type": kind, "value": value} for kind, values in found.items() for value in values]


def satisfy(connection: Connection, session: str, decision: Dict[str, Any], **answers: Any) -> Dict[str, Any]:
    result = connection.call("authenticateWithAdvice", {
        "session": session, "advices": advices(decision), "answers": answers or ANSWERS})
    assert result["state"] == "completed", result
    return result


def test_a_transaction_from_its_advice_to_its_permit(
    connection: Connection, playground: Playground, sidecar: Sidecar, session: str
) -> None:
    denied = ask(connection, "transaction/pay", session=session)["decisions"][0]
    assert denied["authorized"] is False and "expiresAt" not in denied
    (advice,) = advices(denied)
    assert advice["type"] == TRANSACTION
    result = satisfy(connection, session, denied)
    assert result["txId"] == advice["value"] and result["sessionUpgraded"] is False
    context = {"TxId": [advice["value"]]}
    # Without it, and for another resource, it is no permit; nor does that use it up.
    (other,) = ask(connection, "transaction/other", context=context, session=session)["decisions"]
    assert advices(other)[0]["value"] != advice["value"]
    (permit,) = ask(connection, "transaction/pay", context=context, session=session)["decisions"]
    assert permit["authorized"] is True and permit["source"] == "backend"
    # Good once, and remembered nowhere.
    (again,) = ask(connection, "transaction/pay", context=context, session=session)["decisions"]
    assert again["source"] == "backend" and advices(again)[0]["value"] != advice["value"]
    assert playground.statistics()["policyEvaluations"] == 4
    assert advice["value"] not in sidecar.log()


def test_a_declined_transaction_is_no_permit(connection: Connection, playground: Playground, session: str) -> None:
    (denied,) = ask(connection, "transaction/pay", session=session)["decisions"]
    result = satisfy(connection, session, denied, ConfirmationCallback="No")
    # The access manager tells nothing of it: only the next evaluation does.
    (still,) = ask(connection, "transaction/pay", context={"TxId": [result["txId"]]}, session=session)["decisions"]
    assert still["authorized"] is False and advices(still)[0]["value"] != result["txId"]


def test_another_users_transaction_is_no_permit(connection: Connection, playground: Playground, session: str) -> None:
    bob = journeys.session(connection, playground, "bob")
    (denied,) = ask(connection, "transaction/pay", session=session)["decisions"]
    result = satisfy(connection, session, denied)
    context = {"TxId": [result["txId"]]}
    assert permits(ask(connection, "transaction/pay", session=bob, context=context)) == [False]
    assert permits(ask(connection, "transaction/pay", session=session, context=context)) == [True]


@pytest.mark.parametrize("resource, kind, answers", [
    ("service/x", SERVICE, {"PasswordCallback": "alice-password"}),
    ("level/x", LEVEL, {"PasswordCallback": "123456"}),
])
def test_a_step_up_turns_the_deny_into_a_permit_that_is_remembered(
    connection: Connection, playground: Playground, session: str, resource: str, kind: str, answers: Dict[str, str]
) -> None:
    first = ask(connection, "open/x", resource, session=session)
    assert permits(first) == [True, False] and advices(first["decisions"][1])[0]["type"] == kind
    result = satisfy(connection, session, first["decisions"][1], **answers)
    assert result["sessionUpgraded"] is True
    # What was decided about the login of before is not used any more.
    second = ask(connection, "open/x", resource, session=session)
    assert permits(second) == [True, True]
    assert {decision["source"] for decision in second["decisions"]} == {"backend"}
    third = ask(connection, "open/x", resource, session=session)
    assert {decision["source"] for decision in third["decisions"]} == {"local"}


def test_both_take_two_rounds(connection: Connection, playground: Playground, session: str) -> None:
    context: Dict[str, Any] = {}
    for kind in [SERVICE, TRANSACTION]:
        (denied,) = ask(connection, "both/pay", context=context, session=session)["decisions"]
        assert [advice["type"] for advice in advices(denied)] == [kind]
        result = satisfy(connection, session, denied)
        context = {"TxId": [result["txId"]]} if "txId" in result else {}
    assert permits(ask(connection, "both/pay", context=context, session=session)) == [True]


@pytest.mark.parametrize("empty", [False, True])
def test_rows_of_every_kind_in_one_answer(
    connection: Connection, playground: Playground, session: str, empty: bool
) -> None:
    journeys.control(playground, emptyArrays=empty)
    names = ["open/a", "denied/b", "nobody/c", "service/d", "transaction/e", "open/f?x=1", "open/a"]
    result = ask(connection, *names, session=session)
    assert permits(result) == [True, False, False, False, False, True, True]
    assert codes(result)[1:5] == ["authorization_denied", "authorization_denied", "advice_required", "advice_required"]


def test_a_subject_without_a_login_is_told_by_claims(connection: Connection, playground: Playground) -> None:
    tokens = connection.call("createSession", {
        "issuer": "am", "grant": {"type": "sso", "ssoToken": journeys.sign_on(playground)}})
    playground.request("DELETE", "/playground/ssoTokens")
    # Signed off meanwhile: no decision, which is a deny.
    inactive = ask(connection, "open/x", session=tokens["session"])
    assert permits(inactive) == [False] and codes(inactive) == ["authorization_denied"]


def test_faults_are_no_decisions(connection: Connection, playground: Playground, session: str) -> None:
    for kind, outcome in [
        ("serverError", "response"), ("unavailable", "response"), ("malformedJSON", "failure"), ("html", "failure"),
        ("contradiction", "response"),
    ]:
        playground.faults(policies={"kind": kind, "times": 1})
        result = ask(connection, "open/" + kind, session=session)
        assert result["outcome"] == outcome and True not in permits(result), (kind, result)
        assert permits(ask(connection, "open/" + kind, session=session)) == [True]


def test_an_evaluators_session_that_has_ended_is_replaced(
    connection: Connection, playground: Playground, session: str
) -> None:
    assert permits(ask(connection, "open/a", session=session)) == [True]
    before = playground.statistics()["authenticateRequests"]
    playground.faults(policies={"kind": "emptyUnauthorized", "times": 1})
    assert permits(ask(connection, "open/b", session=session)) == [True]
    assert playground.statistics()["authenticateRequests"] == before + 2


@pytest.mark.parametrize("change, code", [
    ({"credentials": ("alice", "alice-password")}, None), ({"credentials": ("warden", "wrong")}, "access_token_unavailable"),
    ({"application": "nobody"}, None),
])
def test_who_may_not_evaluate_and_what_is_unknown(
    start: Start, settings: Dict[str, Any], playground: Playground, directory: Path, change: Dict[str, Any], code: Any
) -> None:
    point = settings["preauthorization"]["policies"]
    if "credentials" in change:
        name, password = change["credentials"]
        point["credentials"] = {
            "usernameFile": private(directory, "n", name), "passwordFile": private(directory, "p", password)}
    else:
        point.update(change)
    connection = start(settings).connect()
    session = journeys.session(connection, playground)
    result = ask(connection, "open/x", session=session)
    assert True not in permits(result) and (result.get("status") or code is None), result
    assert code is None or result["status"]["code"] == code
    connection.close()
