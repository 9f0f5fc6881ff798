"""Section 5: implicit access, a registered profile logged in without its user."""
from __future__ import annotations

import json
from typing import Any, Callable, Dict

import pytest

from harness import expect
from harness.browser import announce_login, callback_of
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
REDIRECT = "http://127.0.0.1:8765/callback"


@pytest.fixture
def settings(playground: Playground, directory: Any) -> Dict[str, Any]:
    secret = directory / "shop-secret"
    secret.write_text("shopsecret")
    key = directory / "client-key.pem"
    key.write_bytes(playground.request("GET", "/playground/clientKey")[2])
    for file in (secret, key):
        file.chmod(0o600)
    resource = {"baseUrl": playground.base + "/resource/", "issuer": "shop"}
    return {
        "issuers": {
            "shop": {
                "issuer": playground.issuer, "clientId": "shop", "clientAuth": "client_secret_basic",
                "clientSecretFile": str(secret), "clientKeyFile": str(key), "scope": "openid profile orders",
                "implicit": {"grant": "jwt_bearer", "scope": "profile"},
            }
        },
        "resources": {
            "mine": {**resource, "auth": "user", "scope": "orders"},
            "news": {**resource, "auth": "implicit"},
            "deep": {**resource, "auth": "implicit", "scope": "orders"},
        },
    }


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any]) -> Sidecar:
    return start(settings)


def login(connection: Connection, playground: Playground, user: str = "alice") -> Dict[str, Any]:
    announce_login(playground, user=user)
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
    return connection.call("completeAuthorization", callback_of(begun))


def implicit(connection: Connection, profile: str = "user-1001") -> Dict[str, Any]:
    return connection.call("createSession", {"issuer": "shop", "grant": {"type": "implicit", "profile": profile}})


