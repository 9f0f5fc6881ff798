"""Section 5: sessions and their tokens, against the playground's provider."""
from __future__ import annotations

import itertools
import json
import os
import threading
import time
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, Iterator, List
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from harness import expect
from harness.browser import announce_login, authorize, callback_of
from harness.connection import Connection
from harness.endpoints import Endpoint
from harness.issuer import IssuerDouble, document
from harness.playground import Playground
from harness.recorder import Recorder
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
REDIRECT = "http://127.0.0.1:8765/callback"
SCOPE = "openid profile offline_access orders"


@pytest.fixture
def settings(playground: Playground, directory: Any) -> Dict[str, Any]:
    secret = directory / "shop-secret"
    secret.write_text("shopsecret")
    secret.chmod(0o600)
    return {
        "issuers": {
            "shop": {
                "issuer": playground.issuer, "clientId": "shop", "clientAuth": "client_secret_basic",
                "clientSecretFile": str(secret), "scope": SCOPE,
            }
        },
        "resources": {
            "mine": {
                "baseUrl": playground.base + "/resource/", "issuer": "shop", "auth": "user", "scope": "orders",
            }
        },
    }


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any]) -> Sidecar:
    return start(settings)


def login(connection: Connection, playground: Playground, **params: Any) -> Dict[str, Any]:
    announce_login(playground)
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT, **params})
    return connection.call("completeAuthorization", callback_of(begun))


def fetch(connection: Connection, path: str = "orders", **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": "mine", "path": path, **params})


def test_a_login_gives_a_session_and_no_token(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)
    assert session["issuer"] == "shop" and session["kind"] == "user" and session["subject"] == "user-1001"
    assert set(session["scope"].split()) == set(SCOPE.split())
    for name in ["createdAt", "accessTokenExpiresAt"]:
        assert expect.RFC3339_MILLISECONDS.match(session[name])
    assert session["claims"]["sub"] == "user-1001" and isinstance(session["authTime"], int)
    assert len(session["session"]) == 43
    text = json.dumps(session)
    assert not expect.LIKE_A_TOKEN.search(text) and "oken\"" not in text
    assert connection.call("getSession", {"session": session["session"]}) == session
    assert connection.call("listSessions") == {"sessions": [session]}
    result = fetch(connection, session=session["session"])
    assert result["status"] == 200 and result["attempts"] == 1
    # A program whose uid is the user names no handle.
    assert fetch(connection, session="only")["status"] == 200


def test_the_authorization_request_is_pushed_and_names_nothing_secret(
    connection: Connection, playground: Playground
) -> None:
    begun = connection.call("beginAuthorization", {
        "issuer": "shop", "redirectUri": REDIRECT, "prompt": "login", "maxAge": 60, "acrValues": ["mfa"],
        "loginHint": "alice"})
    query = parse_qs(urlsplit(begun["authorizationUrl"]).query)
    assert set(query) == {"client_id", "request_uri"}
    assert len(begun["state"]) == 43 and expect.RFC3339_MILLISECONDS.match(begun["expiresAt"])


def test_a_login_asks_for_what_the_users_resources_need(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground
) -> None:
    """And for nothing that a resource needs which is not the users'."""
    settings["issuers"]["shop"]["scope"] = "openid"
    mine = settings["resources"]["mine"]
    settings["resources"]["other"] = {**mine, "scope": "profile orders"}
    settings["resources"]["jobs"] = {**mine, "auth": "clientCredentials", "scope": "email"}
    connection = connect(start(settings))
    assert login(connection, playground)["scope"] == "openid orders profile"
    assert login(connection, playground, scope="openid profile")["scope"] == "openid profile"


def test_a_login_does_not_ask_for_what_a_rule_hides(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground
) -> None:
    settings["issuers"]["shop"]["scope"] = "openid"
    settings["resources"]["other"] = {**settings["resources"]["mine"], "scope": "profile"}
    rule = {"uid": os.getuid(), "methods": ["*"], "resources": ["mine"]}
    connection = connect(start({**settings, "peers": [rule]}))
    assert login(connection, playground)["scope"] == "openid orders"


def test_at_debug_the_log_shows_whether_a_sessions_token_was_cached(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground
) -> None:
    sidecar = start({**settings, "log": {"level": "debug"}})
    connection = connect(sidecar)
    session = login(connection, playground)["session"]
    assert fetch(connection, session=session)["status"] == 200
    lines = [json.loads(line) for line in sidecar.awaits_log("call ended").splitlines() if "token needed" in line]
    assert [(line["issuer"], line["cacheHit"], line["method"]) for line in lines] == [("shop", "true", "fetchResource")]


def test_a_token_that_lacks_a_resources_scope_is_used_and_reported_once(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground
) -> None:
    """The server decides whether the token is enough. No token is requested: a refresh token is good for no other scope."""
    sidecar = start(settings)
    connection = connect(sidecar)
    sessions = [login(connection, playground, scope="openid profile offline_access")["session"] for _ in range(2)]
    before = playground.statistics()["tokenRequests"]
    for session in (sessions[0], sessions[0], sessions[1]):
        assert fetch(connection, session=session)["status"] in (200, 403)
    assert playground.statistics()["tokenRequests"] == before
    log = sidecar.awaits_log("lacks a part of the resource's scope")
    lines = [json.loads(line) for line in log.splitlines() if "lacks a part of the resource's scope" in line]
    assert len(lines) == 2
    assert all(line["level"] == "warning" and line["resource"] == "mine" for line in lines)
    assert [line["scope"] for line in lines] == ["orders", "orders"], lines
    assert not any(session in log for session in sessions)


def test_a_token_that_lacks_a_scope_is_used_where_there_is_no_way_to_another(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground
) -> None:
    """Without a refresh token the session's own token is all there is."""
    settings["resources"]["mine"]["baseUrl"] = playground.base + "/open/"
    sidecar = start(settings)
    connection = connect(sidecar)
    grant = {"type": "tokens", "accessToken": "given-token", "scope": "openid", "expiresIn": 600}
    session = connection.call("createSession", {"issuer": "shop", "grant": grant})["session"]
    for _ in range(2):
        assert fetch(connection, "echo", session=session)["status"] == 200
    assert sidecar.awaits_log("lacks a part of the resource's scope").count("lacks a part of the resource's scope") == 1


def test_what_was_asked_of_the_login_is_demanded_of_its_id_token(
    connection: Connection, playground: Playground
) -> None:
    announce_login(playground, acr="pwd")
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT, "acrValues": ["mfa"]})
    callback = callback_of(begun)
    if "error=" in callback["callbackUrl"]:
        expect.fault(connection.error("completeAuthorization", callback), 5005)
    else:
        data = expect.fault(connection.error("completeAuthorization", callback), 5005)
        assert data["upstream"]["code"] == "acr_mismatch"


