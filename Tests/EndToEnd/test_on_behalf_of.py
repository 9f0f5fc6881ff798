"""`auth: onBehalfOf`: an inbound token is validated, exchanged, and the new token is what the resource gets."""
from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List
from urllib.parse import parse_qsl

import pytest

from harness import expect
from harness.connection import Connection
from harness.gateway import ask
from harness.idpyoidc import IdpyOIDC
from harness.issuer import Asked, IssuerDouble, document
from harness.sidecar import Sidecar, StartError
from harness.signing import SigningKey, compact
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]

GATEWAY = "https://gateway.example"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
RULES = {"grant": "token_exchange", "inboundAudience": GATEWAY, "audience": "https://reports.example", "scope": "read"}
ENTRA = {"grant": "jwt_bearer", "dialect": "entra", "inboundAudience": "gateway", "scope": "api://reports/.default"}


class Upstream:
    """An issuer that exchanges tokens, and the resource behind it; both remember what they got."""

    def __init__(self, double: IssuerDouble, key: SigningKey) -> None:
        self.double, self.key = double, key
        double.serve_keys(key.jwks())
        double.metadata["token_endpoint"] = f"{double.base}/token"
        double.answers["/token"] = self.exchange
        double.answers["/introspect"] = lambda _: document({"active": False})
        double.answers["/api/reports"] = lambda asked: document({"authorization": asked.headers["authorization"]})

    def inbound(self, subject: str = "alice", typ: str = "at+jwt", **changes: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": self.double.base, "sub": subject, "aud": GATEWAY, "exp": now + 300, "iat": now - 1, "jti": "j",
            "client_id": "web", **changes,
        }
        return self.key.sign({name: value for name, value in claims.items() if value is not None}, typ=typ)

    def exchange(self, asked: Asked) -> Any:
        form = dict(parse_qsl(asked.body.decode()))
        if "subject_token" not in form:
            return document({"error": "unsupported_grant_type"}, 400)
        subject = json.loads(decoded(form["subject_token"].split(".")[1]))["sub"]
        token = f"for-{subject}-{self.double.count('/token')}"
        return document({
            "access_token": token, "token_type": "Bearer", "expires_in": 3600, "issued_token_type": ACCESS_TOKEN,
            "refresh_token": "never-kept"})

    @property
    def forms(self) -> List[List[Any]]:
        return [parse_qsl(asked.body.decode()) for asked in self.double.asked if asked.path == "/token"]


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@pytest.fixture
def upstream(issuer: IssuerDouble, ec: SigningKey) -> Upstream:
    return Upstream(issuer, ec)


def settings(upstream: Upstream, rules: Dict[str, Any], **more: Any) -> Dict[str, Any]:
    base = upstream.double.base
    return {
        "issuers": {"corp": {
            "issuer": base, "clientId": "gateway", "clientAuth": "client_secret_post", "clientSecret": "a-secret-of-gateway",
            "idToken": {"algorithms": ["ES256"]}}},
        "resources": {"reports": {
            "baseUrl": f"{base}/api/", "issuer": "corp", "auth": "onBehalfOf", "exchange": rules}},
        "tokens": {"leaveTheSidecar": True},
        "log": {"level": "debug"},
        **more,
    }


@pytest.fixture
def sidecar(start: Start, upstream: Upstream) -> Sidecar:
    return start(settings(upstream, RULES))


@pytest.fixture
def connection(sidecar: Sidecar, connect: Connect) -> Connection:
    return connect(sidecar)


def params(token: str, **more: Any) -> Dict[str, Any]:
    return {"resource": "reports", "path": "reports", "onBehalfOf": {"token": token}, **more}


def carried(connection: Connection, token: str, **more: Any) -> str:
    """The token that the resource got."""
    answer = connection.call("fetchResource", params(token, **more))
    assert answer["status"] == 200, answer
    return json.loads(answer["body"])["authorization"]


