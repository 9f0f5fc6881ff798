"""What a `Client` does in the same way, whatever keeps its connections.

Generated from _async_base.py by tools/generate.py: do not edit.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, Callable, TypeVar

from . import delegates
from ._bodies import Bodies, Body, Target, Unpassable, is_small, knows_bodies
from ._calls import CallRules, bounded, chosen_for, new_task, read
from ._connection import CannotPass, Connection
from ._dispatch import Dispatch
from ._endpoints import Endpoint
from ._exchange import lost
from ._limits import Deadline
from ._methods import Methods
from ._pending import Message
from ._retry import Retries
from ._rpc_over_http import RPCOverHTTP
from ._streams import Beginning, ResourceStream, blocking
from .errors import ClientClosed, ConnectionFailed, PosternError
from .types import CreatedEndpoint, DelegateName, EventName, FetchResult, Session, Subscription, Task

_Result = TypeVar("_Result")


class Asking:
    """Handler of the connections of streams: delegates, but no events."""

    def __init__(self, dispatch: Dispatch) -> None:
        self._dispatch = dispatch

    def on_request(self, connection: Connection, message: Message) -> None:
        self._dispatch.on_request(connection, message)

    def on_notification(self, connection: Connection, message: Message) -> None: ...

    def on_end(self, connection: Connection, error: PosternError) -> None: ...


class Home:
    """The connections of a client that are used together: those of one event loop, or of the threads of one process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.connecting = threading.Lock()
        self.connection: Connection | None = None
        self.retired: list[Connection] = []
        #: Streams, and bodies that go by descriptors, have connections of their own, which they share.
        self.streaming: list[Connection] = []
        #: When an attempt to connect failed last, and why.
        self.failure: tuple[float, PosternError] | None = None
        self.subscribed: set[str] = set()

    def connections(self) -> list[Connection]:
        return [one for one in (self.connection, *self.retired, *self.streaming) if one is not None]


