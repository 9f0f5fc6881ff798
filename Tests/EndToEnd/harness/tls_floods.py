"""A TLS 1.3 server that goes on sending messages of the handshake's own kind after the handshake (RFC 8446, section
4.6)."""
from __future__ import annotations

import ctypes
import ctypes.util
import socket
import threading

from .certificates import Authority
from .loopback import Loopback

SSL_FILETYPE_PEM = 1
NOT_REQUESTED = 0

_ssl = ctypes.CDLL(ctypes.util.find_library("ssl") or "libssl.so.3")
for _name in ("TLS_server_method", "SSL_CTX_new", "SSL_new"):
    getattr(_ssl, _name).restype = ctypes.c_void_p


class TLSFlood:
    """Answers the first request of a connection with `kind` (`key updates` or `session tickets`) without end, once
    `start` of an answer has been sent."""

    def __init__(self, authority: Authority, kind: str, start: bytes = b"") -> None:
        self.kind, self.start = kind, start
        self.requests = 0
        self.sent = 0
        self._stopped = threading.Event()
        self._context = ctypes.c_void_p(_ssl.SSL_CTX_new(ctypes.c_void_p(_ssl.TLS_server_method())))
        assert _ssl.SSL_CTX_use_certificate_chain_file(self._context, authority.certificate("server").encode()) == 1
        assert _ssl.SSL_CTX_use_PrivateKey_file(self._context, authority.key("server").encode(), SSL_FILETYPE_PEM) == 1
        self._loop = Loopback(self._serve)
        self.base = f"https://127.0.0.1:{self._loop.port}/"
        self._loop.start()

    def stop(self) -> None:
        self._stopped.set()
        self._loop.stop()

    def _serve(self, connection: socket.socket, number: int) -> None:
        # OpenSSL waits in the system's calls, not Python.
        connection.settimeout(None)
        tls = ctypes.c_void_p(_ssl.SSL_new(self._context))
        try:
            _ssl.SSL_set_fd(tls, connection.fileno())
            if _ssl.SSL_accept(tls) == 1:
                self._flood(tls)
        finally:
            _ssl.SSL_free(tls)

    def _flood(self, tls: ctypes.c_void_p) -> None:
        request = ctypes.create_string_buffer(65536)
        if _ssl.SSL_read(tls, request, len(request)) <= 0:
            return
        self.requests += 1
        if self.start:
            _ssl.SSL_write(tls, self.start, len(self.start))
        while not self._stopped.is_set():
            if self.kind == "key updates":
                _ssl.SSL_key_update(tls, NOT_REQUESTED)
            else:
                _ssl.SSL_new_session_ticket(tls)
            if _ssl.SSL_do_handshake(tls) != 1:
                return
            self.sent += 1
