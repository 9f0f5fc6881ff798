"""Encryption: what other libraries encrypt decrypts here, and nothing decrypts here that they refuse."""

from __future__ import annotations

import random

import divergences
import jwe_cases
from comparison import compare, needs_all
from judges import Postern, joserfc_decrypt, jwcrypto_decrypt


def judged(postern: Postern, cases):
    peers = {"joserfc": list(map(joserfc_decrypt, cases)), "jwcrypto": list(map(jwcrypto_decrypt, cases))}
    return postern.decrypt(cases), peers


def test_what_peers_encrypt_decrypts(postern: Postern):
    """Every alg, enc and kind of key by both makers: opened by all, the content byte by byte the same."""
    cases = [case for *_, case in jwe_cases.genuine(random.Random(3), rounds=1)]
    ours, peers = judged(postern, cases)
    compare(cases, ours, peers, [])
    refused = [(case.name, verdict.reason) for case, verdict in zip(cases, ours) if not verdict.is_valid]
    assert len(cases) > 300 and not refused


def test_mutants_are_judged_alike(postern: Postern):
    """Bits, encodings, headers, ephemeral keys, iteration counts, tags and keys, over every alg."""
    source = random.Random(4)
    good = list(jwe_cases.genuine(source, rounds=1))
    cases = list(jwe_cases.crafted())
    cases += [mutant for good in source.sample(good, 56) for mutant in jwe_cases.mutants(source, *good)]
    ours, peers = judged(postern, cases)
    assert len(cases) > 2500
    needs_all(compare(cases, ours, peers, divergences.JWE), divergences.JWE)
    accepted = {case.name.split()[0] for case, verdict in zip(cases, ours) if verdict.is_valid}
    harmless = {
        "header-spaces",
        "header-order",
        "header-escape",
        "header-private",
        "header-jku",
        "key-alg-same",
        "key-use-enc",
        "p2c-1000",
        "p2c-10000",
    }
    assert accepted == harmless
