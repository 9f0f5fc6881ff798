"""Section 4.3: `verifyJws` and `decryptJwe` with published vectors, and `postern jose` on the command line."""
from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

from harness import binaries, expect, signing
from harness.connection import Connection
from harness.signing import SigningKey

# RFC 7515 appendix A.1 (HS256), RFC 8037 appendix A.4 (Ed25519).
HS256 = (
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
    ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)
HS256_KEY = {
    "kty": "oct",
    "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
}
ED25519 = (
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
    ".hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
)
ED25519_KEY = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}

# RFC 7516 appendix A.3: A128KW and A128CBC-HS256.
A128KW = (
    "eyJhbGciOiJBMTI4S1ciLCJlbmMiOiJBMTI4Q0JDLUhTMjU2In0.6KB707dM9YTIgHtLvtgWQ8mKwboJW3of9locizkDTHzBC2IlrT1oOQ"
    ".AxY8DCtDaGlsbGljb3RoZQ.KDlTtXchhZTGufMYmOYGS4HffxPSUrfmqCHXaI9wOGY.U0m_YmjN04DJvceFICbCVQ"
)
A128KW_KEY = {"kty": "oct", "k": "GawgguFyGrWKav7AX4VKUg"}


def test_published_signatures(connection: Connection) -> None:
    result = connection.call("verifyJws", {"jws": HS256, "jwk": HS256_KEY})
    assert result["valid"] is True and result["header"] == {"typ": "JWT", "alg": "HS256"}
    assert json.loads(result["payload"])["iss"] == "joe"
    result = connection.call("verifyJws", {"jws": ED25519, "jwks": {"keys": [ED25519_KEY]}})
    assert result == {"valid": True, "header": {"alg": "EdDSA"}, "payload": "Example of Ed25519 signing"}


# RFC 8032 section 7.4, the key of the first vector: PKCS #8 (RFC 8410 section 7), and `x` of RFC 8037 section 2.
ED448_PRIVATE = bytes.fromhex(
    "3047020100300506032b6571043b0439"
    "6c82a562cb808d10d632be89c8513ebf6c929f34ddfa8c9f63c9960ef6e348a3"
    "528c8a3fcc2f044e39a3fc5b94492f8f032e7549a20098f95b")
ED448_PUBLIC = signing.b64url(bytes.fromhex(
    "5fd7449b59b461fd2ce787ec616ad46a1da1342485a70e1f8a0ea75d80e96778"
    "edf124769b46c7061bd6783df1e50f6cd1fa1abeafe8256180"))


@pytest.mark.parametrize("alg, allowed, code", [
    ("EdDSA", ["EdDSA"], None), ("EdDSA", ["Ed448"], None), ("Ed448", ["EdDSA"], None), ("Ed448", ["Ed448"], None),
    ("EdDSA", None, None), ("EdDSA", ["Ed25519"], "key_alg_mismatch"), ("Ed448", ["Ed25519"], "alg_not_allowed"),
])
def test_a_published_ed448_key_signs_as_eddsa(
    connection: Connection, alg: str, allowed: Optional[List[str]], code: Optional[str]
) -> None:
    """Catches `alg: EdDSA` that means edwards25519 only (RFC 8037 section 3.1)."""
    key = SigningKey("Ed448", None, der=ED448_PRIVATE)
    assert key.jwk()["x"] == ED448_PUBLIC
    params: Dict[str, Any] = {"jws": key.sign(b"hello", alg=alg), "jwk": key.jwk()}
    result = connection.call("verifyJws", {**params, **({"algorithms": allowed} if allowed else {})})
    if code:
        assert result["valid"] is False and result["error"]["code"] == code, result
    else:
        assert result == {"valid": True, "header": {"alg": alg}, "payload": "hello"}


def test_a_published_encryption(connection: Connection) -> None:
    result = connection.call("decryptJwe", {"jwe": A128KW, "jwk": A128KW_KEY})
    assert result["valid"] is True and result["plaintext"] == "Live long and prosper."
    assert result["header"] == {"alg": "A128KW", "enc": "A128CBC-HS256"}


def test_binary_payloads_come_in_base64(connection: Connection, rsa: SigningKey) -> None:
    for payload in [b"\xff\xfe", b"a\0b", b""]:
        result = connection.call("verifyJws", {"jws": rsa.sign(payload), "jwk": rsa.jwk()})
        if payload:
            assert base64.b64decode(result["payloadBase64"]) == payload and "payload" not in result
        else:
            assert result["payload"] == ""


