"""Writes the seeds of the corpus and the dictionaries. Deterministic; run it when a seed is to be added.

Seeds are named after what they are; inputs that fuzzing added are named after their hash and are not touched.
"""

import base64
import hashlib
import json
import re
from pathlib import Path
from urllib.parse import quote

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
ADVICE = (
    "Location: WWW-Authenticate: SSOADVICE realm= advices= am_uri= Bearer DPoP UMA ticket= acr_values= max_age= error= "
    "insufficient_user_authentication authIndexType= composite_advice &authIndexValue= %3C %253C %3E %22 %2B %3D + "
    "<Advices> </Advices> <AttributeValuePair> </AttributeValuePair> <Attribute name=\" /> <Value> </Value> <!DOCTYPE "
    "<![CDATA[ ]]> <!-- --> &amp; &#10; TransactionConditionAdvice {\"advices\": [\" \"] https://am.test"
)
DECISIONS = (
    "evaluations evaluation metadata opa am 200 400 404 413 429 503 application/json text/html application/problem+json "
    "decision true false null context error status code message details action trace helpUrl reason reason_user "
    "reason_admin en result allow ttl decision_id warning api_usage_warning resource actions advices attributes GET POST "
    "policy_decision_point access_evaluation_endpoint access_evaluations_endpoint https://pdp.test/t https://evil.test "
    "too_many_resources network_received_error retry retry-after none authentication configuration \\u0065\\u0301 \\ud83d"
).split()
MESSAGES = (
    'jsonrpc method params id error result $/cancelRequest Content-Length: Content-Type: charset=utf-8 \\" \\\\ \\u0000 '
    "\\ud83d \\u006d 1e999 -0.0 [[[ ]]] {}{}"
).split()
HEADS = (
    "HTTP/1.1 HTTP/2 100 103 200 204 302 401 Content-Length: Content-Encoding: Content-Type: Transfer-Encoding: Location: "
    "WWW-Authenticate: chunked gzip br zstd identity X-Original-URL X_Forwarded_Host Forwarded Proxy- realm= charset= "
    "application/ +json Bearer DPoP https:// http:// [::1] %2e %2F ../ :443 \\"
).split()
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
    for file in ["rfc-jws", "rfc-jwe", "rfc-jwe-rejected", "interop-jws", "interop-jwe", "rejected-jws"]:
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
    for vector in vectors("pem") + vectors("pem-rejected"):
        yield f"pem-{slug(vector['name'])}", vector["pem"]


# MARK: advice


