"""Servers on loopback: a listener, and a thread for each connection."""
from __future__ import annotations

import socket
import threading
from typing import Callable


class Loopback:
    """Hands each connection and its number, counted from 0, to `serve`, in a thread of its own, and closes it
    afterwards. An error of the socket ends the connection. Accepts until `stop`."""

    def __init__(self, serve: Callable[[socket.socket, int], None], timeout: float = 60, port: int = 0) -> None:
        self._serve, self._timeout = serve, timeout
        self.accepted = 0
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self._listener.getsockname()[1]

        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def start(self) -> None:
        self._accepting.start()

    def stop(self) -> None:
        # Closing alone does not wake the thread that waits for a connection; the listener would stay open with it.
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        if self._accepting.is_alive():
            self._accepting.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self._run, args=(connection, self.accepted - 1), daemon=True).start()

    def _run(self, connection: socket.socket, number: int) -> None:
        connection.settimeout(self._timeout)
        try:
            self._serve(connection, number)
        except OSError:
            pass
        finally:
            connection.close()
