"""Requests with tokens for a resource server: everything good but for one or two things at a border."""

from __future__ import annotations

import hashlib
import json
import random
import re
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import keys
from jws_cases import raw
from judges import base64url, compact
from keys import Key

AUDIENCE = "https://api.example"
HOST = "api.example:8080"
BASE = f"http://{HOST}"
SCOPE = "read"
Fields = List[Tuple[str, str]]

#: The keys of the issuer by their `kid`, each with the algorithms that it is for.
SIGNERS: Dict[str, Tuple[Key, List[str]]] = {
    "rsa": (keys.signing_keys("RS256")[0], ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]),
    "p256": (keys.signing_keys("ES256")[0], ["ES256"]),
    "p384": (keys.signing_keys("ES384")[0], ["ES384"]),
    "p521": (keys.signing_keys("ES512")[0], ["ES512"]),
}
#: What both are configured to accept.
ALGORITHMS = [algorithm for _, algorithms in SIGNERS.values() for algorithm in algorithms]
KEY_SET = {"keys": [dict(keys.public(key), kid=kid, use="sig") for kid, (key, _) in SIGNERS.items()]}
#: The client's keys for proofs.
PROOF_KEY, OTHER_PROOF_KEY = keys.signing_keys("ES256")
ABSENT = object()


@dataclass(frozen=True)
class ValidationCase:
    """One request."""

    name: str
    #: `bearer`, `dpop` or `mtls`: what the API accepts.
    kind: str
    fields: Fields
    method: str = "GET"
    target: str = "/x"
    host: str = HOST
    #: The client's certificate by its name.
    certificate: Optional[str] = None
    #: Sent before, to both: what it leaves behind may decide.
    before: Tuple["ValidationCase", ...] = field(default=())
    #: The body; its presence must not matter.
    body: bytes = b""


class Maker:
    """Makes tokens and proofs of an issuer at this moment."""

    def __init__(self, issuer: str, certificates: Dict[str, bytes]) -> None:
        self.issuer = issuer
        #: The clients' certificates, DER.
        self.certificates = certificates
        self.now = int(time.time())

    def claims(self, **changes: Any) -> Dict[str, Any]:
        made = {
            "iss": self.issuer, "sub": "user", "aud": AUDIENCE, "client_id": "client", "iat": self.now - 10,
            "exp": self.now + 300, "jti": str(uuid.uuid4()), "scope": "read write", **changes,
        }
        return {name: value for name, value in made.items() if value is not ABSENT}

    def token(self, header: Optional[Dict[str, Any]] = None, kid: str = "rsa", algorithm: str = "RS256",
        **changes: Any) -> str:
        return self.signed(compact(self.claims(**changes)), header, kid, algorithm)

    def signed(self, content: bytes, header: Optional[Dict[str, Any]] = None, kid: str = "rsa",
        algorithm: str = "RS256") -> str:
        """A token with any content and header, signed by one of the issuer's keys."""
        members = {"alg": algorithm, "kid": kid, "typ": "at+jwt", **(header or {})}
        members = {name: value for name, value in members.items() if value is not ABSENT}
        return raw(algorithm, SIGNERS[kid][0], compact(members), content)

    def shown(self, value: Any) -> str:
        """A value in a case's name: the same in every run."""
        if value is ABSENT:
            return "absent"
        text = re.sub(r"(?<!\d)\d{10}(?!\d)", lambda found: f"now{int(found[0]) - self.now:+}",
        repr(value)).replace(self.issuer,
        "ISSUER")
        text = text.replace(self.issuer.upper(), "ISSUER.upper()")
        return text if len(text) <= 70 else f"{text[:60]}... of {len(text)}"

    def bound(self, key: Key = PROOF_KEY, **changes: Any) -> str:
        return self.token(cnf={"jkt": thumbprint(key)}, **changes)

    def proof(
        self, token: str, case_target: str = "/dpop/x", header: Optional[Dict[str, Any]] = None, key: Key = PROOF_KEY,
        algorithm: str = "ES256", **changes: Any,
    ) -> str:
        return self.signed_proof(compact(self.proof_claims(token, case_target, **changes)), header, key, algorithm)

    def proof_claims(self, token: str, target: str = "/dpop/x", **changes: Any) -> Dict[str, Any]:
        made = {
            "jti": str(uuid.uuid4()), "htm": "GET", "htu": BASE + target, "iat": self.now,
            "ath": base64url(hashlib.sha256(token.encode()).digest()), **changes,
        }
        return {name: value for name, value in made.items() if value is not ABSENT}

    @staticmethod
    def signed_proof(
        content: bytes, header: Optional[Dict[str, Any]] = None, key: Key = PROOF_KEY, algorithm: str = "ES256"
    ) -> str:
        members = {"alg": algorithm, "typ": "dpop+jwt", "jwk": keys.public(key), **(header or {})}
        members = {name: value for name, value in members.items() if value is not ABSENT}
        return raw(algorithm, key, compact(members), content)


def thumbprint(key: Key) -> str:
    """RFC 7638."""
    names = {"EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n"), "OKP": ("crv", "kty", "x"), "oct": ("k", "kty")}
    members = {name: key[name] for name in names[key["kty"]]}
    return base64url(hashlib.sha256(json.dumps(members, sort_keys=True, separators=(",", ":")).encode()).digest())


def bearer(name: str, token: str, **more: Any) -> ValidationCase:
    return ValidationCase(name, "bearer", [("Authorization", "Bearer " + token)], **more)


