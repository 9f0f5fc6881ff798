"""Section 4.1 with `auth: clientCredentials`: tokens by client credentials, renewed once and never twice."""
from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Callable, Dict, Optional

import pytest

from harness import expect
from harness.connection import Connection
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


def fetch(connection: Connection, path: str = "orders", **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": "orders", "path": path, **params})


def refused(connection: Connection, **params: Any) -> Dict[str, Any]:
    """The `data` of a fetch for which no token could be had."""
    return expect.fault(connection.error("fetchResource", {"resource": "orders", "path": "orders", **params}), 1003)


def fingerprint(connection: Connection) -> str:
    """A hash of the token that a fetch carries."""
    return json.loads(fetch(connection, "echo")["body"])["headers"]["authorization"][0]


def test_a_protected_resource_is_fetched(connection: Connection, playground: Playground) -> None:
    result = fetch(connection)
    assert result["status"] == 200
    assert len(json.loads(result["body"])["orders"]) == 2
    assert result["attempts"] == 1 and result["tokenRefreshed"] is False
    counters = playground.statistics()
    assert counters["tokenRequests"] == 1
    assert counters["clients"]["svc"] == {"requests": 1, "client_secret_basic": 1, "client_secret_post": 0}


@pytest.mark.parametrize("configured", ["clientCredentials", "device"])
@pytest.mark.parametrize("given", [None, "clientCredentials", "device"])
def test_device_is_accepted_as_the_former_name(
    start: Start, connect: Connect, playground: Playground, configured: str, given: Optional[str]
) -> None:
    sidecar = start({"resources": {"orders": {"auth": configured}}})
    connection = connect(sidecar)
    params = {"auth": given} if given else {}
    assert fetch(connection, **params)["status"] == 200
    assert playground.statistics()["clients"]["svc"]["requests"] == 1
    features = connection.call("getInfo")["features"]
    assert "fetchResource.clientCredentials" in features and "fetchResource.device" not in features
    # Errors name the current name only.
    assert "device" not in connection.error("fetchResource", {"resource": "orders", "path": "x", "auth": "devise"})["message"]
    assert "device" not in sidecar.log(), "accepted without a word"


def test_the_token_is_cached(connection: Connection, playground: Playground) -> None:
    assert len({fingerprint(connection) for _ in range(10)}) == 1
    assert playground.statistics()["tokenRequests"] == 1
    assert playground.statistics()["discoveryRequests"] == 1


def test_the_token_is_cached_across_connections(sidecar: Sidecar, connect: Connect, playground: Playground) -> None:
    for _ in range(5):
        assert fetch(connect(sidecar))["status"] == 200
    assert playground.statistics()["tokenRequests"] == 1


def test_any_number_of_waiters_cause_one_token_request(sidecar: Sidecar, connect: Connect, playground: Playground) -> None:
    playground.faults(token={"kind": "slow", "delayMs": 300})
    connections = [connect(sidecar) for _ in range(4)]
    pending = [
        (connection, connection.request("fetchResource", {"resource": "orders", "path": "orders"}))
        for connection in connections
        for _ in range(25)
    ]
    for connection, identifier in pending:
        assert connection.answer_to(identifier)["result"]["status"] == 200
    assert playground.statistics()["tokenRequests"] == 1


def test_a_waiter_that_gives_up_does_not_take_the_token_from_the_others(
    sidecar: Sidecar, connect: Connect, playground: Playground
) -> None:
    playground.faults(token={"kind": "slow", "delayMs": 3000})
    leaving, staying = connect(sidecar), connect(sidecar)
    first = leaving.request("fetchResource", {"resource": "orders", "path": "orders"})
    eventually(lambda: playground.statistics()["tokenRequests"] == 1)
    second = staying.request("fetchResource", {"resource": "orders", "path": "orders"})
    assert staying.works()
    leaving.notify("$/cancelRequest", {"id": first})
    expect.error(leaving.answer_to(first), -32800)
    assert staying.answer_to(second)["result"]["status"] == 200
    assert playground.statistics()["tokenRequests"] == 1


def test_a_401_with_a_bearer_challenge_renews_once_and_retries_once(connection: Connection, playground: Playground) -> None:
    before = fingerprint(connection)
    playground.faults(revokeTokens=True)
    result = fetch(connection)
    assert result["status"] == 200
    assert result["attempts"] == 2 and result["tokenRefreshed"] is True
    assert fingerprint(connection) != before
    assert playground.statistics()["tokenRequests"] == 2


def test_a_401_that_stays_is_the_result_after_one_retry(connection: Connection, playground: Playground) -> None:
    playground.faults(resource={"kind": "unauthorized"})
    result = fetch(connection)
    assert result["status"] == 401
    assert result["attempts"] == 2
    assert "www-authenticate" in result["headers"]
    counters = playground.statistics()
    assert counters["resourceRequests"] == 2 and counters["tokenRequests"] == 2


@pytest.mark.parametrize("path", ["status/401", "status/401?challenge=basic", "status/403", "status/403?challenge=bearer"])
def test_other_refusals_renew_nothing(connection: Connection, playground: Playground, path: str) -> None:
    assert fetch(connection, path)["status"] in (401, 403)
    assert playground.statistics()["tokenRequests"] == 1
    assert playground.statistics()["resourceRequests"] == 1


def test_a_missing_scope_renews_nothing(start: Start, connect: Connect, playground: Playground) -> None:
    connection = connect(start({"resources": {"orders": {"scope": "profile"}}}))
    result = fetch(connection)
    assert result["status"] == 403 and result["attempts"] == 1
    assert playground.statistics()["tokenRequests"] == 1


def test_renewal_follows_the_resources_rule(start: Start, connect: Connect, playground: Playground) -> None:
    connection = connect(start({"resources": {"orders": {"refreshOn": {"status": [418]}}}}))
    result = fetch(connection, "status/418")
    assert result["status"] == 418 and result["attempts"] == 2
    playground.faults(resource={"kind": "unauthorized"})
    assert fetch(connection)["attempts"] == 1


def test_many_401s_at_once_cause_one_renewal(connection: Connection, playground: Playground) -> None:
    fetch(connection)
    playground.faults(revokeTokens=True)
    pending = [connection.request("fetchResource", {"resource": "orders", "path": "orders"}) for _ in range(50)]
    for identifier in pending:
        assert connection.answer_to(identifier)["result"]["status"] == 200
    assert playground.statistics()["tokenRequests"] == 2


def test_a_late_401_of_an_older_token_renews_nothing(connection: Connection, playground: Playground) -> None:
    fetch(connection)
    late = connection.request("fetchResource", {"resource": "orders", "path": "slow?ms=2500"})
    eventually(lambda: playground.statistics()["resourceRequests"] == 2)
    playground.faults(revokeTokens=True)
    assert fetch(connection)["status"] == 200
    assert playground.statistics()["tokenRequests"] == 2
    result = connection.answer_to(late)["result"]
    assert result["status"] == 200 and result["attempts"] == 2
    assert playground.statistics()["tokenRequests"] == 2


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_the_retry_carries_the_same_request(connection: Connection, playground: Playground, method: str) -> None:
    playground.faults(resource={"kind": "unauthorized", "times": 1})
    result = fetch(connection, "echo?x=1", method=method, body="kept", headers={"X-A": "b"})
    seen = json.loads(result["body"])
    assert result["attempts"] == 2
    assert (seen["method"], seen["body"], seen["query"], seen["headers"]["x-a"]) == (method, "kept", "x=1", ["b"])


def test_scope_and_audience_are_part_of_what_a_token_is_for(start: Start, connect: Connect, playground: Playground) -> None:
    def resource(**changes: Any) -> Dict[str, Any]:
        return {"baseUrl": playground.base + "/resource/", "issuer": "play", "auth": "clientCredentials", "scope": "orders", **changes}

    here = playground.base + "/resource"
    resources = {
        "a": resource(audience=here), "b": resource(audience=here), "c": resource(audience=here, scope="orders profile"),
        "d": resource(audience=playground.base), "e": resource(),
    }
    connection = connect(start({"resources": {"orders": None, **resources}}))
    for name in resources:
        assert connection.call("fetchResource", {"resource": name, "path": "orders"})["status"] == 200, name
    assert playground.statistics()["tokenRequests"] == 4


def test_a_token_is_renewed_before_it_expires(start: Start, connect: Connect, start_playground: Any) -> None:
    upstream = start_playground("--access-token-lifetime", "3s")
    resource = {"baseUrl": upstream.base + "/resource/", "audience": upstream.base + "/resource"}
    connection = connect(start({"issuers": {"play": {"issuer": upstream.issuer}}, "resources": {"orders": resource}}))
    deadline = time.monotonic() + 7
    while time.monotonic() < deadline:
        began = time.monotonic()
        result = fetch(connection)
        assert result["status"] == 200
        # Renewed in time, so that no fetch ever meets a 401 (a tenth of its life early), unless it took that long
        # itself.
        assert result["attempts"] == 1 or time.monotonic() - began > 0.25
        time.sleep(0.05)
    assert 2 <= upstream.statistics()["tokenRequests"] <= 5


def client(directory: Path, identifier: str, secret: str, method: str) -> Dict[str, Any]:
    path = directory / "other-secret"
    path.write_text(secret)
    path.chmod(0o600)
    return {"issuers": {"play": {"clientId": identifier, "clientSecretFile": str(path), "clientAuth": method}}}


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
@pytest.mark.parametrize("identifier, secret", [("svc", "svcsecret"), ("odd:client+1", "p@ss word/%&+\u00e9")])
def test_clients_authenticate_as_rfc_6749_2_3_1_says(
    start: Start, connect: Connect, playground: Playground, directory: Path, method: str, identifier: str, secret: str
) -> None:
    connection = connect(start(client(directory, identifier, secret, method)))
    assert fetch(connection)["status"] == 200
    assert playground.statistics()["clients"][identifier][method] == 1


def test_a_wrong_secret_is_device_not_authenticated(
    start: Start, connect: Connect, playground: Playground, directory: Path
) -> None:
    connection = connect(start(client(directory, "svc", "wrong-secret-value", "client_secret_basic")))
    data = refused(connection)
    assert data["upstream"]["status"] == 401
    assert data["upstream"]["code"] == "invalid_client"
    assert data.get("retryable") is False
    assert playground.statistics()["resourceRequests"] == 0


def test_a_scope_that_is_not_granted_is_device_not_authenticated(start: Start, connect: Connect) -> None:
    connection = connect(start({"resources": {"orders": {"scope": "unheard"}}}))
    upstream = refused(connection)["upstream"]
    assert (upstream["status"], upstream["code"]) == (400, "invalid_scope")


@pytest.mark.parametrize(
    "kind, status",
    [("serverError", 500), ("unavailable", 503), ("malformedJSON", None), ("html", None), ("emptyUnauthorized", 401)],
)
def test_a_token_endpoint_that_fails_is_told_and_recovered_from(
    connection: Connection, playground: Playground, kind: str, status: Optional[int]
) -> None:
    playground.faults(token={"kind": kind, "retryAfterSeconds": 0})
    data = refused(connection)
    if status is not None:
        assert data["upstream"]["status"] == status
    assert playground.statistics()["resourceRequests"] == 0
    playground.faults(token=None)

    def recovered() -> bool:
        message = connection.answer_to(connection.request("fetchResource", {"resource": "orders", "path": "orders"}))
        return "result" in message

    eventually(recovered, 20, "recovery")


@pytest.mark.parametrize("kind", ["serverError", "unavailable", "malformedJSON", "html", "wrongIssuer"])
def test_discovery_that_fails_is_told_and_recovered_from(connection: Connection, playground: Playground, kind: str) -> None:
    playground.faults(discovery={"kind": kind, "retryAfterSeconds": 0})
    refused(connection)
    counters = playground.statistics()
    assert counters["tokenRequests"] == 0 and counters["resourceRequests"] == 0
    playground.faults(discovery=None)

    def recovered() -> bool:
        message = connection.answer_to(connection.request("fetchResource", {"resource": "orders", "path": "orders"}))
        return "result" in message

    eventually(recovered, 20, "recovery")


def test_endpoints_may_be_configured_instead_of_discovered(start: Start, connect: Connect, playground: Playground) -> None:
    playground.faults(discovery={"kind": "serverError"})
    connection = connect(start({"issuers": {"play": {"endpoints": {"token": playground.issuer + "/token"}}}}))
    assert fetch(connection)["status"] == 200


def test_a_provider_that_is_down_and_comes_back(start: Start, connect: Connect, start_playground: Any, playground: Playground) -> None:
    # Not one that the kernel chooses: somebody else could be given it before it comes back.
    port = free_port()
    upstream = start_playground("--port", str(port))
    resource = {"baseUrl": upstream.base + "/resource/", "audience": upstream.base + "/resource"}
    connection = connect(start({"issuers": {"play": {"issuer": upstream.issuer}}, "resources": {"orders": resource}}))
    assert fetch(connection)["status"] == 200
    upstream.stop()
    message = connection.answer_to(connection.request("fetchResource", {"resource": "orders", "path": "orders"}))
    assert message["error"]["code"] in (1003, 1009), message
    start_playground("--port", str(port))

    def recovered() -> bool:
        # New keys: the old token is refused, and renewed.
        message = connection.answer_to(connection.request("fetchResource", {"resource": "orders", "path": "orders"}))
        return message.get("result", {}).get("status") == 200

    eventually(recovered, 20, "recovery")


def test_the_token_never_leaves(connection: Connection, playground: Playground) -> None:
    result = fetch(connection, "echo")
    assert not expect.LIKE_A_TOKEN.search(json.dumps(result))
