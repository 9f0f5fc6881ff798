"""Writes the seeds of the corpus and the dictionaries. Deterministic; run it when a seed is to be added.

Seeds are named after what they are; inputs that fuzzing added are named after their hash and are not touched.
"""

import base64
import hashlib
import json
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
VECTORS = HERE.parent / "JOSETests" / "Vectors"
NOW = 1_800_000_000
SIGNATURES = (
    "HS256 HS384 HS512 RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 ES256K EdDSA Ed25519 Ed448 "
    "none ML-DSA-44"
).split()
KEY_MANAGEMENT = (
    "RSA-OAEP RSA-OAEP-256 RSA-OAEP-384 RSA-OAEP-512 RSA1_5 ECDH-ES ECDH-ES+A128KW ECDH-ES+A192KW "
    "ECDH-ES+A256KW A128KW A192KW A256KW A128GCMKW A192GCMKW A256GCMKW dir PBES2-HS256+A128KW "
    "PBES2-HS384+A192KW PBES2-HS512+A256KW"
).split()
ENCRYPTIONS = "A128GCM A192GCM A256GCM A128CBC-HS256 A192CBC-HS384 A256CBC-HS512".split()
CLAIMS = (
    "iss sub aud exp nbf iat jti nonce azp acr amr auth_time at_hash c_hash s_hash sid events client_id scope cnf "
    "jkt x5t#S256"
).split()
HEADER = "alg enc kid typ cty crit b64 zip jwk jku x5u x5c x5t epk apu apv iv tag p2s p2c".split()
KEY = "keys kty use key_ops alg kid x5c x5t x5t#S256 n e d p q dp dq qi oth crv x y k RSA EC OKP oct".split()
CURVES = "P-256 P-384 P-521 secp256k1 Ed25519 Ed448 X25519 X448".split()
OPERATIONS = "sign verify encrypt decrypt wrapKey unwrapKey deriveKey deriveBits sig enc".split()
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def compact(value):
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def left_half(value, function="sha256"):
    digest = hashlib.new(function, value.encode()).digest()
    return base64url(digest[: len(digest) // 2])


# MARK: tokens


def genuine():
    """Every published token and every one that other libraries made."""
    for file in ["rfc-jws", "rfc-jwe", "rfc-jwe-refused", "interop-jws", "interop-jwe", "refused-jws"]:
        for number, vector in enumerate(vectors(file)):
            yield f"{file}-{number:02}-{slug(vector['name'])}", vector["token"]


def claims(**changes):
    base = {"iss": "https://idp.test", "sub": "user", "aud": "shop", "exp": NOW + 300, "iat": NOW - 10}
    base.update(changes)
    return {name: value for name, value in base.items() if value is not None}


def composed():
    def input(kind, *parts):
        return "\n".join([kind, *map(compact, parts)])

    hs, ed = {"alg": "HS256"}, {"alg": "Ed25519", "kid": "Ed25519"}
    jwe = {"alg": "dir", "enc": "A128GCM"}
    demanding = {
        "aud": ["shop", "till"],
        "azp": "shop",
        "nonce": "n-0S6_WzA2Mj",
        "auth_time": NOW - 60,
        "acr": "gold",
        "nbf": NOW - 10.5,
    }
    hashes = {"at_hash": "token", "c_hash": "code", "s_hash": "state"}
    sha256 = {name: left_half(value) for name, value in hashes.items()}
    sha512 = {name: left_half(value, "sha512") for name, value in hashes.items()}
    access = claims(client_id="app", jti="1", scope="read write")
    logout = claims(jti="1", sid="s", events={LOGOUT: {}})
    yield "valid-id-hs256", input("S", hs, claims())
    yield "valid-id-ed25519", input("S", ed, claims())
    yield "valid-id-eddsa-typ", input("S", {"alg": "EdDSA", "typ": "application/JWT", "kid": "Ed25519"}, claims())
    # Several audiences and a shared secret do not go together (OpenID Connect Core 3.1.3.7 rule 8).
    yield "valid-id-demanding-hs256", input("S", hs, claims(**{**demanding, "aud": ["shop"]}, **sha256))
    yield "valid-id-demanding-ed25519", input("S", ed, claims(**demanding, **sha512))
    yield "valid-id-encrypted", input("N", jwe, hs, claims())
    yield "valid-id-encrypted-cty", input("N", {**jwe, "cty": "JWT", "typ": "JWT"}, ed, claims())
    yield "valid-access", input("S", {"alg": "Ed25519", "typ": "at+jwt"}, access)
    yield "valid-logout", input("S", {"alg": "Ed25519", "typ": "logout+jwt"}, logout)
    yield "logout-with-nonce", input("S", hs, {**logout, "nonce": "n"})
    yield "access-bound", input("S", {"alg": "HS256", "typ": "at+jwt"}, {**access, "cnf": {"jkt": "x"}})
    for name, value in [
        ("iss", "https://idp.test/"),
        ("sub", ""),
        ("sub", "\u00e9"),
        ("aud", []),
        ("aud", [1]),
        ("aud", ["till", "shop"]),
        ("azp", "till"),
        ("exp", NOW - 300),
        ("exp", "1"),
        ("exp", 1e300),
        ("exp", 2**63 - 1),
        ("exp", -1),
        ("exp", True),
        ("nbf", NOW + 300),
        ("nbf", -(2**63)),
        ("iat", NOW + 300),
        ("iat", 9.3e18),
        ("iat", None),
        ("nonce", 1),
        ("auth_time", "x"),
        ("acr", ["gold"]),
        ("at_hash", "AAAA"),
        ("events", {LOGOUT: {}}),
        ("sid", 1),
    ]:
        yield f"claim-{name}-{slug(str(value))[:20]}", input("S", hs, claims(**{name: value}))
    yield "claim-twice", input("S", hs, compact(claims())[:-1] + ',"iss":"https://idp.test"}')
    yield "claim-twice-escaped", input("S", hs, compact(claims())[:-1] + ',"\\u0069ss":"https://evil.test"}')
    yield "claim-nul", input("S", hs, compact(claims(nonce="x")).replace('"x"', '"\\u0000"'))
    yield "claim-surrogate", input("S", hs, compact(claims(nonce="x")).replace('"x"', '"\\ud800"'))
    yield "claims-nested", input("S", hs, '{"a":' + "[" * 40 + "]" * 40 + "}")
    yield "claims-array", input("S", hs, "[1]")
    for number, header in enumerate(
        [
            {"alg": "none"},
            {"alg": "NonE"},
            {"alg": "HS256", "crit": ["exp"], "exp": 1},
            {"alg": "HS256", "crit": []},
            {"alg": "HS256", "b64": False, "crit": ["b64"]},
            {"alg": "HS256", "typ": "at+jwt"},
            {"alg": "HS256", "cty": "JWT"},
            {"alg": "HS256", "kid": "../../etc/passwd"},
            {"alg": "HS256", "jku": "https://evil.test/"},
            {"alg": 1},
            {"alg": "HS256", "jwk": {"kty": "oct", "k": "AAAA"}},
            {"alg": "hs256"},
            {"kid": "a"},
            {"alg": "HS256", "kid": 1},
        ]
    ):
        yield f"header-{number:02}", input("S", header, claims())
    for algorithm in SIGNATURES:
        yield f"unsigned-{slug(algorithm)}", input("U", {"alg": algorithm}, claims())
    point = {"kty": "EC", "crv": "P-256", "x": base64url(b"\1" * 32), "y": base64url(b"\2" * 32)}
    party = {"kty": "OKP", "crv": "X25519", "x": base64url(b"\x09" + b"\0" * 31)}
    zero = {"kty": "OKP", "crv": "X25519", "x": base64url(b"\0" * 32)}
    more = {
        "ECDH-ES": {"epk": party, "apu": "QWxpY2U", "apv": "Qm9i"},
        "ECDH-ES+A128KW": {"epk": zero},
        "ECDH-ES+A192KW": {"epk": point},
        "A128GCMKW": {"iv": base64url(b"\0" * 12), "tag": base64url(b"\0" * 16)},
        "PBES2-HS256+A128KW": {"p2s": base64url(b"salt-salt"), "p2c": 1000},
        "PBES2-HS384+A192KW": {"p2s": base64url(b"salt-salt"), "p2c": 2**62},
        "PBES2-HS512+A256KW": {"p2s": "", "p2c": -1},
    }
    rest = ".".join(base64url(b"\0" * count) for count in (24, 12, 16, 16))
    for number, algorithm in enumerate(KEY_MANAGEMENT):
        header = {"alg": algorithm, "enc": ENCRYPTIONS[number % 6], **more.get(algorithm, {})}
        yield f"jwe-{slug(algorithm)}", input("J", header, rest)
    yield "jwe-zip", input("E", {**jwe, "zip": "DEF"}, "x")
    yield "jwe-of-jwe", input("E", jwe, "a.b.c.d.e")
    yield "jwe-of-text", input("E", jwe, "\u00e9")
    yield "jwe-wrong-cty", input("N", {**jwe, "cty": "jwk+json"}, hs, claims())
    for name, text in [
        ("dots", "." * 9),
        ("two-dots", ".."),
        ("four-dots", "...."),
        ("padded", "e30=.e30=.AA=="),
        ("space", " e30.e30.AA"),
        ("json", '{"payload":"e30","signatures":[]}'),
        ("empty", ""),
    ]:
        yield f"text-{name}", text


# MARK: key sets


def public(key):
    return {name: value for name, value in key.items() if name not in {"d", "p", "q", "dp", "dq", "qi", "oth", "k"}}


def key_sets():
    keys = {}
    for file in ["interop-jws", "interop-jwe", "rfc-jws"]:
        for vector in vectors(file):
            name = "-".join([vector["key"]["kty"], vector["key"].get("crv", str(len(vector["key"].get("k", ""))))])
            keys.setdefault(slug(name), vector["key"])
    for name, key in keys.items():
        yield f"private-{name}", {"keys": [{**key, "kid": name}]}
        if key["kty"] != "oct":
            yield f"public-{name}", {"keys": [{**public(key), "kid": name}]}
    asymmetric = [key for key in keys.values() if key["kty"] != "oct"]
    yield "every-kind", {"keys": [{**public(key), "kid": str(number)} for number, key in enumerate(asymmetric)]}
    yield "every-kind-same-kid", {"keys": [{**public(key), "kid": "a", "use": "sig"} for key in asymmetric]}
    yield "mixed", {"keys": [keys["oct-43"], public(keys["rsa-0"])]}
    for vector in vectors("rfc-keys"):
        yield slug(vector["name"]), {"keys": vector["keys"]}
    p256, ed25519 = public(keys["ec-p-256"]), public(keys["okp-ed25519"])
    changes = [
        {"use": "sig", "key_ops": ["verify"], "alg": "ES256"},
        {"use": "enc"},
        {"key_ops": ["sign", "encrypt"]},
        {"key_ops": ["verify", "verify"]},
        {"alg": 1},
        {"kid": 1},
        {"use": []},
        {"x": p256["y"]},
        {"x": "AA"},
        {"y": None},
        {"crv": "P-384"},
        {"crv": "secp256k1"},
        {"kty": "AKP"},
        {"kty": "oct", "k": "AAAA"},
        {"d": "AA"},
        {"x5c": []},
        {"x5c": ["MIIB"]},
        {"x5t": "AA"},
        {"x": p256["x"] + "="},
        {"kid": "\u00e9\u0301"},
    ]
    for number, change in enumerate(changes):
        yield f"p256-{number:02}", {"keys": [{**p256, **change}]}
    for number, change in enumerate([{"x": "AA"}, {"x": base64url(b"\xff" * 32)}, {"crv": "X448"}, {"crv": "Ed448"}]):
        yield f"ed25519-{number:02}", {"keys": [{**ed25519, **change}]}
    for number, text in enumerate(["", "{}", '{"keys":{}}', '{"keys":[]}', '{"keys":[1,null,[],"x"]}', "[]", "[" * 20]):
        yield f"text-{number:02}", text
    for vector in vectors("pem") + vectors("pem-refused"):
        yield f"pem-{slug(vector['name'])}", vector["pem"]


def dictionary(*groups):
    words = [word for group in groups for word in group]
    lines = [json.dumps(f'"{word}"') for word in words]
    lines += [
        json.dumps(word) for word in (":", ",", "[]", "{}", "[", "{", "null", "true", "false", "-1", "1e999", ".")
    ]
    return "\n".join(lines) + "\n"


def write(folder, inputs):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if not re.fullmatch("[0-9a-f]{40}", old.name):
            old.unlink()
    for name, content in inputs:
        (folder / name).write_bytes(compact(content).encode())


def main():
    write(HERE / "Corpus" / "tokens", [*genuine(), *composed()])
    write(HERE / "Corpus" / "keysets", key_sets())
    numbers = [str(NOW), str(NOW + 300), "1e18", "9223372036854775807", "0.5"]
    text = dictionary(
        HEADER,
        CLAIMS,
        SIGNATURES,
        KEY_MANAGEMENT,
        ENCRYPTIONS,
        CURVES,
        KEY,
        ["JWT", "at+jwt", "logout+jwt", "https://idp.test", "shop", "till", LOGOUT],
    )
    (HERE / "tokens.dict").write_text(text + "\n".join(f'"{number}"' for number in numbers) + "\n")
    (HERE / "keysets.dict").write_text(
        dictionary(KEY, CURVES, OPERATIONS, SIGNATURES, KEY_MANAGEMENT)
        + '"-----BEGIN "\n"-----END "\n"PRIVATE KEY-----"\n"RSA "\n"EC "\n'
    )


if __name__ == "__main__":
    main()