def dpop(name: str, token: str, *proofs: str, scheme: str = "DPoP", **more: Any) -> ValidationCase:
    return ValidationCase(
        name, "dpop", [("Authorization", f"{scheme} {token}"), *(("DPoP", proof) for proof in proofs)], **more)


def families(issuer: str, certificates: Dict[str, bytes]) -> Iterator[List[ValidationCase]]:
    """All cases, in lists that are made when they are needed: their times are those of the moment. Each case has a name
    of its own."""
    names: Set[str] = set()
    for family in FAMILIES:
        made = list(family(Maker(issuer, certificates)))
        again = [case.name for case in made if case.name in names] + [
            name for name, count in Counter(case.name for case in made).items() if count > 1]
        assert not again, again
        names.update(case.name for case in made)
        yield made


def presentations(maker: Maker) -> Iterator[ValidationCase]:
    """RFC 6750 section 2, RFC 9110 section 11."""
    def case(name: str, *values: str, **more: Any) -> ValidationCase:
        return ValidationCase(f"shown {name}", "bearer", [("Authorization", value) for value in values], **more)

    new = maker.token
    for form in [
        "Bearer {}", "bearer {}", "BEARER {}", "bEARER {}", "Bearer  {}", "Bearer   {}", "Bearer\t{}", "Bearer \t{}",
        "Bearer{}", "{}", "Token {}", "JWT {}", "OAuth {}", "Basic {}", "DPoP {}", "Bearer:{}", "Bearer: {}",
        "Bearer={}", "Bearer \"{}\"", "Bearer {} x", "Bearer {},", "Bearer {};", "Bearer ,{}", "Bearer x {}",
        "Bearer Bearer {}", "Bearer token={}", "Bearers {}", "Bearer {}=", "Bearer {}==", "Bearer ={}", "Bearer {}.",
        "Bearer {}..", "Bearer .{}", "Bearer {}%20", "Bearer {}\xa0", "Bearer {}/", "Bearer {}~", "Bearer {}_",
        "Bearer {}!", "Bearer ({})", "Basic eDp5, Bearer {}", "Bearer {}, Basic eDp5", "Bea\trer {}",
    ]:
        yield case(form, form.format(new()))
    for form in ["", "Bearer", "Bearer x", "Bearer x.y.z", "Bearer ..", "Bearer .", "Basic eDp5", "Negotiate",
        "Bearer eyJ.eyJ.sig", "Bearer null"]:
        yield case(form or "empty", form)
    yield case("nothing")
    token, other = new(), new()
    yield case("twice the same", f"Bearer {token}", f"Bearer {token}")
    yield case("two tokens", f"Bearer {token}", f"Bearer {other}")
    yield case("garbage, then a token", "Bearer x", f"Bearer {token}")
    yield case("a token, then garbage", f"Bearer {token}", "Bearer x")
    yield case("Basic, then a token", "Basic eDp5", f"Bearer {token}")
    yield case("a token, then Basic", f"Bearer {token}", "Basic eDp5")
    yield case("a token, then nothing", f"Bearer {token}", "")
    yield case("both in a line", f"Bearer {token}, Bearer {other}")
    yield case("both in a line without a blank", f"Bearer {token},Bearer {other}")
    yield case("one twice in a line", f"Bearer {token}, Bearer {token}")
    yield case("in the query only", target=f"/x?access_token={token}")
    yield case("in the query, too", f"Bearer {token}", target=f"/x?access_token={token}")
    yield case("another in the query", f"Bearer {token}", target="/x?a=b&access_token=other")
    yield case("with another query", f"Bearer {new()}", target="/x?a=b")
    yield case("with a like name in the query", f"Bearer {new()}", target="/x?my_access_token=b&access_token_hint=c")
    yield case("in a form only", method="POST", body=f"access_token={token}".encode())
    yield ValidationCase("shown in a cookie", "bearer", [("Cookie", f"access_token={token}")])
    yield ValidationCase("shown as X-Access-Token", "bearer", [("X-Access-Token", token)])
    yield ValidationCase("shown as Proxy-Authorization", "bearer", [("Proxy-Authorization", f"Bearer {token}")])
    for name in ["authorization", "AUTHORIZATION", "Authorization_", "X-Authorization"]:
        yield ValidationCase(f"shown with the name {name}", "bearer", [(name, f"Bearer {new()}")])
    for method in ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]:
        yield case(f"with {method}", f"Bearer {new()}", method=method)
        yield case(f"with {method} without a token", method=method)


