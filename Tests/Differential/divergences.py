"""Where Postern judges otherwise than joserfc 1.8 or jwcrypto 1.6, each with its reason. Everything else must agree."""

from __future__ import annotations

from comparison import Divergence

STRICT_JSON = (
    "JSON texts have one reading: no duplicate, NaN, infinity, lone surrogate, U+0000 or number beyond 64 bits"
)

#: Of both serializations.
ENCODING = [
    Divergence(r"unused-bits-", "malformed_token", "RFC 4648 3.5: one byte string has one accepted spelling"),
    Divergence(r"padding-", "malformed_token", "RFC 7515 2: base64url without padding (jwcrypto takes it)"),
    Divergence(
        r"standard-alphabet-", "malformed_token", "RFC 7515 2: the URL-safe alphabet only (jwcrypto takes both)"
    ),
    Divergence(r"header-twice", "duplicate_claim", "RFC 7515 4: names are unique (the peers take the last)"),
    Divergence(r"header-(nan|infinite|large-integer|surrogate|nul) ", "malformed_token", STRICT_JSON),
    Divergence(
        r"header-(bom|utf16) ", "malformed_token", "RFC 8259 8.1: UTF-8 without a byte order mark (joserfc detects)"
    ),
    Divergence(r"header-too-deep ", "malformed_token", "nesting is bounded by 32 levels"),
    Divergence(
        r"header-(kid|typ)-number ", "malformed_token", "RFC 7515 4.1.4, 4.1.9: strings (jwcrypto does not look)"
    ),
    Divergence(
        r"header-crit-(empty|registered) ",
        "unsupported_crit",
        "RFC 7515 4.1.11: never empty, never a registered name (the peers do not look)",
    ),
]

JWS = ENCODING + [
    Divergence(
        r"header-b64-(true|false)",
        "unsupported_crit",
        "RFC 7797 is not supported: its crit is an extension, and JWTs must not use it (section 7)",
    ),
    Divergence(
        r"key-alg-other ", "key_alg_mismatch", "a key's alg names the only algorithm it is for (jwcrypto ignores)"
    ),
    Divergence(r"key-kid-other ", "key_not_found", "a kid that the key does not have never falls back to it"),
]

JWE = ENCODING + [
    Divergence(r"zip ", "alg_not_supported", "compressed content is refused unseen: decompression bombs"),
    Divergence(r"iv-", "decryption_failed", "RFC 7518 5.3: the vector of AES-GCM has 96 bits (jwcrypto takes any)"),
    Divergence(
        r"p2c-", "decryption_failed", "RFC 7518 4.8.1.2: 1,000 iterations at least, 10,000 at most (CVE-2023-52428)"
    ),
    Divergence(r"p2s-", "decryption_failed", "RFC 7518 4.8.1.1: a salt of 8 bytes at least"),
    Divergence(
        r"key-alg-other ", "key_alg_mismatch", "a key's alg names the only algorithm it is for (the peers ignore it)"
    ),
    Divergence(r"key-(use-sig|ops-verify) ", "key_alg_mismatch", "a key that is for signatures does not decrypt"),
]

NUMBERS = "RFC 7519 2: NumericDate is a number, not a string, not a boolean"

ID_TOKEN = [
    Divergence(
        r".*\baud=\[", "untrusted_audience", "Core 3.1.3.7 rule 3: no audience beside the client unless it is trusted"
    ),
    Divergence(r".*\bazp='till'", "azp_mismatch", "Core 3.1.3.7 rule 5: azp, if present, is the client"),
    Divergence(r".*\b(azp|acr|jti|nonce)=[\[1]", "invalid_claim_type", "the claims of Core section 2 are strings"),
    Divergence(r".*\bsub=('u{28}|'é'|'')", "invalid_claim", "Core 2: sub is 1 to 255 ASCII characters"),
    Divergence(
        r".*\bexp=(1800000000\b.* leeway=0|1799999990\b.* leeway=10)",
        "token_expired",
        "RFC 7519 4.1.4: not accepted on or after exp (jwcrypto: after)",
    ),
    Divergence(
        r".*\b(iat|exp)=", "iat_invalid", "issued in the future (jwcrypto does not look), or not before its expiry"
    ),
    Divergence(r".*\b(exp|nbf|iat)=(True|False|'1)", "invalid_claim_type", NUMBERS),
]

MIXED = "a set that mixes symmetric and asymmetric keys is refused, lest a public key pass for a secret"

KEY_SETS = [
    Divergence(r"set-mixed ", "jwks_invalid", MIXED),
    Divergence(r"set-(unknown-kind|broken-entry) secret ", "jwks_invalid", MIXED),
    Divergence(
        r"set-(unknown-kind|broken-entry) every ",
        "accepted",
        "RFC 7517 5: an entry that cannot be used is skipped, not fatal (jwcrypto, joserfc: fatal)",
    ),
]