def test_the_resource_gets_an_exchanged_token(connection: Connection, sidecar: Sidecar, upstream: Upstream) -> None:
    alice, bob = upstream.inbound(), upstream.inbound("bob")
    assert carried(connection, alice) == "Bearer for-alice-1"
    assert carried(connection, bob) == "Bearer for-bob-2"
    assert carried(connection, alice) == "Bearer for-alice-1", "from the cache"
    assert upstream.forms[0] == [
        ("grant_type", EXCHANGE), ("subject_token", alice), ("subject_token_type", ACCESS_TOKEN),
        ("requested_token_type", ACCESS_TOKEN), ("audience", "https://reports.example"), ("scope", "read"),
        ("client_id", "gateway"), ("client_secret", "a-secret-of-gateway"),
    ]
    given = connection.call("getAccessToken", {"resource": "reports", "onBehalfOf": {"token": alice}})
    assert given["accessToken"] == "for-alice-1" and given["tokenType"] == "Bearer"
    resource = [asked for asked in upstream.double.asked if asked.path.startswith("/api/")]
    assert all(token not in str(asked.headers) for asked in resource for token in (alice, bob))
    log = sidecar.log()
    assert not any(secret in log for secret in (alice, bob, "for-alice", "never-kept", "a-secret-of-gateway"))


def test_any_number_of_callers_cause_one_exchange(sidecar: Sidecar, connect: Connect, upstream: Upstream) -> None:
    token = upstream.inbound()
    slow = upstream.exchange
    upstream.double.answers["/token"] = lambda asked: (time.sleep(0.5), slow(asked))[1]
    connections = [connect(sidecar) for _ in range(8)]
    pending = [(each, each.request("fetchResource", params(token))) for each in connections for _ in range(12)]
    assert all(each.answer_to(identifier)["result"]["status"] == 200 for each, identifier in pending)
    assert len(upstream.forms) == 1


def test_a_token_that_is_not_valid_is_not_exchanged(connection: Connection, upstream: Upstream) -> None:
    good = upstream.inbound()
    head, body, signature = good.split(".")
    cases = [
        (upstream.inbound(aud="https://other.example"), "aud_mismatch"),
        (upstream.inbound(exp=int(time.time()) - 3600, iat=int(time.time()) - 7200), "token_expired"),
        # Within the tolerance for clocks it is valid, and leaves no time to use another token.
        (upstream.inbound(exp=int(time.time()) - 2, iat=int(time.time()) - 60), "token_expired"),
        (upstream.inbound(cnf={"jkt": "0" * 43}), "confirmation_required"),
        (upstream.inbound(iss="https://other.example"), "iss_mismatch"),
        (upstream.inbound(typ="JWT"), "wrong_token_type"),
        (f"{head}.{compact({'sub': 'eve'})}.{signature}", None),
        ("x", None), ("", None),
    ]
    for token, code in cases:
        for method, more in [("fetchResource", {"path": "reports"}), ("getAccessToken", {})]:
            error = connection.error(method, {"resource": "reports", "onBehalfOf": {"token": token}, **more})
            data = expect.fault(error, 1001)
            assert data["outcome"] == "not_sent" and data["upstream"]["code"] == (code or data["upstream"]["code"]), data
            assert token == "" or len(token) < 9 or token not in json.dumps(error)
    assert upstream.forms == [] and upstream.double.count("/api/reports") == 0


def test_params(connection: Connection, upstream: Upstream) -> None:
    token = upstream.inbound()
    for given, path in [
        ({"resource": "reports", "path": "reports"}, "/onBehalfOf"),
        ({"resource": "open", "path": "x", "onBehalfOf": {"token": token}}, "/onBehalfOf"),
        ({"resource": "orders", "path": "x", "onBehalfOf": {"token": token}}, "/onBehalfOf"),
        ({"resource": "orders", "path": "x", "auth": "onBehalfOf", "onBehalfOf": {"token": token}}, "/auth"),
        (params(token, auth="none"), "/onBehalfOf"),
        (params(token, onBehalfOf={"token": "x" * 65_537}), "/onBehalfOf/token"),
        (params(token, onBehalfOf={"token": token, "kind": "x"}), "/onBehalfOf/kind"),
        (params(token, onBehalfOf={}), "/onBehalfOf/token"),
        (params(token, onBehalfOf=token), "/onBehalfOf"),
    ]:
        expect.fault(connection.error("fetchResource", given), -32602, path)
    expect.fault(connection.error("getAccessToken", {"resource": "reports"}), -32602, "/onBehalfOf")
    expect.fault(connection.error("getAccessToken", {"issuer": "corp", "auth": "onBehalfOf"}), -32602, "/resource")
    assert upstream.forms == []


