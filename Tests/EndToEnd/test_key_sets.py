"""Section 4.3 and the reference's C5: how published key sets are kept, refetched and reported."""
from __future__ import annotations

import json
import time
from typing import Any, Callable, Dict

import pytest

from harness import expect
from harness.connection import Connection
from harness.issuer import IssuerDouble, document
from harness.sidecar import Sidecar
from harness.signing import SigningKey
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


def token(key: SigningKey, issuer: IssuerDouble, **header: Any) -> str:
    now = int(time.time())
    return key.sign({"iss": issuer.base, "sub": "alice", "aud": "shop", "iat": now, "exp": now + 60}, **header)


def judge(connection: Connection, text: str) -> Dict[str, Any]:
    return connection.call("validateIdToken", {"idToken": text, "issuer": "corp"})


@pytest.fixture
def corp(start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey) -> Connection:
    """A sidecar with the double as `corp`, its key set the RSA key, and no cool-down to wait for."""
    issuer.serve_keys(rsa.jwks())
    return connect(start({"issuers": {"corp": issuer.settings(jwks={"cooldown": "0s"})}}))


def test_the_set_is_fetched_once(corp: Connection, issuer: IssuerDouble, rsa: SigningKey) -> None:
    for _ in range(5):
        assert judge(corp, token(rsa, issuer))["valid"] is True
    assert issuer.count("/jwks") == 1 and issuer.count("/.well-known/openid-configuration") == 1


def test_any_number_of_waiters_cause_one_request(corp: Connection, issuer: IssuerDouble, rsa: SigningKey) -> None:
    fast = issuer.answers["/jwks"]

    def slow(asked: Any) -> Any:
        time.sleep(0.3)
        return fast(asked)

    issuer.answers["/jwks"] = slow
    text = token(rsa, issuer)
    pending = [corp.request("validateIdToken", {"idToken": text, "issuer": "corp"}) for _ in range(50)]
    for identifier in pending:
        assert corp.answer_to(identifier)["result"]["valid"] is True
    assert issuer.count("/jwks") == 1


