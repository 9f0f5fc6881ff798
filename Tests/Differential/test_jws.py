"""Signatures: what other libraries sign verifies here, and nothing verifies here that they refuse."""

from __future__ import annotations

import random

import divergences
import jws_cases
from comparison import compare, needs_all
from judges import Postern, joserfc_verify, jwcrypto_verify


def judged(postern: Postern, cases):
    peers = {"joserfc": list(map(joserfc_verify, cases)), "jwcrypto": list(map(jwcrypto_verify, cases))}
    return postern.verify(cases), peers


def test_what_peers_sign_verifies(postern: Postern):
    """Every algorithm by both makers over random contents: accepted by all, the content byte by byte the same."""
    cases = [case for _, _, case in jws_cases.genuine(random.Random(1), rounds=12)]
    ours, peers = judged(postern, cases)
    compare(cases, ours, peers, [])
    refused = [(case.name, verdict.reason) for case, verdict in zip(cases, ours) if not verdict.is_valid]
    assert len(cases) > 350 and not refused


def test_mutants_are_judged_alike(postern: Postern):
    """Bits, encodings, headers, keys, algorithm names and forms of signature, over every algorithm."""
    source = random.Random(2)
    cases = [
        mutant
        for algorithm, key, case in jws_cases.genuine(source, rounds=1)
        for mutant in jws_cases.mutants(source, algorithm, key, case)
    ]
    ours, peers = judged(postern, cases)
    assert len(cases) > 4000
    needs_all(compare(cases, ours, peers, divergences.JWS), divergences.JWS)
    # The test of the test: the changes that leave a token good must have left it so.
    accepted = {case.name.split()[0] for case, verdict in zip(cases, ours) if verdict.is_valid}
    harmless = {
        "header-spaces",
        "header-order",
        "header-escape",
        "header-private",
        "header-jwk-other",
        "header-jku",
        "header-cty",
        "header-deep",
        "key-alg-same",
        "key-use-sig",
        "key-ops-verify",
    }
    assert accepted >= harmless
    assert accepted <= harmless | {"form-s-negated", "signed-as"}, accepted - harmless


def test_the_kid_decides_in_a_set(postern: Postern):
    cases = list(jws_cases.chosen())
    ours, peers = judged(postern, cases)
    needs_all(compare(cases, ours, peers, divergences.KEY_SETS), divergences.KEY_SETS)
    accepted = {case.name.split()[0] for case, verdict in zip(cases, ours) if verdict.is_valid}
    assert accepted == {"set-right", "set-reversed", "set-only-one-no-kid", "set-unknown-kind", "set-broken-entry"}
