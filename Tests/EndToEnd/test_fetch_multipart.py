"""Section 4.1: multipart bodies as a form parser reads them."""
from __future__ import annotations

import base64
import email
import email.policy
import json
from typing import Any, Dict, List, Tuple

import pytest

from harness import expect
from harness.connection import Connection
from harness.playground import Playground


def sent(connection: Connection, **params: Any) -> List[Tuple[str, Any, Any, bytes]]:
    """The parts that arrive upstream, as Python's own MIME parser reads them: name, file name, type, content."""
    result = connection.call("fetchResource", {"resource": "open", "path": "echo", "method": "POST", **params})
    seen = json.loads(result["body"])
    body = seen["body"].encode() if "body" in seen else base64.b64decode(seen["bodyBase64"])
    message = email.message_from_bytes(
        f"Content-Type: {seen['headers']['content-type'][0]}\r\n\r\n".encode() + body, policy=email.policy.HTTP)
    assert message.is_multipart() and not message.defects, message.defects
    return [
        (part.get_param("name", header="content-disposition"), part.get_filename(),
         part.get("content-type"), part.get_payload(decode=True))
        for part in message.iter_parts()
    ]


def test_parameters_first_then_files_in_order(connection: Connection) -> None:
    parts = sent(
        connection,
        parameters={"z": 1, "a": {"b": [True, None]}},
        multipart=[
            {"name": "file", "fileName": "a.bin", "dataBase64": base64.b64encode(bytes(range(256))).decode()},
            {"name": "file", "fileName": "b.txt", "mimeType": "text/plain; charset=utf-8", "data": "zwei\u0000\r\n"},
            {"name": "note", "data": "plain"},
        ],
    )
    assert parts == [
        ("a[b][]", None, None, b"true"), ("a[b][]", None, None, b""), ("z", None, None, b"1"),
        ("file", "a.bin", "application/octet-stream", bytes(range(256))),
        ("file", "b.txt", 'text/plain; charset="utf-8"', b"zwei\x00\r\n"), ("note", None, None, b"plain"),
    ]


@pytest.mark.parametrize("name", ['x"; filename="evil', "x\r\nX-Evil: 1", "x\ny", "x\ry"])
def test_no_name_breaks_out(connection: Connection, name: str) -> None:
    parts = sent(connection, multipart=[{"name": name, "fileName": name, "data": "content"}])
    assert len(parts) == 1 and parts[0][3] == b"content"
    assert "evil" not in (parts[0][1] or "").partition("%22")[0]


def test_headers_go_along(connection: Connection) -> None:
    result = connection.call(
        "fetchResource",
        {"resource": "open", "path": "echo", "method": "post", "headers": {"X-Mine": "1"},
         "multipart": [{"name": "a", "data": ""}]})
    assert json.loads(result["body"])["headers"]["x-mine"] == ["1"]


PART = {"name": "a", "data": ""}


@pytest.mark.parametrize(
    "params, code, path",
    [
        ({"method": "PUT", "multipart": [PART]}, -32602, "/multipart"),
        ({"multipart": [PART]}, -32602, "/multipart"),
        ({"method": "POST", "multipart": []}, -32602, "/multipart"),
        ({"method": "POST", "multipart": [PART], "body": "x"}, -32602, "/multipart"),
        ({"method": "POST", "multipart": [PART], "bodyBase64": ""}, -32602, "/multipart"),
        ({"method": "POST", "multipart": [{"name": "a"}]}, -32602, "/multipart/0/data"),
        ({"method": "POST", "multipart": [PART, {"name": "", "data": ""}]}, -32602, "/multipart/1/name"),
        ({"method": "POST", "multipart": [{**PART, "dataBase64": ""}]}, -32602, "/multipart/0/dataBase64"),
        ({"method": "POST", "multipart": [{"name": "a", "dataBase64": "!"}]}, -32602, "/multipart/0/dataBase64"),
        ({"method": "POST", "multipart": [{**PART, "mimeType": "text/plain\r\nX: 1"}]}, 1005, "/multipart/0/mimeType"),
        ({"method": "POST", "multipart": [{**PART, "mimeType": "nonsense"}]}, 1005, "/multipart/0/mimeType"),
        ({"method": "POST", "multipart": [{**PART, "typo": 1}]}, -32602, "/multipart/0/typo"),
        ({"method": "POST", "multipart": [{"name": "a\u0000", "data": ""}]}, -32602, "/multipart/0/name"),
        ({"method": "POST", "multipart": [PART], "headers": {"content-type": "multipart/form-data; boundary=x"}}, 1005,
         "/headers/Content-Type"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_place(
    connection: Connection, playground: Playground, params: Dict[str, Any], code: int, path: str
) -> None:
    error = connection.error("fetchResource", {"resource": "open", "path": "echo", **params})
    expect.fault(error, code, path)
    assert playground.statistics()["openRequests"] == 0
