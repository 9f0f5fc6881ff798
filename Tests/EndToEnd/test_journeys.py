"""Section 4.4: `authenticate` and `authenticateWithAdvice`, against the playground's access manager."""
from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Callable, Dict
from urllib.parse import parse_qs, urlsplit

import pytest

from harness import expect, journeys
from harness.connection import Connection
from harness.journeys import LEVEL, SERVICE, TRANSACTION, begin, filled, go_on, types
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]
ALICE = {"NameCallback": "alice", "PasswordCallback": "alice-password"}


@pytest.fixture
def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    return journeys.settings(playground, directory)


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any]) -> Sidecar:
    return start(settings)


def step_up(connection: Connection, session: str, *advices: Any, **more: Any) -> Dict[str, Any]:
    given = [{"type": kind, "value": value} for kind, value in advices]
    params: Dict[str, Any] = {"session": session, **more}
    params["advices" if len(given) > 1 else "advice"] = given if len(given) > 1 else given[0]
    return connection.call("authenticateWithAdvice", params)


def fetch(connection: Connection, session: str) -> int:
    params = {"resource": "mine", "path": "orders", "session": session}
    return connection.call("fetchResource", params)["status"]


def test_a_login_step_by_step(connection: Connection, sidecar: Sidecar) -> None:
    step = begin(connection)
    assert types(step) == ["NameCallback", "PasswordCallback"]
    assert step["stage"] == "UsernamePassword" and step["header"] == "Sign In" and "<a href" in step["description"]
    assert expect.RFC3339_MILLISECONDS.match(step["expiresAt"])
    assert "authId" not in json.dumps(step) and len(step["continuation"]) == 43
    result = go_on(connection, step, "alice", "alice-password")
    assert set(result) == {"state", "session", "sessionUpgraded"} and result["state"] == "completed"
    assert result["sessionUpgraded"] is False
    described = connection.call("getSession", {"session": result["session"]})
    assert described["subject"] == "user-1001" and described["kind"] == "user"
    assert fetch(connection, result["session"]) == 200
    assert "alice-password" not in sidecar.log()


def test_answers_spare_the_round_trips(connection: Connection, playground: Playground) -> None:
    for tree, answers in [
        (None, ALICE),
        ("Login", {"IDToken1": "alice", "1": "alice-password"}),
        ("Choice", {**ALICE, "ChoiceCallback": "password"}),
        ("Push", ALICE),
    ]:
        result = begin(connection, tree, answers=answers)
        assert result["state"] == "completed", (tree, result)
        assert fetch(connection, result["session"]) == 200
    assert connection.call("authenticate", {"issuer": "am", "service": "Login", "answers": ALICE})["session"]


def test_what_was_wrong_once_is_not_answered_again(connection: Connection, playground: Playground) -> None:
    before = playground.statistics()["authenticateRequests"]
    step = begin(connection, "Otp", answers={"NameCallback": "alice", "PasswordCallback": "alice-password"})
    # The same answer would not do for the one-time password, and is not tried a second time.
    assert types(step) == ["PasswordCallback"] and step["callbacks"][0]["output"][0]["value"] == "One Time Password"
    assert playground.statistics()["authenticateRequests"] == before + 3
    step = go_on(connection, step, "999999")
    result = go_on(connection, step, "123456")
    assert result["state"] in ("completed", "failed")
    step = begin(connection, "Otp")
    step = go_on(connection, step, "alice", "alice-password")
    result = go_on(connection, step, "123456")
    assert result["state"] == "completed"
    assert connection.call("getSession", {"session": result["session"]})["acr"] == "mfa"


def test_a_refusal_is_a_result(connection: Connection) -> None:
    result = go_on(connection, begin(connection), "alice", "wrong")
    assert result == {
        "state": "failed",
        "error": {"code": 401, "message": "Login failure", "detail": {"failureUrl": "https://am.test/failed"}},
    }
    assert begin(connection, "NoSuchTree")["state"] == "failed"
    assert connection.call("listSessions") == {"sessions": []}