def advices():
    """Responses: status, header lines, an empty line, the body."""
    tx = "7b8bfd4c-60fe-4271-928d-d09b94496f84"
    kinds = ["TransactionConditionAdvice", "AuthenticateToServiceConditionAdvice", "AuthLevelConditionAdvice"]

    def document(*pairs):
        pair = '<AttributeValuePair><Attribute name="{}"/><Value>{}</Value></AttributeValuePair>'
        return "<Advices>" + "".join(pair.format(*each) for each in pairs) + "</Advices>"

    def redirect(value, status=302):
        start = "https://am.test/am/?goto=http://ig.test/a?_txid%3D1&realm=/&authIndexType=composite_advice"
        return f"{status}\nLocation: {start}&authIndexValue={value}\n"

    def challenge(value):
        return f"401\nWWW-Authenticate: {value}\n"

    def escaped(text):
        return quote(text, safe="")

    xml = document((kinds[0], tx))
    several = document((kinds[0], tx), (kinds[1], "/sdk:Confirm"), ("Own", "a&amp;&lt;&#10;b"))
    spaced = xml.replace("><", ">\r\n <").replace('"', "'").replace("/>", "></Attribute>")
    for name, text in [("one", xml), ("several", several), ("spaced", spaced), ("quoted", f'"{xml}"')]:
        yield f"found-redirect-{name}", redirect(escaped(text))
        yield f"found-redirect-{name}-twice", redirect(escaped(escaped(text)))
        yield f"found-redirect-{name}-plus", redirect(escaped(text).replace("%20", "+"), 307)
    for name, text in [("one", xml), ("several", several)]:
        yield f"found-redirect-{name}-base64", redirect(base64.b64encode(text.encode()).decode())
        yield f"found-redirect-{name}-base64url", redirect(base64url(text.encode()), 303)
    entity = "<!DOCTYPE A [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>" + document((kinds[0], "&e;"))
    for name, text in [
        ("entity", entity),
        ("comment", "<!-- " + xml + " -->"),
        ("cdata", document((kinds[0], "<![CDATA[</Value>]]>"))),
        ("declaration", "<?xml version='1.0' encoding='UTF-16'?>" + xml),
        ("nested", "<Advices>" * 12),
        ("twice", xml + xml),
    ]:
        yield f"xml-{name}", redirect(escaped(text))
    yield "redirect-elsewhere", redirect(escaped(xml)).replace("am.test", "am.test.evil.test")
    yield "redirect-userinfo", redirect(escaped(xml)).replace("am.test", "am.test@evil.test")
    yield "redirect-ambiguous", redirect(escaped(xml)).rstrip() + "&authIndexValue=x\n"
    maps = [
        {kinds[0]: [tx]},
        {kinds[1]: ["/sdk:Confirm", "B"], kinds[2]: [5], "Own": ["<&>"]},
        {"advices": {kinds[0]: [tx]}, "ttl": 0},
    ]
    for number, value in enumerate(maps):
        text = compact(value)
        encoded = base64.b64encode(text.encode()).decode()
        yield f"found-header-{number}", challenge(f'SSOADVICE realm="/",advices="{encoded}",am_uri="https://am.test/am"')
        yield f"found-header-bare-{number}", challenge(f"Negotiate, ssoadvice advices={base64url(text.encode())},")
        yield f"found-body-{number}", "403\n\n" + text
        yield f"found-body-array-{number}", f"401\n\n[{{}},{text}]"
    yield "body-of-success", "200\n\n" + compact(maps[0])
    yield "body-of-error", '403\n\n{"code":403,"errors":["x"]}'
    bearer = 'Bearer error="insufficient_user_authentication", acr_values="gold silver", max_age="5"'
    yield "found-header-9470", challenge(bearer)
    yield "found-header-uma", challenge('UMA realm="a", as_uri="https://as.test", ticket="016f84e8"')
    yield "found-header-two", challenge('Basic realm="a, b"').rstrip() + f"\nwww-authenticate: {bearer}\n"
    yield "header-open-quote", challenge('SSOADVICE advices="')


