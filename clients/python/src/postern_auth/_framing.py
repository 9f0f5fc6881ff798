"""Messages on the wire: one JSON text a line, or frames with a header.

The contract knows two framings. Calls use the one of lines: an answer is found by one search for a line feed that runs
in C, one read often holds several answers, and a person can follow it with socat. A message's length is not known
beforehand, therefore what is not yet a line is bounded here. Connections for bodies use headers, because only there
the pieces of a body come as they are, without JSON and base64.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast
from urllib.parse import unquote_to_bytes

from ._limits import DEPTH
from .errors import ProtocolViolation, RequestError

#: The sidecar's integers have 64 bits.
_INTEGERS = 1 << 63
#: The most bytes of a header block, with its empty line.
_HEADER_BYTES = 4096
_DIGITS = 12


class Piece(NamedTuple):
    """A piece of a body that came as a frame."""

    task: str
    data: bytes


def _other(value: Any) -> Any:
    to_json = getattr(value, "to_json", None)
    if to_json is not None:
        return to_json()
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise TypeError(f"{type(value).__name__} cannot be represented in JSON")


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_other).encode
_decode = json.JSONDecoder().raw_decode


def encoded(message: Any, limit: int | None = None) -> bytes:
    """The line of a message. Values that the sidecar would reject are rejected here, where the caller is known."""
    return _checked(_text(message) + "\n", limit)


def _text(value: Any) -> str:
    _check(value)
    return _encode(value)


def _check(value: Any, depth: int = 1) -> None:
    """Rejects values that the sidecar cannot parse: its error has no id, which makes all other calls uncertain."""
    if value is None or isinstance(value, (str, float)):
        return
    if isinstance(value, int):
        if not -_INTEGERS <= value < _INTEGERS:
            raise rejection("an integer of more than 64 bits")
    elif isinstance(value, dict):
        _check_level(depth)
        _check_names(value)  # pyright: ignore[reportUnknownArgumentType]
        for member in cast("Mapping[Any, Any]", value).values():
            _check(member, depth + 1)
    elif isinstance(value, (list, tuple)):
        _check_level(depth)
        for member in cast("Sequence[Any]", value):
            _check(member, depth + 1)
    else:
        _check(_other(value), depth)


def _check_level(depth: int) -> None:
    if depth >= DEPTH:
        raise rejection("nested too deeply")


def _check_names(members: dict[Any, Any]) -> None:
    is_other = False
    for name in members:
        if not isinstance(name, str):
            is_other = True
        elif "\0" in name:
            raise rejection("U+0000 in the name of a member")
    # 1 and "1" are one name in JSON.
    if is_other and len({_encode({name: None}) for name in members}) < len(members):
        raise rejection("two members of one name")


def _checked(text: str, limit: int | None) -> bytes:
    line = text.encode()
    if limit is not None and len(line) > limit:
        raise RequestError(
            f"the request has {len(line)} bytes, more than {limit}",
            -32007,
            {"reason": "message_too_large", "limitBytes": limit, "outcome": "not_sent"},
        )
    return line


def request(
    identifier: int, method: str, params: Mapping[str, Any], limit: int, timeout_ms: int | None = None
) -> bytes:
    """The line of a request. `timeout_ms` becomes its `meta`, for params that have none."""
    text = _text(params) if params else "{}"
    if timeout_ms is not None:  # composing text is faster than copying the params
        text = f'{text[:-1]}{"," if params else ""}"meta":{{"timeoutMs":{timeout_ms}}}}}'
    return _checked(f'{{"jsonrpc":"2.0","id":{identifier},"method":{_quoted(method)},"params":{text}}}\n', limit)


@functools.lru_cache(maxsize=256)
def _quoted(method: str) -> str:
    return _encode(method)


def notification(method: str, params: Mapping[str, Any]) -> bytes:
    return encoded({"jsonrpc": "2.0", "method": method, "params": params})


def rejection(why: str) -> RequestError:
    return RequestError(why, -32602, {"reason": "invalid_params", "outcome": "not_sent"})


def most_values(line: bytes) -> int:
    """An upper bound of the number of JSON values in a line: one follows each of these characters."""
    return 1 + line.count(b",") + line.count(b":") + line.count(b"[") + line.count(b"{")


def decoded(line: bytes) -> dict[str, Any]:
    """The message of a line."""
    try:
        text = line.decode()
        message: dict[str, Any]
        message, end = _decode(text)
        if type(message) is dict and (end + 1 >= len(text) or not text[end:].strip()):
            return message
    except (ValueError, RecursionError):
        pass
    raise ProtocolViolation("a message from the socket is no JSON-RPC message")


class Lines:
    """Splits the received bytes into lines. A line over `limit` bytes is a violation."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that end in `data`, without their line feeds."""
        if not self._begun and data.find(b"\n") == len(data) - 1 <= self._limit:
            return [data]
        *ended, rest = data.split(b"\n")
        if ended:
            self._begun.append(ended[0])
            ended[0] = b"".join(self._begun)
            self._begun, self._size = [], 0
        if rest:
            self._begun.append(rest)
            self._size += len(rest)
        if self._size > self._limit or any(len(line) > self._limit for line in ended):
            raise ProtocolViolation(f"a message of more than {self._limit} bytes came from the socket")
        return [line for line in ended if line]

    @property
    def is_within(self) -> bool:
        """Whether a line is incomplete."""
        return self._size > 0