def fetch(connection: Connection, resource: str = "news", path: str = "echo", **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": resource, "path": path, **params})


@pytest.mark.parametrize(
    "grant, key", [("jwt_bearer", True), ("token_exchange", True), ("token_exchange", False), ("client_credentials", False)]
)
def test_a_profile_is_logged_in_without_its_user(
    start: Start, settings: Dict[str, Any], connect: Connect, playground: Playground, grant: str, key: bool
) -> None:
    issuer = settings["issuers"]["shop"]
    issuer["implicit"] = {"grant": grant, "scope": "profile"}
    if not key:
        del issuer["clientKeyFile"]
    connection = connect(start(settings))
    user = login(connection, playground)
    session = implicit(connection)
    assert session["kind"] == "implicit" and session["subject"] == user["subject"] == "user-1001"
    assert session["scope"] == "profile" and "claims" not in session and expect.RFC3339_MILLISECONDS.match(session["expiresAt"])
    assert session["session"] != user["session"] and not expect.LIKE_A_TOKEN.search(json.dumps(session))
    for chosen in [{"session": session["session"]}, {"session": "only"}]:
        result = fetch(connection, **chosen)
        assert result["status"] == 200 and result["attempts"] == 1
    # The user's session is still the user's.
    assert fetch(connection, "mine", "orders", session="only")["status"] == 200
    kinds = [entry["kind"] for entry in connection.call("listSessions")["sessions"]]
    assert kinds == ["user", "implicit"]


def test_each_precondition_has_its_own_error(connection: Connection, playground: Playground) -> None:
    for resource in ("news", "mine"):
        for nobody in ({}, {"session": "only"}):
            expect.fault(connection.error("fetchResource", {"resource": resource, "path": "echo", **nobody}), 1001)
    user = login(connection, playground)
    # A user's session is no implicit one, and the other way round.
    expect.fault(connection.error("fetchResource", {"resource": "news", "path": "echo", "session": "only"}), 1001)
    named = {"path": "echo", "session": user["session"]}
    expect.fault(connection.error("fetchResource", {"resource": "news", **named}), 1002)
    session = implicit(connection)
    named["session"] = session["session"]
    expect.fault(connection.error("fetchResource", {"resource": "mine", **named}), 1001)
    playground.faults(token={"kind": "refuseCredentials"})
    device = {"resource": "orders", "path": "orders", "auth": "clientCredentials"}
    expect.fault(connection.error("fetchResource", device), 1003)


def test_what_is_not_registered_or_not_configured(
    start: Start, settings: Dict[str, Any], connect: Connect, playground: Playground
) -> None:
    connection = connect(start(settings))

    def error(profile: Any, issuer: str = "shop", **more: Any) -> Dict[str, Any]:
        grant = {"type": "implicit", **({} if profile is None else {"profile": profile}), **more}
        return connection.error("createSession", {"issuer": issuer, "grant": grant})

    before = playground.statistics()
    data = expect.fault(error("user-1001"), 5005)
    assert data["upstream"] == {"code": "profile_unknown"} and data["retryable"] is False
    login(connection, playground)
    expect.fault(error("user-1002"), 5005)
    expect.fault(error("user-1001", issuer="play"), 5010)
    expect.fault(error(None), -32602, "/grant/profile")
    expect.fault(error(""), -32602, "/grant/profile")
    expect.fault(error("p" * 2000), -32602, "/grant/profile")
    expect.fault(error("user-1001", code="c"), -32602, "/grant/code")
    after = playground.statistics()
    assert before is not after and len(connection.call("listSessions")["sessions"]) == 1


def test_the_lower_scope_is_kept_whatever_a_resource_wants(connection: Connection, playground: Playground) -> None:
    login(connection, playground)
    session = implicit(connection)["session"]
    data = expect.fault(connection.error("fetchResource", {"resource": "deep", "path": "orders", "session": session}), 1002)
    assert data["upstream"]["code"] == "insufficient_scope"
    # A resource that wants more than the token has says no, and a newer one cannot help.
    result = fetch(connection, path="orders", session=session)
    assert result["status"] == 403


def test_a_refused_token_is_replaced_by_the_grant(connection: Connection, playground: Playground) -> None:
    login(connection, playground)
    session = implicit(connection)
    playground.faults(revokeTokens=True)
    result = fetch(connection, session=session["session"])
    assert result["status"] == 200 and result["attempts"] == 2 and result["tokenRefreshed"]
    refreshed = connection.call("refreshSession", {"session": session["session"]})
    assert refreshed["kind"] == "implicit" and refreshed["session"] == session["session"]


def test_the_profile_outlives_its_session_and_a_restart(
    start: Start, settings: Dict[str, Any], directory: Any, connect: Connect, playground: Playground
) -> None:
    settings["store"] = {"kind": "file", "path": str(directory / "store")}
    sidecar = start(settings)
    connection = connect(sidecar)
    user = login(connection, playground)
    before = implicit(connection)
    assert connection.call("endSession", {"session": user["session"]})["ended"]
    # Logging out ends what the user's login gave; implicit access goes on with what it has of its own.
    assert fetch(connection, session=before["session"])["status"] == 200
    sidecar.stop()
    again = connect(start(settings))
    assert fetch(again, session=before["session"])["status"] == 200
    assert implicit(again)["subject"] == "user-1001"
    for entry in again.call("listSessions")["sessions"]:
        assert again.call("endSession", {"session": entry["session"]})["upstream"] == "ended"
    expect.fault(again.error("fetchResource", {"resource": "news", "path": "echo", "session": "only"}), 1001)


def test_two_implicit_sessions_must_be_told_apart(connection: Connection, playground: Playground) -> None:
    login(connection, playground)
    first = implicit(connection)
    implicit(connection)
    expect.fault(connection.error("fetchResource", {"resource": "news", "path": "echo", "session": "only"}), -32602, "/session")
    assert fetch(connection, session=first["session"])["status"] == 200


def test_configured_lower_a_session_ends(
    start: Start, settings: Dict[str, Any], connect: Connect, playground: Playground
) -> None:
    sidecar = start(settings)
    connection = connect(sidecar)
    login(connection, playground)
    session = implicit(connection)
    configuration = json.loads(sidecar.configuration_path.read_text())
    configuration["issuers"]["shop"]["implicit"]["scope"] = "email"
    sidecar.write(configuration)
    connection.call("reloadConfig")
    expect.fault(connection.error("fetchResource", {"resource": "news", "path": "echo", "session": session["session"]}), 1002)


def test_the_access_token_of_an_implicit_session_leaves_only_as_one(
    start: Start, settings: Dict[str, Any], connect: Connect, playground: Playground
) -> None:
    settings["tokens"] = {"leaveTheSidecar": True}
    connection = connect(start(settings))
    login(connection, playground)
    session = implicit(connection)["session"]
    assert connection.call("getAccessToken", {"issuer": "shop", "auth": "implicit", "session": session})["scope"] == "profile"
    expect.fault(connection.error("getAccessToken", {"issuer": "shop", "auth": "user", "session": session}), 5001)
