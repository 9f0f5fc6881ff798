"""Lines about calls: `log.access`, errors, and what helps to find a fault at `debug`; nothing of what was said in
them."""
from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from harness import expect
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]


def lines(sidecar: Sidecar) -> List[Dict[str, Any]]:
    told = (json.loads(line) for line in sidecar.log().splitlines() if line.startswith("{"))
    return [line for line in told if line["message"] == "call ended"]


def test_each_call_is_a_line_with_who_how_long_and_how_much(start: Start) -> None:
    sidecar = start({"log": {"access": True, "level": "info"}})
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    with sidecar.connect() as connection:
        info = connection.call("getInfo")
        request = {"resource": "open", "path": "echo", "meta": {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}}
        connection.call("fetchResource", request)
        expect.fault(connection.error("nothing"), -32601)
        expect.fault(connection.error("getSession", {"session": "nope"}), 5001)
    eventually(lambda: len(lines(sidecar)) == 4)
    first, fetch, unknown, failed = lines(sidecar)
    for line in (first, fetch, unknown, failed):
        assert line["level"] == "info" and line["connection"] == first["connection"]
        assert (line["uid"], line["pid"]) == (str(os.getuid()), str(os.getpid()))
        assert int(line["ms"]) >= 0 and int(line["bytesIn"]) > 40 and int(line["bytesOut"]) > 10
    assert (first["method"], first["outcome"]) == ("getInfo", "result")
    assert int(first["bytesOut"]) == len(json.dumps(info, separators=(",", ":"), ensure_ascii=False).encode())
    assert (fetch["method"], fetch["outcome"], fetch["traceId"]) == ("fetchResource", "result", trace)
    assert (unknown["method"], unknown["outcome"]) == ("nothing", "method_not_found")
    assert (failed["method"], failed["outcome"]) == ("getSession", "session_not_found")


def test_results_are_the_same_with_it(start: Start) -> None:
    echo = {"resource": "open", "path": "echo", "method": "POST", "body": "é\u0000"}
    asked = [("getInfo", None), ("health", None), ("fetchResource", echo)]
    answers = []
    for access in (True, False):
        sidecar = start({"log": {"access": access}})
        with sidecar.connect() as connection:
            answers.append([connection.call(*call) for call in asked])
        # Both have the same socket: while this one runs, the next cannot begin.
        sidecar.stop()
    # What the resource got: the same but for the trace that began here.
    got = [json.loads(answer[2]["body"]) for answer in answers]
    for one in got:
        assert one["headers"].pop("traceparent")
    assert got[0] == got[1]
    assert answers[0][0].keys() == answers[1][0].keys() and answers[0][1].keys() == answers[1][1].keys()


@pytest.mark.parametrize("level, access, expected", [("info", False, 0), ("debug", False, 1), ("warning", True, 0)])
def test_it_is_off_by_default_and_follows_the_level(start: Start, level: str, access: bool, expected: int) -> None:
    sidecar = start({"log": {"level": level, **({"access": True} if access else {})}})
    with sidecar.connect() as connection:
        connection.call("fetchResource", {"resource": "open", "path": "echo"})
    sidecar.stop()
    assert len(lines(sidecar)) == expected
    assert all("bytesIn" not in line for line in lines(sidecar))


@pytest.mark.parametrize("log", [{"access": True}, {"level": "debug"}, {}])
def test_the_trace_of_an_error_is_in_the_log(start: Start, log: Dict[str, Any]) -> None:
    """Catches an error whose `traceId` leads nowhere, and a line that does not name the cause."""
    sidecar = start({"log": log})
    with sidecar.connect() as connection:
        errors = {
            connection.error(method, params)["data"]["traceId"]: (method, outcome)
            for method, params, outcome in [
                ("fetchResource", {"resource": "open", "path": "../x"}, "invalid_url"),
                ("getSession", {"session": "A" * 43}, "session_not_found"), ("zzz", {}, "method_not_found"),
                ("getTask", {"task": "x"}, "task_not_found"), ("fetchResource", {"zzz": 1}, "invalid_params"),
            ]}
    sidecar.stop()
    found = {line["traceId"]: line for line in lines(sidecar) if line["traceId"] in errors}
    assert {trace: (line["method"], line["outcome"]) for trace, line in found.items()} == errors
    fetch, *_, invalid = (found[trace] for trace in errors)
    assert fetch["level"] == "info" and fetch["resource"] == "open" and "out of the resource's base URL" in fetch["error"]
    # A name that a caller made up may be anything.
    assert "error" not in invalid


def test_a_flood_of_errors_is_bounded_and_each_error_has_its_trace(start: Start) -> None:
    """Catches a caller that fills the disk with errors, and an answer that depends on what the log has room for."""
    sidecar = start()
    with sidecar.connect() as connection:
        for batch in range(30):
            connection.send([
                {"jsonrpc": "2.0", "id": f"{batch}-{number}", "method": "getTask", "params": {"task": "x"}}
                for number in range(64)])
        answers = [answer for _ in range(30) for answer in connection.receive()]
    sidecar.stop()
    # What was rejected unread, because too many calls were in flight, is no call yet.
    errors = [answer["error"] for answer in answers if answer["error"]["code"] != -32009]
    traces = {error["data"]["traceId"] for error in errors}
    logged = {line["traceId"] for line in lines(sidecar)}
    assert len(traces) == len(errors) and logged < traces
    assert 1000 <= len(logged) < 1900


