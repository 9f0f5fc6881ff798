"""Fixed keys, and signatures over any bytes, for headers that no library would write."""

from __future__ import annotations

import functools
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any, Dict, List

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, x25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from jwcrypto import jwk

from judges import base64url, decoded

VECTORS = Path(__file__).resolve().parents[1] / "JOSETests" / "Vectors"
Key = Dict[str, Any]


@functools.lru_cache(None)
def published() -> List[Key]:
    """The private keys of the vector files, each once."""
    found: Dict[str, Key] = {}
    for file in ["interop-jws", "interop-jwe", "rfc-jws", "rfc-jwe"]:
        for vector in json.loads((VECTORS / f"{file}.json").read_text(encoding="utf-8")):
            members = {name: value for name, value in vector["key"].items() if name not in {"kid", "use", "alg"}}
            found.setdefault(json.dumps(members, sort_keys=True), members)
    return [key for key in found.values() if "d" in key or "k" in key]


@functools.lru_cache(None)
def of_kind(kty: str, crv: str = "") -> List[Key]:
    """At least two keys of one kind, so that there is always another one."""
    keys = [key for key in published() if key["kty"] == kty and key.get("crv", "") == crv and "k" not in key]
    number = 1
    while len(keys) < 2:
        keys.append(derived(crv, number))
        number += 1
    return keys


def derived(crv: str, number: int) -> Key:
    """The key pair of a fixed secret."""
    seed = hashlib.shake_256(f"{crv}-{number}".encode()).digest(66)
    curves = {"P-256": ec.SECP256R1, "P-384": ec.SECP384R1, "P-521": ec.SECP521R1, "secp256k1": ec.SECP256K1}
    if crv in curves:
        key = ec.derive_private_key(int.from_bytes(seed[:31], "big"), curves[crv]())
        return exported(key)
    kind, count = {
        "Ed25519": (ed25519.Ed25519PrivateKey, 32),
        "Ed448": (ed448.Ed448PrivateKey, 57),
        "X25519": (x25519.X25519PrivateKey, 32),
    }[crv]
    return exported(kind.from_private_bytes(seed[:count]))


def exported(private: Any) -> Key:
    members = jwk.JWK.from_pyca(private).export(as_dict=True)
    del members["kid"]
    return members


def secret(byte_count: int, number: int = 0) -> Key:
    return {"kty": "oct", "k": base64url(hashlib.shake_256(f"secret-{number}".encode()).digest(byte_count))}


def public(key: Key) -> Key:
    """The half that verifies and encrypts; of a secret, the secret."""
    if key["kty"] == "oct":
        return key
    return {name: value for name, value in key.items() if name not in {"d", "p", "q", "dp", "dq", "qi"}}


def signing_keys(algorithm: str) -> List[Key]:
    """Keys for a JWS algorithm; EdDSA has those of both curves in turn."""
    if algorithm[:2] == "HS":
        return [secret(int(algorithm[2:]) // 8, number) for number in range(2)]
    if algorithm[:2] in ("RS", "PS"):
        return [key for key in of_kind("RSA") if len(key["n"]) == 342][:2]
    if algorithm == "EdDSA":
        first, second = of_kind("OKP", "Ed25519"), of_kind("OKP", "Ed448")
        return [first[0], second[0], first[1], second[1]]
    curve = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "ES256K": "secp256k1"}.get(algorithm, algorithm)
    return of_kind("EC" if algorithm[:2] == "ES" else "OKP", curve)[:2]


@functools.lru_cache(None)
def loaded(key: str) -> Any:
    """Loading a key takes longer than signing with it."""
    return jwk.JWK.from_json(key).get_op_key("sign")


def sign(algorithm: str, key: Key, message: bytes) -> bytes:
    """The signature of any bytes, whatever they are."""
    if key["kty"] == "oct":
        return hmac.new(decoded(key["k"]), message, f"sha{algorithm[2:]}").digest()
    private = loaded(json.dumps(key))
    if key["kty"] == "OKP":
        return private.sign(message)
    if key["kty"] == "RSA":
        hash = {"256": hashes.SHA256, "384": hashes.SHA384, "512": hashes.SHA512}[algorithm[2:5]]()
        if algorithm[0] == "R":
            return private.sign(message, padding.PKCS1v15(), hash)
        return private.sign(message, padding.PSS(padding.MGF1(hash), hash.digest_size), hash)
    hash = {"P-256": hashes.SHA256, "P-384": hashes.SHA384, "P-521": hashes.SHA512, "secp256k1": hashes.SHA256}
    r, s = decode_dss_signature(private.sign(message, ec.ECDSA(hash[key["crv"]]())))
    count = coordinate_bytes(key)
    return r.to_bytes(count, "big") + s.to_bytes(count, "big")


def coordinate_bytes(key: Key) -> int:
    return {"P-256": 32, "P-384": 48, "P-521": 66, "secp256k1": 32}[key["crv"]]


#: The order of each curve's group.
ORDERS = {
    "P-256": int("FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551", 16),
    "P-384": int("F" * 48 + "C7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973", 16),
    "P-521": int("1" + "F" * 65 + "A51868783BF2F966B7FCC0148F709A5D03BB5C9B8899C47AEBB6FB71E91386409", 16),
    "secp256k1": int("FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141", 16),
}
