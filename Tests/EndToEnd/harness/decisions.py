"""Decision points: two real engines as a child process, and a double whose every answer the test writes."""
from __future__ import annotations

import json
import os
import subprocess
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Tuple, Union

from . import binaries, processes

SCRIPT = binaries.ROOT / "Tests" / "Providers" / "decision_points.py"
Answer = Tuple[int, Union[bytes, Any], Dict[str, str]]
Script = Callable[[str, str, Dict[str, str], Any], Answer]


class DecisionEngines:
    """Cedar behind AuthZEN and Rego behind OPA's API. They also end when this process does."""

    def __init__(self) -> None:
        python = os.environ.get("PROVIDERS_PYTHON") or str(binaries.ROOT / ".build" / "providers" / "bin" / "python")
        assert os.access(python, os.X_OK), f"{python} is not there: install the engines with `make providers`"
        self.process = subprocess.Popen(
            [python, str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the decision engines did not start (exit status {self.process.wait(10)})"
        urls = json.loads(line)
        self.authzen: str = urls["authzen"]
        self.opa: str = urls["opa"]

    def stop(self) -> None:
        processes.end(self.process)

    def log(self, url: str) -> List[Dict[str, Any]]:
        with urllib.request.urlopen(f"{url}/log", timeout=10) as answer:
            return json.load(answer)

    def forget(self) -> None:
        for url in (self.authzen, self.opa):
            urllib.request.urlopen(urllib.request.Request(f"{url}/log", method="DELETE"), timeout=10).close()


class DecisionDouble:
    """A decision point on loopback that answers by `script(method, path, headers, body)`."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: List[Tuple[str, str, Dict[str, str], Any]] = []
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", "0"))
                data = self.rfile.read(length)
                headers = {name.lower(): value for name, value in self.headers.items()}
                kind = headers.get("content-type", "")
                body = json.loads(data) if "json" in kind else data
                double.requests.append((self.command, self.path, headers, body))
                status, answer, extra = double.script(self.command, self.path, headers, body)
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                fields = {"Content-Type": "application/json", **extra}
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def posts(self) -> List[Tuple[str, str, Dict[str, str], Any]]:
        return [request for request in self.requests if request[0] == "POST"]

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
