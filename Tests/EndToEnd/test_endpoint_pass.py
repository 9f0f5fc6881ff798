"""Adobe Pass through endpoints that are bound to sessions: its logins are of no session."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Tuple

import pytest

from harness import expect
from harness.endpoints import Endpoint
from harness.playground import Playground
from harness.sidecar import Sidecar
from test_pass import LOGIN, MVPD, adobe, begin, call, counts, error, log_in
from test_preauthorize import permits

__all__ = ["adobe", "begin"]

#: Each with params that a caller without bounds would get a result for.
CALLS: List[Tuple[str, Dict[str, Any]]] = [
    ("createSession", LOGIN), ("resumeSession", {"code": "ABCDEF", **LOGIN}), ("getSession", {"code": "ABCDEF"}),
    ("listProfiles", {}), ("authorize", {"resources": ["news"]}), ("logout", {"mvpd": MVPD}),
]


@pytest.mark.parametrize("sessions", [[], ["A" * 43]], ids=["none", "another"])
def test_a_child_with_sessions_decides_nothing_by_the_users_login(
    begin: Callable[..., Sidecar], adobe: Playground, sessions: List[str]
) -> None:
    """Catches a child that has none of its maker's sessions, and watches television by its maker's login."""
    with begin().connect() as maker:
        log_in(maker, adobe)
        assert permits(maker.call("preauthorize", {"provider": "tv", "resources": ["news"]})) == [True]
        before = counts(adobe)
        with Endpoint(maker, sessions=sessions).connect() as child:
            for method, params in CALLS:
                expect.fault(error(child, method, **params), -32020)
            result = child.call("preauthorize", {"provider": "tv", "resources": ["news"]})
            assert result["status"]["code"] == "authentication_session_missing" and result["decisions"] == []
            # Neither from memory nor anew.
            result = child.call("preauthorize", {"provider": "tv", "resources": ["sports"]})
            assert result["decisions"] == []
            expect.fault(child.error("invalidateDecisions", {"provider": "tv"}), -32020)
        assert counts(adobe) == before
        # The maker's own decisions are as they were.
        assert permits(maker.call("preauthorize", {"provider": "tv", "resources": ["news"]})) == [True]


def test_methods_that_are_named_are_the_makers_decision(begin: Callable[..., Sidecar], adobe: Playground) -> None:
    """With its name in `methods` a call is available in spite of the list, a decision of `preauthorize` is not."""
    with begin().connect() as maker:
        log_in(maker, adobe)
        with Endpoint(maker, sessions=[], methods=["pass.authorize", "preauthorize"]).connect() as child:
            assert permits(call(child, "authorize", resources=["news"])) == [True]
            assert child.call("preauthorize", {"provider": "tv", "resources": ["news"]})["decisions"] == []
            expect.fault(error(child, "listProfiles"), -32020)
            with Endpoint(maker, resources=[]).connect() as other:
                expect.fault(error(other, "authorize", resources=["news"]), -32020)
                assert permits(other.call("preauthorize", {"provider": "tv", "resources": ["news"]})) == [True]
