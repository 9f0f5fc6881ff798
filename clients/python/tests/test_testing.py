"""Fakes in the place of clients: answers, errors by reason, sessions, step-up, streams, events, and the fixtures."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

import postern_auth
from postern_auth import AsyncClient, Client, FetchResult, errors
from postern_auth.testing import AsyncFakePostern, FakePostern, InvalidAnswer, UnexpectedCall

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.fixture
def fake() -> FakePostern:
    return FakePostern()


def titles(client: Client, session: str | None = None) -> list[str]:
    """Code under test."""
    response = client.fetch_resource("orders", "orders", session=session)
    return [order["item"] for order in response.raise_for_status().json()["orders"]]


def test_a_result(fake: FakePostern) -> None:
    orders = fake.when.fetch_resource("orders").returns(FetchResult.of(200, json={"orders": [{"item": "tea"}]}))
    assert titles(fake) == ["tea"]
    [call] = orders.calls
    assert (call.method, call.params["path"], call.timeout, call.error) == ("fetchResource", "orders", 60.0, None)
    assert fake.calls == [call]
    orders.assert_called(1)
    with pytest.raises(AssertionError, match="was called 1 times, not 2 times"):
        orders.assert_called(2)


def test_results_by_their_kind_of_body() -> None:
    assert FetchResult.of(json=[1]).headers["Content-Type"] == "application/json"
    assert FetchResult.of(text="é").text == "é" and FetchResult.of(text="é").content == "é".encode()
    assert FetchResult.of(content=b"\xff").content == b"\xff"
    assert FetchResult.of(204).content == b""
    assert FetchResult.of(503, retry_after=2, headers={"X-A": ["1", "2"]}).retry_after_ms == 2000
    with pytest.raises(errors.StatusError):
        FetchResult.of(404).raise_for_status()
    with pytest.raises(TypeError, match="exclude each other"):
        FetchResult.of(json=1, text="x")


def test_answers_follow_one_another_and_the_last_one_stays(fake: FakePostern) -> None:
    fake.when.fetch_resource("orders").fails("overloaded", retry_after=0.5).returns(
        FetchResult.of(201), FetchResult.of(202)
    )
    with pytest.raises(errors.Unavailable) as raised:
        fake.fetch_resource("orders")
    assert (raised.value.reason, raised.value.retryable, raised.value.retry_after) == ("overloaded", True, 0.5)
    assert [fake.fetch_resource("orders").status for _ in range(3)] == [201, 202, 202]


def test_the_last_expectation_that_describes_a_call_answers_it(fake: FakePostern) -> None:
    fake.when.fetch_resource().returns(FetchResult.of(200))
    fake.when.fetch_resource("orders", method="POST").returns(FetchResult.of(201))
    assert fake.fetch_resource("orders", "x").status == 200
    assert fake.fetch_resource("orders", "x", method="post").status == 201


def test_calls_are_described_by_their_arguments(fake: FakePostern) -> None:
    fake.when.fetch_resource("orders", "a", params={"y": 1}).returns(FetchResult.of(201))
    fake.when.fetch_resource("orders", "b", headers={"X-Kind": "1"}).returns(FetchResult.of(202))
    fake.when.fetch_resource("orders", "c", method="POST", json={"b": 1, "a": [2]}).returns(FetchResult.of(203))
    assert fake.fetch_resource("orders", "a?y=1").status == 201
    assert fake.fetch_resource("orders", "b", headers={"x-kind": ["1"], "other": "2"}).status == 202
    assert fake.fetch_resource("orders", "c", method="POST", data=b'{"a":[2], "b":1}').status == 203
    assert fake.calls[-1].json() == {"a": [2], "b": 1}
    assert fake.calls[1].header("X-KIND") == "1" and fake.calls[0].query == {"y": ["1"]}
    for wrong in ({"path": "a?y=2"}, {"path": "b"}, {"path": "c", "method": "POST", "json": {"a": 1}}):
        with pytest.raises(UnexpectedCall):
            fake.fetch_resource("orders", **wrong)


def test_a_function_answers(fake: FakePostern) -> None:
    fake.when.fetch_resource().answers(lambda call: FetchResult.of(json=call.params["path"]))
    assert fake.fetch_resource("orders", "x/y").json() == "x/y"
    fake.when.fetch_resource().answers(lambda call: errors.ConnectionLost("gone"))
    with pytest.raises(errors.ConnectionLost):
        fake.fetch_resource("orders")


def test_an_unexpected_call_names_what_to_set_up(fake: FakePostern) -> None:
    """A message that shows a secret, or an error that a program catches as one of the sidecar's."""
    fake.when.fetch_resource("other").returns(FetchResult.of(200))
    session = fake.add_session("alice")
    with pytest.raises(UnexpectedCall) as raised:
        fake.fetch_resource("orders", "x?key=hidden", session=session, headers={"X-Key": "hidden"})
    text = str(raised.value)
    assert "fake.when.fetch_resource(resource='orders', path='x').returns(…)" in text
    assert "fetch_resource(resource='other')" in text
    assert "hidden" not in text and session not in text
    assert not isinstance(raised.value, postern_auth.PosternError)
    with pytest.raises(UnexpectedCall):
        fake.assert_nothing_unexpected()
    with pytest.raises(UnexpectedCall, match=r"log_in_as\(\"alice\"\)"):
        fake.begin_authorization("corp")