def test_keys_that_cannot_be_fetched_are_a_fault(start: Start, connect: Connect, upstream: Upstream) -> None:
    upstream.double.answers["/jwks"] = lambda _: document({}, 503)
    connection = connect(start(settings(upstream, RULES)))
    data = expect.fault(connection.error("fetchResource", params(upstream.inbound())), 2001)
    assert data["outcome"] == "not_sent" and data["retryable"] is True
    assert upstream.forms == []


def test_a_task_is_cancelled_while_its_inbound_token_is_validated(
    start: Start, connect: Connect, upstream: Upstream
) -> None:
    """It would catch a fetch that is no task yet while a slow issuer is needed for the verdict."""
    quick = upstream.double.answers["/jwks"]
    upstream.double.answers["/jwks"] = lambda asked: (time.sleep(4), quick(asked))[1]
    connection = connect(start(settings(upstream, RULES)))
    pending = connection.request("fetchResource", params(upstream.inbound(), task="mine"))
    eventually(lambda: upstream.double.count("/jwks") == 1)
    # The keys may be fetched before a call needs them.
    eventually(
        lambda: [task["state"] for task in connection.call("listTasks")["tasks"]] == ["running"], 3, what="the task")
    began = time.monotonic()
    connection.call("cancelTask", {"task": "mine"})
    data = expect.fault(connection.answer_to(pending)["error"], -32800)
    assert data["outcome"] == "not_sent" and time.monotonic() - began < 2
    assert connection.call("getTask", {"task": "mine"})["state"] == "cancelled"
    assert expect.fault(connection.error("fetchResource", params("no.token", task="other")), 1001)
    assert connection.call("getTask", {"task": "other"})["state"] == "completed"
    assert upstream.forms == [] and upstream.double.count("/api/reports") == 0


def test_an_opaque_token_is_introspected(connection: Connection, upstream: Upstream) -> None:
    now = int(time.time())
    known: Dict[str, Any] = {
        "good": {"active": True, "sub": "alice", "aud": GATEWAY, "exp": now + 300, "iss": upstream.double.base},
        "bound": {"active": True, "sub": "alice", "aud": GATEWAY, "exp": now + 300, "cnf": {"jkt": "0" * 43}},
        "other": {"active": True, "sub": "alice", "aud": "https://other.example", "exp": now + 300},
    }
    upstream.double.answers["/introspect"] = lambda asked: document(
        known.get(dict(parse_qsl(asked.body.decode()))["token"], {"active": False}))
    upstream.double.answers["/token"] = lambda _: document({
        "access_token": "new", "token_type": "Bearer", "expires_in": 3600, "issued_token_type": ACCESS_TOKEN})
    assert carried(connection, "good") == "Bearer new"
    for token, code in [("bad", "inactive"), ("bound", "confirmation_required"), ("other", "aud_mismatch")]:
        data = expect.fault(connection.error("fetchResource", params(token)), 1001)
        assert data["upstream"]["code"] == code
    # A revocation is seen by the next call, though the new token is cached.
    known.pop("good")
    assert expect.fault(connection.error("fetchResource", params("good")), 1001)["upstream"]["code"] == "inactive"
    assert len(upstream.forms) == 1
    upstream.double.answers["/introspect"] = lambda _: document({}, 503)
    assert expect.fault(connection.error("fetchResource", params("good")), 2007)["outcome"] == "not_sent"


@pytest.mark.parametrize("changes", [
    {"issued_token_type": None}, {"token_type": "N_A"}, {"issued_token_type": "urn:ietf:params:oauth:token-type:id_token"},
    "another user", "the inbound token",
])
def test_an_answer_that_cannot_be_used_is_not_sent(connection: Connection, upstream: Upstream, changes: Any) -> None:
    token = upstream.inbound()

    def answer(asked: Asked) -> Any:
        members = {"access_token": "new", "token_type": "Bearer", "expires_in": 60, "issued_token_type": ACCESS_TOKEN}
        if changes == "another user":
            members["access_token"] = upstream.inbound("bob", aud="https://reports.example")
        elif changes == "the inbound token":
            members["access_token"] = token
        else:
            members.update(changes)
        return document({name: value for name, value in members.items() if value is not None})

    upstream.double.answers["/token"] = answer
    data = expect.fault(connection.error("fetchResource", params(token)), 5003)
    assert data["upstream"]["code"] == "invalid_token_response" and data["outcome"] == "not_sent"
    assert upstream.double.count("/api/reports") == 0


