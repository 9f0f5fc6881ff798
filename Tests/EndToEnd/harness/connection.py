"""One connection to the sidecar, in either framing, with a bound on every wait."""
from __future__ import annotations

import itertools
import json
import socket
from typing import Any, Dict, List, Optional, Union

Answer = Union[Dict[str, Any], List[Any]]


class Connection:
    """Speaks `stream` (texts with line feeds) or `headers` (Content-Length)."""

    def __init__(
        self, path: str, framing: str = "stream", timeout: float = 10.0, connected: Optional[socket.socket] = None
    ) -> None:
        """Connects to `path`, or speaks on a socket that is connected already."""
        assert framing in ("stream", "headers")
        self.framing = framing
        self.socket = connected or socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        if connected is None:
            self.socket.connect(path)
        self._received = b""
        self._set_aside: List[Answer] = []
        self._identifiers = itertools.count(1)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    # Sending

    def frame(self, text: Union[str, bytes]) -> bytes:
        """`text` as this connection's framing puts it on the wire."""
        body = text.encode() if isinstance(text, str) else text
        if self.framing == "stream":
            return body + b"\n"
        return b"Content-Length: %d\r\n\r\n" % len(body) + body

    def send_bytes(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_text(self, text: Union[str, bytes]) -> None:
        self.send_bytes(self.frame(text))

    def send(self, value: Any) -> None:
        self.send_text(json.dumps(value))

    def request(self, method: str, params: Optional[Dict[str, Any]] = None, identifier: Any = None) -> Any:
        """Sends a request and returns its id."""
        if identifier is None:
            identifier = f"request-{next(self._identifiers)}"
        message: Dict[str, Any] = {"jsonrpc": "2.0", "id": identifier, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return identifier

    def notify(self, method: str, params: Optional[Dict[str, Any]] = None) -> None:
        message: Dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def half_close(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)

    # Receiving

    def receive(self) -> Answer:
        """The next message; EOFError when the sidecar has closed."""
        return json.loads(self.receive_text(), object_pairs_hook=_without_duplicates)

    def receive_text(self) -> bytes:
        """The next message's text, without its framing."""
        if self.framing == "stream":
            line = self._until(b"\n")
            assert line.strip(), "an empty line where a message was expected"
            return line
        block = self._until(b"\r\n\r\n")
        length = None
        for field in block.split(b"\r\n"):
            name, _, value = field.partition(b":")
            assert name.strip().lower() in (b"content-length", b"content-type"), field
            if name.strip().lower() == b"content-length":
                length = int(value)
        assert length is not None, block
        while len(self._received) < length:
            self._fill()
        text, self._received = self._received[:length], self._received[length:]
        return text

    def answer_to(self, identifier: Any) -> Dict[str, Any]:
        """The response of that id; whatever else comes before it is set aside for `others`."""
        for position, message in enumerate(self._set_aside):
            if isinstance(message, dict) and message.get("id") == identifier and "method" not in message:
                return self._set_aside.pop(position)  # type: ignore[return-value]
        while True:
            message = self.receive()
            if isinstance(message, dict) and message.get("id") == identifier and "method" not in message:
                assert message.get("jsonrpc") == "2.0"
                assert ("result" in message) != ("error" in message), message
                return message
            self._set_aside.append(message)

    def others(self) -> List[Answer]:
        """What came while waiting for something else."""
        others, self._set_aside = self._set_aside, []
        return others

    def call(self, method: str, params: Optional[Dict[str, Any]] = None) -> Any:
        """The result of a request; fails on an error."""
        message = self.answer_to(self.request(method, params))
        assert "result" in message, message
        return message["result"]

    def error(self, method: str, params: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        """The error of a request; fails on a result."""
        message = self.answer_to(self.request(method, params))
        assert "error" in message, message
        return message["error"]

    def works(self) -> bool:
        """Whether a plain request is still answered."""
        return self.call("getInfo")["name"] == "postern"

    def ends(self) -> List[Answer]:
        """Reads to the end of the connection and returns what came; fails when it does not end in time."""
        messages = self.others()
        while True:
            try:
                messages.append(self.receive())
            except (EOFError, ConnectionResetError):
                return messages

    def _until(self, mark: bytes) -> bytes:
        searched = 0
        while True:
            position = self._received.find(mark, searched)
            if position >= 0:
                break
            searched = max(0, len(self._received) - len(mark) + 1)
            self._fill()
        taken, self._received = self._received[:position], self._received[position + len(mark):]
        return taken

    def _fill(self) -> None:
        data = self.socket.recv(1 << 16)
        if not data:
            assert not self._received, f"the connection ended within a message: {self._received[:200]!r}"
            raise EOFError
        self._received += data


def _without_duplicates(pairs: Any) -> Dict[str, Any]:
    members = dict(pairs)
    assert len(members) == len(pairs), "duplicate member names in an answer"
    return members