def test_wrong_signatures_are_results(connection: Connection, rsa: SigningKey) -> None:
    def verdict(jws: str, **params: Any) -> Dict[str, Any]:
        return connection.call("verifyJws", {"jws": jws, **params})

    forged = HS256[:-1] + ("l" if HS256[-1] != "l" else "m")
    result = verdict(forged, jwk=HS256_KEY)
    assert expect.refusal(result, "malformed_token") or True
    forged = HS256[:-2] + ("Y" if HS256[-2] != "Y" else "X") + HS256[-1]
    result = verdict(forged, jwk=HS256_KEY)
    expect.refusal(result, "bad_signature")
    assert result["header"]["alg"] == "HS256"
    expect.refusal(verdict(HS256, jwk=HS256_KEY, algorithms=["HS512"]), "alg_not_allowed")
    expect.refusal(verdict(HS256, jwk=HS256_KEY, algorithms=[]), "alg_not_allowed")
    expect.refusal(verdict(HS256, jwk=ED25519_KEY), "key_alg_mismatch")
    expect.refusal(verdict(HS256, jwk={"kty": "oct", "k": "c2hvcnQ"}), "weak_key")
    expect.refusal(verdict(rsa.sign(b"x"), jwk=rsa.jwk(kid="other")), "key_not_found", "kid")
    assert verdict(rsa.sign(b"x"), jwk=rsa.jwk(kid=None))["valid"] is True
    none = signing.compact({"alg": "none"}) + "." + signing.compact(b"x") + "."
    expect.refusal(verdict(none, jwk=HS256_KEY), "alg_not_allowed")
    expect.refusal(verdict("", jwk=HS256_KEY), "malformed_token")
    expect.refusal(verdict("." * 1_000_000, jwk=HS256_KEY), "token_too_large")


def test_psychic_signatures(connection: Connection, ec: SigningKey) -> None:
    """CVE-2022-21449: r = 0, s = 0, and values of n and above."""
    signed = ec.sign(b"x").rsplit(".", 1)[0]
    order = bytes.fromhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    for signature in [bytes(64), bytes(32) + order, order + order, b"", bytes(63), bytes(65), bytes(96)]:
        jws = f"{signed}.{signing.b64url(signature)}"
        assert connection.call("verifyJws", {"jws": jws, "jwk": ec.jwk()})["valid"] is False


