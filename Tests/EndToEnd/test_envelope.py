"""Section 2: the JSON-RPC 2.0 envelope.

The tables of texts are in Swift: ConnectionStateMachineTests, ParamsTests. Here is a case of each kind.
"""
from __future__ import annotations

import json
from typing import Any

import pytest

from harness import expect
from harness.connection import Connection


@pytest.mark.parametrize(
    "identifier",
    ["text", "\u00fc\u4e2d\U0001f600", 0, 9_007_199_254_740_993, -(2**63)],
)
def test_an_id_is_a_string_or_an_integer_and_comes_back_exactly(connection: Connection, identifier: Any) -> None:
    message = connection.answer_to(connection.request("getInfo", identifier=identifier))
    assert message["id"] == identifier and type(message["id"]) is type(identifier)


@pytest.mark.parametrize("identifier", ["null", "1.5", "[1]"])
def test_null_fractional_and_other_ids_are_invalid_requests(connection: Connection, identifier: str) -> None:
    connection.send_text('{"jsonrpc":"2.0","id":%s,"method":"getInfo"}' % identifier)
    expect.error(connection.receive(), -32600, None)  # type: ignore[arg-type]
    assert connection.works()


@pytest.mark.parametrize(
    "members",
    [
        '"id":7,"method":"getInfo"',
        '"jsonrpc":"1.0","id":7,"method":"getInfo"',
        '"jsonrpc":"2.0","id":7,"method":1',
    ],
)
def test_what_is_no_request_is_answered_under_its_id(connection: Connection, members: str) -> None:
    connection.send_text("{%s}" % members)
    expect.error(connection.receive(), -32600, 7)  # type: ignore[arg-type]
    assert connection.works()


@pytest.mark.parametrize("params", ["1", '"text"'])
def test_params_that_are_no_structure_are_refused(connection: Connection, params: str) -> None:
    connection.send_text('{"jsonrpc":"2.0","id":7,"method":"getInfo","params":%s}' % params)
    message = connection.receive()
    assert message["error"]["code"] in (-32600, -32602), message  # type: ignore[call-overload]
    expect.error(message, message["error"]["code"], 7)  # type: ignore[arg-type, call-overload]


@pytest.mark.parametrize("params", ["[]", "[1,2]"])
def test_params_are_by_name(connection: Connection, params: str) -> None:
    connection.send_text('{"jsonrpc":"2.0","id":7,"method":"getInfo","params":%s}' % params)
    expect.error(connection.receive(), -32602, 7)  # type: ignore[arg-type]


@pytest.mark.parametrize("params", ["", ',"params":null', ',"params":{}'])
def test_params_left_out_or_null_mean_none(connection: Connection, params: str) -> None:
    connection.send_text('{"jsonrpc":"2.0","id":7,"method":"getInfo"%s}' % params)
    assert connection.answer_to(7)["result"]["name"] == "postern"


@pytest.mark.parametrize(
    "method, params, path",
    [
        ("health", {"a/b~c": 1}, "/a~1b~0c"),
        ("fetchResource", {"resource": "open", "path": "echo", "parametres": {}}, "/parametres"),
        ("fetchResource", {"resource": "open", "path": "echo", "meta": {"timeout": 1}}, "/meta/timeout"),
    ],
)
def test_unknown_params_are_an_error_that_names_them(connection: Connection, method: str, params: Any, path: str) -> None:
    expect.fault(connection.error(method, params), -32602, path)


@pytest.mark.parametrize(
    "params, path",
    [
        ({"resource": 1, "path": "echo"}, "/resource"),
        ({"resource": "open", "path": "echo", "timeoutMs": -1}, "/timeoutMs"),
        ({"resource": "open", "path": "echo", "headers": {"x": ["a", 1]}}, "/headers/x/1"),
        ({"resource": "open", "path": "echo", "meta": 1}, "/meta"),
        ({"resource": "open", "path": "echo", "meta": {"timeoutMs": "1"}}, "/meta/timeoutMs"),
    ],
)
def test_params_of_the_wrong_kind_are_an_error_that_names_them(connection: Connection, params: Any, path: str) -> None:
    expect.fault(connection.error("fetchResource", params), -32602, path)


@pytest.mark.parametrize("method", ["nonsense", "", "GetInfo", "getinfo", "get_info", "rpc.nonsense", "$/nonsense", "x" * 5000])
def test_an_unknown_method_is_method_not_found(connection: Connection, method: str) -> None:
    expect.fault(connection.error(method), -32601)
    assert connection.works()


def test_a_notification_is_not_answered_not_even_with_an_error(connection: Connection) -> None:
    connection.notify("getInfo")
    connection.notify("nonsense")
    connection.notify("getInfo", {"unknown": 1})
    connection.notify("$/unknown")
    assert connection.works()
    assert connection.others() == []


