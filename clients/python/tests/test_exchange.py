"""The protocol without a socket: what both clients have in common, with bytes that a test gives it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from postern_auth import Limits, errors
from postern_auth._exchange import Exchange, Part
from postern_auth._pending import Message, Request
from postern_auth._slots import Slots


class Asked(Request[Slots]):
    """A request that notes how it was settled."""

    def __init__(self, identifier: int, slots: Slots | None = None, line: bytes = b"") -> None:
        self.identifier, self.slots, self.line, self.method = identifier, slots, line, "m"
        self.settled: list[Message | errors.PosternError] = []

    def settle(self, settled: Message | errors.PosternError) -> None:
        self.settled.append(settled)


class Machine(Exchange[Asked, Slots]):
    def __init__(self, bodies: bool = False, most: int = 2) -> None:
        super().__init__(Limits(answer_bytes=10_000), (Slots(most, 1), Slots(1, 1)), bodies)
        self.requests: list[Message] = []
        self.notifications: list[Message] = []

    def on_request(self, message: Message) -> None:
        self.requests.append(message)

    def on_notification(self, message: Message) -> None:
        self.notifications.append(message)

    def ask(self, line: bytes = b"") -> Asked:
        """A request in progress, with a slot."""
        assert self.slots.try_take()
        asked = Asked(next(self._identifiers), self.slots, line)
        self._pending[asked.identifier] = asked
        return asked

    def leave(self, asked: Asked) -> None:
        """Its caller does not wait any more."""
        self._left[asked.identifier] = self._pending.pop(asked.identifier)


def said(message: Any, is_framed: bool = False) -> bytes:
    text = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(text), text) if is_framed else text + b"\n"


@pytest.mark.parametrize("is_framed", [False, True])
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_responses_settle_their_requests_in_any_order(is_framed: bool, size: int) -> None:
    """A response that goes to another call, or that is lost between two reads; a slot that is never given back."""
    machine = Machine(is_framed)
    first, second = machine.ask(), machine.ask()
    assert not machine.slots.try_take()
    error = {"code": -32020, "message": "no"}
    data = said({"id": 2, "result": {"a": "é"}}, is_framed) + said({"id": 1, "error": error}, is_framed)
    for start in range(0, len(data), size):
        machine.feed(data[start : start + size])
    assert [one.get("result") for one in second.settled if isinstance(one, dict)] == [{"a": "é"}]
    assert [one.get("error") for one in first.settled if isinstance(one, dict)] == [error]
    assert machine.slots.is_unused


@pytest.mark.parametrize(
    "data",
    [
        said({"id": 1, "result": 1}) * 2,
        said({"id": 7, "result": 1}),
        said({"id": True, "result": 1}),
        said({"id": "1", "result": 1}),
        said({"id": 1}),
        said({"id": 1, "result": 1, "error": {}}),
        said({"id": 1, "error": "text"}),
        b"[]\n",
        b"no JSON\n",
        b"x" * 20_000,
    ],
)
def test_what_violates_the_protocol_ends_the_connection(data: bytes) -> None:
    machine = Machine()
    machine.ask()
    with pytest.raises(errors.ProtocolViolation) as raised:
        machine.feed(data)
    assert machine.fault_of(raised.value) is raised.value
    assert isinstance(machine.fault_of(ValueError("bug")), errors.ProtocolViolation)


def test_a_response_that_nobody_waits_for_gives_its_slot_back() -> None:
    """A client that stops after as many cancelled calls as it has slots."""
    machine = Machine()
    asked = machine.ask()
    machine.leave(asked)
    machine.feed(said({"id": 1, "result": 1}))
    assert machine.slots.is_unused and asked.settled == []


def test_messages_of_the_sidecar_go_to_those_who_wait_for_them() -> None:
    machine = Machine(bodies=True)
    parts: list[Part] = []
    assert machine.reserve("one") and not machine.reserve("one"), "only the name identifies the parts"
    machine.streams["one"] = parts.append
    machine.feed(said({"id": "postern-1", "method": "delegate.updateRequest", "params": {}}, is_framed=True))
    machine.feed(said({"method": "event.sessionEnded", "params": {}}, is_framed=True))
    for task in ("one", "other"):
        machine.feed(said({"method": "fetchResource.head", "params": {"task": task}}, is_framed=True))
        fields = f"Content-Length: 3\r\nContent-Type: application/octet-stream\r\nPostern-Task: {task}\r\n\r\n"
        machine.feed(fields.encode() + b"abc")
    assert [one["method"] for one in machine.requests] == ["delegate.updateRequest"]
    assert [one["method"] for one in machine.notifications] == ["event.sessionEnded"]
    assert len(parts) == 2, "those of the other stream are not here"
    machine.release("one")
    assert machine.reserve("one")


def test_an_error_without_an_id_settles_the_request_that_caused_it() -> None:
    """A call that waits for ever, or another call that fails in its place."""
    machine = Machine()
    small, large = machine.ask(b"x" * 10), machine.ask(b"x" * 100)
    data = {"reason": "message_too_large", "limitBytes": 50}
    machine.feed(said({"id": None, "error": {"code": -32007, "message": "no", "data": data}}))
    [error] = large.settled
    assert isinstance(error, errors.RequestError) and error.outcome == "not_sent" and small.settled == []
    machine.ask(b"x" * 10)
    with pytest.raises(errors.ProtocolViolation, match="one of several"):
        machine.feed(said({"id": None, "error": {"code": -32700, "message": "no", "data": {"reason": "parse_error"}}}))


def test_the_end_has_a_reason_for_every_request() -> None:
    machine = Machine(most=3)
    asked = machine.ask()
    machine.feed(b'{"id":')
    ended = machine.end_of_input()
    assert isinstance(ended, errors.ConnectionLost) and "within a response" in str(ended)
    machine.end_all(ended)
    [error] = asked.settled
    assert isinstance(error, errors.ConnectionLost) and error is not ended and error.outcome == "unknown"
    rejected = Machine()
    data = {"reason": "overloaded", "retryAfterMs": 5}
    rejected.feed(said({"id": None, "error": {"code": -32009, "message": "too many", "data": data}}))
    assert isinstance(rejected.end_of_input(), errors.Unavailable), "the sidecar's own reason takes precedence"
