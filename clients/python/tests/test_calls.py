"""Calls of the blocking client to the real sidecar."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any, Callable

import pytest
from harness.sidecar import Sidecar
from harness.waiting import eventually

import postern_auth
from postern_auth import Client, Grant, Limits, Part


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_results_are_typed(client: Client, sidecar: Sidecar) -> None:
    info = client.get_info()
    assert info.name == "postern"
    assert info.pid == sidecar.process.pid
    assert info.libraries.curl
    assert timedelta(0) < datetime.now(timezone.utc) - info.started_at < timedelta(hours=1)
    assert client.health().checks["configuration"].status == "ok"
    assert "# TYPE" in client.metrics().text
    assert client.discover()["openrpc"].startswith("1.3")
    assert client.reload_config().changed == []
    assert client.call("getInfo")["name"] == "postern"


def test_a_resource_is_fetched_with_a_token_nobody_sees(client: Client) -> None:
    result = client.fetch_resource(
        "orders",
        "echo",
        method="post",
        parameters=MappingProxyType({"year": 2026, "tags": ["a", "ä"]}),
        headers={"X-One": "1", "X-Two": ["a", "b"]},
    )
    echo = result.json()
    assert result.ok
    assert result.status == 200
    assert result.url.endswith("/resource/echo")
    assert json.loads(echo["body"]) == {"year": 2026, "tags": ["a", "ä"]}
    assert echo["headers"]["x-two"] == ["a", "b"]
    assert result.headers["Content-Type"].startswith("application/json")
    assert result.attempts == 1
    assert result.timing.total_ms >= 0


@pytest.mark.parametrize("body", ["text ü", b"\x00\xff bytes"])
def test_bodies_are_text_or_bytes(client: Client, body: str | bytes) -> None:
    echo = client.fetch_resource("open", "echo", method="POST", body=body).json()
    length = len(body.encode() if isinstance(body, str) else body)
    assert echo["headers"]["content-length"] == [str(length)]
    assert isinstance(body, bytes) or echo["body"] == body
    assert client.fetch_resource("open", "bytes/600").content == bytes(i % 251 for i in range(600))


def test_files_are_sent(client: Client) -> None:
    parts: list[Part | dict[str, Any]] = [
        Part.of("note", "hello"),
        Part.of("file", b"\x00\x01", file_name="a.bin"),
        {"name": "raw", "data": "x"},
    ]
    echo = client.fetch_resource("open", "echo", method="POST", multipart=parts).json()
    assert echo["headers"]["content-type"][0].startswith("multipart/form-data")


def test_a_no_is_a_result(client: Client) -> None:
    result = client.fetch_resource("open", "status/403")
    assert result.status == 403
    assert not result.ok


@pytest.mark.parametrize(
    ("call", "kind", "reason", "path"),
    [
        (lambda c: c.fetch_resource("nowhere", "x"), postern_auth.RequestError, "invalid_params", "/resource"),
        (lambda c: c.call("noSuchMethod"), postern_auth.RequestError, "method_not_found", None),
        (lambda c: c.call("getInfo", {"typo": 1}), postern_auth.RequestError, "invalid_params", "/typo"),
        (lambda c: c.fetch_resource("open", "../x"), postern_auth.FetchError, "invalid_url", None),
        (
            lambda c: c.fetch_resource("mine", "echo", auth="implicit"),
            postern_auth.LoginRequired,
            "not_authenticated",
            None,
        ),
        (lambda c: c.get_task("none"), postern_auth.FetchError, "task_not_found", None),
        (lambda c: c.get_session("none"), postern_auth.LoginRequired, "session_not_found", None),
        (lambda c: c.validate_id_token("x", issuer="none"), postern_auth.ValidationUndecided, "issuer_unknown", None),
        (
            lambda c: c.authenticate_with_advice(continuation="none"),
            postern_auth.AuthenticationError,
            "continuation_unknown",
            None,
        ),
    ],
)
def test_errors_have_their_family_and_reason(
    client: Client, call: Callable[[Client], Any], kind: type[Exception], reason: str, path: str | None
) -> None:
    with pytest.raises(postern_auth.PosternError) as raised:
        call(client)
    error = raised.value
    assert type(error) is kind or (kind is postern_auth.FetchError and isinstance(error, kind))
    assert error.reason == reason
    assert error.code != 0
    assert path is None or error.path == path
    assert reason in str(error)


def test_a_refused_token_is_no_exception(client: Client) -> None:
    verdict = client.validate_id_token("not.a.token", issuer="play")
    assert not verdict.valid
    assert verdict.error is not None
    assert verdict.error.code == "malformed_token"
    assert verdict.claims is None


def test_sessions_come_and_go(client: Client, session: str) -> None:
    found = client.get_session(session)
    assert found.issuer == "am"
    assert found.kind == "user"
    assert found.created_at.tzinfo is not None
    assert session in [one.session for one in client.list_sessions().sessions]
    assert client.refresh_session(session).session == session
    token = client.get_access_token(issuer="am", session=session)
    assert token.token_type == "Bearer"
    assert token.access_token
    assert token.access_token not in repr(token) and session not in repr(found), "a secret in a repr"
    assert client.end_session(session).ended
    with pytest.raises(postern_auth.SessionError):
        client.refresh_session(session)


def test_grants_hide_what_they_hold() -> None:
    grants = [
        Grant.from_tokens(access_token="secret-1", refresh_token="secret-2"),
        Grant.from_refresh_token("secret-3"),
        Grant.from_sso_token("secret-4"),
        Grant.from_code("secret-5", "https://app.example/cb", code_verifier="secret-6"),
        Grant.from_assertion("secret-7"),
        Grant.from_exchange("secret-8"),
    ]
    assert "secret" not in repr(grants)
    assert grants[3].to_json()["type"] == "authorization_code"


def test_time_that_runs_out_is_told_by_the_sidecar(client: Client) -> None:
    for _ in range(5):  # the machine may pause for longer than the client waits for the sidecar's word
        begun = time.monotonic()
        with pytest.raises(postern_auth.DeadlineExceeded) as raised:
            client.fetch_resource("open", "slow?ms=20000", timeout=0.3)
        assert time.monotonic() - begun < 5
        if raised.value.code == -32022:
            break
    assert raised.value.code == -32022
    assert isinstance(raised.value, TimeoutError)
    assert client.get_info().name == "postern", "the connection goes on"


@pytest.mark.parametrize("timeout", [0, -1, math.nan])
def test_senseless_times_are_refused(client: Client, timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        client.get_info(timeout=timeout)


def test_no_bound_is_possible(client: Client) -> None:
    assert client.fetch_resource("open", "echo", timeout=math.inf).ok


def test_calls_are_pipelined_and_matched(client: Client) -> None:
    slowest = client.start("fetchResource", {"resource": "open", "path": "slow?ms=20000"})
    slow = client.start("fetchResource", {"resource": "open", "path": "slow?ms=200"})
    quick = [client.start("getInfo") for _ in range(20)]
    assert all(call.result()["name"] == "postern" for call in quick)
    assert not slowest.done()
    assert slow.result()["status"] == 200
    assert slow.done()
    slowest.cancel()


def test_threads_may_wait_for_the_same_call(client: Client) -> None:
    call = client.start("fetchResource", {"resource": "open", "path": "slow?ms=200"})
    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(call.result) for _ in range(4)]
        assert [one.result(10)["status"] for one in results] == [200] * 4


def test_a_call_can_be_cancelled(client: Client) -> None:
    call = client.start("fetchResource", {"resource": "open", "path": "slow?ms=20000"})
    call.cancel()
    with pytest.raises(postern_auth.Cancelled):
        call.result()
    call = client.start("fetchResource", {"resource": "open", "path": "slow?ms=20000"})
    client.cancel_request(call.identifier)
    with pytest.raises(postern_auth.Cancelled):
        call.result()


def test_threads_share_a_connection(client: Client) -> None:
    """Answers that go astray, and waiters that nobody wakes."""

    def ask(number: int) -> bool:
        if number % 7 == 0:
            return client.fetch_resource("open", f"slow?ms={number % 50}").ok
        echo = client.fetch_resource("open", f"echo?n={number}").json()
        return bool(echo["query"] == f"n={number}")

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(400)))


def test_one_waiter_reads_for_others_until_its_own_answer(client: Client) -> None:
    """A waiter whose leader has left: the leader's short call ends while the follower's long one is under way."""
    client.get_info()
    results: list[int] = []
    follower = threading.Thread(
        target=lambda: results.append(client.fetch_resource("open", "slow?ms=500", timeout=10).status)
    )
    leader = threading.Thread(
        target=lambda: results.append(client.fetch_resource("open", "slow?ms=150", timeout=10).status)
    )
    leader.start()
    follower.start()
    leader.join(10)
    follower.join(10)
    assert results == [200, 200]


def test_tasks_can_be_steered(client: Client) -> None:
    call = client.start("fetchResource", {"resource": "open", "path": "slow?ms=20000", "task": "steered"})
    eventually(lambda: [task for task in client.iter_tasks(limit=1000) if task.task == "steered"])
    assert client.suspend_task("steered").state == "suspended"
    assert client.resume_task("steered").state == "running"
    assert client.cancel_task("steered").state == "cancelled"
    with pytest.raises(postern_auth.Cancelled):
        call.result()


def test_a_request_that_is_too_large_is_not_sent(client: Client) -> None:
    with pytest.raises(postern_auth.RequestError) as raised:
        client.fetch_resource("open", "echo", method="POST", parameters={"text": "x" * (17 << 20)})
    assert (raised.value.reason, raised.value.outcome) == ("message_too_large", "not_sent")
    assert client.get_info().name == "postern"


def test_a_sidecar_that_takes_less_says_so(start: Callable[..., Sidecar]) -> None:
    """The sidecar's error has no id: it must find the one caller it is about."""
    sidecar = start({"limits": {"messageBytes": "64KiB"}})
    with Client(sidecar.path, timeout=10) as client:
        with pytest.raises(postern_auth.RequestError):
            client.fetch_resource("open", "echo", method="POST", body="x" * 100_000)
        other = client.start("fetchResource", {"resource": "open", "path": "slow?ms=300"})
        with pytest.raises(postern_auth.RequestError) as raised:
            client.fetch_resource("open", "echo", method="POST", body="x" * 100_000)
        assert raised.value.reason == "message_too_large"
        assert other.result()["status"] == 200


