"""`issuers.NAME.provider`: each provider's published shapes (provider-shapes.json: values made up, signed here), in each operation."""
from __future__ import annotations

import base64
import json
import subprocess
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.issuer import Asked, IssuerDouble, document
from harness.sidecar import Sidecar
from harness.signing import SigningKey, left_half
from test_doctor import diagnose

SHAPES: Dict[str, Any] = json.loads((Path(__file__).parent / "provider-shapes.json").read_text())
API = "https://api.example.com"
CALLBACK = "http://127.0.0.1:9/callback"


class Provider:
    """An issuer with the shapes of a provider, and a sidecar with its preset."""

    def __init__(self, name: str, issuer: IssuerDouble, directory: Path, settings: Dict[str, Any]) -> None:
        self.shapes, self.issuer, self.key, self.nonce = SHAPES[name], issuer, SigningKey(), ""
        issuer.metadata.update({
            **self.shapes["metadata"], "token_endpoint": f"{issuer.base}/token",
            "authorization_endpoint": f"{issuer.base}/authorize", "revocation_endpoint": f"{issuer.base}/revoke",
            "code_challenge_methods_supported": ["S256"], "subject_types_supported": ["public"]})
        issuer.serve_keys({"keys": [self.key.jwk()]})
        issuer.answers["/token"] = self.answer
        self.is_failing = False
        secret = directory / "secret"
        secret.write_text("s" * 40)
        secret.chmod(0o600)
        corp = {
            "issuer": issuer.base, "clientId": "shop", "provider": name, "clientSecretFile": str(secret),
            "redirectUri": CALLBACK, "scope": "openid orders" if self.shapes["id"] else "repo gist", **settings}
        self.sidecar = Sidecar(directory, {
            "listen": {"path": str(directory / "s.sock")}, "store": {"kind": "memory"}, "health": {"askIssuers": False},
            "issuers": {"corp": {name: value for name, value in corp.items() if value is not None}},
            "development": {"plainHTTPOnLoopback": True}})
        self.connection = self.sidecar.connect()

    def token(self, shape: List[Any], audience: Any, **changes: Any) -> str:
        now = int(time.time())
        header, claims = shape
        every = {"iss": self.issuer.base, "sub": "alice", "aud": audience, "iat": now - 5, "exp": now + 300, **claims, **changes}
        marks = {"NOW": now - 5, "AT_HASH": left_half("at"), "C_HASH": left_half("code")}

        def filled(value: Any) -> Any:
            if isinstance(value, list):
                return [filled(one) for one in value]
            if isinstance(value, str):
                return marks.get(value) or value.replace("API", API)
            return value

        return self.key.sign({k: filled(v) for k, v in every.items() if v is not None}, **header)

    def id_token(self, **changes: Any) -> str:
        return self.token(self.shapes["id"], "shop", nonce=self.nonce, **changes)

    def answer(self, asked: Asked) -> Any:
        if self.is_failing:
            status, error = self.shapes["error"]
            return document(error, status)
        token = {"access_token": "at", **self.shapes["token"]}
        if self.shapes["id"] and b"client_credentials" not in asked.body:
            token["id_token"] = self.id_token()
        return document(token)

    def login(self) -> Any:
        begun = self.connection.call("beginAuthorization", {"issuer": "corp", "redirectUri": CALLBACK})
        query = {name: values[0] for name, values in parse_qs(urlsplit(begun["authorizationUrl"]).query).items()}
        self.nonce = query.get("nonce", "")
        params = {"callbackUrl": f"{CALLBACK}?code=code&state={query['state']}", "state": query["state"]}
        return self.connection.answer_to(self.connection.request("completeAuthorization", params))

    def is_valid(self, token: str, audience: str = API) -> bool:
        result = self.connection.call(
            "validateAccessToken", {"issuer": "corp", "accessToken": token, "audience": audience})
        return result["valid"]


