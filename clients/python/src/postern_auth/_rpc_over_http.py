"""Calls over HTTP: `POST /rpc` at the gateway's loopback address, for development.

It is for machines where no Unix socket of the sidecar can be reached, such as a Mac whose sidecar runs in a container.
An address has no peers: whoever has the key may call. There are no events, delegates, streams and descriptors.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import select
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from . import _framing
from ._calls import bounded
from ._limits import Deadline, Limits
from ._retry import Retries
from ._wire import members
from .errors import (
    Cancelled,
    ClientClosed,
    ConnectionFailed,
    ConnectionLost,
    DeadlineExceeded,
    PosternError,
    ProtocolViolation,
    RequestError,
    from_answer,
)

#: Methods that are about the connection, which HTTP does not have.
_OF_THE_CONNECTION = {
    "subscribe": "events",
    "unsubscribe": "events",
    "registerDelegate": "delegates",
    "narrow": "giving up rights of a connection",
    "$/cancelRequest": "cancelling by an id",
}
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def is_address(path: str) -> bool:
    """Whether it is an address of HTTP, and not the path of a socket."""
    return path.startswith(("http://", "https://"))


def unavailable(what: str, instead: str = "") -> RequestError:
    """The error for what works over the Unix socket only."""
    text = f"{what} needs the sidecar's Unix socket: an http:// address is for development, and takes plain calls only"
    data = {"reason": "unavailable_over_http", "outcome": "not_sent", "retryable": False}
    return RequestError(text + (f"; {instead}" if instead else ""), data=data)


class RPCOverHTTP:
    """Makes calls at an address, from any number of threads, each over a kept connection.

    :param address: `http://127.0.0.1:PORT`.
    """

    def __init__(self, address: str, limits: Limits) -> None:
        self._address = address.rstrip("/")
        self._limits = limits
        self._host, self._port = _host_and_port(address)
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._process = os.getpid()
        self._is_closed = False

    def start(
        self, method: str, params: Mapping[str, Any], deadline: Deadline, traceparent: str | None
    ) -> CallOverHTTP:
        """A call to be made by its `run`."""
        self.check(method, params)
        return CallOverHTTP(self, method, params, deadline, traceparent, self._limits)

    @staticmethod
    def check(method: str, params: Mapping[str, Any]) -> None:
        """Raises the error for calls that HTTP does not have."""
        if method in _OF_THE_CONNECTION:
            raise unavailable(f"{method} ({_OF_THE_CONNECTION[method]})")
        if method == "fetchResource" and params.get("stream"):
            raise unavailable("a stream", "fetch_resource returns the whole body")
        if params.keys() & {"bodyFrom", "bodyTo", "descriptor"}:
            raise unavailable("a descriptor", "pass the body itself")
        if method == "createEndpoint" and params.get("bindTo") == "connection":
            raise unavailable("an endpoint that ends with the connection", "bind it to a process, or let it expire")

    def close(self) -> None:
        """Closes the connections that no call uses; those of calls in progress are closed with them."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for one in idle:
            one.close()

    # Used by calls

    def take(self, deadline: Deadline) -> http.client.HTTPConnection:
        """A connection; raises `ConnectionFailed` when there is none."""
        if self._is_closed:
            raise ClientClosed("the client is closed", data={"outcome": "not_sent"})
        if self._process != os.getpid():  # a forked child does not write on its parent's connections
            self._process, self._lock, self._idle = os.getpid(), threading.Lock(), []
        while True:
            with self._lock:
                kept = self._idle.pop() if self._idle else None
            if kept is None:
                break
            if kept.sock is not None and not _has_news(kept.sock):
                return kept
            kept.close()  # the server has ended it
        made = http.client.HTTPConnection(
            self._host, self._port, timeout=min(self._limits.connect, deadline.patience())
        )
        try:
            made.connect()
        except OSError as error:
            text = f"{self._address}: {error.strerror or error}; does the sidecar have gateway.listen.address?"
            data = {"outcome": "not_sent", "errno": error.errno, "retryable": True}
            raise ConnectionFailed(text, data=data) from error
        assert made.sock is not None
        made.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def give(self, connection: http.client.HTTPConnection) -> None:
        """The connection is free for another call."""
        with self._lock:
            if not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()

    def headers(self) -> dict[str, str]:
        """Those of each request. The key is read each time: it may have been replaced."""
        return {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Connection": "keep-alive",
            "Postern-Key": _key(),
        }

    def answer(self, method: str, response: http.client.HTTPResponse, data: bytes) -> Any:
        """The result in a response; raises its error."""
        if response.status == 204:
            return None
        try:
            message = members(json.loads(data))
        except ValueError:
            message = None
        if message is not None and "error" in message:
            raise from_answer(message["error"])
        if response.status == 200 and message is not None and "result" in message:
            return message["result"]
        hint = {
            401: "; is $POSTERN_KEY_FILE the file of gateway.listen.keyFile?",
            404: "; this is not the gateway of a sidecar that has POST /rpc",
        }.get(response.status, "")
        if message is not None and isinstance(message.get("code"), int) and "reason" in message:
            # The listener's own error, application/problem+json.
            text = f"{message.get('detail') or message.get('title') or 'the request was rejected'}{hint}"
            raise from_answer({"code": message["code"], "message": text, "data": {"outcome": "not_sent", **message}})
        text = f"{self._address}/rpc answered {method} with status {response.status}, and not with JSON-RPC{hint}"
        raise ProtocolViolation(text, data={"outcome": "not_sent" if response.status in (401, 404) else "unknown"})


