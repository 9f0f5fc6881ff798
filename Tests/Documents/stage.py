"""Starts the servers of the documents' examples.

They are the playground, a decision point, and the sidecar with proto-docs/examples/postern.yaml. The documents show
fixed addresses; a run has its own, which are replaced in input and output.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Dict, List, Optional, Tuple

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Tests" / "EndToEnd"), str(ROOT / "proto-docs" / "tool")]

from harness import binaries, processes  # noqa: E402
from harness.playground import Playground  # noqa: E402
from harness.sidecar import Sidecar  # noqa: E402
from harness.waiting import eventually  # noqa: E402

PLAYGROUND = "127.0.0.1:8080"
DECISION_POINT = "127.0.0.1:8181"
CONFIGURATION = ROOT / "proto-docs" / "examples" / "postern.yaml"
# What the README shows: an issuer, a resource, the system's socket.
README = ROOT / "README.md"
IDENTITY_PROVIDER = "https://idp.example.com"
API = "https://api.example.com"
SOCKET = "/run/postern/postern.sock"
SECRET = "/run/secrets/shop"


class Api:
    """The README's API: has every invoice there is, and takes its time for what is called slow."""

    def __init__(self) -> None:
        stopped = self._stopped = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path.endswith("/slow"):
                    stopped.wait(20)
                body = json.dumps({"path": self.path, "token": "Authorization" in self.headers}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()


class Stage:
    """Both servers, for as long as the tests run; `sidecar()` starts a sidecar that knows nothing yet."""

    def __init__(self) -> None:
        # Below /tmp and short: socket paths end at 107 bytes.
        self.directory = Path(tempfile.mkdtemp(prefix="postern-", dir="/tmp"))
        self.playground = Playground()
        self.decider = subprocess.Popen(
            [sys.executable, str(ROOT / "Tests" / "Demo" / "decision_point.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.decider.stdout is not None
        decider = self.decider.stdout.readline().decode().strip()
        self.addresses = {
            PLAYGROUND: self.playground.base.split("//")[1],
            DECISION_POINT: decider.split("//")[1],
        }
        self._sidecar: Optional[Sidecar] = None
        self._api: Optional[Api] = None
        self._count = 0

    def real(self, text: str, samples: Optional[Dict[str, str]] = None) -> str:
        """What is shown, as it is in this run. `samples`: what is shown → what it stands for."""
        for shown, value in {**self.addresses, **(samples or {})}.items():
            text = text.replace(shown, value)
        return text

    def shown(self, text: str, samples: Optional[Dict[str, str]] = None) -> str:
        """What came in this run, as it is shown."""
        for shown, value in {**(samples or {}), **self.addresses}.items():
            text = text.replace(value, shown)
        return text

    def sidecar(self, configuration: Path = CONFIGURATION) -> Sidecar:
        """A fresh sidecar; the one before it ends. The playground is whole and has no memory of earlier logins."""
        self.end_sidecar()
        self.playground.reset()
        for what in ("ssoTokens", "accessManager", "adobe"):
            self.playground.request("DELETE", f"/playground/{what}")
        own = self.fresh_directory()
        file = own / "postern.yaml"
        file.write_text(self.real(configuration.read_text(encoding="utf-8")))
        socket = own / "s"
        self._sidecar = Sidecar(own, None, path=socket, arguments=["--config", str(file), "--socket", str(socket)])
        # Its issuers have been asked for their keys: whoever asks for the health waits a second for that, and no
        # longer.
        with self._sidecar.connect() as connection:
            eventually(lambda: connection.call("health")["status"] == "ok", what="the issuers' keys")
        return self._sidecar

    def billing(self) -> Tuple[Sidecar, Dict[str, str]]:
        """A sidecar with the README's configuration, and what stands for the addresses in there."""
        self.end_sidecar()
        self._api = self._api or Api()
        own = self.fresh_directory()
        socket, secret = own / "s", own / "secret"
        secret.write_text("shopsecret\n")
        secret.chmod(0o600)
        addresses = {IDENTITY_PROVIDER: self.playground.issuer, API: self._api.base, SOCKET: str(socket), SECRET: str(secret)}
        [text] = re.findall(r"^```yaml\n(issuers:.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        for shown, real in addresses.items():
            text = text.replace(shown, real)
        # The playground knows no scope of that name, and has no TLS.
        text = text.replace("billing:read", "orders") + "development: { plainHTTPOnLoopback: true }\n"
        file = own / "postern.yaml"
        file.write_text(text)
        file.chmod(0o600)
        self._sidecar = Sidecar(own, None, path=socket, arguments=["--config", str(file), "--socket", str(socket)])
        return self._sidecar, addresses

    def environment_of(self, sidecar: Optional[Sidecar]) -> Dict[str, str]:
        """For shells: the commands, the socket if there is one, and nothing of the user's own."""
        commands = self.directory / "bin"
        if not commands.exists():
            commands.mkdir()
            (commands / "postern").symlink_to(Path(binaries.postern()).resolve())
            (commands / "playground").symlink_to(Path(binaries.playground()).resolve())
        own = {"PATH": f"{commands}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.directory), "LANG": "C.UTF-8",
               "PYTHONPATH": str(ROOT / "clients" / "python" / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        return {**own, "POSTERN_SOCKET": sidecar.path} if sidecar else own

    def fresh_directory(self) -> Path:
        self._count += 1
        path = self.directory / str(self._count)
        path.mkdir()
        return path

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        """One command in a shell of its own, as a person would type it."""
        assert self._sidecar is not None
        return subprocess.run(
            ["bash", "-c", command], cwd=ROOT, env=self.environment_of(self._sidecar), capture_output=True, text=True, timeout=30)

    def run_program(self, sidecar: Sidecar, command: List[str]) -> str:
        """What a program beside that sidecar prints."""
        done = subprocess.run(
            command, cwd=sidecar.directory, env=self.environment_of(sidecar), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def end_sidecar(self) -> None:
        if self._sidecar is not None:
            self._sidecar.process.kill()  # nothing of it is kept, and nobody is left to be waited for
            self._sidecar.process.wait(10)
            self._sidecar = None

    def stop(self) -> None:
        self.end_sidecar()
        if self._api is not None:
            self._api.stop()
        self.playground.stop()
        processes.end(self.decider)
        shutil.rmtree(self.directory, ignore_errors=True)
