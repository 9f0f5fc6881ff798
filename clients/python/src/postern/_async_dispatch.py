"""What the sidecar sends by itself, for the asynchronous client."""

from __future__ import annotations

import asyncio
import inspect
import logging
import warnings
import weakref
from collections.abc import Awaitable
from typing import Any, Callable

from . import delegates
from ._async_connection import AsyncConnection
from ._limits import DELEGATE_CALLS, DELEGATE_SECONDS, Deadline
from ._pending import Message
from ._places import serving
from ._wire import members
from .errors import ClientClosed, PosternError
from .events import Backlog, Event

log = logging.getLogger("postern")


class AsyncAsking:
    """What connections of streams have: delegates, and nothing else."""

    def __init__(self, dispatch: AsyncDispatch) -> None:
        self._dispatch = dispatch

    def on_request(self, connection: AsyncConnection, message: Message) -> None:
        self._dispatch.on_request(connection, message)

    def on_notification(self, connection: AsyncConnection, message: Message) -> None: ...

    def on_end(self, connection: AsyncConnection, error: PosternError) -> None: ...


class AsyncDispatch:
    """Delegates and event streams of a client; outlives its connections."""

    def __init__(self) -> None:
        self.delegates: dict[str, Callable[[Any], Any]] = {}
        self.delegate_seconds = DELEGATE_SECONDS
        self._asked: set[asyncio.Task[None]] = set()
        # Weakly: a stream that nobody has any more is not filled for ever.
        self._streams: dict[int, tuple[frozenset[str], weakref.ref[AsyncEventStream]]] = {}

    # Events

    def open(self, stream: AsyncEventStream) -> None:
        self._streams[id(stream)] = (stream.names, weakref.ref(stream))

    def drop(self, stream: AsyncEventStream) -> None:
        self._streams.pop(id(stream), None)

    def wanted(self) -> frozenset[str]:
        """The events that some stream is about."""
        return frozenset(name for names, _ in list(self._streams.values()) for name in names)

    def _about(self, name: str | None = None) -> list[AsyncEventStream]:
        found = [stream() for names, stream in list(self._streams.values()) if name is None or name in names]
        return [stream for stream in found if stream is not None]

    def end(self) -> None:
        """The client was closed."""
        for stream in self._about():
            stream.interrupt(ClientClosed("the client was closed"))
        for task in self._asked:
            task.cancel()

    def on_notification(self, connection: AsyncConnection, message: Message) -> None:
        name, params = message["method"], members(message.get("params"))
        if params is not None and isinstance(params.get("at"), str):
            for stream in self._about(name):
                stream.put(message)

    def on_end(self, connection: AsyncConnection, error: PosternError) -> None:
        for stream in self._about():
            stream.interrupt(error)

    # Delegates

    def on_request(self, connection: AsyncConnection, message: Message) -> None:
        name, identifier = message["method"], message["id"]
        delegate = self.delegates.get(name)
        if delegate is None:
            connection.answer(delegates.refused(identifier, -32601, "no such delegate", "method_not_found"))
        elif len(self._asked) >= DELEGATE_CALLS:
            connection.answer(delegates.refused(identifier, -32009, "too many delegate calls", "overloaded"))
        else:
            task = asyncio.ensure_future(self._ask(connection, delegate, name, message))
            self._asked.add(task)
            task.add_done_callback(self._asked.discard)

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
            answer = delegates.refused(message["id"], -32603, "the delegate failed", "internal_error")
        try:
            connection.answer(answer)
        except PosternError as error:
            log.warning("postern: the answer of the delegate for %s could not be sent: %s", name, error)


class AsyncEventStream:
    """Events as an asynchronous iterator. Ends when it is closed; goes on over reconnections.

    At most `size` events wait to be taken; the oldest are dropped over that, and the next one says how many (`lost`).
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
        self.names = names
        self._restore = restore
        self._on_close = on_close
        self._on_drop = on_drop
        self._news = asyncio.Event()
        self._backlog = Backlog(names, size)
        self._interruption: PosternError | None = None
        self._closed = False

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
                    self._interruption = error  # the next call tries again
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
        """No more events; who waits for one is let go."""
        if not self._closed:
            self._closed = True
            self._news.set()
            self._on_close(self)

    async def __aenter__(self) -> AsyncEventStream:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self._closed = True
            warnings.warn("unclosed postern.AsyncEventStream", ResourceWarning, source=self, stacklevel=2)
            self._on_drop(self)
