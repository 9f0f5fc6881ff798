"""Fake clients for tests of your own code: no sidecar, no socket, no network.

>>> from postern_auth import FetchResult
>>> from postern_auth.testing import FakePostern
>>> fake = FakePostern()
>>> orders = fake.when.fetch_resource("orders", "orders").returns(FetchResult.of(200, json=["tea"]))
>>> fake.fetch_resource("orders", "orders").json()
['tea']
>>> len(orders.calls)
1

A fake is a `Client`, or an `AsyncClient`, and checks params and answers against the protocol's own description. With
pytest, the fixtures `postern` and `async_postern` are fresh fakes.
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import logging
import socket
from collections.abc import AsyncIterable, Mapping
from datetime import datetime, timezone
from typing import Any, Callable, TypeVar, cast

from . import _bodies
from ._arguments import without_body
from ._async_streams import AsyncResourceStream
from ._bodies import AsyncBody, Body, Target
from ._calls import bounded, parameters, read
from ._chunks import ResponseHead
from ._endpoints import Endpoint
from ._expectations import Expectations
from ._fake import Answer, Asked, Core, Expectation, FetchExpectation, InvalidAnswer, RecordedCall, UnexpectedCall
from ._limits import Deadline
from ._streams import ResourceStream
from ._wire import body_members, wire
from .aio import AsyncClient
from .client import Call, Client
from .delegates import ADVICE_RECEIVED
from .errors import ClientClosed, PosternError
from .events import checked
from .types import CreatedEndpoint, EventName, FetchResult, Session

_Result = TypeVar("_Result")

__all__ = [
    "Answer",
    "AsyncFakePostern",
    "Expectation",
    "FakePostern",
    "FetchExpectation",
    "InvalidAnswer",
    "RecordedCall",
    "UnexpectedCall",
]

log = logging.getLogger("postern_auth")


class _Fake:
    """What both fakes have in common."""

    _core: Core

    @property
    def when(self) -> Expectations:
        """Sets up answers: `fake.when.fetch_resource("orders").returns(FetchResult.of(200, json=[]))`."""
        return Expectations(self._core)

    @property
    def calls(self) -> list[RecordedCall]:
        """All calls of the program, in their order."""
        return list(self._core.calls)

    @property
    def sessions(self) -> list[Session]:
        """The users who are logged in, the oldest first."""
        return [Session.from_json(one) for one in self._core.sessions.values()]

    def add_session(self, subject: str, *, issuer: str = "fake", session: str | None = None) -> str:
        """Logs a user in, and returns the session's handle.

        :param session: The handle; default: a new one.
        """
        return str(self._core.new_session(subject, issuer, session)["session"])

    def expire_session(self, session: str) -> None:
        """From now on the issuer returns no more tokens for a session, so that its user has to log in again."""
        self._core.expired.add(session)

    def log_in_as(self, subject: str) -> None:
        """From now on logins of the program, by any method, are those of this user."""
        self._core.subject = subject

    def callback_url(self, authorization_url: str) -> str:
        """What the issuer and the user's browser do: the URL with which the browser comes back from a login."""
        return self._core.callback_url(authorization_url)

    def require_login(self, *resources: str) -> None:
        """From now on fetches of these resources need a session, as with `auth: user` in the configuration."""
        self._core.protected |= set(resources)

    def assert_all_called(self) -> None:
        """Fails if one of the answers that were set up was never given."""
        unused = [str(one) for one in self._core.expectations if not one.calls]
        if unused:
            raise AssertionError(f"set up, and never called: {', '.join(unused)}")

    def assert_nothing_unexpected(self) -> None:
        """Fails if there was a call without an answer. The fixtures do this after each test."""
        if self._core.unexpected:
            raise self._core.unexpected[0]

    def __reduce__(self) -> Any:
        raise TypeError("a fake cannot be copied: its calls and answers are those of one test")

    @staticmethod
    def _event(name: EventName, members: Mapping[str, Any]) -> dict[str, Any]:
        checked([name])
        now: str = wire(datetime.now(timezone.utc))
        return {"jsonrpc": "2.0", "method": name, "params": {"at": now, **members}}


