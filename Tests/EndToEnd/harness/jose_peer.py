"""joserfc as a child process: JWEs made and read by somebody else."""
from __future__ import annotations

import base64
import json
import os
import subprocess
from typing import Any, Dict, Optional, Tuple

from . import binaries, processes

SCRIPT = binaries.ROOT / "Tests" / "Providers" / "jose_peer.py"


class JosePeer:
    """It also ends when this process does, because its standard input ends then."""

    def __init__(self) -> None:
        python = os.environ.get("PROVIDERS_PYTHON") or str(binaries.ROOT / ".build" / "providers" / "bin" / "python")
        assert os.access(python, os.X_OK), f"{python} is not there: install joserfc with `make providers`"
        self.process = subprocess.Popen(
            [python, "-W", "ignore", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def encrypt(self, key: Dict[str, Any], alg: str, enc: str, content: bytes, **header: Any) -> str:
        return self._call(
            do="encrypt", key=key, alg=alg, enc=enc, content=base64.b64encode(content).decode(), header=header)["token"]

    def decrypt(self, key: Dict[str, Any], alg: str, enc: str, token: str) -> Tuple[Dict[str, Any], bytes]:
        """Header and content."""
        found = self._call(do="decrypt", key=key, alg=alg, enc=enc, token=token)
        return found["header"], base64.b64decode(found["content"])

    def key(self, kty: str, crv: Optional[str] = None, **members: Any) -> Dict[str, Any]:
        """A fresh key pair, as a private JWK."""
        return {**self._call(do="generate", kty=kty, crv=crv)["key"], **members}

    def pem(self, key: Dict[str, Any], private: bool) -> str:
        return self._call(do="pem", key=key, private=private)["pem"]

    def stop(self) -> None:
        processes.end(self.process)

    def _call(self, **call: Any) -> Dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(call).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer
        return answer


def public(key: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in key.items() if name not in ("d", "p", "q", "dp", "dq", "qi")}
