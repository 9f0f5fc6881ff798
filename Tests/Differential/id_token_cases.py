"""ID tokens with claims at and around every border, well signed."""

from __future__ import annotations

import random
from typing import Any, Dict, Iterator, Optional, Tuple

import keys
from judges import compact
from jws_cases import raw
from keys import Key

NOW = 1_800_000_000
ISSUER = "https://idp.example"
CLIENT = "shop"
NONCE = "n-0S6_WzA2Mj"
Claims = Dict[str, Any]

CHOICES: Dict[str, Any] = {
    "iss": [ISSUER, ISSUER, ISSUER, ISSUER + "/", ISSUER.upper(), "", 1, [ISSUER], None],
    "sub": ["user", "user", "u" * 255, "u" * 256, "", "é", 7, None],
    "aud": [
        CLIENT,
        CLIENT,
        [CLIENT],
        [CLIENT, CLIENT],
        [CLIENT, "till"],
        ["till", CLIENT],
        "till",
        ["till"],
        [],
        "",
        CLIENT + " ",
        "Shop",
        [1],
        {},
        None,
    ],
    "exp": [
        NOW + 300,
        NOW + 300,
        NOW + 1,
        NOW,
        NOW - 1,
        NOW - 10,
        NOW - 11,
        NOW + 0.5,
        NOW - 0.5,
        2**40,
        2**62,
        1e300,
        0,
        -1,
        "1900000000",
        True,
        [],
        None,
    ],
    "nbf": [None, None, NOW, NOW - 1, NOW + 1, NOW + 10, NOW + 11, NOW + 0.5, 0, -(2**60), 1e300, "1", False],
    "iat": [NOW - 10, NOW - 10, NOW, NOW + 1, NOW + 10, NOW + 11, NOW - 10**8, 0, -5, 1e18, "1", True, None],
    "nonce": [NONCE, NONCE, NONCE + "x", NONCE[:-1], "", 1, [NONCE], None],
    "azp": [None, None, CLIENT, "till", 1],
    "jti": [None, "1", 1],
    "acr": [None, "gold", 1],
    "name": [None, "Ωmega \U0001f600", {"a": [1, 2.5, None, True]}],
}


def claims(source: random.Random) -> Tuple[str, Claims]:
    """(what is unusual, claims): usually one or two claims at a border, the others good."""
    chosen = {name: values[0] for name, values in CHOICES.items()}
    names = source.sample(list(CHOICES), source.choice([0, 1, 1, 1, 2, 3]))
    for name in names:
        chosen[name] = source.choice(CHOICES[name])
    described = ",".join(f"{name}={chosen[name]!r:.30}" for name in sorted(names))
    return described or "good", {name: value for name, value in chosen.items() if value is not None}


def tokens(source: random.Random, count: int) -> Iterator[Tuple[str, str, Key, Claims, int]]:
    """(name, token, public key, claims, leeway)"""
    algorithms = ["RS256", "ES256", "Ed25519", "PS384", "ES512"]
    for number in range(count):
        name, members = claims(source)
        algorithm = algorithms[number % len(algorithms)]
        key = keys.signing_keys(algorithm)[0]
        header: Dict[str, Any] = {"alg": algorithm}
        kind: Optional[str] = source.choice([None, "JWT"])
        if kind:
            header["typ"] = kind
        yield name, raw(algorithm, key, compact(header), compact(members)), keys.public(key), members, source.choice(
            [0, 10]
        )
