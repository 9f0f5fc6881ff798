"""Encrypted tokens, as joserfc and jwcrypto make them, and what an attacker makes of them."""

from __future__ import annotations

import hashlib
import json
import random
import zlib
from typing import Any, Dict, Iterator, List, Tuple

import jwcrypto.jwe
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.keywrap import aes_key_wrap
from joserfc import jwe
from joserfc.jwe import JWERegistry

import keys
import payloads
from jws_cases import textual
from judges import ENCRYPTIONS, KEY_MANAGEMENT, Case, base64url, compact, decoded, joserfc_key, jwcrypto_key
from keys import Key

KEY_BYTES = {"A128GCM": 16, "A192GCM": 24, "A256GCM": 32, "A128CBC-HS256": 32, "A192CBC-HS384": 48, "A256CBC-HS512": 64}


def by_joserfc(header: Dict[str, Any], content: bytes, key: Key) -> str:
    registry = JWERegistry(algorithms=KEY_MANAGEMENT + ENCRYPTIONS, strict_check_header=False)
    return jwe.encrypt_compact(header, content, joserfc_key(keys.public(key)), registry=registry)


def by_jwcrypto(header: Dict[str, Any], content: bytes, key: Key) -> str:
    token = jwcrypto.jwe.JWE(content, json.dumps(header), algs=KEY_MANAGEMENT + ENCRYPTIONS)
    token.add_recipient(jwcrypto_key(keys.public(key)))
    return token.serialize(compact=True)


def recipients(algorithm: str, encryption: str) -> List[Key]:
    """Private keys for a JWE algorithm, two of every kind it takes."""
    if algorithm[:3] == "RSA":
        return [key for key in keys.of_kind("RSA") if len(key["n"]) == 342][:2]
    if algorithm[:4] == "ECDH":
        kinds = [("EC", "P-256"), ("EC", "P-384"), ("EC", "P-521"), ("OKP", "X25519")]
        return [key for kind in kinds for key in keys.of_kind(*kind)[:2]]
    byte_count = (
        24 if algorithm[:5] == "PBES2" else KEY_BYTES[encryption] if algorithm == "dir" else int(algorithm[1:4]) // 8
    )
    return [keys.secret(byte_count, number) for number in range(2)]


def genuine(source: random.Random, rounds: int) -> Iterator[Tuple[str, str, Key, Case]]:
    """(alg, enc, private key, case) of good tokens by both makers, for every alg, enc and kind of key."""
    for algorithm in KEY_MANAGEMENT:
        for encryption in ENCRYPTIONS:
            for number, key in enumerate(recipients(algorithm, encryption)[::2] * rounds):
                for maker in (by_joserfc, by_jwcrypto):
                    content = payloads.content(source)
                    header: Dict[str, Any] = {"alg": algorithm, "enc": encryption}
                    if source.random() < 0.5:
                        header.update(typ="JWT", cty="JWT", kid=payloads.text(source).replace("\0", ""))
                    if algorithm[:4] == "ECDH" and source.random() < 0.5:
                        header.update(apu=base64url(source.randbytes(9)), apv=base64url(source.randbytes(20)))
                    token = maker(header, content, key)
                    yield algorithm, encryption, key, Case(
                        f"{algorithm}/{encryption}/{maker.__name__}", token, key, content
                    )


# MARK: headers of one's own, under a shared key


def direct(header: bytes, content: bytes, key: Key, nonce: bytes = bytes(12)) -> str:
    """Encrypted with AES-GCM under the key itself, whatever the header says."""
    data = base64url(header).encode()
    sealed = AESGCM(decoded(key["k"])).encrypt(nonce, content, data)
    return ".".join([data.decode(), "", base64url(nonce), base64url(sealed[:-16]), base64url(sealed[-16:])])


