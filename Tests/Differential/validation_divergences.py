"""Where `validateRequest` judges otherwise than Debian's mod_oauth2 3.3.1 with liboauth2 1.4.5.4, with the reasons.

Everything else must agree. liboauth2 1.4.5.4 was made before RFC 9449, by a draft of it.
"""

from __future__ import annotations

from typing import List

from comparison import Divergence

#: Where the claim is the only unusual one, or one of two.
CLAIM = r"bearer claims? (.*,)?"

UNIQUE = "RFC 7519 4: claim names are unique; a JWT with two is rejected, or the last is used (as by jansson)"
CRITICAL = (
    "RFC 7515 4.1.11: extensions that are not understood make the JWS invalid; the list is never empty, names no"
    " registered parameter and none that is not there (cjose does not look)"
)
PROOF_OF_POSSESSION = (
    "RFC 9449 7.2: a resource server that supports both schemes rejects a DPoP-bound token that is received as a"
    " bearer token; RFC 8705 3: the certificate has to match; RFC 7800 3.1: a cnf that is not understood confirms"
    " nothing"
)
NORMALISATION = (
    "RFC 9449 4.3: htu is compared after syntax-based (RFC 3986 6.2.2) and scheme-based normalization (6.2.3), without"
    " query and fragment; liboauth2 compares the text, in any case of letters, with the path as Apache has decoded it"
)
STRINGS = "RFC 7519 4.1.7, RFC 9068 2.2, OpenID Connect Core 2: the claim is a string"
NUMBERS = "RFC 7519 2: NumericDate is a JSON number, and non-integer values can be represented (liboauth2: integers)"
HASH = "RFC 9449 4.3 rule 12: with a token, ath equals the base64url hash of it (the draft of 1.4.5.4 had no ath)"

#: How a token is shown.
PRESENTATION = [
    Divergence(r"bearer shown Bearer \t", "malformed_token",
    "RFC 9110 11.4: between scheme and token are spaces, no tab"),
    Divergence(
        r"bearer (shown Bearer {}==?|text padded signature)$", "malformed_token",
        "RFC 7515 2: base64url without padding (cjose takes it)"),
    Divergence(
        r"bearer shown (in the query, too|another in the query)$", "token_repeated",
        "RFC 6750 2: clients MUST NOT use more than one method to transmit the token in each request; 3.1: one that"
        " does is malformed (mod_oauth2 does not look at the query unless it is configured to)"),
]

#: The parts of a token.
TOKEN = [
    Divergence(r"bearer content nul$", "malformed_token", "RFC 8259 2: nothing but whitespace comes behind the value"),
    Divergence(r"bearer content .*twice", "duplicate_claim", UNIQUE),
    Divergence(r"bearer header text (twice reversed|typ twice)", "duplicate_claim", "RFC 7515 4: names are unique"),
    Divergence(r"bearer content deep$", "malformed_token", "RFC 8259 9: nesting is bounded, here by 32 levels"),
    Divergence(r"bearer (kid|typ) (1|None|\[)", "malformed_token", "RFC 7515 4.1.4, 4.1.9: kid and typ are strings"),
    Divergence(
        r"(bearer typ|dpop binding good, token with typ JWT)", "wrong_token_type",
        "RFC 9068 4: the resource server MUST verify that typ is at+jwt or application/at+jwt, and reject tokens with"
        " any other value (mod_oauth2 does not look)"),
    Divergence(r"bearer header (crit|b64-false)", "unsupported_crit", CRITICAL),
    Divergence(
        r"bearer header cty$", "wrong_token_type",
        "RFC 7519 5.2: cty is JWT where the content is another JWT; here it is a set of claims"),
]