@pytest.mark.parametrize("fault", ["wrongNonce", "wrongAudience", "wrongIssuer", "wrongHash", "expired", "badSignature"])
def test_a_wrong_id_token_makes_no_session(connection: Connection, playground: Playground, fault: str) -> None:
    announce_login(playground)
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
    callback = callback_of(begun)
    playground.faults(idToken={"kind": fault, "times": 1})
    expect.fault(connection.error("completeAuthorization", callback), 5005)
    assert connection.call("listSessions") == {"sessions": []}


def test_a_callback_is_good_once_and_for_its_own(connection: Connection, playground: Playground) -> None:
    announce_login(playground)
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
    callback = callback_of(begun)
    assert connection.call("completeAuthorization", callback)["kind"] == "user"
    expect.fault(connection.error("completeAuthorization", callback), 5006)
    for url in ["", "nonsense", REDIRECT, REDIRECT + "?code=x", REDIRECT + "?code=x&state=unknown"]:
        expect.fault(connection.error("completeAuthorization", {"callbackUrl": url, "state": "unknown"}), 5006)


def test_a_callback_that_was_tampered_with_ends_the_authorization(
    connection: Connection, playground: Playground
) -> None:
    def tampered(change: Callable[[Dict[str, str]], None], location: str = REDIRECT) -> Dict[str, Any]:
        announce_login(playground)
        begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
        query = {k: v[0] for k, v in parse_qs(urlsplit(authorize(begun["authorizationUrl"])).query).items()}
        change(query)
        error = connection.error(
            "completeAuthorization", {"callbackUrl": f"{location}?{urlencode(query)}", "state": begun["state"]})
        return expect.fault(error, 5005)

    assert tampered(lambda q: q.update(iss="https://evil.example.com"))["upstream"]["code"] == "iss_mismatch"
    assert tampered(lambda q: q.pop("iss"))["upstream"]["code"] == "missing_iss"
    assert tampered(lambda q: q.pop("code"))["upstream"]["code"] == "missing_code"
    assert tampered(lambda q: None, "https://evil.example.com/cb")["upstream"]["code"] == "redirect_uri_mismatch"
    error = connection.error(
        "completeAuthorization", {"callbackUrl": f"{REDIRECT}?error=access_denied&state=x", "state": "x"})
    expect.fault(error, 5006)


