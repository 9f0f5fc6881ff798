"""The middlewares that check who calls an API."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import MutableMapping
from typing import Any, Callable
from wsgiref.util import setup_testing_defaults

import pytest
from double import Double, Peer
from fakes import Fakes, async_client_of, client_of
from harness.playground import Playground
from harness.sidecar import Sidecar

from postern_auth import AsyncClient, Client, _protection, asgi, wsgi

AUDIENCE = "https://orders.example.com"
CLAIMS = {"sub": "alice", "scope": "orders:read"}
VALID = {"valid": True, "claims": CLAIMS, "tokenType": "Bearer", "cached": False}
CHALLENGE = 'Bearer realm="corp", error="invalid_token", error_description="the token has expired", DPoP algs="ES256"'
REJECTED = {
    "valid": False,
    "error": {"code": "token_expired", "message": "expired"},
    "response": {"status": 401, "headers": {"WWW-Authenticate": CHALLENGE, "DPoP-Nonce": "n1"}},
}

#: One answer: status, header lines with names in lower case, body, and what the application got.
Answer = tuple[Any, list[tuple[str, str]], bytes, Any]
Ask = Callable[..., Answer]


def answering(answer: Any) -> Fakes:
    return Fakes(lambda fake: fake.when.validate_request().returns(answer))


def over_wsgi(
    sidecar: Fakes | str, /, *, method: str = "GET", lines: Any = (), environ: Any = None, **options: Any
) -> Answer:
    """A request to an application behind `wsgi.Protect`."""
    reached: list[Any] = []

    def app(environ: Any, start_response: Any) -> list[bytes]:
        reached.append(environ["postern"])
        assert environ["postern.claims"] == environ["postern"].claims
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"inside"]

    own: dict[str, Any] = {}
    setup_testing_defaults(own)
    url, _, query = options.pop("target", "/orders").partition("?")
    own.update(REQUEST_METHOD=method, PATH_INFO=url, QUERY_STRING=query, HTTP_HOST="api.example.com")
    for name, value in lines:
        key = "HTTP_" + name.upper().replace("-", "_")
        own[key] = f"{own[key]},{value}" if key in own and name != "Host" else value
    own.update(environ or {})
    started: list[Any] = []
    with contextlib.ExitStack() as stack:
        client = client_of(sidecar)
        if isinstance(sidecar, str):
            stack.enter_context(client)
        protected = wsgi.Protect(app, client, **{"issuer": "corp", "audience": AUDIENCE, **options})
        body = b"".join(protected(own, lambda *head: started.append(head)))  # type: ignore[arg-type]
    status, headers = started[0]
    return int(status[:3]), [(name.lower(), value) for name, value in headers], body, (reached or [None])[0]


def scope_of(options: dict[str, Any], lines: Any, method: str) -> dict[str, Any]:
    url, _, query = options.pop("target", "/orders").partition("?")
    headers = [(b"host", b"api.example.com"), *((n.lower().encode(), v.encode("latin-1")) for n, v in lines)]
    return {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": url,
        "raw_path": url.encode(),
        "query_string": query.encode(),
        "headers": headers,
        **options.pop("scope", {}),
    }


def over_asgi(sidecar: Fakes | str, /, *, method: str = "GET", lines: Any = (), **options: Any) -> Answer:
    """A request to an application behind `asgi.Protect`."""
    reached: list[Any] = []
    sent: list[MutableMapping[str, Any]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["postern"])
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
        else:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"inside"})

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = scope_of(options, lines, method)

    async def run() -> None:
        client = async_client_of(sidecar)
        protected = asgi.Protect(app, client, **{"issuer": "corp", "audience": AUDIENCE, **options})
        await protected(scope, receive, send)
        if isinstance(sidecar, str):
            await client.aclose()

    asyncio.run(run())
    start = sent[0]
    headers = [(name.decode(), value.decode()) for name, value in start.get("headers", ())]
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return start.get("status", start["type"]), headers, body, (reached or [None])[0]


BOTH = pytest.mark.parametrize("ask", [over_wsgi, over_asgi], ids=["wsgi", "asgi"])


@BOTH
def test_a_valid_token_reaches_the_application_with_its_claims(ask: Ask) -> None:
    """A middleware that rejects what the sidecar accepts, or that loses the claims."""
    sidecar = answering(VALID)
    status, _, body, accepted = ask(
        sidecar, lines=[("Authorization", "Bearer t")], target="/a%20b/c?q=%2F&r", required_scopes=["orders:read"]
    )
    assert (status, body) == (200, b"inside")
    assert (accepted.claims, accepted.token_type, accepted.confirmation) == (CLAIMS, "Bearer", {})
    assert "alice" not in repr(accepted)
    [params] = sidecar.params
    assert params.pop("headers").items() >= {"authorization": ["Bearer t"], "host": ["api.example.com"]}.items()
    params.pop("meta", None)
    assert params == {
        "issuer": "corp",
        "method": "GET",
        "url": params["url"],
        "audience": AUDIENCE,
        "requiredScopes": ["orders:read"],
    }
    assert params["url"].startswith("http://api.example.com/a%") and params["url"].endswith("c?q=%2F&r")


@BOTH
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_a_rejection_is_passed_on_as_it_is(ask: Ask, method: str) -> None:
    """A challenge or nonce that clients never see, a body after HEAD, a request that gets through nevertheless."""
    status, headers, body, reached = ask(answering(REJECTED), method=method)
    assert status == 401 and reached is None
    assert ("www-authenticate", CHALLENGE) in headers and ("dpop-nonce", "n1") in headers
    assert ("cache-control", "no-store") in headers
    expected = {"error": "invalid_token", "error_description": "the token has expired"}
    assert dict(headers)["content-type"] == "application/json"
    if method == "HEAD":
        assert body == b"" and int(dict(headers)["content-length"]) > 0
    else:
        assert json.loads(body) == expected and int(dict(headers)["content-length"]) == len(body)


@BOTH
def test_a_request_without_a_token_gets_the_bare_challenge(ask: Ask) -> None:
    """A body, or an error, where RFC 6750 wants none."""
    sidecar = answering({**REJECTED, "response": {"status": 401, "headers": {"WWW-Authenticate": "Bearer, DPoP"}}})
    status, headers, body, reached = ask(sidecar)
    assert (status, body, reached) == (401, b"", None)
    assert [value for name, value in headers if name == "www-authenticate"] == ["Bearer, DPoP"]
    assert "content-type" not in dict(headers)


@BOTH
@pytest.mark.parametrize(
    "answer",
    [
        {},
        None,
        {"valid": True},
        {"valid": True, "claims": [], "tokenType": "Bearer"},
        {"valid": 1, "claims": {}, "tokenType": "Bearer"},
        {"valid": False},
        {"valid": False, "response": {"status": 200, "headers": {}}},
        {"valid": "false", "response": {"status": 401, "headers": {}}},
    ],
)
def test_what_is_no_verdict_lets_nothing_through(ask: Ask, double: Double, answer: Any) -> None:
    """A fault that opens the API, or a 401 after which clients give up a token that is good."""

    def script(peer: Peer) -> None:
        for message in peer.messages():
            peer.answer(message, answer)

    double.scripts = [script]
    refused(ask(double.path, lines=[("Authorization", "Bearer t")]), "1")


@BOTH
@pytest.mark.parametrize(
    ("reason", "seconds", "after"),
    [
        ("jwks_fetch_failed", 2.5, "3"),
        ("store_unavailable", None, "1"),
        ("invalid_params", None, "1"),
        ("peer_forbidden", None, "1"),
    ],
)
def test_an_error_lets_nothing_through(ask: Ask, reason: Any, seconds: float | None, after: str) -> None:
    """The same, for errors that the sidecar gives."""
    sidecar = Fakes(lambda fake: fake.when.validate_request().fails(reason, retry_after=seconds))
    refused(ask(sidecar, lines=[("Authorization", "Bearer t")]), after)


def refused(answer: Answer, after: str) -> None:
    status, headers, body, reached = answer
    assert (status, body, reached) == (503, b"", None)
    assert dict(headers)["retry-after"] == after and "www-authenticate" not in dict(headers)


@BOTH
def test_without_a_sidecar_nothing_gets_through(ask: Ask, double: Double) -> None:
    """A connection error that becomes a success, or an exception."""
    double.stop()
    assert ask(double.path)[0] == 503


@BOTH
def test_lines_of_one_name_stay_apart_or_joined(ask: Ask) -> None:
    """Two tokens of which the sidecar sees one, and the application the other."""
    sidecar = answering(REJECTED)
    ask(sidecar, lines=[("Authorization", "Bearer a"), ("Authorization", "Bearer b"), ("X-Name", "J\xf6rg")])
    headers = sidecar.params[0]["headers"]
    assert headers["authorization"] in (["Bearer a", "Bearer b"], ["Bearer a,Bearer b"])
    assert headers["x-name"] == ["J\xf6rg"]


@BOTH
def test_the_public_url_takes_precedence_over_the_host(ask: Ask) -> None:
    """A proof for another host that the sender has named."""
    sidecar = answering(VALID)
    options = {"audience": None, "public_url": "https://api.example.com/shop/", "dpop": "required"}
    ask(
        sidecar,
        lines=[("X-Forwarded-Host", "evil.example")],
        target="/orders?x=1",
        max_age=60,
        acr_values=["2"],
        **options,
    )
    [params] = sidecar.params
    assert params["url"] == "https://api.example.com/shop/orders?x=1"
    assert (params["dpop"], params["maxAge"], params["acrValues"]) == ("required", 60, ["2"])
    assert "audience" not in params


def test_the_certificate_of_the_connection_goes_along() -> None:
    """Tokens that are bound to a certificate, and never accepted; and a certificate that a client writes itself."""
    sidecar = answering(VALID)
    pem = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
    over_wsgi(sidecar, environ={"SSL_CLIENT_CERT": pem})
    over_wsgi(sidecar, lines=[("SSL-Client-Cert", pem)], environ={"SSL_CLIENT_CERT": ""})
    over_asgi(sidecar, scope={"extensions": {"tls": {"client_cert_chain": [pem, "issuer's"]}}})
    over_asgi(sidecar, scope={"extensions": {"tls": {"client_cert_chain": []}}})
    assert [params.get("clientCertificate") for params in sidecar.params] == [pem, None, pem, None]


def test_a_request_without_one_host_is_400() -> None:
    """A URL that the middleware makes up."""
    sidecar = answering(VALID)
    assert over_asgi(sidecar, scope={"headers": []})[0] == 400
    assert over_asgi(sidecar, lines=[("host", "other.example")])[0] == 400
    assert over_asgi(sidecar, scope={"headers": [(b"host", b"a@b/c?d")]})[0] == 400
    assert over_wsgi(sidecar, environ={"HTTP_HOST": ""})[0] == 400


@pytest.mark.parametrize(
    ("environ", "target"),
    [
        ({"PATH_INFO": "/a b/\xc3\xbc", "QUERY_STRING": ""}, "/a%20b/%C3%BC"),
        ({"SCRIPT_NAME": "/api", "PATH_INFO": "/x", "QUERY_STRING": "a=b"}, "/api/x?a=b"),
        ({"RAW_URI": "/a%2Fb?c=d", "PATH_INFO": "/a/b", "QUERY_STRING": "c=d"}, "/a%2Fb?c=d"),
        ({"RAW_URI": "http://other.example/", "PATH_INFO": "/a", "QUERY_STRING": ""}, "/a"),
        ({"PATH_INFO": "", "QUERY_STRING": ""}, "/"),
    ],
)
def test_the_url_is_that_of_the_client(environ: dict[str, str], target: str) -> None:
    """A proof (DPoP) of an honest client that fails because of a path that was decoded."""
    sidecar = answering(VALID)
    over_wsgi(sidecar, environ=environ)
    assert sidecar.params[0]["url"] == "http://api.example.com" + target


def test_a_path_without_its_raw_bytes_is_encoded() -> None:
    """The same, for servers without `raw_path`, and for those that leave the query in it."""
    sidecar = answering(VALID)
    over_asgi(sidecar, scope={"path": "/a b/\xfc", "raw_path": None})
    over_asgi(sidecar, target="/x?q", scope={"raw_path": b"/x?q"})
    urls = [params["url"] for params in sidecar.params]
    assert urls == ["http://api.example.com/a%20b/%C3%BC", "http://api.example.com/x?q"]


def test_a_websocket_is_checked_when_it_is_opened() -> None:
    """A connection that is accepted before its token, or a rejection that the server does not understand."""
    scope = {"type": "websocket", "scheme": "wss"}
    sidecar = answering(VALID)
    assert over_asgi(sidecar, scope=scope)[0] == "websocket.accept"
    [params] = sidecar.params
    assert params["url"] == "https://api.example.com/orders" and params["method"] == "GET"
    assert over_asgi(answering(REJECTED), scope=scope)[0] == "websocket.close"
    scope["extensions"] = {"websocket.http.response": {}}  # type: ignore[assignment]
    status, headers, body, reached = over_asgi(answering(REJECTED), scope=scope)
    assert status == 401 and reached is None and b"invalid_token" in body and ("dpop-nonce", "n1") in headers


def test_other_scopes_of_asgi() -> None:
    """A server that cannot start because its lifespan is checked, and a kind of connection that is not."""
    started: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        started.append(scope["type"])

    async def never(*_: Any) -> Any:
        raise AssertionError

    protected = asgi.Protect(app, AsyncClient("/nowhere"), audience=AUDIENCE)
    asyncio.run(protected({"type": "lifespan"}, never, never))
    assert started == ["lifespan"]
    with pytest.raises(RuntimeError):
        asyncio.run(protected({"type": "quic"}, never, never))


def test_a_middleware_that_would_accept_any_audience_is_not_made() -> None:
    """Tokens that another API has received, and uses here."""

    async def app(*_: Any) -> None: ...

    wrong: tuple[dict[str, Any], ...] = (
        {},
        {"public_url": "orders.example.com"},
        {"public_url": "https://a.example/?q"},
    )
    for options in wrong:
        with pytest.raises(ValueError):
            asgi.Protect(app, AsyncClient("/nowhere"), issuer="corp", **options)
    with pytest.raises(TypeError):
        asgi.Protect(app, AsyncClient("/nowhere"), audience=AUDIENCE, required_scopes="orders:read")
    with pytest.raises(TypeError):
        asgi.Protect(app, Client("/nowhere"), audience=AUDIENCE)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        wsgi.Protect(lambda *_: [], AsyncClient("/nowhere"), audience=AUDIENCE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options", [{"dpop": "require"}, {"dpop": True}, {"max_age": "60"}, {"max_age": -1}, {"max_age": True}]
)
def test_a_middleware_that_could_never_let_a_request_pass_is_not_made(options: dict[str, Any]) -> None:
    """A misspelt option that is found with the first client's 503."""
    with pytest.raises(ValueError, match=next(iter(options))):
        wsgi.Protect(lambda *_: [], Client("/nowhere"), audience=AUDIENCE, **options)


