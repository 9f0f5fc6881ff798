"""Signed tokens, as joserfc and jwcrypto make them, and what an attacker or a bad proxy makes of them."""

from __future__ import annotations

import json
import random
from typing import Any, Dict, Iterator, List, Tuple

import jwcrypto.jws
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from joserfc import jws
from joserfc.jws import JWSRegistry

import keys
import payloads
from judges import SIGNATURES, Case, base64url, compact, decoded, joserfc_key, jwcrypto_key
from keys import Key

BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def by_joserfc(header: Dict[str, Any], content: bytes, key: Key) -> str:
    registry = JWSRegistry(algorithms=SIGNATURES, strict_check_header=False)
    return jws.serialize_compact(header, content, joserfc_key(key), registry=registry)


def by_jwcrypto(header: Dict[str, Any], content: bytes, key: Key) -> str:
    token = jwcrypto.jws.JWS(content)
    token.allowed_algs = SIGNATURES
    token.add_signature(jwcrypto_key(key), protected=json.dumps(header))
    return token.serialize(compact=True)


def raw(algorithm: str, key: Key, header: bytes, content: bytes) -> str:
    """Signed, whatever the header says."""
    message = f"{base64url(header)}.{base64url(content)}"
    return f"{message}.{base64url(keys.sign(algorithm, key, message.encode()))}"


def genuine(source: random.Random, rounds: int) -> Iterator[Tuple[str, Key, Case]]:
    """(algorithm, private key, case) of good tokens by both makers."""
    for algorithm in SIGNATURES:
        for number in range(rounds):
            for maker in (by_joserfc, by_jwcrypto):
                own = keys.signing_keys(algorithm)
                key = own[number % len(own)]
                content = payloads.content(source)
                header: Dict[str, Any] = {"alg": algorithm}
                if source.random() < 0.5:
                    header.update(typ="JWT", kid=payloads.text(source).replace("\0", ""))
                token = maker(header, content, key)
                yield algorithm, key, Case(f"{algorithm}/{maker.__name__}", token, keys.public(key), content)


# MARK: changes to the text


