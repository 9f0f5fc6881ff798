"""nginx, Caddy, HAProxy and Apache with the files of examples/forward-auth, in front of an API."""
from __future__ import annotations

import signal
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Optional

import pytest

from harness.fronts import API, PROGRAMS, Front, await_socket, program
from harness.issuer import IssuerDouble
from harness.protected import AMBIGUOUS, TRICKS, Issuer, challenge, proof, settings
from harness.sidecar import Sidecar
from harness.signing import SigningKey
from harness.users import open_to_all

Start = Callable[..., Sidecar]


@pytest.fixture
def tokens(issuer: IssuerDouble, rsa: SigningKey) -> Issuer:
    return Issuer(issuer, rsa)


@pytest.fixture
def api() -> Iterator[API]:
    made = API()
    yield made
    made.stop()


@pytest.fixture
def http(directory: Path) -> str:
    open_to_all(directory)
    return str(directory / "http.sock")


@pytest.fixture
def serve(start: Start, http: str) -> Start:
    """Starts a sidecar, and waits for its gateway."""

    def serve(changes: Dict[str, Any]) -> Sidecar:
        sidecar = start(changes)
        await_socket(http)
        return sidecar

    return serve


@pytest.fixture(params=sorted(PROGRAMS))
def front(request: pytest.FixtureRequest, directory: Path, http: str, api: API) -> Iterator[Front]:
    if program(request.param) is None:
        pytest.skip(f"needs {request.param}")
    made = Front(request.param, directory / request.param, http, api)
    yield made
    made.stop()


@pytest.fixture
def protect(serve: Start, front: Front, issuer: IssuerDouble, http: str) -> Callable[..., Sidecar]:
    """Starts the sidecar behind the front, with changes to `gateway.protect.orders` and the issuer."""

    def protect(issuer_changes: Optional[Dict[str, Any]] = None, **orders: Any) -> Sidecar:
        changes = settings(issuer, http, **{"dialect": front.kind, "origin": front.origin, **orders})
        changes["issuers"]["corp"].update(issuer_changes or {})
        return serve(changes)

    return protect


