"""What the access manager's own SDKs are known to get wrong, by its name in their trackers or in the review of their
sources, and the test that shows it done right here.

- the new session is ended by the old one's logout, or its cookies wiped (iOS #374, #376):
  `test_the_old_login_is_ended_with_its_own_cookie_only`
- pins do not hold for what a policy sends (iOS #282), any certificate is accepted:
  `test_pins_and_certificates_hold_for_journeys`
- policies cannot be given URLs and delegates (iOS #58): `AuthorizationPolicyTests`, `TokenManagementPolicyTests` in
  Swift
- a refresh token that is not rotated is lost (iOS #59, Android #77): `test_a_refresh_token_that_is_not_rotated_stays`
- a session's logout is sent twice (iOS #67, #286): `test_a_logout_is_sent_once`
- no clean-up after `invalid_grant` (Android #78): `test_sso.py`:
  `test_the_refresh_token_goes_first_and_single_sign_on_after_invalid_grant`
- a token is refreshed twice (Android #447): `test_sessions.py`: `test_any_number_of_refusals_cause_one_renewal`
- advice in headers and bodies is not understood (JS #306, #308, #361, iOS #207): `test_fetch_advice.py`:
  `test_an_advice_stops_the_fetch_and_its_continuation_goes_on`
- the text of a script is dropped from what is submitted (SDKS-3226): `test_a_scripts_text_is_submitted_with_its_page`
- an unknown callback ends the journey: `test_journeys.py`: `test_callbacks_of_every_kind_pass_untouched`
- advice is satisfied without end: `test_fetch_advice.py`: `test_rounds_end`
- only the first advice and the first element count: `test_every_advice_and_every_element_counts`
- values go into XML as they are: `test_a_value_cannot_leave_its_element`
- the header is split at commas and equals signs: `test_challenges_are_read_by_their_grammar`
- URLs that are listed for advice only get the token: `test_no_token_goes_where_advice_alone_is_expected`
- a request whose token cannot be had goes out without one: `test_a_fetch_without_its_token_does_not_go_out`
- any error falls back to single sign-on and wipes the credentials: `test_sso.py`:
  `test_an_outage_logs_nobody_out_and_a_lost_login_does`
- a cookie goes wherever the domain ends alike: `test_the_single_sign_on_cookie_goes_to_the_access_manager_alone`
- forms are not encoded: `test_forms_are_encoded`
- a user has 60 s for what takes 180 s: `test_a_user_has_as_long_as_a_transaction`
- tokens are logged: `test_neither_tokens_nor_what_users_type_is_logged`
- a token is refreshed before advice is looked for: `test_fetch_advice.py`: `test_no_token_is_renewed_for_advice`
- the realm goes into the path as it is: `test_a_realm_cannot_lead_elsewhere`
- a 200 of the access manager is taken for success: `test_fetch_advice.py`: `test_a_transaction_is_for_one_request`
"""
from __future__ import annotations

import base64
import json
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest

from harness import expect, journeys
from harness.certificates import Authority
from harness.connection import Connection
from harness.issuer import IssuerDouble, document
from harness.journeys import LEVEL, SERVICE, TRANSACTION, go_on, types
from harness.mutual import MutualTLS
from harness.playground import Playground
from harness.recorder import Recorded, Recorder
from harness.sidecar import Sidecar, StartError
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
REDIRECT = "http://127.0.0.1:8765/callback"
FOREIGN = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


@pytest.fixture
def recorder(playground: Playground) -> Iterator[Recorder]:
    recorder = Recorder(playground.base)
    yield recorder
    recorder.stop()


@pytest.fixture
def settings(playground: Playground, recorder: Recorder, directory: Path) -> Dict[str, Any]:
    """The access manager, and a resource on its very origin, behind a recorder."""
    settings = journeys.settings(playground, directory)
    settings["issuers"]["am"]["accessManager"]["baseUrl"] = recorder.base + "/am"
    settings["resources"]["gate"] = {
        "baseUrl": recorder.base + "/gateway/", "issuer": "am", "auth": "user", "scope": "orders"}
    return settings


@pytest.fixture
def sidecar(start: Start, settings: Dict[str, Any]) -> Sidecar:
    return start(settings)


def session(connection: Connection, token: str) -> str:
    return connection.call("createSession", {"issuer": "am", "grant": {"type": "sso", "ssoToken": token}})["session"]