def test_a_hostile_description_is_no_json_of_its_own() -> None:
    """A body that a value of the token has written."""
    lines = [("WWW-Authenticate", 'Bearer error="invalid_token", error_description="a\\"b"')]
    answer = _protection.verdict({**REJECTED, "response": {"status": 401, "headers": dict(lines)}})
    assert isinstance(answer, _protection.Answer) and json.loads(answer.body) == {"error": "invalid_token"}


# Against the real sidecar


@BOTH
def test_tokens_of_an_issuer(ask: Ask, sidecar: Sidecar, client: Client, playground: Playground) -> None:
    """A difference between the double and the sidecar."""
    token = client.get_access_token(resource="orders").access_token
    options: dict[str, Any] = {"issuer": "play", "audience": playground.base + "/resource"}
    sent = [("Authorization", f"Bearer {token}")]
    status, _, body, accepted = ask(sidecar.path, lines=sent, required_scopes=["orders"], **options)
    assert (status, body, accepted.token_type) == (200, b"inside", "Bearer") and accepted.claims["sub"] == "svc"
    status, headers, body, _ = ask(sidecar.path, **options)
    assert (status, body) == (401, b"") and "Bearer" in dict(headers)["www-authenticate"]
    cases: list[tuple[Any, dict[str, Any], int, str]] = [
        ([("Authorization", f"Bearer {token}x")], {}, 401, "invalid_token"),
        (sent, {"audience": "https://other.example.com"}, 401, "invalid_token"),
        (sent, {"required_scopes": ["orders", "admin"]}, 403, "insufficient_scope"),
        (sent, {"dpop": "required"}, 401, "invalid_token"),
        ([*sent, *sent], {}, 400, "invalid_request"),
        (sent, {"max_age": 1}, 401, "insufficient_user_authentication"),
    ]
    for lines, own, expected, error in cases:
        status, headers, body, reached = ask(sidecar.path, lines=lines, **{**options, **own})
        assert (status, reached) == (expected, None), (own, headers)
        assert json.loads(body)["error"] == error or own.get("dpop"), (own, body)
        assert dict(headers)["cache-control"] == "no-store"
        assert f'error="{json.loads(body)["error"]}"' in dict(headers)["www-authenticate"]
    assert ask(sidecar.path, lines=sent, **{**options, "issuer": "none"})[0] == 503