def test_the_users_refusal_is_told(connection: Connection, playground: Playground) -> None:
    playground.faults(authorization={"kind": "denyAccess", "times": 1})
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
    callback = callback_of(begun)
    data = expect.fault(connection.error("completeAuthorization", callback), 5005)
    assert data["upstream"]["code"] == "access_denied"


def test_a_refused_token_is_renewed_once(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)
    playground.faults(revokeTokens=True)
    result = fetch(connection, session=session["session"])
    assert result["status"] == 200 and result["attempts"] == 2 and result["tokenRefreshed"] is True
    playground.faults(resource={"kind": "unauthorized"})
    result = fetch(connection, session=session["session"])
    assert result["status"] == 401 and result["attempts"] == 2
    after = connection.call("getSession", {"session": session["session"]})
    assert after["session"] == session["session"] and after["createdAt"] == session["createdAt"]


def test_any_number_of_refusals_cause_one_renewal(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)["session"]
    assert fetch(connection, session=session)["status"] == 200
    before = playground.statistics()["tokenRequests"]
    playground.faults(revokeTokens=True)
    params = {"resource": "mine", "path": "orders", "session": session}
    pending = [connection.request("fetchResource", params) for _ in range(100)]
    for identifier in pending:
        assert connection.answer_to(identifier)["result"]["status"] == 200
    assert playground.statistics()["tokenRequests"] == before + 1
    assert playground.statistics()["refreshTokenReuseDetected"] == 0


def test_an_outage_logs_nobody_out(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)
    playground.faults(token={"kind": "serverError"})
    error = connection.error("refreshSession", {"session": session["session"]})
    assert expect.fault(error, 5003)["retryable"] is True
    assert fetch(connection, session=session["session"])["status"] == 200
    playground.faults(token=None)
    assert connection.call("refreshSession", {"session": session["session"]})["session"] == session["session"]


def test_a_token_endpoint_that_is_out_of_order_costs_no_login(connection: Connection, playground: Playground) -> None:
    announce_login(playground)
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
    callback = callback_of(begun)
    playground.faults(token={"kind": "unavailable", "times": 1})
    data = expect.fault(connection.error("completeAuthorization", callback), 5003)
    assert data["outcome"] == "replied" and data["retryable"] is True
    assert connection.call("listSessions") == {"sessions": []}
    assert connection.call("completeAuthorization", callback)["subject"] == "user-1001"


@pytest.fixture
def recorder(playground: Playground) -> Iterator[Recorder]:
    recorder = Recorder(playground.base)
    yield recorder
    recorder.stop()


def hold(recorder: Recorder, settings: Dict[str, Any], endpoint: str, path: str) -> threading.Event:
    """What `shop` is asked for there gets no answer until the event is set."""
    gate = threading.Event()
    recorder.instead = lambda _: (gate.wait(20), None)[1]
    settings["issuers"]["shop"]["endpoints"] = {endpoint: recorder.base + path}
    return gate


@pytest.mark.parametrize("leave", ["timeout", "cancel"])
def test_a_caller_leaves_and_its_login_is_finished(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground, recorder: Recorder, leave: str
) -> None:
    gate = hold(recorder, settings, "token", "/oidc/token")
    connection = connect(start(settings))
    announce_login(playground)
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
    params: Dict[str, Any] = {**callback_of(begun)}
    if leave == "timeout":
        params["meta"] = {"timeoutMs": 3000}
        expect.fault(connection.error("completeAuthorization", params), -32022)
    else:
        identifier = connection.request("completeAuthorization", params)
        eventually(lambda: recorder.to("/token"))
        connection.notify("$/cancelRequest", {"id": identifier})
        expect.fault(connection.answer_to(identifier)["error"], -32800)
    assert connection.call("listSessions") == {"sessions": []}
    gate.set()
    eventually(lambda: len(connection.call("listSessions")["sessions"]) == 1)
    assert fetch(connection, session="only")["status"] == 200