def test_answers_that_the_sidecar_never_gives_are_rejected(fake: FakePostern) -> None:
    with pytest.raises(InvalidAnswer, match="/state is not one of callbacks"):
        fake.when.authenticate().returns({"state": "done"})
    with pytest.raises(InvalidAnswer, match="/scope is missing"):
        fake.when.get_session().returns({"session": "s", "issuer": "i", "kind": "user"})
    with pytest.raises(
        InvalidAnswer, match=r"get_session never fails with 'tls_failure', but with: .*session_not_found"
    ):
        fake.when.get_session().fails("tls_failure")


def test_params_that_the_sidecar_rejects_are_rejected(fake: FakePostern) -> None:
    fake.when.fetch_resource().returns(FetchResult.of(200))
    with pytest.raises(errors.RequestError) as raised:
        fake.fetch_resource("orders", auth="nobody")  # type: ignore[arg-type]
    assert (raised.value.code, raised.value.reason, raised.value.path) == (-32602, "invalid_params", "/auth")
    with pytest.raises(errors.RequestError) as unknown:
        fake.call("noSuchMethod")
    assert unknown.value.reason == "method_not_found"


def test_errors_of_the_client_itself(fake: FakePostern) -> None:
    fake.when.health().fails("connection_failed")
    with pytest.raises(errors.ConnectionFailed):
        fake.health()
    fake.close()
    with pytest.raises(errors.ClientClosed):
        fake.health()


def test_users(fake: FakePostern) -> None:
    fake.require_login("mine")
    fake.when.fetch_resource("mine").returns(FetchResult.of(json="of alice"))
    for session in (None, ""):
        with pytest.raises(errors.LoginRequired) as nobody:
            fake.fetch_resource("mine", session=session)
        assert (nobody.value.reason, nobody.value.detail) == ("not_authenticated", "session_missing")
    alice, bob = fake.add_session("alice", issuer="corp"), fake.add_session("bob")
    assert fake.fetch_resource("mine", session=alice).json() == "of alice"
    assert [one.subject for one in fake.iter_sessions(limit=1)] == ["alice", "bob"]
    assert fake.get_session(alice).issuer == "corp"
    assert fake.end_session(bob).ended and [one.subject for one in fake.sessions] == ["alice"]
    assert fake.fetch_resource("mine", session="only").status == 200
    with pytest.raises(errors.LoginRequired) as ended:
        fake.fetch_resource("mine", session=bob)
    assert ended.value.reason == "session_not_found"


def test_a_session_that_has_expired(fake: FakePostern) -> None:
    fake.when.fetch_resource("mine").returns(FetchResult.of(200))
    alice = fake.add_session("alice")
    assert fake.fetch_resource("mine", session=alice).status == 200
    fake.expire_session(alice)
    with pytest.raises(errors.LoginRequired) as fetched:
        fake.fetch_resource("mine", session=alice)
    assert fetched.value.reason == "not_authenticated"
    with pytest.raises(errors.LoginRequired) as refreshed:
        fake.refresh_session(alice)
    assert refreshed.value.reason == "session_expired"
    assert fake.end_session(alice).ended


