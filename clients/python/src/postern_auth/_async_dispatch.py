"""Requests and notifications of the sidecar, for the asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
import os
import warnings
import weakref
from collections.abc import Awaitable
from typing import Any, Callable

from . import delegates
from ._async_connection import AsyncConnection
from ._limits import DELEGATE_CALLS, DELEGATE_SECONDS, Deadline
from ._pending import Message
from ._slots import serving
from ._wire import members
from .errors import ClientClosed, PosternError, inherited
from .events import Backlog, Event

log = logging.getLogger("postern_auth")


class AsyncDispatch:
    """Delegates and event streams of a client; outlives its connections."""

    def __init__(self) -> None:
        self.delegates: dict[str, Callable[[Any], Any]] = {}
        self.delegate_seconds = DELEGATE_SECONDS
        self._running: set[asyncio.Task[None]] = set()
        # Weak references: a stream that the program has dropped is not filled for ever.
        self._streams: dict[int, weakref.ref[AsyncEventStream]] = {}

    # Events

    def open(self, stream: AsyncEventStream) -> None:
        self._streams[id(stream)] = weakref.ref(stream)

    def drop(self, stream: AsyncEventStream) -> None:
        self._streams.pop(id(stream), None)

    def wanted(self) -> frozenset[str]:
        """The events that any stream of the running loop has subscribed to."""
        loop = asyncio.get_running_loop()
        return frozenset(name for stream in self._all() if stream.loop is loop for name in stream.names)

    def _all(self) -> list[AsyncEventStream]:
        found = [stream() for stream in list(self._streams.values())]
        return [stream for stream in found if stream is not None and not stream.is_inherited]

    def _of(self, connection: AsyncConnection) -> list[AsyncEventStream]:
        return [stream for stream in self._all() if stream.loop is connection.loop]

    def end(self) -> None:
        """The client was closed."""
        for stream in self._all():
            _in_loop(stream.loop, functools.partial(stream.interrupt, ClientClosed("the client was closed")))
        for task in list(self._running):
            _in_loop(task.get_loop(), task.cancel)

    def on_notification(self, connection: AsyncConnection, message: Message) -> None:
        name, params = message["method"], members(message.get("params"))
        if params is not None and isinstance(params.get("at"), str):
            for stream in self._of(connection):
                if name in stream.names:
                    stream.put(message)

    def publish(self, message: Message) -> None:
        """Gives an event to the streams of all loops. Of a fake, which has no connection."""
        for stream in self._all():
            if message["method"] in stream.names:
                _in_loop(stream.loop, functools.partial(stream.put, message))

    def on_end(self, connection: AsyncConnection, error: PosternError) -> None:
        for stream in self._of(connection):
            stream.interrupt(error)

    # Delegates

    def on_request(self, connection: AsyncConnection, message: Message) -> None:
        name, identifier = message["method"], message["id"]
        delegate = self.delegates.get(name)
        if delegate is None:
            connection.answer(delegates.rejection(identifier, -32601, "no such delegate", "method_not_found"))
        elif len(self._running) >= DELEGATE_CALLS:
            connection.answer(delegates.rejection(identifier, -32009, "too many delegate calls", "overloaded"))
        else:
            task = asyncio.ensure_future(self._ask(connection, delegate, name, message))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def satisfied(self, request: delegates.AdviceReceived) -> bool | None:
        """Whether the delegate has policy advice satisfied; None when it fails. Of a fake, which has no connection."""
        try:
            value = self.delegates[delegates.ADVICE_RECEIVED](request)
            answer = await value if inspect.isawaitable(value) else value
            return answer is True or isinstance(answer, str)
        except Exception:
            log.exception("postern: the delegate for %s failed", delegates.ADVICE_RECEIVED)
            return None

    async def _ask(
        self, connection: AsyncConnection, delegate: Callable[[Any], Any], name: str, message: Message
    ) -> None:
        serving.set(True)
        try:
            value = delegate(delegates.FORMS[name].read(message["params"]))
            if inspect.isawaitable(value):
                value = await asyncio.wait_for(value, self.delegate_seconds)
            answer = delegates.answered(message["id"], name, value)
        except Exception:
            log.exception("postern: the delegate for %s failed; the sidecar decides", name)
            answer = delegates.rejection(message["id"], -32603, "the delegate failed", "internal_error")
        try:
            connection.answer(answer)
        except PosternError as error:
            log.warning("postern: the result of the delegate for %s could not be sent: %s", name, error)


def _in_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], object]) -> None:
    """Runs the work at once in this loop, or soon in another one."""
    try:
        is_here = loop is asyncio.get_running_loop()
    except RuntimeError:
        is_here = False
    if is_here:
        work()
        return
    with contextlib.suppress(RuntimeError):  # it is closed
        loop.call_soon_threadsafe(work)


class AsyncEventStream:
    """Events as an asynchronous iterator. Ends when it is closed; goes on over reconnections.

    At most `size` events are buffered; the oldest are dropped beyond that, and `lost` of the next one is their number.
    """

    def __init__(
        self,
        names: frozenset[str],
        size: int,
        restore: Callable[[], Awaitable[object]],
        on_close: Callable[[AsyncEventStream], None],
        on_drop: Callable[[AsyncEventStream], None],
    ) -> None:
        self._closed = True
        self._process = os.getpid()
        self.loop = asyncio.get_running_loop()
        self.names = names
        self._restore = restore
        self._on_close = on_close
        self._on_drop = on_drop
        self._news = asyncio.Event()
        self._backlog = Backlog(names, size)
        self._interruption: PosternError | None = None
        self._closed = False

    @property
    def is_inherited(self) -> bool:
        """Whether this is a forked child, and the stream its parent's."""
        return self._process != os.getpid()

    def put(self, message: Message) -> None:
        self._backlog.put(message)
        self._news.set()

    def interrupt(self, error: PosternError) -> None:
        self._interruption = error
        self._backlog.mark_gap()
        self._news.set()

    async def get(self, timeout: float | None = None) -> Event | None:
        """The next event; None when there is none in time, or the stream was closed."""
        deadline = Deadline(timeout)
        if self.is_inherited:
            raise inherited("these are events")
        while True:
            self._news.clear()
            if len(self._backlog):
                return self._backlog.take()
            if self._closed:
                return None
            error, self._interruption = self._interruption, None
            if isinstance(error, ClientClosed):
                await self.aclose()
                raise error
            if error is not None:
                try:
                    await self._restore()
                except PosternError:
                    self._interruption = error  # the next call retries
                    raise
            try:
                await asyncio.wait_for(self._news.wait(), None if timeout is None else deadline.left())
            except asyncio.TimeoutError:
                return None

    def __aiter__(self) -> AsyncEventStream:
        return self

    async def __anext__(self) -> Event:
        event = await self.get()
        if event is None:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Stops the events; a waiting `get` returns."""
        if not self._closed:
            self._closed = True
            self._news.set()
            self._on_close(self)

    async def __aenter__(self) -> AsyncEventStream:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and not self.is_inherited:
            self._closed = True
            warnings.warn("unclosed postern_auth.AsyncEventStream", ResourceWarning, source=self, stacklevel=2)
            self._on_drop(self)
