"""A sidecar that does what a test says, for what the real one never does."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

#: Gets the connection and its messages; its end closes the connection.
Script = Callable[["Peer"], object]


class Peer:
    """One caller, in the framing that it began with."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.file = connection.makefile("rb")
        self.is_framed = False

    def messages(self) -> Iterator[dict[str, Any]]:
        while message := self.receive():
            yield message

    def receive(self) -> dict[str, Any]:
        line = self.file.readline()
        if line.startswith(b"Content-Length: "):
            self.is_framed = True
            assert self.file.readline() == b"\r\n"
            line = self.file.read(int(line.split()[1]))
        return json.loads(line or b"null") or {}

    def encoded(self, message: Any) -> bytes:
        text = json.dumps(message).encode()
        return b"Content-Length: %d\r\n\r\n%b" % (len(text), text) if self.is_framed else text + b"\n"

    def send(self, message: Any) -> None:
        self.socket.sendall(self.encoded(message))

    def reject(self, message: dict[str, Any], path: str) -> None:
        data = {"reason": "invalid_params", "path": path}
        self.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "no", "data": data}})

    def send_piece(self, task: str, data: bytes) -> None:
        fields = f"Content-Length: {len(data)}\r\nContent-Type: application/octet-stream\r\nPostern-Task: {task}\r\n"
        self.socket.sendall(fields.encode() + b"\r\n" + data)

    def answer(self, message: dict[str, Any], result: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def obliging(peer: Peer) -> None:
    """Answers every request with what it was asked."""
    for message in peer.messages():
        if "id" in message:
            peer.answer(message, {"method": message["method"], "params": message.get("params")})


class Double:
    """Listens at `path`. Connections follow `scripts` in turn, the last one for all that come later."""

    def __init__(self, path: Path, *scripts: Script) -> None:
        self.path = str(path)
        self.scripts: list[Script] = list(scripts)
        self.connections = 0
        self.ended = 0
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._open: list[socket.socket] = []
        self.listen()

    def listen(self) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen(16)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                script = self.scripts[min(self.connections, len(self.scripts)) - 1] if self.scripts else obliging
                self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection, script), daemon=True).start()

    def _serve(self, connection: socket.socket, script: Script) -> None:
        peer = Peer(connection)
        try:
            script(peer)
        except (OSError, ValueError):
            pass  # the caller is gone
        finally:
            self._close(connection)
            with self._lock:
                self.ended += 1

    @staticmethod
    def _close(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()

    def stop(self) -> None:
        """Gone, as if killed; `listen` brings it back."""
        if self._listener is not None:
            self._close(self._listener)
            self._listener = None
            os.unlink(self.path)
        with self._lock:
            connections, self._open = self._open, []
        for connection in connections:
            self._close(connection)