def decisions():
    """Answers of decision points: kind, status and type, then the resources, then the body."""

    def answer(kind, body, resources="a\tb", status=200, media=" application/json"):
        return f"{kind} {status}{media}\n{resources}\n{compact(body)}"

    yes, no = {"decision": True}, {"decision": False}
    batch = {"evaluations": [yes, no]}
    yield "permit-evaluations-two", answer("evaluations", batch)
    yield "permit-evaluations-untyped", answer("evaluations", batch, media="")
    yield "permit-evaluations-repeated", answer("evaluations", batch, "a\tb\ta\ta")
    yield "permit-evaluations-context", answer("evaluations", {"evaluations": [{**yes, "context": {"ttl": 5}}, no]})
    yield "permit-evaluations-decision-beside", answer("evaluations", {"decision": False, **batch})
    yield "permit-evaluations-alike", answer("evaluations", batch, "\u00e9\te\u0301")
    yield "permit-evaluation-each", answer("evaluation", yes)
    yield "permit-evaluation-problem-type", answer("evaluation", yes, media=" application/problem+json; charset=utf-8")
    for name, body in [
        ("one", {"evaluations": [yes]}),
        ("three", {"evaluations": [yes] * 3}),
        ("empty", {"evaluations": []}),
        ("object", {"evaluations": {"0": yes, "1": yes}}),
        ("bare", yes),
        ("array", [yes, yes]),
        ("string", {"evaluations": [{"decision": "true"}, {"decision": "yes"}]}),
        ("number", {"evaluations": [{"decision": 1}, {"decision": 1.0}]}),
        ("null", {"evaluations": [{"decision": None}, None]}),
        ("error", {"evaluations": [{**yes, "context": {"error": {"status": 500}}}, {**yes, "context": {"error": 1}}]}),
        ("context", {"evaluations": [{**yes, "context": []}, {**yes, "context": "x"}]}),
        ("twice", '{"evaluations":[{"decision":false,"decision":true},{"decision":false}]}'),
        ("evaluations-twice", '{"evaluations":[{"decision":true},{"decision":true}],"evaluations":[]}'),
        ("truncated", '{"evaluations":[{"decision":true},{"decision":true}]'),
        ("behind", '{"evaluations":[{"decision":true},{"decision":true}]}}'),
        ("bom", "\ufeff" + compact(batch)),
        ("deep", "[" * 200),
    ]:
        yield f"none-evaluations-{name}", answer("evaluations", body)
        if name in ("string", "number", "null", "error", "context"):
            yield f"none-evaluation-{name}", answer("evaluation", body["evaluations"][0])
    for status in (302, 400, 401, 403, 413, 429, 451, 500, 503):
        yield f"none-evaluations-{status}", answer("evaluations", batch, status=status)
        yield f"none-opa-{status}", answer("opa", {"result": {"a": True}}, status=status)
        yield f"none-am-{status}", answer("am", [{"resource": "a", "actions": {"GET": True}}], status=status)
    yield "permit-evaluations-html", answer("evaluations", batch, media=" text/html")
    reasons = [
        {"reason": "policy_denied", "reason_user": {"en": "no"}},
        {"code": "network_received_error", "message": "x" * 5000},
        {"error": {"status": 503, "message": "m", "code": "odd"}, "reason_admin": {"en": "a"}},
        {"reason": "Not today.", "trace": "t"},
    ]
    for number, reason in enumerate(reasons):
        yield f"none-evaluations-reason-{number}", answer("evaluations", {"evaluations": [{**no, "context": reason}, no]})
    for number, error in enumerate(
        [
            {"code": "too_many_resources", "status": 403, "action": "configuration"},
            {"error": {"code": "odd", "status": -1, "action": 7}},
            {"errors": [{"code": "c", "details": "d" * 5000, "helpUrl": "u", "trace": "t"}]},
        ]
    ):
        for kind in ("evaluations", "opa", "am"):
            yield f"none-{kind}-enhanced-{number}", answer(kind, error, status=400)
    base = "https://pdp.test/t"
    for name, body in [
        ("own", {"policy_decision_point": base, "access_evaluation_endpoint": base + "/x", "access_evaluations_endpoint": base + "/y"}),
        ("single", {"policy_decision_point": base, "access_evaluation_endpoint": "https://other.test/x?y=1"}),
        ("foreign", {"policy_decision_point": "https://evil.test", "access_evaluation_endpoint": "https://evil.test/x"}),
        ("slash", {"policy_decision_point": base + "/", "access_evaluation_endpoint": "https://evil.test/x"}),
        ("plain", {"policy_decision_point": base, "access_evaluation_endpoint": "http://127.0.0.1/x"}),
        ("no-url", {"policy_decision_point": base, "access_evaluation_endpoint": "x y", "access_evaluations_endpoint": 7}),
    ]:
        yield f"none-metadata-{name}", answer("metadata", body)
    yield "permit-opa-literal", answer("opa", {"result": {"a": True, "b": False}, "decision_id": "d"})
    yield "permit-opa-object", answer("opa", {"result": {"a": {"allow": True, "ttl": 1.5}, "b": {"allow": False, "code": "c"}}})
    yield "permit-opa-alike", answer("opa", {"result": {"\u00e9": True}}, "\u00e9\te\u0301")
    for name, body in [
        ("undefined", {}),
        ("bare", {"result": True}),
        ("array", {"result": [True, True]}),
        ("others", {"result": {"A": True, "a ": True, "a\u0001": True}}),
        ("types", {"result": {"a": 1, "b": {"allow": "true"}}}),
        ("nested", {"result": {"a": {"allow": {"allow": True}}, "b": [True]}}),
        ("warning", {"result": {"a": True}, "warning": {"code": "api_usage_warning"}}),
        ("ttl", {"result": {"a": {"allow": False, "ttl": 1e300}, "b": {"allow": False, "ttl": "x"}}}),
    ]:
        yield f"none-opa-{name}", answer("opa", body)
    row = {"resource": "a", "actions": {"GET": True}, "attributes": {}, "advices": {}, "ttl": 9223372036854775807}
    yield "permit-am-row", answer("am", [row, {"resource": "b", "actions": [], "advices": []}])
    yield "permit-am-instant", answer("am", [{**row, "ttl": (NOW + 60) * 1000}])
    yield "permit-am-any-order", answer("am", [{**row, "resource": "b"}, {**row, "resource": "z"}])
    for name, body in [
        ("object", row),
        ("twice", [row, {**row, "actions": {"GET": False}}]),
        ("same-twice", [row, row]),
        ("nameless", [{"actions": {"GET": True}}, row]),
        ("other-action", [{**row, "actions": {"POST": True, "get": True}}]),
        ("types", [{**row, "actions": {"GET": 1}}, {**row, "resource": "b", "actions": [True]}]),
        ("advices", [{**row, "actions": {}, "advices": {"AuthLevelConditionAdvice": ["5"]}}]),
        ("ttl", [{**row, "actions": {}, "ttl": -9223372036854775808}, {**row, "resource": "b", "actions": {}, "ttl": 0.5}]),
    ]:
        yield f"none-am-{name}", answer("am", body)