def test_an_end_is_bounded_and_goes_on(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground, recorder: Recorder
) -> None:
    gate = hold(recorder, settings, "revocation", "/oidc/revoke")
    connection = connect(start(settings))
    session = login(connection, playground)["session"]
    expect.fault(connection.error("endSession", {"session": session, "meta": {"timeoutMs": 3000}}), -32022)
    expect.fault(connection.error("getSession", {"session": session}), 5001)
    assert playground.statistics()["revocationRequests"] == 0
    gate.set()
    eventually(lambda: playground.statistics()["revocationRequests"] == 2)


@pytest.fixture
def short_lived() -> Iterator[Callable[..., Playground]]:
    """Playgrounds whose tokens expire soon, used by `shop` and `mine`."""
    started: List[Playground] = []

    def begin(settings: Dict[str, Any], lifetime: str) -> Playground:
        playground = Playground("--port", "0", "--access-token-lifetime", lifetime)
        started.append(playground)
        settings["issuers"]["shop"]["issuer"] = playground.issuer
        settings["resources"]["mine"]["baseUrl"] = playground.base + "/resource/"
        return playground

    yield begin
    for playground in started:
        playground.stop()


def test_a_token_is_used_to_its_end_while_the_issuer_hangs(
    start: Start, connect: Connect, settings: Dict[str, Any], short_lived: Callable[..., Playground]
) -> None:
    playground = short_lived(settings, "10s")
    connection = connect(start(settings))
    for _ in range(3):
        playground.faults(token=None)
        began = time.monotonic()
        session = login(connection, playground)["session"]
        playground.faults(token={"kind": "slow", "delayMs": 20_000})
        time.sleep(9.2)
        started = time.monotonic()
        params = {"resource": "mine", "path": "orders", "session": session, "timeoutMs": 5000}
        answer = connection.answer_to(connection.request("fetchResource", params))
        if answer.get("result", {}).get("status") == 200:
            assert time.monotonic() - started < 5
            return
        # Where the machine stood still, the token's end had come: then once more.
        assert time.monotonic() - began >= 10, answer
    pytest.fail(f"not used to its end: {answer}")


def test_only_what_a_login_mends_asks_for_a_login(
    start: Start, connect: Connect, settings: Dict[str, Any], short_lived: Callable[..., Playground]
) -> None:
    playground = short_lived(settings, "1s")
    connection = connect(start(settings))
    session = login(connection, playground)["session"]
    params = {"resource": "mine", "path": "orders", "session": session}
    time.sleep(1.1)
    for kind, code, upstream in [("refuseCredentials", 5003, "invalid_client"), ("unavailable", 5003, "temporarily_unavailable")]:
        playground.faults(token={"kind": kind, "times": 1})
        data = expect.fault(connection.error("fetchResource", params), code)
        assert data["outcome"] == "not_sent" and data["upstream"].get("code") == upstream
        time.sleep(1.1)
    playground.faults(token={"kind": "refuseGrant", "times": 1})
    assert expect.fault(connection.error("fetchResource", params), 1001)["upstream"]["code"] == "invalid_grant"


def test_a_revoked_session_is_of_no_use(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)["session"]
    assert connection.call("revokeToken", {"session": session}) == {"revoked": True}
    expect.fault(connection.error("fetchResource", {"resource": "mine", "path": "orders", "session": session}), 1001)
    expect.fault(connection.error("refreshSession", {"session": session}), 5002)
    assert connection.call("endSession", {"session": session})["ended"] is True


def test_a_session_the_issuer_ended_is_expired(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)
    connection.call("subscribe", {"events": ["event.sessionEnded", "event.sessionRefreshed"]})
    connection.call("refreshSession", {"session": session["session"]})
    playground.faults(revokeRefreshTokens=True)
    expect.fault(connection.error("refreshSession", {"session": session["session"]}), 5002)
    # The access token that the refresh brought has a life left, and goes nowhere any more.
    before = playground.statistics()
    params = {"resource": "mine", "path": "orders", "session": session["session"]}
    for _ in range(2):
        expect.fault(connection.error("fetchResource", params), 1001)
        expect.fault(connection.error("refreshSession", {"session": session["session"]}), 5002)
    assert playground.statistics()["resourceRequests"] == before["resourceRequests"]
    shown = connection.call("getSession", {"session": session["session"]})
    assert "accessTokenExpiresAt" not in shown
    connection.call("endSession", {"session": session["session"]})
    events = [message["method"] for message in connection.others() if "method" in message]
    assert events == ["event.sessionRefreshed", "event.sessionEnded"]


