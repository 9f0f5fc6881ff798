"""squid, the proxy that most networks have, with basic authentication."""
from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import List, Optional

from .ports import free_port

BINARY = shutil.which("squid", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class Squid:
    """Runs on loopback until `stop`; only it knows the names in `hosts`, which are all on loopback."""

    def __init__(self, directory: Path, hosts: List[str], username: str, password: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._directory = directory
        directory.mkdir()
        # It gives up root, and writes its logs as another user.
        directory.chmod(0o777)
        self._write("hosts", "".join(f"127.0.0.1 {host}\n" for host in hosts))
        digest = subprocess.run(
            ["openssl", "passwd", "-apr1", "-stdin"], input=password, check=True, capture_output=True, text=True).stdout
        self._write("passwords", f"{username}:{digest}")
        configuration = self._write("squid.conf", f"""
            http_port 127.0.0.1:{self.port}
            visible_hostname squid.test
            hosts_file {directory}/hosts
            auth_param basic program /usr/lib/squid/basic_ncsa_auth {directory}/passwords
            auth_param basic realm squid
            acl users proxy_auth REQUIRED
            acl forbidden dstdomain forbidden.test
            http_access deny forbidden
            http_access allow users
            http_access deny all
            cache deny all
            cache_mem 0 MB
            access_log stdio:{directory}/access.log
            cache_log {directory}/cache.log
            pid_filename {directory}/squid.pid
            shutdown_lifetime 0 seconds
            """.replace("\n            ", "\n"))
        self._process: Optional[subprocess.Popen] = subprocess.Popen(
            [BINARY or "squid", "-N", "-f", str(configuration)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, cwd=directory)
        self._await()

    def stop(self) -> None:
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
        self._process = None

    def log(self) -> str:
        """What it was requested: written when a tunnel ends."""
        path = self._directory / "access.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _write(self, name: str, text: str) -> Path:
        path = self._directory / name
        path.write_text(text)
        path.chmod(0o644)
        return path

    def _await(self) -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            assert self._process and self._process.poll() is None, (self._directory / "cache.log").read_text()
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("squid does not listen")
