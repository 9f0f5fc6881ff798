"""Every method, by either client, to the real sidecar: typed results of the shape that is promised."""

from __future__ import annotations

import asyncio
import inspect
import json
import uuid
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable

import pytest
from harness import journeys
from harness.decisions import DecisionDouble
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.signing import SigningKey

import postern_auth
from postern_auth import AsyncClient, Client, Grant, PassDevice, errors
from postern_auth.types import Confirmation, ResponseWithAdvice

# RFC 8037 appendix A.4, RFC 7516 appendix A.3.
ED25519 = (
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
    ".hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
)
ED25519_KEY = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
A128KW = (
    "eyJhbGciOiJBMTI4S1ciLCJlbmMiOiJBMTI4Q0JDLUhTMjU2In0.6KB707dM9YTIgHtLvtgWQ8mKwboJW3of9locizkDTHzBC2IlrT1oOQ"
    ".AxY8DCtDaGlsbGljb3RoZQ.KDlTtXchhZTGufMYmOYGS4HffxPSUrfmqCHXaI9wOGY.U0m_YmjN04DJvceFICbCVQ"
)
A128KW_KEY = {"kty": "oct", "k": "GawgguFyGrWKav7AX4VKUg"}
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


class Awaiting:
    """An `AsyncClient` whose methods are awaited, to be called like a `Client`."""

    def __init__(self, path: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(path, timeout=20)

    @property
    def adobe_pass(self) -> Any:
        group = self._client.adobe_pass
        return SimpleNamespace(**{name: self._awaiting(getattr(group, name)) for name in dir(group) if name[0] != "_"})

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self._awaiting(getattr(self._client, name))

    def _awaiting(self, method: Any) -> Callable[..., Any]:
        assert inspect.iscoroutinefunction(method)
        return lambda *arguments, **named: self._loop.run_until_complete(method(*arguments, **named))

    def close(self) -> None:
        self._loop.run_until_complete(self._client.aclose())
        self._loop.close()


@pytest.fixture(params=["Client", "AsyncClient"])
def caller(request: pytest.FixtureRequest, sidecar: Sidecar) -> Iterator[Any]:
    """Either client."""
    client: Any = Client(sidecar.path, timeout=20) if request.param == "Client" else Awaiting(sidecar.path)
    yield client
    client.close()


@pytest.fixture(scope="module")
def key() -> SigningKey:
    return SigningKey("RS256", "rsa-1")


def pieces(key: SigningKey) -> dict[str, Any]:
    return {"expected_issuer": "https://idp.example", "client_id": "shop", "jwks": key.jwks()}


def claims(**more: Any) -> dict[str, Any]:
    now = int(datetime.now(timezone.utc).timestamp())
    return {"iss": "https://idp.example", "sub": "alice", "aud": "shop", "iat": now, "exp": now + 300, **more}


def test_control(caller: Any) -> None:
    assert caller.get_info().name == "postern"
    assert caller.health().status in ("ok", "degraded")
    assert caller.metrics().text
    assert caller.discover()["methods"]
    assert caller.reload_config().changed == []
    assert caller.subscribe(["event.keysRotated"]).subscribed == ["event.keysRotated"]
    assert caller.unsubscribe(["event.keysRotated"]).subscribed == []


def television_sidecar(start: Callable[..., Sidecar], directory: Path, playground: Playground) -> Sidecar:
    """A sidecar with a provider `tv`, at the playground's double of Adobe Pass."""
    playground.request("DELETE", "/playground/adobe")
    playground.request("POST", "/playground/adobe", b'{"throttle": false}')
    provider = {
        "kind": "adobe-pass",
        "baseUrl": playground.base + "/adobe",
        "serviceProvider": "REF30",
        "softwareStatement": "e30.e30.e30",
        "deviceIdFile": str(directory / "device-id"),
        "domainNames": ["example.com"],
        "redirectUrls": ["https://example.com/done"],
    }
    return start({"preauthorization": {"tv": provider}})


@pytest.fixture(params=["Client", "AsyncClient"])
def television(
    request: pytest.FixtureRequest, start: Callable[..., Sidecar], directory: Path, playground: Playground
) -> Iterator[Any]:
    """Either client of that sidecar."""
    sidecar = television_sidecar(start, directory, playground)
    client: Any = Client(sidecar.path, timeout=20) if request.param == "Client" else Awaiting(sidecar.path)
    yield client
    client.close()


def test_a_login_at_adobe_pass(television: Any, playground: Playground) -> None:
    """A param, a member or an error that does not arrive as it was sent."""
    adobe = television.adobe_pass
    picker = adobe.get_configuration("tv")
    assert (
        picker.service_provider == "REF30" and picker.mvpds[0].id == "Cablevision" and not picker.mvpds[0].is_temp_pass
    )
    begun = adobe.create_session(
        "tv", mvpd="Cablevision", domain_name="example.com", redirect_url="https://example.com/done"
    )
    assert (begun.action_name, begun.action_type) == ("authenticate", "interactive") and begun.code not in repr(begun)
    assert begun.expires_at > datetime.now(timezone.utc)
    assert adobe.get_session("tv", begun.code, second_screen=True).missing_parameters == []
    assert adobe.resume_session("tv", begun.code, second_screen=True).url
    body = json.dumps({"login": {"code": begun.code}}).encode()
    assert playground.request("POST", "/playground/adobe", body)[0] == 200
    found = adobe.list_profiles("tv", code=begun.code, wait_ms=10_000)
    assert (found.state, found.selected, found.remembered.id) == ("authenticated", "Cablevision", "Cablevision")
    assert found.profiles[0].attributes["userID"] and "userID" not in repr(found)
    other = adobe.list_profiles("tv", device=PassDevice(id="other"))
    assert other.state == "unauthenticated" and "other" not in repr(PassDevice(id="other"))
    decided = adobe.authorize("tv", ["news", "deny"])
    permit, denial = decided.decisions
    assert permit and permit.token.serialized_token not in repr(decided)
    assert not denial and denial.error.status == 403 and not decided
    assert adobe.logout("tv").forgotten == ["Cablevision"]
    with pytest.raises(errors.PassRejected) as rejected:
        adobe.list_profiles("tv", code="UNKNOWN")
    assert rejected.value.next == "newCode"
    assert rejected.value.error and rejected.value.error.code == "invalid_parameter_code"
    assert rejected.value.retry_after is None and rejected.value.outcome == "replied"
    with pytest.raises(errors.PassNotConfigured):
        adobe.get_configuration("films")


def test_id_tokens(caller: Any, key: SigningKey) -> None:
    nonce = uuid.uuid4().hex  # another token each time: a verdict is remembered
    verdict = caller.validate_id_token(key.sign(claims(nonce=nonce)), nonce=nonce, **pieces(key))
    assert verdict.valid
    assert verdict.claims["sub"] == "alice" and verdict.header["alg"] == "RS256"
    assert verdict.key.kid == "rsa-1" and verdict.key.thumbprint and verdict.cached is False
    assert "alice" not in repr(verdict)
    verdict = caller.validate_id_token(key.sign(claims(aud="other")), **pieces(key))
    assert (verdict.valid, verdict.error.code, verdict.error.claim) == (False, "aud_mismatch", "aud")


def test_access_tokens(caller: Any, key: SigningKey) -> None:
    token = key.sign(claims(aud="api", client_id="shop", jti="1", scope="a b", cnf={"jkt": "thumb"}), typ="at+jwt")
    who = {name: value for name, value in pieces(key).items() if name != "client_id"}
    confirmation = Confirmation(jkt="thumb")
    verdict = caller.validate_access_token(token, "api", required_scopes=["a"], confirmation=confirmation, **who)
    assert verdict.valid, verdict.error
    verdict = caller.validate_access_token(token, "api", required_scopes=["c"], confirmation={"jkt": "thumb"}, **who)
    assert verdict.error.code == "insufficient_scope"


def test_logout_tokens(caller: Any, key: SigningKey) -> None:
    token = key.sign(claims(events={LOGOUT: {}}, jti=uuid.uuid4().hex))
    assert caller.validate_logout_token(token, **pieces(key)).valid
    assert caller.validate_logout_token(token, **pieces(key)).error.code == "jti_replayed"


def test_introspection_and_revocation(caller: Any, playground: Playground) -> None:
    session = caller.create_session("am", Grant.from_sso_token(journeys.sign_on(playground))).session
    token = caller.get_access_token(issuer="am", session=session, min_ttl_seconds=1)
    assert token.expires_at > datetime.now(timezone.utc)
    verdict = caller.introspect_token(token.access_token, "am", token_type_hint="access_token")
    assert verdict.valid and verdict.claims["active"] is True
    assert caller.revoke_token(issuer="am", token=token.access_token).revoked
    assert caller.introspect_token(token.access_token, "am").error.code == "inactive"
    assert caller.end_session(session).upstream in ("ended", "failed", "none")


def test_signatures_and_encryption(caller: Any) -> None:
    verdict = caller.verify_jws(ED25519, jwk=ED25519_KEY)
    assert verdict.valid and verdict.content == b"Example of Ed25519 signing"
    assert not caller.verify_jws(ED25519[:-4] + "AAAA", jwks={"keys": [ED25519_KEY]}).valid
    opened = caller.decrypt_jwe(A128KW, A128KW_KEY, algorithms=["A128KW"])
    assert opened.valid and opened.plaintext == "Live long and prosper."
    assert opened.content == b"Live long and prosper." and "Live long" not in repr(opened)


def test_logins_with_a_browser_and_on_a_device(caller: Any) -> None:
    begun = caller.begin_authorization("am", "http://127.0.0.1:8765/callback", max_age=60, acr_values=["mfa"])
    assert begun.authorization_url.startswith("http") and begun.state not in repr(begun)
    with pytest.raises(postern_auth.SessionError) as raised:
        caller.complete_authorization("http://127.0.0.1:8765/callback?code=c&state=none", "none")
    assert raised.value.reason == "state_unknown"
    device = caller.begin_device_authorization("am")
    assert device.user_code and device.interval_ms > 0
    with pytest.raises(postern_auth.AuthorizationPending) as pending:
        caller.complete_device_authorization(device.handle)
    assert pending.value.retry_after is not None and pending.value.retry_after > 0


def test_sessions(caller: Any, playground: Playground) -> None:
    session = caller.create_session("am", Grant.from_sso_token(journeys.sign_on(playground))).session
    assert caller.get_session(session).subject
    assert session in [one.session for one in caller.list_sessions().sessions]
    assert caller.refresh_session(session).access_token_expires_at is not None
    assert caller.revoke_token(session=session).revoked
    caller.end_session(session)
    with pytest.raises(postern_auth.SessionError):
        caller.get_session(session)


def test_advice_and_logins_step_by_step(caller: Any, playground: Playground) -> None:
    step = caller.authenticate(issuer="am", answers={"NameCallback": "alice"})
    assert step.state == "callbacks" and step.expires_at is not None and step.continuation not in repr(step)
    values = ["alice-password"] if len(step.callbacks) == 1 else ["alice", "alice-password"]
    step = caller.authenticate(continuation=step.continuation, callbacks=step.filled(*values))
    assert step.state == "completed" and step.session
    challenge = 'Bearer error="insufficient_user_authentication", acr_values="mfa"'
    found = caller.parse_advice(401, {"WWW-Authenticate": [challenge]})
    assert found.source == "header" and found.advices[0].acr_values == ["mfa"]
    response = ResponseWithAdvice(status=401, headers={"WWW-Authenticate": challenge})
    for given in ({"response": response}, {"advice": found.advices[0]}, {"advices": found.advices}):
        asked = caller.authenticate_with_advice(session=step.session, **given)
        assert asked.callbacks[0]["type"] == "RedirectCallback"
    caller.end_session(step.session)


def test_fetches_and_tasks(caller: Any) -> None:
    result = caller.fetch_resource("open", "echo", task=uuid.uuid4().hex, timeout=5)
    for method in (caller.get_task, caller.suspend_task, caller.resume_task, caller.cancel_task):
        task = method(result.task)
        assert task.state == "completed" and task.received_bytes > 0 and task.started_at.tzinfo is not None
    assert caller.list_tasks(limit=1).tasks


def test_decisions(start: Callable[..., Sidecar]) -> None:
    def decide(_: str, __: str, ___: dict[str, str], body: Any) -> tuple[int, Any, dict[str, str]]:
        if not isinstance(body, dict):
            return 404, {}, {}  # it has no metadata
        if "evaluations" in body:
            rows = [{"decision": one["resource"]["id"] == "a"} for one in body["evaluations"]]
            return 200, {"evaluations": rows}, {}
        return 200, {"decision": body["resource"]["id"] == "a"}, {}

    double = DecisionDouble(decide)
    point = {"kind": "authzen", "baseUrl": double.url, "action": "read", "resourceType": "record"}
    sidecar = start({"preauthorization": {"view": point}})
    for client in (Client(sidecar.path), Awaiting(sidecar.path)):
        found: Any = client.preauthorize(
            ["a", "b", "a"], context={"subject": "alice"}, disable_features=["LOCAL_CACHE"]
        )
        assert found.outcome == "response", found
        assert [decision.authorized for decision in found.decisions] == [True, False, True]
        assert found.decisions[1].error.status == 403 and found.status is None
        failed: Any = client.preauthorize(["a"], provider="none")
        assert failed.outcome == "failure" and failed.status.code == "requestor_not_configured"
        assert client.invalidate_decisions(resources=["a"]).removed >= 0
        client.close()
    double.stop()
