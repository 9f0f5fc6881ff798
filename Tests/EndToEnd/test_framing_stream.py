"""Section 1: the stream framing, spoken by socat, nc -U, libjson-rpc-cpp and Go's encoders."""
from __future__ import annotations

import json
from typing import Any, Iterator

import pytest

from harness import expect
from harness.connection import Connection
from harness.sidecar import Sidecar


@pytest.fixture
def stream(sidecar: Sidecar) -> Iterator[Connection]:
    with sidecar.connect("stream") as connection:
        yield connection


def text(identifier: Any, method: str = "getInfo", **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identifier, "method": method, **more}).encode()


@pytest.mark.parametrize("between", [b"", b"\n", b"\n\n\n", b" ", b" \t\r\n "])
def test_texts_follow_one_another_with_any_white_space_or_none(stream: Connection, between: bytes) -> None:
    stream.send_bytes(between.join(text(identifier) for identifier in range(5)) + b"\n")
    assert sorted(stream.receive()["id"] for _ in range(5)) == list(range(5))  # type: ignore[call-overload]


@pytest.mark.parametrize("blank", [b"\n", b" ", b"\t", b"\r\n", b" \n \n"])
def test_the_first_byte_that_counts_is_the_first_that_is_not_blank(stream: Connection, blank: bytes) -> None:
    stream.send_bytes(blank + text(1) + b"\n")
    assert stream.answer_to(1)["result"]["name"] == "postern"


def test_a_text_may_span_lines(stream: Connection) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "getInfo", "params": {}}
    stream.send_bytes(json.dumps(message, indent=4).encode() + b"\n")
    assert "result" in stream.answer_to(1)


def test_a_text_is_answered_without_waiting_for_its_line_feed(stream: Connection) -> None:
    stream.send_bytes(text(1))
    assert "result" in stream.answer_to(1)


def test_a_text_may_arrive_byte_by_byte(stream: Connection) -> None:
    for byte in text("slow \u00fc \\ \" { [") + b"\n":
        stream.send_bytes(bytes([byte]))
    assert "result" in stream.answer_to("slow \u00fc \\ \" { [")


@pytest.mark.parametrize("identifier", ['}{"', "]}", "\\", '\\"', "{[", "\u2028\n", "\U0001f600", "\\u007d"])
def test_brackets_and_quotes_within_strings_do_not_end_a_text(stream: Connection, identifier: str) -> None:
    raw = json.dumps({"jsonrpc": "2.0", "id": identifier, "method": "getInfo"}, ensure_ascii=False)
    stream.send_bytes(raw.encode() + b"\n" + text("next") + b"\n")
    assert "result" in stream.answer_to(identifier)
    assert "result" in stream.answer_to("next")


def test_answers_are_compact_one_text_one_line_feed_none_inside(stream: Connection) -> None:
    stream.send_bytes(text("a\nb"))
    line = stream.receive_text()
    message = json.loads(line)
    assert message["id"] == "a\nb"
    assert line.startswith(b"{") and line.endswith(b"}")
    tokens = json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()
    assert len(line) <= len(tokens) + 64, "not compact"


def test_the_last_text_may_lack_its_line_feed(stream: Connection) -> None:
    stream.send_bytes(text(1))
    stream.half_close()
    assert [message["id"] for message in stream.ends()] == [1]  # type: ignore[call-overload]


def test_a_batch_begins_with_a_bracket(stream: Connection) -> None:
    stream.send_bytes(b"[" + text(1) + b"," + text(2) + b"]\n")
    answers = stream.receive()
    assert isinstance(answers, list) and sorted(answer["id"] for answer in answers) == [1, 2]


@pytest.mark.parametrize(
    "opening",
    [b"GET/HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b'"text"\n', b"1\n", b"\xef\xbb\xbf{}\n", b"\x00", b"\xff"],
    ids=["nearly-http", "tls", "string", "number", "byte-order-mark", "nul", "0xff"],
)
def test_any_other_first_byte_gets_one_parse_error_with_a_hint_and_the_end(stream: Connection, opening: bytes) -> None:
    stream.send_bytes(opening)
    messages = stream.ends()
    assert len(messages) == 1
    error = expect.error(messages[0], -32700, None)  # type: ignore[arg-type]
    assert error["reason"] == "parse_error"
    assert len(messages[0]["error"]["message"]) > len("Parse error")  # type: ignore[call-overload]


def test_a_malformed_text_costs_what_stands_before_the_next_line_feed(stream: Connection) -> None:
    stream.send_bytes(text(1) + b"\n" + b"nonsense " + text("lost") + b"\n" + text(2) + b"\n")
    messages = [stream.receive() for _ in range(3)]
    errors = [message for message in messages if "error" in message]  # type: ignore[operator]
    assert len(errors) == 1
    expect.error(errors[0], -32700, None)  # type: ignore[arg-type]
    answered = {message["id"] for message in messages if "result" in message}  # type: ignore[operator, call-overload]
    assert answered == {1, 2}
    assert stream.works()
    assert stream.others() == []


@pytest.mark.parametrize(
    "malformed",
    [
        b'{"jsonrpc":"2.0","id":1,"method":}', b"{,}", b"[1,]", b"{'a':1}", b'{"a":01}', b'{"a":NaN}', b"nonsense", b"}", b"]",
        b'{"a":"\xff"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\x01"}', b'{"a" 1}', b'{"a":1}}', b'{"a":tru}', b'{"a":"\\x"}',
    ],
    ids=repr,
)
def test_what_is_not_json_is_a_parse_error_and_the_connection_goes_on(stream: Connection, malformed: bytes) -> None:
    assert stream.works()
    stream.send_bytes(malformed + b"\n")
    messages = [stream.receive()]
    while messages[-1]["error"]["code"] != -32700:  # type: ignore[call-overload]
        # `{"a":1}}` is a text of its own before what is malformed.
        messages.append(stream.receive())
    expect.error(messages[-1], -32700, None)  # type: ignore[arg-type]
    assert stream.works()


def test_sixteen_malformed_in_a_row_end_the_connection(stream: Connection) -> None:
    assert stream.works()
    stream.send_bytes(b"x\n" * 16)
    messages = stream.ends()
    assert 1 <= len(messages) <= 16
    for message in messages:
        expect.error(message, -32700, None)  # type: ignore[arg-type]


def test_fifteen_malformed_in_a_row_do_not_and_a_good_text_starts_the_count_anew(stream: Connection) -> None:
    assert stream.works()
    for _ in range(3):
        stream.send_bytes(b"x\n" * 15)
        for _ in range(15):
            expect.error(stream.receive(), -32700, None)  # type: ignore[arg-type]
        assert stream.works()


def test_the_framing_is_fixed_for_the_connection(stream: Connection) -> None:
    assert stream.works()
    stream.send_bytes(b"Content-Length: 2\n")
    expect.error(stream.receive(), -32700, None)  # type: ignore[arg-type]
    assert stream.works()


def test_a_text_cut_off_by_half_close_is_a_parse_error(stream: Connection) -> None:
    stream.send_bytes(b'{"jsonrpc":"2.0","id":1,"meth')
    stream.half_close()
    messages = stream.ends()
    assert len(messages) == 1
    expect.error(messages[0], -32700, None)  # type: ignore[arg-type]