def step_up(connection: Connection, handle: str, secret: str = "alice-password") -> None:
    params = {"session": handle, "advice": {"type": SERVICE, "value": "ConfirmPassword"},
              "answers": {"PasswordCallback": secret}}
    result = connection.call("authenticateWithAdvice", params)
    assert result["state"] == "completed" and result["sessionUpgraded"], result


def logins(recorder: Recorder) -> List[str]:
    """The single sign-on tokens that authorizations were made with."""
    return [parse_qs(request.body.decode())["csrf"][0] for request in recorder.to("/authorize")]


def test_the_old_login_is_ended_with_its_own_cookie_only(
    connection: Connection, playground: Playground, recorder: Recorder
) -> None:
    old = journeys.sign_on(playground)
    handle = session(connection, old)
    step_up(connection, handle)
    (logout,) = eventually(lambda: recorder.to("/sessions"))
    new = logins(recorder)[-1]
    assert new != old
    assert old in logout.headers["cookie"] and json.loads(logout.body) == {"tokenId": old}
    assert not [name for name, value in logout.headers.items() if new in value]
    # The recorder has seen the logout before the access manager has.
    eventually(lambda: not journeys.is_signed_on(playground, old), what="the end of the old login")
    assert journeys.is_signed_on(playground, new)
    playground.faults(revokeRefreshTokens=True)
    assert connection.call("refreshSession", {"session": handle})["session"] == handle
    assert logins(recorder)[-1] == new and len(recorder.to("/sessions")) == 1


def test_pins_and_certificates_hold_for_journeys(
    start: Start, connect: Connect, tmp_path_factory: pytest.TempPathFactory
) -> None:
    authority = Authority(tmp_path_factory.mktemp("tls"))
    authority.issue("server", "subjectAltName=IP:127.0.0.1", by="middle")
    peers = MutualTLS(authority)
    issuer = {
        "issuer": peers.issuer, "clientId": "shop", "redirectUri": REDIRECT,
        "accessManager": {"baseUrl": peers.issuer, "realm": "alpha"}}
    issuers = {
        "pinned": {**issuer, "tls": {"caFile": authority.file, "pins": [FOREIGN]}},
        "unknown": issuer, "good": {**issuer, "tls": {"caFile": authority.file}},
    }
    connection = connect(start({"issuers": issuers}))
    for name in ["pinned", "unknown"]:
        data = expect.fault(connection.error("authenticate", {"issuer": name}), 3004)
        assert data["outcome"] == "not_sent" and peers.asked == []
    assert connection.error("authenticate", {"issuer": "good"})["code"] == 3005 and peers.asked != []
    peers.stop()


def test_a_refresh_token_that_is_not_rotated_stays(connection: Connection, playground: Playground) -> None:
    settings = {"rotateRefreshTokens": False, "repeatRefreshTokens": False}
    playground.request("POST", "/playground/settings", json.dumps(settings).encode())
    handle = session(connection, journeys.sign_on(playground))
    for _ in range(3):
        connection.call("refreshSession", {"session": handle})
    statistics = playground.statistics()
    assert statistics["refreshTokensPresented"] == 3 and statistics["ssoAuthorizations"] == 1


def test_a_logout_is_sent_once(connection: Connection, playground: Playground, recorder: Recorder) -> None:
    handle = session(connection, journeys.sign_on(playground))
    ends = [connection.request("endSession", {"session": handle}) for _ in range(5)]
    answers = [connection.answer_to(end) for end in ends]
    assert sorted("result" in answer for answer in answers) == [False] * 4 + [True]
    for answer in answers:
        assert "result" in answer or expect.fault(answer["error"], 5001)
    time.sleep(0.2)
    assert len(recorder.to("/sessions")) == 1 and playground.statistics()["logoutRequests"] <= 1


def test_a_scripts_text_is_submitted_with_its_page(connection: Connection, recorder: Recorder) -> None:
    callbacks = [
        {"type": "TextOutputCallback", "output": [
            {"name": "message", "value": "run()"}, {"name": "messageType", "value": "4"}]},
        {"type": "HiddenValueCallback", "output": [{"name": "id", "value": "outcome"}],
         "input": [{"name": "IDToken2", "value": "outcome"}]},
    ]

    def instead(request: Recorded) -> Any:
        if not request.path.endswith("/authenticate"):
            return None
        page = json.dumps({"authId": "id-1", "callbacks": callbacks}).encode()
        return 200, {"Content-Type": "application/json"}, page

    recorder.instead = instead
    step = journeys.begin(connection)
    assert step["callbacks"] == callbacks
    go_on(connection, step, answers={"outcome": "done"})
    sent = json.loads(recorder.to("/authenticate")[1].body)
    callbacks[1]["input"] = [{"name": "IDToken2", "value": "done"}]
    assert sent == {"authId": "id-1", "callbacks": callbacks}