def framed(line: bytes) -> bytes:
    """The frame of a message's line."""
    return b"".join((b"Content-Length: %d\r\n\r\n" % (len(line) - 1), memoryview(line)[:-1]))


class Frames:
    """Splits the received bytes into frames. A frame over `limit` bytes is a violation."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        #: The beginning of a header block.
        self._header = b""
        #: What has come of a frame's content, how much of it is missing, and the task whose piece it is.
        self._begun: list[bytes] = []
        self._missing = 0
        self._task: str | None = None

    def feed(self, data: bytes) -> list[bytes | Piece]:
        """The contents of the frames that end in `data`."""
        found: list[bytes | Piece] = []
        start = 0
        while start < len(data):
            if not self._missing:
                header_end = self._end_of_header(data, start)
                if header_end < 0:
                    break
                header = self._header + data[start:header_end]
                self._header, start = b"", header_end
                self._missing, self._task = _fields(header)
                if self._missing > self._limit:
                    raise ProtocolViolation(f"a message of more than {self._limit} bytes came from the socket")
            content = data[start : start + self._missing]
            start += len(content)
            self._missing -= len(content)
            if self._missing:
                self._begun.append(content)
                break
            if self._begun:
                self._begun.append(content)
                content = b"".join(self._begun)
                self._begun = []
            found.append(content if self._task is None else Piece(self._task, content))
        return found

    def _end_of_header(self, data: bytes, start: int) -> int:
        """Where in `data` the header block ends that has begun; -1: not in there."""
        if self._header:
            # The end may have begun in the bytes before.
            kept = self._header[-3:]
            end = (kept + data[start : start + _HEADER_BYTES]).find(b"\r\n\r\n")
            end = -1 if end < 0 else end - len(kept) + 4 + start
        else:
            end = data.find(b"\r\n\r\n", start, start + _HEADER_BYTES)
            end = -1 if end < 0 else end + 4
        size = len(self._header) + (len(data) if end < 0 else end) - start
        if size > _HEADER_BYTES:
            raise ProtocolViolation("a header block that does not end came from the socket")
        if end < 0:
            self._header += data[start:]
        return end

    @property
    def is_within(self) -> bool:
        """Whether a frame is incomplete."""
        return bool(self._header) or self._missing > 0


def _fields(header: bytes) -> tuple[int, str | None]:
    """The length of a frame's content, and the task if it is a piece of a body."""
    line, _, rest = header.partition(b"\r\n")
    name, _, length = line.partition(b":")
    digits = length.strip()
    if name.lower() != b"content-length" or not digits.isdigit() or len(digits) > _DIGITS:
        # Another order than the sidecar's is permitted.
        return _reordered(header)
    return int(digits), None if rest == b"\r\n" else _task(rest)


def _reordered(header: bytes) -> tuple[int, str | None]:
    lines = header.split(b"\r\n")[:-2]
    first = [line for line in lines if line.lower().startswith(b"content-length:")]
    if len(first) != 1 or lines[0] is first[0]:
        raise ProtocolViolation("a header block without a length came from the socket")
    others = [line for line in lines if line is not first[0]]
    return _fields(b"\r\n".join([*first, *others, b"", b""]))


@functools.lru_cache(maxsize=256)
def _task(rest: bytes) -> str | None:
    """The task in the header's other lines, which are the same with all pieces of a stream."""
    fields = {name.strip().lower(): value.strip() for name, _, value in _pairs(rest)}
    task = fields.get(b"postern-task")
    if task is None:
        return None
    try:
        return unquote_to_bytes(task).decode()
    except UnicodeDecodeError:
        raise ProtocolViolation("a piece of a stream names no task") from None


def _pairs(rest: bytes) -> list[tuple[bytes, bytes, bytes]]:
    return [line.partition(b":") for line in rest.split(b"\r\n") if line]
