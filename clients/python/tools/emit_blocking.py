"""Blocking modules from asynchronous ones."""

from __future__ import annotations

import re

#: What has another name, or another form, in a blocking module. Each is applied to the whole text, in this order.
RULES = [
    (r"\bawait (\w+)\.(head|result)\(\)", r"\1.\2"),  # properties of a `ResourceStream`
    (r"\bawait ", ""),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\basync_auth_flow\b", "sync_auth_flow"),
    (r"\bhttpx\.AsyncByteStream\b", "httpx.SyncByteStream"),
    (r"\bAsyncGenerator\[([\w.]+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsyncGenerator\[([\w.]+, [\w.]+)\]", r"Generator[\1, None]"),
    (r"\bAbstractAsync(?=ContextManager)", "Abstract"),
    (r"\b([Aa])n (`?)Async(?=[A-Z])", r"\1 \2"),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\b(\w*)_async(?=_|\b)", r"\1"),
    (r"\basync(contextmanager)\b", r"\1"),
    (r"\basyncio\b", "threading"),
    (r"\b__a(enter|exit|iter)__\b", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\.aio\b", ".client"),
]


def blocking(source: str) -> str:
    """The blocking twin of asynchronous code."""
    for pattern, replacement in RULES:
        source = re.sub(pattern, replacement, source)
    return source


def blocking_module(source: str, name: str) -> str:
    """The blocking twin of an asynchronous module of that name."""
    title, quotes, rest = blocking(source).partition('"""\n')
    return f"{title}\n\nGenerated from {name} by tools/generate.py: do not edit.\n{quotes}{rest}"