def test_every_advice_and_every_element_counts(
    connection: Connection, playground: Playground, recorder: Recorder
) -> None:
    rows = [
        {"resource": "/a", "actions": {}, "advices": {TRANSACTION: ["t-1"], SERVICE: ["ConfirmPassword", "Second"]}},
        {"resource": "/b", "actions": {}, "advices": {"UnknownAdvice": ["x"], LEVEL: ["1"]}},
    ]
    response = {"status": 403, "headers": {}, "body": json.dumps(rows)}
    found = [(advice["type"], advice["value"]) for advice in connection.call("parseAdvice", response)["advices"]]
    assert found == [
        (TRANSACTION, "t-1"), (SERVICE, "ConfirmPassword"), (SERVICE, "Second"), ("UnknownAdvice", "x"), (LEVEL, "1")]
    handle = session(connection, journeys.sign_on(playground))
    step = connection.call("authenticateWithAdvice", {"session": handle, "response": response})
    assert types(step) == ["PasswordCallback"]
    # The transaction by itself, when everything else is done.
    assert pairs(recorder) == found[1:]


def pairs(recorder: Recorder) -> List[Any]:
    """What the last journey was asked for, as any XML parser reads it."""
    query = parse_qs(recorder.to("/authenticate")[-1].query)
    assert query["authIndexType"] == ["composite_advice"]
    root = ElementTree.fromstring(query["authIndexValue"][0])
    assert root.tag == "Advices" and {pair.tag for pair in root} == {"AttributeValuePair"}
    return [(pair.find("Attribute").get("name"), pair.find("Value").text) for pair in root]  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [
    "x</Value></AttributeValuePair><AttributeValuePair>", "a & b", "&amp;", "]]>", "\"'<!--", "/realm:tree+plus%20",
])
def test_a_value_cannot_leave_its_element(
    connection: Connection, playground: Playground, recorder: Recorder, value: str
) -> None:
    handle = session(connection, journeys.sign_on(playground))
    result = connection.call("authenticateWithAdvice", {"session": handle, "advice": {"type": SERVICE, "value": value}})
    assert result["state"] == "failed" and pairs(recorder) == [(SERVICE, value)]


def test_challenges_are_read_by_their_grammar(connection: Connection) -> None:
    encoded = base64.b64encode(json.dumps({SERVICE: ["a??>"]}).encode()).decode()
    assert encoded.endswith("=") and "/" in encoded.replace("+", "/")
    for header in [
        f'SSOADVICE advices="{encoded}"',
        f'SSOADVICE realm="/", advices="{encoded}", am_uri="https://am.test/am/"',
        f'SSOADVICE realm="a,advices=b",advices="{encoded}",',
        f'ssoadvice ADVICES = "{encoded.rstrip("=")}"',
        f'Bearer realm="x", error="invalid_token", SSOADVICE am_uri="https://am.test/",advices="{encoded}"',
        f'Negotiate, SSOADVICE advices="{encoded.replace("+", "-").replace("/", "_")}", Basic realm="y"',
    ]:
        response = {"status": 401, "headers": {"www-authenticate": header}}
        (advice,) = connection.call("parseAdvice", response)["advices"]
        assert (advice["type"], advice["value"]) == (SERVICE, "a??>"), header


def test_no_token_goes_where_advice_alone_is_expected(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground, recorder: Recorder
) -> None:
    settings["resources"]["open"] = {"baseUrl": recorder.base + "/gateway/", "issuer": "am", "auth": "none"}
    connection = connect(start(settings))
    session(connection, journeys.sign_on(playground))
    body = json.dumps({"advices": {SERVICE: ["ConfirmPassword"]}}).encode()
    recorder.instead = lambda request: (403, {}, body) if "/gateway/" in request.path else None
    result = connection.call("fetchResource", {"resource": "open", "path": "service/x"})
    assert result["status"] == 403 and result["advicesSatisfied"] == []
    (request,) = [request for request in recorder.requests if "/gateway/" in request.path]
    assert not {"authorization", "cookie", "x-authenticate-response"} & set(request.headers)