def test_ending_a_session_revokes_it_upstream(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)
    assert connection.call("endSession", {"session": session["session"]}) == {"ended": True, "upstream": "ended"}
    expect.fault(connection.error("getSession", {"session": session["session"]}), 5001)
    expect.fault(connection.error("endSession", {"session": session["session"]}), 5001)
    expect.fault(connection.error("fetchResource", {"resource": "mine", "path": "orders", "session": "only"}), 1001)
    assert connection.call("listSessions") == {"sessions": []}


def test_ending_a_session_works_without_the_issuer(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)
    playground.faults(revocation={"kind": "serverError"})
    assert connection.call("endSession", {"session": session["session"]}) == {"ended": True, "upstream": "failed"}
    expect.fault(connection.error("getSession", {"session": session["session"]}), 5001)


def test_one_person_who_logs_in_without_end_keeps_nobody_else_from_logging_in(
    start: Start, settings: Dict[str, Any], playground: Playground
) -> None:
    """The users of a web application share its uid, and what it may store."""

    def log_in(program: Connection, user: str) -> str:
        announce_login(playground, user)
        begun = program.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
        return program.call("completeAuthorization", callback_of(begun))["session"]

    with start({**settings, "limits": {"sessionBytesPerUid": "128KiB"}}).connect() as program:
        neighbour = log_in(program, "bob")
        made = [log_in(program, "alice") for _ in range(80)]
        log_in(program, "bob")
        assert program.call("refreshSession", {"session": neighbour})["session"] == neighbour
        expect.fault(program.error("getSession", {"session": made[0]}), 5001)
        assert program.call("getSession", {"session": made[-1]})["session"] == made[-1]


def test_a_login_replaces_the_session_that_the_browser_had(
    sidecar: Sidecar, playground: Playground, connect: Connect
) -> None:
    connection, other = connect(sidecar), connect(sidecar)

    def log_in(user: str, replaces: Any) -> str:
        announce_login(playground, user)
        begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
        return connection.call("completeAuthorization", {**callback_of(begun), "replaces": replaces})["session"]

    for nothing in (None, "", "only", "x" * 43, "\u00e9" * 43):
        connection.call("endSession", {"session": log_in("alice", nothing)})
    alice = log_in("alice", None)
    other.call("subscribe", {"events": ["event.sessionEnded"]})
    bob = log_in("bob", alice)
    assert other.receive()["params"]["session"] == alice
    expect.fault(connection.error("getSession", {"session": alice}), 5001)
    again = log_in("bob", bob)
    shown = connection.call("getSession", {"session": bob})
    left = datetime.fromisoformat(shown["expiresAt"].replace("Z", "+00:00")) - datetime.now(timezone.utc)
    assert timedelta(seconds=30) < left <= timedelta(seconds=60), "another tab may have it still, and no longer"
    expect.fault(connection.error("refreshSession", {"session": bob}), 5002)
    assert fetch(connection, session=bob)["status"] == fetch(connection, session=again)["status"] == 200
    # Which of the two is meant is certain.
    assert fetch(connection, session="only")["status"] == 200
    assert connection.call("endSession", {"session": again})["upstream"] == "ended"


LOGIN_ONLY = ["beginAuthorization", "completeAuthorization"]


def replace(connection: Connection, playground: Playground, replaced: str) -> str:
    """The session of a login that replaces another session, of another user."""
    announce_login(playground, "bob")
    begun = connection.call("beginAuthorization", {"issuer": "shop", "redirectUri": REDIRECT})
    return connection.call("completeAuthorization", {**callback_of(begun), "replaces": replaced})["session"]


def test_a_login_through_an_endpoint_replaces_only_what_the_endpoint_may_end(
    sidecar: Sidecar, playground: Playground, connect: Connect
) -> None:
    maker = connect(sidecar)
    session = login(maker, playground)["session"]
    makes = ["createEndpoint", *LOGIN_ONLY]
    with Endpoint(maker, methods=["endSession", *makes]).connect() as child:
        with Endpoint(child, methods=LOGIN_ONLY).connect() as grandchild:
            assert replace(grandchild, playground, session)
        with Endpoint(maker, methods=makes).connect() as other, Endpoint(other).connect() as grandchild:
            expect.fault(grandchild.error("endSession", {"session": session}), -32020)
            assert replace(other, playground, session) != replace(grandchild, playground, session)
        with connect(sidecar) as narrowed:
            narrowed.call("narrow", {"methods": LOGIN_ONLY})
            assert replace(narrowed, playground, session)
        assert fetch(maker, session=session)["status"] == 200, "none of them may end it"
        with Endpoint(child, methods=["endSession", *LOGIN_ONLY]).connect() as grandchild:
            assert replace(grandchild, playground, session)
        expect.fault(maker.error("getSession", {"session": session}), 5001)


