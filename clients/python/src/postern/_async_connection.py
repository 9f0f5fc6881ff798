"""One connection of the asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import math
import os
import socket
import time
from collections.abc import Mapping
from typing import Any, Callable, Protocol, Union

from . import _framing
from ._chunks import STREAMED
from ._connection import lost
from ._dial import address, failure
from ._limits import OWED_BYTES, Deadline, Limits
from ._pending import Message, blamed
from ._places import URGENT_PLACES, AsyncPlaces, is_urgent
from ._wire import members
from .errors import ConnectionLost, DeadlineExceeded, PosternError, ProtocolViolation, from_answer, inherited

_READ = 1 << 18
log = logging.getLogger("postern")

#: An answer, or why there is none.
Settled = Union[Message, PosternError]


class AsyncHandler(Protocol):
    """Who takes what the sidecar sends by itself."""

    def on_request(self, connection: AsyncConnection, message: Message) -> None: ...

    def on_notification(self, connection: AsyncConnection, message: Message) -> None: ...

    def on_end(self, connection: AsyncConnection, error: PosternError) -> None: ...


class AsyncPending:
    """One request under way."""

    __slots__ = ("deadline", "future", "identifier", "method", "places", "size", "values")

    def __init__(
        self, identifier: int, method: str, line: bytes, future: asyncio.Future[Settled], places: AsyncPlaces | None
    ) -> None:
        self.identifier = identifier
        self.method = method
        self.size = len(line)
        self.values = _framing.most_values(line)
        self.future = future
        #: To which its place goes back with its answer.
        self.places = places
        #: By when there must be an answer. A stream has none: it may last as long as something comes.
        self.deadline: Deadline | None = None

    @property
    def last(self) -> float:
        return math.inf if self.deadline is None else self.deadline.last

    def take(self, settled: Settled) -> None:
        """What the sidecar said: its place is the next one's."""
        if self.places is not None:
            self.places.give()
        self.settle(settled)

    def settle(self, settled: Settled) -> None:
        if not self.future.done():
            self.future.set_result(settled)