def test_a_login(fake: FakePostern) -> None:
    fake.log_in_as("alice")
    login = fake.begin_authorization("corp", "http://127.0.0.1/callback")
    assert login.cookie and login.cookie.startswith("postern-login=")
    with pytest.raises(errors.SessionError) as other:
        fake.complete_authorization(f"http://127.0.0.1/callback?code=1&state={login.state}", "another")
    assert (other.value.reason, other.value.detail) == ("authorization_failed", "state_mismatch")
    before = fake.add_session("alice")
    back = fake.callback_url(login.authorization_url)
    assert back.startswith("http://127.0.0.1/callback?code=")
    user = fake.complete_authorization(back, login.state, replaces=before)
    with pytest.raises(ValueError, match="a login that has begun, and is not over"):
        fake.callback_url(login.authorization_url)
    assert (user.subject, user.issuer, len(user.session)) == ("alice", "corp", 43)
    assert [one.session for one in fake.sessions] == [user.session]
    device = fake.begin_device_authorization("corp")
    assert fake.complete_device_authorization(device.handle).subject == "alice"
    fake.when.create_session("corp").logs_in("carol")
    assert fake.create_session("corp", postern_auth.Grant.from_sso_token("t")).subject == "carol"


def test_step_up_with_a_continuation(fake: FakePostern) -> None:
    alice = fake.add_session("alice")
    callback = {"type": "PasswordCallback", "input": [{"name": "IDToken1", "value": ""}]}
    fake.when.fetch_resource("bank").requires_step_up(callbacks=[callback]).returns(FetchResult.of(json="paid"))
    with pytest.raises(errors.AdviceRequired) as raised:
        fake.fetch_resource("bank", "pay", session=alice)
    needed = raised.value
    assert needed.continuation and needed.expires_at and needed.advice and needed.advices == [needed.advice]
    step = fake.authenticate_with_advice(continuation=needed.continuation)
    assert step.state == "callbacks" and step.callbacks == [callback]
    with pytest.raises(errors.AuthenticationError):
        fake.authenticate_with_advice(continuation="x" * 43)
    before = step
    step = fake.authenticate_with_advice(continuation=before.continuation, callbacks=before.filled("secret"))
    with pytest.raises(errors.AuthenticationError):
        fake.authenticate_with_advice(continuation=before.continuation)  # it is good for one call
    assert (step.state, step.session, step.session_upgraded) == ("completed", alice, True)
    assert fake.fetch_resource(continuation=step.continuation).json() == "paid"


@pytest.mark.parametrize("satisfied", [True, False])
def test_step_up_with_a_delegate(fake: FakePostern, satisfied: bool) -> None:
    fake.when.fetch_resource("bank").requires_step_up().returns(FetchResult.of(json="paid"))
    asked: list[postern_auth.AdviceReceived] = []

    def step_up(request: postern_auth.AdviceReceived) -> bool:
        asked.append(request)
        return satisfied and fake.authenticate_with_advice(continuation=request.continuation).state == "completed"

    fake.register_delegate(on_policy_advice_received=step_up)
    if satisfied:
        assert fake.fetch_resource("bank", "pay").json() == "paid"
    else:
        with pytest.raises(errors.AdviceFailed):
            fake.fetch_resource("bank", "pay")
    assert len(asked) == 1 and asked[0].advices


def test_a_delegate_that_raises_leaves_the_decision_to_the_sidecar(fake: FakePostern) -> None:
    def raising(request: postern_auth.AdviceReceived) -> bool:
        raise OSError

    fake.when.fetch_resource().requires_step_up()
    fake.register_delegate(on_policy_advice_received=raising)
    with pytest.raises(errors.AdviceRequired):
        fake.fetch_resource("bank")


def test_streams_and_files(fake: FakePostern, tmp_path: Path) -> None:
    fake.when.fetch_resource("open").returns(FetchResult.of(content=b"x" * 100_000))
    with fake.stream_resource("open", "big", task="mine") as stream:
        assert stream.head.status == 200 and stream.read(10) == b"x" * 10
        assert len(stream.readall()) == 99_990 and stream.result.task == "mine"
    written = fake.fetch_resource("open", body_to=tmp_path / "f")
    assert written.body_bytes == 100_000 and (tmp_path / "f").read_bytes() == b"x" * 100_000 and not written.content
    fake.when.fetch_resource("open").fails("server_unreachable")
    with fake.stream_resource("open") as stream, pytest.raises(errors.FetchError):
        stream.read()
    with pytest.raises(UnexpectedCall):
        fake.stream_resource("other")


def pieces() -> Iterator[bytes]:
    yield b"a" * 300_000
    yield b"b"


