"""Section 4.1: what `fetchResource` sends (`auth: none`).

The tables of texts are in Swift: ResourceRequestTests, ParameterTests, HeaderTests, Base64Tests. Here is a case of each
kind.
"""
from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import parse_qsl

import pytest

from harness import binaries, expect
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


def echo(connection: Connection, **params: Any) -> Dict[str, Any]:
    """What arrives upstream of a fetch with these params."""
    result = connection.call("fetchResource", {"resource": "open", "path": "echo", **params})
    assert result["status"] == 200, result
    return json.loads(result["body"])


def refused(connection: Connection, playground: Playground, code: int, path: Optional[str] = None, **params: Any) -> None:
    """The fetch is refused with `code`, and nothing of it arrives upstream."""
    error = connection.error("fetchResource", {"resource": "open", "path": "echo", **params})
    expect.fault(error, code, path)
    assert playground.statistics()["openRequests"] == 0


def test_get_is_the_default_method(connection: Connection) -> None:
    assert echo(connection)["method"] == "GET"


@pytest.mark.parametrize("method", ["GET", "Post", "PUT", "patch", "dELETE"])
def test_methods_in_any_case(connection: Connection, method: str) -> None:
    assert echo(connection, method=method)["method"] == method.upper()


def test_head(connection: Connection) -> None:
    result = connection.call("fetchResource", {"resource": "open", "path": "echo", "method": "head"})
    assert result["status"] == 200
    assert result.get("body", "") == "" and result.get("bodyBase64", "") == ""


@pytest.mark.parametrize("method", ["CONNECT", "trace", "TRACK", "", "GET /x", "GET\u0301"])
def test_other_methods_are_refused(connection: Connection, playground: Playground, method: str) -> None:
    error = connection.error("fetchResource", {"resource": "open", "path": "echo", "method": method})
    assert error["code"] in (1004, -32602), error
    assert playground.statistics()["openRequests"] == 0


def test_an_unknown_resource_is_named(connection: Connection, playground: Playground) -> None:
    refused(connection, playground, -32602, "/resource", resource="unheard")


def test_the_resource_may_be_left_out_when_only_one_is_configured(start: Start, connect: Connect) -> None:
    connection = connect(start({"resources": {"orders": None}}))
    assert connection.call("fetchResource", {"path": "echo"})["status"] == 200


def test_the_resource_may_not_be_left_out_when_there_are_several(connection: Connection) -> None:
    expect.fault(connection.error("fetchResource", {"path": "echo"}), -32602, "/resource")


def test_auth_none_sends_no_credentials(connection: Connection, playground: Playground) -> None:
    assert "authorization" not in echo(connection, auth="none")["headers"]
    assert playground.statistics()["tokenRequests"] == 0


def test_auth_defaults_to_the_resources(connection: Connection) -> None:
    assert "authorization" not in echo(connection)["headers"]
    result = connection.call("fetchResource", {"resource": "orders", "path": "echo"})
    assert "authorization" in json.loads(result["body"])["headers"]


def test_auth_none_may_be_asked_of_a_device_resource(connection: Connection, playground: Playground) -> None:
    result = connection.call("fetchResource", {"resource": "orders", "path": "orders", "auth": "none"})
    assert result["status"] == 401
    assert playground.statistics()["tokenRequests"] == 0


def test_auth_user_without_a_session_is_not_authenticated(connection: Connection) -> None:
    expect.fault(connection.error("fetchResource", {"resource": "orders", "path": "orders", "auth": "user"}), 1001)


def test_auth_implicit_without_a_session_is_not_authenticated(connection: Connection) -> None:
    expect.fault(connection.error("fetchResource", {"resource": "orders", "path": "orders", "auth": "implicit"}), 1001)


def test_an_unknown_session_is_session_not_found(connection: Connection) -> None:
    params = {"resource": "orders", "path": "orders", "auth": "user", "session": "unheard"}
    expect.fault(connection.error("fetchResource", params), 5001)


@pytest.mark.parametrize("method, encoding", [("GET", "json"), ("DELETE", "formUrl")])
def test_parameters_of_get_and_delete_are_the_query_string(connection: Connection, method: str, encoding: str) -> None:
    parameters = {"q": "a b&c=d/\u00fc+", "n": 7}
    seen = echo(connection, method=method, parametersEncoding=encoding, parameters=parameters)
    assert sorted(seen["parameters"]) == [["n", "7"], ["q", "a b&c=d/\u00fc+"]]
    assert seen["body"] == ""