def test_a_continuation_is_good_once_for_one_peer_on_any_connection(sidecar: Sidecar) -> None:
    first, second = sidecar.connect("stream"), sidecar.connect("headers")
    step = begin(first)
    first.close()
    callbacks = filled(step, "alice", "alice-password")
    wrong = [
        ([], "/callbacks"),
        (callbacks[:1], "/callbacks"),
        (callbacks[::-1], "/callbacks/0/type"),
        (callbacks + callbacks, "/callbacks"),
        ([{}, {}], "/callbacks/0/type"),
        ([1, 2], "/callbacks/0/type"),
    ]
    for given, path in wrong:
        params = {"continuation": step["continuation"], "callbacks": given}
        expect.fault(second.error("authenticate", params), -32602, path)
    expect.fault(second.error("authenticate", {"continuation": step["continuation"]}), -32602, "/callbacks")
    assert go_on(second, step, "alice", "alice-password")["state"] == "completed"
    for continuation in [step["continuation"], "x" * 43, "x", ""]:
        params = {"continuation": continuation, "callbacks": callbacks}
        expect.fault(second.error("authenticate", params), 3002, "/continuation")
        expect.fault(second.error("authenticateWithAdvice", params), 3002, "/continuation")
    second.close()


def test_callbacks_of_every_kind_pass_untouched(connection: Connection) -> None:
    step = begin(connection, "Everything", answers=ALICE)
    assert types(step) == [
        "MetadataCallback", "HiddenValueCallback", "StringAttributeInputCallback", "FutureCallback",
    ]
    text = json.dumps(step["callbacks"])
    assert text.index('"_id"') < text.index('"output"') < text.index('"zeta"')
    assert step["callbacks"][0]["zeta"] == [1.5, 1e300, -0.25, "é\u2028"]
    assert step["callbacks"][3] == {
        "type": "FutureCallback", "what": {"b": None, "a": [[]]}, "input": [{"name": "IDToken4", "value": {}}],
    }
    result = go_on(connection, step, "print", "a@b.test", {"b": [None], "a": 1.5})
    assert result["state"] == "completed"
    answers = {
        **ALICE, "fingerprint": "print", "mail": {"IDToken3": "a@b.test", "validateOnly": False},
        "FutureCallback": {"IDToken4": {"b": [None], "a": 1.5}},
    }
    assert begin(connection, "Everything", answers=answers)["state"] == "completed"


def test_polling_waits_as_long_as_it_is_told(connection: Connection, playground: Playground) -> None:
    journeys.control(playground, pollWaitMs=2000)
    step = begin(connection, "Push")
    began = time.monotonic()
    step = go_on(connection, step, "alice", "alice-password")
    assert types(step) == ["PollingWaitCallback"] and step["callbacks"][0]["output"][0]["value"] == "2000"
    step = go_on(connection, step)
    assert types(step) == ["PollingWaitCallback"] and time.monotonic() - began >= 2
    # A wait that would last longer than the call is the caller's to make.
    expect.fault(
        connection.error("authenticate", {"continuation": step["continuation"], "meta": {"timeoutMs": 100}}), -32022)
    assert go_on(connection, step)["state"] == "completed"


def test_a_suspended_journey_goes_on_where_its_link_leads(connection: Connection, playground: Playground) -> None:
    step = begin(connection, "Email", answers=ALICE)
    assert types(step) == ["SuspendedTextOutputCallback"]
    (link,) = journeys.control(playground)["suspended"]
    result = go_on(connection, step, answers={"SuspendedTextOutputCallback": playground.base + link})
    assert result["state"] == "completed" and fetch(connection, result["session"]) == 200
    # Long after the continuation is gone the link alone does.
    begin(connection, "Email", answers=ALICE)
    (link,) = journeys.control(playground)["suspended"]
    assert begin(connection, answers={"suspendedId": playground.base + link})["state"] == "completed"
    error = connection.error("authenticate", {"issuer": "am", "answers": {"suspendedId": "gone"}})
    expect.fault(error, 3003)
    for given in [1, "", "https://am.test/?x=1", "a b"]:
        error = connection.error("authenticate", {"issuer": "am", "answers": {"suspendedId": given}})
        expect.fault(error, -32602, "/answers/suspendedId")


