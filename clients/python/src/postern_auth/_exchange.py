"""The protocol on one connection, without input and output: what both clients have in common.

An `Exchange` gets the bytes that come (`feed`), and has the requests in progress, the streams, the slots of calls and
the reason of its end. `Connection` and `AsyncConnection` read, write and wait.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
from typing import Any, Callable, Generic, TypeVar, Union

from . import _framing
from ._chunks import STREAMED
from ._limits import Limits
from ._pending import Message, Request, blamed
from ._slots import AsyncSlots, Slots, is_urgent
from ._wire import members
from .errors import ConnectionLost, PosternError, ProtocolViolation, from_answer

log = logging.getLogger("postern_auth")

#: A notification about a stream, or a piece of its body.
Part = Union[Message, _framing.Piece]
_Request = TypeVar("_Request", bound="Request[Any]")
_Slots = TypeVar("_Slots", Slots, AsyncSlots)


def lost(error: PosternError, outcome: str) -> PosternError:
    """A copy of `error` for another request: an exception is raised once."""
    return type(error)(error.message, error.code, {**error.data, "outcome": outcome})


class Exchange(Generic[_Request, _Slots]):
    """Requests and their responses, in any order, and the sidecar's own messages.

    :param slots: Of the calls in progress, and of those that end or serve other calls.
    :param bodies: Whether it is for bodies: header framing, in which pieces come without JSON.
    """

    def __init__(self, limits: Limits, slots: tuple[_Slots, _Slots], bodies: bool) -> None:
        self._limits = limits
        self._process = os.getpid()
        #: Guards what several threads change.
        self._lock: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
        self._is_framed = bodies
        self._lines: _framing.Lines | _framing.Frames
        self._lines = _framing.Frames(limits.answer_bytes) if bodies else _framing.Lines(limits.answer_bytes)
        #: Whether this sidecar takes bodies without JSON; None: not known yet. Both kinds came with one version.
        self.knows_bodies: bool | None = None
        self._pending: dict[int, _Request] = {}
        #: Calls without a waiter any more, whose responses still come.
        self._left: dict[int, _Request] = {}
        self.slots: _Slots = slots[0]
        self._urgent: _Slots = slots[1]
        #: Delegates that are registered here, and whether the sidecar has announced that it stops; for streams.
        self.registered: frozenset[str] = frozenset()
        self.is_leaving = False
        self._identifiers = itertools.count(1)
        self.is_open = True
        self._error: PosternError | None = None
        #: Why the sidecar will close the connection, once it has announced that.
        self._farewell: PosternError | None = None
        #: The receivers of the parts of streams, by the names of their tasks.
        self.streams: dict[str, Callable[[Part], None]] = {}

    @property
    def is_inherited(self) -> bool:
        """Whether this is a forked child, and the connection its parent's."""
        return self._process != os.getpid()

    def keep(self) -> None:
        """From now on messages may come that no call waits for. An event loop reads them anyway."""

    # Slots

    def slots_for(self, method: str) -> _Slots:
        """Of these, a call takes a slot before it is sent."""
        return self._urgent if is_urgent(method) else self.slots

    def reserve(self, task: str) -> bool:
        """Takes a slot for a stream. One of each name at a time: only the name identifies their parts."""
        if task in self.streams or not self.slots.try_take():
            return False
        self.streams[task] = lambda _: None
        return True

    def release(self, task: str) -> None:
        """Gives the slot back."""
        self.streams.pop(task, None)
        self.slots.give()

    # What comes

    def on_request(self, message: Message) -> None:
        """A request of the sidecar."""
        raise NotImplementedError

    def on_notification(self, message: Message) -> None:
        """An event."""
        raise NotImplementedError

    def feed(self, data: bytes) -> None:
        """Processes bytes from the sidecar. If this raises, the connection must be closed, because of `fault_of`."""
        for one in self._lines.feed(data):
            if isinstance(one, bytes):
                self._take(_framing.decoded(one))
            else:
                take = self.streams.get(one.task)
                if take is not None:
                    take(one)

    @staticmethod
    def fault_of(error: Exception) -> PosternError:
        """The reason of the connection's end, after `feed` has raised."""
        if isinstance(error, PosternError):
            return error
        log.error("postern: the reader failed", exc_info=error)
        return ProtocolViolation(f"a message from the socket could not be processed: {type(error).__name__}")

    def _take(self, message: Message) -> None:
        if "method" in message:
            params = members(message.get("params"))
            if message["method"] in STREAMED and params is not None:
                take = self.streams.get(str(params.get("task")))
                if take is not None:
                    take(message)
            elif "id" in message:
                self.on_request(message)
            else:
                self.on_notification(message)
            return
        identifier = message.get("id")
        is_whole = "result" in message
        if "error" in message:
            is_whole = not is_whole and members(message["error"]) is not None
            if identifier is None and is_whole:
                self._blame(from_answer(message["error"]))
                return
        if type(identifier) is not int or not is_whole:  # True is 1 to a dictionary
            raise ProtocolViolation("a response of another shape came from the socket")
        pending = self._pending.pop(identifier, None)
        answered = pending or self._left.pop(identifier, None)
        if answered is None:  # each response comes once: this one may belong to another request
            raise ProtocolViolation("a response without a request came from the socket")
        answered.conclude(message, pending is not None)

    def _blame(self, error: PosternError) -> None:
        """Settles the request that caused an error without an id."""
        if error.reason == "overloaded":
            self._farewell = lost(error, "not_sent")  # the connection itself is rejected, and closed after this
            return
        with self._lock:
            sent = [*self._pending.values(), *self._left.values()]
            guilty = blamed(error, sent)
            if guilty is None and sent:
                raise ProtocolViolation(f"the sidecar did not understand one of several requests: {error.message}")
            if guilty is None:
                return
            is_waited_for = self._pending.pop(guilty.identifier, None) is not None
            self._left.pop(guilty.identifier, None)
        guilty.conclude(lost(error, "not_sent"), is_waited_for)

    # The end

    def close(self, error: PosternError) -> None:
        """Ends the connection, and all waiting calls with `error`. A second call has no effect."""
        raise NotImplementedError

    def end_all(self, error: PosternError) -> None:
        """Ends all waits for slots, and all requests in progress with `error`. Later ones find `_error`."""
        self.slots.end()
        self._urgent.end()
        outcome = str(error.data.get("outcome") or "unknown")
        for identifier in list(self._pending):
            pending = self._pending.pop(identifier, None)
            if pending is not None:
                pending.fail(lost(error, outcome))

    def end_of_input(self, reason: str = "the sidecar closed the connection") -> PosternError:
        """Why there is nothing more to be read."""
        where = " within a response" if self._lines.is_within else ""
        return self._farewell or ConnectionLost(reason + where)
