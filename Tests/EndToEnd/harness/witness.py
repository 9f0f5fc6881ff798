"""Stands between the sidecar and the token endpoint, and can say afterwards whether an answer was ever read.

When a process ends, Linux closes its sockets: with a reset (RST) if something that had come was still unread, or came
later, with an orderly end (FIN) if all of it had been read. That tells the two apart without a look into the process.
"""
from __future__ import annotations

import hashlib
import http.client
import json
import select
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, List, Optional

from .playground import Playground
from .waiting import eventually

#: What became of an answer.
WITHHELD, UNREAD, READ = "withheld", "unread", "read"


class Renewal:
    """One request with a refresh token."""

    def __init__(self) -> None:
        #: The refresh token that the answer named, as the playground shows it.
        self.gave = ""
        self.fate: Optional[str] = None  # None as long as it is open


class Witness:
    """A reverse proxy of the token endpoint at `endpoint`. While `holding` is set, answers stay here."""

    def __init__(self, playground: Playground) -> None:
        self.renewals: List[Renewal] = []
        self.holding = threading.Event()
        self.holds = threading.Event()
        witness = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # one segment for headers and body
            last: Optional[Renewal] = None

            def handle(self) -> None:
                try:
                    super().handle()
                    fate = READ
                except (ConnectionResetError, BrokenPipeError):
                    fate = UNREAD
                if self.last is not None and self.last.fate is None:
                    self.last.fate = fate

            def do_POST(self) -> None:
                if self.last is not None:
                    self.last.fate = READ  # whoever asks again has read the answer before
                    self.last = None
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    self.close_connection = True
                    return
                if b"grant_type=refresh_token" in body:
                    self.last = Renewal()
                    witness.renewals.append(self.last)
                upstream = http.client.HTTPConnection("127.0.0.1", playground.port, timeout=10)
                try:
                    fields = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                    upstream.request("POST", self.path, body, {**fields, "Host": f"127.0.0.1:{playground.port}"})
                    answer = upstream.getresponse()
                    content = answer.read()
                finally:
                    upstream.close()
                if self.last is not None:
                    given = json.loads(content).get("refresh_token", "") if answer.status == 200 else ""
                    self.last.gave = "sha256:" + hashlib.sha256(given.encode()).hexdigest()[:8]
                    if witness.holding.is_set():
                        self.last.fate = WITHHELD
                        witness.holds.set()
                        self.close_connection = True
                        self.connection.recv(1)  # until the other side is gone
                        return
                    if select.select([self.connection], [], [], 0)[0] and not self.connection.recv(1, socket.MSG_PEEK):
                        self.last.fate = UNREAD  # the other side has gone before the answer came
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.getheader("Content-Type", "application/json"))
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                self.wfile.flush()

            def log_message(self, *arguments: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def process_request(self, request: Any, client_address: Any) -> None:
                # Counted in the thread that accepts, so that none is between the backlog and the count.
                with witness._lock:
                    witness._open += 1
                super().process_request(request, client_address)

            def process_request_thread(self, request: Any, client_address: Any) -> None:
                try:
                    super().process_request_thread(request, client_address)
                finally:
                    with witness._lock:
                        witness._open -= 1

        self._lock = threading.Lock()
        self._open = 0
        self._server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}/oidc/token"

    def fate(self, token: str) -> str:
        """What became of the one answer that named the refresh token."""
        [renewal] = eventually(lambda: [one for one in self.renewals if one.gave == token], what="the answer")
        return eventually(lambda: renewal.fate or "", what="the end of the connection")

    def awaits_quiet(self) -> None:
        """Waits until nothing that a process sent before its death is under way here, accepted or not."""
        # Connections are accepted in order: once this one is answered, all that the dead process opened are counted.
        with socket.create_connection(self._server.server_address[:2], timeout=20) as last:
            last.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert last.recv(1), "the witness answers"
        eventually(lambda: self._open == 0, what="the end of the last renewal")

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