class FakePostern(_Fake, Client):
    """A `Client` that answers by itself what a test has set up with `when`.

    :param timeout: As with `Client`.
    """

    def __init__(self, *, timeout: float | None = 60.0) -> None:
        super().__init__("fake", timeout=timeout)
        self._core = Core(lambda: self._has_advice_delegate)

    def emit(self, name: EventName, **members: Any) -> None:
        """Sends an event to the program: `fake.emit("event.sessionEnded", session=handle)`.

        :param members: Its members, by the names of the protocol.
        """
        self._dispatch.on_notification(cast("Any", None), self._event(name, members))

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
        return self._answer(method, params, deadline, traceparent)

    def _answer(
        self, method: str, params: Mapping[str, Any] | None, deadline: Deadline, traceparent: str | None
    ) -> Any:
        self._check_open()
        own, _ = bounded(parameters(method, params), deadline, traceparent)
        found = self._core.answer(method, own, deadline.seconds_or_none)
        while isinstance(found, Asked):
            found = found.decided(self._satisfied(found))
        return found

    def _satisfied(self, asked: Asked) -> bool | None:
        try:
            return self._dispatch.delegates[ADVICE_RECEIVED](asked.request) is True
        except Exception:
            log.exception("postern: the delegate for %s failed", ADVICE_RECEIVED)
            return None

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise ClientClosed("the client is closed", data={"outcome": "not_sent"})

    def start(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Call:
        """Makes the call at once; `result` of what it returns has the answer."""
        try:
            return _FinishedCall(self.call(method, params, timeout=timeout, traceparent=traceparent), None)
        except PosternError as error:
            return _FinishedCall(None, error)

    def cancel_request(self, identifier: int) -> None:
        """Does nothing: a call of the fake has always ended."""

    def _fetch(
        self,
        params: dict[str, Any],
        body: Body | None,
        body_to: Target | None,
        timeout: float | None,
        traceparent: str | None,
    ) -> FetchResult:
        own = {**params, **whole(body)}
        result = self._whole(own, timeout, traceparent)
        return result if body_to is None else written(result, params, body_to)

    def _stream(
        self,
        params: dict[str, Any],
        body: Body | None,
        timeout: float | None,
        traceparent: str | None,
        timeout_ms: int | None = None,
    ) -> ResourceStream:
        plan = self._stream_plan({**params, **whole(body)}, timeout, traceparent, timeout_ms)
        stream = ResourceStream(plan.task)
        try:
            answer = self._answer("fetchResource", plan.members, plan.patience, None)
        except PosternError as error:
            stream.fail(error)
            return stream
        stream.complete(head_of(answer), FetchResult.from_json(answer).content, without_body(answer))
        return stream

    def _made_endpoint(self, params: dict[str, Any], timeout: float | None, traceparent: str | None) -> Endpoint:
        if params.pop("descriptor", None):
            raise NotImplementedError("a fake has no endpoint with a descriptor: leave descriptor out")
        answer = self.call("createEndpoint", params, timeout=timeout, traceparent=traceparent)
        return Endpoint.of(CreatedEndpoint.from_json(answer))

    def _narrow(
        self,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: float | None,
        traceparent: str | None,
    ) -> _Result:
        return read("narrow", decode, self.call("narrow", params, timeout=timeout, traceparent=traceparent))


class AsyncFakePostern(_Fake, AsyncClient):
    """An `AsyncClient` that answers by itself what a test has set up with `when`.

    :param timeout: As with `AsyncClient`.
    """

    def __init__(self, *, timeout: float | None = 60.0) -> None:
        super().__init__("fake", timeout=timeout)
        self._core = Core(lambda: self._has_advice_delegate)

    def emit(self, name: EventName, **members: Any) -> None:
        """Sends an event to the program: `fake.emit("event.sessionEnded", session=handle)`.

        :param members: Its members, by the names of the protocol.
        """
        self._dispatch.publish(self._event(name, members))

    async def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Any:
        """Calls a method by its name in the protocol and returns its result unchanged."""
        return await self._answer(method, params, self._deadline(method, timeout), traceparent)

    async def _answer(
        self, method: str, params: Mapping[str, Any] | None, deadline: Deadline, traceparent: str | None
    ) -> Any:
        if self._is_closed:
            raise ClientClosed("the client is closed", data={"outcome": "not_sent"})
        own, _ = bounded(parameters(method, params), deadline, traceparent)
        found = self._core.answer(method, own, deadline.seconds_or_none)
        while isinstance(found, Asked):
            found = found.decided(await self._satisfied(found))
        return found

    async def _satisfied(self, asked: Asked) -> bool | None:
        try:
            value = self._dispatch.delegates[ADVICE_RECEIVED](asked.request)
            return (await value if inspect.isawaitable(value) else value) is True
        except Exception:
            log.exception("postern: the delegate for %s failed", ADVICE_RECEIVED)
            return None

    def cancel_request(self, identifier: int) -> None:
        """Does nothing: a call of the fake has always ended."""

    async def _fetch(
        self,
        params: dict[str, Any],
        body: AsyncBody | None,
        body_to: Target | None,
        timeout: float | None,
        traceparent: str | None,
    ) -> FetchResult:
        own = {**params, **await whole_async(body)}
        result = await self._whole(own, timeout, traceparent)
        return result if body_to is None else written(result, params, body_to)

    async def _stream(
        self,
        params: dict[str, Any],
        body: AsyncBody | None,
        timeout: float | None,
        traceparent: str | None,
        timeout_ms: int | None = None,
    ) -> AsyncResourceStream:
        plan = self._stream_plan({**params, **await whole_async(body)}, timeout, traceparent, timeout_ms)
        stream = AsyncResourceStream(plan.task)
        try:
            answer = await self._answer("fetchResource", plan.members, plan.patience, None)
        except PosternError as error:
            stream.fail(error)
            return stream
        stream.complete(head_of(answer), FetchResult.from_json(answer).content, without_body(answer))
        return stream

    async def _narrow(
        self,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: float | None,
        traceparent: str | None,
    ) -> _Result:
        return read("narrow", decode, await self.call("narrow", params, timeout=timeout, traceparent=traceparent))


class _FinishedCall(Call):
    def __init__(self, answer: Any, error: PosternError | None) -> None:
        self._answer, self._error = answer, error

    @property
    def identifier(self) -> int:
        return 0

    def done(self) -> bool:
        return True

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._answer

    def cancel(self) -> None: ...


def head_of(answer: Mapping[str, Any]) -> ResponseHead:
    """The head of the stream with that result."""
    return ResponseHead.from_json(dict(answer))


def whole(body: Body | None) -> dict[str, str]:
    """A body of any form as members of the params."""
    if body is None or isinstance(body, (str, bytes)):
        return body_members(body)
    if isinstance(body, socket.socket):
        return body_members(b"".join(iter(lambda: body.recv(1 << 16), b"")))
    with _bodies.Bodies({"method": "POST"}, body) as bodies:
        return bodies.everything()


async def whole_async(body: AsyncBody | None) -> dict[str, str]:
    """The same for asynchronous iterators."""
    if isinstance(body, AsyncIterable):
        gathered = io.BytesIO()
        async for piece in body:
            gathered.write(piece)
        return body_members(gathered.getvalue())
    return whole(body)


def written(result: FetchResult, params: dict[str, Any], target: Target) -> FetchResult:
    """The result of a fetch whose body goes into a file."""
    with _bodies.Bodies(params, None, target) as bodies:
        assert bodies.sink is not None
        bodies.sink.write(result.content)
    return dataclasses.replace(result, body=None, body_base64=None, body_bytes=len(result.content))