def flipped(text: str, source: random.Random) -> str:
    """One bit of what the part encodes is another."""
    data = bytearray(decoded(text))
    if not data:
        return "AA"
    position = source.randrange(len(data) * 8)
    data[position // 8] ^= 1 << position % 8
    return base64url(bytes(data))


def unused_bits(text: str) -> str:
    """The same bytes in a second spelling, where the last character has unused bits."""
    if len(text) % 4 in (0, 1):
        return text + "="
    return text[:-1] + BASE64URL[BASE64URL.index(text[-1]) | 1]


def textual(token: str, source: random.Random) -> Iterator[Tuple[str, str]]:
    """(name, text) of what can be done without a key."""
    parts = token.split(".")
    for index in range(len(parts)):

        def with_part(part: str) -> str:
            return ".".join(parts[:index] + [part] + parts[index + 1 :])

        part = parts[index]
        yield f"flip-{index}", with_part(flipped(part, source))
        yield f"unused-bits-{index}", with_part(unused_bits(part))
        yield f"padding-{index}", with_part(part + "=" * (-len(part) % 4 or 4))
        yield f"truncated-{index}", with_part(part[:-1])
        yield f"byte-less-{index}", with_part(base64url(decoded(part)[:-1]))
        yield f"byte-more-{index}", with_part(base64url(decoded(part) + b"\0"))
        yield f"empty-{index}", with_part("")
        position = source.randrange(len(part) + 1)
        for name, foreign in [("space", " "), ("newline", "\n"), ("plus", "+"), ("nul", "\0"), ("letter", "é")]:
            yield f"{name}-{index}", with_part(part[:position] + foreign + part[position:])
        yield f"standard-alphabet-{index}", with_part(part.replace("-", "+").replace("_", "/"))
    yield "dot-before", "." + token
    yield "dot-behind", token + "."
    yield "part-more", token + ".AA"
    yield "part-less", token.rsplit(".", 1)[0]
    yield "newline-behind", token + "\n"
    yield "space-before", " " + token
    yield "twice", token + token


# MARK: changes to the header, signed anew


def headers(algorithm: str, embedded: Key) -> Iterator[Tuple[str, bytes]]:
    """(name, header) of headers that the holder of the key may write."""
    plain: Dict[str, Any] = {"alg": algorithm}

    def more(**members: Any) -> bytes:
        return compact({**plain, **members})

    yield "header-spaces", json.dumps(plain, indent=2).encode()
    yield "header-order", compact({"typ": "JWT", **plain})
    yield "header-escape", compact(plain).replace(b'"alg"', b'"\\u0061lg"')
    yield "header-private", more(**{"https://example.test/x": [1, {"a": None}], "typ": "x/y"})
    yield "header-jwk-other", more(jwk=embedded)
    yield "header-jku", more(jku="https://example.test/keys", x5u="https://example.test/cert")
    yield "header-cty", more(cty="example")
    yield "header-deep", more(x=json.loads("[" * 20 + "]" * 20))
    yield "header-too-deep", more(x=json.loads("[" * 40 + "]" * 40))
    yield "header-crit-unknown", more(crit=["exp"], exp=1)
    yield "header-crit-absent", more(crit=["exp"])
    yield "header-crit-empty", more(crit=[])
    yield "header-crit-string", more(crit="exp", exp=1)
    yield "header-crit-registered", more(crit=["alg"])
    yield "header-b64-false", more(b64=False, crit=["b64"])
    yield "header-b64-false-uncritical", more(b64=False)
    yield "header-b64-true", more(b64=True, crit=["b64"])
    yield "header-twice", compact(plain)[:-1] + b',"alg":"' + algorithm.encode() + b'"}'
    yield "header-twice-other", b'{"alg":"none",' + compact(plain)[1:]
    yield "header-twice-escaped", b'{"\\u0061lg":"none",' + compact(plain)[1:]
    yield "header-trailing", compact(plain) + b"{}"
    yield "header-array", compact([plain])
    yield "header-bom", b"\xef\xbb\xbf" + compact(plain)
    yield "header-utf8", compact(plain)[:-1] + b',"x":"\xff"}'
    yield "header-utf16", compact(plain).decode().encode("utf-16")
    yield "header-surrogate", compact(plain)[:-1] + b',"x":"\\ud800"}'
    yield "header-nul", compact(plain)[:-1] + b',"x":"\\u0000"}'
    yield "header-nan", compact(plain)[:-1] + b',"x":NaN}'
    yield "header-infinite", compact(plain)[:-1] + b',"x":1e999}'
    yield "header-large-integer", compact(plain)[:-1] + b',"x":1' + b"0" * 30 + b"}"
    yield "header-comma", compact(plain)[:-1] + b",}"
    yield "header-single-quotes", compact(plain).replace(b'"', b"'")
    yield "header-kid-number", more(kid=7)
    yield "header-typ-number", more(typ=7)
    yield "header-no-alg", b"{}"
    yield "header-alg-number", compact({"alg": 256})
    yield "header-alg-array", compact({"alg": [algorithm]})
    yield "header-alg-space", compact({"alg": algorithm + " "})
    swapped = algorithm.swapcase()
    yield "header-alg-case", compact({"alg": swapped})
    for none in ("none", "None", "NONE", "nOnE"):
        yield f"header-alg-{none}", compact({"alg": none})


def swaps(algorithm: str) -> List[str]:
    """Names a token is relabelled with, its signature unchanged."""
    return [other for other in SIGNATURES if other != algorithm]


# MARK: signatures in another form


def forms(algorithm: str, key: Key, signature: bytes) -> Iterator[Tuple[str, bytes]]:
    """(name, signature) made from a good signature."""
    yield "form-zeros", bytes(len(signature))
    yield "form-ones", b"\xff" * len(signature)
    yield "form-zero-before", b"\0" + signature
    yield "form-halves-swapped", signature[len(signature) // 2 :] + signature[: len(signature) // 2]
    if algorithm[:2] != "ES":
        return
    count, order = keys.coordinate_bytes(key), keys.ORDERS[key["crv"]]
    r, s = (int.from_bytes(half, "big") for half in (signature[:count], signature[count:]))

    def pair(r: int, s: int) -> bytes:
        return r.to_bytes(count, "big") + s.to_bytes(count, "big")

    yield "form-der", encode_dss_signature(r, s)
    yield "form-s-negated", pair(r, order - s)
    yield "form-r-zero", pair(0, s)
    yield "form-s-zero", pair(r, 0)
    yield "form-r-order", pair(order, s)
    if (r + order).bit_length() <= count * 8:
        yield "form-r-plus-order", pair(r + order, s)


def confused(algorithm: str, key: Key) -> Iterator[Tuple[str, str]]:
    """(name, token) signed with what is public, as if it were a secret (CVE-2016-10555 and its many successors)."""
    public = jwcrypto_key(keys.public(key))
    texts: Dict[str, bytes] = {"jwk": public.export_public().encode()}
    if key["kty"] != "OKP" or key["crv"] in ("Ed25519", "Ed448"):
        texts["pem"] = public.export_to_pem()
    texts["empty"] = b"\0"
    for name, text in texts.items():
        for hmac in ("HS256", "HS512"):
            secret = {"kty": "oct", "k": base64url(text)}
            yield f"confused-{name}-{hmac}", raw(hmac, secret, compact({"alg": hmac}), b"{}")


def mutants(source: random.Random, algorithm: str, key: Key, case: Case) -> Iterator[Case]:
    """Everything above, of one good token."""
    own = keys.signing_keys(algorithm)
    other = next(each for each in own if each != key and each.get("crv") == key.get("crv"))

    def changed(name: str, token: str, judged_by: Key = case.key) -> Case:
        return Case(f"{name} {algorithm}", token, judged_by)

    for name, token in textual(case.token, source):
        if token != case.token:
            yield changed(name, token)
    content = case.content or b""
    for name, header in headers(algorithm, keys.public(other)):
        yield changed(name, raw(algorithm, key, header, content[:500]))
    header, payload, signature = case.token.split(".")
    for swap in swaps(algorithm):
        yield changed("relabelled", f"{base64url(compact({'alg': swap}))}.{payload}.{signature}")
        yield changed("signed-as", raw(algorithm, key, compact({"alg": swap}), content[:500]))
    for name, form in forms(algorithm, key, decoded(signature)):
        yield changed(name, f"{header}.{payload}.{base64url(form)}")
    embedded = raw(algorithm, other, compact({"alg": algorithm, "jwk": keys.public(other)}), b"{}")
    yield changed("embedded-key", embedded)
    yield changed("other-key", case.token, keys.public(other))
    for kind in ("HS256", "RS256", "ES256", "ES384", "ES256K", "Ed25519", "Ed448"):
        foreign = keys.public(keys.signing_keys(kind)[0])
        if (foreign["kty"], foreign.get("crv")) != (key["kty"], key.get("crv")):
            yield changed("foreign-key", case.token, foreign)
    if key["kty"] != "oct":
        for name, token in confused(algorithm, key):
            yield changed(name, token)
    for name, member in [
        ("alg-other", {"alg": "RS512" if algorithm != "RS512" else "RS256"}),
        ("use-enc", {"use": "enc"}),
        ("alg-same", {"alg": algorithm}),
        ("use-sig", {"use": "sig"}),
        ("kid-other", {"kid": "another"}),
        ("ops-verify", {"key_ops": ["verify"]}),
        ("ops-encrypt", {"key_ops": ["encrypt"]}),
    ]:
        token = raw(algorithm, key, compact({"alg": algorithm, "kid": "one"}), b"{}")
        yield changed(f"key-{name}", token, {**case.key, **member})


# MARK: key sets


def chosen() -> Iterator[Case]:
    """Tokens beside a set of keys of every kind: the header's kid decides, and nothing else may."""
    asymmetric = [algorithm for algorithm in SIGNATURES if algorithm[:2] != "HS"]
    sets: List[Tuple[str, List[str]]] = [("every", asymmetric), ("secret", ["HS256", "HS384", "HS512"])]
    for name, algorithms in sets:
        members = [{**keys.public(keys.signing_keys(each)[0]), "kid": f"kid-{each}"} for each in algorithms]
        for algorithm in algorithms:
            key = keys.signing_keys(algorithm)[0]
            header = {"alg": algorithm, "kid": f"kid-{algorithm}"}
            token = raw(algorithm, key, compact(header), b"{}")
            others = [each for each in members if each["kid"] != header["kid"]]
            elsewhere = next(each for each in others if {**each, "kid": ""} != {**keys.public(key), "kid": ""})

            def beside(case: str, token: str, *chosen: Key) -> Case:
                return Case(f"set-{case} {name} {algorithm}", token, {"keys": list(chosen)})

            yield beside("right", token, *members)
            yield beside("reversed", token, *members[::-1])
            yield beside("without-it", token, *others)
            yield beside("empty", token)
            wrong = raw(algorithm, key, compact({**header, "kid": elsewhere["kid"]}), b"{}")
            yield beside("kid-of-another", wrong, *members)
            yield beside("kid-unknown", raw(algorithm, key, compact({**header, "kid": "kid-x"}), b"{}"), *members)
            yield beside(
                "kid-prefix", raw(algorithm, key, compact({**header, "kid": header["kid"][:-1]}), b"{}"), *members
            )
            yield beside(
                "kid-case", raw(algorithm, key, compact({**header, "kid": header["kid"].upper()}), b"{}"), *members
            )
            yield beside("only-one-no-kid", raw(algorithm, key, compact({"alg": algorithm}), b"{}"), keys.public(key))
            yield beside("unknown-kind", token, {"kty": "AKP", "kid": "a"}, *members)
            yield beside(
                "broken-entry", token, {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "a"}, *members
            )
            secret = {**keys.secret(64), "kid": "kid-secret"}
            if name == "every":
                yield beside("mixed", token, *members, secret)