def test_the_audience_of_a_call_replaces_the_configured_one(connection: Connection, upstream: Upstream) -> None:
    """It would catch a call's audience that adds to the configured one, or that counts for nothing."""
    other = "https://other.example"
    named = params(upstream.inbound(), onBehalfOf={"token": upstream.inbound(), "audience": other})
    assert expect.fault(connection.error("fetchResource", named), 1001)["upstream"] == {"code": "aud_mismatch"}
    assert upstream.forms == []
    token = upstream.inbound(aud=other)
    named = params(token, onBehalfOf={"token": token, "audience": other})
    assert connection.call("fetchResource", named)["status"] == 200


def test_an_exchanged_token_ends_with_the_inbound_token(connection: Connection, upstream: Upstream) -> None:
    token = upstream.inbound(exp=int(time.time()) + 4)
    given = connection.call("getAccessToken", {"resource": "reports", "onBehalfOf": {"token": token}})
    assert given["expiresAt"] <= time.strftime("%Y-%m-%dT%H:%M:%S.999Z", time.gmtime(time.time() + 4))

    def has_expired() -> bool:
        answer = connection.answer_to(connection.request("fetchResource", params(token)))
        return answer.get("error", {}).get("data", {}).get("upstream", {}).get("code") == "token_expired"

    assert eventually(has_expired, 15)


def test_the_dialect_of_entra(start: Start, connect: Connect, upstream: Upstream) -> None:
    claims = '{"access_token":{"acrs":{"essential":true,"value":"c1"}}}'
    answers: List[Any] = [document({"error": "interaction_required", "suberror": "basic_action", "claims": claims}, 400)] * 2
    answers.append(document({"access_token": "new", "token_type": "Bearer", "expires_in": 3600}))
    upstream.double.answers["/token"] = lambda _: answers.pop(0)
    connection = connect(start(settings(upstream, ENTRA)))
    # Entra's access tokens: no at+jwt, no client_id, no jti; what tells them from ID tokens is scp.
    token = upstream.inbound(typ="JWT", aud="gateway", client_id=None, jti=None, scp="access_as_user", oid="o-1")
    for scp in (None, ""):
        other = upstream.inbound(typ="JWT", aud="gateway", client_id=None, jti=None, scp=scp)
        expect.fault(connection.error("fetchResource", params(other)), 1001)
    for _ in range(2):
        data = expect.fault(connection.error("fetchResource", params(token)), 1019)
        assert data["claims"] == claims and data["upstream"] == {"status": 400, "code": "interaction_required"}
        encoded = base64.b64encode(claims.encode()).decode()
        assert data["wwwAuthenticate"] == f'Bearer error="insufficient_claims", claims="{encoded}"'
        assert data["outcome"] == "not_sent" and data["retryable"] is False
    assert carried(connection, token) == "Bearer new", "the second call asked again, and so did the third"
    # One that names its type by RFC 9068 needs no scp, but everything that RFC 9068 needs.
    answers.append(document({"access_token": "newer", "token_type": "Bearer", "expires_in": 3600}))
    assert carried(connection, upstream.inbound(aud="gateway")) == "Bearer newer"
    lacking = connection.error("fetchResource", params(upstream.inbound(aud="gateway", jti=None, scp="access_as_user")))
    assert expect.fault(lacking, 1001)["upstream"]["code"] == "missing_claim"
    body = next(asked.body for asked in upstream.double.asked if asked.path == "/token").decode()
    assert body == (
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        f"&assertion={token}&scope=api%3A%2F%2Freports%2F.default&requested_token_use=on_behalf_of"
        "&client_id=gateway&client_secret=a-secret-of-gateway")
    health = connection.call("health")
    assert "interaction_required" not in json.dumps(health), "one user's login is no state of the issuer"