def test_a_redirect_is_the_callers_to_follow(connection: Connection) -> None:
    for code, state in [("bad", "failed"), ("good", "completed")]:
        step = begin(connection, "Redirect", answers=ALICE)
        assert types(step) == ["RedirectCallback"]
        assert step["callbacks"][0]["output"][0]["value"].startswith("https://social.test/")
        url = f"http://127.0.0.1/back?code={code}&state=s1&suspendedId=evil&authIndexType=service"
        assert go_on(connection, step, answers={"RedirectCallback": url})["state"] == state


def test_without_session_and_forced(connection: Connection, playground: Playground) -> None:
    assert begin(connection, noSession=True, answers=ALICE) == {"state": "completed", "sessionUpgraded": False}
    assert connection.call("listSessions") == {"sessions": []}
    assert begin(connection, forceAuth=True, answers=ALICE)["state"] == "completed"


def test_params_are_checked(connection: Connection, playground: Playground) -> None:
    for params, path in [
        ({}, "/issuer"),
        ({"issuer": "am", "service": "a", "tree": "b"}, "/tree"),
        ({"issuer": "am", "tree": ""}, "/tree"),
        ({"issuer": "am", "service": "x" * 257}, "/service"),
        ({"issuer": "am", "callbacks": []}, "/continuation"),
        ({"issuer": "am", "answers": []}, "/answers"),
        ({"issuer": "am", "continuation": "x"}, "/issuer"),
        ({"issuer": "am", "stage": "x"}, "/stage"),
    ]:
        expect.fault(connection.error("authenticate", params), -32602, path)
    expect.fault(connection.error("authenticate", {"issuer": "nobody"}), 5009)
    # An issuer without an access manager.
    expect.fault(connection.error("authenticate", {"issuer": "play"}), 5010)
    session = journeys.session(connection, playground)
    advice = {"type": SERVICE, "value": "x"}
    for params, path in [
        ({}, "/advice"),
        ({"advice": advice, "advices": [advice]}, "/advice"),
        ({"advices": []}, "/advices"),
        ({"advices": [advice] * 17}, "/advices"),
        ({"advice": {"type": SERVICE}}, "/advice/value"),
        ({"advice": {"type": "", "value": "x"}}, "/advice/type"),
        ({"advice": {**advice, "authIndexType": "service"}}, "/advice/authIndexType"),
        ({"advices": [advice, {"type": "A", "value": "\u0001"}]}, "/advices/1"),
        ({"advice": {"type": "insufficient_user_authentication", "maxAge": -1}}, "/advice/maxAge"),
        ({"advice": {"type": "insufficient_user_authentication", "acrValues": ["a b"]}}, "/advice/acrValues"),
        ({"advice": advice, "callbacks": []}, "/continuation"),
        ({"response": {"status": 1, "headers": {}}}, "/response/status"),
    ]:
        expect.fault(connection.error("authenticateWithAdvice", {"session": session, **params}), -32602, path)
    for kind, value in [("SessionConditionAdvice", "deny"), ("uma_ticket", "t")]:
        params = {"session": session, "advice": {"type": kind, "value": value}}
        expect.fault(connection.error("authenticateWithAdvice", params), 3001)
    params = {"session": session, "response": {"status": 401, "headers": {"WWW-Authenticate": "Bearer"}}}
    expect.fault(connection.error("authenticateWithAdvice", params), 3001)
    expect.fault(connection.error("authenticateWithAdvice", {"session": "x" * 43, "advice": advice}), 5001)
    journeys.session(connection, playground)
    expect.fault(connection.error("authenticateWithAdvice", {"session": "only", "advice": advice}), -32602, "/session")
    missing = expect.fault(connection.error("authenticateWithAdvice", {"advice": advice}), 1001)
    assert (missing["detail"], missing["outcome"]) == ("session_missing", "not_sent")