def test_a_login_of_a_peer_that_may_not_end_sessions_replaces_none(
    start: Start, settings: Dict[str, Any], playground: Playground, connect: Connect
) -> None:
    rule = {"uid": os.getuid(), "methods": ["fetchResource", *LOGIN_ONLY]}
    sidecar = start({**settings, "peers": [rule]})
    connection = connect(sidecar)
    session = login(connection, playground)["session"]
    expect.fault(connection.error("endSession", {"session": session}), -32020)
    assert replace(connection, playground, session) != session
    assert fetch(connection, session=session)["status"] == 200


def test_unknown_handles_are_all_the_same(connection: Connection) -> None:
    for handle in ["", "x", "A" * 43, "A" * 44, "../../etc/passwd", "é" * 43]:
        for method in ["getSession", "refreshSession", "endSession"]:
            expect.fault(connection.error(method, {"session": handle}), 5001, "/session")
        # A program that hands on the empty field of a visitor has nobody logged in.
        code = 5001 if handle else 1001
        expect.fault(connection.error("fetchResource", {"resource": "mine", "session": handle}), code)


def test_sessions_from_grants(connection: Connection, playground: Playground) -> None:
    def create(**grant: Any) -> Dict[str, Any]:
        return connection.call("createSession", {"issuer": "shop", "grant": grant})

    first = login(connection, playground)
    token = playground_token(playground)
    exchanged = create(type="token_exchange", subjectToken=token)
    assert exchanged["kind"] == "user" and exchanged["session"] != first["session"]
    given = create(type="tokens", accessToken=token, expiresIn=60, scope="orders")
    assert given["scope"] == "orders" and given["expiresAt"] == given["accessTokenExpiresAt"]
    assert fetch(connection, session=given["session"])["status"] == 200
    expect.fault(connection.error("fetchResource", {"resource": "mine", "session": "only"}), -32602, "/session")
    expect.fault(connection.error("refreshSession", {"session": given["session"]}), 5002)


