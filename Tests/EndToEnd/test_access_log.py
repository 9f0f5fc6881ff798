"""`log.access`: one line for each call, with nothing of what was said in it."""
from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, List

import pytest

from harness import expect
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


@pytest.mark.parametrize("log, is_there", [({"access": True}, True), ({"level": "debug"}, True), ({}, False)])
def test_the_trace_of_an_error_is_where_the_documents_say(start: Start, log: Dict[str, Any], is_there: bool) -> None:
    """Catches a promise that `traceId` is found in the log, where the log has no line for the call."""
    sidecar = start({"log": log})
    with sidecar.connect() as connection:
        trace = connection.error("fetchResource", {"resource": "open", "path": "../x"})["data"]["traceId"]
    sidecar.stop()
    assert [line["outcome"] for line in lines(sidecar) if line["traceId"] == trace] == ["invalid_url"] * is_there
    assert (trace in sidecar.log()) is is_there


def test_nothing_of_params_and_results_is_in_it(start: Start) -> None:
    sidecar = start({"log": {"access": True, "level": "trace"}, "tokens": {"leaveTheSidecar": True}})
    secrets = [f"secret-{number}-{os.urandom(8).hex()}" for number in range(8)]
    with sidecar.connect() as connection:
        token = connection.call("getAccessToken", {"resource": "orders"})["accessToken"]
        connection.call("fetchResource", {
            "resource": "open", "path": f"echo/{secrets[0]}?q={secrets[1]}", "method": "POST", "body": secrets[2],
            "headers": {"X-Key": secrets[3]}})
        connection.error("fetchResource", {"resource": secrets[4], "path": "x"})
        connection.error("validateIdToken", {"idToken": secrets[5], "issuer": "nobody"})
        tokens = {"type": "tokens", "accessToken": secrets[6]}
        connection.answer_to(connection.request("createSession", {"issuer": "play", "grant": tokens}))
        connection.error("getSession", {"session": secrets[7]})
    sidecar.stop()
    for secret in [*secrets, token, "svcsecret"]:
        assert secret not in sidecar.log()