def headers() -> Iterator[Tuple[str, bytes]]:
    plain: Dict[str, Any] = {"alg": "dir", "enc": "A128GCM"}

    def more(**members: Any) -> bytes:
        return compact({**plain, **members})

    yield "header-spaces", json.dumps(plain, indent=2).encode()
    yield "header-order", compact({"typ": "JWT", "enc": "A128GCM", "alg": "dir"})
    yield "header-escape", compact(plain).replace(b'"enc"', b'"\\u0065nc"')
    yield "header-private", more(**{"https://example.test/x": [1, {"a": None}], "typ": "x/y"})
    yield "header-jku", more(jku="https://example.test/keys")
    yield "header-crit-unknown", more(crit=["exp"], exp=1)
    yield "header-crit-absent", more(crit=["exp"])
    yield "header-crit-empty", more(crit=[])
    yield "header-crit-registered", more(crit=["alg"])
    yield "header-too-deep", more(x=json.loads("[" * 40 + "]" * 40))
    yield "header-twice", compact(plain)[:-1] + b',"enc":"A128GCM"}'
    yield "header-twice-other", b'{"enc":"A256GCM",' + compact(plain)[1:]
    yield "header-array", compact([plain])
    yield "header-bom", b"\xef\xbb\xbf" + compact(plain)
    yield "header-utf8", compact(plain)[:-1] + b',"x":"\xff"}'
    yield "header-surrogate", compact(plain)[:-1] + b',"x":"\\ud800"}'
    yield "header-nul", compact(plain)[:-1] + b',"x":"\\u0000"}'
    yield "header-nan", compact(plain)[:-1] + b',"x":NaN}'
    yield "header-kid-number", more(kid=7)
    yield "header-typ-number", more(typ=7)
    yield "header-enc-case", more(enc="a128gcm")
    yield "header-enc-none", compact({"alg": "dir"})
    yield "header-enc-number", more(enc=128)
    yield "header-enc-other", more(enc="A128CBC-HS256")
    yield "header-alg-case", more(alg="DIR")
    yield "header-alg-none", more(alg="none")
    yield "header-alg-missing", compact({"enc": "A128GCM"})
    yield "header-alg-signature", more(alg="HS256")
    yield "header-alg-other", more(alg="A128KW")
    yield "header-zip-unknown", more(zip="GZ")
    yield "header-zip-number", more(zip=1)


def changed_headers(
    source: random.Random, algorithm: str, encryption: str, header: Dict[str, Any]
) -> Iterator[Tuple[str, Any]]:
    """(name, header) of headers that the rest of the token does not belong to."""
    for other in source.sample(KEY_MANAGEMENT, 4):
        if other != algorithm:
            yield "alg-swapped", {**header, "alg": other}
    for other in ENCRYPTIONS:
        if other != encryption:
            yield "enc-swapped", {**header, "enc": other}
    for name in ("epk", "iv", "tag", "p2s", "p2c", "apu", "apv"):
        if name in header:
            yield f"without-{name}", {key: value for key, value in header.items() if key != name}
    for name, value in [
        ("p2c", 1),
        ("p2c", 0),
        ("p2c", -1),
        ("p2c", 10_001),
        ("p2c", 2**31),
        ("p2c", 2**63),
        ("p2c", "1000"),
        ("p2c", 1000.5),
        ("p2c", None),
        ("p2s", ""),
        ("p2s", "AA"),
        ("iv", "AA"),
        ("tag", "AA"),
        ("tag", ""),
    ]:
        if name in header:
            yield f"bad-{name}", {**header, name: value}
    if "epk" in header:
        own = header["epk"]
        zero = base64url(bytes(len(decoded(own["x"]))))
        for name, value in [
            ("epk-null", None),
            ("epk-string", "x"),
            ("epk-empty", {}),
            ("epk-private", {**own, "d": own["x"]}),
            ("epk-zero", {**own, "x": zero, **({"y": zero} if "y" in own else {})}),
            ("epk-short", {**own, "x": own["x"][:-4]}),
            ("epk-other-curve", keys.public(keys.derived("X25519" if "y" in own else "P-256", 9))),
            ("epk-signature-curve", keys.public(keys.derived("Ed25519", 9))),
            ("epk-oct", keys.secret(32)),
            ("epk-other", keys.public(keys.derived(own["crv"], 9))),
        ]:
            yield name, {**header, "epk": value}
        if "y" in own:
            yield "epk-off-curve", {**header, "epk": {**own, "y": own["x"]}}
        else:
            # Points of small order: the shared secret is zero whatever the recipient's key is (RFC 7748 section 6.1).
            for point in (
                1,
                325606250916557431795983626356110631294008115727848805560023387167927233504,
                2**255 - 20,
                2**255 - 19,
                2**255 - 18,
            ):
                yield "epk-small-order", {**header, "epk": {**own, "x": base64url(point.to_bytes(32, "little"))}}
        yield "apu-added", {**header, "apu": "AAAA"}
        yield "apu-number", {**header, "apu": 1}