class CallOverHTTP:
    """One call."""

    def __init__(  # noqa: PLR0917 - one place makes it
        self,
        rpc: RPCOverHTTP,
        method: str,
        params: Mapping[str, Any],
        deadline: Deadline,
        traceparent: str | None,
        limits: Limits,
    ) -> None:
        self._rpc = rpc
        self._method = method
        self._params = params
        self._deadline = deadline
        self._traceparent = traceparent
        self._limits = limits
        self._connection: http.client.HTTPConnection | None = None
        self._is_abandoned = False

    def run(self) -> Any:
        """Makes the call, with the retries of all calls."""
        retries = Retries(self._method, self._params, self._deadline, self._limits.reconnect)
        while True:
            try:
                return self._attempt()
            except PosternError as error:
                pause = None if self._is_abandoned else retries.pause_after(error)
                if pause is None:
                    raise
                time.sleep(pause)

    def abandon(self) -> None:
        """Ends the call, from another thread: the sidecar cancels a call whose connection ends."""
        self._is_abandoned = True
        connection = self._connection
        if connection is not None and connection.sock is not None:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)

    def _attempt(self) -> Any:
        params, left = bounded(self._params, self._deadline, self._traceparent)
        body = _framing.request(1, self._method, params, self._limits.request_bytes, left)
        headers = self._rpc.headers()
        connection = self._connection = self._rpc.take(self._deadline)
        is_whole = False
        try:
            if self._is_abandoned:
                raise Cancelled("the call was cancelled", -32800, {"outcome": "not_sent"})
            assert connection.sock is not None
            patience = self._deadline.patience()
            connection.sock.settimeout(None if patience > threading.TIMEOUT_MAX else max(patience, 0.001))
            connection.request("POST", "/rpc", body, headers)
            response = connection.getresponse()
            data = response.read(self._limits.answer_bytes + 1)
            if len(data) > self._limits.answer_bytes:
                raise ProtocolViolation("the response is larger than Limits.answer_bytes", data={"outcome": "unknown"})
            is_whole = not response.will_close
            return self._rpc.answer(self._method, response, data)
        except PosternError:  # some are an OSError, too
            raise
        except (TimeoutError, socket.timeout) as error:
            text = f"no response to {self._method} within {self._deadline.seconds:g} s"
            raise DeadlineExceeded(text, data={"outcome": "unknown"}) from error
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionLost(
                f"the connection ended before the response to {self._method}: {type(error).__name__}",
                data={"outcome": "unknown"},
            ) from error
        finally:
            self._connection = None
            if is_whole and not self._is_abandoned:
                self._rpc.give(connection)
            else:
                connection.close()


def _has_news(connection: socket.socket) -> bool:
    """Whether there is something to be read: the end of a connection that no call uses."""
    ready = select.poll()
    ready.register(connection, select.POLLIN)
    return bool(ready.poll(0))


def _host_and_port(address: str) -> tuple[str, int]:
    try:
        parts: SplitResult = urlsplit(address)
        port = parts.port
    except ValueError:
        raise _no_address("the port is not a number") from None
    if parts.scheme != "http":
        raise _no_address("it begins with https://, and the gateway's address has no TLS")
    if parts.hostname not in _LOOPBACK:
        raise _no_address("its host is not a loopback address, and the key would cross a network in plain text")
    if parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise _no_address("it has more than a host and a port")
    if port is None:
        raise _no_address("it has no port")
    return parts.hostname, port


def _no_address(why: str) -> ConnectionFailed:
    text = (
        f"the address of the sidecar cannot be used: {why}. It is http://127.0.0.1:PORT, or the path of a Unix socket"
    )
    return ConnectionFailed(text, data={"outcome": "not_sent", "errno": None, "retryable": False})


def _key() -> str:
    """The key of the file. Errors do not show what is in there."""
    path = os.environ.get("POSTERN_KEY_FILE")
    if not path:
        raise _no_key("$POSTERN_KEY_FILE is not set: it is the file of gateway.listen.keyFile")
    try:
        with open(path, encoding="ascii") as file:
            key = file.read(4097).strip()
    except OSError as error:
        raise _no_key(f"$POSTERN_KEY_FILE cannot be read: {error.strerror or type(error).__name__}") from None
    except UnicodeDecodeError:
        raise _no_key("$POSTERN_KEY_FILE is not text") from None
    if not key or len(key) > 4096 or not key.isprintable() or " " in key:
        raise _no_key("$POSTERN_KEY_FILE does not have a key: one line of printable characters")
    return key


def _no_key(text: str) -> ConnectionFailed:
    return ConnectionFailed(text, data={"outcome": "not_sent", "errno": None, "retryable": False})
