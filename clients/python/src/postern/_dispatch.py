"""What the sidecar sends by itself, for the blocking client."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any, Callable

from . import delegates
from ._connection import Connection
from ._limits import DELEGATE_CALLS, DELEGATE_SECONDS, Deadline
from ._pending import Message
from ._wire import members
from .errors import ClientClosed, PosternError
from .events import Backlog, Event

log = logging.getLogger("postern")


class Dispatch:
    """Delegates and event streams of a client; outlives its connections."""

    def __init__(self) -> None:
        self.delegates: dict[str, Callable[[Any], Any]] = {}
        self.delegate_seconds = DELEGATE_SECONDS
        self._streams: list[EventStream] = []
        self.renew()

    def renew(self) -> None:
        """In a forked child: what its parent's threads held is never released."""
        self._places = threading.BoundedSemaphore(DELEGATE_CALLS)
        self._lock = threading.Lock()

    # Events

    def open(self, stream: EventStream) -> None:
        with self._lock:
            self._streams.append(stream)

    def drop(self, stream: EventStream) -> frozenset[str]:
        """The events that nobody wants any more."""
        with self._lock:
            if stream not in self._streams:
                return frozenset()
            self._streams.remove(stream)
        return stream.names - self.wanted()

    def wanted(self) -> frozenset[str]:
        with self._lock:
            return frozenset(name for stream in self._streams for name in stream.names)

    def end(self) -> None:
        """The client was closed."""
        with self._lock:
            streams = list(self._streams)
        for stream in streams:
            stream.interrupt(ClientClosed("the client was closed"))

    def on_notification(self, connection: Connection, message: Message) -> None:
        name, params = message["method"], members(message.get("params"))
        if params is None or not isinstance(params.get("at"), str):
            return
        with self._lock:
            streams = [stream for stream in self._streams if name in stream.names]
        for stream in streams:
            stream.put(message)

    def on_end(self, connection: Connection, error: PosternError) -> None:
        with self._lock:
            streams = list(self._streams)
        for stream in streams:
            stream.interrupt(error)

    # Delegates

    def on_request(self, connection: Connection, message: Message) -> None:
        name, identifier = message["method"], message["id"]
        delegate = self.delegates.get(name)
        if delegate is None:
            answer = delegates.refused(identifier, -32601, "no such delegate", "method_not_found")
            connection.later(lambda: connection.answer(answer, Deadline(5)))
        elif not self._places.acquire(blocking=False):
            answer = delegates.refused(identifier, -32009, "too many delegate calls", "overloaded")
            connection.later(lambda: connection.answer(answer, Deadline(5)))
        else:
            arguments = (connection, delegate, name, message)
            threading.Thread(target=self._ask, args=arguments, name="postern-delegate", daemon=True).start()

    def _ask(self, connection: Connection, delegate: Callable[[Any], Any], name: str, message: Message) -> None:
        begun = time.monotonic()
        try:
            try:
                value = delegate(delegates.FORMS[name].read(message["params"]))
                answer = delegates.answered(message["id"], name, value)
            except Exception:
                log.exception("postern: the delegate for %s failed; the sidecar decides", name)
                answer = delegates.refused(message["id"], -32603, "the delegate failed", "internal_error")
            took = time.monotonic() - begun
            if took > self.delegate_seconds:
                log.warning("postern: the delegate for %s took %.0f s; the sidecar has decided", name, took)
                return
            connection.answer(answer, Deadline(30))
        except PosternError as error:
            log.warning("postern: the answer of the delegate for %s could not be sent: %s", name, error)
        finally:
            self._places.release()


class EventStream:
    """Events as an iterator. Ends when it is closed; goes on over reconnections.

    At most `size` events wait to be taken; the oldest are dropped over that, and the next one says how many (`lost`).
    """

    def __init__(self, names: frozenset[str], size: int, restore: Callable[[], None]) -> None:
        self.names = names
        self._restore = restore
        self._changed = threading.Condition()
        self._backlog = Backlog(names, size)
        self._interruption: PosternError | None = None
        self._closed = False
        self._on_close: Callable[[EventStream], None] | None = None

    def put(self, message: Message) -> None:
        with self._changed:
            self._backlog.put(message)
            self._changed.notify()

    def interrupt(self, error: PosternError) -> None:
        with self._changed:
            self._interruption = error
            self._backlog.mark_gap()
            self._changed.notify_all()

    def get(self, timeout: float | None = None) -> Event | None:
        """The next event; None when there is none in time, or the stream was closed."""
        deadline = Deadline(timeout)
        while True:
            with self._changed:
                if not self._changed.wait_for(self._has_news, min(deadline.left(), threading.TIMEOUT_MAX)):
                    return None
                if len(self._backlog):
                    return self._backlog.take()
                if self._closed:
                    return None
                error, self._interruption = self._interruption, None
            if isinstance(error, ClientClosed):
                self.close()
                raise error
            try:
                self._restore()
            except PosternError:
                with self._changed:
                    self._interruption = error  # the next call tries again
                raise

    def _has_news(self) -> bool:
        return bool(len(self._backlog)) or self._closed or self._interruption is not None

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        event = self.get()
        if event is None:
            raise StopIteration
        return event

    def on_close(self, action: Callable[[EventStream], None]) -> None:
        self._on_close = action

    def close(self) -> None:
        """No more events; who waits for one is let go."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        if self._on_close is not None:
            self._on_close(self)

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