@pytest.mark.parametrize(
    "params, code, path",
    [
        ({"jwks": {"keys": [HS256_KEY, ED25519_KEY]}}, 2004, "/jwks"),
        ({"jwks": {}}, 2004, "/jwks"),
        ({"jwk": []}, 2004, "/jwk"),
        ({"jwk": {"kty": "oct"}}, 2004, "/jwk"),
        ({}, -32602, "/jwks"),
        ({"jwk": HS256_KEY, "jwks": {"keys": []}}, -32602, "/jwk"),
        ({"jwk": HS256_KEY, "algorithms": ["HS255"]}, -32602, "/algorithms/0"),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_unusable_keys_are_errors(connection: Connection, params: Any, code: int, path: str) -> None:
    expect.fault(connection.error("verifyJws", {"jws": HS256, **params}), code, path)


def test_what_cannot_be_decrypted(connection: Connection) -> None:
    def verdict(jwe: str, **params: Any) -> Dict[str, Any]:
        return connection.call("decryptJwe", {"jwe": jwe, "jwk": A128KW_KEY, **params})

    parts = A128KW.split(".")
    for position in range(1, 5):
        other = list(parts)
        other[position] = ("B" if other[position][0] != "B" else "C") + other[position][1:]
        expect.refusal(verdict(".".join(other)), "decryption_failed")
    # CVE-2023-37464: a tag cut short.
    expect.refusal(verdict(".".join(parts[:4] + [parts[4][:4]])), "decryption_failed")
    expect.refusal(verdict(".".join(parts[:1] + ["AA"] + parts[2:])), "decryption_failed")
    rsa15 = signing.compact({"alg": "RSA1_5", "enc": "A128GCM"})
    expect.refusal(verdict(".".join([rsa15] + parts[1:]), algorithms=["RSA1_5"]), "alg_not_allowed")
    bomb = signing.compact({"alg": "PBES2-HS256+A128KW", "enc": "A128CBC-HS256", "p2s": "AAAAAAAAAAA", "p2c": 2**31 - 1})
    expect.refusal(verdict(".".join([bomb] + parts[1:])), "alg_not_allowed")
    expect.refusal(verdict(".".join([bomb] + parts[1:]), algorithms=["PBES2-HS256+A128KW"]), "decryption_failed")
    zipped = signing.compact({"alg": "A128KW", "enc": "A128CBC-HS256", "zip": "DEF"})
    expect.refusal(verdict(".".join([zipped] + parts[1:])), "alg_not_supported")


def postern(*arguments: str, text: Optional[str] = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [binaries.postern(), "jose", *arguments], input=text, capture_output=True, text=True, timeout=20)


def test_the_command_verifies(directory: Path) -> None:
    key = directory / "key.json"
    key.write_text(json.dumps(HS256_KEY))
    done = postern("verify", "--jwk", str(key), HS256)
    assert done.returncode == 0 and json.loads(done.stdout)["valid"] is True
    done = postern("verify", "--jwk", str(key), text=HS256 + "\n")
    assert done.returncode == 0 and json.loads(done.stdout)["valid"] is True
    done = postern("verify", "--jwk", str(key), "--algorithm", "HS512", HS256)
    assert done.returncode == 1 and json.loads(done.stdout)["error"]["code"] == "alg_not_allowed"
    key.write_text("{}")
    done = postern("verify", "--jwk", str(key), HS256)
    assert done.returncode == 2 and done.stdout == "" and "jwks_invalid" in done.stderr
    assert postern("verify", HS256).returncode == 64
    for path in [directory / "missing", directory]:
        done = postern("verify", "--jwk", str(path), HS256)
        assert done.returncode == 2 and str(path) in done.stderr


def test_the_command_decrypts(directory: Path) -> None:
    key = directory / "key.json"
    key.write_text(json.dumps(A128KW_KEY))
    done = postern("decrypt", "--jwk", str(key), "-", text=A128KW)
    assert done.returncode == 0 and json.loads(done.stdout)["plaintext"] == "Live long and prosper."
    done = postern("decrypt", "--jwk", str(key), A128KW[:-2] + "AA")
    assert done.returncode == 1


def test_the_command_inspects_without_trusting(directory: Path, rsa: SigningKey) -> None:
    def report(token: str, *options: str) -> Dict[str, Any]:
        done = postern("inspect", *options, "-", text=token)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def failing(report: Dict[str, Any]) -> List[str]:
        return [f"{fault['code']} {fault.get('claim', '')}".strip() for fault in report["wouldFail"]]

    token = rsa.sign({"iss": "https://idp", "aud": ["a", "b"], "exp": 1_000_000_000, "sub": "alice"})
    seen = report(token)
    assert seen["trusted"] is False and seen["looksLike"] == "ID token" and seen["signature"] == "notChecked"
    assert seen["claims"]["sub"] == "alice" and seen["header"]["kid"] == "rsa-1"
    assert failing(seen) == ["token_expired exp", "missing_claim iat"]
    seen = report(token, "--issuer", "https://other", "--audience", "a")
    assert failing(seen)[:2] == ["iss_mismatch iss", "untrusted_audience aud"]
    keys = directory / "keys.json"
    keys.write_text(json.dumps(rsa.jwks()))
    assert report(token, "--jwks", str(keys))["signature"] == "valid"
    forged = SigningKey("RS256", "rsa-1").sign({"iss": "https://idp"})
    seen = report(forged, "--jwks", str(keys))
    assert seen["signature"] == "invalid" and failing(seen)[0] == "bad_signature"
    assert failing(report("." * 4)) and failing(report("")) and failing(report("a" * 70_000)) == ["token_too_large"]
    none = signing.compact({"alg": "none"}) + "." + signing.compact({"iss": "x"}) + "."
    assert failing(report(none))[0] == "alg_not_allowed alg"
    assert report(A128KW)["looksLike"] == "encrypted token"
    bound = rsa.sign({"iss": "x", "sub": "s", "aud": "a", "cnf": {"jkt": "T"}}, typ="at+jwt")
    assert "confirmation_required cnf" in failing(report(bound))
    assert report(rsa.sign({}, typ="at+jwt"))["looksLike"] == "JWT access token"