@pytest.fixture
def provide(issuer: IssuerDouble, directory: Path) -> Iterator[Callable[..., Provider]]:
    started: List[Provider] = []

    def provide(name: str, **settings: Any) -> Provider:
        started.append(Provider(name, issuer, directory, settings))
        return started[-1]

    yield provide
    for provider in started:
        provider.sidecar.stop()


@pytest.mark.parametrize("name", SHAPES)
def test_a_login(name: str, provide: Callable[..., Provider]) -> None:
    provider = provide(name)
    answer = provider.login()
    assert "session" in answer.get("result", {}), answer
    ends: Optional[str] = answer["result"].get("expiresAt")
    token = provider.shapes["token"]
    if "expires_in" not in token:
        assert ends is None or datetime.fromisoformat(ends.replace("Z", "+00:00")).timestamp() > time.time() + 86_400
    form = parse_qs(next(asked.body.decode() for asked in provider.issuer.asked if asked.path == "/token"))
    has_secret = "client_secret" in form
    assert has_secret == (name in ("entra", "auth0", "github", "apple", "slack")), form


@pytest.mark.parametrize("name", SHAPES)
def test_an_error(name: str, provide: Callable[..., Provider]) -> None:
    provider = provide(name)
    provider.is_failing = True
    answer = provider.login()
    assert "result" not in answer, answer
    assert provider.shapes["error"][1]["error"] in json.dumps(answer), answer


@pytest.mark.parametrize("name", [name for name in SHAPES if SHAPES[name]["access"]])
def test_an_access_token_at_an_api(name: str, provide: Callable[..., Provider]) -> None:
    provider = provide(name)
    shape = provider.shapes["access"]
    good = provider.token(shape, API)
    assert provider.is_valid(good)
    changed = {"scope": "https://other.example.com/read"} if name == "cognito" else {"aud": "https://other.example.com"}
    assert not provider.is_valid(provider.token(shape, API, **changed))
    assert not provider.is_valid(provider.token(shape, API, iss="https://other.example.com"))
    assert not provider.is_valid(provider.token(shape, API, exp=int(time.time()) - 400))
    stranger = SigningKey()
    provider.key, own = stranger, provider.key
    forged = provider.token(shape, API)
    provider.key = own
    assert not provider.is_valid(forged)
    # An ID token is none, for the client and for the API.
    for audience in ("shop", API):
        for nonce in ("n", ""):
            provider.nonce = nonce
            token = provider.token(provider.shapes["id"], audience, **({"nonce": nonce} if nonce else {}))
            assert not provider.is_valid(token, audience), (audience, nonce)


def test_an_android_client_of_the_same_project(provide: Callable[..., Provider]) -> None:
    client = "123-web.apps.googleusercontent.com"
    provider = provide("google", clientId=client)

    def is_valid(party: str) -> bool:
        token = provider.token(SHAPES["google"]["id"], client, azp=party)
        return provider.connection.call("validateIdToken", {"issuer": "corp", "idToken": token})["valid"]

    assert is_valid(client) and is_valid("123-android.apps.googleusercontent.com")
    assert not is_valid("124-android.apps.googleusercontent.com")


def test_dex_has_no_access_token_that_differs_from_an_id_token(provide: Callable[..., Provider]) -> None:
    provider = provide("dex")
    assert not provider.is_valid(provider.token(SHAPES["dex"]["id"], API))


@pytest.mark.parametrize("name,header,audience", [
    ("entra", {"x5t#S256"}, "/token"), ("okta", {"x5t#S256", "x5t"}, "/token"), ("zitadel", {"x5t#S256", "x5t"}, ""),
])
def test_an_assertion(
    name: str, header: Any, audience: str, directory: Path, issuer: IssuerDouble, provide: Callable[..., Provider]
) -> None:
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate), "-subj",
         "/CN=shop", "-days", "90"], check=True, capture_output=True)
    key.chmod(0o600)
    provider = provide(
        name, clientAuth="private_key_jwt", clientKeyFile=str(key), clientCertificateFile=str(certificate),
        clientSecretFile=None, clientKeyId="k-1")
    provider.login()
    form = parse_qs(next(asked.body.decode() for asked in issuer.asked if asked.path == "/token"))
    head, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in form["client_assertion"][0].split(".")[:2])
    assert set(head) == {"alg", "kid", "typ", *header} and head["kid"] == "k-1", head
    assert head["alg"] == ("PS256" if name == "entra" else "RS256")
    assert claims["aud"] == issuer.base + audience