def token_texts(maker: Maker) -> Iterator[ValidationCase]:
    """The encoding of a JWT: RFC 7515 and 7519."""
    good = maker.token()
    head, content, signature = good.split(".")
    other = maker.token(sub="other").split(".")
    for name, text in {
        "no signature": f"{head}.{content}.", "two parts": f"{head}.{content}", "four parts": good + ".x",
        "one part": head, "five parts": good + ".x.y", "other content": f"{head}.{other[1]}.{signature}",
        "other signature": f"{head}.{content}.{other[2]}", "short signature": f"{head}.{content}.{signature[:-4]}",
        "long signature": f"{head}.{content}.{signature}AAAA",
        "last bit": f"{head}.{content}.{signature[:-2]}{'A' if signature[-2] != 'A' else 'B'}{signature[-1]}",
        "padded": f"{head}=.{content}.{signature}", "padded content": f"{head}.{content}=.{signature}",
        "padded signature": f"{head}.{content}.{signature}==", "no header": f".{content}.{signature}",
        "no content": f"{head}..{signature}",
        "standard alphabet": f"{head}.{content}.{signature.replace('-', '+').replace('_', '/')}",
        "upper case": good.upper(), "reversed": good[::-1], "blank inside": f"{head}. {content}.{signature}",
        "header twice": f"{head}.{head}.{signature}",
    }.items():
        yield bearer(f"text {name}", text)
    for name, text in {
        "array": b"[]", "text": b"x", "empty": b"", "null": b"null", "string": b"\"x\"",
        "no end": compact(maker.claims())[:-1], "behind": compact(maker.claims()) + b"x",
        "blanks behind": compact(maker.claims()) + b" \n", "two": compact(maker.claims()) * 2,
        "bom": b"\xef\xbb\xbf" + compact(maker.claims()), "nul": compact(maker.claims()) + b"\0",
        "nul in a name": compact(maker.claims())[:-1] + b",\"a\\u0000\":1}",
        "nul in a value": compact(maker.claims())[:-1] + b",\"a\":\"\\u0000\"}",
        "invalid utf-8": compact(maker.claims())[:-1] + b",\"a\":\"\xff\"}",
        "lone surrogate": compact(maker.claims())[:-1] + b",\"a\":\"\\ud800\"}",
        "nan": compact(maker.claims())[:-1] + b",\"a\":NaN}",
        "control": compact(maker.claims())[:-1] + b",\"a\":\"\n\"}", "comma": compact(maker.claims())[:-1] + b",}",
        "large integer": compact(maker.claims())[:-1] + b",\"a\":99999999999999999999}",
        "large real": compact(maker.claims())[:-1] + b",\"a\":1e999}",
        "exp twice": compact(maker.claims())[:-1] + b",\"exp\":1}",
        "aud twice": compact(maker.claims())[:-1] + b",\"aud\":\"other\"}",
        "exp first twice": b"{\"exp\":1," + compact(maker.claims())[1:],
        "sub twice": compact(maker.claims())[:-1] + b",\"sub\":\"admin\"}",
        "cnf twice": b"{\"cnf\":{\"jkt\":\"x\"}," + compact(maker.claims(cnf={}))[1:],
        "same twice": compact(maker.claims())[:-1] + b",\"scope\":\"read write\"}",
        "deep": compact(maker.claims())[:-1] + b",\"a\":" + b"[" * 200 + b"]" * 200 + b"}",
        "comment": compact(maker.claims())[:-1] + b"/**/}", "utf-16": compact(maker.claims()).decode().encode("utf-16"),
        "single quotes": compact(maker.claims()).replace(b'"', b"'"),
    }.items():
        yield bearer(f"content {name}", maker.signed(text))


def token_headers(maker: Maker) -> Iterator[ValidationCase]:
    """Algorithms, keys and types: RFC 7515 section 4, RFC 9068 section 2.1."""
    for kid, (_, algorithms) in SIGNERS.items():
        for algorithm in algorithms:
            yield bearer(f"alg {algorithm}", maker.token(kid=kid, algorithm=algorithm))
            yield bearer(f"alg {algorithm} without kid", maker.token({"kid": ABSENT}, kid, algorithm))
            yield bearer(f"alg {algorithm} with another kid", maker.token({"kid": "p521" if kid == "p256" else "p256"},
                kid, algorithm))
    for value in ["none", "None", "NONE", "nOnE", "", "rs256", "Rs256", "RS255", "RS1", "HS256", "HS384", "HS512",
        "ES256", "PS256", "RS512", "A128KW",
                  "dir", "RSA1_5", None, 1, ["RS256"], ABSENT]:
        yield bearer(f"alg name {maker.shown(value)}", maker.token({"alg": value}))
    unsigned = f"{base64url(compact({'alg': 'none', 'typ': 'at+jwt'}))}.{base64url(compact(maker.claims()))}"
    yield bearer("unsigned", unsigned + ".")
    yield bearer("unsigned with kid",
        f"{base64url(compact({'alg': 'none', 'typ': 'at+jwt', 'kid': 'rsa'}))}.{base64url(compact(maker.claims()))}.")
    public = keys.public(SIGNERS["rsa"][0])
    for name, secret in {"modulus": public["n"], "set": base64url(compact(KEY_SET)), "jwk": base64url(compact(public)),
        "empty": "",
                         "kid": base64url(b"rsa")}.items():
        for kid in ["rsa", ABSENT]:
            header = {name: value for name, value in {"alg": "HS256", "typ": "at+jwt",
            "kid": kid}.items() if value is not ABSENT}
            token = raw("HS256", {"kty": "oct", "k": secret}, compact(header), compact(maker.claims()))
            yield bearer(f"HMAC with {name} kid={maker.shown(kid)}", token)
    for kid, signer in [("rsa", keys.signing_keys("RS256")[1]), ("p256", keys.signing_keys("ES256")[1])]:
        algorithm = SIGNERS[kid][1][0]
        for name, header in {
            "plain": {}, "with its jwk": {"jwk": keys.public(signer)}, "without kid": {"kid": ABSENT},
            "with jku": {"jku": "http://127.0.0.1:1/"}, "with x5u": {"x5u": "http://127.0.0.1:1/"},
            "with an unknown kid": {"kid": "other"},
        }.items():
            members = {name: value for name, value in {"alg": algorithm, "typ": "at+jwt", "kid": kid,
            **header}.items() if value is not ABSENT}
            yield bearer(f"foreign {kid} key {name}", raw(algorithm, signer, compact(members), compact(maker.claims())))
    for value in ["rsa ", "RSA", "", "other", 1, None, ["rsa"], "../rsa", "rsa\0", "' or 1"]:
        yield bearer(f"kid {maker.shown(value)}", maker.token({"kid": value}))
    for value in ["at+jwt", "AT+JWT", "At+Jwt", "application/at+jwt", "APPLICATION/AT+JWT", "at+jwt ", " at+jwt",
        "JWT", "jwt", "JOSE", "dpop+jwt", "logout+jwt", "id+jwt", "at+JWT;a=b", "application/jwt",
        "application/application/at+jwt", "text/at+jwt", "", 1,
                  None, ["at+jwt"], ABSENT, "secevent+jwt"]:
        yield bearer(f"typ {maker.shown(value)}", maker.token({"typ": value}))
    for name, header in {
        "crit": {"crit": ["x"], "x": 1}, "crit-empty": {"crit": []}, "crit-exp": {"crit": ["exp"], "exp": 1},
        "crit-text": {"crit": "x", "x": 1}, "crit-missing": {"crit": ["x"]}, "b64": {"b64": True},
        "b64-false": {"b64": False, "crit": ["b64"]}, "cty": {"cty": "JWT"}, "zip": {"zip": "DEF"}, "other": {"x": 1},
        "jwk": {"jwk": keys.public(PROOF_KEY)}, "x5c": {"x5c": ["AA=="]}, "enc": {"enc": "A128GCM"},
        "jku": {"jku": "http://127.0.0.1:1/"}, "crit-typ": {"crit": ["typ"]},
    }.items():
        yield bearer(f"header {name}", maker.token(header))
    for name, header in {
        "twice": b'{"alg":"RS256","alg":"none","kid":"rsa","typ":"at+jwt"}',
        "twice reversed": b'{"alg":"none","alg":"RS256","kid":"rsa","typ":"at+jwt"}',
        "typ twice": b'{"alg":"RS256","kid":"rsa","typ":"JWT","typ":"at+jwt"}', "array": b"[]", "empty": b"{}",
        "bom": b'\xef\xbb\xbf{"alg":"RS256","kid":"rsa","typ":"at+jwt"}',
        "blanks": b' { "alg" : "RS256" , "kid" : "rsa", "typ":"at+jwt" } ',
        "behind": b'{"alg":"RS256","kid":"rsa","typ":"at+jwt"}x',
        "escapes": b'{"\\u0061lg":"RS256","kid":"rsa","typ":"at\\u002bjwt"}',
    }.items():
        yield bearer(f"header text {name}", raw("RS256", SIGNERS["rsa"][0], header, compact(maker.claims())))