class Base(CallRules[Dispatch], Methods):
    """Bodies, streams, lists, delegates, and what new connections get."""

    _http: RPCOverHTTP | None
    #: What `narrow` has given up, for connections to come.
    _narrowings: list[dict[str, Any]]

    # What keeps the connections

    def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Any:
        """Calls a method by its name in the protocol and returns its result unchanged."""
        raise NotImplementedError

    def _home(self) -> Home:
        """The connections to use here and now."""
        raise NotImplementedError

    def _connections(self) -> list[Connection]:
        """All of this process."""
        raise NotImplementedError

    def _connected(self, deadline: Deadline) -> Connection:
        raise NotImplementedError

    def _door(self, home: Home, deadline: Deadline) -> contextlib.AbstractContextManager[float]:
        """Admits one caller at a time, and none after the end. Yields the time of its arrival."""
        raise NotImplementedError

    def _connect(self, deadline: Deadline, asking: Asking | None) -> Connection:
        raise NotImplementedError

    @property
    def _is_closed(self) -> bool:
        raise NotImplementedError

    def _paused(self, seconds: float) -> bool:
        """Waits; returns True at once if the client was closed."""
        raise NotImplementedError

    def _bodies(self, params: dict[str, Any], body: Body | None, target: Target | None) -> Bodies:
        raise NotImplementedError

    # Calls

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
        with self._bodies(params, body, body_to) as bodies:
            try:
                if not bodies.descriptors or self._is_one_connection:
                    raise Unpassable
                result = self._passed(params, bodies, deadline, traceparent)
            except (Unpassable, CannotPass):
                whole = {**params, **blocking(bodies.inline, is_short=bodies.upload is None)}
                left = max(deadline.left(), 0.001)
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
                if pause is None or self._paused(pause):
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
            answer = connection.ask(
                "fetchResource", sent, left, deadline, slots, descriptors=descriptors, on_sent=bodies.offered
            )
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
            return knows_bodies(connection.ask("rpc.discover", {}, None, deadline))
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
            blocking(bodies.sink.write, result.content)
        else:
            meta = None if timeout == math.inf else max(1, int(timeout * 1000))
            with self._stream(params, None, timeout, traceparent, meta) as stream:
                while piece := stream.read(1 << 20):
                    blocking(bodies.sink.write, piece)
                    count += len(piece)
                result = stream.result
        return dataclasses.replace(result, body=None, body_base64=None, body_bytes=count)

    @property
    def _is_one_connection(self) -> bool:
        """Whether there are no streams, and no connections that descriptors go over."""
        return self._http is not None

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
        bodies = self._bodies(params, body, None)
        window = self._limits.reconnect
        beginning = Beginning(self._stream_connection, self._paused, plan.members, plan.patience, window, bodies=bodies)
        stream = ResourceStream(plan.task, plan.bound, plan.head_bound, beginning)
        beginning.begin(stream)
        return stream

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
    def _endpoint(
        self, params: dict[str, Any], timeout: float | None, traceparent: str | None
    ) -> Generator[Endpoint, None, None]:
        made = self._made_endpoint(params, timeout, traceparent)
        try:
            yield made
        finally:
            if made.descriptor is not None:
                with contextlib.suppress(OSError):
                    os.close(made.descriptor)
            with contextlib.suppress(PosternError):  # it has ended, or ends with the connection
                self.revoke_endpoint(made.id)

    def _made_endpoint(self, params: dict[str, Any], timeout: float | None, traceparent: str | None) -> Endpoint:
        answer = self.call("createEndpoint", params, timeout=timeout, traceparent=traceparent)
        return Endpoint.of(read("createEndpoint", CreatedEndpoint.from_json, answer))

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

        They may call this client, and are kept over reconnections. With an event loop, coroutine functions are awaited,
        and others are called in the loop and must not block; with threads, each is called in one of its own. What is
        not given, raises, or takes longer than the sidecar waits (180 s), is decided by the sidecar. `approve_call` is
        for calls through the endpoints that this client makes with `approval`; without an answer within 60 s: "no".
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

    def subscribe(
        self, events: Sequence[EventName], *, timeout: float | None = None, traceparent: str | None = None
    ) -> Subscription:
        """Subscribes this connection to the named events; `events` does this, too, and returns them."""
        subscription = super().subscribe(events, timeout=timeout, traceparent=traceparent)
        self._home().subscribed = set(subscription.subscribed)
        self._keep()
        return subscription

    def unsubscribe(
        self, events: Sequence[EventName], *, timeout: float | None = None, traceparent: str | None = None
    ) -> Subscription:
        """Stops the named events on this connection."""
        subscription = super().unsubscribe(events, timeout=timeout, traceparent=traceparent)
        self._home().subscribed = set(subscription.subscribed)
        return subscription

    def _keep(self) -> None:
        connection = self._home().connection
        if connection is not None:
            connection.keep()

    # Connections

    def _restore(self) -> None:
        self._connected(Deadline(self._limits.connect + self._limits.reconnect))

    def _stream_connection(self, deadline: Deadline, task: str) -> Connection:
        """Returns a connection with a slot for a stream of that name, and with the registered delegates."""
        home = self._home()
        with self._door(home, deadline) as begun:
            found, home.streaming = chosen_for(task, home.streaming)
            if found is None:
                found = self._made(home, begun, deadline, Asking(self._dispatch))
                self._narrow_again(found, deadline)
                found.reserve(task)
                home.streaming.append(found)
            try:
                wanted = frozenset(self._dispatch.delegates)
                if found.registered != wanted:
                    found.keep()
                    found.ask("registerDelegate", {"methods": sorted(wanted)}, None, deadline)
                    found.registered = wanted
            except BaseException:
                found.release(task)
                raise
            return found

    def _made(self, home: Home, begun: float, deadline: Deadline, asking: Asking | None) -> Connection:
        """Returns a new connection, for streams if there is an `asking`."""
        if home.failure is not None and home.failure[0] > begun:  # the attempt that this one waited for has failed
            raise lost(home.failure[1], "not_sent")
        try:
            connection = self._connect(deadline, asking)
        except ConnectionFailed as error:
            if deadline.left():  # not because of this caller's deadline
                home.failure = (time.monotonic(), error)
            raise
        self._was_there = True
        if self._is_closed:  # meanwhile
            connection.close(ClientClosed("the client was closed"))
        return connection

    def _introduce(self, connection: Connection, deadline: Deadline) -> None:
        """Registers delegates and subscriptions of the previous connection on a new one."""
        wishes = self._wishes(self._home().subscribed | self._dispatch.wanted())
        try:
            self._narrow_again(connection, deadline)
            if wishes:
                connection.keep()
            for method, params in wishes.items():
                connection.ask(method, params, None, deadline)
        except PosternError as error:
            connection.close(error)
            raise ConnectionFailed(
                f"{self.path}: {error.message}", data={"outcome": "not_sent", "retryable": True, "errno": None}
            ) from error
        except BaseException:
            connection.close(ClientClosed("interrupted while connecting"))
            raise

    def _narrow_again(self, connection: Connection, deadline: Deadline) -> None:
        """Gives up on a new connection what was given up before. Without that, the connection is not used."""
        try:
            for params in self._narrowings:
                connection.ask("narrow", params, None, deadline)
        except BaseException:
            connection.close(ClientClosed("the connection could not be narrowed"))
            raise

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
        with self._door(self._home(), deadline):
            # From now on new connections are narrowed, and those for streams are left.
            self._narrowings.append(params)
            for one in self._connections():
                one.is_leaving = True
        try:
            return read("narrow", decode, self.call("narrow", params, timeout=timeout, traceparent=traceparent))
        except PosternError as error:
            if error.data.get("outcome") in (None, "not_sent"):  # rejected, or not sent
                self._narrowings.remove(params)
            raise
