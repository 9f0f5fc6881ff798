"""Bodies and heads of a fake client's calls."""

from __future__ import annotations

import dataclasses
import io
import socket
from collections.abc import AsyncIterable, Mapping
from typing import Any

from . import _bodies
from ._bodies import AsyncBody, Body, Target
from ._chunks import ResponseHead
from ._wire import body_members
from .types import FetchResult


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
