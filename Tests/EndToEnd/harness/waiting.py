"""Bounded waits."""
from __future__ import annotations

import time
from typing import Callable, TypeVar

Value = TypeVar("Value")


def eventually(check: Callable[[], Value], seconds: float = 10.0, what: str = "the condition") -> Value:
    """The first true value of `check`; an AssertionError when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {seconds} s")
        time.sleep(0.01)