def test_a_rejected_call_is_logged_with_its_reason(start: Start) -> None:
    """Catches a rule of `peers` that is too narrow, of which the log shows nothing."""
    rule = {"uid": os.getuid(), "methods": ["getInfo", "listTasks"], "rate": {"perSecond": 1, "burst": 3}}
    sidecar = start({"peers": [rule]})
    with sidecar.connect() as connection:
        error = connection.error("health")
        for _ in range(400):
            connection.answer_to(connection.request("listTasks"))
    sidecar.stop()
    forbidden = [line for line in lines(sidecar) if line["outcome"] == "peer_forbidden"]
    assert [line["level"] for line in forbidden] == ["notice"]
    assert forbidden[0]["traceId"] == error["data"]["traceId"] and forbidden[0]["error"] == error["message"]
    assert forbidden[0]["uid"] == str(os.getuid())
    limited = [line for line in lines(sidecar) if line["outcome"] == "overloaded"]
    assert {line["level"] for line in limited} == {"notice"}
    assert 100 <= len(limited) + len(forbidden) < 200


@pytest.mark.parametrize("garbage", [b"EHLO\r\n", b"{]\n{]\n{]\n", b'{"a":1,"a":2}\n{"a":1,"a":2}\n'])
def test_garbage_is_logged_once_for_each_connection(start: Start, garbage: bytes) -> None:
    """Catches a program that speaks another protocol, of which the log shows nothing, or a line for each byte."""
    sidecar = start()
    for _ in range(2):
        with sidecar.connect() as connection:
            connection.send_bytes(garbage)
            connection.half_close()
            connection.ends()
    sidecar.stop()
    told = [json.loads(line) for line in sidecar.log().splitlines() if "message rejected" in line]
    assert len(told) == 2 and len({line["connection"] for line in told}) == 2
    assert all(line["reason"] and line["uid"] == str(os.getuid()) for line in told)


def test_at_debug_a_call_can_be_followed_by_its_trace(start: Start, playground: Playground) -> None:
    """Catches a request of a call that cannot be found by the call's trace, or not be told from others."""
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    meta = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    sidecar = start({"log": {"level": "debug"}})
    with sidecar.connect() as connection:
        fetch = {"resource": "orders", "path": "orders?secret=1", "meta": meta}
        connection.call("fetchResource", fetch)
        connection.call("fetchResource", fetch)
    sidecar.stop()
    told = [json.loads(line) for line in sidecar.log().splitlines()]
    mine = [line for line in told if line.get("traceId") == trace]
    assert all(line["method"] == "fetchResource" for line in mine)
    assert [line["cacheHit"] for line in mine if line["message"] == "token needed"] == ["false", "true"]
    exchanges = [line for line in mine if line["message"] == "exchange ended"]
    assert [line["kind"] for line in exchanges] == ["discovery", "token", "resource", "resource"]
    assert [line.get("issuer") or line["resource"] for line in exchanges] == ["play", "play", "orders", "orders"]
    for line in exchanges:
        assert line["status"] == "200" and line["attempt"] == "1" and int(line["ms"]) >= 0
        assert line["host"] == playground.base and line["path"].startswith("/") and "?" not in line["path"]
    assert [line["httpMethod"] for line in exchanges] == ["GET", "POST", "GET", "GET"]
    assert [line["resource"] for line in mine if line["message"] == "call ended"] == ["orders", "orders"]
    assert "secret=1" not in sidecar.log()


def test_every_key_of_the_log_is_documented(start: Start, playground: Playground) -> None:
    """Catches a key that operators cannot look up, or one thing under two names."""
    page = Path(__file__).resolve().parents[2] / "proto-docs" / "observability.md"
    keys = set(re.findall(r"^\| `(\w+)` \|", page.read_text().partition("## Keys of the log")[2].partition("\n## ")[0], re.M))
    sidecar = start({"log": {"level": "trace", "access": True}, "resources": {"gone": {
        "baseUrl": "http://127.0.0.1:9/", "auth": "none"}}})
    with sidecar.connect() as connection:
        for name in ("orders", "open", "gone", "nothing"):
            connection.answer_to(connection.request("fetchResource", {"resource": name, "path": "echo"}))
        connection.send_text("{]")
        connection.call("reloadConfig")
    sidecar.stop()
    for line in (json.loads(text) for text in sidecar.log().splitlines()):
        assert set(line) <= keys, line


def test_nothing_of_params_and_results_is_in_it(start: Start) -> None:
    sidecar = start({"log": {"access": True, "level": "trace"}, "tokens": {"leaveTheSidecar": True}})
    secrets = [f"secret-{number}-{os.urandom(8).hex()}" for number in range(8)]
    with sidecar.connect() as connection:
        token = connection.call("getAccessToken", {"resource": "orders"})["accessToken"]
        connection.call("fetchResource", {
            "resource": "open", "path": f"echo?q={secrets[1]}", "method": "POST", "body": secrets[2],
            "headers": {"X-Key": secrets[3], "X-Other": secrets[0]}})
        connection.error("fetchResource", {"resource": secrets[4], "path": "x"})
        connection.error("validateIdToken", {"idToken": secrets[5], "issuer": "nobody"})
        tokens = {"type": "tokens", "accessToken": secrets[6]}
        connection.answer_to(connection.request("createSession", {"issuer": "play", "grant": tokens}))
        connection.error("getSession", {"session": secrets[7]})
    sidecar.stop()
    for secret in [*secrets, token, "svcsecret"]:
        assert secret not in sidecar.log()
