"""An ASGI middleware that lets only requests with a valid access token through: FastAPI, Starlette, Django, Quart.

app = Protect(app, AsyncClient(), issuer="corp", audience="https://orders.example.com")
"""

from __future__ import annotations

from collections.abc import Awaitable, MutableMapping
from typing import Any, Callable

from . import _protection
from ._protection import Accepted, Answer, Protection
from .aio import AsyncClient
from .client import Client
from .errors import PosternError

__all__ = ["Accepted", "Protect"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_HTTP = {"ws": "http", "wss": "https"}


def needs_client(client: AsyncClient) -> None:
    """Raises the error for the other kind of client."""
    if isinstance(client, Client):
        raise TypeError("an ASGI application needs an AsyncClient, not a Client")


class Protect(Protection[Application, AsyncClient]):
    """Lets requests through whose access token the sidecar accepts, with an `Accepted` in `scope["postern"]`.

    Others get the sidecar's response, with its challenge, and never reach the application. Where the sidecar cannot
    decide, the response is 503. A WebSocket is checked once, when it is opened.
    """

    def _check(self, client: AsyncClient) -> None:
        needs_client(client)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "lifespan":
            return await self.app(scope, receive, send)
        if kind not in ("http", "websocket"):
            raise RuntimeError(f"a scope of type {kind} cannot be checked")
        verdict = await self._verdict(scope)
        if isinstance(verdict, Accepted):
            return await self.app({**scope, "postern": verdict}, receive, send)
        if kind == "http":
            return await _respond(send, "http.response", verdict, scope["method"] != "HEAD")
        await receive()  # websocket.connect
        if "websocket.http.response" in (scope.get("extensions") or {}):
            return await _respond(send, "websocket.http.response", verdict, True)
        return await send({"type": "websocket.close", "code": 1008})

    async def _verdict(self, scope: Scope) -> Accepted | Answer:
        headers = _protection.grouped(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        )
        scheme = scope.get("scheme") or "http"
        url = self._requirements.url(_HTTP.get(scheme, scheme), headers.get("host", []), target_of(scope))
        if url is None:
            return _protection.without_host()
        params = self._requirements.params(scope.get("method", "GET"), url, headers, _certificate(scope))
        try:
            return _protection.verdict(await self.client.call(_protection.METHOD, params, timeout=self._timeout))
        except PosternError as error:
            return _protection.failed(error)


def _certificate(scope: Scope) -> str | None:
    """The client's certificate, by ASGI's extension for TLS."""
    extensions: dict[str, Any] = scope.get("extensions") or {}
    tls: dict[str, Any] = extensions.get("tls") or {}
    chain: list[str] = list(tls.get("client_cert_chain") or [])
    return chain[0] if chain else None


def target_of(scope: Scope) -> str:
    """Path and query as the client sent them, as far as the server still has them."""
    raw = scope.get("raw_path")
    # Some servers leave the query in it.
    path = (
        raw.partition(b"?")[0].decode("latin-1")
        if raw
        else _protection.encoded(scope["path"].encode().decode("latin-1"))
    )
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{path}?{query}" if query else path


async def _respond(send: Send, kind: str, answer: Answer, has_body: bool) -> None:
    lines = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in answer.lines()]
    await send({"type": f"{kind}.start", "status": answer.status, "headers": lines})
    await send({"type": f"{kind}.body", "body": answer.body if has_body else b""})