@pytest.mark.parametrize(
    "grant, code, path",
    [
        ({"type": "tokens"}, -32602, "/grant"),
        ({"type": "tokens", "accessToken": "a b"}, -32602, "/grant/accessToken"),
        ({"type": "tokens", "accessToken": "a", "expiresIn": -1}, -32602, "/grant/expiresIn"),
        ({"type": "refresh_token"}, -32602, "/grant/refreshToken"),
        ({"type": "refresh_token", "refreshToken": "r", "code": "c"}, -32602, "/grant/code"),
        ({"type": "password"}, -32602, "/grant/type"),
        ({"type": "refresh_token", "refreshToken": "unknown"}, 5003, None),
        ({"type": "refresh_token", "refreshToken": "r" * 20_000}, -32602, "/grant/refreshToken"),
        ({"type": "tokens", "ssoToken": "s"}, 5010, None),
        ({"type": "authorization_code", "code": "unknown", "redirectUri": REDIRECT}, 5003, None),
        ({"type": "tokens", "accessToken": "a", "idToken": "eyJhbGciOiJub25lIn0.e30."}, 5005, None),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_wrong_grants(connection: Connection, grant: Any, code: int, path: str) -> None:
    error = connection.error("createSession", {"issuer": "shop", "grant": grant})
    data = expect.fault(error, code, path)
    if code == 5003:
        assert data["error"] == "invalid_grant" and data["status"] == 400
    assert connection.call("listSessions") == {"sessions": []}


def test_unknown_issuers(connection: Connection) -> None:
    for method, params in [
        ("createSession", {"grant": {"type": "refresh_token", "refreshToken": "r"}}),
        ("beginAuthorization", {"redirectUri": REDIRECT}), ("beginDeviceAuthorization", {}),
        ("revokeToken", {"token": "t"}),
    ]:
        expect.fault(connection.error(method, {"issuer": "nobody", **params}), 5009)


def test_a_device_authorization(connection: Connection, playground: Playground) -> None:
    begun = connection.call("beginDeviceAuthorization", {"issuer": "shop"})
    assert begun["userCode"] and begun["verificationUri"].startswith("http") and begun["intervalMs"] == 5000
    requests = playground.statistics()["tokenRequests"]
    data = expect.fault(connection.error("completeDeviceAuthorization", {"handle": begun["handle"]}), 5007)
    assert 0 < data["retryAfterMs"] <= 5000 and playground.statistics()["tokenRequests"] == requests
    status, _, _ = playground.request(
        "POST", "/playground/device", body=json.dumps({"userCode": begun["userCode"], "user": "alice"}).encode(),
        headers={"Content-Type": "application/json"})
    assert status in (200, 204)
    time.sleep(data["retryAfterMs"] / 1000 + 0.05)
    session = connection.call("completeDeviceAuthorization", {"handle": begun["handle"]})
    assert session["subject"] == "user-1001" and fetch(connection, session=session["session"])["status"] == 200
    expect.fault(connection.error("completeDeviceAuthorization", {"handle": begun["handle"]}), 5006)
    expect.fault(connection.error("completeDeviceAuthorization", {"handle": "x"}), 5006)


def test_tokens_stay_in_the_sidecar(connection: Connection, playground: Playground) -> None:
    session = login(connection, playground)["session"]
    expect.fault(connection.error("getAccessToken", {"resource": "mine", "session": session}), -32020)


def test_tokens_leave_where_that_is_configured(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground
) -> None:
    connection = connect(start({**settings, "tokens": {"leaveTheSidecar": True}}))
    expect.fault(connection.error("getAccessToken", {"resource": "mine"}), 1001)
    mine = {"resource": "mine", "session": login(connection, playground)["session"]}
    result = connection.call("getAccessToken", mine)
    assert result["tokenType"] == "Bearer" and expect.RFC3339_MILLISECONDS.match(result["expiresAt"])
    status, _, _ = playground.request(
        "GET", "/resource/orders", headers={"Authorization": f"Bearer {result['accessToken']}"})
    assert status == 200
    assert connection.call("getAccessToken", mine)["accessToken"] == result["accessToken"]
    device = connection.call("getAccessToken", {"resource": "orders"})
    assert device["accessToken"] != result["accessToken"]
    other = connection.call("getAccessToken", {**mine, "minTtlSeconds": 86_400})
    assert other["accessToken"] != result["accessToken"]
    assert connection.call("revokeToken", {"issuer": "shop", "token": other["accessToken"]}) == {"revoked": True}
    expect.fault(connection.error("getAccessToken", {}), -32602, "/resource")
    expect.fault(connection.error("getAccessToken", {"issuer": "nobody"}), 5009)


def test_a_peer_with_certain_resources_gets_tokens_for_those_only(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground
) -> None:
    settings["resources"]["plain"] = {**settings["resources"]["mine"]}
    del settings["resources"]["plain"]["scope"]
    peers = [{"uid": os.getuid(), "methods": ["*"], "resources": ["mine", "plain"]}]
    connection = connect(start({**settings, "tokens": {"leaveTheSidecar": True}, "peers": peers}))
    session = login(connection, playground)["session"]
    narrow = connection.call("getAccessToken", {"resource": "mine", "session": session})
    assert narrow["scope"] == "orders"
    expect.fault(connection.error("getAccessToken", {"issuer": "shop", "session": session}), -32020, "/issuer")
    expect.fault(connection.error("getAccessToken", {"resource": "plain", "session": session}), -32020, "/resource")
    expect.fault(connection.error("getAccessToken", {"resource": "orders"}), -32602, "/resource")
    expect.fault(connection.error("getAccessToken", {"resource": "nowhere"}), -32602, "/resource")


def test_a_session_goes_with_its_own_kind_of_token(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground
) -> None:
    connection = connect(start({**settings, "tokens": {"leaveTheSidecar": True}}))
    session = login(connection, playground)["session"]
    params = {"resource": "mine", "session": session}
    expect.fault(connection.error("getAccessToken", {**params, "auth": "clientCredentials"}), -32602, "/session")
    expect.fault(connection.error("getAccessToken", {**params, "auth": "clientCredentials", "session": "A" * 43}), 5001)
    expect.fault(connection.error("getAccessToken", {**params, "auth": "implicit"}), 5001)


@pytest.mark.skipif(os.getuid() != 0, reason="needs another uid")
def test_another_user_sees_nothing(
    start: Start, settings: Dict[str, Any], playground: Playground, directory: Any
) -> None:
    directory.chmod(0o755)
    changes = {
        **settings, "listen": {"path": str(directory / "shared.sock"), "mode": "0666"},
        "peers": [{"uid": 0, "methods": ["*"]}, {"uid": 65534, "methods": ["*"]}],
    }
    sidecar = start(changes)
    connection = sidecar.connect()
    session = login(connection, playground)["session"]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            with sidecar.connect() as other:
                answers = [
                    other.call("listSessions"), other.error("getSession", {"session": session})["code"],
                    other.error("endSession", {"session": session})["code"],
                    other.error("fetchResource", {"resource": "mine", "session": session})["code"],
                    other.error("fetchResource", {"resource": "mine", "session": "only"})["code"],
                ]
            os.write(writer, json.dumps(answers).encode())
        finally:
            os._exit(0)  # without it a child that fails would go on with the tests
    os.close(writer)
    os.waitpid(child, 0)
    assert json.loads(os.read(reader, 65536)) == [{"sessions": []}, 5001, 5001, 5001, 1001]
    assert connection.call("getSession", {"session": session})["session"] == session


def test_no_secret_is_in_the_log(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground
) -> None:
    sidecar = start({**settings, "log": {"level": "trace"}, "tokens": {"leaveTheSidecar": True}})
    connection = connect(sidecar)
    session = login(connection, playground)
    token = connection.call("getAccessToken", {"resource": "mine", "session": session["session"]})["accessToken"]
    connection.call("refreshSession", {"session": session["session"]})
    playground.faults(revokeRefreshTokens=True)
    connection.error("refreshSession", {"session": session["session"]})
    connection.call("endSession", {"session": session["session"]})
    log = sidecar.awaits_log("session ended")
    for secret in [session["session"], token, "shopsecret", "eyJ", "user-1001"]:
        assert secret not in log


def playground_token(playground: Playground) -> str:
    """An access token of alice, obtained around the sidecar."""
    import base64

    announce_login(playground)
    query = urlencode({
        "response_type": "code", "client_id": "shop", "redirect_uri": REDIRECT, "scope": "openid orders", "state": "s",
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256"})
    code = parse_qs(urlsplit(authorize(f"{playground.issuer}/authorize?{query}")).query)["code"][0]
    body = urlencode({
        "grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT,
        "code_verifier": "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"})
    status, _, answer = playground.request("POST", "/oidc/token", body=body.encode(), headers={
        "Content-Type": "application/x-www-form-urlencoded",
        "Authorization": "Basic " + base64.b64encode(b"shop:shopsecret").decode()})
    assert status == 200, answer
    return json.loads(answer)["access_token"]


def test_many_resources_get_their_own_tokens_at_once(
    start: Start, connect: Connect, issuer: IssuerDouble, directory: Any
) -> None:
    secret = directory / "own-secret"
    secret.write_text("hunter2")
    secret.chmod(0o600)
    numbers = itertools.count(1)

    def token(asked: Any) -> Any:
        number = next(numbers)
        if "refused" in asked.body.decode():
            return document({"error": "invalid_target", "error_description": "no such place"}, 400)
        return document({
            "access_token": f"t{number}", "token_type": "Bearer", "expires_in": 300, "refresh_token": f"r{number}"})

    issuer.metadata["token_endpoint"] = issuer.base + "/token"
    issuer.answers["/token"] = token
    issuer.answers["/api"] = lambda asked: document({"token": asked.headers["authorization"]})
    names = [f"api{number}" for number in range(12)] + ["refused"]
    connection = connect(start({
        "issuers": {"own": issuer.settings(str(secret))},
        "resources": {
            name: {"baseUrl": issuer.base + "/", "issuer": "own", "auth": "user", "audience": f"https://{name}.example.com"}
            for name in names
        },
    }))
    created = {"issuer": "own", "grant": {"type": "refresh_token", "refreshToken": "r0"}}
    session = connection.call("createSession", created)["session"]
    requests = [connection.request("fetchResource", {"resource": name, "path": "api", "session": session}) for name in names]
    answers = [connection.answer_to(request) for request in requests]
    assert len({answer["result"]["body"] for answer in answers[:-1]}) == 12
    data = expect.fault(answers[-1]["error"], 5003)
    assert data["upstream"] == {"status": 400, "code": "invalid_target"}
    assert (data["error"], data["errorDescription"], data["status"]) == ("invalid_target", "no such place", 400)
