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

from collections.abc import Mapping
from typing import Any

from ._async_fake_client import AsyncAnswering
from ._endpoints import Endpoint
from ._fake import Answer, Expectation, FetchExpectation, InvalidAnswer, RecordedCall, UnexpectedCall
from ._fake_client import Answering
from .client import Call
from .errors import PosternError

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


class FakePostern(Answering):
    """A `Client` that answers by itself what a test has set up with `when`.

    :param timeout: As with `Client`.
    """

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

    def _made_endpoint(self, params: dict[str, Any], timeout: float | None, traceparent: str | None) -> Endpoint:
        if "descriptor" in params:
            raise NotImplementedError("a fake has no endpoint with a descriptor: leave descriptor out")
        return super()._made_endpoint(params, timeout, traceparent)


class AsyncFakePostern(AsyncAnswering):
    """An `AsyncClient` that answers by itself what a test has set up with `when`.

    :param timeout: As with `AsyncClient`.
    """


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