def test_parameters_of_head_are_the_query_string(connection: Connection) -> None:
    result = connection.call(
        "fetchResource", {"resource": "open", "path": "echo", "method": "HEAD", "parameters": {"a": "b"}})
    assert result["url"].endswith("/open/echo?a=b")


def test_parameters_follow_a_query_that_is_already_there(connection: Connection) -> None:
    seen = echo(connection, path="echo?x=1", parameters={"y": "2"})
    assert seen["parameters"] == [["x", "1"], ["y", "2"]]


def test_nested_parameters_of_a_query(connection: Connection) -> None:
    parameters = {"a": {"b": 1, "c": {"d": "e"}}, "list": [1, "two"], "yes": True, "no": False, "bare": None}
    seen = echo(connection, parameters=parameters)
    assert sorted(seen["parameters"]) == sorted([
        ["a[b]", "1"], ["a[c][d]", "e"], ["list[]", "1"], ["list[]", "two"], ["yes", "true"], ["no", "false"], ["bare", ""],
    ])
    assert "bare" in seen["query"].split("&"), "null is a bare name, without an equals sign"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_parameters_of_other_methods_are_a_json_body(connection: Connection, method: str) -> None:
    parameters = {"z": [1, 2.5, None, True], "a": {"b": "\u00fc"}}
    seen = echo(connection, method=method, parameters=parameters)
    assert json.loads(seen["body"]) == parameters
    assert seen["headers"]["content-type"] == ["application/json"]
    assert seen["query"] is None


def test_the_members_of_a_json_body_keep_their_order(connection: Connection) -> None:
    seen = echo(connection, method="POST", parameters={"z": 1, "a": 2, "m": 3})
    assert list(json.loads(seen["body"])) == ["z", "a", "m"]


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_parameters_may_be_a_form_body(connection: Connection, method: str) -> None:
    parameters = {"q": "a b&c=\u00fc", "a": {"b": [1, True]}, "bare": None}
    seen = echo(connection, method=method, parametersEncoding="formUrl", parameters=parameters)
    assert seen["headers"]["content-type"][0].startswith("application/x-www-form-urlencoded")
    pairs = parse_qsl(seen["body"], keep_blank_values=True)
    assert sorted(pairs) == sorted([("q", "a b&c=\u00fc"), ("a[b][]", "1"), ("a[b][]", "true"), ("bare", "")])


def test_an_unknown_encoding_is_refused(connection: Connection, playground: Playground) -> None:
    refused(connection, playground, -32602, "/parametersEncoding", parametersEncoding="xml", parameters={})


def test_a_raw_body_is_sent_as_it_is_and_overrides_parameters(connection: Connection) -> None:
    seen = echo(connection, method="POST", body='{"raw":  true}\n', parameters={"ignored": 1})
    assert seen["body"] == '{"raw":  true}\n'
    assert seen["query"] is None


@pytest.mark.parametrize("body", [b"", b"\x00\xff\xfe", bytes(range(256)) * 100])
def test_a_base64_body_is_sent_as_its_bytes(connection: Connection, body: bytes) -> None:
    seen = echo(connection, method="PUT", bodyBase64=base64.b64encode(body).decode())
    sent = base64.b64decode(seen["bodyBase64"]) if "bodyBase64" in seen else seen["body"].encode()
    assert sent == body


@pytest.mark.parametrize("text", ["!!!!", "YQ", "YQ==\n"])
def test_base64_is_standard_with_padding(connection: Connection, playground: Playground, text: str) -> None:
    refused(connection, playground, -32602, "/bodyBase64", method="PUT", bodyBase64=text)


def test_both_bodies_at_once_are_refused(connection: Connection, playground: Playground) -> None:
    error = connection.error(
        "fetchResource", {"resource": "open", "path": "echo", "method": "POST", "body": "a", "bodyBase64": "YQ=="})
    data = expect.fault(error, -32602)
    assert data["path"] in ("/body", "/bodyBase64")
    assert playground.statistics()["openRequests"] == 0


def test_a_large_body_arrives_whole(connection: Connection) -> None:
    body = "0123456789abcdef" * 65_000
    assert echo(connection, method="POST", body=body)["body"] == body


