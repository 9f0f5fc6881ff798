"""Section 1: the header framing of the LSP base protocol."""
from __future__ import annotations

import json
from typing import Any, Iterator

import pytest

from harness import expect
from harness.connection import Connection
from harness.sidecar import Sidecar


@pytest.fixture
def headers(sidecar: Sidecar) -> Iterator[Connection]:
    with sidecar.connect("headers") as connection:
        yield connection


def body(identifier: Any = 1) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identifier, "method": "getInfo"}).encode()


@pytest.mark.parametrize(
    "block",
    [
        b"Content-Length: %d\r\n\r\n",
        b"content-length: %d\r\n\r\n",
        b"CONTENT-LENGTH:%d\r\n\r\n",
        b"Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf8\r\nContent-Length: %d\r\n\r\n",
        b"\r\n \nContent-Length: %d\r\n\r\n",
    ],
    ids=repr,
)
def test_header_blocks_as_the_lsp_base_protocol_has_them(headers: Connection, block: bytes) -> None:
    headers.send_bytes(block % len(body()) + body())
    assert headers.answer_to(1)["result"]["name"] == "postern"


def test_messages_may_arrive_byte_by_byte_and_many_at_once(headers: Connection) -> None:
    for byte in headers.frame(body("slow \u00fc")):
        headers.send_bytes(bytes([byte]))
    assert "result" in headers.answer_to("slow \u00fc")
    headers.send_bytes(b"".join(headers.frame(body(identifier)) for identifier in range(20)))
    for identifier in range(20):
        assert "result" in headers.answer_to(identifier)


def test_a_body_may_be_pretty_printed(headers: Connection) -> None:
    headers.send_text(json.dumps(json.loads(body()), indent=2))
    assert "result" in headers.answer_to(1)


@pytest.mark.parametrize("malformed", [b"nonsense", b"", b"{", b"\xff\xfe", b"{}{}", b'{"a":1} x', b"123\x00", b"true\x00", b"[1\x00]", b"{}\x00"], ids=repr)
def test_a_malformed_body_costs_that_message(headers: Connection, malformed: bytes) -> None:
    headers.send_text(malformed)
    expect.error(headers.receive(), -32700, None)  # type: ignore[arg-type]
    assert headers.works()


@pytest.mark.parametrize(
    "length",
    [
        b"-1", b"+5", b"0x10", b"5.0", b"1e3", b"5 5", b"5,5", b"", b"five", b"\xd9\xa3", b"9" * 19, b"9" * 23, b"9" * 400,
        b"18446744073709551616", b"18446744073709551621", b"9223372036854775808", b"-9223372036854775808",
    ],
    ids=repr,
)
def test_a_length_that_is_no_plain_decimal_number_is_an_error_never_a_trap(
    headers: Connection, sidecar: Sidecar, length: bytes
) -> None:
    headers.send_bytes(b"Content-Length: " + length + b"\r\n\r\n{}")
    message = headers.receive()
    too_large = length.isdigit() and message["error"]["code"] == -32007  # type: ignore[call-overload]
    expect.error(message, -32007 if too_large else -32700, None)  # type: ignore[arg-type]
    if not too_large:
        assert headers.ends() == []
    assert sidecar.is_running()
    with sidecar.connect() as another:
        assert another.works()


@pytest.mark.parametrize(
    "block",
    [
        b"Content-Type: application/json\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"Content-Length 2\r\n\r\n{}",
        b"Content-Length: 2\r\nno colon here\r\n\r\n{}",
        b"Content-Length: 2\r\n" + b"Content-Type: " + b"x" * 4096 + b"\r\n\r\n{}",
        b"Content-Length: 2\r\n" + b"X: y\r\n" * 1000 + b"\r\n{}",
        b"C" * 5000,
    ],
    ids=["missing", "repeated", "contradicting", "no-colon", "no-colon-later", "too-long", "too-many", "endless"],
)
def test_a_malformed_header_block_ends_the_connection_after_the_error(headers: Connection, block: bytes) -> None:
    headers.send_bytes(block)
    messages = headers.ends()
    assert len(messages) == 1
    expect.error(messages[0], -32700, None)  # type: ignore[arg-type]


def test_a_header_block_of_4_kib_is_still_taken(headers: Connection) -> None:
    start = b"Content-Length: %d\r\nContent-Type: " % len(body())
    block = start + b"x" * (4096 - len(start) - 4) + b"\r\n\r\n"
    assert len(block) == 4096
    headers.send_bytes(block + body())
    assert "result" in headers.answer_to(1)


def test_a_huge_promise_costs_no_memory(headers: Connection, sidecar: Sidecar) -> None:
    assert headers.works()
    before = sidecar.resident_kilobytes()
    headers.send_bytes(b"Content-Length: %d\r\n\r\n" % (1 << 40) + b"x" * 1000)
    expect.error(headers.receive(), -32007)  # type: ignore[arg-type]
    assert sidecar.resident_kilobytes() - before < 4096


@pytest.mark.parametrize("sent", [b"Content-Len", b"Content-Length: 10\r\n", b"Content-Length: 10\r\n\r\n{"], ids=repr)
def test_a_message_cut_off_by_half_close_is_a_parse_error(headers: Connection, sent: bytes) -> None:
    headers.send_bytes(sent)
    headers.half_close()
    messages = headers.ends()
    assert len(messages) == 1
    expect.error(messages[0], -32700, None)  # type: ignore[arg-type]
