"""Access managers, delegates and callers that do not keep to the rules: nothing wrong is taken for done, and nothing
is told to others."""
from __future__ import annotations

import http.client
import json
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from harness import expect, journeys
from harness.journeys import SERVICE, filled
from harness.playground import Playground
from harness.recorder import Answer, Recorder
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]
YES = {"ConfirmationCallback": "Yes", "PasswordCallback": "alice-password"}
ADVICE = {"type": SERVICE, "value": "ConfirmPassword"}
PAGE = {"authId": "x", "callbacks": [{"type": "PasswordCallback", "output": [{"name": "prompt", "value": "Password"}],
                                     "input": [{"name": "IDToken1", "value": ""}]}]}


@pytest.fixture
def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    settings = journeys.settings(playground, directory)
    settings["resources"]["gate"] = {
        "baseUrl": playground.base + "/gateway/", "issuer": "am", "auth": "user", "scope": "orders",
        "advice": {"wait": "2s"}}
    return settings


@pytest.fixture
def recorder(playground: Playground) -> Iterator[Recorder]:
    recorder = Recorder(playground.base)
    yield recorder
    recorder.stop()


def behind(settings: Dict[str, Any], recorder: Recorder) -> Dict[str, Any]:
    settings["issuers"]["am"]["accessManager"]["baseUrl"] = recorder.base + "/am"
    return settings