def test_headers_are_strings_or_arrays_of_strings(connection: Connection) -> None:
    seen = echo(connection, headers={"X-One": "1", "x-many": ["a", "b"], "Accept": "text/plain", "X-Empty": ""})
    assert seen["headers"]["x-one"] == ["1"]
    assert seen["headers"]["x-many"] == ["a", "b"]
    assert seen["headers"]["accept"] == ["text/plain"]
    assert seen["headers"].get("x-empty") == [""]


def test_a_content_type_given_is_kept(connection: Connection) -> None:
    seen = echo(connection, method="POST", parameters={"a": 1}, headers={"content-type": "application/vnd.x+json"})
    assert seen["headers"]["content-type"] == ["application/vnd.x+json"]


def test_a_cookie_may_be_given(connection: Connection) -> None:
    assert echo(connection, headers={"Cookie": "a=b"})["headers"]["cookie"] == ["a=b"]


@pytest.mark.parametrize(
    "name",
    ["Authorization", "AUTHORIZATION", "Host", "Content-Length", "proxy-anything", "Postern-Session"],
)
def test_reserved_headers_are_refused(connection: Connection, playground: Playground, name: str) -> None:
    refused(connection, playground, 1005, f"/headers/{name}", headers={name: "x"})


@pytest.mark.parametrize("name, value", [("X_Original_URL", "/admin"), ("Forwarded", "for=192.0.2.1;host=evil.test")])
def test_headers_that_override_the_request_pass_where_the_resource_allows_them(
    start: Start, playground: Playground, name: str, value: str
) -> None:
    """A gateway authorizes what stands in the request line, what is behind it would serve what stands in such a
    header."""
    allowing = start({"resources": {"allowing": {
        "baseUrl": playground.base + "/open/", "auth": "none", "allowedHeaders": [name]}}})
    with allowing.connect() as connection:
        refused(connection, playground, 1005, f"/headers/{name}", headers={name: value})
        seen = echo(connection, resource="allowing", headers={name: value, "X-Forwarded-For": "192.0.2.1"})
        assert seen["headers"][name.lower()] == [value]
        expect.fault(connection.error("fetchResource", {
            "resource": "allowing", "path": "echo", "headers": {"Host": "evil.test"}}), 1005, "/headers/Host")


@pytest.mark.parametrize("name", ["Authorization", "host", "Proxy-Authorization", "X-Orignal-URL", "X-Own", "a b"])
def test_no_other_header_can_be_allowed(sidecar: Sidecar, directory: Path, name: str) -> None:
    configuration = json.loads(sidecar.configuration_path.read_text())
    configuration["resources"]["open"]["allowedHeaders"] = ["X-Rewrite-URL", name]
    path = directory / "allowed.yaml"
    path.write_text(json.dumps(configuration))
    check = subprocess.run(
        [binaries.postern(), "check-config", "--config", str(path)], capture_output=True, text=True, timeout=30)
    assert check.returncode != 0 and "resources.open.allowedHeaders[1]" in check.stdout + check.stderr


@pytest.mark.parametrize("name", ["", "a:b", "a\r\nb"])
def test_malformed_header_names_are_refused(connection: Connection, playground: Playground, name: str) -> None:
    refused(connection, playground, 1005, headers={name: "x"})


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\x01b"])
def test_header_values_that_would_break_out_are_refused(connection: Connection, playground: Playground, value: str) -> None:
    refused(connection, playground, 1005, "/headers/X-A", headers={"X-A": value})


@pytest.mark.parametrize("timeout", [0, -1, 600_001, 2**53])
def test_timeouts_out_of_range_are_refused(connection: Connection, playground: Playground, timeout: int) -> None:
    refused(connection, playground, -32602, "/timeoutMs", timeoutMs=timeout)


def test_a_task_name_still_in_use_is_refused(connection: Connection) -> None:
    slow = connection.request(
        "fetchResource", {"resource": "open", "path": "slow", "parameters": {"ms": 3000}, "task": "mine"})
    # Two calls: the second may begin before the first has.
    eventually(lambda: "result" in connection.answer_to(connection.request("getTask", {"task": "mine"})))
    expect.fault(connection.error("fetchResource", {"resource": "open", "path": "echo", "task": "mine"}), -32602, "/task")
    assert connection.answer_to(slow)["result"]["task"] == "mine"
    assert connection.call("fetchResource", {"resource": "open", "path": "echo", "task": "mine"})["task"] == "mine"


def test_generated_task_names_differ(connection: Connection) -> None:
    tasks: List[str] = [connection.call("fetchResource", {"resource": "open", "path": "echo"})["task"] for _ in range(10)]
    assert len(set(tasks)) == 10
