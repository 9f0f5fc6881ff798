"""The blocking client."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
from collections.abc import Generator, Mapping
from typing import Any, TypeVar

from ._address import Path, socket_path
from ._base import Asking, Base, Home
from ._bodies import Bodies, Body, Target
from ._calls import bounded, parameters, read
from ._connection import Connection, seconds
from ._dial import PASSING, pauses
from ._dispatch import Dispatch, EventStream
from ._endpoints import Endpoint, adopted, inherited_descriptor, no_second, released
from ._limits import STREAMS_EACH, Deadline, Limits
from ._pending import Pending
from ._retry import Retries
from ._rpc_over_http import RPCOverHTTP, is_address, unavailable
from .errors import ClientClosed, ConnectionFailed, DeadlineExceeded, PosternError, ProtocolViolation
from .events import checked
from .types import (
    CreatedEndpoint,
)

__all__ = ["Call", "Client"]

_Client = TypeVar("_Client", bound="Client")
#: Locked while a client of a parent process is adopted by a forked child.
_adopting = threading.Lock()


def _reset_adopting() -> None:
    global _adopting  # noqa: PLW0603 - a thread of the parent may have locked it
    _adopting = threading.Lock()


os.register_at_fork(after_in_child=_reset_adopting)


class Client(Base):
    """Calls the sidecar over one connection, from any number of threads.

    The connection is established with the first call, and again after it was lost. A call whose connection is lost is
    retried if it was certainly not sent, or only reads; otherwise `ConnectionLost` is raised with the outcome
    `unknown`.

    :param path: The socket, or for development `http://127.0.0.1:PORT` with the key in $POSTERN_KEY_FILE; default: the
        connection of $POSTERN_FD, $POSTERN_SOCKET, $XDG_RUNTIME_DIR/postern.sock, /run/postern/postern.sock.
    :param timeout: Seconds that a call without its own timeout may take; None: no limit.
    :param limits: Limits of sizes, and timeouts for connecting.
    """

    def __init__(self, path: Path | None = None, *, timeout: float | None = 60.0, limits: Limits | None = None) -> None:
        Deadline(timeout)
        self._descriptor = inherited_descriptor() if path is None else None
        self.path = socket_path(path) if self._descriptor is None else f"descriptor {self._descriptor}"
        self.timeout = timeout
        self._limits = limits or Limits()
        self._http = RPCOverHTTP(self.path, self._limits) if is_address(self.path) else None
        self._dispatch = Dispatch()
        self._narrowings = []
        self._own = None if self._descriptor is None else adopted(self._descriptor)
        self._was_there = False
        self._closed = threading.Event()
        self._reset()

    @classmethod
    def from_descriptor(cls, descriptor: int, *, timeout: float | None = 60.0, limits: Limits | None = None) -> Client:
        """A client over a connected socket, such as an endpoint's, which is the client's from now on.

        It is one connection: there are no streams, and none after it has ended.
        """
        client = cls(f"descriptor {descriptor}", timeout=timeout, limits=limits)
        client._own, client._descriptor = adopted(descriptor), descriptor
        return client

    def _reset(self) -> None:
        """Creates the locks of this process: those of a forked child's parent are never released."""
        self._interest = threading.RLock()
        closed, self._closed = self._closed.is_set(), threading.Event()
        if closed:
            self._closed.set()
        self._here = Home()  # last: from now on other threads use them

    # Calls

    def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Any:
        """Calls a method by its name in the protocol and returns its result unchanged."""
        deadline = self._deadline(method, timeout)
        own = parameters(method, params)
        if self._http is not None:
            return self._http.start(method, own, deadline, traceparent).run()
        retries: Retries | None = None
        while True:
            connection: Connection | None = None
            try:
                connection = self._connected(deadline)
                slots = connection.take_slot(method, deadline)
                sent, left = bounded(own, deadline, traceparent)
                return connection.result(connection.start(method, sent, left, deadline, None, slots), deadline)
            except PosternError as error:
                retries = retries or Retries(method, own, deadline, self._limits.reconnect)
                pause = retries.pause_after(error)
                if error.reason == "shutting_down":
                    self._retire(connection)
                if pause is None or self._closed.wait(pause):
                    raise

    def start(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Call:
        """Sends a request and does not wait for its response. Such a call is never retried."""
        deadline = self._deadline(method, timeout)
        own = parameters(method, params)
        if self._http is not None:
            raise unavailable("start", "use call in a thread")
        connection = self._connected(deadline)
        connection.keep()
        slots = connection.take_slot(method, deadline)
        sent, left = bounded(own, deadline, traceparent)
        return Call(connection, connection.start(method, sent, left, deadline, None, slots), deadline)

    def cancel_request(self, identifier: int) -> None:
        """Ends the request of that id (`Call.identifier`) on this connection: it raises `Cancelled`."""
        connection = self._here.connection
        if connection is not None:
            connection.cancel_request(identifier)

    def _bodies(self, params: dict[str, Any], body: Body | None, target: Target | None) -> Bodies:
        return Bodies(params, body, target, has_delegate=self._has_advice_delegate)

    @property
    def _is_one_connection(self) -> bool:
        return self._descriptor is not None or super()._is_one_connection

    # Endpoints

    def _made_endpoint(self, params: dict[str, Any], timeout: float | None, traceparent: str | None) -> Endpoint:
        if self._http is not None or "descriptor" not in params:
            return super()._made_endpoint(params, timeout, traceparent)
        deadline = self._deadline("createEndpoint", timeout)
        connection = self._connected(deadline)
        slots = connection.take_slot("createEndpoint", deadline)
        sent, left = bounded(params, deadline, traceparent)
        pending = connection.start("createEndpoint", sent, left, deadline, None, slots)
        made = read("createEndpoint", CreatedEndpoint.from_json, connection.result(pending, deadline))
        if pending.descriptor is None:
            raise ProtocolViolation("no descriptor came with the endpoint", data={"outcome": "replied"})
        return Endpoint.of(made, pending.descriptor.take())

    # Delegates and events

    def events(self, *names: str, size: int = 256) -> EventStream:
        """The named events from now on, all without a name, as an iterator to be closed after use.

        :param names: `event.sessionEnded` or `sessionEnded`.
        :param size: How many events are buffered; beyond that the oldest are dropped and counted.
        """
        stream = EventStream(checked(names), size, self._restore, self._ended, self._forgotten)
        with self._interest:
            self._dispatch.open(stream)
        try:
            self.subscribe(sorted(stream.names))  # type: ignore[arg-type]
        except BaseException:
            stream.close()
            raise
        return stream

    def _ended(self, stream: EventStream) -> None:
        self._dispatch.drop(stream)
        self._unsubscribe(stream.names)

    def _forgotten(self, stream: EventStream) -> None:
        self._dispatch.drop(stream)
        connection, names = self._here.connection, stream.names
        if connection is not None:
            connection.later(lambda: self._unsubscribe(names))

    def _unsubscribe(self, names: frozenset[str]) -> None:
        """Unsubscribes from events that no stream has subscribed to any more."""
        with self._interest:  # a stream that is opened now subscribes after this
            home, unwanted = self._here, names - self._dispatch.wanted()
            home.subscribed -= unwanted
            connection = home.connection
            if unwanted and connection is not None and connection.is_open and home.process == os.getpid():
                with contextlib.suppress(PosternError):  # a connection that has ended has no subscriptions
                    connection.start("unsubscribe", {"events": sorted(unwanted)}, None, Deadline(30))

    # The connection

    @property
    def _is_closed(self) -> bool:
        return self._closed.is_set()

    def _paused(self, seconds: float) -> bool:
        return self._closed.wait(seconds)

    def _home(self) -> Home:
        if self._here.process != os.getpid():
            self._adopt()
        return self._here

    def _connected(self, deadline: Deadline) -> Connection:
        home = self._here
        connection = home.connection
        if connection is not None and connection.is_open and home.process == os.getpid():
            return connection
        home = self._home()
        with self._door(home, deadline) as begun:
            if home.connection is None or not home.connection.is_open:
                home.connection = None
                home.connection = self._made(home, begun, deadline, None)
            return home.connection

    def _adopt(self) -> None:
        """Resets the client in a forked child, which has none of its parent's threads."""
        with _adopting:
            if self._here.process == os.getpid():
                return
            for one in self._connections():
                one.forsake()
            self._dispatch.reset()
            self._reset()

    @contextlib.contextmanager
    def _door(self, home: Home, deadline: Deadline) -> Generator[float, None, None]:
        if self._http is not None:
            raise unavailable("this")
        begun = time.monotonic()
        if not home.connecting.acquire(timeout=seconds(deadline.left())):
            raise DeadlineExceeded("no connection in time", data={"outcome": "not_sent"})
        try:
            if self._closed.is_set():
                raise ClientClosed("the client is closed", data={"outcome": "not_sent"})
            yield begun
        finally:
            home.connecting.release()

    def _connect(self, deadline: Deadline, asking: Asking | None) -> Connection:
        """Connects. Waits for a sidecar that was connected before: it may be restarting."""
        if self._descriptor is not None:
            return self._first(asking, deadline)
        window = Deadline(self._limits.reconnect) if self._was_there and self._limits.reconnect > 0 else None
        for pause in pauses():
            try:
                if asking is not None:
                    return Connection(self.path, self._limits, asking, STREAMS_EACH, bodies=True)
                connection = Connection(self.path, self._limits, self._dispatch)
                self._introduce(connection, deadline)
                return connection
            except ConnectionFailed as error:
                left = min(window.left() if window else 0.0, deadline.left())
                if error.data.get("errno") not in PASSING or left <= 0 or self._closed.wait(min(pause, left)):
                    raise
        raise AssertionError("unreachable")

    def _first(self, asking: Asking | None, deadline: Deadline) -> Connection:
        """The connection of a descriptor, once."""
        assert self._descriptor is not None
        if asking is not None or self._own is None:
            raise no_second(self._descriptor)
        own, self._own = self._own, None
        connection = Connection(self.path, self._limits, self._dispatch, own=own)
        self._introduce(connection, deadline)
        return connection

    def _retire(self, connection: Connection | None) -> None:
        """Sends no more requests on the connection, which still receives responses."""
        home = self._here
        with home.connecting:
            if connection is not None and home.connection is connection:
                home.connection = None
                home.retired = [one for one in home.retired if one.is_open] + [connection]
                connection.keep()  # a thread has to detect its end

    # The end

    def _connections(self) -> list[Connection]:
        return self._here.connections()

    def close(self) -> None:
        """Closes the connection; its waiting calls end with `ClientClosed`."""
        self._home()  # those of the parent process are not a forked child's to close
        self._closed.set()
        own, self._own = self._own, None
        if own is not None:
            own.close()
        if self._descriptor is not None:
            released(self._descriptor)
        if self._http is not None:
            self._http.close()
        for connection in self._connections():
            connection.close(ClientClosed("the client was closed"))
        self._dispatch.end()

    def __enter__(self: _Client) -> _Client:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not hasattr(self, "_here"):
            return  # its initializer failed
        connections = [one for one in self._connections() if one.is_open]
        if self._here.process != os.getpid():
            for one in connections:
                one.forsake()
        elif connections:
            warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
            for one in connections:
                one.close(ClientClosed("the client was dropped"))


class Call:
    """A request in progress, returned by `Client.start`."""

    def __init__(self, connection: Connection, pending: Pending, deadline: Deadline) -> None:
        self._connection = connection
        self._pending = pending
        self._deadline = deadline

    @property
    def identifier(self) -> int:
        """Its id on the connection."""
        return self._pending.identifier

    def done(self) -> bool:
        """Whether there is an answer."""
        return self._pending.is_settled

    def result(self) -> Any:
        """Waits for the answer; raises its error."""
        return self._connection.result(self._pending, self._deadline)

    def cancel(self) -> None:
        """Cancels the call; `result` raises `Cancelled`, unless it was already complete."""
        self._connection.cancel_request(self._pending.identifier)