# MARK: messages


def messages():
    """How small the pieces are that arrive, and what a caller writes to the socket."""
    call = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[1,-2.5e3,true,null,"\\u00e9\\""]}}'
    yield "call", "0" + call
    yield "calls-on-one-line", "3" + call + call
    yield "notification", '1{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}\n'
    yield "batch", f"5[{call},{call}]\n"
    yield "batch-of-too-many", "5[" + ",".join(['{"method":"m"}'] * 5) + "]\n"
    yield "answer", '2{"jsonrpc":"2.0","id":"a","result":{}}'
    yield "names-escaped", '2{"\\u006dethod":"m","p\\u0061rams":[1],"id":"\\ud83d\\ude00"}'
    yield "names-alike", '2{"method":"m","\u00e9":1,"e\u0301":2}'
    yield "names-twice", '2{"method":"m","params":{},"params":[]}'
    yield "quotation-marks", '2{"method":"\\\\","params":"\\\\\\"},{","id":"\\\\\\\\"}'
    # The most that MessageInvariants lets through, and one more.
    for name, depth, values, length in [("most", 6, 24, 400), ("too-many", 7, 25, 401)]:
        yield f"levels-{name}", "1" + "[" * depth + "]" * depth
        yield f"values-{name}", "1[" + ",".join("0" * (values - 1)) + "]"
        yield f"bytes-{name}", '1{"a":"' + "b" * (length - 8) + '"}'
    yield "large", '1{"method":"' + "m" * 500 + '"}[]'
    yield "malformed-then-good", '4{"a":tru}\n' + call + "\n"
    yield "cut-off", "4" + call[:-3]
    framed = f"Content-Length: {len(call)}\r\n\r\n{call}"
    yield "framed", "7" + framed + framed
    yield "framed-typed", "7" + "Content-Type: application/json; charset=utf8\r\n" + framed
    yield "framed-scalar", "1Content-Length: 4\r\n\r\ntrue"
    yield "framed-empty", "1Content-Length: 0\r\n\r\n"
    yield "framed-twice-over", "1Content-Length: 5\r\n\r\n[][1]"
    yield "framed-large", "1Content-Length: 500\r\n\r\n" + "x" * 500 + framed
    yield "unusable", "1GET / HTTP/1.1\r\n\r\n"


# MARK: header sections


def heads():
    """Header sections as they arrive."""
    for name, lines in [
        ("plain", ["HTTP/1.1 200 OK", "Content-Type: application/problem+json; charset=\"UTF-8\"", "Content-Length: 12"]),
        ("interim", ["HTTP/1.1 103 Early Hints", "Link: </x>", "", "HTTP/2 204", "A: 1"]),
        ("trailers", ["HTTP/1.1 200", "Transfer-Encoding: chunked", "", "Digest: x"]),
        ("folded", ["HTTP/1.1 200 OK", "A: one", "  two", "Content-Encoding: gzip", " , gzip"]),
        ("codings", ["HTTP/1.1 200 OK", "content-encoding: gzip, identity,,\tbr", "CONTENT-ENCODING: Identity"]),
        ("codings-three", ["HTTP/1.1 200 OK", "Content-Encoding: gzip, gzip", "Content-Encoding: gzip"]),
        ("lengths", ["HTTP/1.1 200 OK", "Content-Length: 7", "Content-Length: 007"]),
        ("lengths-contradictory", ["HTTP/1.1 200 OK", "Content-Length: 7", "Content-Length: 8"]),
        ("coded-twice", ["HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked"]),
        ("switch", ["HTTP/1.1 101 Switching", "Upgrade: x"]),
        ("controls", ["HTTP/1.1 200 OK", "A: b\0c", "B\t: x"]),
        ("spellings", ["HTTP/1.1 200 OK", "X_Original_URL: /", "Proxy-Authenticate: Basic", "X.Forwarded.Host: a", "Forwarded: Host=a"]),
        ("challenges", ["HTTP/1.1 401", 'WWW-Authenticate: Basic realm="a\\"b", Bearer error=invalid_token,DPoP algs="ES256"', "WWW-Authenticate: Negotiate YWI=="]),
        ("latin", ["HTTP/1.1 200 gr\u00fcn", "A: gr\u00fcn"]),
    ]:
        yield name, "\r\n".join([*lines, "", ""])
    for number, location in enumerate(
        ["/x/../y?z=%7e#f", "//other.test:443/%2e%2e/", "HTTPS://SHOP.test", "?q", "../../c", "http://[::1]:80/a[b]", "https://a@b.test", "%2F%2e"]
    ):
        yield f"location-{number}", f"HTTP/1.1 302 Found\r\nLocation: {location}\r\n\r\n"


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
    write(HERE / "Corpus" / "advice", advices())
    write(HERE / "Corpus" / "decisions", decisions())
    write(HERE / "Corpus" / "messages", messages())
    write(HERE / "Corpus" / "heads", heads())
    (HERE / "decisions.dict").write_text(dictionary(["evaluations"], DECISIONS) + '"\\x0a"\n"\\x09"\n"{}"\n')
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
    (HERE / "advice.dict").write_text("".join(json.dumps(word) + "\n" for word in ADVICE.split()))
    (HERE / "messages.dict").write_text("".join(json.dumps(word) + "\n" for word in MESSAGES) + '"\\x0d\\x0a\\x0d\\x0a"\n"\\x0a"\n')
    (HERE / "heads.dict").write_text("".join(json.dumps(word) + "\n" for word in HEADS) + '"\\x0d\\x0a"\n"\\x09"\n')
    (HERE / "keysets.dict").write_text(
        dictionary(KEY, CURVES, OPERATIONS, SIGNATURES, KEY_MANAGEMENT)
        + '"-----BEGIN "\n"-----END "\n"PRIVATE KEY-----"\n"RSA "\n"EC "\n'
    )


if __name__ == "__main__":
    main()