#: The claims of a token.
CLAIMS = [
    Divergence(
        CLAIM + r"iss='ISSUER '", "iss_mismatch",
        "RFC 9068 4: the issuer identifier MUST exactly match the value of iss (apr_strnatcmp skips blanks)"),
    Divergence(CLAIM + r"iss=\[", "invalid_claim_type", "RFC 7519 4.1.1: iss is one StringOrURI"),
    Divergence(
        CLAIM + r"aud='https://api.example '", "aud_mismatch",
        "RFC 7519 4.1.3, 2: audiences are compared as case-sensitive strings (apr_strnatcmp skips blanks)"),
    Divergence(CLAIM + r"aud=\[.*1\]", "invalid_claim_type", "RFC 7519 4.1.3: an array of case-sensitive strings"),
    Divergence(
        CLAIM + r"exp=-9223372036854775808", "token_expired",
        "RFC 7519 4.1.4: past (in liboauth2 the number overflows)"),
    Divergence(
        r"(" + CLAIM + r"nbf=(now\+|1e)|dpop binding good, token with another nbf)", "token_not_yet_valid",
        "RFC 7519 4.1.5: before nbf the JWT MUST NOT be accepted (liboauth2 does not look)"),
    Divergence(CLAIM + r"nbf=", "invalid_claim_type", "RFC 7519 4.1.5: nbf is a NumericDate"),
    Divergence(
        CLAIM + r"sub='(u{20}|é)", "invalid_claim",
        "OpenID Connect Core 2, to which RFC 9068 6 refers for its subjects: at most 255 ASCII characters"),
    Divergence(CLAIM + r"(client_id|jti)=(1|None|\[)", "invalid_claim_type", STRINGS),
    Divergence(
        CLAIM + r"(client_id|jti)=absent", "missing_claim",
        "RFC 9068 2.2: client_id and jti are REQUIRED (mod_oauth2 does not look)"),
    Divergence(CLAIM + r"jti=''", "invalid_claim",
    "RFC 7519 4.1.7: jti is a unique identifier, which an empty one is not"),
    Divergence(
        CLAIM + r"scope='(read\\|re ad)", "insufficient_scope",
        "RFC 6749 3.3: scope tokens are delimited by spaces, and have neither tabs nor line feeds (apr_strnatcmp skips"
        " them, and blanks inside of a token)"),
    Divergence(
        CLAIM + r"scope=\[", "invalid_claim_type",
        "RFC 9068 2.2.3, RFC 8693 4.2: scope is a string with a space-separated list"),
    Divergence(CLAIM + r"(acr|azp)=1", "invalid_claim_type", STRINGS),
    Divergence(CLAIM + r"auth_time='x'", "invalid_claim_type", "OpenID Connect Core 2, RFC 9068 2.2.1: a number"),
    Divergence(CLAIM + r"(exp|iat)=(1e\+300|now[+-]\d+\.5)", "accepted", NUMBERS),
    Divergence(
        CLAIM + r"iat=(0|-1)\b", "accepted",
        "RFC 7519 4.1.6: iat determines the age, and no rule bounds it (liboauth2: 0 is a missing claim)"),
    Divergence(
        r"bearer claim sub='a\\nb'", "accepted",
        "RFC 7519 4.1.2: any string without a colon (Apache fails, 500, when it shows it in a header)"),
]

#: Keys that a token is bound to.
BINDINGS = [
    Divergence(CLAIM + r"cnf=", "confirmation_mismatch", PROOF_OF_POSSESSION),
    Divergence(r"bearer (bound token as Bearer|token cached with a proof)", "confirmation_mismatch",
    PROOF_OF_POSSESSION),
    Divergence(
        r"bearer free token as Bearer with", "confirmation_mismatch",
        "stricter than RFC 9449: by 7.1 proofs come with the scheme DPoP, so that one with Bearer is of another token"),
    Divergence(
        r"dpop binding padded$", "confirmation_mismatch", "RFC 9449 6.1: jkt is the base64url thumbprint (RFC 7515 2)"),
    Divergence(
        r"dpop binding jkt and kid$", "confirmation_mismatch",
        "RFC 7800 3.1: a recipient that cannot use a confirmation method has not confirmed the possession"),
    Divergence(r"dpop binding jkt and x5t#S256$", "confirmation_mismatch", PROOF_OF_POSSESSION),
    Divergence(r"mtls certificate .* cnf ", "confirmation_mismatch", PROOF_OF_POSSESSION),
]

