"""An example as its user has it: its own postern.yaml, a sidecar, and the program."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional

import console
from harness import binaries
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
#: What postern.yaml shows, and what a run replaces.
PLAYGROUND, CALLBACK = "http://127.0.0.1:8080/", "http://127.0.0.1:8000/callback"


def follow(name: str, addresses: Dict[str, str], directory: Path) -> None:
    """Runs the commands of an example's README, and compares what they print."""
    steps = console.steps((EXAMPLES / name / "README.md").read_text(encoding="utf-8"))
    assert len(steps) >= 3, "the README has no commands"
    real = []
    for step in steps:
        command = step.command
        for shown, actual in addresses.items():
            command = command.replace(shown, actual)
        real.append(step._replace(command=command))
    path = f"{Path(binaries.postern()).resolve().parent}:{os.environ['PATH']}"
    outputs = console.outputs(real, directory, {**os.environ, "PATH": path}, 60)
    assert len(outputs) == len(real), outputs
    for step, output in zip(real, outputs):
        assert not (difference := console.difference(step, output)), difference


class Application:
    """A sidecar for an example; `run` runs the example to its end."""

    PROGRAMS: Dict[str, List[str]] = {
        "cli": [sys.executable, "-W", "error", "orders.py"],
        "sandbox": [sys.executable, "-W", "error", "maker.py"],
        "worker": [sys.executable, "-W", "error", "worker.py"],
    }

    def __init__(self, name: str, directory: Path, addresses: Dict[str, str]) -> None:
        self.folder = EXAMPLES / name
        self.directory = directory
        text = (self.folder / "postern.yaml").read_text(encoding="utf-8")
        for shown, real in addresses.items():
            assert shown in text, f"{shown} is not in {name}/postern.yaml"
            text = text.replace(shown, real)
        file, path = directory / "postern.yaml", directory / "s"
        file.write_text(text)
        file.chmod(0o600)
        self.sidecar = Sidecar(directory, None, path=path, arguments=["--config", str(file), "--socket", str(path)])
        self.command = self.PROGRAMS[name]
        self.environment = {
            **os.environ, "POSTERN_SOCKET": self.sidecar.path, "PYTHONDONTWRITEBYTECODE": "1", "BROWSER": "true",
            "PYTHONPATH": str(ROOT / "clients" / "python" / "src"),
        }

    def start(self, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*self.command, *arguments], cwd=self.folder, env={**self.environment, **environment}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self.command, *arguments], cwd=self.folder, env={**self.environment, **environment}, text=True,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60)

    def sessions(self) -> List[Dict[str, Any]]:
        with self.sidecar.connect() as connection:
            return connection.call("listSessions")["sessions"]

    def stop(self) -> None:
        self.sidecar.stop()


class Response(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    text: str

    def cookie(self, name: str) -> str:
        """The whole field that sets a cookie, or an empty text."""
        fields = self.headers.get_all("Set-Cookie") or []
        return next((field for field in fields if field.startswith(name + "=")), "")

    @property
    def begun(self) -> Dict[str, str]:
        """The cookies of what the browser has begun: each login has one of its own."""
        fields = [field.partition(";")[0].partition("=") for field in self.headers.get_all("Set-Cookie") or []]
        return {name: value for name, _, value in fields if "postern-login-" in name}


class WebApplication(Application):
    """A web application, which runs until `stop`. All of them have the same routes."""

    #: Those with the Python client.
    PYTHON = ["fastapi", "flask"]
    PROGRAMS = {
        **{name: [sys.executable, "app.py"] for name in PYTHON},
        "express": [str(EXAMPLES / "run"), "express"],
    }

    def __init__(self, name: str, directory: Path, addresses: Dict[str, str], port: Optional[int] = None) -> None:
        self.port = port or free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        super().__init__(name, directory, {**addresses, CALLBACK: self.base + "/callback"})
        self.log_path = directory / "application.log"
        try:
            with open(self.log_path, "wb") as log:
                self.process = subprocess.Popen(
                    self.command, cwd=self.folder, env={**self.environment, "PORT": str(self.port)},
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            eventually(self._is_ready, 30, f"the application {name}")
        except BaseException:
            self.stop()
            raise

    def _is_ready(self) -> bool:
        assert self.process.poll() is None, self.log()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def log(self) -> str:
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def request(
        self, method: str, path: str, cookies: Optional[Dict[str, str]] = None, form: Optional[str] = None, **headers: str
    ) -> Response:
        """One request for a page, from a browser with these cookies; redirects are not followed."""
        headers = {"Accept": "text/html", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if form is not None:
            headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        if cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, form, headers)
            response = connection.getresponse()
            return Response(response.status, response.headers, response.read().decode())
        finally:
            connection.close()

    def stop(self) -> None:
        process = getattr(self, "process", None)
        if process and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
        super().stop()