def test_a_key_as_json(directory: Path, issuer: IssuerDouble, provide: Callable[..., Provider]) -> None:
    """The file that ZITADEL makes: PEM in JSON, with its id."""
    pem = SigningKey().pem.decode()
    path = directory / "key.json"
    path.write_text(json.dumps({"type": "application", "keyId": "8169", "key": pem, "appId": "7", "clientId": "shop"}))
    path.chmod(0o600)
    provider = provide("zitadel", clientAuth="private_key_jwt", clientKeyFile=str(path), clientSecretFile=None)
    provider.login()
    form = parse_qs(next(asked.body.decode() for asked in issuer.asked if asked.path == "/token"))
    head = json.loads(base64.urlsafe_b64decode(form["client_assertion"][0].split(".")[0] + "=="))
    assert head["kid"] == "8169", head


@pytest.mark.parametrize("is_active", [True, False])
def test_a_jwt_that_is_introspected(is_active: bool, issuer: IssuerDouble, provide: Callable[..., Provider]) -> None:
    issuer.answers["/introspect"] = lambda _: document({"active": is_active})
    provider = provide("keycloak", introspect="always")
    assert provider.is_valid(provider.token(SHAPES["keycloak"]["access"], API)) is is_active
    assert issuer.count("/introspect") == 1
    assert not provider.is_valid(provider.token(SHAPES["keycloak"]["id"], API)) and issuer.count("/introspect") == 1


def test_the_error_of_the_strict_format(provide: Callable[..., Provider]) -> None:
    provider = provide("keycloak", format="rfc9068")
    result = provider.connection.call("validateAccessToken", {
        "issuer": "corp", "accessToken": provider.token(SHAPES["keycloak"]["access"], API), "audience": API})
    assert not result["valid"] and "keycloak" in json.dumps(result), result


def test_the_doctor_names_the_preset(issuer: IssuerDouble, directory: Path) -> None:
    base = f"{issuer.base}/realms/shop"
    metadata = {**issuer.metadata, "issuer": base, "token_endpoint": f"{base}/protocol/openid-connect/token"}
    issuer.answers["/realms/shop/.well-known/openid-configuration"] = lambda _: document(metadata)
    issuer.serve_keys({"keys": [SigningKey().jwk()]})
    configuration: Dict[str, Any] = {
        "listen": {"path": str(directory / "s.sock")}, "store": {"kind": "memory"},
        "issuers": {"corp": {"issuer": base}}, "development": {"plainHTTPOnLoopback": True}}
    check = diagnose(configuration, directory)[1]["issuers.corp: provider"]
    assert check["status"] == "warning" and "provider: keycloak" in check["cure"], check
    configuration["issuers"]["corp"]["provider"] = "keycloak"
    assert "issuers.corp: provider" not in diagnose(configuration, directory)[1]


def test_many_tenants(issuer: IssuerDouble, directory: Path, provide: Callable[..., Provider]) -> None:
    """Entra's metadata of all tenants: the issuer has a place for the token's own."""
    name = issuer.base + "/{tenantid}/v2.0"
    issuer.answers["/organizations/v2.0/.well-known/openid-configuration"] = lambda _: document(
        {**issuer.metadata, "issuer": name})
    provider = provide("entra", issuer=name)
    shape = SHAPES["entra"]["access"]
    assert provider.is_valid(provider.token(shape, API, tid="t-1", iss=issuer.base + "/t-1/v2.0"))
    assert not provider.is_valid(provider.token(shape, API, tid="t-1", iss=issuer.base + "/t-2/v2.0"))
    assert not provider.is_valid(provider.token(shape, API, tid=None, iss=issuer.base + "/t-1/v2.0"))