def borders(maker: Maker) -> Dict[str, List[Any]]:
    """Values of claims, the good one first."""
    now, issuer = maker.now, maker.issuer
    times: List[Any] = [0, -1, now + 0.5, 1e300, 2**53, 2**63 - 1, 2**63, -(2**63), True, False, None, [], {}, "",
    str(now + 300), ABSENT]
    return {
        "iss": [issuer, issuer + "/", issuer.upper(), issuer.replace("http:", "https:"), issuer + " ",
        "http://127.0.0.1", "", 1, [issuer], [issuer, "x"], {}, None,
                ABSENT, "other"],
        "aud": [AUDIENCE, [AUDIENCE], [AUDIENCE, "other"], ["other", AUDIENCE], ["other"], "other", [], "",
        AUDIENCE + "/", AUDIENCE + "/x", AUDIENCE.upper(),
                AUDIENCE[:-1], AUDIENCE + " ", f"{AUDIENCE} other", f"other {AUDIENCE}", [AUDIENCE, 1], [1], 1, {},
                None, [None], [[AUDIENCE]], ABSENT, "*",
                {AUDIENCE: True}, "http://api.example", [AUDIENCE] * 2],
        "exp": [now + 300, now + 120, now - 20, now - 3600, now + 10**9, *times, now + 300.5, f"{now + 300}.0"],
        "nbf": [ABSENT, now - 20, now + 60, now + 3600, 0, -1, now - 20.5, 1e300, "", str(now - 20), True, None, [],
        {}],
        "iat": [now - 10, now - 20, now + 60, now + 3600, now - 3600, now - 80_000, 0, -1, now - 10.5, 1e300,
        str(now - 10), True, None, [], ABSENT],
        "sub": ["user", "u" * 200, "u" * 300, "", "\xe9", "a b", "a\nb", 1, None, ["user"], {}, ABSENT],
        "client_id": ["client", "", 1, None, ABSENT, ["client"]],
        "jti": ["1", "", 1, None, ABSENT, "j" * 1000, ["1"]],
        "scope": ["read write", "read", "write read", "write", "READ", "Read", "readx", "xread", "read:all",
        "write  read", " read", "read ", "read,write", "read\twrite",
                  "read\nwrite", "", ["read"], ["read", "write"], ["write"], 1, None, {}, ABSENT, "re ad", "\xa0read",
                  "\"read\""],
        "cnf": [ABSENT, {}, {"jkt": thumbprint(PROOF_KEY)}, {"x5t#S256": "x"}, {"kid": "x"},
        {"jwk": keys.public(PROOF_KEY)}, "x", [], None, 1, {"jkt": 1}, {"jkt": ""},
                {"x": 1}],
        "acr": [ABSENT, "gold", 1], "auth_time": [ABSENT, now, "x"], "azp": [ABSENT, "other", 1], "nonce": [ABSENT,
        "x"], "name": [ABSENT, "\u03a9\U0001f600"],
        "token_type": [ABSENT, "refresh_token", "Bearer"], "active": [ABSENT, False], "events": [ABSENT,
        {"http://schemas.openid.net/event/backchannel-logout": {}}],
        "scp": [ABSENT, "read"], "at_hash": [ABSENT, "x"], "crit": [ABSENT, ["x"]], "roles": [ABSENT, ["admin"]],
    }