@pytest.mark.parametrize("method, params", [("$/cancelRequest", "[1]"), ("getInfo", '{"unknown":1}'), ("nonsense", "1")])
def test_a_notification_is_not_answered_whatever_its_params_are(connection: Connection, method: str, params: str) -> None:
    text = '{"jsonrpc":"2.0","method":"%s","params":%s}' % (method, params)
    connection.send_text(text)
    connection.send_text(f"[{text},{text}]")
    assert connection.works()
    assert connection.others() == []
    # What is no notification either is answered all the same.
    connection.send_text('[%s,{"jsonrpc":"2.0","params":%s}]' % (text, params))
    answers = connection.receive()
    assert isinstance(answers, list) and len(answers) == 1
    expect.error(answers[0], -32600, None)


def test_a_batch_is_answered_as_one_array(connection: Connection) -> None:
    connection.send([
        {"jsonrpc": "2.0", "id": 1, "method": "getInfo"},
        {"jsonrpc": "2.0", "method": "getInfo"},
        {"jsonrpc": "2.0", "id": "two", "method": "nonsense"},
        1,
        {"id": 3},
        {"jsonrpc": "2.0", "id": 4, "method": "getInfo", "params": {"x": 1}},
    ])
    answers = connection.receive()
    assert isinstance(answers, list) and len(answers) == 5
    by_id = {json.dumps(answer["id"]): answer for answer in answers}
    assert by_id["1"]["result"]["name"] == "postern"
    expect.error(by_id['"two"'], -32601)
    expect.error(by_id["null"], -32600)
    expect.error(by_id["3"], -32600)
    expect.error(by_id["4"], -32602)


def test_a_batch_of_notifications_is_answered_by_nothing(connection: Connection) -> None:
    connection.send([{"jsonrpc": "2.0", "method": "getInfo"}, {"jsonrpc": "2.0", "method": "nonsense"}])
    assert connection.works()
    assert connection.others() == []


def test_an_empty_batch_is_an_invalid_request(connection: Connection) -> None:
    connection.send([])
    expect.error(connection.receive(), -32600, None)  # type: ignore[arg-type]
    assert connection.works()


def test_the_default_batch_limit_is_64(connection: Connection) -> None:
    call = {"jsonrpc": "2.0", "method": "getInfo"}
    connection.send([{**call, "id": identifier} for identifier in range(64)])
    answers = connection.receive()
    assert isinstance(answers, list) and sorted(answer["id"] for answer in answers) == list(range(64))
    connection.send([{**call, "id": identifier} for identifier in range(65)])
    expect.error(connection.receive(), -32010, None)  # type: ignore[arg-type]


def test_a_member_of_a_batch_can_be_cancelled(connection: Connection) -> None:
    slow = {"resource": "open", "path": "slow", "parameters": {"ms": 20_000}}
    connection.send([
        {"jsonrpc": "2.0", "id": "slow", "method": "fetchResource", "params": slow},
        {"jsonrpc": "2.0", "id": "fast", "method": "getInfo"},
    ])
    connection.notify("$/cancelRequest", {"id": "slow"})
    answers = {answer["id"]: answer for answer in connection.receive()}  # type: ignore[union-attr]
    expect.error(answers["slow"], -32800)
    assert "result" in answers["fast"]


@pytest.mark.parametrize("place", ["method", "id", "path", "headers", "name"])
def test_nul_may_stand_in_bodies_and_parameter_values_only(connection: Connection, place: str) -> None:
    params: Any = {"resource": "open", "path": "echo", "method": "POST"}
    message: Any = {"jsonrpc": "2.0", "id": 1, "method": "fetchResource", "params": params}
    if place == "method":
        message["method"] = "get\0Info"
    elif place == "id":
        message["id"] = "a\0b"
    elif place == "path":
        params["path"] = "echo\0"
    elif place == "headers":
        params["headers"] = {"x": "a\0b"}
    else:
        params["parameters"] = {"a\0b": 1}
    connection.send(message)
    assert "error" in connection.receive()
    assert connection.works()


def test_nul_in_a_body_arrives(connection: Connection) -> None:
    result = connection.call("fetchResource", {"resource": "open", "path": "echo", "method": "POST", "body": "a\0b"})
    assert json.loads(result["body"])["body"] == "a\0b"
    parameters = {"value": "a\0b"}
    result = connection.call(
        "fetchResource", {"resource": "open", "path": "echo", "method": "POST", "parameters": parameters})
    assert json.loads(json.loads(result["body"])["body"]) == parameters


def test_requests_with_the_same_id_are_told_apart_or_refused_never_lost(connection: Connection) -> None:
    for _ in range(3):
        connection.request("getInfo", identifier="same")
    answers = [connection.receive() for _ in range(3)]
    assert all(answer["id"] == "same" for answer in answers)  # type: ignore[call-overload]
