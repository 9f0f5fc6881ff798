"""Requests and notifications of the sidecar, for the blocking client."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from typing import Any, Callable

from . import delegates
from ._connection import Connection
from ._limits import DELEGATE_CALLS, DELEGATE_SECONDS, Deadline
from ._pending import Message
from ._slots import serving
from ._wire import members
from .errors import ClientClosed, PosternError, inherited
from .events import Backlog, Event

log = logging.getLogger("postern_auth")


class Dispatch:
    """Delegates and event streams of a client; outlives its connections."""

    def __init__(self) -> None:
        self.delegates: dict[str, Callable[[Any], Any]] = {}
        self.delegate_seconds = DELEGATE_SECONDS
        self.reset()

    def reset(self) -> None:
        """In a forked child: replaces locks that the parent may never release, and drops its streams."""
        self._slots = threading.BoundedSemaphore(DELEGATE_CALLS)
        self._lock = threading.RLock()  # re-entrant: the garbage collector may drop a stream at any point
        # Weak references: a stream that the program has dropped is not filled for ever.
        self._streams: dict[int, tuple[frozenset[str], weakref.ref[EventStream]]] = {}

    # Events

    def open(self, stream: EventStream) -> None:
        with self._lock:
            self._streams[id(stream)] = (stream.names, weakref.ref(stream))

    def drop(self, stream: EventStream) -> None:
        with self._lock:
            self._streams.pop(id(stream), None)

    def wanted(self) -> frozenset[str]:
        """The events that any stream has subscribed to."""
        with self._lock:
            return frozenset(name for names, _ in self._streams.values() for name in names)

    def _about(self, name: str | None = None) -> list[EventStream]:
        with self._lock:
            found = [stream() for names, stream in self._streams.values() if name is None or name in names]
        return [stream for stream in found if stream is not None]

    def end(self) -> None:
        """The client was closed."""
        for stream in self._about():
            stream.interrupt(ClientClosed("the client was closed"))

    def on_notification(self, connection: Connection, message: Message) -> None:
        name, params = message["method"], members(message.get("params"))
        if params is None or not isinstance(params.get("at"), str):
            return
        for stream in self._about(name):
            stream.put(message)

    def publish(self, message: Message) -> None:
        """Gives an event to all streams. Of a fake, which has no connection."""
        for stream in self._about(message["method"]):
            stream.put(message)

    def on_end(self, connection: Connection, error: PosternError) -> None:
        for stream in self._about():
            stream.interrupt(error)

    # Delegates

    def on_request(self, connection: Connection, message: Message) -> None:
        name, identifier = message["method"], message["id"]
        delegate = self.delegates.get(name)
        if delegate is None:
            connection.answer_later(delegates.rejection(identifier, -32601, "no such delegate", "method_not_found"))
        elif not self._slots.acquire(blocking=False):
            connection.answer_later(delegates.rejection(identifier, -32009, "too many delegate calls", "overloaded"))
        else:
            arguments = (connection, delegate, name, message)
            threading.Thread(target=self._ask, args=arguments, name="postern-delegate", daemon=True).start()

    def satisfied(self, request: delegates.AdviceReceived) -> bool | None:
        """Whether the delegate has policy advice satisfied; None when it fails. Of a fake, which has no connection."""
        try:
            answer = self.delegates[delegates.ADVICE_RECEIVED](request)
            return answer is True or isinstance(answer, str)
        except Exception:
            log.exception("postern: the delegate for %s failed", delegates.ADVICE_RECEIVED)
            return None

    def _ask(self, connection: Connection, delegate: Callable[[Any], Any], name: str, message: Message) -> None:
        begun = time.monotonic()
        serving.set(True)
        try:
            try:
                value = delegate(delegates.FORMS[name].read(message["params"]))
                answer = delegates.answered(message["id"], name, value)
            except Exception:
                log.exception("postern: the delegate for %s failed; the sidecar decides", name)
                answer = delegates.rejection(message["id"], -32603, "the delegate failed", "internal_error")
            took = time.monotonic() - begun
            if took > self.delegate_seconds:
                log.warning("postern: the delegate for %s took %.0f s; the sidecar has decided", name, took)
                return
            connection.answer(answer, Deadline(30))
        except PosternError as error:
            log.warning("postern: the result of the delegate for %s could not be sent: %s", name, error)
        finally:
            self._slots.release()


class EventStream:
    """Events as an iterator. Ends when it is closed; continues after reconnections.

    At most `size` events are buffered; the oldest are dropped beyond that, and `lost` of the next one is their number.

    :param restore: Connects again.
    :param on_close: Called when the stream was closed.
    :param on_drop: Called instead when it was garbage-collected without having been closed: must not wait.
    """

    def __init__(
        self,
        names: frozenset[str],
        size: int,
        restore: Callable[[], None],
        on_close: Callable[[EventStream], None],
        on_drop: Callable[[EventStream], None],
    ) -> None:
        self._closed = True
        self._process = os.getpid()
        self.names = names
        self._restore = restore
        self._on_close = on_close
        self._on_drop = on_drop
        self._changed = threading.Condition()
        self._backlog = Backlog(names, size)
        self._interruption: PosternError | None = None
        self._closed = False

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
        if self._process != os.getpid():
            raise inherited("these are events")
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
                    self._interruption = error  # the next call retries
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

    def close(self) -> None:
        """Stops the events; a waiting `get` returns."""
        if self._process != os.getpid():
            self._closed = True
            return
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._changed.notify_all()
        self._on_close(self)

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and not sys.is_finalizing() and self._process == os.getpid():
            self._closed = True
            warnings.warn("unclosed postern_auth.EventStream", ResourceWarning, source=self, stacklevel=2)
            self._on_drop(self)