def claims(maker: Maker) -> Iterator[ValidationCase]:
    """RFC 9068 section 4, RFC 7519 section 4.1: each claim at its borders, and pairs of them."""
    choices = borders(maker)
    for name, values in choices.items():
        for value in values:
            yield bearer(f"claim {name}={maker.shown(value)}", maker.token(**{name: value}))
    source = random.Random(9068)
    for number in range(150):
        names = source.sample(list(choices), 2)
        changes = {name: source.choice(choices[name]) for name in names}
        kid = source.choice(list(SIGNERS))
        described = ",".join(f"{name}={maker.shown(value)}" for name, value in sorted(changes.items()))
        yield bearer(f"claims {described} number {number}", maker.token(None, kid, SIGNERS[kid][1][0], **changes))


def proof_forms(maker: Maker) -> Iterator[ValidationCase]:
    """RFC 9449 sections 4.1, 4.2 and 7.1: how token and proof are shown."""
    token = maker.bound()
    proof = lambda **changes: maker.proof(token, **changes)
    for scheme in ["DPoP", "dpop", "DPOP", "Bearer", "Dpop ", "DPoP\t", "Token", ""]:
        yield dpop(f"proof with the scheme {scheme!r}", token, proof(), scheme=scheme)
    yield dpop("proof missing", token)
    yield dpop("proof missing for Bearer", token, scheme="Bearer")
    yield dpop("proof twice the same", token, *[proof()] * 2)
    yield dpop("proof two", token, proof(), proof())
    yield dpop("proof and garbage", token, proof(), "x")
    yield dpop("proof behind garbage", token, "x", proof())
    yield dpop("proof and an empty one", token, proof(), "")
    yield dpop("proofs in one line", token, f"{proof()}, {proof()}")
    yield dpop("proof and a comma", token, proof() + ",")
    for form in ["", "x", "x.y.z", "..", "DPoP {}", "Bearer {}", "\"{}\"", "{}=", "{}.", "{}.x", "{} x", "{};a", "e{}",
        "{}.x.y"]:
        yield dpop(f"proof form {form}", token, form.format(proof()))
    head, content, signature = proof().split(".")
    other = maker.proof(token).split(".")
    for name, text in {
        "no signature": f"{head}.{content}.", "two parts": f"{head}.{content}",
        "other content": f"{head}.{other[1]}.{signature}", "padded": f"{head}.{content}.{signature}==",
        "short signature": f"{head}.{content}.{signature[:-4]}", "no content": f"{head}..{signature}",
    }.items():
        yield dpop(f"proof text {name}", token, text)
    yield ValidationCase("proof with the name dpop", "dpop", [("authorization", f"DPoP {token}"), ("dpop", proof())])
    yield ValidationCase("proof with the name DPOP", "dpop", [("Authorization", f"DPoP {token}"), ("DPOP", proof())])
    yield ValidationCase("proof alone", "dpop", [("DPoP", proof())])
    yield ValidationCase("proof with two tokens", "dpop", [("Authorization", f"DPoP {token}"), ("Authorization",
        f"DPoP {token}"), ("DPoP", proof())])
    yield ValidationCase("proof with a bearer token, too", "dpop", [("Authorization", f"DPoP {token}"),
        ("Authorization", f"Bearer {token}"), ("DPoP", proof())])
    yield dpop("the token as its proof", token, token)
    yield dpop("the proof as its token", proof(), proof())
    yield ValidationCase("proof in the query", "dpop", [("Authorization", f"DPoP {token}")],
        target=f"/x?dpop={proof()}")


