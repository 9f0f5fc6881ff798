"""The fake and the binary: one conversation with every method, and the same rejections of wrong params."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Callable

import pytest
import test_methods
from harness import journeys
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.signing import SigningKey

import postern_auth
from postern_auth import Client, FetchResult, PosternError
from postern_auth._schema import document, methods, params_violation
from postern_auth.testing import FakePostern


class Recorder(Client):
    """A client that keeps what was said."""

    said: list[tuple[str, dict[str, Any], Any]]

    def call(self, method: str, params: Mapping[str, Any] | None = None, **named: Any) -> Any:
        own = json.loads(json.dumps(dict(params or {})))
        try:
            answer = super().call(method, params, **named)
        except PosternError as error:
            self.said.append((method, own, error))
            raise
        self.said.append((method, own, answer))
        return answer


def conversation(client: Recorder, playground: Playground, key: SigningKey) -> list[tuple[str, dict[str, Any], Any]]:
    """Calls every method of the real sidecar."""
    client.said = []
    test_methods.test_control(client)
    test_methods.test_id_tokens(client, key)
    test_methods.test_access_tokens(client, key)
    test_methods.test_logout_tokens(client, key)
    test_methods.test_introspection_and_revocation(client, playground)
    test_methods.test_signatures_and_encryption(client)
    test_methods.test_logins_with_a_browser_and_on_a_device(client)
    test_methods.test_sessions(client, playground)
    test_methods.test_advice_and_logins_step_by_step(client, playground)
    test_methods.test_fetches_and_tasks(client)
    client.register_delegate()
    client.preauthorize(["a"], provider="none")
    client.invalidate_decisions()
    bearer = {"authorization": "Bearer e30.e30.e30"}
    client.validate_request("GET", "https://api.example.com/", bearer, issuer="play", audience="api")
    endpoint = client.create_endpoint(resources=["orders"], bind_to="connection").endpoint
    client.list_endpoints()
    client.revoke_endpoint(endpoint)
    client.explain_call("fetchResource", params={"resource": "orders", "path": "orders"})
    with pytest.raises(PosternError):
        client.fetch_resource("mine", "orders")
    client.narrow(resources=["open", "orders"])
    return client.said


@pytest.fixture
def recorder(sidecar: Sidecar) -> Iterator[Recorder]:
    with Recorder(sidecar.path, timeout=20) as client:
        yield client


def test_every_method_has_the_same_answers(
    recorder: Recorder,
    playground: Playground,
    start: Callable[..., Sidecar],
    directory: Path,
) -> None:
    """A result that the fake takes for impossible, or returns in another shape; an error of another class."""
    said = conversation(recorder, playground, SigningKey("RS256", "rsa-1"))
    television = test_methods.television_sidecar(start, directory, playground)
    with Recorder(television.path, timeout=20) as client:
        client.said = said
        test_methods.test_a_login_at_adobe_pass(client, playground)
    # The client ends calls with this one, which has no answer.
    assert {method for method, _, _ in said} | {"$/cancelRequest"} == set(methods())
    replay(said)


def replay(said: list[tuple[str, dict[str, Any], Any]]) -> None:
    for method, params, answer in said:
        fake = FakePostern()
        own = {name: value for name, value in params.items() if name != "meta"}
        expectation = fake._core.expect(method, own, lambda value: value)
        if isinstance(answer, PosternError):
            expectation.fails(answer.reason, answer.message, data=answer.data)
            with pytest.raises(type(answer)) as raised:
                fake.call(method, params)
            assert (raised.value.code, raised.value.reason) == (answer.code, answer.reason)
            assert raised.value.data == {"retryable": raised.value.retryable, **answer.data}
        else:
            expectation.returns(answer)
            assert fake.call(method, params) == answer
        assert len(expectation.calls) == 1


#: A value of another type than each.
WRONG = {"string": 1, "integer": "x", "number": "x", "boolean": "x", "array": "x", "object": "x"}


def wrong_params() -> list[Any]:
    """For each method: without what is required, with an unknown param, and with each param of another type."""
    cases: list[Any] = []
    for name, method in methods().items():
        if name == "$/cancelRequest":
            continue
        required = [one for one in method["params"] if one.get("required")]
        whole = {one["name"]: valid(one["schema"]) for one in required}
        cases.append((name, {**whole, "unknownParam": 1}))
        cases.append((name, {"unknownParam": 1}))
        cases += [(name, {k: v for k, v in whole.items() if k != one["name"]}) for one in required]
        for one in method["params"]:
            kind = one["schema"].get("type")
            if kind in WRONG:
                cases.append((name, {**whole, one["name"]: WRONG[kind]}))
            if "enum" in one["schema"]:
                cases.append((name, {**whole, one["name"]: "noSuchValue"}))
            if kind == "object" and one["schema"].get("properties"):
                cases.append((name, {**whole, one["name"]: {"unknownMember": 1}}))
            if kind == "array" and one["schema"].get("items", {}).get("type") in WRONG:
                cases.append((name, {**whole, one["name"]: [WRONG[one["schema"]["items"]["type"]]]}))
    return [
        pytest.param(name, params, id=f"{name}-{'-'.join(params)}-{number}")
        for number, (name, params) in enumerate(cases)
    ]


def valid(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [valid(schema["items"])] if schema.get("items") else []
    if schema.get("type") == "object":
        return {one: valid(schema["properties"][one]) for one in schema.get("required", ())}
    return {"string": "x", "integer": 1, "number": 1, "boolean": True}.get(str(schema.get("type")), "x")


@pytest.mark.parametrize(("method", "params"), wrong_params())
def test_wrong_params_are_rejected_alike(client: Client, method: str, params: dict[str, Any]) -> None:
    """A wrong param that the fake lets through, or rejects for another reason or at another path."""
    assert params_violation(method, params) is not None
    with pytest.raises(PosternError) as real:
        client.call(method, params)
    with pytest.raises(PosternError) as faked:
        FakePostern().call(method, params)
    assert (faked.value.code, faked.value.reason, faked.value.path) == (
        real.value.code,
        real.value.reason,
        real.value.path,
    )


@pytest.fixture(params=["binary", "fake"])
def either(request: pytest.FixtureRequest, sidecar: Sidecar) -> Iterator[Client]:
    """The real sidecar, or a fake with the same resources and users."""
    if request.param == "binary":
        with Client(sidecar.path, timeout=20) as client:
            yield client
        return
    fake = FakePostern()
    fake.log_in_as("alice")
    fake.require_login("mine", "gate")
    fake.when.fetch_resource("gate", "service/pay").requires_step_up().returns(FetchResult.of(200, json={}))
    yield fake


def ended(call: Callable[[], object]) -> tuple[str, int, str, str | None, str | None, bool]:
    with pytest.raises(PosternError) as raised:
        call()
    error = raised.value
    return type(error).__name__, error.code, error.reason, error.outcome, error.detail, error.retryable


def test_sessions_live_alike(either: Client, playground: Playground) -> None:
    assert ended(lambda: either.fetch_resource("mine", "orders")) == (
        "LoginRequired", 1001, "not_authenticated", "not_sent", "session_missing", False,
    )  # fmt: skip
    unknown = "x" * 43
    assert ended(lambda: either.fetch_resource("mine", "orders", session=unknown)) == (
        "LoginRequired", 5001, "session_not_found", None, None, False,
    )  # fmt: skip
    session = either.create_session("am", postern_auth.Grant.from_sso_token(journeys.sign_on(playground))).session
    assert len(session) == 43
    assert either.get_session(session).session == session
    assert [one.session for one in either.iter_sessions(limit=1)].count(session) == 1
    assert either.refresh_session(session).session == session
    assert either.end_session(session).ended
    for call in (either.get_session, either.refresh_session, either.end_session):
        found = ended(lambda call=call: call(session))  # type: ignore[misc]
        assert found == ("LoginRequired", 5001, "session_not_found", None, None, False), call


def test_logins_begin_and_end_alike(either: Client) -> None:
    login = either.begin_authorization("am", "http://127.0.0.1:8765/callback")
    assert login.cookie and login.cookie.startswith(f"postern-login={login.state};") and login.redirect_uri is None
    other = "http://127.0.0.1:8765/callback?code=c&state=none"
    assert ended(lambda: either.complete_authorization(other, "none"))[:3] == ("SessionError", 5006, "state_unknown")
    own = f"http://127.0.0.1:8765/callback?code=c&state={login.state}"
    assert ended(lambda: either.complete_authorization(own, "another"))[1:5] == (
        5005, "authorization_failed", None, "state_mismatch",
    )  # fmt: skip


def test_a_step_up_goes_alike(either: Client, playground: Playground) -> None:
    session = either.create_session("am", postern_auth.Grant.from_sso_token(journeys.sign_on(playground))).session
    with pytest.raises(postern_auth.AdviceRequired) as raised:
        either.fetch_resource("gate", "service/pay", session=session)
    needed = raised.value
    assert (needed.code, needed.reason, needed.outcome, needed.retryable) == (1017, "advice_required", "replied", False)
    assert needed.continuation and needed.expires_at and needed.advice == needed.advices[0]
    with pytest.raises(postern_auth.AdviceRequired) as early:
        either.fetch_resource(continuation=needed.continuation)
    continuation = early.value.continuation
    assert continuation and continuation != needed.continuation
    step = either.authenticate_with_advice(continuation=continuation)
    if step.state == "callbacks":  # a fake asks only what it was told to
        answers = {"PasswordCallback": "alice-password", "ConfirmationCallback": "Yes"}
        step = either.authenticate_with_advice(continuation=step.continuation, answers=answers)
    assert (step.state, step.session, step.session_upgraded) == ("completed", session, True)
    assert step.continuation == continuation
    assert either.fetch_resource(continuation=step.continuation).status == 200
    for call in (either.fetch_resource, either.authenticate_with_advice):
        found = ended(lambda call=call: call(continuation=continuation))  # type: ignore[misc]
        assert found[1:4] == (3002, "continuation_unknown", None)


def test_subscriptions_and_delegates_are_answered_alike(either: Client) -> None:
    assert either.subscribe(["event.keysRotated"]).subscribed == ["event.keysRotated"]
    assert either.unsubscribe(["event.keysRotated"]).subscribed == []
    names = either.register_delegate(evaluate_token_refresh=lambda request: True)
    assert names == ["delegate.evaluateTokenRefresh"]
    assert either.discover() == document()