def test_configured_endpoints_need_no_metadata(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    issuer.serve_keys(rsa.jwks())
    settings = issuer.settings(endpoints={"jwks": issuer.base + "/jwks"})
    connection = connect(start({"issuers": {"corp": settings}}))
    assert judge(connection, token(rsa, issuer))["valid"] is True
    assert issuer.count("/.well-known/openid-configuration") == 0


def test_a_rotation_is_followed_and_told(corp: Connection, issuer: IssuerDouble, rsa: SigningKey) -> None:
    old = token(rsa, issuer)
    assert judge(corp, old)["valid"] is True
    corp.call("subscribe", {"events": ["event.keysRotated"]})
    new = SigningKey("RS256", "rsa-2")
    issuer.serve_keys({"keys": [new.jwk()]})
    result = judge(corp, token(new, issuer))
    assert result["valid"] is True
    event = eventually(lambda: next((m for m in corp.others() if m.get("method") == "event.keysRotated"), None)
                       or (corp.works() and None))
    assert event["params"]["issuer"] == "corp" and event["params"]["added"] == [result["key"]["thumbprint"]]
    assert len(event["params"]["removed"]) == 1 and expect.RFC3339_MILLISECONDS.match(event["params"]["at"])
    # The key has left the set: what it signed is no longer valid, verdict cache or not.
    expect.refusal(judge(corp, old), "key_not_found", "kid")


def test_unknown_kids_cause_one_refetch_within_the_cool_down(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    issuer.serve_keys(rsa.jwks())
    connection = connect(start({"issuers": {"corp": issuer.settings(jwks={"cooldown": "1h"})}}))
    for number in range(20):
        expect.refusal(judge(connection, token(rsa, issuer, kid=f"unknown-{number}")), "key_not_found", "kid")
    assert issuer.count("/jwks") == 2, "the first load and one refetch"
    assert judge(connection, token(rsa, issuer))["valid"] is True


def test_a_failing_refetch_counts_for_the_cool_down_and_wipes_nothing(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    issuer.serve_keys(rsa.jwks())
    connection = connect(start({"issuers": {"corp": issuer.settings(jwks={"cooldown": "1h"})}}))
    assert judge(connection, token(rsa, issuer))["valid"] is True
    issuer.answers["/jwks"] = lambda _: document({}, 500)
    for number in range(5):
        # Whether the key exists cannot be said.
        params = {"idToken": token(rsa, issuer, kid=f"unknown-{number}"), "issuer": "corp"}
        data = expect.fault(connection.error("validateIdToken", params), 2001)
        assert data["upstream"] == {"status": 500} and 30_000 < data["retryAfterMs"] <= 240_000, "when the set is refreshed"
    assert issuer.count("/jwks") == 2
    assert judge(connection, token(rsa, issuer))["valid"] is True
    health = connection.call("health")
    assert health["status"] == "degraded" and health["checks"]["issuer.corp.keys"]["status"] == "degraded"
    assert "an older one is used" in health["checks"]["issuer.corp.keys"]["detail"]


def test_a_set_that_cannot_be_had_says_when_it_is_asked_for_again(
    corp: Connection, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    """The issuer's own Retry-After counts, so that who waits as long as it says is not refused once more."""
    issuer.answers["/jwks"] = lambda _: (503, {"Retry-After": "20"}, b"")
    params = {"idToken": token(rsa, issuer), "issuer": "corp"}
    waits = [expect.fault(corp.error("validateIdToken", params), 2001)["retryAfterMs"] for _ in range(2)]
    assert 0 < waits[1] <= waits[0] <= 20_000 and waits[0] > 5_000
    assert issuer.count("/jwks") == 1


def test_callers_cannot_make_the_sidecar_flood_an_issuer(corp: Connection, issuer: IssuerDouble, rsa: SigningKey) -> None:
    """The budget holds where no cool-down does."""
    for number in range(60):
        expect.refusal(judge(corp, token(rsa, issuer, kid=f"unknown-{number}")), "key_not_found")
    assert issuer.count("/jwks") <= 12


def test_metadata_that_names_a_missing_key_set_is_not_asked_again_at_once(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    issuer.serve_keys(rsa.jwks())
    issuer.metadata["jwks_uri"] = issuer.base + "/old"
    connection = connect(start({"issuers": {"corp": issuer.settings()}}))
    params = {"idToken": token(rsa, issuer), "issuer": "corp"}
    expect.fault(connection.error("validateIdToken", params), 2001)
    assert issuer.count("/.well-known/openid-configuration") == 1, "asked a moment ago: not again"


def test_the_trace_goes_on_to_the_issuer(corp: Connection, issuer: IssuerDouble, rsa: SigningKey) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    params = {"idToken": token(rsa, issuer), "issuer": "corp", "meta": {"traceparent": trace}}
    assert corp.call("validateIdToken", params)["valid"] is True
    for asked in issuer.asked:
        assert asked.headers["traceparent"].split("-")[1] == trace.split("-")[1], asked.path


def test_redirects_are_not_followed(corp: Connection, issuer: IssuerDouble, rsa: SigningKey) -> None:
    issuer.answers["/elsewhere"] = issuer.answers["/jwks"]
    issuer.answers["/jwks"] = lambda _: (302, {"Location": issuer.base + "/elsewhere"}, b"")
    data = expect.fault(corp.error("validateIdToken", {"idToken": token(rsa, issuer), "issuer": "corp"}), 2001)
    assert data["upstream"] == {"status": 302} and issuer.count("/elsewhere") == 0


def test_a_set_that_is_too_large_or_of_another_type(corp: Connection, issuer: IssuerDouble, rsa: SigningKey) -> None:
    params = {"idToken": token(rsa, issuer), "issuer": "corp"}
    issuer.answers["/jwks"] = lambda _: (200, {"Content-Type": "application/json"}, b" " * 300_000)
    expect.fault(corp.error("validateIdToken", params), 2001)
    issuer.answers["/jwks"] = lambda _: (200, {"Content-Type": "text/html"}, b'{"keys":[]}')
    expect.fault(corp.error("validateIdToken", params), 2001)


def test_private_members_make_a_published_key_unusable(corp: Connection, issuer: IssuerDouble, rsa: SigningKey) -> None:
    issuer.serve_keys(rsa.jwks(d="AQAB"))
    assert corp.call("validateIdToken", {"idToken": token(rsa, issuer), "issuer": "corp"})["valid"] is False


def test_health_tells_the_age_of_the_keys(corp: Connection, issuer: IssuerDouble, rsa: SigningKey) -> None:
    assert "issuer.corp.keys" not in corp.call("health")["checks"]
    judge(corp, token(rsa, issuer))
    check = corp.call("health")["checks"]["issuer.corp.keys"]
    assert check["status"] == "ok" and 0 <= check["ageMs"] < 10_000 and check["detail"] == "1 keys"


def test_metrics_count_key_set_requests(corp: Connection, issuer: IssuerDouble, rsa: SigningKey) -> None:
    judge(corp, token(rsa, issuer))
    text = corp.call("metrics")["text"]
    assert 'postern_upstream_requests_total{kind="key_set",outcome="2xx"} 1' in text


def test_an_issuer_with_pins_is_not_trusted_without_them(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey
) -> None:
    issuer.serve_keys(rsa.jwks())
    pins = ["sha256/" + "A" * 43 + "="]
    connection = connect(start({"issuers": {"corp": issuer.settings(tls={"pins": pins})}}))
    expect.fault(connection.error("validateIdToken", {"idToken": token(rsa, issuer), "issuer": "corp"}), 2002)
    assert issuer.asked == []


def test_a_reload_with_another_policy_forgets_verdicts(
    start: Start, connect: Connect, issuer: IssuerDouble, rsa: SigningKey, ec: SigningKey
) -> None:
    issuer.serve_keys({"keys": [rsa.jwk(), ec.jwk()]})
    sidecar = start({"issuers": {"corp": issuer.settings()}})
    connection = connect(sidecar)
    text = token(rsa, issuer)
    assert judge(connection, text)["cached"] is False and judge(connection, text)["cached"] is True
    connection.call("reloadConfig")
    assert judge(connection, text)["cached"] is True
    whole = json.loads(sidecar.configuration_path.read_text())
    whole["issuers"]["corp"]["idToken"] = {"clockSkew": "31s"}
    sidecar.write(whole)
    connection.call("reloadConfig")
    assert judge(connection, text)["cached"] is False