def test_a_parameter_that_a_grant_does_not_have_is_not_sent(
    start: Start, connect: Connect, upstream: Upstream
) -> None:
    upstream.double.answers["/token"] = lambda _: document({"access_token": "new", "token_type": "Bearer", "expires_in": 60})
    rules = {**ENTRA, "audience": "https://reports.example.com", "requestedTokenType": "access_token"}
    sidecar = start(settings(upstream, rules))
    assert "exchange.audience: is not sent" in sidecar.log() and "exchange.requestedTokenType: is not sent" in sidecar.log()
    assert carried(connect(sidecar), upstream.inbound(aud="gateway")) == "Bearer new"
    assert {name for name, _ in upstream.forms[0]} == {
        "grant_type", "assertion", "scope", "requested_token_use", "client_id", "client_secret"}


@pytest.mark.parametrize("named", [{"sub": "alice"}, {"sid": "s1"}, {"sub": "alice", "sid": "s2"}], ids=lambda named: "+".join(named))
def test_a_logout_forgets_the_users_tokens(connection: Connection, upstream: Upstream, named: Dict[str, str]) -> None:
    """Also those of inbound tokens that do not name the login, where the logout token names the user."""
    tokens = [upstream.inbound(sid="s1"), upstream.inbound("bob", sid="s3")]
    first = [carried(connection, token) for token in tokens]
    now = int(time.time())
    claims = {
        "iss": upstream.double.base, "aud": "gateway", "iat": now, "exp": now + 60, "jti": "l",
        "events": {"http://schemas.openid.net/event/backchannel-logout": {}}, **named}
    result = connection.call("validateLogoutToken", {
        "logoutToken": upstream.key.sign(claims, typ="logout+jwt"), "issuer": "corp", "end": True})
    assert result["valid"] is True and result["ended"] == 0
    again = [carried(connection, token) for token in tokens]
    assert again[0] != first[0] and again[1] == first[1] and len(upstream.forms) == 3


def test_a_rejected_token_is_exchanged_once_more(connection: Connection, upstream: Upstream) -> None:
    def guarded(asked: Asked) -> Any:
        if asked.headers["authorization"] == "Bearer for-alice-1":
            return document({}, 401, WWW_Authenticate='Bearer error="invalid_token"')
        return document({"authorization": asked.headers["authorization"]})

    upstream.double.answers["/api/reports"] = guarded
    answer = connection.call("fetchResource", params(upstream.inbound()))
    assert answer["status"] == 200 and answer["tokenRefreshed"] is True and answer["attempts"] == 2
    assert len(upstream.forms) == 2


@needs_root
def test_two_uids_with_one_inbound_token_share_nothing(
    start: Start, upstream: Upstream, directory: Path
) -> None:
    open_to_all(directory)
    sidecar = start(settings(upstream, RULES, **BOTH))
    token = upstream.inbound()
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        tokens = [carried(alice, token), carried(bob, token), carried(alice, token), carried(bob, token)]
    assert tokens[0] == tokens[2] != tokens[1] == tokens[3]
    assert len(upstream.forms) == 2


def keep_a_cookie(asked: Asked) -> Any:
    """An application server that gives each user a cookie, and shows the ones it gets."""
    cookie = asked.headers.get("cookie")
    return document({"cookie": cookie}, Set_Cookie=f"login={asked.headers['authorization'].split()[1]}; Path=/")


def test_cookies_go_with_their_own_inbound_token_only(
    start: Start, connect: Connect, upstream: Upstream, directory: Path
) -> None:
    """All users have one uid and no session: nothing but the inbound token tells them apart."""
    upstream.double.answers["/api/reports"] = keep_a_cookie
    http = str(directory / "http.sock")
    configuration = settings(upstream, RULES, gateway={"listen": {"path": http}})
    configuration["resources"]["reports"]["cookies"] = {"store": True}
    sidecar = start(configuration)
    sidecar.awaits_log("gateway listening")
    connection = connect(sidecar)

    def over_rpc(token: str) -> Any:
        return json.loads(connection.call("fetchResource", params(token))["body"])["cookie"]

    def over_http(token: str) -> Any:
        answer = ask(http, "GET", "/reports/reports", headers={"Postern-On-Behalf-Of": token})
        assert answer.status == 200, answer.body
        return answer.json["cookie"]

    for fetch, number in ((over_rpc, 1), (over_http, 4)):
        alice, bob, elsewhere = upstream.inbound(), upstream.inbound("bob"), upstream.inbound()
        assert [fetch(token) for token in (alice, bob, elsewhere)] == [None, None, None]
        assert [fetch(token) for token in (bob, elsewhere, alice)] == [
            f"login=for-bob-{number + 1}", f"login=for-alice-{number + 2}", f"login=for-alice-{number}"]