class AsyncConnection(asyncio.BufferedProtocol):
    """Pipelined. Belongs to the loop in which it was made.

    One timer looks after all that wait: setting one for each call would cost more than the call's own text does.
    """

    def __init__(self, limits: Limits, handler: AsyncHandler, in_flight: int | None = None) -> None:
        self._limits = limits
        self._handler = handler
        self.loop = asyncio.get_running_loop()
        self._process = os.getpid()
        self._lines = _framing.Lines(limits.answer_bytes)
        # One for all that is read: a fresh one of this size for each read would be given back to the system each time.
        self._buffer = memoryview(bytearray(_READ))
        self._pending: dict[int, AsyncPending] = {}
        self.places = AsyncPlaces(in_flight or limits.in_flight, limits.queued)
        self._urgent = AsyncPlaces(URGENT_PLACES, limits.queued)
        #: Calls that nobody waits for any more, whose answers still come.
        self._left: dict[int, AsyncPending] = {}
        #: Delegates that are registered here, and whether the sidecar has said that it is going; for streams.
        self.registered: frozenset[str] = frozenset()
        self.is_leaving = False
        self._identifiers = itertools.count(1)
        self._error: PosternError | None = None
        self._farewell: PosternError | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._may_write: asyncio.Future[None] | None = None
        #: Bytes of answers since the sidecar last took what was sent.
        self._owed = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_moment = math.inf
        self._gone = self.loop.create_future()
        #: Where parts of streams go, by the names of their tasks.
        self.streams: dict[str, Callable[[Message], None]] = {}

    @classmethod
    async def open(
        cls, path: str, limits: Limits, handler: AsyncHandler, in_flight: int | None = None
    ) -> AsyncConnection:
        """Connects. On a Unix socket that is done at once, or not to be done now."""
        loop = asyncio.get_running_loop()
        name = address(path)
        own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        own.setblocking(False)
        try:
            own.connect(name)
            _, connection = await loop.create_unix_connection(lambda: cls(limits, handler, in_flight), sock=own)
        except OSError as error:
            own.close()
            raise failure(path, error) from error
        return connection

    @property
    def is_open(self) -> bool:
        return self._error is None

    @property
    def is_inherited(self) -> bool:
        """Whether this is a forked child, and the connection its parent's."""
        return self._process != os.getpid()

    # Requests

    def reserve(self, task: str) -> bool:
        """Takes a place for a stream. One of each name at a time: only the name tells their parts apart."""
        if task in self.streams or not self.places.try_take():
            return False
        self.streams[task] = lambda _: None
        return True

    def release(self, task: str) -> None:
        """Gives it back."""
        self.streams.pop(task, None)
        self.places.give()

    async def turn(self, method: str, deadline: Deadline) -> AsyncPlaces:
        """Waits until a call may be sent; what is returned goes to `ask`."""
        places = self._urgent if is_urgent(method) else self.places
        if not places.try_take():
            await places.take(deadline)
        return places

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout_ms: int | None,
        deadline: Deadline,
        places: AsyncPlaces | None = None,
    ) -> Any:
        """Sends a request and waits for its answer; time that runs out, and a cancellation, cancel it."""
        if self._may_write is not None:
            try:
                await self.room(deadline)
            except BaseException:
                if places is not None:
                    places.give()
                raise
        pending = self.start(method, params, timeout_ms, places)
        pending.deadline = deadline
        if deadline.last < self._timer_moment:
            self._set_timer(deadline.last)
        try:
            settled = await pending.future
        except asyncio.CancelledError:
            self.cancel(pending)
            raise
        return result_of(settled)

    async def room(self, deadline: Deadline) -> None:
        """Waits until the sidecar has taken what was sent before."""
        while self._may_write is not None and self._error is None:
            left = deadline.left()
            done, _ = await asyncio.wait({self._may_write}, timeout=None if left == math.inf else left)
            if not done:
                raise DeadlineExceeded("the request could not be sent in time", data={"outcome": "not_sent"})

    def start(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout_ms: int | None = None,
        places: AsyncPlaces | None = None,
    ) -> AsyncPending:
        """Sends a request; its answer settles what is returned. When this raises it was not sent."""
        identifier = next(self._identifiers)
        try:
            line = _framing.request(identifier, method, params, self._limits.request_bytes, timeout_ms)
            self._write(line)
        except BaseException:
            if places is not None:
                places.give()
            raise
        # In the loop's own thread no answer can come before this.
        pending = AsyncPending(identifier, method, line, self.loop.create_future(), places)
        self._pending[identifier] = pending
        return pending

    def _set_timer(self, moment: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_moment = moment
        self._timer = self.loop.call_later(moment - time.monotonic(), self._expire)

    def _expire(self) -> None:
        self._timer, self._timer_moment = None, math.inf
        now = time.monotonic()
        for pending in list(self._pending.values()):
            deadline = pending.deadline
            if deadline is not None and deadline.last <= now and self.cancel(pending):
                text = f"no answer to {pending.method} within {deadline.seconds:g} s"
                pending.settle(DeadlineExceeded(text, data={"outcome": "unknown"}))
        earliest = min((pending.last for pending in self._pending.values()), default=math.inf)
        if earliest < self._timer_moment:
            self._set_timer(earliest)

    def cancel(self, pending: AsyncPending) -> bool:
        """Ends a request for both sides. False when it had been settled."""
        if self._pending.pop(pending.identifier, None) is None:
            return False
        self._left[pending.identifier] = pending
        self.cancel_request(pending.identifier)
        return True

    def cancel_later(self, pending: AsyncPending) -> None:
        """The same from anywhere, the collector for example."""
        with contextlib.suppress(RuntimeError):  # the loop is closed, and with it the connection
            self.loop.call_soon_threadsafe(self.cancel, pending)

    def cancel_request(self, identifier: int) -> None:
        """Asks the sidecar to end a request; its answer, if somebody waits for it, is -32800."""
        if self.is_open:
            with contextlib.suppress(PosternError):  # it may have ended with its connection
                self._write(_framing.notification("$/cancelRequest", {"id": identifier}))

    def answer(self, message: Message) -> None:
        """Answers a request of the sidecar's. One that asks on and takes no answer is left."""
        line = _framing.encoded(message, self._limits.request_bytes)
        if self._may_write is None:
            self._owed = 0
        elif self._owed > OWED_BYTES:
            fault = ProtocolViolation("the sidecar asks, and does not take the answers")
            self.close(fault)
            raise lost(fault, "unknown")
        self._owed += len(line)
        self._write(line)

    def _write(self, line: bytes) -> None:
        if self.is_inherited:
            raise lost(inherited("this is a connection"), "not_sent")
        transport = self._transport
        if self._error is not None or transport is None or transport.is_closing():
            raise lost(self._error or ConnectionLost("the sidecar is gone"), "not_sent")
        was_empty = transport.get_write_buffer_size() == 0
        transport.write(line)
        if was_empty and transport.is_closing():  # the very first write of it failed
            raise ConnectionLost("the sidecar is gone", data={"outcome": "not_sent"})

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def pause_writing(self) -> None:
        self._may_write = self.loop.create_future()

    def resume_writing(self) -> None:
        if self._may_write is not None and not self._may_write.done():
            self._may_write.set_result(None)
        self._may_write = None

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for line in self._lines.feed(self._buffer[:nbytes].tobytes()):
                self._take(_framing.decoded(line))
        except PosternError as error:
            self.close(error)
        except Exception as error:
            log.exception("postern: the reader failed")
            self.close(ProtocolViolation(f"what came from the socket could not be taken: {type(error).__name__}"))

    def connection_lost(self, exc: Exception | None) -> None:
        where = "in the middle of an answer" if self._lines.is_within else ""
        text = f"the connection broke: {exc}" if exc else f"the sidecar closed the connection {where}".rstrip()
        self.close(self._farewell or ConnectionLost(text))
        if not self._gone.done():
            self._gone.set_result(None)

    # Reading

    def _take(self, message: Message) -> None:
        if "method" in message:
            params = members(message.get("params"))
            if message["method"] in STREAMED and params is not None:
                take = self.streams.get(str(params.get("task")))
                if take is not None:
                    take(message)
            elif "id" in message:
                self._handler.on_request(self, message)
            else:
                self._handler.on_notification(self, message)
            return
        identifier = message.get("id")
        is_error = "error" in message
        is_whole = ("result" in message) != is_error and (not is_error or members(message["error"]) is not None)
        if identifier is None and is_error and is_whole:
            self._blame(from_answer(message["error"]))
            return
        if type(identifier) is not int or not is_whole:  # True is 1 to a dictionary
            raise ProtocolViolation("an answer of another shape came from the socket")
        answered = self._pending.pop(identifier, None) or self._left.pop(identifier, None)
        if answered is None:  # each answer comes once: this one may have been meant for somebody else
            raise ProtocolViolation("an answer to nothing came from the socket")
        answered.take(message)

    def _blame(self, error: PosternError) -> None:
        """Settles the request that an error without an id is about."""
        if error.reason == "overloaded":
            self._farewell = lost(error, "not_sent")  # the connection itself is refused, and closed behind this
            return
        sent = [*self._pending.values(), *self._left.values()]
        guilty = blamed(error, sent)
        if guilty is None and sent:
            raise ProtocolViolation(f"the sidecar did not understand one of several requests: {error.message}")
        if guilty is None:
            return
        self._pending.pop(guilty.identifier, None)
        self._left.pop(guilty.identifier, None)
        guilty.take(lost(error, "not_sent"))

    # The end

    def close(self, error: PosternError) -> None:
        """Ends the connection, and with `error` everything that waits. Nothing happens the second time."""
        if self._error is not None:
            return
        self._error = error
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        self.resume_writing()
        self.places.end()
        self._urgent.end()
        waiting: list[AsyncPending] = list(self._pending.values())
        self._pending.clear()
        outcome = str(error.data.get("outcome") or "unknown")
        for pending in waiting:
            pending.settle(lost(error, outcome))
        self._handler.on_end(self, error)

    def drop(self) -> None:
        """When its loop is closed, which hears of nothing any more: tells the sidecar."""
        self._error = self._error or ConnectionLost("the event loop is closed")
        own = None if self._transport is None else self._transport.get_extra_info("socket")
        if own is not None and not self.is_inherited:
            with contextlib.suppress(OSError):  # gone already
                own.shutdown(socket.SHUT_RDWR)

    async def closed(self) -> None:
        """Waits until the socket is closed."""
        await asyncio.wait({self._gone}, timeout=5)


def result_of(settled: Settled) -> Any:
    """The result; raises the error."""
    if isinstance(settled, PosternError):
        raise settled
    if "result" in settled:
        return settled["result"]
    raise from_answer(settled["error"])