def test_an_accepted_request_reaches_the_api_with_its_user(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    protect()
    token = tokens.bearer()
    assert front.request(token=token).body == b"here"
    assert front.request("/orders/7?a=b%20c", "POST", token, body=b"x" * 100_000).status == 200
    assert front.request("/orders", "HEAD", token).status == 200
    assert front.request("/orders/7", "DELETE", token).status == 200
    assert [(got.method, got.path) for got in api.received] == [
        ("GET", "/orders/7"), ("POST", "/orders/7?a=b%20c"), ("HEAD", "/orders"), ("DELETE", "/orders/7")]
    assert all(got.values("x-user") == ["alice"] for got in api.received)


def test_a_rejected_request_gets_its_challenge_and_never_reaches_the_api(
    protect: Any, front: Front, tokens: Issuer, api: API, ec: SigningKey
) -> None:
    protect()
    answer = front.request()
    assert answer.status == 401 and "Bearer" in challenge(answer) and "error" not in challenge(answer)
    for changes in [{"exp": 1}, {"aud": "other"}, {"iss": "https://other.example"}, {"sub": None}]:
        answer = front.request(token=tokens.bearer(**changes))
        assert answer.status == 401 and 'error="invalid_token"' in challenge(answer), changes
    forged = Issuer(tokens.double, ec).key.sign({"sub": "alice"}, typ="at+jwt", kid="rsa-1")
    tokens.double.serve_keys(tokens.key.jwks())
    assert front.request(token=f"Bearer {forged}").status == 401
    answer = front.request(token=tokens.bearer(scope="orders:write"))
    assert answer.status == 403
    assert 'error="insufficient_scope"' in challenge(answer) and 'scope="orders:read"' in challenge(answer)
    assert front.request(token="Basic YTpi").status == 401
    assert front.request("/orders?access_token=" + tokens.token()).status == 401
    good = tokens.bearer()
    twice = front.request(fields=[("Authorization", good), ("Authorization", tokens.bearer())])
    assert twice.status in (400, 403)
    assert front.request(token=f"{good}, {good}").status in (401, 403)
    assert front.request("/orders?access_token=" + tokens.token(), token=good).status == 403
    assert api.received == []
    assert front.request(token=good).status == 200


SPELLINGS = [("X-User", "root"), ("x-user", "root"), ("X_User", "root"), ("X.User", "root"), ("X_USER", "root")]


def test_a_clients_identity_headers_never_reach_the_api(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    """Also where the claim is missing, and on a path without protection."""
    protect(identityHeaders={"X-User": "nickname"})
    for kept in ([], [("Connection", "close, X-User")], [("Connection", "X-User"), ("Connection", "close")]):
        front.request(token=tokens.bearer(nickname="al"), fields=SPELLINGS + kept)
        assert api.received.pop().values("x-user") == ["al"]
        front.request(token=tokens.bearer(), fields=SPELLINGS + kept)
        assert api.received.pop().values("x-user") in ([], [""])
        front.request("/public/health", fields=SPELLINGS + kept)
        assert api.received.pop().values("x-user") in ([], [""])
    front.request(token=tokens.bearer(nickname="al\r\nX-Admin: true\u00e9"))
    assert api.received[-1].values("x-user") == ["al%0D%0AX-Admin: true%C3%A9"]
    assert all(value != "root" for got in api.received for _, value in got.fields)
    for got in api.received:
        assert not got.values("x-admin")
        assert [name for name, _ in got.fields if name.lower() in ("x_user", "x.user")] == []


def test_what_a_token_contains_rejects_no_request(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    """Its claim is left out, the client's own field as well, and the response fits into the front's buffers."""
    protect(identityHeaders={"X-User": "nickname", "X-Groups": "groups"})
    group = "00000000-1111-2222-3333-444444444444"
    for nickname in ({"a": 1}, [["a"]], 1e300, "x" * 4500, "\u00e9" * 700, [None]):
        assert front.request(token=tokens.bearer(nickname=nickname), fields=SPELLINGS).status == 200, nickname
        assert api.received.pop().values("x-user") in ([], [""]), nickname
    for count in (1, 90, 100, 104, 110, 130):
        answer = front.request(token=tokens.bearer(nickname="al", groups=[group] * count), fields=SPELLINGS)
        assert answer.status == 200, count
        assert api.received.pop().values("x-user") == ["al"]
    for nickname, written in ((1.5, "1.5"), (7, "7"), (True, "true"), (["a", 1], "a,1")):
        assert front.request(token=tokens.bearer(nickname=nickname), fields=SPELLINGS).status == 200
        assert api.received.pop().values("x-user") == [written]


def test_the_front_reports_the_original_request_and_not_the_client(
    protect: Any, front: Front, tokens: Issuer, api: API
) -> None:
    """A proof is about the request that the API gets, whatever fields the client adds."""
    protect()
    token = tokens.bound()
    url = f"{front.origin}/orders/7"
    spoofed = [
        ("X-Original-Method", "POST"), ("X-Original-URI", "/public/health"), ("X-Original-URL", f"{front.origin}/public/health"),
        ("X-Forwarded-Method", "POST"), ("X-Forwarded-Uri", "/public/health"), ("X-Forwarded-Host", "evil.example"),
        ("X-Forwarded-Proto", "https"), ("X-Rewrite-Url", "/public/health"), ("X-HTTP-Method-Override", "POST"),
        ("Forwarded", "host=evil.example;proto=https")]
    other = proof(token, "POST", f"{front.origin}/public/health")
    assert front.request(fields=other + spoofed).status in (401, 403)
    assert front.request(fields=proof(token, "POST", url) + spoofed).status in (401, 403)
    assert front.request(fields=proof(token, "GET", "https://evil.example/orders/7") + spoofed).status in (401, 403)
    assert api.received == []
    # nginx with X-Original-URI and a client with X-Original-URL: both are of one family, and nothing is accepted.
    kept = [line for line in spoofed if line[0] != "X-Original-URL"] if front.kind == "nginx" else spoofed
    assert front.request(fields=proof(token, "GET", url) + kept).status == 200
    for connection in ["X-Original-URI, X-Forwarded-Uri, close", "X-Original-Method, X-Forwarded-Method, close"]:
        fields = proof(token, "GET", url) + [("Connection", connection)]
        assert front.request(fields=fields).status in (200, 401, 403)
        fields = other + spoofed + [("Connection", connection)]
        assert front.request(fields=fields).status in (401, 403)


def test_a_bound_token_needs_a_proof_of_this_request(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    protect()
    token = tokens.bound()
    url = f"{front.origin}/orders/7"
    good = proof(token, "PUT", url)
    assert front.request("/orders/7?page=2", "PUT", fields=good, body=b"x").status == 200
    assert front.request("/orders/7?page=2", "PUT", fields=good, body=b"x").status == 401
    for fields in [
        proof(token, "GET", url), proof(token, "PUT", f"{front.origin}/orders/8"), proof(token, "put", url),
        proof(token, "PUT", url.replace("http:", "https:")), proof(token, "PUT", f"{front.origin}/.postern/auth/orders"),
        proof(token, "PUT", url, iat=1), [("Authorization", f"Bearer {token}")], [("Authorization", f"DPoP {token}")],
    ]:
        answer = front.request("/orders/7", "PUT", fields=fields, body=b"x")
        assert answer.status == 401 and "DPoP" in challenge(answer), fields
    two = good + [proof(token, "PUT", url)[1]]
    assert front.request("/orders/7", "PUT", fields=two, body=b"x").status in (400, 401, 403)
    assert len(api.received) == 1


def test_a_nonce_reaches_the_client(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    protect({"dpop": {"nonce": "required"}}, dpop="required")
    token = tokens.bound()
    url = f"{front.origin}/orders/7"
    answer = front.request(fields=proof(token, "GET", url))
    assert answer.status == 401 and "use_dpop_nonce" in challenge(answer)
    [nonce] = answer.values("dpop-nonce")
    assert front.request(fields=proof(token, "GET", url, nonce=nonce)).status == 200
    assert front.request(fields=proof(token, "GET", url, nonce=nonce + "x")).status == 401
    assert front.request(token=tokens.bearer()).status == 401
    assert len(api.received) == 1


def test_no_spelling_of_a_path_goes_without_a_token(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    protect()
    for path in TRICKS + [r"/public\..\orders", "/#/../orders", "/orders#/public/health", "/public/health\u00e9", "/%zz"]:
        answer = front.request(path)
        # What is no URL at all may be an error of the front's own request.
        assert answer.status in (400, 401, 403, 404) or path not in TRICKS and answer.status >= 500, (path, answer)
        assert api.received == [], path
    assert front.request("/public/health").status == 200
    api.received.clear()
    # What servers read in two ways is for nobody, whatever the token: the API might act on another path.
    for path in AMBIGUOUS:
        answer = front.request(path, token=tokens.bearer())
        assert answer.status in (400, 403, 404), (path, answer)
        assert api.received == [], path
    for method in ("OPTIONS", "TRACE", "PROPFIND", "get"):
        assert front.request(method=method).status in (400, 401, 403, 405, 501), method
        assert api.received == [], method
    override = [("X-HTTP-Method-Override", "GET"), ("X-Method-Override", "GET")]
    assert front.request(method="DELETE", fields=override).status == 401
    assert api.received == []


def test_without_postern_nothing_passes(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    token = tokens.bearer()
    assert front.request(token=token).status >= 500
    sidecar = protect()
    assert front.request(token=token).status == 200
    sidecar.stop()
    api.received.clear()
    answer = front.request(token=token)
    assert answer.status >= 500 and not answer.values("www-authenticate")
    assert api.received == []


def test_a_fault_is_no_challenge(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    """An issuer out of reach: a client that got a 401 would throw its token away."""
    token = tokens.bearer()
    tokens.double.answers.clear()
    protect()
    answer = front.request(token=token)
    assert answer.status >= 500 and not answer.values("www-authenticate")
    tokens.double.stop()
    assert front.request(token=token).status >= 500
    assert api.received == []


@pytest.mark.slow
def test_a_hanging_postern_lets_nothing_pass(protect: Any, front: Front, tokens: Issuer, api: API) -> None:
    sidecar = protect()
    assert front.request(token=tokens.bearer()).status == 200
    sidecar.signal(signal.SIGSTOP)
    try:
        assert front.request(token=tokens.bearer()).status >= 500
    finally:
        sidecar.signal(signal.SIGCONT)
    assert len(api.received) == 1