def test_a_peer_without_the_resource_learns_nothing(start: Start, connect: Connect, upstream: Upstream) -> None:
    import os

    rule = {"uid": os.getuid(), "methods": ["*"], "resources": ["open"]}
    connection = connect(start(settings(upstream, RULES, peers=[rule])))
    error = connection.error("fetchResource", params("not even a token"))
    assert expect.fault(error, -32602, "/resource")
    assert upstream.double.count("/jwks") == 0


@pytest.mark.parametrize("change, problem", [
    ({"exchange": None}, "auth: onBehalfOf needs the section exchange"),
    ({"issuer": None}, "auth: onBehalfOf needs an issuer"),
    ({"auth": "user"}, "goes with auth: onBehalfOf only"),
    ({"exchange": {"inboundAudience": None}}, "inboundAudience is missing"),
    ({"exchange": {"inboundAudience": []}}, "inboundAudience"),
    ({"exchange": {"inboundIssuer": "cork"}}, "there is no issuer cork"),
    ({"exchange": {"grant": "jwt_bearer", "dialect": "entra", "scope": None, "audience": None}}, "entra knows the API by its scope"),
    ({"exchange": {"dialect": "entra"}}, "entra needs grant: jwt_bearer"),
    ({"exchange": {"grant": "jwt_bearer", "actor": "clientCredentials"}}, "jwt_bearer has no such parameter"),
    ({"exchange": {"grant": "sso"}}, "token_exchange"),
])
def test_configurations_that_are_refused(
    start: Start, upstream: Upstream, change: Dict[str, Any], problem: str
) -> None:
    from harness.settings import changed

    configuration = settings(upstream, RULES)
    configuration["resources"]["reports"] = changed(configuration["resources"]["reports"], change)
    with pytest.raises(StartError) as caught:
        start(configuration)
    assert problem in caught.value.log and "resources.reports" in caught.value.log


def test_a_public_client_cannot_use_entra(start: Start, upstream: Upstream) -> None:
    configuration = settings(upstream, ENTRA)
    configuration["issuers"]["corp"].update(clientAuth="none")
    configuration["issuers"]["corp"].pop("clientSecret")
    with pytest.raises(StartError) as caught:
        start(configuration)
    assert "needs a confidential client" in caught.value.log


@pytest.fixture(scope="module")
def provider() -> Iterator[IdpyOIDC]:
    started = IdpyOIDC()
    yield started
    started.stop()


def test_a_real_issuer_exchanges(start: Start, connect: Connect, provider: IdpyOIDC) -> None:
    """idpyoidc: the shop's user calls `back`, which calls on behalf of that user."""
    inbound = provider.tokens()["access_token"]
    sidecar = start({
        "issuers": {"back": {
            "issuer": provider.issuer, "clientId": "back", "clientAuth": "client_secret_basic", "clientSecret": "backsecret",
            "idToken": {"algorithms": ["ES256"]}}},
        "resources": {"userinfo": {
            "baseUrl": f"{provider.issuer}/", "issuer": "back", "auth": "onBehalfOf",
            "exchange": {"grant": "token_exchange", "inboundAudience": "shop", "scope": "openid"}}},
        "tokens": {"leaveTheSidecar": True},
    })
    connection = connect(sidecar)
    call = {"resource": "userinfo", "path": "userinfo", "onBehalfOf": {"token": inbound}}
    answer = connection.call("fetchResource", call)
    subject = json.loads(decoded(inbound.split(".")[1]))["sub"]
    assert answer["status"] == 200 and json.loads(answer["body"])["sub"] == subject
    given = connection.call("getAccessToken", {"resource": "userinfo", "onBehalfOf": {"token": inbound}})["accessToken"]
    claims = json.loads(decoded(given.split(".")[1]))
    assert given != inbound and claims["client_id"] == "back" and claims["sub"] == subject
    error = connection.error("fetchResource", {**call, "onBehalfOf": {"token": inbound[:-8] + "AAAAAAAA"}})
    assert expect.fault(error, 1001)["upstream"]["code"] == "bad_signature"