def test_a_service_advice_upgrades_the_session_and_ends_the_old_one(
    connection: Connection, playground: Playground, sidecar: Sidecar
) -> None:
    old = journeys.sign_on(playground)
    session = connection.call("createSession", {"issuer": "am", "grant": {"type": "sso", "ssoToken": old}})["session"]
    for hides, advice in [(False, (SERVICE, "/alpha:ConfirmPassword")), (True, (LEVEL, "5"))]:
        journeys.control(playground, hideTokens=hides)
        playground.request("DELETE", "/playground/statistics")
        step = step_up(connection, session, advice)
        assert types(step) == ["PasswordCallback"]
        assert fetch(connection, session) == 200
        secret = "123456" if hides else "alice-password"
        result = go_on(connection, step, secret)
        assert result == {"state": "completed", "session": session, "sessionUpgraded": True}
        statistics = playground.statistics()
        assert statistics["ssoAuthorizations"] == 1 and statistics["codesIssued"] == 1
        assert fetch(connection, session) == 200
    assert connection.call("getSession", {"session": session})["acr"] == "mfa"
    eventually(lambda: not journeys.is_signed_on(playground, old), what="the old login's end")
    # The new login is alive: it renews the session when its refresh token is gone.
    playground.faults(revokeRefreshTokens=True)
    assert connection.call("refreshSession", {"session": session})["session"] == session
    assert connection.call("endSession", {"session": session})["upstream"] == "ended"
    assert old not in sidecar.log()


def test_a_transaction_touches_nothing(connection: Connection, playground: Playground) -> None:
    session = journeys.session(connection, playground)
    transaction = journeys.control(playground, transaction="alice")["txId"]
    playground.request("DELETE", "/playground/statistics")
    step = step_up(connection, session, (TRANSACTION, transaction))
    assert types(step) == ["TextOutputCallback", "ConfirmationCallback"]
    assert journeys.control(playground)["transactions"] == {transaction: "IN_PROGRESS"}
    result = connection.call(
        "authenticateWithAdvice", {"continuation": step["continuation"], "answers": {"ConfirmationCallback": "Yes"}})
    assert result == {"state": "completed", "txId": transaction, "session": session, "sessionUpgraded": False}
    assert journeys.control(playground)["transactions"] == {transaction: "COMPLETED"}
    statistics = playground.statistics()
    assert statistics["ssoAuthorizations"] == 0 and statistics["ssoLogouts"] == 0 and statistics["tokenRequests"] == 0
    # Once only, and by its own user only.
    again = {"session": session, "advice": {"type": TRANSACTION, "value": transaction}}
    error = expect.fault(connection.error("authenticateWithAdvice", again), 3005)
    assert error["status"] == 401 and error["errorCode"] == "128"
    other = journeys.control(playground, transaction="bob")["txId"]
    again["advice"]["value"] = other
    assert expect.fault(connection.error("authenticateWithAdvice", again), 3005)["errorCode"] == "128"
    # Declined, which the access manager does not tell.
    third = journeys.control(playground, transaction="alice")["txId"]
    result = step_up(connection, session, (TRANSACTION, third), answers={"ConfirmationCallback": "No"})
    assert result["state"] == "completed" and journeys.control(playground)["transactions"][third] == "IN_PROGRESS"


