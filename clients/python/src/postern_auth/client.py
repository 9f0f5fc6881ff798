"""The blocking client."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Callable, Literal, TypeVar

from . import delegates
from ._address import Path, socket_path
from ._bodies import Bodies, Body, Target, Unpassable, is_small, knows_bodies
from ._calls import CallRules, bounded, chosen_for, new_task, parameters, read
from ._connection import CannotPass, Connection, seconds
from ._dial import PASSING, pauses
from ._dispatch import Asking, Dispatch, EventStream
from ._endpoints import Endpoint, adopted, inherited_descriptor, no_second, released
from ._exchange import lost
from ._limits import STREAMS_EACH, Deadline, Limits
from ._methods import Methods
from ._pending import Pending
from ._retry import Retries
from ._rpc_over_http import RPCOverHTTP, is_address, unavailable
from ._streams import Beginning, ResourceStream
from ._wire import present, wire
from .errors import ClientClosed, ConnectionFailed, DeadlineExceeded, PosternError, ProtocolViolation
from .events import checked
from .types import (
    CreatedEndpoint,
    DelegateName,
    EndpointRate,
    EventName,
    FetchResult,
    Session,
    Subscription,
    Task,
)

__all__ = ["Call", "Client"]

_Result = TypeVar("_Result")
_Client = TypeVar("_Client", bound="Client")
#: Locked while a client of a parent process is adopted by a forked child.
_adopting = threading.Lock()


def _reset_adopting() -> None:
    global _adopting  # noqa: PLW0603 - a thread of the parent may have locked it
    _adopting = threading.Lock()


os.register_at_fork(after_in_child=_reset_adopting)


class Client(CallRules[Dispatch], Methods):
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
        self._connection: Connection | None = None
        self._retired: list[Connection] = []
        #: Streams, and bodies that go by descriptors, have connections of their own, which they share.
        self._streaming: list[Connection] = []
        #: What `narrow` has given up, for connections to come.
        self._narrowings: list[dict[str, Any]] = []
        self._own = None if self._descriptor is None else adopted(self._descriptor)
        self._was_there = False
        self._subscribed: set[str] = set()
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
        self._connecting = threading.Lock()
        self._interest = threading.RLock()
        #: When an attempt to connect failed last, and why.
        self._failure: tuple[float, PosternError] | None = None
        closed, self._closed = self._closed.is_set(), threading.Event()
        if closed:
            self._closed.set()
        self._process = os.getpid()  # last: from now on other threads use them

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
        connection = self._connection
        if connection is not None:
            connection.cancel_request(identifier)

    def _invoke(
        self,
        method: str,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: float | None,
        traceparent: str | None,
    ) -> _Result:
        if method == "narrow":
            return self._narrow(params, decode, timeout, traceparent)
        return read(method, decode, self.call(method, params, timeout=timeout, traceparent=traceparent))

    # Bodies

    def _fetch(
        self,
        params: dict[str, Any],
        body: Body | None,
        body_to: Target | None,
        timeout: float | None,
        traceparent: str | None,
    ) -> FetchResult:
        if body_to is None and is_small(body):
            return self._whole({**params, **Bodies(params, body).inline()}, timeout, traceparent)
        deadline = self._deadline("fetchResource", timeout)
        with Bodies(params, body, body_to, has_delegate=self._has_advice_delegate) as bodies:
            try:
                if not bodies.descriptors or self._is_one_connection:
                    raise Unpassable
                result = self._passed(params, bodies, deadline, traceparent)
            except (Unpassable, CannotPass):
                left = max(deadline.left(), 0.001)
                whole = {**params, **bodies.inline()}
                if bodies.sink is None:
                    return self._whole(whole, left, traceparent)
                return self._collected(whole, bodies, left, traceparent)
            bodies.done()
        return result

    def _whole(self, params: dict[str, Any], timeout: float | None, traceparent: str | None) -> FetchResult:
        return self._invoke("fetchResource", params, FetchResult.from_json, timeout, traceparent)

    def _passed(
        self, params: dict[str, Any], bodies: Bodies, deadline: Deadline, traceparent: str | None
    ) -> FetchResult:
        """A fetch whose bodies go by descriptors; `Unpassable` when this sidecar does not take these."""
        own = {**params, **bodies.members}
        retries = Retries("fetchResource", own, deadline, self._limits.reconnect)
        key = new_task()
        while True:
            try:
                connection = self._stream_connection(deadline, key)
                answer = self._pass(connection, key, own, bodies, deadline, traceparent=traceparent)
                return read("fetchResource", FetchResult.from_json, answer)
            except PosternError as error:
                bodies.check(error)
                if bodies.may_go_inline(error):
                    raise Unpassable from error
                pause = retries.pause_after(error) if bodies.may_go_again else None
                if pause is None or self._closed.wait(pause):
                    raise

    def _pass(
        self,
        connection: Connection,
        key: str,
        params: dict[str, Any],
        bodies: Bodies,
        deadline: Deadline,
        *,
        traceparent: str | None,
    ) -> Any:
        """One attempt, on a connection with a slot for it."""
        if connection.knows_bodies is False:
            connection.release(key)
            raise Unpassable
        try:
            sent, left = bounded(params, deadline, traceparent)
            slots, descriptors = connection.slots, bodies.descriptors
            pending = connection.start("fetchResource", sent, left, deadline, None, slots, descriptors)
            bodies.offered()
            answer = connection.result(pending, deadline)
            connection.knows_bodies = True
        except PosternError as error:
            connection.is_leaving |= error.reason == "shutting_down"
            if connection.knows_bodies is None and bodies.suspects(error):
                connection.knows_bodies = self._knows_bodies(connection, deadline)
                if not connection.knows_bodies:
                    raise Unpassable from error
            raise
        finally:
            connection.streams.pop(key, None)
        return answer

    @staticmethod
    def _knows_bodies(connection: Connection, deadline: Deadline) -> bool:
        """Whether this sidecar has these members: its error for an unknown member is that of a wrong value."""
        try:
            return knows_bodies(connection.result(connection.start("rpc.discover", {}, None, deadline), deadline))
        except PosternError as error:
            if error.reason not in ("peer_forbidden", "method_not_found"):
                raise
            return False  # this caller may not call it, and messages work with every sidecar

    def _collected(
        self, params: dict[str, Any], bodies: Bodies, timeout: float, traceparent: str | None
    ) -> FetchResult:
        """The same for a body that comes in messages."""
        assert bodies.sink is not None
        count = 0
        if "continuation" in params or self._is_one_connection:
            result = self._whole(params, timeout, traceparent)
            count = len(result.content)
            bodies.sink.write(result.content)
        else:
            meta = None if timeout == math.inf else max(1, int(timeout * 1000))
            with self._stream(params, None, timeout, traceparent, meta) as stream:
                while piece := stream.read(1 << 20):
                    bodies.sink.write(piece)
                    count += len(piece)
                result = stream.result
        return dataclasses.replace(result, body=None, body_base64=None, body_bytes=count)

    @property
    def _is_one_connection(self) -> bool:
        """Whether there are no streams, and no connections that descriptors go over."""
        return self._descriptor is not None or self._http is not None

    def _stream(
        self,
        params: dict[str, Any],
        body: Body | None,
        timeout: float | None,
        traceparent: str | None,
        timeout_ms: int | None = None,
    ) -> ResourceStream:
        plan = self._stream_plan(params, timeout, traceparent, timeout_ms)
        if self._http is not None:
            self._http.check("fetchResource", plan.members)
        bodies = Bodies(params, body, has_delegate=self._has_advice_delegate)
        window = self._limits.reconnect
        beginning = Beginning(self._stream_connection, self._paused, plan.members, plan.patience, window, bodies=bodies)
        stream = ResourceStream(plan.task, plan.bound, plan.head_bound, beginning)
        beginning.begin(stream)
        return stream

    def _paused(self, seconds: float) -> bool:
        return self._closed.wait(seconds)

    # Lists

    def iter_sessions(
        self, *, limit: int | None = None, timeout: float | None = None, traceparent: str | None = None
    ) -> Iterator[Session]:
        """All sessions of this user, the oldest first: `list_sessions` in pages, each when it is needed.

        :param limit: The maximum number of entries in a page.
        :param timeout: For each page.
        """
        cursor: str | None = None
        while True:
            page = self.list_sessions(limit=limit, cursor=cursor, timeout=timeout, traceparent=traceparent)
            yield from page.sessions
            cursor = page.next_cursor
            if cursor is None:
                return

    def iter_tasks(
        self, *, limit: int | None = None, timeout: float | None = None, traceparent: str | None = None
    ) -> Iterator[Task]:
        """All tasks of this user, first those that run: `list_tasks` in pages, each when it is needed.

        :param limit: The maximum number of entries in a page.
        :param timeout: For each page.
        """
        cursor: str | None = None
        while True:
            page = self.list_tasks(limit=limit, cursor=cursor, timeout=timeout, traceparent=traceparent)
            yield from page.tasks
            cursor = page.next_cursor
            if cursor is None:
                return

    # Endpoints

    @contextlib.contextmanager
    def endpoint(
        self,
        *,
        resources: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        http_methods: Sequence[str] | None = None,
        paths: Sequence[str] | None = None,
        sessions: Sequence[str] | None = None,
        rate: EndpointRate | Mapping[str, Any] | None = None,
        concurrency: int | None = None,
        expires_in_ms: int | None = None,
        bind_to: Literal["connection"] | Mapping[str, int] | None = "connection",
        label: str | None = None,
        session: str | None = None,
        approval: Literal["ask"] | None = None,
        http: bool | None = None,
        descriptor: bool = False,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Generator[Endpoint, None, None]:
        """A socket for one child, which can do a part of what this client can; revoked at the end of the block.

        The lists are those of `create_endpoint`. It also ends with this connection, also when this process is killed,
        unless `bind_to` is another.

        :param session: The session of its calls, which need not name one then: a handle, or `only`, this user id's only
            live one now.
        :param descriptor: Whether it comes as a connected socket, too, for a child that cannot reach its path.
        """
        own = {
            "resources": resources,
            "methods": methods,
            "httpMethods": http_methods,
            "paths": paths,
            "sessions": sessions,
            "rate": wire(rate),
            "concurrency": concurrency,
            "expiresInMs": expires_in_ms,
            "bindTo": bind_to,
            "label": label,
            "session": session,
            "approval": approval,
            "http": http,
            "descriptor": True if descriptor else None,
        }
        made = self._made_endpoint(present(own), timeout, traceparent)
        try:
            yield made
        finally:
            if made.descriptor is not None:
                with contextlib.suppress(OSError):
                    os.close(made.descriptor)
            with contextlib.suppress(PosternError):  # it has ended, or ends with the connection
                self.revoke_endpoint(made.id)

    def _made_endpoint(self, params: dict[str, Any], timeout: float | None, traceparent: str | None) -> Endpoint:
        deadline = self._deadline("createEndpoint", timeout)
        if self._http is not None:
            self._http.check("createEndpoint", params)
            return Endpoint.of(CreatedEndpoint.from_json(self.call("createEndpoint", params, timeout=timeout)))
        connection = self._connected(deadline)
        slots = connection.take_slot("createEndpoint", deadline)
        sent, left = bounded(params, deadline, traceparent)
        pending = connection.start("createEndpoint", sent, left, deadline, None, slots)
        made = read("createEndpoint", CreatedEndpoint.from_json, connection.result(pending, deadline))
        if params.get("descriptor") is None:
            return Endpoint.of(made)
        if pending.descriptor is None:
            raise ProtocolViolation("no descriptor came with the endpoint", data={"outcome": "replied"})
        return Endpoint.of(made, pending.descriptor.take())

    def _narrow(
        self,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: float | None,
        traceparent: str | None,
    ) -> _Result:
        deadline = self._deadline("narrow", timeout)
        if self._http is not None:
            self._http.check("narrow", params)
        self._connected(deadline)  # whose narrowings are those of before
        with self._door(deadline):
            # From now on new connections are narrowed, and those for streams are left.
            self._narrowings.append(params)
            for one in self._streaming:
                one.is_leaving = True
        try:
            return read("narrow", decode, self.call("narrow", params, timeout=timeout, traceparent=traceparent))
        except PosternError as error:
            if error.data.get("outcome") in (None, "not_sent"):  # rejected, or not sent
                self._narrowings.remove(params)
            raise

    # Delegates and events

    def register_delegate(
        self,
        *,
        on_policy_advice_received: delegates.OnAdvice | None = None,
        evaluate_authorization_policy: delegates.EvaluatePolicy | None = None,
        update_request: delegates.UpdateRequest | None = None,
        evaluate_token_refresh: delegates.EvaluateRefresh | None = None,
        approve_call: delegates.ApproveCall | None = None,
        timeout: float | None = None,
    ) -> list[DelegateName]:
        """Registers callables for the sidecar's requests about this client's fetches, replacing earlier ones.

        Each is called in a thread of its own, and may call this client. It is kept over reconnections. What is not
        given, raises, or takes longer than the sidecar waits (180 s), is decided by the sidecar. `approve_call` is for
        calls through the endpoints that this client makes with `approval`; without an answer within 60 s: "no".
        """
        if self._http is not None:
            self._http.check("registerDelegate", {})
        self._dispatch.delegates = delegates.chosen(
            on_policy_advice_received,
            evaluate_authorization_policy,
            update_request,
            evaluate_token_refresh,
            approve_call,
        )
        answer = self.call("registerDelegate", {"methods": sorted(self._dispatch.delegates)}, timeout=timeout)
        self._keep()
        return read("registerDelegate", lambda result: list(result["registered"]), answer)

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

    def subscribe(
        self, events: Sequence[EventName], *, timeout: float | None = None, traceparent: str | None = None
    ) -> Subscription:
        """Subscribes this connection to the named events; `events` does this, too, and returns them."""
        subscription = super().subscribe(events, timeout=timeout, traceparent=traceparent)
        self._subscribed = set(subscription.subscribed)
        self._keep()
        return subscription

    def unsubscribe(
        self, events: Sequence[EventName], *, timeout: float | None = None, traceparent: str | None = None
    ) -> Subscription:
        """Stops the named events on this connection."""
        subscription = super().unsubscribe(events, timeout=timeout, traceparent=traceparent)
        self._subscribed = set(subscription.subscribed)
        return subscription

    def _keep(self) -> None:
        connection = self._connection
        if connection is not None:
            connection.keep()

    def _ended(self, stream: EventStream) -> None:
        self._dispatch.drop(stream)
        self._unsubscribe(stream.names)

    def _forgotten(self, stream: EventStream) -> None:
        self._dispatch.drop(stream)
        connection, names = self._connection, stream.names
        if connection is not None:
            connection.later(lambda: self._unsubscribe(names))

    def _unsubscribe(self, names: frozenset[str]) -> None:
        """Unsubscribes from events that no stream has subscribed to any more."""
        with self._interest:  # a stream that is opened now subscribes after this
            unwanted = names - self._dispatch.wanted()
            self._subscribed -= unwanted
            connection = self._connection
            if unwanted and connection is not None and connection.is_open and self._process == os.getpid():
                with contextlib.suppress(PosternError):  # a connection that has ended has no subscriptions
                    connection.start("unsubscribe", {"events": sorted(unwanted)}, None, Deadline(30))

    def _restore(self) -> None:
        self._connected(Deadline(self._limits.connect + self._limits.reconnect))

    # The connection

    def _connected(self, deadline: Deadline) -> Connection:
        connection = self._connection
        if connection is not None and connection.is_open and self._process == os.getpid():
            return connection
        with self._door(deadline) as begun:
            if self._connection is None or not self._connection.is_open:
                self._connection = None
                self._connection = self._made(begun, deadline, None)
            return self._connection

    def _stream_connection(self, deadline: Deadline, task: str) -> Connection:
        """Returns a connection with a slot for a stream of that name, and with the registered delegates."""
        with self._door(deadline) as begun:
            found, self._streaming = chosen_for(task, self._streaming)
            if found is None:
                found = self._made(begun, deadline, Asking(self._dispatch))
                self._narrow_again(found, deadline)
                found.reserve(task)
                self._streaming.append(found)
            try:
                wanted = frozenset(self._dispatch.delegates)
                if found.registered != wanted:
                    found.keep()
                    params = {"methods": sorted(wanted)}
                    found.result(found.start("registerDelegate", params, None, deadline), deadline)
                    found.registered = wanted
            except BaseException:
                found.release(task)
                raise
            return found

    def _adopt(self) -> None:
        """Resets the client in a forked child, which has none of its parent's threads."""
        with _adopting:
            if self._process == os.getpid():
                return
            for one in self._connections():
                one.forsake()
            self._connection, self._retired, self._streaming = None, [], []
            self._subscribed = set()
            self._dispatch.reset()
            self._reset()

    @contextlib.contextmanager
    def _door(self, deadline: Deadline) -> Generator[float, None, None]:
        """Admits one caller at a time, and none after the end. Yields the time of its arrival."""
        if self._http is not None:
            raise unavailable("this")
        if self._process != os.getpid():
            self._adopt()
        begun = time.monotonic()
        if not self._connecting.acquire(timeout=seconds(deadline.left())):
            raise DeadlineExceeded("no connection in time", data={"outcome": "not_sent"})
        try:
            if self._closed.is_set():
                raise ClientClosed("the client is closed", data={"outcome": "not_sent"})
            yield begun
        finally:
            self._connecting.release()

    def _made(self, begun: float, deadline: Deadline, asking: Asking | None) -> Connection:
        """Returns a new connection, for streams if there is an `asking`."""
        if self._failure is not None and self._failure[0] > begun:  # the attempt that this one waited for has failed
            raise lost(self._failure[1], "not_sent")
        try:
            connection = self._connect(deadline, asking)
        except ConnectionFailed as error:
            if deadline.left():  # not because of this caller's deadline
                self._failure = (time.monotonic(), error)
            raise
        self._was_there = True
        if self._closed.is_set():  # meanwhile
            connection.close(ClientClosed("the client was closed"))
        return connection

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

    def _introduce(self, connection: Connection, deadline: Deadline) -> None:
        """Registers delegates and subscriptions of the previous connection on a new one."""
        wishes = self._wishes(self._subscribed | self._dispatch.wanted())
        try:
            self._narrow_again(connection, deadline)
            if wishes:
                connection.keep()
            for method, params in wishes.items():
                connection.result(connection.start(method, params, None, deadline), deadline)
        except PosternError as error:
            connection.close(error)
            raise ConnectionFailed(
                f"{self.path}: {error.message}", data={"outcome": "not_sent", "retryable": True, "errno": None}
            ) from error

    def _narrow_again(self, connection: Connection, deadline: Deadline) -> None:
        """Gives up on a new connection what was given up before. Without that, the connection is not used."""
        try:
            for params in self._narrowings:
                connection.result(connection.start("narrow", params, None, deadline), deadline)
        except PosternError as error:
            connection.close(error)
            raise

    def _retire(self, connection: Connection | None) -> None:
        """Sends no more requests on the connection, which still receives responses."""
        with self._connecting:
            if connection is not None and self._connection is connection:
                self._connection = None
                self._retired = [one for one in self._retired if one.is_open] + [connection]
                connection.keep()  # a thread has to detect its end

    # The end

    def _connections(self) -> list[Connection]:
        return [one for one in (self._connection, *self._retired, *self._streaming) if one is not None]

    def close(self) -> None:
        """Closes the connection; its waiting calls end with `ClientClosed`."""
        if self._process != os.getpid():
            self._adopt()
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
        if not hasattr(self, "_process"):
            return  # its initializer failed
        connections = [one for one in self._connections() if one.is_open]
        if self._process != os.getpid():
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
