"""Decisions about calls that both clients make in the same way, without a sidecar."""

from __future__ import annotations

import math
from typing import Any

import pytest

from postern_auth import AsyncClient, Client, Limits, delegates
from postern_auth._calls import chosen_for
from postern_auth._exchange import Exchange
from postern_auth._pending import Pending
from postern_auth._slots import Slots
from postern_auth.errors import PosternError

EITHER = pytest.mark.parametrize("kind", [Client, AsyncClient])


def with_delegate(client: Any) -> Any:
    client._dispatch.delegates = {delegates.ADVICE_RECEIVED: print}
    return client


@EITHER
def test_a_user_has_time_for_a_step_up_unless_the_call_sets_a_timeout(kind: Any) -> None:
    """A step-up that ends after a minute, or a timeout that is exceeded by three minutes."""
    assert kind("s", timeout=60)._deadline("fetchResource", None).seconds == 60
    client = with_delegate(kind("s", timeout=60))
    assert client._deadline("fetchResource", None).seconds == 60 + client.step_up_seconds > 60
    assert client._deadline("fetchResource", 5).seconds == 5
    assert client._deadline("getInfo", None).seconds == 60
    assert with_delegate(kind("s", timeout=None))._deadline("fetchResource", None).seconds == math.inf


@EITHER
def test_a_stream_has_a_name_and_its_timeouts(kind: Any) -> None:
    plan = kind("s", timeout=60)._stream_plan({"resource": "r"}, None, None, None)
    assert plan.members == {"resource": "r", "stream": True, "streamHead": True, "task": plan.task}
    assert (plan.bound, plan.head_bound) == (60, 60)
    client = with_delegate(kind("s"))
    plan = client._stream_plan({"task": "own"}, 5, "00-1", 700)
    assert (plan.task, plan.bound, plan.head_bound) == ("own", 5, 5 + client.step_up_seconds)
    assert plan.members["meta"] == {"traceparent": "00-1", "timeoutMs": 700}
    assert client._stream_plan({}, math.inf, None, None).head_bound is None


@EITHER
def test_only_a_second_connection_gets_what_the_first_one_had(kind: Any) -> None:
    """Delegates that are registered twice, or lost with a connection."""
    client = with_delegate(kind("s"))
    assert client._wishes({"event.keysRotated"}) == {}
    client._was_there = True
    wishes = client._wishes({"event.sessionEnded", "event.keysRotated"})
    assert wishes["registerDelegate"] == {"methods": [delegates.ADVICE_RECEIVED]}
    assert wishes["subscribe"] == {"events": ["event.keysRotated", "event.sessionEnded"]}


class Line(Exchange[Pending, Slots]):
    def __init__(self) -> None:
        super().__init__(Limits(), (Slots(1, 1), Slots(1, 1)), True)

    def close(self, error: PosternError) -> None:
        self.is_open = False


def test_streams_share_connections_and_unused_ones_are_closed() -> None:
    """A connection for each stream, or two streams of one name on one connection."""
    busy, leaving, free, unused, ended = (Line() for _ in range(5))
    assert busy.reserve("other") and ended.reserve("gone")
    leaving.is_leaving, ended.is_open = True, False
    assert leaving.slots.try_take()
    found, kept = chosen_for("task", [busy, leaving, free, unused, ended])
    assert found is free and "task" in free.streams
    assert kept == [busy, leaving, free] and not unused.is_open
    assert chosen_for("more", [busy, free]) == (None, [busy, free])
