"""A WSGI middleware that lets only requests with a valid access token through: Flask, Django, Pyramid, bottle.

app = Protect(app, Client(), issuer="corp", audience="https://orders.example.com")
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from . import _protection
from ._protection import Accepted, Answer, Protection
from .aio import AsyncClient
from .client import Client
from .errors import PosternError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment  # noqa: F401 - named in a text below

__all__ = ["Accepted", "Protect"]


def needs_client(client: Client) -> None:
    """Raises the error for the other kind of client."""
    if isinstance(client, AsyncClient):
        raise TypeError("a WSGI application needs a Client, not an AsyncClient")


class Protect(Protection["WSGIApplication", Client]):
    """Lets requests through whose access token the sidecar accepts.

    The application finds an `Accepted` in `environ["postern"]`, and its claims in `environ["postern.claims"]`. Other
    requests get the sidecar's response, with its challenge, and never reach the application. Where the sidecar cannot
    decide, the response is 503.
    """

    def _check(self, client: Client) -> None:
        needs_client(client)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        verdict = self._verdict(environ)
        if isinstance(verdict, Accepted):
            environ["postern"] = verdict
            environ["postern.claims"] = verdict.claims
            return self.app(environ, start_response)
        start_response(_status(verdict.status), verdict.lines())
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [verdict.body]

    def _verdict(self, environ: WSGIEnvironment) -> Accepted | Answer:
        headers = _protection.grouped(_headers(environ))
        scheme, hosts = environ.get("wsgi.url_scheme", "http"), headers.get("host", [])
        url = self._requirements.url(scheme, hosts, target_of(environ))
        if url is None:
            return _protection.without_host()
        # A variable of Apache's: a field of the client's would be HTTP_SSL_CLIENT_CERT.
        certificate = environ.get("SSL_CLIENT_CERT")
        params = self._requirements.params(environ["REQUEST_METHOD"], url, headers, certificate)
        try:
            return _protection.verdict(self.client.call(_protection.METHOD, params, timeout=self._timeout))
        except PosternError as error:
            return _protection.failed(error)


def _headers(environ: WSGIEnvironment) -> Iterable[tuple[str, str]]:
    """The lines; a server has joined those of one name."""
    for name, value in environ.items():
        if name.startswith("HTTP_"):
            yield name[5:].replace("_", "-"), str(value)
    content_type: Any = environ.get("CONTENT_TYPE")
    if content_type:
        yield "content-type", str(content_type)


def target_of(environ: WSGIEnvironment) -> str:
    """Path and query as the client sent them, as far as the server still has them."""
    path = _protection.encoded(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")) or "/"
    # gunicorn and others have the request's own bytes; WSGI itself has a decoded path only.
    raw = environ.get("RAW_URI") or environ.get("REQUEST_URI")
    if isinstance(raw, str) and raw.startswith("/"):
        path = raw.partition("#")[0].partition("?")[0]
    query = environ.get("QUERY_STRING", "")
    return f"{path}?{query}" if query else path


def _status(code: int) -> str:
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"{code} Rejected"
