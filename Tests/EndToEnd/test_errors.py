"""Section 2: what errors carry, deadlines, trace context, and who may call what."""
from __future__ import annotations

import json
import os
import re
import time
from typing import Any, Callable, Dict

import pytest

from harness import expect
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


def slow(milliseconds: int, **more: Any) -> Dict[str, Any]:
    return {"resource": "open", "path": "slow", "parameters": {"ms": milliseconds}, **more}


def test_meta_timeout_bounds_everything_and_ends_in_deadline_exceeded(connection: Connection) -> None:
    began = time.monotonic()
    expect.fault(connection.error("fetchResource", slow(20_000, meta={"timeoutMs": 200})), -32022)
    assert 0.15 < time.monotonic() - began < 5
    assert connection.works()


def test_meta_timeout_does_not_end_what_is_faster(connection: Connection) -> None:
    assert connection.call("fetchResource", slow(10, meta={"timeoutMs": 5000}))["status"] == 200


def test_meta_is_taken_by_every_method(connection: Connection) -> None:
    meta = {"meta": {"traceparent": PARENT, "timeoutMs": 5000}}
    assert connection.call("getInfo", meta)["name"] == "postern"
    assert connection.call("health", meta)["status"]


def test_the_trace_context_is_passed_on_upstream(connection: Connection) -> None:
    result = connection.call("fetchResource", {"resource": "open", "path": "echo", "meta": {"traceparent": PARENT}})
    sent = json.loads(result["body"])["headers"]["traceparent"]
    assert len(sent) == 1
    assert re.match(rf"00-{TRACE}-[0-9a-f]{{16}}-0[01]\Z", sent[0])


@pytest.mark.parametrize("parent", ["nonsense", "00-0-0-00", "", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", PARENT + "\r\nX: y"])
def test_a_malformed_trace_context_is_refused_or_left_out_never_passed_on(connection: Connection, parent: str) -> None:
    message = connection.answer_to(
        connection.request("fetchResource", {"resource": "open", "path": "echo", "meta": {"traceparent": parent}}))
    if "error" in message:
        expect.fault(message["error"], -32602, "/meta/traceparent")
    else:
        headers = json.loads(message["result"]["body"])["headers"]
        assert headers.get("traceparent") != [parent]
        assert "x" not in headers


def test_retryable_and_outcome_are_told_of_upstream_faults(start: Start, connect: Connect, playground: Playground) -> None:
    sidecar = start({"resources": {"gone": {"baseUrl": "http://127.0.0.1:9/", "auth": "none"}}})
    data = expect.fault(connect(sidecar).error("fetchResource", {"resource": "gone", "path": "x"}), 1009)
    assert data["outcome"] == "not_sent"
    assert data["retryable"] is True


def test_an_unauthorised_method_is_peer_forbidden(start: Start, connect: Connect) -> None:
    connection = connect(start({"peers": [{"uid": os.getuid(), "methods": ["getInfo"]}]}))
    assert connection.works()
    expect.fault(connection.error("health"), -32020)
    expect.fault(connection.error("fetchResource", {"resource": "open", "path": "echo"}), -32020)


def test_an_unauthorised_resource_does_not_exist(start: Start, connect: Connect) -> None:
    rule = {"uid": os.getuid(), "methods": ["*"], "resources": ["open"]}
    connection = connect(start({"peers": [rule]}))
    assert connection.call("fetchResource", {"resource": "open", "path": "echo"})["status"] == 200
    hidden = connection.error("fetchResource", {"resource": "orders", "path": "orders"})
    missing = connection.error("fetchResource", {"resource": "nowhere", "path": "orders"})
    assert expect.fault(hidden, -32602, "/resource")["reason"] == "invalid_params"
    assert hidden["message"] == missing["message"]


def test_the_first_matching_rule_counts(start: Start, connect: Connect) -> None:
    rules = [{"uid": os.getuid(), "methods": ["getInfo"]}, {"uid": os.getuid(), "methods": ["*"]}]
    connection = connect(start({"peers": rules}))
    assert connection.works()
    expect.fault(connection.error("health"), -32020)


def test_a_rule_may_name_a_group(start: Start, connect: Connect) -> None:
    assert connect(start({"peers": [{"gid": os.getgid(), "methods": ["*"]}]})).works()


def test_each_member_of_a_batch_is_authorised_by_itself(start: Start, connect: Connect) -> None:
    connection = connect(start({"peers": [{"uid": os.getuid(), "methods": ["getInfo"]}]}))
    connection.send([
        {"jsonrpc": "2.0", "id": 1, "method": "getInfo"},
        {"jsonrpc": "2.0", "id": 2, "method": "health"},
    ])
    answers = {answer["id"]: answer for answer in connection.receive()}  # type: ignore[union-attr]
    assert "result" in answers[1]
    expect.error(answers[2], -32020)


def test_no_secret_in_any_log(start: Start, connect: Connect, playground: Playground, directory: Any) -> None:
    sidecar = start({"log": {"level": "trace", "format": "json"}})
    connection = connect(sidecar)
    headers = {"X-Api-Key": "caller-secret-value"}
    connection.call("fetchResource", {"resource": "orders", "path": "echo", "headers": headers})
    playground.faults(resource={"kind": "unauthorized"})
    connection.call("fetchResource", {"resource": "orders", "path": "orders"})
    playground.faults(token={"kind": "refuseCredentials"}, revokeTokens=True)
    connection.answer_to(connection.request("fetchResource", {"resource": "orders", "path": "orders"}))
    sidecar.stop()
    log = sidecar.log()
    assert log
    for secret in ["svcsecret", "c3ZjOnN2Y3NlY3JldA", "eyJ", "caller-secret-value"]:
        assert secret not in log, f"{secret} is in the log"


@pytest.mark.parametrize("format", ["json", "text"])
def test_logs_come_in_the_configured_format(start: Start, connect: Connect, format: str) -> None:
    sidecar = start({"log": {"level": "info", "format": format}})
    assert connect(sidecar).works()
    sidecar.stop()
    lines = [line for line in sidecar.log().splitlines() if line.strip()]
    assert lines
    if format == "json":
        for line in lines:
            assert isinstance(json.loads(line), dict)
    else:
        assert not lines[0].startswith("{")
