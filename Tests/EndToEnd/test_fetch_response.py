"""Section 4.1: what `fetchResource` answers (`auth: none`)."""
from __future__ import annotations

import base64
import json
import time
from typing import Any, Callable, Dict

import pytest

from harness import expect
from harness.connection import Connection
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


def fetch(connection: Connection, path: str, **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": "open", "path": path, **params})


def test_the_result_has_the_members_of_the_contract(connection: Connection, playground: Playground) -> None:
    result = fetch(connection, "echo")
    assert set(result) <= {
        "task", "status", "reason", "url", "headers", "body", "bodyBase64", "attempts", "tokenRefreshed",
        "advicesSatisfied", "timing",
    }
    assert isinstance(result["task"], str) and result["task"]
    assert result["status"] == 200
    assert result["url"] == playground.base + "/open/echo"
    assert result["attempts"] == 1
    assert result["tokenRefreshed"] is False
    assert result["advicesSatisfied"] == []
    assert set(result["timing"]) == {"totalMs", "queueMs", "connectMs", "firstByteMs"}
    assert all(isinstance(value, int) and value >= 0 for value in result["timing"].values())
    for name, values in result["headers"].items():
        assert name == name.lower()
        assert isinstance(values, list) and all(isinstance(value, str) for value in values)


@pytest.mark.parametrize("status", [200, 201, 204, 304, 400, 401, 403, 404, 409, 410, 418, 429, 500, 502, 503, 599])
def test_any_http_status_is_a_result(connection: Connection, status: int) -> None:
    assert fetch(connection, f"status/{status}")["status"] == status


def test_repeated_headers_keep_all_values_in_order(connection: Connection) -> None:
    headers = fetch(connection, "headers")["headers"]
    assert headers["x-repeated"] == ["one", "two", "three"]
    assert headers["set-cookie"] == ["first=1; Path=/", "second=2; Path=/; HttpOnly"]
    assert headers["x-empty"] == [""]


def test_no_cookie_is_kept_between_calls(connection: Connection) -> None:
    fetch(connection, "headers")
    assert "cookie" not in json.loads(fetch(connection, "echo")["body"])["headers"]


def test_text_that_is_utf_8_comes_as_body(connection: Connection) -> None:
    result = fetch(connection, "text")
    assert result["body"] == "Gr\u00fc\u00dfe aus K\u00f6ln, na\u00efve caf\u00e9\n"
    assert "bodyBase64" not in result


@pytest.mark.parametrize("charset, codec", [("iso-8859-1", "iso-8859-1"), ("utf-16", "utf-16")])
def test_text_that_is_not_utf_8_comes_as_base64(connection: Connection, charset: str, codec: str) -> None:
    result = fetch(connection, f"text?charset={charset}")
    assert "body" not in result
    assert base64.b64decode(result["bodyBase64"], validate=True).decode(codec).startswith("Gr\u00fc\u00dfe")


def test_binary_comes_as_base64(connection: Connection) -> None:
    result = fetch(connection, "binary")
    assert "body" not in result
    assert base64.b64decode(result["bodyBase64"], validate=True) == bytes(range(256))


def test_bytes_that_happen_to_be_utf_8_but_are_no_text_come_as_base64(connection: Connection) -> None:
    result = fetch(connection, "bytes/100")
    assert base64.b64decode(result["bodyBase64"], validate=True) == bytes(range(100))


def test_an_empty_body(connection: Connection) -> None:
    result = fetch(connection, "status/204")
    assert result.get("body", "") == "" and result.get("bodyBase64", "") == ""
    assert fetch(connection, "bytes/0")["status"] == 200


@pytest.mark.parametrize("length", [1, 16_383, 16_384, 65_536, 1_000_003])
@pytest.mark.parametrize("chunked", ["false", "true"])
def test_bodies_of_any_length_arrive_whole(connection: Connection, length: int, chunked: str) -> None:
    result = fetch(connection, f"bytes/{length}", parameters={"chunked": chunked})
    assert base64.b64decode(result["bodyBase64"]) == bytes(index % 251 for index in range(length))


def test_compression_is_undone_and_its_headers_go(connection: Connection) -> None:
    result = fetch(connection, "gzip")
    assert json.loads(result["body"]) == {"compressed": True, "text": "Gr\u00fc\u00dfe"}
    assert "content-encoding" not in result["headers"]
    assert "content-length" not in result["headers"]


def test_compression_is_negotiated(connection: Connection) -> None:
    accepted = json.loads(fetch(connection, "echo")["body"])["headers"]["accept-encoding"][0]
    assert "gzip" in accepted


def test_a_body_over_the_limit_is_response_too_large(start: Start, connect: Connect) -> None:
    connection = connect(start({"resources": {"open": {"maxBodyBytes": "64KiB"}}}))
    assert fetch(connection, "bytes/65536")["status"] == 200
    for path in ["bytes/65537", "bytes/65537?chunked=true", "bytes/4000000000"]:
        expect.fault(connection.error("fetchResource", {"resource": "open", "path": path}), 1012)
    assert connection.works()


def test_timeout_ms_ends_in_deadline_exceeded(connection: Connection) -> None:
    began = time.monotonic()
    error = connection.error("fetchResource", {"resource": "open", "path": "slow?ms=20000", "timeoutMs": 200})
    expect.fault(error, -32022)
    assert time.monotonic() - began < 5


def test_timeout_ms_replaces_the_resources_timeout(start: Start, connect: Connect) -> None:
    connection = connect(start({"resources": {"open": {"timeout": "300ms"}}}))
    error = connection.error("fetchResource", {"resource": "open", "path": "slow?ms=20000"})
    assert error["code"] in (-32022, 1009), error
    assert fetch(connection, "slow?ms=1000", timeoutMs=5000)["status"] == 200


def test_a_refused_connection_is_server_unreachable(start: Start, connect: Connect, start_playground: Any) -> None:
    upstream = start_playground("--port", str(free_port()))
    connection = connect(start({"resources": {"gone": {"baseUrl": upstream.base + "/open/", "auth": "none"}}}))
    assert connection.call("fetchResource", {"resource": "gone", "path": "echo"})["status"] == 200
    upstream.stop()
    data = expect.fault(connection.error("fetchResource", {"resource": "gone", "path": "echo"}), 1009)
    assert data["outcome"] in ("not_sent", "sent_no_reply")


def test_a_name_that_does_not_resolve_is_told_as_such(start: Start, connect: Connect) -> None:
    # One question of one second: a name server that is silent, as in a container without a network, would take longer
    # than the test waits.
    environment = {"RES_OPTIONS": "attempts:1 timeout:1"}
    changes = {"resources": {"gone": {"baseUrl": "https://does-not-exist.invalid/", "auth": "none"}}}
    connection = connect(start(changes, environment=environment))
    error = connection.error("fetchResource", {"resource": "gone", "path": "x", "timeoutMs": 10_000})
    assert error["code"] in (1008, 1009), error
    assert expect.fault(error, error["code"])["outcome"] == "not_sent"


def test_plain_http_where_tls_is_expected_is_a_tls_failure(start: Start, connect: Connect, playground: Playground) -> None:
    base = playground.base.replace("http://", "https://")
    connection = connect(start({"resources": {"tls": {"baseUrl": base + "/open/", "auth": "none"}}}))
    expect.fault(connection.error("fetchResource", {"resource": "tls", "path": "echo"}), 1010)


def test_many_fetches_at_once_are_all_answered(connection: Connection) -> None:
    identifiers = [
        connection.request("fetchResource", {"resource": "open", "path": f"echo/{number}"}) for number in range(100)
    ]
    for number, identifier in enumerate(identifiers):
        result = connection.answer_to(identifier)["result"]
        assert json.loads(result["body"])["path"] == f"/open/echo/{number}"


def test_connections_upstream_are_reused(connection: Connection, playground: Playground) -> None:
    for _ in range(20):
        fetch(connection, "echo")
    # One of them belongs to this question itself, one to each reset before the test.
    assert playground.statistics()["connections"] < 10
