"""Endpoints: sockets for one child, and the descriptors that come with answers."""
from __future__ import annotations

import os
import socket
import threading
from typing import Any, Callable, Dict, List, Optional

from .connection import Connection
from .sidecar import Sidecar


class PassingConnection(Connection):
    """A connection that takes the descriptors that come with answers, and notes where in the stream they came."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.descriptors: List[int] = []

    def _fill(self) -> None:
        data, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 16, 64)
        self.descriptors += descriptors
        if not data:
            raise EOFError
        self._received += data

    def take(self) -> socket.socket:
        """The first descriptor that came, as a socket."""
        return socket.socket(fileno=self.descriptors.pop(0))

    def close(self) -> None:
        super().close()
        for descriptor in self.descriptors:
            os.close(descriptor)


class Endpoint:
    """An endpoint made on `maker`."""

    def __init__(self, maker: Connection, **params: Any) -> None:
        self.maker = maker
        self.answer: Dict[str, Any] = maker.call("createEndpoint", params)
        self.id: str = self.answer["endpoint"]
        self.path: Optional[str] = self.answer.get("path")

    def connect(self, framing: Optional[str] = None, timeout: float = 10.0) -> Connection:
        assert self.path is not None
        return Connection(self.path, framing or self.maker.framing, timeout)

    def revoke(self, by: Optional[Connection] = None) -> int:
        return (by or self.maker).call("revokeEndpoint", {"endpoint": self.id})["revoked"]


def ids(connection: Connection) -> List[str]:
    """The endpoints that the connection sees, the oldest first."""
    return [endpoint["endpoint"] for endpoint in connection.call("listEndpoints")["endpoints"]]


def refused(path: str) -> bool:
    """Whether nothing listens at the path."""
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.connect(path)
        return False
    except (FileNotFoundError, ConnectionRefusedError):
        return True
    finally:
        probe.close()


def connect_to(sidecar: Sidecar, framing: str) -> PassingConnection:
    return PassingConnection(sidecar.path, framing)


class Maker:
    """A maker that answers questions with `answers`, one after the other; without one it keeps them waiting."""

    def __init__(self, connection: Connection, answers: List[str]) -> None:
        self.connection, self.answers = connection, answers
        self.questions: List[Dict[str, Any]] = []
        self.before_answer: Callable[[], Any] = lambda: None
        connection.call("registerDelegate", {"methods": ["delegate.approveCall"]})

    def endpoint(self, **params: Any) -> Endpoint:
        return Endpoint(self.connection, approval="ask", **params)

    def answer_next(self) -> None:
        message: Any = self.connection.receive()
        assert message["method"] == "delegate.approveCall", message
        self.questions.append(message["params"])
        self.before_answer()
        if self.answers:
            self.connection.send({"jsonrpc": "2.0", "id": message["id"], "result": {"answer": self.answers.pop(0)}})

    def while_answering(self, count: int, call: Callable[[], Any]) -> Any:
        """What `call` returns, for which so many questions come."""
        results: List[Any] = []
        thread = threading.Thread(target=lambda: results.append(call()))
        thread.start()
        for _ in range(count):
            self.answer_next()
        thread.join(20)
        return results[0]
