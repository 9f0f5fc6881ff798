"""The three judges: Postern over its socket, joserfc and jwcrypto in this process."""

from __future__ import annotations

import base64
import functools
import json
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional

import jwcrypto.jwe
import jwcrypto.jwk
import jwcrypto.jws
from joserfc import jwe, jwk, jws
from joserfc.jwe import JWERegistry
from joserfc.jws import JWSRegistry

SIGNATURES = [name for name in JWSRegistry.algorithms if name != "none"]
KEY_MANAGEMENT = [name for name in JWERegistry.algorithms["alg"] if name != "RSA1_5"]
ENCRYPTIONS = list(JWERegistry.algorithms["enc"])

# Fewer than the sidecar's limit of requests that wait on one connection.
BATCH = 64


@dataclass(frozen=True)
class Case:
    """One token and the key, or the set of keys, to judge it with."""

    name: str
    token: str
    key: Dict[str, Any]
    #: What must come out when all three accept it.
    content: Optional[bytes] = None


@dataclass(frozen=True)
class Verdict:
    """What a judge says: the content, or why not."""

    content: Optional[bytes]
    reason: str = ""

    @property
    def is_valid(self) -> bool:
        return self.content is not None


class Postern:
    """The sidecar. Requests are sent in batches, so that the socket costs next to nothing."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def calls(self, method: str, params: List[Dict[str, Any]]) -> Iterable[Dict[str, Any]]:
        """The response to each request, in order; a request that is refused answers its error."""
        for start in range(0, len(params), BATCH):
            identifiers = [self.connection.request(method, each) for each in params[start : start + BATCH]]
            for identifier in identifiers:
                yield self.connection.answer_to(identifier)

    def verify(self, cases: List[Case]) -> List[Verdict]:
        params = [{"jws": case.token, "jwks" if "keys" in case.key else "jwk": case.key} for case in cases]
        return [self._verdict(answer, "payload") for answer in self.calls("verifyJws", params)]

    def decrypt(self, cases: List[Case]) -> List[Verdict]:
        params = [{"jwe": case.token, "jwk": case.key, "algorithms": KEY_MANAGEMENT} for case in cases]
        return [self._verdict(answer, "plaintext") for answer in self.calls("decryptJwe", params)]

    @staticmethod
    def _verdict(answer: Dict[str, Any], member: str) -> Verdict:
        if "error" in answer:
            reason = answer["error"].get("data", {}).get("reason", answer["error"]["message"])
            return Verdict(None, f"{reason}: {answer['error']['message']}")
        result = answer["result"]
        if not result["valid"]:
            assert member not in result and member + "Base64" not in result, "content beside a refusal"
            return Verdict(None, "{code}: {message}".format(**result["error"]))
        assert "error" not in result and (member in result) != (member + "Base64" in result), result
        if member in result:
            return Verdict(result[member].encode())
        return Verdict(base64.b64decode(result[member + "Base64"], validate=True))


@functools.lru_cache(None)
def _joserfc_key(text: str) -> Any:
    return jwk.import_key(json.loads(text))


@functools.lru_cache(None)
def _jwcrypto_key(text: str) -> Any:
    return jwcrypto.jwk.JWK.from_json(text)


def joserfc_key(key: Dict[str, Any]) -> Any:
    """Importing a private key takes longer than using it."""
    return jwk.KeySet.import_key_set(key) if "keys" in key else _joserfc_key(json.dumps(key))


def jwcrypto_key(key: Dict[str, Any]) -> Any:
    return _jwcrypto_key(json.dumps(key))


def joserfc_verify(case: Case) -> Verdict:
    registry = JWSRegistry(algorithms=SIGNATURES, strict_check_header=False)
    # Larger headers and signatures than its defaults allow: not what is compared.
    registry.max_header_length = registry.max_signature_length = 1 << 16
    try:
        return Verdict(jws.deserialize_compact(case.token, joserfc_key(case.key), registry=registry).payload)
    except Exception as error:  # whatever it raises on hostile input is a refusal
        return Verdict(None, repr(error))


def jwcrypto_verify(case: Case) -> Verdict:
    token = jwcrypto.jws.JWS()
    token.allowed_algs = SIGNATURES
    try:
        # A fresh key each time: one that was used before is not asked again whether its curve is the algorithm's.
        kind = jwcrypto.jwk.JWKSet if "keys" in case.key else jwcrypto.jwk.JWK
        token.deserialize(case.token, kind.from_json(json.dumps(case.key)))
        return Verdict(token.payload)
    except Exception as error:
        return Verdict(None, repr(error))


def joserfc_decrypt(case: Case) -> Verdict:
    registry = JWERegistry(algorithms=KEY_MANAGEMENT + ENCRYPTIONS, strict_check_header=False)
    registry.max_protected_header_length = 1 << 16
    try:
        return Verdict(jwe.decrypt_compact(case.token, joserfc_key(case.key), registry=registry).plaintext)
    except Exception as error:
        return Verdict(None, repr(error))


def jwcrypto_decrypt(case: Case) -> Verdict:
    token = jwcrypto.jwe.JWE(algs=KEY_MANAGEMENT + ENCRYPTIONS)
    try:
        token.deserialize(case.token, jwcrypto_key(case.key))
        return Verdict(token.payload)
    except Exception as error:
        # It takes an empty plaintext for a failure, and says so.
        return Verdict(b"" if "['Success']" in str(error) else None, repr(error))


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