def says(recorder: Recorder, body: Any, status: int = 200) -> None:
    """Lets the authenticate endpoint answer so from now on."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer: Answer = (status, {"Content-Type": "application/json"}, content)
    recorder.instead = lambda request: answer if request.path.endswith("/authenticate") else None


GARBAGE = [
    {}, {"code": 500, "message": "boom"}, {"failure": True, "reason": "http-auth-failed"}, {"errorMessage": "Invalid Password"},
    {"tokenId": None}, {"tokenId": None, "realm": "/alpha"}, {"tokenId": ""}, {"result": {"authId": "x"}},
    # No token that can stand in a cookie: the access manager's fault, not the caller's.
    {"tokenId": "a;b=c", "successUrl": "/"}, {"tokenId": "a b", "realm": "/alpha"}, {"tokenId": "\u00e9"}, {"tokenId": "a\r\nX: y"},
]


@pytest.mark.parametrize("body", GARBAGE, ids=json.dumps)
def test_a_page_that_is_no_success_authenticates_nobody(
    start: Start, settings: Dict[str, Any], recorder: Recorder, playground: Playground, body: Dict[str, Any]
) -> None:
    with start(behind(settings, recorder)).connect() as connection:
        session = journeys.session(connection, playground)
        says(recorder, body)
        expect.fault(connection.error("authenticate", {"issuer": "am", "noSession": True}), 3005)
        expect.fault(connection.error("authenticate", {"issuer": "am"}), 3005)
        expect.fault(connection.error("authenticateWithAdvice", {"session": session, "advice": ADVICE}), 3005)


def test_a_login_without_a_session_ends_without_a_token(start: Start, settings: Dict[str, Any], recorder: Recorder) -> None:
    with start(behind(settings, recorder)).connect() as connection:
        for body in [{"message": "done", "realm": "/alpha"}, {"successUrl": "/", "realm": "/alpha"}]:
            says(recorder, body)
            assert connection.call("authenticate", {"issuer": "am", "noSession": True})["state"] == "completed"


@pytest.mark.parametrize("status", [200, 401])
def test_the_users_token_reaches_no_caller_however_it_is_spelt(
    start: Start, settings: Dict[str, Any], recorder: Recorder, playground: Playground, status: int
) -> None:
    with start(behind(settings, recorder)).connect() as connection:
        token = journeys.sign_on(playground, "alice")
        session = connection.call("createSession", {"issuer": "am", "grant": {"type": "sso", "ssoToken": token}})["session"]
        spelt = "".join(f"\\u{ord(letter):04x}" for letter in token)
        page = '{"authId":"x","callbacks":[{"type":"TextOutputCallback","output":[{"name":"message","value":"%s"}]}]}'
        refusal = '{"code":401,"message":"%s"}'
        says(recorder, ((page if status == 200 else refusal) % spelt).encode(), status)
        error = connection.error("authenticateWithAdvice", {"session": session, "advice": ADVICE})
        assert token not in json.dumps(error) and error["code"] == 3005


def test_what_a_user_types_in_goes_to_no_access_manager_that_is_configured_since(
    start: Start, settings: Dict[str, Any], recorder: Recorder, playground: Playground
) -> None:
    sidecar = start(behind(settings, recorder))
    other = Recorder(playground.base)
    try:
        with sidecar.connect() as connection:
            session = journeys.session(connection, playground)
            says(recorder, PAGE)
            step = connection.call("authenticateWithAdvice", {"session": session, "advice": ADVICE})
            configuration = json.loads(sidecar.configuration_path.read_text())
            configuration["issuers"]["am"]["accessManager"]["baseUrl"] = other.base + "/am"
            sidecar.write(configuration)
            connection.call("reloadConfig")
            callbacks = filled(step, "alice-password")
            error = connection.error(
                "authenticateWithAdvice", {"continuation": step["continuation"], "callbacks": callbacks})
            expect.fault(error, 5009)
            assert other.requests == []
    finally:
        other.stop()


@pytest.mark.parametrize("tree", ["service", "transaction"])
def test_what_is_agreed_to_once_is_done_once(
    start: Start, settings: Dict[str, Any], playground: Playground, tree: str
) -> None:
    with start(settings).connect() as connection:
        session = journeys.session(connection, playground)
        playground.faults(revokeRefreshTokens=True)
        connection.call("revokeToken", {"session": session})
        journeys.control(playground, clientTree=tree)
        order = {"resource": "mine", "path": "echo", "session": session, "method": "POST", "body": "10 coins"}
        first = expect.fault(connection.error("fetchResource", order), 1017)["continuation"]
        # Nothing has been done for it yet: it waits under another continuation, or, where it is the same transaction,
        # as it did.
        again = connection.error("fetchResource", {"continuation": first})
        second = expect.fault(again, 1018 if tree == "transaction" else 1017).get("continuation", first)
        if second != first:
            assert connection.error("fetchResource", {"continuation": first})["code"] == 3002
        walked = connection.call("authenticateWithAdvice", {"continuation": second, "answers": YES})
        assert walked["state"] == "completed"
        assert connection.call("fetchResource", {"continuation": second})["status"] == 200
        for used in (first, second):
            assert connection.error("fetchResource", {"continuation": used})["code"] == 3002


def test_silent_delegates_are_waited_for_once_and_their_continuations_go_on(
    start: Start, settings: Dict[str, Any], playground: Playground
) -> None:
    settings["resources"]["gate"]["advice"] = {"wait": "5s"}
    sidecar = start(settings)
    with sidecar.connect(timeout=30) as bare:
        session = journeys.session(bare, playground)
        asked = {"resource": "gate", "path": "service/x", "session": session}
        silent = [sidecar.connect(timeout=30) for _ in range(4)]
        for connection in silent:
            connection.call("registerDelegate", {"methods": ["delegate.onPolicyAdviceReceived"]})
        began = time.monotonic()
        pending = [(connection, connection.request("fetchResource", asked)) for connection in silent]
        expect.fault(bare.error("fetchResource", asked), 1017)
        assert time.monotonic() - began < 4.5, "who has no delegate waits for nobody's"
        ends = [expect.fault(connection.answer_to(name)["error"], 1017) for connection, name in pending]
        assert time.monotonic() - began < 12, "5 s each would be 20"
        for data in ends:
            walked = bare.call("authenticateWithAdvice", {"continuation": data["continuation"]})
            assert walked["state"] == "callbacks"
        for connection in silent:
            connection.close()


def landing(playground: Playground, url: str) -> str:
    """Where the issuer leads a browser that is logged in."""
    for _ in range(6):
        parts = urlsplit(url)
        client = http.client.HTTPConnection(urlsplit(playground.base).netloc, timeout=10)
        client.request("GET", parts.path + "?" + parts.query)
        url = client.getresponse().getheader("Location") or ""
        client.close()
        if url.startswith("http://127.0.0.1:8765"):
            return url
    raise AssertionError("no callback")


def test_a_callback_is_good_for_its_own_authorization_only(
    start: Start, settings: Dict[str, Any], playground: Playground
) -> None:
    with start(settings).connect() as connection:
        session = journeys.session(connection, playground)
        playground.request("POST", "/playground/login", json.dumps({"user": "alice", "times": 2}).encode())
        plain = connection.call(
            "beginAuthorization", {"issuer": "am", "redirectUri": "http://127.0.0.1:8765/callback", "scope": "openid"})
        weak = landing(playground, plain["authorizationUrl"])
        advice = {"type": "insufficient_user_authentication", "maxAge": 60}
        step = connection.call("authenticateWithAdvice", {"session": session, "advice": advice})
        callbacks = json.loads(json.dumps(step["callbacks"]))
        callbacks[0]["input"][0]["value"] = weak
        error = connection.error("authenticateWithAdvice", {"continuation": step["continuation"], "callbacks": callbacks})
        expect.fault(error, 5006)
        # And the other way round; both are good for their own afterwards.
        own = landing(playground, step["callbacks"][0]["output"][0]["value"])
        for state, code in [(plain["state"], 5005), (parse_qs(urlsplit(own).query)["state"][0], 5006)]:
            expect.fault(connection.error("completeAuthorization", {"callbackUrl": own, "state": state}), code)
        callbacks[0]["input"][0]["value"] = own
        walked = connection.call("authenticateWithAdvice", {"continuation": step["continuation"], "callbacks": callbacks})
        assert walked["state"] == "completed"
        assert connection.call("completeAuthorization", {"callbackUrl": weak, "state": plain["state"]})["session"] != session


def test_another_users_login_decides_nothing_while_nobody_can_say_whose_it_is(
    start: Start, settings: Dict[str, Any], recorder: Recorder, playground: Playground, directory: Path
) -> None:
    evaluator = directory / "evaluator"
    evaluator.write_text(journeys.sign_on(playground, "warden"))
    evaluator.chmod(0o600)
    settings = behind(settings, recorder)
    settings["preauthorization"] = {
        "policies": {
            "kind": "access-manager", "baseUrl": recorder.base + "/am", "issuer": "am", "action": "GET", "cookieName": "playgroundSSO",
            "credentials": {"ssoTokenFile": str(evaluator)}}}
    with start(settings).connect() as connection:
        session = journeys.session(connection, playground)
        bob = journeys.sign_on(playground, "bob")
        says(recorder, {"tokenId": bob, "successUrl": "/", "realm": "/alpha"})
        playground.faults(token={"kind": "unavailable"})
        expect.fault(connection.error("authenticateWithAdvice", {"session": session, "advice": ADVICE}), 5003)
        playground.request("DELETE", "/playground/faults")
        asked = len(recorder.to("/policies"))
        answer = connection.call(
            "preauthorize", {"provider": "policies", "session": session, "resources": ["https://app.example.com/open"]})
        assert answer["outcome"] == "failure" and answer["status"]["code"] == "access_token_unavailable"
        assert len(recorder.to("/policies")) == asked


def test_a_users_login_goes_to_no_other_access_manager_that_decides(
    start: Start, settings: Dict[str, Any], recorder: Recorder, playground: Playground, directory: Path
) -> None:
    evaluator = directory / "evaluator"
    evaluator.write_text("somebody")
    evaluator.chmod(0o600)
    settings["preauthorization"] = {
        "policies": {
            "kind": "access-manager", "baseUrl": recorder.base + "/am", "issuer": "am", "action": "GET",
            "cookieName": "playgroundSSO", "attempts": 1, "credentials": {"ssoTokenFile": str(evaluator)}}}
    with start(settings).connect() as connection:
        token = journeys.sign_on(playground, "alice")
        session = connection.call("createSession", {"issuer": "am", "grant": {"type": "sso", "ssoToken": token}})["session"]
        connection.call("preauthorize", {"provider": "policies", "session": session, "resources": ["https://app.example.com/"]})
    asked = [json.loads(request.body) for request in recorder.to("/policies")]
    assert asked and all(list(question["subject"]) == ["claims"] for question in asked)
    assert not any(token in str(vars(request)) for request in recorder.requests)


@pytest.mark.parametrize("extra, authorized", [({"error": {"code": "x"}}, False), ({"error": None}, True), ({}, True)])
def test_a_permit_that_comes_with_an_error_is_none(
    start: Start, settings: Dict[str, Any], recorder: Recorder, extra: Dict[str, Any], authorized: bool
) -> None:
    content = json.dumps({"result": {"a": {"allow": True, **extra}}}).encode()
    recorder.instead = lambda request: (200, {"Content-Type": "application/json"}, content)
    settings["preauthorization"] = {"rules": {"kind": "opa", "baseUrl": recorder.base, "path": "x/y", "attempts": 1}}
    with start(settings).connect() as connection:
        answer = connection.call(
            "preauthorize", {"provider": "rules", "resources": ["a", "b"], "context": {"subject": {"id": "u"}}})
    decision = answer["decisions"][0]
    assert decision["authorized"] is authorized
    assert authorized or decision["error"]["code"] == "server_response_format_unknown"
