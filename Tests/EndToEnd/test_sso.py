"""Section 5: sessions from a single sign-on token, against the playground's access manager."""
from __future__ import annotations

import json
from typing import Any, Callable, Dict

import pytest

from harness import expect, journeys
from harness.connection import Connection
from harness.journeys import is_signed_on, sign_on
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


@pytest.fixture
def settings(playground: Playground, directory: Any) -> Dict[str, Any]:
    return journeys.settings(playground, directory)


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any]) -> Sidecar:
    return start(settings)


def create(connection: Connection, token: str, **more: Any) -> Dict[str, Any]:
    return connection.call("createSession", {"issuer": "am", "grant": {"type": "sso", "ssoToken": token, **more}})


def fetch(connection: Connection, path: str = "orders", **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": "mine", "path": path, **params})


def test_a_single_sign_on_token_makes_a_session(
    connection: Connection, playground: Playground, sidecar: Sidecar
) -> None:
    token = sign_on(playground)
    session = create(connection, token)
    assert session["kind"] == "user" and session["subject"] == "user-1001" and session["claims"]["nonce"]
    assert token not in json.dumps(session) and not expect.LIKE_A_TOKEN.search(json.dumps(session))
    assert fetch(connection, session=session["session"])["status"] == 200
    statistics = playground.statistics()
    assert statistics["serverInfoRequests"] == 1 and statistics["ssoAuthorizations"] == 1
    create(connection, token)
    assert playground.statistics()["serverInfoRequests"] == 1
    assert token not in sidecar.log()


def test_what_is_known_of_the_login_shows_in_the_session(connection: Connection, playground: Playground) -> None:
    created = create(connection, sign_on(playground))
    described = connection.call("getSession", {"session": created["session"]})
    assert described == created and connection.call("listSessions") == {"sessions": [created]}
    assert described["acr"] == "pwd" and described["issuer"] == "am" and "orders" in described["scope"].split()
    assert described["authTime"] == described["claims"]["auth_time"] and described["claims"]["sid"]
    assert expect.RFC3339_MILLISECONDS.match(described["accessTokenExpiresAt"])
    # It is renewed as long as the login lasts: when that is, nobody knows beforehand.
    assert "expiresAt" not in described
    connection.call("endSession", {"session": created["session"]})
    expect.fault(connection.error("getSession", {"session": created["session"]}), 5001)


def test_ending_the_session_signs_off(connection: Connection, playground: Playground) -> None:
    token = sign_on(playground)
    session = create(connection, token)
    assert is_signed_on(playground, token)
    assert connection.call("endSession", {"session": session["session"]}) == {"ended": True, "upstream": "ended"}
    assert not is_signed_on(playground, token)
    assert playground.statistics()["ssoLogouts"] == 1


def test_a_token_that_nobody_has_makes_no_session(connection: Connection, playground: Playground) -> None:
    def error(token: Any) -> Dict[str, Any]:
        return connection.error("createSession", {"issuer": "am", "grant": {"type": "sso", "ssoToken": token}})

    assert expect.fault(error("nobody"), 5005)["upstream"] == {"code": "login_required"}
    for token in ["", "a b", "a;b", "x" * 20_000]:
        expect.fault(error(token), -32602, "/grant/ssoToken")
    playground.faults(ssoAuthorization={"kind": "unavailable", "times": 1})
    assert expect.fault(error(sign_on(playground)), 5003)["retryable"] is True
    expect.fault(
        connection.error("createSession", {"issuer": "play", "grant": {"type": "sso", "ssoToken": "t"}}), 5010)
    assert connection.call("listSessions") == {"sessions": []}


def test_a_refused_token_is_renewed_by_single_sign_on(connection: Connection, playground: Playground) -> None:
    token = sign_on(playground)
    session = connection.call("createSession", {
        "issuer": "am", "grant": {"type": "tokens", "accessToken": "refused", "ssoToken": token}})
    result = fetch(connection, session=session["session"])
    assert result["status"] == 200 and result["attempts"] == 2 and result["tokenRefreshed"]


def test_the_refresh_token_goes_first_and_single_sign_on_after_invalid_grant(
    connection: Connection, playground: Playground
) -> None:
    session = create(connection, sign_on(playground))["session"]
    assert connection.call("refreshSession", {"session": session})["session"] == session
    assert playground.statistics()["refreshTokensPresented"] == 1
    assert playground.statistics()["ssoAuthorizations"] == 1
    playground.faults(revokeRefreshTokens=True)
    assert connection.call("refreshSession", {"session": session})["session"] == session
    assert playground.statistics()["ssoAuthorizations"] == 2
    assert fetch(connection, session=session)["status"] == 200


def test_an_outage_logs_nobody_out_and_a_lost_login_does(connection: Connection, playground: Playground) -> None:
    token = sign_on(playground)
    session = create(connection, token)["session"]
    playground.faults(revokeRefreshTokens=True, ssoAuthorization={"kind": "unavailable"})
    refused = fetch(connection, session=session)
    assert refused["status"] == 401 and refused["attempts"] == 1
    expect.fault(connection.error("refreshSession", {"session": session}), 5003)
    playground.faults(ssoAuthorization=None)
    # After two failures in a row the provider is left alone for a second.
    eventually(lambda: fetch(connection, session=session)["status"] == 200)
    playground.faults(revokeRefreshTokens=True)
    playground.request("DELETE", "/playground/ssoTokens")
    expect.fault(connection.error("refreshSession", {"session": session}), 5002)
    # Whatever life the last token has left: the session is over.
    expect.fault(connection.error("fetchResource", {"resource": "mine", "path": "orders", "session": session}), 1001)


def test_another_users_single_sign_on_renews_nothing(connection: Connection, playground: Playground) -> None:
    bob = create(connection, sign_on(playground, "bob"))
    assert bob["subject"] == "user-1002"
    # Alice's tokens with Bob's single sign-on token: not to be mixed up.
    alice = create(connection, sign_on(playground))
    assert {s["subject"] for s in connection.call("listSessions")["sessions"]} == {"user-1001", "user-1002"}
    assert alice["session"] != bob["session"]


def test_the_single_sign_on_cookie_is_not_a_callers(connection: Connection, playground: Playground) -> None:
    session = create(connection, sign_on(playground))["session"]
    # U+0600 and the semicolon behind it are one character, and a combining one belongs to what is before it: bytes
    # count.
    for cookie in ["playgroundSSO=mine", "a=b\u0600; playgroundSSO=mine", "a=b;\u0301c; playgroundSSO=\u0301mine",
                   "a=b\u0600,playgroundsso=mine"]:
        params = {"resource": "mine", "path": "orders", "session": session, "headers": {"Cookie": cookie}}
        error = connection.error("fetchResource", params)
        expect.fault(error, 1005, "/headers/Cookie")
