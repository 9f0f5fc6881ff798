"""What `resources`, `issuers` and `preauthorization` of `peers` hide, for two processes of one uid."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Tuple

import pytest

from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.users import acting_as

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="needs another gid")
NO_HANDLE = "A" * 43


@pytest.fixture
def callers(
    start: Callable[..., Sidecar], playground: Playground, directory: Path
) -> Iterator[Tuple[Connection, Connection]]:
    """One that sees everything, and one whose rule shows a part."""
    secret = directory / "secret"
    secret.write_text("svcsecret")
    secret.chmod(0o600)
    issuer = {"issuer": playground.issuer, "clientId": "svc", "clientSecretFile": str(secret)}
    resource = {"baseUrl": playground.base + "/resource/", "auth": "clientCredentials"}
    point = {"kind": "authzen", "baseUrl": "http://127.0.0.1:9"}
    rule = {"resources": ["mine"], "issuers": ["own"], "preauthorization": ["films"]}
    sidecar = start({
        "tokens": {"leaveTheSidecar": True},
        "peers": [{"uid": 0, "gid": 20, "methods": ["*"], **rule}, {"uid": 0, "methods": ["*"]}],
        "issuers": {"own": issuer, "other": issuer},
        "resources": {
            "mine": {**resource, "issuer": "own", "scope": "orders"},
            "hidden": {**resource, "issuer": "other", "scope": "orders"},
        },
        "preauthorization": {"films": point, "news": point},
    })
    whole = sidecar.connect()
    with acting_as(0, gid=20):
        part = sidecar.connect()
    yield whole, part
    whole.close()
    part.close()


def test_an_error_of_a_visible_resource_does_not_name_its_hidden_issuer(
    start: Callable[..., Sidecar], playground: Playground
) -> None:
    resource = {"baseUrl": playground.base + "/resource/", "issuer": "secretly", "auth": "clientCredentials"}
    peers = [{"uid": os.getuid(), "methods": ["*"], "issuers": ["play"]}]
    issuer = {"issuer": "http://127.0.0.1:9/tenant-17", "clientId": "x", "clientAuth": "none"}
    sidecar = start({
        "peers": peers, "issuers": {"secretly": issuer},
        "resources": {"mine": resource, "users": {**resource, "auth": "user"}}})
    with sidecar.connect() as connection:
        for name in ("mine", "users"):
            text = json.dumps(connection.error("fetchResource", {"resource": name, "path": "orders"}))
            assert not any(word in text for word in ("secretly", "tenant-17", "127.0.0.1:9")), text


def without_trace(error: Dict[str, Any]) -> Dict[str, Any]:
    data = {name: value for name, value in error["data"].items() if name != "traceId"}
    return {**error, "data": data}


def test_hidden_names_get_the_errors_of_missing_ones(callers: Tuple[Connection, Connection]) -> None:
    whole, part = callers
    grant = {"type": "tokens", "accessToken": "users", "expiresIn": 600}
    session = whole.call("createSession", {"issuer": "other", "grant": grant})["session"]
    whole.call("fetchResource", {"resource": "hidden", "path": "orders", "task": "hidden-task"})
    for method, member, hidden, missing, rest in [
        ("fetchResource", "resource", "hidden", "nowhere", {}),
        ("fetchResource", "session", session, NO_HANDLE, {"resource": "mine", "auth": "user"}),
        ("getTask", "task", "hidden-task", "no-task", {}),
        ("createSession", "issuer", "other", "nowhere", {"grant": grant}),
        ("beginAuthorization", "issuer", "other", "nowhere", {"redirectUri": "http://127.0.0.1/callback"}),
        ("beginDeviceAuthorization", "issuer", "other", "nowhere", {}),
        ("introspectToken", "issuer", "other", "nowhere", {"token": "x"}),
        ("validateAccessToken", "issuer", "other", "nowhere", {"accessToken": "x", "audience": "a"}),
        ("validateRequest", "issuer", "other", "nowhere", {"method": "GET", "url": "https://api.example.com/", "headers": {}}),
        ("validateLogoutToken", "issuer", "other", "nowhere", {"logoutToken": "x", "end": True}),
        ("getAccessToken", "resource", "hidden", "nowhere", {}),
        ("getAccessToken", "issuer", "other", "nowhere", {}),
        ("getSession", "session", session, NO_HANDLE, {}),
        ("refreshSession", "session", session, NO_HANDLE, {}),
        ("endSession", "session", session, NO_HANDLE, {}),
        ("revokeToken", "session", session, NO_HANDLE, {}),
        ("revokeToken", "issuer", "other", "nowhere", {"token": "x"}),
        ("invalidateDecisions", "provider", "news", "nowhere", {}),
        ("authenticate", "issuer", "other", "nowhere", {}),
    ]:
        told = without_trace(part.error(method, {member: hidden, **rest}))
        assert told == without_trace(part.error(method, {member: missing, **rest})), method
    asked = {"resources": ["x"], "context": {"subject": "alice"}}
    assert part.call("preauthorize", {**asked, "provider": "news"}) == part.call(
        "preauthorize", {**asked, "provider": "nowhere"})
    assert part.call("listSessions") == {"sessions": []} and part.call("listTasks") == {"tasks": []}
    assert whole.call("getSession", {"session": session})["issuer"] == "other"


def test_status_shows_what_the_rule_shows(callers: Tuple[Connection, Connection]) -> None:
    whole, part = callers
    for name in ["mine", "hidden"]:
        whole.call("fetchResource", {"resource": name, "path": "orders"})
    checks = part.call("health")["checks"]
    assert "issuer.own" in checks and "preauthorization.films" in checks
    assert "issuer.other" not in checks and "preauthorization.news" not in checks
    text = part.call("metrics")["text"]
    assert "postern_build_info" in text
    assert "postern_rpc_requests_total" not in text and "postern_upstream" not in text
    assert "postern_rpc_requests_total" in whole.call("metrics")["text"]


def test_a_token_that_is_a_hidden_resources_too_is_not_given_out(callers: Tuple[Connection, Connection]) -> None:
    """`mine` and `hidden` have one scope, at one authorization server under two names."""
    whole, part = callers
    assert whole.call("getAccessToken", {"resource": "mine"})["tokenType"] == "Bearer"
    assert part.error("getAccessToken", {"resource": "mine"})["code"] == -32020
    assert part.call("fetchResource", {"resource": "mine", "path": "orders"})["status"] == 200