def proof_headers(maker: Maker) -> Iterator[ValidationCase]:
    """RFC 9449 section 4.3, rules 4 to 7."""
    token = maker.bound()
    for value in ["dpop+jwt", "DPOP+JWT", "Dpop+Jwt", "application/dpop+jwt", "dpop+jwt ", "JWT", "jwt", "at+jwt",
        "dpop", "", 1, None, ["dpop+jwt"], ABSENT]:
        yield dpop(f"proof typ {maker.shown(value)}", token, maker.proof(token, header={"typ": value}))
    for value in ["none", "None", "HS256", "es256", "ES384", "ES256K", "RS256", "EdDSA", "", "ES255", "ESx", 1, None,
        ABSENT]:
        yield dpop(f"proof alg name {maker.shown(value)}", token, maker.proof(token, header={"alg": value}))
    for algorithm in ["ES256", "ES384", "ES512", "ES256K", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
        "EdDSA", "Ed25519", "HS256"]:
        key = keys.signing_keys(algorithm)[0]
        own = maker.bound(key)
        yield dpop(f"proof alg {algorithm}", own, maker.proof(own, key=key, algorithm=algorithm))
    own = maker.bound(keys.of_kind("OKP", "Ed448")[0])
    yield dpop("proof alg Ed448", own, maker.proof(own, key=keys.of_kind("OKP", "Ed448")[0], algorithm="Ed448"))
    head = compact({"alg": "none", "typ": "dpop+jwt", "jwk": keys.public(PROOF_KEY)})
    unsigned = f"{base64url(head)}.{base64url(compact(maker.proof_claims(token)))}."
    yield dpop("proof unsigned", token, unsigned)
    public = keys.public(PROOF_KEY)
    flipped = dict(public, y=public["x"])
    for name, value in {
        "missing": ABSENT, "null": None, "text": "x", "array": [public], "empty": {}, "private": PROOF_KEY,
        "of another key": keys.public(OTHER_PROOF_KEY),
        "without y": {name: value for name, value in public.items() if name != "y"},
        "without kty": {name: value for name, value in public.items() if name != "kty"},
        "off the curve": flipped, "other curve": dict(public, crv="P-384"), "with k": dict(public, k="AA"),
        "with p": dict(public, p="AA"), "d empty": dict(public, d=""),
        "with use enc": dict(public, use="enc"), "with use sig": dict(public, use="sig"), "with alg": dict(public,
        alg="ES256"), "with another alg": dict(public, alg="ES384"),
        "with kid": dict(public, kid="x"), "with key_ops": dict(public, key_ops=["verify"]),
        "with other key_ops": dict(public, key_ops=["sign"]), "with x": dict(public, extra=1),
        "as a set": {"keys": [public]}, "padded": dict(public, x=public["x"] + "="), "zeros": dict(public, x="A" * 43,
        y="A" * 43), "kty in lower case": dict(public, kty="ec"),
    }.items():
        yield dpop(f"proof jwk {name}", token, maker.proof(token, header={"jwk": value}))
    for name, header in {"kid": {"kid": "x"}, "crit": {"crit": ["x"], "x": 1}, "crit-b64": {"crit": ["b64"],
        "b64": True}, "jku": {"jku": "http://127.0.0.1:1/"},
                         "x5c": {"x5c": ["AA=="]}, "other": {"x": 1}, "cty": {"cty": "x"}}.items():
        yield dpop(f"proof header {name}", token, maker.proof(token, header=header))