@pytest.mark.parametrize("body", [pieces, lambda: io.BytesIO(b"a" * 300_000 + b"b"), lambda: b"a" * 300_000 + b"b"])
def test_bodies_of_any_form(fake: FakePostern, body: Any) -> None:
    fake.when.fetch_resource().returns(FetchResult.of(200))
    fake.fetch_resource("open", method="POST", body=body())
    assert fake.calls[0].body == b"a" * 300_000 + b"b"


def test_events_endpoints_and_started_calls(fake: FakePostern) -> None:
    with fake.events("sessionEnded") as events:
        fake.emit("event.keysRotated", issuer="corp")
        fake.emit("event.sessionEnded", session="s")
        event = events.get(timeout=1)
        assert event is not None and (event.name, event.session) == ("event.sessionEnded", "s")
    fake.when.create_endpoint().returns({"endpoint": "e", "path": "/run/e"})
    fake.when.revoke_endpoint("e").returns({"revoked": 1})
    with fake.endpoint(resources=["orders"]) as endpoint:
        assert endpoint.path == "/run/e"
    assert fake.start("health").result()["status"] == "ok"


def test_what_was_set_up_and_never_called(fake: FakePostern) -> None:
    fake.when.fetch_resource("orders").returns(FetchResult.of(200))
    with pytest.raises(AssertionError, match=r"never called: fetch_resource\(resource='orders'\)"):
        fake.assert_all_called()
    fake.fetch_resource("orders")
    fake.assert_all_called()


def test_the_adapters_take_a_fake(fake: FakePostern) -> None:
    import httpx
    import requests

    from postern_auth.httpx import PosternTransport
    from postern_auth.requests import PosternAdapter

    fake.when.fetch_resource("orders", "x").returns(FetchResult.of(json=[1]))
    with httpx.Client(transport=PosternTransport(fake)) as http:
        assert http.get("http+postern://orders/x").json() == [1]
    session = requests.Session()
    session.mount("http+postern://", PosternAdapter(fake))
    assert session.get("http+postern://orders/x").json() == [1]


def test_the_asynchronous_fake() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    async def step_up(request: postern_auth.AdviceReceived) -> bool:
        await asyncio.sleep(0)
        return True

    async def program(client: AsyncClient, fake: AsyncFakePostern) -> None:
        fake.when.fetch_resource("bank").requires_step_up().returns(FetchResult.of(json="paid"))
        await client.register_delegate(on_policy_advice_received=step_up)
        assert (await client.fetch_resource("bank", method="POST", body=parts())).json() == "paid"
        assert fake.calls[-1].body == b"ab"
        async with client.stream_resource("bank") as stream:
            assert (await stream.head()).status == 200 and await stream.read() == b'"paid"'
        async with client.events("sessionEnded") as events:
            fake.emit("event.sessionEnded", session="s")
            event = await events.get(timeout=1)
            assert event is not None and event.session == "s"
        with pytest.raises(UnexpectedCall):
            await client.get_info()

    async def main() -> None:
        async with AsyncFakePostern() as fake:
            await program(fake, fake)

    asyncio.run(main())


def test_the_fixtures(tmp_path: Path) -> None:
    """A plugin that pytest does not find, or that misses the call of a program that caught the error."""
    (tmp_path / "test_it.py").write_text(
        """
import pytest
from postern_auth import FetchResult

def test_good(postern):
    postern.when.fetch_resource("orders").returns(FetchResult.of(json=[]))
    assert postern.fetch_resource("orders").json() == []

def test_caught(postern):
    try:
        postern.fetch_resource("orders")
    except BaseException:
        pass

def test_bad(postern):
    postern.fetch_resource("orders")

def test_async(async_postern):
    assert async_postern.calls == []
"""
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "postern_auth.pytest_plugin", "-p", "no:cacheprovider", "."]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src")}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert "1 failed, 3 passed, 1 error" in done.stdout, done.stdout
    assert "ERROR test_it.py::test_caught" in done.stdout and "FAILED test_it.py::test_bad" in done.stdout


def test_the_tests_of_the_example_with_uploads() -> None:
    """An example whose own tests fail, or leave a warning. mypy and pyright check it with the client."""
    example = PACKAGE.parents[1] / "examples" / "flaskuploads"
    options = ["-q", "-W", "error", "-p", "postern_auth.pytest_plugin", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", *options, "."]
    done = subprocess.run(
        command, cwd=example, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout
