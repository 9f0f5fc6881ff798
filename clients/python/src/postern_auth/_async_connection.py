"""One connection of the asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import select
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Protocol, Union

from . import _framing
from ._connection import CannotPass, may_not_pass, rights
from ._dial import address, failure
from ._exchange import Exchange, lost
from ._limits import OWED_BYTES, Deadline, Limits
from ._pending import Message, Request
from ._slots import URGENT_SLOTS, AsyncSlots
from .errors import ConnectionLost, DeadlineExceeded, PosternError, ProtocolViolation, from_answer, inherited

_READ = 1 << 18
log = logging.getLogger("postern_auth")

#: A response, or the error instead of one.
Settled = Union[Message, PosternError]


class AsyncHandler(Protocol):
    """Receives the sidecar's requests and notifications."""

    def on_request(self, connection: AsyncConnection, message: Message) -> None: ...

    def on_notification(self, connection: AsyncConnection, message: Message) -> None: ...

    def on_end(self, connection: AsyncConnection, error: PosternError) -> None: ...


class AsyncPending(Request[AsyncSlots]):
    """One request in progress."""

    __slots__ = ("deadline", "future")

    def __init__(  # noqa: PLR0917 - on the path of every call
        self,
        identifier: int,
        method: str,
        line: bytes,
        future: asyncio.Future[Settled],
        slots: AsyncSlots | None,
        deadline: Deadline | None,
    ) -> None:
        self.identifier = identifier
        self.method = method
        self.line = line
        self.future = future
        self.slots = slots
        self.deadline = deadline

    @property
    def last(self) -> float:
        return math.inf if self.deadline is None else self.deadline.last

    def conclude(self, settled: Settled, is_waited_for: bool) -> None:
        super().conclude(settled, True)  # a stream that was left is settled with its response

    def settle(self, settled: Settled) -> None:
        if not self.future.done():
            self.future.set_result(settled)