@pytest.mark.parametrize("kind, value, page", [
    (SERVICE, "/alpha:ConfirmPassword", "Password"), (SERVICE, "ConfirmPassword", "Password"),
    ("AuthenticateToTreeConditionAdvice", "Otp", "One Time Password"), (LEVEL, "5", "One Time Password"),
    (LEVEL, "1", "Password"), ("AuthSchemeConditionAdvice", "DataStore", None),
    ("AuthenticateToRealmConditionAdvice", "/alpha", None),
])
def test_every_type_of_advice_leads_to_its_journey(
    connection: Connection, playground: Playground, kind: str, value: str, page: Any
) -> None:
    session = journeys.session(connection, playground)
    result = step_up(connection, session, (kind, value))
    # What asks for a login of a kind that the user has is satisfied by it.
    if page is None:
        assert result["state"] == "completed" and result["session"] == session
        return
    assert types(result) == ["PasswordCallback"] and result["callbacks"][0]["output"][0]["value"] == page
    result = go_on(connection, result, "123456" if page.startswith("One") else "alice-password")
    assert result["state"] == "completed" and result["sessionUpgraded"] is True


def test_of_several_advices_the_transaction_comes_last(connection: Connection, playground: Playground) -> None:
    session = journeys.session(connection, playground)
    transaction = journeys.control(playground, transaction="alice")["txId"]
    step = step_up(connection, session, (TRANSACTION, transaction), (SERVICE, "ConfirmPassword"), (LEVEL, "1"))
    assert types(step) == ["PasswordCallback"]
    step = go_on(connection, step, "alice-password")
    assert types(step) == ["TextOutputCallback", "ConfirmationCallback"]
    result = go_on(connection, step, 0)
    assert result == {"state": "completed", "txId": transaction, "session": session, "sessionUpgraded": True}
    assert fetch(connection, session) == 200


def test_an_advice_can_come_in_its_response(connection: Connection, playground: Playground) -> None:
    session = journeys.session(connection, playground)
    body = json.dumps({"advices": {SERVICE: ["ConfirmPassword"]}})
    params: Dict[str, Any] = {"session": session, "response": {"status": 403, "headers": {}, "body": body}}
    step = connection.call("authenticateWithAdvice", params)
    assert types(step) == ["PasswordCallback"]
    assert go_on(connection, step, "alice-password")["session"] == session
    # A redirect to another server's page is none of this access manager's advice.
    location = "https://am.evil.test/?authIndexType=composite_advice&authIndexValue=%3CAdvices%3E%3CAttributeValuePair"
    location += "%3E%3CAttribute%20name%3D%22A%22/%3E%3CValue%3Ex%3C/Value%3E%3C/AttributeValuePair%3E%3C/Advices%3E"
    params = {"session": session, "response": {"status": 302, "headers": {"Location": location}}}
    assert connection.call("parseAdvice", params["response"])["source"] == "redirect"
    expect.fault(connection.error("authenticateWithAdvice", params), 3001)


def test_a_refused_step_up_leaves_the_session_alone(connection: Connection, playground: Playground) -> None:
    session = journeys.session(connection, playground)
    step = step_up(connection, session, (SERVICE, "ConfirmPassword"))
    assert go_on(connection, step, "wrong")["state"] == "failed"
    assert fetch(connection, session) == 200
    playground.faults(revokeRefreshTokens=True)
    assert connection.call("refreshSession", {"session": session})["session"] == session


def test_faults_of_the_access_manager_are_errors(connection: Connection, playground: Playground) -> None:
    for kind, code in [
        ("serverError", 3005), ("unavailable", 3005), ("html", 3005), ("malformedJSON", 3005),
        ("emptyUnauthorized", 3005), ("sessionTimedOut", 3003),
    ]:
        playground.faults(authenticate={"kind": kind, "times": 1})
        data = expect.fault(connection.error("authenticate", {"issuer": "am"}), code)
        assert data["retryable"] is (kind in ("serverError", "unavailable")), kind
    step = begin(connection)
    journeys.control(playground, journeyTtlMs=0)
    step = begin(connection)
    params = {"continuation": step["continuation"], "callbacks": filled(step, "alice", "alice-password")}
    expect.fault(connection.error("authenticate", params), 3003)
    expect.fault(connection.error("authenticate", params), 3002, "/continuation")