def test_a_fetch_without_its_token_does_not_go_out(
    connection: Connection, playground: Playground, recorder: Recorder
) -> None:
    grant = {"type": "tokens", "refreshToken": "gone"}
    handle = connection.call("createSession", {"issuer": "am", "grant": grant})["session"]
    for kind in ["unavailable", "html", "refuseGrant"]:
        playground.faults(token={"kind": kind})
        error = connection.error("fetchResource", {"resource": "gate", "path": "open/x", "session": handle})
        assert error["code"] in (1001, 5003, 5004, 1009), error
    assert not [request for request in recorder.requests if "/gateway/" in request.path]


def test_the_single_sign_on_cookie_goes_to_the_access_manager_alone(
    connection: Connection, playground: Playground, recorder: Recorder
) -> None:
    token = journeys.sign_on(playground)
    handle = session(connection, token)
    step_up(connection, handle)
    assert connection.call("fetchResource", {"resource": "gate", "path": "open/x", "session": handle})["status"] == 200
    eventually(lambda: recorder.to("/sessions"))
    secrets = {token, *logins(recorder)}
    for request in recorder.requests:
        carries = any(secret in value for secret in secrets for value in request.headers.values())
        assert carries == (request.path.startswith("/am/") and "serverinfo" not in request.path), request.path


def test_forms_are_encoded(
    start: Start, connect: Connect, issuer: IssuerDouble
) -> None:
    token = "a+b&c=d%20e f;g\u00e9?#"
    issuer.metadata["token_endpoint"] = issuer.base + "/token"
    issuer.answers["/token"] = lambda _: document({"access_token": "x", "token_type": "Bearer", "expires_in": 60})
    connection = connect(start({"issuers": {"odd": {"issuer": issuer.base, "clientId": "a&b=c+d"}}}))
    connection.call("createSession", {"issuer": "odd", "grant": {"type": "refresh_token", "refreshToken": token}})
    (asked,) = [asked for asked in issuer.asked if asked.path == "/token"]
    form = parse_qs(asked.body.decode(), strict_parsing=True)
    assert form["refresh_token"] == [token] and form["client_id"] == ["a&b=c+d"]


def test_a_user_has_as_long_as_a_transaction(connection: Connection, playground: Playground) -> None:
    began = datetime.now(timezone.utc)
    handle = session(connection, journeys.sign_on(playground))
    fetch = {"resource": "gate", "path": "transaction/pay?form=body", "session": handle}
    data = expect.fault(connection.error("fetchResource", fetch), 1017)
    step = connection.call("authenticateWithAdvice", {"continuation": data["continuation"]})
    for text in [data["expiresAt"], step["expiresAt"]]:
        end = datetime.fromisoformat(text.replace("Z", "+00:00"))
        assert 175 < (end - began).total_seconds() <= 3600


def test_neither_tokens_nor_what_users_type_is_logged(
    start: Start, connect: Connect, settings: Dict[str, Any], playground: Playground, recorder: Recorder
) -> None:
    settings["log"] = {"level": "trace"}
    sidecar = start(settings)
    connection = connect(sidecar)
    token = journeys.sign_on(playground)
    handle = session(connection, token)
    failed = {"session": handle, "advice": {"type": SERVICE, "value": "ConfirmPassword"},
              "answers": {"PasswordCallback": "mistyped-secret"}}
    assert connection.call("authenticateWithAdvice", failed)["state"] == "failed"
    step_up(connection, handle)
    connection.call("fetchResource", {"resource": "gate", "path": "open/x", "session": handle})
    connection.call("endSession", {"session": handle})
    log = sidecar.log()
    secrets = ["alice-password", "mistyped-secret", "shopsecret", handle, *logins(recorder)]
    for request in recorder.requests:
        secrets += [part for name in ("authorization", "cookie") for part in [request.headers.get(name)] if part]
        if request.path.endswith("/authenticate"):
            secrets += [json.loads(request.body).get("authId") or token]
    assert len(set(secrets)) > 7
    for secret in secrets:
        assert secret.split("=", 1)[-1] not in log, secret


@pytest.mark.parametrize("realm", ["al pha", "alpha?x=", "alpha/../beta", "alpha#", "a%2Fb", "alpha/realms/beta"])
def test_a_realm_cannot_lead_elsewhere(start: Start, settings: Dict[str, Any], realm: str) -> None:
    settings["issuers"]["am"]["accessManager"]["realm"] = realm
    with pytest.raises(StartError) as error:
        start(settings)
    assert "issuers.am.accessManager.realm" in error.value.log