def proof_claims(maker: Maker) -> Iterator[ValidationCase]:
    """RFC 9449 section 4.3, rules 8 to 12."""
    token, other, now = maker.bound(), maker.bound(), maker.now
    for value in ["get", "Get", "POST", "HEAD", "", " GET", "GET ", "*", 1, None, ["GET"], ABSENT]:
        yield dpop(f"proof htm {maker.shown(value)}", token, maker.proof(token, htm=value))
    for method in ["POST", "PUT", "HEAD", "DELETE", "OPTIONS"]:
        yield dpop(f"proof method {method}", token, maker.proof(token, htm=method), method=method)
        yield dpop(f"proof method {method} htm GET", token, maker.proof(token), method=method)
    for value in [
        "http://api.example/dpop/x", "HTTP://api.example:8080/dpop/x", "http://API.example:8080/dpop/x",
        "http://api.example:80/dpop/x", "http://api.example:/dpop/x", "http://api.example:08080/dpop/x",
        "https://api.example:8080/dpop/x", "https://api.example:80/dpop/x", "http://api.example:8080/dpop/x/",
        "http://api.example:8080/dpop/X", "http://api.example:8080/dpop/x?a=b", "http://api.example:8080/dpop/x#f",
        "http://api.example:8080/dpop/x?", "http://api.example:8080/dpop/x#", "http://api.example:8080/dpop/./x",
        "http://api.example:8080/dpop/y/../x", "http://api.example:8080/dpop/%78", "http://api.example:8080/dpop%2fx",
        "http://api.example:8080//dpop/x", "http://api.example:8080/dpop//x", "http://api.example:8080/dpop",
        "http://api.example:8080/", "http://api.example:8080", "/dpop/x", "api.example:8080/dpop/x",
        "//api.example:8080/dpop/x", "http://other:8080/dpop/x", "http://api.example.other:8080/dpop/x",
        "http://u@api.example:8080/dpop/x", "http://api.example@other:8080/dpop/x", "http://api.example:8080\\dpop/x",
        "http://api.example:8080/dpop/x ", " http://api.example:8080/dpop/x", "http://api.example.:8080/dpop/x", "",
        "http://127.0.0.1/dpop/x", "http://api.example:8080/dpop/x;a", "http:api.example:8080/dpop/x",
        "http://api.example:8080/dpop/%zz", "http://api.example:8080/dpop/\xe9", "*", 1, None,
        [BASE + "/dpop/x"], {}, ABSENT, "ftp://api.example:8080/dpop/x", "http://api.example:8080/dpop/y",
        "http://api.example:8080/dpop/xx", "http://api.example:8080/dpop/x%00", "http://api.example:8080/dpop/x%20",
    ]:
        yield dpop(f"proof htu {maker.shown(value)}", token, maker.proof(token, htu=value))
    for target, htu in [
        ("/x?a=b", "/x"), ("/x?a=b", "/x?a=b"), ("/x?a=b", "/x?a=c"), ("/x?", "/x"), ("/%78", "/x"), ("/%78", "/%78"),
        ("/~a", "/%7ea"), ("/~a", "/%7Ea"), ("/%7ea", "/~a"), ("/%7ea", "/%7Ea"),
        ("/a%2fb", "/a/b"), ("/a%2Fb", "/a%2fb"), ("/a//b", "/a/b"), ("/a//b", "/a//b"), ("/a/", "/a"), ("/a/./b",
        "/a/b"), ("/a/../b", "/b"), ("/a;b", "/a;b"), ("/a:b@c", "/a:b@c"),
        ("/a+b", "/a%20b"), ("/a%20b", "/a%20b"), ("/a%20b", "/a+b"), ("/A", "/a"), ("/%c3%a9", "/%C3%A9"),
    ]:
        own = "/dpop" + target
        yield dpop(f"proof target {target} htu {htu}", token, maker.proof(token, htu=f"{BASE}/dpop{htu}"), target=own)
    for host, htu in [
        ("API.example:8080", BASE), ("api.example:80", "http://api.example"), ("api.example:80",
        "http://api.example:80"),
        ("api.example", "http://api.example"), ("api.example", BASE), ("api.example:443", "https://api.example"),
        ("other.example:8080", BASE), ("[::1]:8080", "http://[::1]:8080"), ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("[::1]:8080", "http://[0:0:0:0:0:0:0:1]:8080"), ("api.example:08080", BASE),
    ]:
        yield dpop(f"proof host {host} htu {htu}", token, maker.proof(token, htu=htu + "/dpop/x"), host=host)
    for value in [now - 45, now - 90, now - 3600, now + 2, now + 60, now + 3600, now - 1.5, 0, -1, 1e300, 2**63,
        str(now), "", True, None, [], ABSENT, -now]:
        yield dpop(f"proof iat {maker.shown(value)}", token, maker.proof(token, iat=value))
    digest = hashlib.sha256(token.encode()).digest()
    for name, value in {
        "missing": ABSENT, "empty": "", "of another token": base64url(hashlib.sha256(other.encode()).digest()),
        "hexadecimal": digest.hex(), "padded": base64url(digest) + "=", "null": None,
        "SHA-512": base64url(hashlib.sha512(token.encode()).digest()),
        "SHA-1": base64url(hashlib.sha1(token.encode()).digest()), "the token": token, "number": 1,
        "short": base64url(digest[:16]),
        "of the whole line": base64url(hashlib.sha256(f"DPoP {token}".encode()).digest()), "array": [base64url(digest)],
        "in lower case": base64url(digest).lower(),
    }.items():
        yield dpop(f"proof ath {name}", token, maker.proof(token, ath=value))
    for value in ["", "j" * 200, "j" * 2000, "\xe9", "a b", 1, None, ["1"], {}, ABSENT, "\0"]:
        yield dpop(f"proof jti {maker.shown(value)}", token, maker.proof(token, jti=value))
    for value in ["unasked", "", 1, None]:
        yield dpop(f"proof nonce {maker.shown(value)}", token, maker.proof(token, nonce=value))
    for name, value in {"exp": now - 60, "nbf": now + 600, "iss": "other", "aud": "other", "sub": "other",
        "extra": [1]}.items():
        yield dpop(f"proof claim {name}", token, maker.proof(token, **{name: value}))
    good = compact(maker.proof_claims(token))
    for name, content in {
        "htm twice": good[:-1] + b',"htm":"POST"}', "htu twice": b'{"htu":"http://other/",' + good[1:],
        "iat twice": good[:-1] + b',"iat":1}', "array": b"[]", "empty": b"{}", "behind": good + b"x",
        "bom": b"\xef\xbb\xbf" + good, "nul": good[:-1] + b',"a":"\\u0000"}',
        "large": good[:-1] + b',"a":"' + b"x" * 6_000 + b'"}',
    }.items():
        yield dpop(f"proof content {name}", token, maker.signed_proof(content))


def bindings(maker: Maker) -> Iterator[ValidationCase]:
    """RFC 9449 section 6.1 and 7.1, RFC 7800: the token's key and the proof's."""
    right = thumbprint(PROOF_KEY)
    for name, value in {
        "missing": ABSENT, "empty": {}, "null": None, "text": right, "array": [right],
        "of another key": {"jkt": thumbprint(OTHER_PROOF_KEY)}, "upper case": {"jkt": right.upper()},
        "padded": {"jkt": right + "="}, "standard alphabet": {"jkt": right.replace("-", "+").replace("_", "/")},
        "blank": {"jkt": right + " "}, "short": {"jkt": right[:-1]}, "jkt null": {"jkt": None},
        "jkt array": {"jkt": [right]}, "jkt number": {"jkt": 1}, "jkt empty": {"jkt": ""}, "JKT": {"JKT": right},
        "jwk": {"jwk": keys.public(PROOF_KEY)}, "kid": {"kid": "x"}, "jkt and kid": {"jkt": right, "kid": "x"},
        "jkt and x5t#S256": {"jkt": right, "x5t#S256": "x"}, "x5t#S256": {"x5t#S256": right},
        "jkt#S256": {"jkt#S256": right},
    }.items():
        token = maker.token(cnf=value)
        yield dpop(f"binding {name}", token, maker.proof(token))
    token = maker.token(jkt=right)
    yield dpop("binding outside of cnf", token, maker.proof(token))
    token = maker.bound()
    for name, changes in {"aud": {"aud": "other"}, "iss": {"iss": "other"}, "exp": {"exp": maker.now - 60},
        "scope": {"scope": "write"}, "nbf": {"nbf": maker.now + 600}}.items():
        own = maker.bound(**changes)
        yield dpop(f"binding good, token with another {name}", own, maker.proof(own))
    own = maker.token({"typ": "JWT"}, cnf={"jkt": right})
    yield dpop("binding good, token with typ JWT", own, maker.proof(own))
    yield dpop("binding other key's proof", token, maker.proof(token, key=OTHER_PROOF_KEY))
    yield bearer("bound token as Bearer", token)
    yield ValidationCase("bound token as Bearer with its proof", "bearer", [("Authorization", f"Bearer {token}"),
        ("DPoP", maker.proof(token, "/bearer/x"))])
    free = maker.token()
    yield ValidationCase("free token as Bearer with a proof", "bearer", [("Authorization", f"Bearer {free}"), ("DPoP",
        maker.proof(free, "/bearer/x"))])
    yield ValidationCase("free token as Bearer with garbage for a proof", "bearer", [("Authorization",
        f"Bearer {free}"), ("DPoP", "x")])