def test_an_unreachable_access_manager_costs_no_continuation(
    start: Start, settings: Dict[str, Any], start_playground: Callable[..., Playground]
) -> None:
    settings["issuers"]["am"]["accessManager"] = {
        "baseUrl": "http://127.0.0.1:1/am", "realm": "alpha", "cookieName": "c"}
    connection = start(settings).connect("stream")
    data = expect.fault(connection.error("authenticate", {"issuer": "am"}), 3004)
    assert data["retryable"] is True and data["outcome"] == "not_sent"
    connection.close()


def test_a_login_that_gives_no_tokens_leaves_nobody_signed_on(connection: Connection, playground: Playground) -> None:
    playground.faults(token={"kind": "unavailable"})
    error = connection.error("authenticate", {"issuer": "am", "answers": ALICE})
    assert error["code"] in (5003, 5004)
    eventually(lambda: playground.statistics()["ssoLogouts"] == 1)
    assert connection.call("listSessions") == {"sessions": []}


def test_a_step_up_of_rfc_9470_is_a_new_authorization(connection: Connection, playground: Playground) -> None:
    session = journeys.session(connection, playground)
    vault = {"resource": "mine", "path": "vault", "session": session}
    refused = expect.fault(connection.error("fetchResource", vault), 1017)["response"]
    assert refused["status"] == 401
    response = {"status": 401, "headers": refused["headers"]}
    step = connection.call("authenticateWithAdvice", {"session": session, "response": response})
    (redirect,) = step["callbacks"]
    assert redirect["type"] == "RedirectCallback" and redirect["output"][0]["name"] == "redirectUrl"
    url = redirect["output"][0]["value"]
    query = parse_qs(urlsplit(url).query)
    assert "request_uri" in query or query["acr_values"] == ["mfa"]
    playground.request("POST", "/playground/login", json.dumps({"user": "alice", "acr": "mfa", "times": 1}).encode())
    callback = playground.request("GET", url.replace(playground.base, ""))[1]["location"]
    bad = filled(step, "http://127.0.0.1:8765/callback?state=unknown&code=x")
    params = {"continuation": step["continuation"], "callbacks": bad}
    expect.fault(connection.error("authenticateWithAdvice", params), 5006)
    params["callbacks"] = filled(step, "http://127.0.0.1:8765/callback?state=%&code=x")
    expect.fault(connection.error("authenticateWithAdvice", params), 5006)
    params["callbacks"] = filled(step, "http://127.0.0.1:8765/callback?state=a&state=b")
    path = "/callbacks/0/input/0/value"
    expect.fault(connection.error("authenticateWithAdvice", params), -32602, path)
    params["callbacks"] = filled(step, callback)
    result = connection.call("authenticateWithAdvice", params)
    assert result == {"state": "completed", "session": session, "sessionUpgraded": True}
    assert connection.call("getSession", {"session": session})["acr"] == "mfa"
    assert connection.call("fetchResource", vault)["status"] == 200
    # Somebody else's login is no step-up.
    step = connection.call("authenticateWithAdvice", {"session": session, "advice": {
        "type": "insufficient_user_authentication", "maxAge": 0}})
    playground.request("POST", "/playground/login", json.dumps({"user": "bob", "times": 1}).encode())
    url = step["callbacks"][0]["output"][0]["value"]
    callback = playground.request("GET", url.replace(playground.base, ""))[1]["location"]
    params = {"continuation": step["continuation"], "callbacks": filled(step, callback)}
    expect.fault(connection.error("authenticateWithAdvice", params), 5005)
    assert connection.call("fetchResource", vault)["status"] == 200
