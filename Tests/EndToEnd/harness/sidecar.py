"""The sidecar as a child process."""
from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import binaries
from .connection import Connection
from .waiting import eventually


class StartError(AssertionError):
    """The sidecar ended instead of listening."""

    def __init__(self, status: int, log: str) -> None:
        super().__init__(f"postern ended with status {status}:\n{log}")
        self.status = status
        self.log = log


class Sidecar:
    """`postern serve` with a configuration of its own in a directory of its own."""

    def __init__(
        self,
        directory: Path,
        configuration: Optional[Dict[str, Any]],
        path: Optional[Path] = None,
        arguments: Optional[List[str]] = None,
        environment: Optional[Dict[str, str]] = None,
        launcher: Optional[List[str]] = None,
        pass_fds: Any = (),
    ) -> None:
        self.directory = directory
        self.configuration_path = directory / "postern.yaml"
        self.path = str(path if path is not None else (configuration or {}).get("listen", {}).get("path", ""))
        if configuration is not None:
            self.write(configuration)
        self.log_path = directory / "postern.log"
        command = [binaries.postern(), "serve"]
        if configuration is not None:
            command += ["--config", str(self.configuration_path)]
        clean = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        clean.update({"HOME": str(directory)}, **(environment or {}))
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                (launcher or []) + command + (arguments or []),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=clean,
                pass_fds=pass_fds,
            )
        try:
            self._wait_until_connectable(is_own=not launcher and not pass_fds)
            if isinstance(configuration, dict) and configuration.get("gateway", {}).get("listen"):
                self._wait_for_the_gateway()
        except BaseException:
            self.stop()
            raise

    def write(self, configuration: Any) -> None:
        """Replaces the configuration file; JSON is YAML."""
        text = configuration if isinstance(configuration, str) else json.dumps(configuration, indent=2)
        temporary = self.configuration_path.with_suffix(".new")
        temporary.write_text(text)
        temporary.replace(self.configuration_path)

    def _wait_until_connectable(self, seconds: float = 10.0, is_own: bool = True) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            status = self.process.poll()
            if status is not None:
                raise StartError(status, self.log())
            probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                probe.connect(self.path)
                # Who listens there: another one that was started before is not this one.
                listener, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                if listener == self.process.pid or not is_own:
                    return
            except (FileNotFoundError, ConnectionRefusedError):
                pass
            finally:
                probe.close()
            time.sleep(0.005)
        raise AssertionError(f"nothing can be connected to at {self.path}:\n{self.log()}")

    def _wait_for_the_gateway(self, seconds: float = 3.0) -> None:
        """Its sockets come a moment after the main one. Where the log has no such line the time is over in the end."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            if "gateway listening" in self.log():
                return
            time.sleep(0.005)

    def connect(self, framing: str = "stream", timeout: float = 10.0) -> Connection:
        return Connection(self.path, framing, timeout)

    def log(self) -> str:
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def awaits_log(self, text: str) -> str:
        """The whole log once it has `text`: a line may be written a moment after what it tells of was seen."""
        eventually(lambda: text in self.log(), what=f"the line '{text}'")
        return self.log()

    def resident_kilobytes(self, kind: str = "Anon") -> int:
        """The resident memory of the process's own, or `File` for pages of code, which come when they are used."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"Rss{kind}:"):
                return int(line.split()[1])
        raise AssertionError(f"no Rss{kind}")

    def processor_seconds(self) -> float:
        """What the process has used of the processors, however busy they are."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def is_running(self) -> bool:
        return self.process.poll() is None

    def wait(self, seconds: float = 10.0) -> int:
        return self.process.wait(seconds)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
