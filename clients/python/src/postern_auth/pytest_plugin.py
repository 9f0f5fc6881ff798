"""The fixtures `postern` and `async_postern` for pytest: a fresh fake for each test."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # pytest loads this module in every run
    from .testing import AsyncFakePostern, FakePostern

#: Whether the test itself has failed, so that its unexpected calls are known.
_has_failed = pytest.StashKey[bool]()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Notes whether the test has failed."""
    outcome = yield
    if call.when == "call":
        item.stash[_has_failed] = bool(outcome.get_result().failed)


def _check(request: pytest.FixtureRequest, fake: FakePostern | AsyncFakePostern) -> None:
    item: pytest.Item = request.node
    if not item.stash.get(_has_failed, False):
        fake.assert_nothing_unexpected()


@pytest.fixture
def postern(request: pytest.FixtureRequest) -> Generator[FakePostern, None, None]:
    """A `FakePostern`. The test fails if there was a call without an answer, also if the program caught the error."""
    from .testing import FakePostern

    fake = FakePostern()
    yield fake
    _check(request, fake)


@pytest.fixture
def async_postern(request: pytest.FixtureRequest) -> Generator[AsyncFakePostern, None, None]:
    """An `AsyncFakePostern`. The test fails if there was a call without an answer, also if the program caught it."""
    from .testing import AsyncFakePostern

    fake = AsyncFakePostern()
    yield fake
    _check(request, fake)
