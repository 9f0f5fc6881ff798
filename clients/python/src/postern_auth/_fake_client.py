"""What a fake `Client` does in place of the real one.

Generated from _async_fake_client.py by tools/generate.py: do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, TypeVar

from ._arguments import without_body
from ._bodies import Body, Target
from ._calls import bounded, parameters, read
from ._fake import Asked, Core
from ._fake_bodies import head_of, whole, written
from ._faked import Faked
from ._limits import Deadline
from ._streams import ResourceStream
from .client import Client
from .errors import ClientClosed, PosternError
from .types import EventName, FetchResult

_Result = TypeVar("_Result")


class Answering(Faked, Client):
    """A `Client` that answers by itself.

    :param timeout: As with `Client`.
    """

    def __init__(self, *, timeout: float | None = 60.0) -> None:
        super().__init__("fake", timeout=timeout)
        self._core = Core(lambda: self._has_advice_delegate)

    def emit(self, name: EventName, **members: Any) -> None:
        """Sends an event to the program: `fake.emit("event.sessionEnded", session=handle)`.

        :param members: Its members, by the names of the protocol.
        """
        self._dispatch.publish(self._event(name, members))

    def call(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        traceparent: str | None = None,
    ) -> Any:
        """Calls a method by its name in the protocol and returns its result unchanged."""
        return self._answer(method, params, self._deadline(method, timeout), traceparent)

    def _answer(
        self, method: str, params: Mapping[str, Any] | None, deadline: Deadline, traceparent: str | None
    ) -> Any:
        if self._is_closed:
            raise ClientClosed("the client is closed", data={"outcome": "not_sent"})
        own, _ = bounded(parameters(method, params), deadline, traceparent)
        found = self._core.answer(method, own, deadline.seconds_or_none)
        while isinstance(found, Asked):
            found = found.decided(self._dispatch.satisfied(found.request))
        return found

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

    def _narrow(
        self,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: float | None,
        traceparent: str | None,
    ) -> _Result:
        return read("narrow", decode, self.call("narrow", params, timeout=timeout, traceparent=traceparent))
