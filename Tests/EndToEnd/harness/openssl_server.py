"""`openssl s_server`, which tells in its page what was negotiated: version, and whether a session was resumed."""
from __future__ import annotations

import select
import subprocess
from typing import Optional

from .certificates import Authority


class OpenSSLServer:
    """A server with the certificate `name`, `staple` being the file of its OCSP response."""

    def __init__(self, authority: Authority, name: str, *arguments: str, staple: Optional[str] = None) -> None:
        command = [
            "openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert", authority.certificate(name),
            "-key", authority.key(name), "-cert_chain", authority.certificate("middle"), *arguments]
        if staple is not None:
            command += ["-status_file", staple]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        try:
            self.base = "https://" + self._address()
        except BaseException:
            self.stop()
            raise

    def _address(self) -> str:
        assert self.process.stdout is not None
        while True:
            assert select.select([self.process.stdout], [], [], 10)[0], "s_server says nothing"
            line = self.process.stdout.readline().decode()
            assert line, "s_server did not start"
            if line.startswith("ACCEPT "):
                return line.split()[1]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()
