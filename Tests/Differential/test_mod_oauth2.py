"""Requests with tokens: what Debian's mod_oauth2 rejects is rejected here; where they differ, an RFC decides."""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterator, List, Tuple

import pytest

from harness.issuer import IssuerDouble

import judges
import validation_cases
from comparison import compare, needs_all
from resource_servers import IS_INSTALLED, Apache, Certificate, ValidateRequest
from starting import sidecar_in
from validation_cases import ALGORITHMS, KEY_SET
from validation_divergences import REQUESTS

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="needs apache2 and libapache2-mod-oauth2")


@pytest.fixture(scope="module")
def issuer() -> Iterator[IssuerDouble]:
    made = IssuerDouble()
    made.serve_keys(KEY_SET)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def certificates(directory: Path) -> Dict[str, Certificate]:
    return {name: Certificate(directory, name) for name in "AB"}


@pytest.fixture(scope="module")
def apache(directory: Path, issuer: IssuerDouble, certificates: Dict[str, Certificate]) -> Iterator[Apache]:
    made = Apache(directory, issuer.base, certificates)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def postern(
    directory: Path, issuer: IssuerDouble, certificates: Dict[str, Certificate]
) -> Iterator[ValidateRequest]:
    corp = {
        "issuer": issuer.base, "idToken": {"algorithms": ALGORITHMS, "clockSkew": "5s"},
        "dpop": {"past": "60s", "future": "5s"},
    }
    with sidecar_in(directory / "postern", issuers={"corp": corp}) as sidecar:
        with sidecar.connect(timeout=60) as connection:
            yield ValidateRequest(connection, certificates)


Judged = Tuple[List[judges.Case], List[judges.Verdict], List[judges.Verdict]]


@pytest.fixture(scope="module")
def judged(
    apache: Apache, postern: ValidateRequest, issuer: IssuerDouble, certificates: Dict[str, Certificate]
) -> Judged:
    """The cases, the verdicts of the sidecar, those of mod_oauth2."""
    cases, ours, theirs = [], [], []
    for family in validation_cases.families(issuer.base, {name: each.der for name, each in certificates.items()}):
        theirs += [apache.judge(case) for case in family]
        ours += [postern.judge(case) for case in family]
        cases += [
            judges.Case(f"{case.kind} {case.name}", f"{case.method} {case.target} {case.fields}", {}) for case in family
        ]
    return cases, ours, theirs


def test_requests_are_judged_alike(judged: Judged) -> None:
    """Would catch a check of RFC 6750, 8705, 9068 or 9449 that is missing here, or that no RFC has."""
    cases, ours, theirs = judged
    assert len(cases) >= 900
    for name, verdicts in {"mod_oauth2": theirs, "postern": ours}.items():
        accepted = sum(verdict.is_valid for verdict in verdicts)
        assert 200 < accepted < len(cases) - 400, f"{accepted} of {len(cases)} accepted by {name}"
    needs_all(compare(cases, ours, {"mod_oauth2": theirs}, REQUESTS), REQUESTS)


def test_a_missing_check_would_be_seen(judged: Judged) -> None:
    """Would catch reasons that are so wide that they explain what has no reason: mod_oauth2's verdicts need others."""
    cases, ours, theirs = judged
    with pytest.raises(AssertionError, match="accepted against a peer"):
        compare(cases, theirs, {"postern": ours}, REQUESTS)
    # The reasons for what is accepted here name what they are for, and no more.
    accepted = [(case, mine) for case, mine, other in zip(cases, ours, theirs) if mine.is_valid and not other.is_valid]
    assert len(accepted) < 40, [case.name for case, _ in accepted]