def replays(maker: Maker) -> Iterator[ValidationCase]:
    """RFC 9449 section 11.1."""
    token, other = maker.bound(), maker.bound(OTHER_PROOF_KEY)
    first = maker.proof(token)
    yield dpop("replay of the same proof", token, first, before=(dpop("", token, first),))
    yield dpop("replay a third time", token, first, before=(dpop("", token, first), dpop("", token, first)))
    same = maker.proof(token, jti="same", iat=maker.now - 1)
    yield dpop("replay of a jti in another proof", token, maker.proof(token, jti="same"), before=(dpop("", token,
        same),))
    yield dpop("replay of a jti at another URL", token, maker.proof(token, "/dpop/y", jti="url"), target="/dpop/y",
        before=(dpop("", token, maker.proof(token, jti="url")),))
    yield dpop("replay of a jti by another key", other, maker.proof(other, key=OTHER_PROOF_KEY, jti="key"),
        before=(dpop("", token, maker.proof(token, jti="key")),))
    again = maker.bound()
    yield dpop("replay of a jti with another token", again, maker.proof(again, jti="token"), before=(dpop("", token,
        maker.proof(token, jti="token")),))
    refused = maker.proof(token, jti="refused", htm="POST")
    yield dpop("replay of a rejected proof's jti", token, maker.proof(token, jti="refused"), before=(dpop("", token,
        refused),))
    expired = maker.bound(exp=maker.now - 100)
    yield dpop("replay of the jti of an expired token's proof", token, maker.proof(token, jti="expired"),
        before=(dpop("", expired, maker.proof(expired, jti="expired")),))
    wrong = maker.proof(token, jti="ath", ath="x")
    yield dpop("replay of the jti of a proof for another token", token, maker.proof(token, jti="ath"), before=(dpop("",
        token, wrong),))
    spent = maker.proof(token)
    yield dpop("replay with another method", token, spent, method="POST", before=(dpop("", token, spent),))
    for name in ["dPoP", "dpop"]:
        reused = maker.proof(token)
        yield dpop(f"replay with the scheme {name}", token, reused, scheme=name, before=(dpop("", token, reused),))
    cached = maker.token()
    yield bearer("cached token", cached, before=(bearer("", cached),))
    bad = maker.token(aud="other")
    yield bearer("cached rejected token", bad, before=(bearer("", bad),))
    tampered = cached[:-8] + "AAAAAAAA"
    yield bearer("cached token with another signature", tampered, before=(bearer("", cached),))
    yield dpop("cached token with a wrong htu", token, maker.proof(token, "/dpop/y"), before=(dpop("", token,
        maker.proof(token)),))
    yield dpop("cached token without a proof", token, before=(dpop("", token, maker.proof(token)),))
    yield bearer("token cached with a proof, as Bearer", token, before=(dpop("", token, maker.proof(token)),))


def certificates(maker: Maker) -> Iterator[ValidationCase]:
    """RFC 8705 section 3."""
    der = maker.certificates["A"]
    digest = hashlib.sha256(der).digest()
    right, wrong = base64url(digest), base64url(hashlib.sha256(maker.certificates["B"]).digest())
    for name, cnf in {
        "right": {"x5t#S256": right}, "of another": {"x5t#S256": wrong}, "missing": ABSENT, "empty": {}, "text": right,
        "null": {"x5t#S256": None}, "number": {"x5t#S256": 1}, "empty text": {"x5t#S256": ""},
        "array": {"x5t#S256": [right]}, "padded": {"x5t#S256": right + "="}, "short": {"x5t#S256": right[:-1]},
        "hexadecimal": {"x5t#S256": digest.hex()}, "upper case": {"x5t#S256": right.upper()},
        "SHA-1": {"x5t": base64url(hashlib.sha1(der).digest())},
        "SHA-1 with its name": {"x5t#S256": base64url(hashlib.sha1(der).digest())}, "other name": {"x5t#s256": right},
        "blank": {"x5t#S256": right + " "}, "with jkt": {"x5t#S256": right, "jkt": thumbprint(PROOF_KEY)},
        "with kid": {"x5t#S256": right, "kid": "x"}, "jkt alone": {"jkt": thumbprint(PROOF_KEY)},
        "standard alphabet": {"x5t#S256": right.replace("-", "+").replace("_", "/")},
    }.items():
        for certificate in ["A", "B", None]:
            yield ValidationCase(f"certificate {certificate} cnf {name}", "mtls", [("Authorization",
                "Bearer " + maker.token(cnf=cnf))], certificate=certificate)


FAMILIES: List[Callable[[Maker], Iterator[ValidationCase]]] = [
    presentations, token_texts, token_headers, claims, proof_forms, proof_headers, proof_claims, bindings, replays,
    certificates,
]
