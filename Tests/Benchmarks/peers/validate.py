#!/usr/bin/env python3
"""ID tokens through a Python library, in one process and one thread: the same rules, keys and options as check_tokens.

Each library is used as documented, with keys parsed once. What a library leaves to its caller (`nonce`,
`at_hash`, an issue time in the future) is checked here, so that all of them answer the same question.
"""

import argparse
import base64
import hashlib
import hmac
import importlib.metadata
import json
import resource
import sys
import time
import warnings

SKEW = 30
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]
HASHES = {"RS256": hashlib.sha256, "ES256": hashlib.sha256, "EdDSA": hashlib.sha512}
CLOCK_EVERY = 16


class Rejected(Exception):
    """A check that is the caller's."""


def check_common(claims, options, nonce, access_token):
    """`azp`, `nonce`, `at_hash` and the issue time, for libraries that leave them to the caller."""
    if claims.get("azp", options.client) != options.client:
        raise Rejected("azp")
    if claims.get("nonce") != nonce:
        raise Rejected("nonce")
    if claims["iat"] > time.time() + SKEW:
        raise Rejected("iat")
    at_hash = claims.get("at_hash")
    if at_hash is not None:
        digest = HASHES[options.algorithm](access_token.encode("ascii")).digest()
        half = base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode("ascii")
        if not hmac.compare_digest(at_hash, half):
            raise Rejected("at_hash")


def pyjwt(options, key_set):
    import jwt

    keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(key_set).keys}
    algorithms = [options.algorithm]

    def validate(token, nonce, access_token):
        key = keys[jwt.get_unverified_header(token)["kid"]]
        claims = jwt.decode(
            token,
            key,
            algorithms=algorithms,
            audience=options.client,
            issuer=options.issuer,
            leeway=SKEW,
            options={"require": REQUIRED},
        )
        check_common(claims, options, nonce, access_token)
        return claims

    return validate


def joserfc(options, key_set):
    from joserfc import jwt
    from joserfc.jwk import KeySet

    keys = KeySet.import_key_set(key_set)
    rules = jwt.JWTClaimsRegistry(
        leeway=SKEW,
        iss={"essential": True, "value": options.issuer},
        sub={"essential": True},
        aud={"essential": True, "value": options.client},
        exp={"essential": True},
        iat={"essential": True},
    )
    algorithms = [options.algorithm]

    def validate(token, nonce, access_token):
        claims = jwt.decode(token, keys, algorithms=algorithms).claims
        rules.validate(claims)
        check_common(claims, options, nonce, access_token)
        return claims

    return validate


def authlib(options, key_set):
    from authlib.jose import JsonWebKey, JsonWebToken
    from authlib.oidc.core import CodeIDToken

    keys = JsonWebKey.import_key_set(key_set)
    library = JsonWebToken([options.algorithm])
    rules = {
        "iss": {"essential": True, "value": options.issuer},
        "sub": {"essential": True},
        "aud": {"essential": True, "value": options.client},
        "exp": {"essential": True},
        "iat": {"essential": True},
    }

    def validate(token, nonce, access_token):
        claims = library.decode(
            token,
            keys,
            claims_cls=CodeIDToken,
            claims_options=rules,
            claims_params={"nonce": nonce, "client_id": options.client, "access_token": access_token},
        )
        claims.validate(leeway=SKEW)
        # It compares at_hash for names such as RS256 only.
        if options.algorithm == "EdDSA":
            check_common(claims, options, nonce, access_token)
        return claims

    return validate


LIBRARIES = {"pyjwt": pyjwt, "joserfc": joserfc, "authlib": authlib}


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def run(validate, lines, seconds):
    done, end = 0, time.monotonic() + seconds
    while done % CLOCK_EVERY or time.monotonic() < end:
        validate(*lines[done % len(lines)])
        done += 1
    return done


def is_valid(validate, line):
    try:
        validate(*line)
    except Exception:  # every library has exceptions of its own; whichever it is, the token is rejected
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=LIBRARIES, required=True)
    parser.add_argument("--tokens", required=True)
    parser.add_argument("--jwks", required=True)
    parser.add_argument("--algorithm", choices=HASHES, required=True)
    parser.add_argument("--issuer", default="https://idp.example.com")
    parser.add_argument("--client", default="bench")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--verdicts", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with open(options.jwks, encoding="ascii") as file:
        validate = LIBRARIES[options.library](options, json.load(file))
    with open(options.tokens, encoding="ascii") as file:
        lines = [line.rstrip("\n").split("\t")[:3] for line in file]
    if options.verdicts:
        json.dump({"verdicts": [is_valid(validate, line) for line in lines]}, sys.stdout)
        return
    run(validate, lines, options.seconds / 10)
    begin, cpu = time.monotonic(), cpu_seconds()
    done = run(validate, lines, options.seconds)
    json.dump(
        {
            "validations": done,
            "seconds": time.monotonic() - begin,
            "cpuSeconds": cpu_seconds() - cpu,
            "version": f"{options.library} {importlib.metadata.version(options.library)}",
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