class AsyncConnection(Exchange[AsyncPending, AsyncSlots], asyncio.BufferedProtocol):
    """Pipelined. Belongs to the loop in which it was created.

    One timer is for all waiting calls: setting one for each call would cost more than the call's own text.

    :param own: The connected socket. Bytes go through asyncio, descriptors go with bytes that are sent directly.
    :param bodies: Whether it is for bodies: header framing, in which pieces come without JSON.
    """

    def __init__(
        self,
        limits: Limits,
        handler: AsyncHandler,
        in_flight: int | None = None,
        own: socket.socket | None = None,
        bodies: bool = False,
    ) -> None:
        slots = AsyncSlots(in_flight or limits.in_flight, limits.queued), AsyncSlots(URGENT_SLOTS, limits.queued)
        super().__init__(limits, slots, bodies)
        self._handler = handler
        self.loop = asyncio.get_running_loop()
        self._socket = own
        # One for all reads: a new one of this size for each read would be returned to the system each time.
        self._buffer = memoryview(bytearray(_READ))
        self._transport: asyncio.WriteTransport | None = None
        #: While the sidecar has not read the earlier requests: settled when it has. See `drain`.
        self.may_write: asyncio.Future[None] | None = None
        #: Bytes of responses since the sidecar last read everything.
        self._owed = 0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_moment = math.inf
        self._gone = self.loop.create_future()

    @classmethod
    async def open(
        cls,
        path: str,
        limits: Limits,
        handler: AsyncHandler,
        in_flight: int | None = None,
        *,
        bodies: bool = False,
    ) -> AsyncConnection:
        """Connects. On a Unix socket this succeeds or fails at once."""
        loop = asyncio.get_running_loop()
        name = address(path)
        own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        own.setblocking(False)
        try:
            own.connect(name)
            _, connection = await loop.create_unix_connection(
                lambda: cls(limits, handler, in_flight, own, bodies), sock=own
            )
        except OSError as error:
            own.close()
            raise failure(path, error) from error
        return connection

    # Requests

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout_ms: int | None,
        deadline: Deadline,
        slots: AsyncSlots | None = None,
        *,
        descriptors: Sequence[int] = (),
        on_sent: Callable[[], None] | None = None,
    ) -> Any:
        """Sends a request and waits for its response; a timeout, and a cancellation, cancel it."""
        if self.may_write is not None or descriptors:
            await self.drain(deadline, slots)
        pending = self.start(method, params, timeout_ms, slots, deadline, descriptors=descriptors)
        if on_sent is not None:
            on_sent()
        try:
            return result_of(await pending.future)
        except asyncio.CancelledError:
            self.cancel(pending)
            raise

    async def drain(self, deadline: Deadline, slots: AsyncSlots | None = None) -> None:
        """Waits until the sidecar has read the earlier requests. If this raises, the slot was given back."""
        try:
            while (self.may_write is not None or not self._is_writable()) and self._error is None:
                left = deadline.left()
                if self.may_write is None:  # asyncio has written everything, but more does not fit at the moment
                    await asyncio.sleep(0.001)
                    done = left > 0
                else:
                    waiting = {self.may_write}
                    done = bool((await asyncio.wait(waiting, timeout=None if left == math.inf else left))[0])
                if not done:
                    raise DeadlineExceeded("the request could not be sent in time", data={"outcome": "not_sent"})
        except BaseException:
            if slots is not None:
                slots.give()
            raise

    def _is_writable(self) -> bool:
        """Whether descriptors can be sent at once, on a connection for bodies."""
        if not self._is_framed or self._socket is None or self._socket.fileno() < 0:
            return True
        ready = select.poll()
        ready.register(self._socket, select.POLLOUT)
        return bool(ready.poll(0))

    def start(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout_ms: int | None = None,
        slots: AsyncSlots | None = None,
        deadline: Deadline | None = None,
        *,
        descriptors: Sequence[int] = (),
    ) -> AsyncPending:
        """Sends a request; its response settles the returned object. If this raises, it was not sent.

        A call has a deadline. A stream has none: it may last as long as data arrives. Descriptors go with it if it is
        sent at once: `drain` on a connection for bodies.
        """
        identifier = next(self._identifiers)
        try:
            line = _framing.request(identifier, method, params, self._limits.request_bytes, timeout_ms)
            self._write(line, descriptors)
        except BaseException:
            if slots is not None:
                slots.give()
            raise
        # In the loop's own thread no response can come before this.
        pending = AsyncPending(identifier, method, line, self.loop.create_future(), slots, deadline)
        self._pending[identifier] = pending
        if deadline is not None and deadline.last < self._timer_moment:
            self._set_timer(deadline.last)
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
                text = f"no response to {pending.method} within {deadline.seconds:g} s"
                pending.settle(DeadlineExceeded(text, data={"outcome": "unknown"}))
        earliest = min((pending.last for pending in self._pending.values()), default=math.inf)
        if earliest < self._timer_moment:
            self._set_timer(earliest)

    def cancel(self, pending: AsyncPending) -> bool:
        """Cancels a request on both sides. Returns False if it was already settled."""
        if self._pending.pop(pending.identifier, None) is None:
            return False
        self._left[pending.identifier] = pending
        self.cancel_request(pending.identifier)
        return True

    def cancel_later(self, pending: AsyncPending) -> None:
        """The same from any thread, such as the garbage collector's."""
        with contextlib.suppress(RuntimeError):  # the loop is closed, and with it the connection
            self.loop.call_soon_threadsafe(self.cancel, pending)

    def cancel_request(self, identifier: int) -> None:
        """Requests that the sidecar cancels a request; its response, if a caller waits for it, is -32800."""
        if self.is_open:
            with contextlib.suppress(PosternError):  # it may have ended with its connection
                self._write(_framing.notification("$/cancelRequest", {"id": identifier}))

    def answer(self, message: Message) -> None:
        """Responds to a request of the sidecar. If the sidecar reads no responses, the connection is closed."""
        line = _framing.encoded(message, self._limits.request_bytes)
        if self.may_write is None:
            self._owed = 0
        elif self._owed > OWED_BYTES:
            fault = ProtocolViolation("the sidecar sends requests, and does not read the responses")
            self.close(fault)
            raise lost(fault, "unknown")
        self._owed += len(line)
        self._write(line)

    def _write(self, line: bytes, descriptors: Sequence[int] = ()) -> None:
        if self._process != os.getpid():
            raise lost(inherited("this is a connection"), "not_sent")
        transport = self._transport
        if self._error is not None or transport is None or transport.is_closing():
            raise lost(self._error or ConnectionLost("the sidecar is gone"), "not_sent")
        data = _framing.framed(line) if self._is_framed else line
        if descriptors:
            data = data[self._send_with(descriptors, data, transport) :]
        transport.write(data)
        if transport.is_closing():  # it was written at once, which failed
            raise ConnectionLost("the sidecar is gone", data={"outcome": "not_sent"})

    def _send_with(self, descriptors: Sequence[int], data: bytes, transport: asyncio.WriteTransport) -> int:
        """Sends descriptors with the first bytes; returns how many."""
        if self._socket is None or transport.get_write_buffer_size():
            raise CannotPass  # what waits there would come later
        try:
            return self._socket.sendmsg([data], rights(descriptors), getattr(socket, "MSG_NOSIGNAL", 0))
        except BlockingIOError:
            raise CannotPass from None
        except OSError as error:
            if may_not_pass(error):
                raise CannotPass from error
            raise ConnectionLost("the sidecar is gone", data={"outcome": "not_sent"}) from error

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        if self._is_framed:
            # `drain` then waits until nothing is left to be sent: descriptors cannot overtake anything.
            transport.set_write_buffer_limits(0)

    def pause_writing(self) -> None:
        self.may_write = self.loop.create_future()

    def resume_writing(self) -> None:
        if self.may_write is not None and not self.may_write.done():
            self.may_write.set_result(None)
        self.may_write = None

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self.feed(self._buffer[:nbytes].tobytes())
        except Exception as error:
            self.close(self.fault_of(error))

    def connection_lost(self, exc: Exception | None) -> None:
        broken = ConnectionLost(f"the connection broke: {exc}") if exc else None
        self.close(self._farewell or broken or self.end_of_input())
        if not self._gone.done():
            self._gone.set_result(None)

    def on_request(self, message: Message) -> None:
        self._handler.on_request(self, message)

    def on_notification(self, message: Message) -> None:
        self._handler.on_notification(self, message)

    # The end

    def close(self, error: PosternError) -> None:
        """Ends the connection, and all waiting calls with `error`. A second call has no effect."""
        if self._error is not None:
            return
        self._error, self.is_open = error, False
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None:
            self._transport.abort()
        self.resume_writing()
        self.end_all(error)
        self._handler.on_end(self, error)

    def drop(self) -> None:
        """Shuts the socket down after its loop was closed, so that the sidecar notices."""
        self._error, self.is_open = self._error or ConnectionLost("the event loop is closed"), False
        own = None if self._transport is None else self._transport.get_extra_info("socket")
        if own is not None and not self.is_inherited:
            with contextlib.suppress(OSError):  # already closed
                own.shutdown(socket.SHUT_RDWR)

    async def closed(self) -> None:
        """Waits until the socket is closed."""
        await asyncio.wait({self._gone}, timeout=5)


def result_of(settled: Message | BaseException) -> Any:
    """The result; raises the error."""
    if isinstance(settled, BaseException):
        raise settled
    if "result" in settled:
        return settled["result"]
    raise from_answer(settled["error"])
