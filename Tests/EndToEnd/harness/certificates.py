"""An authority, one below it, and certificates, made with the openssl command: the tests need no library."""
from __future__ import annotations

import base64
import hashlib
import subprocess
from pathlib import Path


class Authority:
    """`ca`, `middle` below it, and what they sign, in `directory`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._key("ca")
        self._openssl("req", "-x509", "-new", "-key", self.key("ca"), "-subj", "/CN=ca", "-days", "2", "-out", self.file)
        self.issue("middle", "basicConstraints=critical,CA:TRUE")

    @property
    def file(self) -> str:
        return str(self.directory / "ca.pem")

    def certificate(self, name: str) -> str:
        return str(self.directory / f"{name}.pem")

    def key(self, name: str) -> str:
        return str(self.directory / f"{name}.key")

    def chain(self, name: str, *behind: str) -> str:
        """A file with the certificate and those behind it."""
        path = self.directory / f"{name}-chain.pem"
        path.write_text("".join(Path(self.certificate(one)).read_text() for one in (name, *behind)))
        return str(path)

    def issue(
        self, name: str, extension: str = "keyUsage=digitalSignature", by: str = "ca", days: int = 2, also: str = ""
    ) -> None:
        self._key(name)
        request = str(self.directory / f"{name}.csr")
        extensions = [part for one in (extension, also) if one for part in ("-addext", one)]
        self._openssl("req", "-new", "-key", self.key(name), "-subj", f"/CN={name}", *extensions, "-out", request)
        self._openssl(
            "x509", "-req", "-in", request, "-CA", self.certificate(by), "-CAkey", self.key(by), "-CAcreateserial",
            "-copy_extensions", "copyall", "-days", str(days), "-out", self.certificate(name))

    def pin(self, name: str) -> str:
        """The SHA-256 of the certificate's public key."""
        public = self._openssl("x509", "-in", self.certificate(name), "-noout", "-pubkey")
        der = subprocess.run(
            ["openssl", "pkey", "-pubin", "-outform", "DER"], input=public, check=True, capture_output=True, timeout=30)
        return "sha256/" + base64.b64encode(hashlib.sha256(der.stdout).digest()).decode()

    def _key(self, name: str) -> None:
        self._openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.key(name))
        Path(self.key(name)).chmod(0o600)

    @staticmethod
    def _openssl(*arguments: str) -> bytes:
        return subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=30).stdout
