"""DPoP proofs by the thousand: keys of P-256 in libcrypto, which signs without a process for each signature."""
from __future__ import annotations

import ctypes
import ctypes.util
import hashlib
import json
import time
from typing import Any, Dict

from .signing import SigningKey, _raw, b64url, compact


def _libcrypto() -> Any:
    name = ctypes.util.find_library("crypto")
    assert name, "libcrypto is not installed"
    library = ctypes.CDLL(name)
    pointer = ctypes.c_void_p
    for function, result, arguments in (
        ("d2i_AutoPrivateKey", pointer, [pointer, ctypes.POINTER(ctypes.c_char_p), ctypes.c_long]),
        ("EVP_MD_CTX_new", pointer, []),
        ("EVP_MD_CTX_free", None, [pointer]),
        ("EVP_sha256", pointer, []),
        ("EVP_DigestSignInit", ctypes.c_int, [pointer, pointer, pointer, pointer, pointer]),
        ("EVP_DigestSign", ctypes.c_int, [pointer, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t), ctypes.c_char_p, ctypes.c_size_t]),
    ):
        entry = getattr(library, function)
        entry.restype, entry.argtypes = result, arguments
    return library


class ProofKey:
    """A client's key: its thumbprint for the token, and proofs (RFC 9449 section 4.2)."""

    def __init__(self) -> None:
        key = SigningKey("ES256", None)
        der = SigningKey._openssl("pkey", "-outform", "DER", input=key.pem)
        self._library = _libcrypto()
        text = ctypes.c_char_p(der)
        self._key = self._library.d2i_AutoPrivateKey(None, ctypes.byref(text), len(der))
        assert self._key, "no private key"
        self.jwk: Dict[str, Any] = key.jwk(use=None)
        required = json.dumps(self.jwk, separators=(",", ":"), sort_keys=True).encode()
        self.thumbprint = b64url(hashlib.sha256(required).digest())

    def _signature(self, data: bytes) -> bytes:
        context = self._library.EVP_MD_CTX_new()
        signature, length = ctypes.create_string_buffer(80), ctypes.c_size_t(80)
        made = self._library.EVP_DigestSignInit(context, None, self._library.EVP_sha256(), None, self._key)
        made = made == 1 and self._library.EVP_DigestSign(context, signature, ctypes.byref(length), data, len(data))
        self._library.EVP_MD_CTX_free(context)
        assert made == 1, "libcrypto does not sign"
        return _raw(signature.raw[: length.value])

    def proof(self, method: str, url: str, token: str, jti: str, **claims: Any) -> str:
        """A proof made now."""
        ath = b64url(hashlib.sha256(token.encode()).digest())
        payload = {"jti": jti, "htm": method, "htu": url, "iat": int(time.time()), "ath": ath, **claims}
        signed = f"{compact({'typ': 'dpop+jwt', 'alg': 'ES256', 'jwk': self.jwk})}.{compact(payload)}"
        return f"{signed}.{b64url(self._signature(signed.encode()))}"