@pytest.mark.parametrize(
    "parameters",
    [
        {"deep": nested(200)},
        {"deeper": nested(100_000)},
    ],
)
def test_what_is_nested_too_deeply_is_not_sent(client: Client, parameters: dict[str, Any]) -> None:
    with pytest.raises(postern_auth.RequestError, match="nested"):
        client.fetch_resource("open", "echo", method="POST", parameters=parameters)


@pytest.mark.parametrize("value", [math.nan, "\ud800", b"bytes", object(), {1, 2}])
def test_what_json_cannot_say_is_not_sent(client: Client, value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        client.fetch_resource("open", "echo", method="POST", parameters={"value": value})
    assert client.get_info().name == "postern"


def test_answers_have_a_limit(sidecar: Sidecar) -> None:
    with Client(sidecar.path, timeout=10, limits=Limits(answer_bytes=100_000)) as client:
        assert len(client.fetch_resource("open", "bytes/1000").content) == 1000
        with pytest.raises(postern_auth.ProtocolViolation, match="more than 100000 bytes"):
            client.fetch_resource("open", "bytes/1000000")
        assert client.get_info().name == "postern", "a new connection"


def test_megabytes_pass(client: Client) -> None:
    assert len(client.fetch_resource("open", "bytes/4000000").content) == 4_000_000
    body = "ü" * 2_000_000
    assert client.fetch_resource("open", "echo", method="POST", body=body).status == 413, "the playground's limit"


def test_traces_are_continued(client: Client) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    echo = client.fetch_resource("open", "echo", traceparent=f"00-{trace}-00f067aa0ba902b7-01").json()
    assert trace in echo["headers"]["traceparent"][0]


def test_the_socket_is_found_by_the_environment(sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTERN_SOCKET", sidecar.path)
    with Client() as client:
        assert client.get_info().name == "postern"
    monkeypatch.delenv("POSTERN_SOCKET")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert Client().path == "/run/user/7/postern.sock"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert Client().path == "/run/postern/postern.sock"


def test_a_forked_child_connects_anew(client: Client) -> None:
    assert client.get_info().name == "postern"
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if client.get_info(timeout=10).name == "postern" else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert client.get_info().name == "postern", "the parent's connection is its own"


def test_a_closed_client_says_so(sidecar: Sidecar) -> None:
    client = Client(sidecar.path)
    call = client.start("fetchResource", {"resource": "open", "path": "slow?ms=20000"})
    client.close()
    with pytest.raises(postern_auth.ClientClosed):
        call.result()
    with pytest.raises(postern_auth.ClientClosed):
        client.get_info()
    client.close()