def mutants(source: random.Random, algorithm: str, encryption: str, key: Key, case: Case) -> Iterator[Case]:
    """Everything above, of one good token."""

    def changed(name: str, token: str, judged_by: Key = key) -> Case:
        return Case(f"{name} {algorithm} {encryption}", token, judged_by)

    kept = 12 if algorithm[:5] == "PBES2" else 30
    texts = [(name, token) for name, token in textual(case.token, source) if token != case.token]
    for name, token in source.sample(texts, kept):
        yield changed(name, token)
    parts = case.token.split(".")
    header = json.loads(decoded(parts[0]))
    for name, other in changed_headers(source, algorithm, encryption, header):
        yield changed(name, ".".join([base64url(compact(other)), *parts[1:]]))
    for other in recipients(algorithm, encryption):
        if other != key and other.get("crv") == key.get("crv"):
            yield changed("other-key", case.token, other)
    for foreign in (keys.secret(16), keys.of_kind("EC", "P-256")[0], keys.of_kind("OKP", "Ed25519")[0]):
        if (foreign["kty"], foreign.get("crv")) != (key["kty"], key.get("crv")):
            yield changed("foreign-key", case.token, foreign)
    if key["kty"] != "oct":
        yield changed("public-key", case.token, keys.public(key))
    for name, member in [
        ("use-sig", {"use": "sig"}),
        ("use-enc", {"use": "enc"}),
        ("alg-same", {"alg": algorithm}),
        ("alg-other", {"alg": "RSA-OAEP" if algorithm != "RSA-OAEP" else "RSA-OAEP-256"}),
        ("ops-verify", {"key_ops": ["verify"]}),
    ]:
        yield changed(f"key-{name}", case.token, {**key, **member})


def crafted() -> Iterator[Case]:
    """Tokens that the holder of a shared key may write."""
    key = keys.secret(16)
    for name, header in headers():
        yield Case(f"{name} crafted", direct(header, b"content", key), key)
    plain = compact({"alg": "dir", "enc": "A128GCM"})
    for count in (8, 11, 13, 16, 32):
        yield Case(f"iv-{count} crafted", direct(plain, b"content", key, bytes(count)), key)
    token = direct(plain, b"content", key).split(".")
    for count in (0, 1, 4, 8, 12, 15):
        cut = base64url(decoded(token[4])[:count])
        yield Case(f"tag-{count} crafted", ".".join(token[:4] + [cut]), key)
    yield Case("key-beside-dir crafted", ".".join([token[0], "AAAA", *token[2:]]), key)
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    squeezed = deflate.compress(b"content") + deflate.flush()
    yield Case("zip crafted", direct(compact({"alg": "dir", "enc": "A128GCM", "zip": "DEF"}), squeezed, key), key)
    for count, salt in [(1000, 16), (10_000, 8), (999, 16), (1, 16), (10_001, 16), (1000, 7), (1000, 0), (1000, 2000)]:
        name = f"p2c-{count}" if salt in (8, 16) else f"p2s-{salt}"
        yield Case(f"{name} crafted", password_based(count, bytes(salt)), keys.secret(24))


def password_based(count: int, salt: bytes) -> str:
    """PBES2-HS256+A128KW with an iteration count and a salt of one's own (RFC 7518 section 4.8)."""
    algorithm = "PBES2-HS256+A128KW"
    password = decoded(keys.secret(24)["k"])
    wrapping = hashlib.pbkdf2_hmac("sha256", password, algorithm.encode() + b"\0" + salt, count, 16)
    content_key = bytes(range(16))
    header = compact({"alg": algorithm, "enc": "A128GCM", "p2c": count, "p2s": base64url(salt)})
    parts = direct(header, b"content", {"k": base64url(content_key)}).split(".")
    parts[1] = base64url(aes_key_wrap(wrapping, content_key))
    return ".".join(parts)