#: Proofs.
PROOFS = [
    Divergence(r"dpop proof (form {}=|text padded)$", "invalid_dpop_proof", "RFC 7515 2: base64url without padding"),
    Divergence(
        r"dpop proof alg (ES512|RS384|RS512|PS384|PS512)$", "invalid_dpop_proof",
        "RFC 9449 4.3 rule 5: the algorithm is supported by the application and acceptable per local policy; which are"
        " is told in algs (7.1)"),
    Divergence(r"dpop proof alg (EdDSA|Ed25519)$", "accepted", "RFC 8037 3.1, RFC 9864 2.2 (cjose has no Ed25519)"),
    Divergence(
        r"dpop proof jwk (private|with k|with p|d empty)$", "invalid_dpop_proof",
        "RFC 9449 4.3 rule 7: the jwk parameter does not contain a private key (a TODO in liboauth2)"),
    Divergence(
        r"dpop proof jwk with (use enc|another alg|other key_ops)$", "invalid_dpop_proof",
        "RFC 7517 4.2, 4.3, 4.4: use, key_ops and alg say what a key is for; this one is not for this signature"),
    Divergence(r"dpop proof jwk padded$", "invalid_dpop_proof", "RFC 7518 6.2.1.2: base64url without padding"),
    Divergence(r"dpop proof header crit", "invalid_dpop_proof", CRITICAL),
    Divergence(
        r"dpop proof (htm 'get'|htm 'Get')$", "invalid_dpop_proof",
        "RFC 9449 4.3 rule 8: htm matches the method; RFC 9110 9.1: methods are case-sensitive"),
    Divergence(
        r"dpop proof method HEAD htm GET$", "invalid_dpop_proof", "RFC 9449 4.3 rule 8 (Apache takes HEAD for GET)"),
    Divergence(r"dpop proof method HEAD$", "accepted", "RFC 9449 4.3 rule 8 (Apache takes HEAD for GET)"),
    Divergence(
        r"dpop proof (htu 'http://api.example:8080/dpop/X'|target /A htu /a)$", "invalid_dpop_proof",
        "RFC 3986 6.2.2.1: only scheme and host are case-insensitive"),
    Divergence(
        r"dpop proof target (/a%2fb|/a//b) htu /a/b$", "invalid_dpop_proof",
        "RFC 3986 2.2: an encoded reserved character is not equivalent to the plain one; 3.3: an empty segment is one"),
    Divergence(r"dpop proof (htu|target) ", "accepted", NORMALISATION),
    Divergence(
        r"dpop proof host (api.example:80|\[::1\]:8080|api.example:08080) htu", "accepted", NORMALISATION),
    Divergence(
        r"dpop proof host api.example htu http://api.example$", "accepted",
        "RFC 9110 4.2.1: without a port it is 80, the default (Apache takes the port that it listens at)"),
    Divergence(r"dpop proof iat now-\d\.5$", "accepted", NUMBERS),
    Divergence(r"dpop proof ath ", "invalid_dpop_proof", HASH),
    Divergence(
        r"dpop proof jti (''|None|absent)$", "invalid_dpop_proof",
        "RFC 9449 4.2: jti is a unique identifier, and 4.3 rule 3: required (liboauth2 1.4.5.4 does not need it)"),
    Divergence(r"dpop proof content .* twice$", "invalid_dpop_proof", UNIQUE),
    Divergence(
        r"dpop replay of a jti (in another proof|at another URL|with another token)$", "dpop_proof_replayed",
        "RFC 9449 11.1: a jti that has been seen before is declined; 4.2: a client never uses one twice (liboauth2"
        " 1.4.5.4 compares whole proofs)"),
]

REQUESTS: List[Divergence] = PRESENTATION + TOKEN + CLAIMS + BINDINGS + PROOFS
