"""Delegates and step-up: the sidecar asks, plain callables answer."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from double import Double, Peer, obliging
from harness import journeys
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually
from loop import in_loop

import postern_auth
from postern_auth import (
    AdviceReceived,
    AnsweredRequest,
    AsyncClient,
    Client,
    Limits,
    RequestChange,
    RequestToUpdate,
    delegates,
)

PASSWORD = {"PasswordCallback": "alice-password", "ConfirmationCallback": "Yes"}


def test_step_up_by_hand(client: Client, session: str) -> None:
    with pytest.raises(postern_auth.AdviceRequired) as raised:
        client.fetch_resource("gate", "service/pay", method="POST", body="10 coins", session=session)
    error = raised.value
    assert error.advice is not None
    assert error.advice.type == "AuthenticateToServiceConditionAdvice"
    assert error.advices == [error.advice]
    assert error.response is not None
    assert error.response.status == 401
    assert error.continuation
    assert error.expires_at is not None
    assert error.continuation not in str(error)
    step = client.authenticate_with_advice(continuation=error.continuation)
    assert step.state == "callbacks"
    assert step.continuation
    with pytest.raises(ValueError, match="values"):
        step.filled(1, 2, 3, 4)
    step = client.authenticate_with_advice(continuation=step.continuation, callbacks=step.filled("alice-password"))
    assert step.state == "completed"
    assert step.session_upgraded
    result = client.fetch_resource(continuation=error.continuation)
    assert result.ok
    assert result.advices_satisfied == [error.advice]
    assert result.json()["body"] == "10 coins"


def test_a_delegate_steps_up_while_the_fetch_waits(client: Client, session: str) -> None:
    asked: list[AdviceReceived] = []

    def step_up(request: AdviceReceived) -> bool:
        asked.append(request)
        return client.authenticate_with_advice(continuation=request.continuation, answers=PASSWORD).state == "completed"

    names = client.register_delegate(on_policy_advice_received=step_up)
    assert names == ["delegate.onPolicyAdviceReceived"]
    result = client.fetch_resource("gate", "service/pay", session=session)
    assert result.ok
    assert len(result.advices_satisfied) == 1
    assert asked[0].session == session
    assert session not in repr(asked[0])


def test_a_delegate_of_nobody_names_the_session_of_the_login() -> None:
    params: dict[str, Any] = {"task": "t", "session": None, "advices": []}
    request = AdviceReceived.from_json(params)
    assert (request.session, request.continuation) == (None, None)
    answers = [
        delegates.answered(1, "delegate.onPolicyAdviceReceived", value)["result"] for value in ("ps1.x", True, None)
    ]
    assert answers == [{"satisfied": True, "session": "ps1.x"}, {"satisfied": True}, {"satisfied": False}]


def test_a_delegate_that_declines(client: Client, session: str) -> None:
    client.register_delegate(on_policy_advice_received=lambda _: False)
    with pytest.raises(postern_auth.AdviceFailed):
        client.fetch_resource("gate", "service/pay", session=session)


def test_a_delegate_that_raises_leaves_it_to_the_sidecar(
    client: Client, session: str, caplog: pytest.LogCaptureFixture
) -> None:
    client.register_delegate(on_policy_advice_received=lambda _: 1 / 0)  # type: ignore[arg-type, return-value]
    with caplog.at_level(logging.ERROR, "postern_auth"), pytest.raises(postern_auth.AdviceRequired):
        client.fetch_resource("gate", "service/pay", session=session)
    assert "ZeroDivisionError" in caplog.text


def test_all_four_delegates(client: Client, session: str) -> None:
    seen: list[str] = []

    def evaluate(answer: AnsweredRequest) -> list[dict[str, Any]]:
        seen.append("evaluate")
        if answer.status != 401:
            return []
        found = client.parse_advice(answer.status, answer.headers, body=answer.body)
        return [advice.to_json() for advice in found.advices]

    def update(request: RequestToUpdate) -> RequestChange:
        seen.append("update")
        assert request.tx_id
        assert request.method == "POST"
        return RequestChange(url=f"{request.url}?_txid={request.tx_id}", headers={"X-Updated": "yes"})

    def step_up(request: AdviceReceived) -> bool:
        seen.append("step up")
        client.authenticate_with_advice(continuation=request.continuation, answers=PASSWORD)
        return True

    client.register_delegate(
        on_policy_advice_received=step_up,
        evaluate_authorization_policy=evaluate,
        update_request=update,
        evaluate_token_refresh=lambda answer: bool(seen.append("refresh")),  # type: ignore[func-returns-value]
    )
    result = client.fetch_resource("gate", "transaction/pay", method="POST", body="x", session=session)
    assert result.ok
    assert result.json()["headers"]["x-updated"] == ["yes"]
    assert {"evaluate", "update", "step up"} <= set(seen)


def test_tokens_are_refreshed_when_a_delegate_says_so(client: Client) -> None:
    client.register_delegate(evaluate_token_refresh=lambda answer: answer.status == 418)
    assert client.fetch_resource("orders", "status/418").token_refreshed
    client.register_delegate()
    assert not client.fetch_resource("orders", "status/418").token_refreshed


def test_registrations_are_kept_over_reconnections(double: Double) -> None:
    heard: list[dict[str, Any]] = []

    def once(peer: Peer) -> None:
        message = peer.receive()
        peer.answer(message, {"registered": message["params"]["methods"]})

    def then(peer: Peer) -> None:
        for message in peer.messages():
            heard.append(message)
            peer.answer(message, {"registered": []})

    double.scripts = [once, then]
    with Client(double.path) as client:
        client.register_delegate(evaluate_token_refresh=lambda _: True)
        eventually(lambda: client._here.connection is None or not client._here.connection.is_open)
        client.call("getInfo")
    assert [message["method"] for message in heard] == ["registerDelegate", "getInfo"]


def asked(peer: Peer, method: str, params: dict[str, Any], times: int = 1) -> list[dict[str, Any]]:
    """Registers the caller and asks it; gives its answers."""
    message = peer.receive()
    peer.answer(message, {"registered": message["params"]["methods"]})
    for number in range(times):
        peer.send({"jsonrpc": "2.0", "id": f"postern-{number}", "method": method, "params": params})
    return [peer.receive() for _ in range(times)]


ANSWERED = {"task": "t", "status": 401, "headers": {}}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("delegate.updateRequest", {}, -32601),
        ("delegate.ofANewerSidecar", {}, -32601),
        ("delegate.evaluateTokenRefresh", {"task": "t"}, -32603),
    ],
)
def test_questions_that_cannot_be_answered(double: Double, method: str, params: dict[str, Any], code: int) -> None:
    answers: list[dict[str, Any]] = []
    double.scripts = [lambda peer: answers.extend(asked(peer, method, params))]
    with Client(double.path) as client:
        client.register_delegate(evaluate_token_refresh=lambda _: True)
        eventually(lambda: answers)
    assert answers[0]["error"]["code"] == code
    assert answers[0]["id"] == "postern-0"


def test_delegate_calls_are_bounded(double: Double) -> None:
    refused: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    release = threading.Event()

    def script(peer: Peer) -> None:
        message = peer.receive()
        peer.answer(message, {"registered": message["params"]["methods"]})
        for number in range(40):
            peer.send({"jsonrpc": "2.0", "id": number, "method": "delegate.evaluateTokenRefresh", "params": ANSWERED})
        refused.extend(peer.receive() for _ in range(8))  # the others wait
        release.set()
        answers.extend(peer.receive() for _ in range(32))

    double.scripts = [script]
    with Client(double.path) as client:
        client.register_delegate(evaluate_token_refresh=lambda _: release.wait(20))
        eventually(lambda: len(answers) == 32, 20)
    assert [answer["error"]["code"] for answer in refused] == [-32009] * 8
    assert all(answer["result"] == {"refresh": True} for answer in answers)


def test_an_answer_that_comes_too_late_is_dropped(double: Double, caplog: pytest.LogCaptureFixture) -> None:
    double.scripts = [lambda peer: asked(peer, "delegate.evaluateTokenRefresh", ANSWERED)]
    done = threading.Event()

    def late(_: AnsweredRequest) -> bool:
        done.set()
        return True

    with Client(double.path) as client, caplog.at_level(logging.WARNING, "postern_auth"):
        client._dispatch.delegate_seconds = 0.0
        client.register_delegate(evaluate_token_refresh=late)
        assert done.wait(5)
        eventually(lambda: "has decided" in caplog.text)


@in_loop
async def test_asynchronous_delegates(sidecar: Sidecar, playground: Playground) -> None:
    async with AsyncClient(sidecar.path) as client:
        grant = {"type": "sso", "ssoToken": journeys.sign_on(playground)}
        session = (await client.create_session("am", grant)).session

        async def step_up(request: AdviceReceived) -> bool:
            step = await client.authenticate_with_advice(continuation=request.continuation, answers=PASSWORD)
            return step.state == "completed"

        await client.register_delegate(
            on_policy_advice_received=step_up, evaluate_token_refresh=lambda answer: answer.status == 418
        )
        assert (await client.fetch_resource("gate", "service/pay", session=session)).ok
        assert (await client.fetch_resource("orders", "status/418")).token_refreshed

        async def fail(_: AdviceReceived) -> bool:
            raise RuntimeError("no")

        session = (await client.create_session("am", {**grant, "ssoToken": journeys.sign_on(playground)})).session
        await client.register_delegate(on_policy_advice_received=fail)
        with pytest.raises(postern_auth.AdviceRequired):
            await client.fetch_resource("gate", "service/pay", session=session)


@in_loop
async def test_asynchronous_delegates_have_a_deadline(double: Double) -> None:
    answers: list[dict[str, Any]] = []
    double.scripts = [lambda peer: answers.extend(asked(peer, "delegate.evaluateTokenRefresh", ANSWERED)), obliging]

    async def late(_: AnsweredRequest) -> bool:
        await asyncio.sleep(30)
        return True

    async with AsyncClient(double.path, limits=Limits(reconnect=1)) as client:
        client._dispatch.delegate_seconds = 0.1
        await client.register_delegate(evaluate_token_refresh=late)
        for _ in range(1000):
            if answers:
                break
            await asyncio.sleep(0.005)
    assert answers[0]["error"]["code"] == -32603


QUESTION = b'{"jsonrpc":"2.0","id":"q%d","method":"delegate.ofANewerOne","params":{}}\n'
MANY = 300_000


def asking(peer: Peer) -> None:
    """Asks and asks, and takes no answer."""
    peer.receive()
    for number in range(0, MANY, 100):
        peer.socket.sendall(b"".join(QUESTION % one for one in range(number, number + 100)))
    ended.append("asked all")


def curious(peer: Peer) -> None:
    """Asks as often, and takes every answer."""
    message = peer.receive()
    for number in range(0, 30_000, 100):
        peer.socket.sendall(b"".join(QUESTION % one for one in range(number, number + 100)))
        for _ in range(100):
            assert peer.receive()["error"]["code"] == -32601
    peer.answer(message, "done")
    peer.receive()


ended: list[str] = []


def test_a_sidecar_that_takes_no_answer_is_left(directory: Path) -> None:
    """Catches answers that pile up until the memory is full."""
    ended.clear()
    double = Double(directory / "asking.sock", asking)
    with Client(double.path) as client, pytest.raises(postern_auth.ProtocolViolation) as raised:
        client.call("createSession", timeout=30)
    assert raised.value.outcome == "unknown"
    eventually(lambda: double.ended == 1)
    assert not ended, "all questions were taken"
    double.stop()


@in_loop
async def test_an_asynchronous_client_leaves_it_too(directory: Path) -> None:
    ended.clear()
    double = Double(directory / "asking.sock", asking)
    async with AsyncClient(double.path) as client:
        with pytest.raises(postern_auth.ProtocolViolation) as raised:
            await client.call("createSession", timeout=30)
    assert raised.value.outcome == "unknown"
    assert not ended, "all questions were taken"
    double.stop()


def test_a_sidecar_that_takes_the_answers_may_ask_on(directory: Path) -> None:
    double = Double(directory / "curious.sock", curious, curious)
    with Client(double.path) as client:
        assert client.call("getInfo", timeout=50) == "done"

    async def call() -> Any:
        async with AsyncClient(double.path) as client:
            return await client.call("getInfo", timeout=50)

    assert asyncio.run(call()) == "done"
    double.stop()
