"""The development upstream as a child process."""
from __future__ import annotations

import http.client
import json
import subprocess
from typing import Any, Dict, Optional, Tuple
from urllib.parse import urlsplit

from . import binaries, processes


class Playground:
    """A running playground. It also ends when this process does, because its standard input ends then."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [binaries.playground(), "--exit-with-stdin", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the playground did not start (exit status {self.process.wait(10)})")
        self.announcement: Dict[str, Any] = json.loads(line)
        self.base: str = self.announcement["baseUrl"]
        self.misbehaving: str = self.announcement["misbehaving"]
        self.issuer: str = self.announcement["issuer"]

    @property
    def port(self) -> int:
        port = urlsplit(self.base).port
        assert port is not None
        return port

    def stop(self) -> None:
        processes.end(self.process)

    def request(
        self, method: str, path: str, body: Optional[bytes] = None, headers: Optional[Dict[str, str]] = None
    ) -> Tuple[int, Dict[str, str], bytes]:
        """One request made directly, around the sidecar."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()
        finally:
            connection.close()

    def faults(self, **faults: Any) -> None:
        """Switches faults: `token={"kind": "html"}`, `revokeTokens=True`."""
        status, _, body = self.request("POST", "/playground/faults", json.dumps(faults).encode())
        assert status == 200, body

    def statistics(self) -> Dict[str, Any]:
        return json.loads(self.request("GET", "/playground/statistics")[2])

    def reset(self) -> None:
        """Mends everything and sets the counters to zero."""
        for what in ["faults", "login", "settings", "families", "payloadEncryption"]:
            self.request("DELETE", f"/playground/{what}")
        self.request("DELETE", "/playground/statistics")
