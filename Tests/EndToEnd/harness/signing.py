"""Keys and signed tokens, made with the openssl command: the tests need no library."""
from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, Optional, Union


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def compact(value: Union[bytes, Dict[str, Any]]) -> str:
    """One part of a token."""
    return b64url(value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode())


def left_half(value: str, digest: str = "sha256") -> str:
    """What at_hash, c_hash and s_hash are made of (OpenID Connect Core section 3.1.3.6)."""
    whole = hashlib.new(digest, value.encode()).digest()
    return b64url(whole[: len(whole) // 2])


def hs256(secret: bytes, header: Dict[str, Any], claims: Union[bytes, Dict[str, Any]]) -> str:
    signed = f"{compact(header)}.{compact(claims)}"
    return f"{signed}.{b64url(hmac.new(secret, signed.encode(), 'sha256').digest())}"


class SigningKey:
    """A private key of the openssl command; `alg` is RS256, ES256, EdDSA (on edwards25519) or Ed448."""

    _NEW = {
        "RS256": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
        "ES256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
        "EdDSA": ["-algorithm", "ED25519"],
        "Ed448": ["-algorithm", "ED448"],
    }

    def __init__(self, alg: str = "RS256", kid: Optional[str] = "k1", der: Optional[bytes] = None) -> None:
        """A new key, or the one in `der` (PKCS #8)."""
        self.alg, self.kid = alg, kid
        self.pem = self._openssl("pkey", "-inform", "DER", input=der) if der else self._openssl("genpkey", *self._NEW[alg])
        self.public_der = self._openssl("pkey", "-pubout", "-outform", "DER", input=self.pem)

    def jwk(self, **members: Any) -> Dict[str, Any]:
        """The public key; a member that is None is left out."""
        own: Dict[str, Any] = {"kid": self.kid, "use": "sig", **self._public(), **members}
        return {name: value for name, value in own.items() if value is not None}

    def jwks(self, **members: Any) -> Dict[str, Any]:
        return {"keys": [self.jwk(**members)]}

    def sign(self, claims: Union[bytes, Dict[str, Any]], **header: Any) -> str:
        """A token of `claims`; a header member that is None is left out."""
        members = {"alg": self.alg, "kid": self.kid, **header}
        signed = f"{compact({k: v for k, v in members.items() if v is not None})}.{compact(claims)}"
        return f"{signed}.{b64url(self.signature(signed.encode()))}"

    def signature(self, data: bytes) -> bytes:
        with tempfile.NamedTemporaryFile() as key, tempfile.NamedTemporaryFile() as text:
            Path(key.name).write_bytes(self.pem)
            Path(text.name).write_bytes(data)
            if self.alg in ("EdDSA", "Ed448"):
                return self._openssl("pkeyutl", "-sign", "-rawin", "-inkey", key.name, "-in", text.name)
            made = self._openssl("dgst", "-sha256", "-sign", key.name, text.name)
        return made if self.alg == "RS256" else raw_signature(made)

    def _public(self) -> Dict[str, Any]:
        if self.alg == "RS256":
            text = self._openssl("rsa", "-pubin", "-inform", "DER", "-noout", "-modulus", input=self.public_der)
            found = re.search(rb"Modulus=([0-9A-F]+)", text)
            assert found
            return {"kty": "RSA", "n": b64url(bytes.fromhex(found.group(1).decode())), "e": "AQAB"}
        if self.alg == "ES256":
            point = self.public_der[-64:]
            return {"kty": "EC", "crv": "P-256", "x": b64url(point[:32]), "y": b64url(point[32:])}
        if self.alg == "Ed448":
            return {"kty": "OKP", "crv": "Ed448", "x": b64url(self.public_der[-57:])}
        return {"kty": "OKP", "crv": "Ed25519", "x": b64url(self.public_der[-32:])}

    @staticmethod
    def _openssl(*arguments: str, input: bytes = b"") -> bytes:
        return subprocess.run(["openssl", *arguments], input=input, capture_output=True, check=True).stdout


def raw_signature(der: bytes) -> bytes:
    """An ECDSA signature as r and s (RFC 7518 section 3.4)."""
    def integer(position: int) -> tuple[bytes, int]:
        length = der[position + 1]
        end = position + 2 + length
        return der[position + 2 : end].lstrip(b"\0").rjust(32, b"\0"), end

    r, position = integer(2)
    s, _ = integer(position)
    return r + s
