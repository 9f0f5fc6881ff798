"""What must be true of three verdicts on one token."""

from __future__ import annotations

import re
from collections import Counter
from typing import Dict, List, NamedTuple

from judges import Case, Verdict


class Divergence(NamedTuple):
    """Cases that Postern judges otherwise than a peer, and why that is right."""

    #: The names of the cases.
    pattern: str
    #: What Postern answers; `accepted` where it is a peer that refuses.
    code: str
    reason: str


def compare(
    cases: List[Case], postern: List[Verdict], peers: Dict[str, List[Verdict]], divergences: List[Divergence]
) -> Counter:
    """Fails with every case that is judged differently for no stated reason; returns how often each reason was needed.

    Postern may be stricter, or skip what makes a peer fail, where that is stated. It may never read other content.
    """
    assert len(cases) == len(postern) and all(len(verdicts) == len(cases) for verdicts in peers.values())
    faults: List[str] = []
    used: Counter = Counter()
    for index, case in enumerate(cases):
        ours = postern[index]
        theirs = {name: verdicts[index] for name, verdicts in peers.items()}
        accepting = [name for name, verdict in theirs.items() if verdict.is_valid]
        described = f"{case.name}: postern {ours} peers {theirs}\n  {case.token[:3000]!r}\n  {case.key}"
        contents = {verdict.content for verdict in [ours, *theirs.values()] if verdict.is_valid}
        if len(contents) > 1 or (ours.is_valid and case.content is not None and ours.content != case.content):
            faults.append(f"other content: {described}")
        if len(accepting) == (len(theirs) if ours.is_valid else 0):
            continue
        reason = next((each for each in divergences if applies(each, case, ours)), None)
        if reason is None:
            faults.append(f"{'accepted' if ours.is_valid else 'refused'} against a peer: {described}")
        else:
            used[reason.pattern] += 1
    assert not faults, f"{len(faults)} of {len(cases)} cases\n" + "\n".join(faults[:10])
    return used


def applies(divergence: Divergence, case: Case, ours: Verdict) -> bool:
    code = "accepted" if ours.is_valid else ours.reason.partition(":")[0]
    return code == divergence.code and re.match(divergence.pattern, case.name) is not None


def needs_all(used: Counter, divergences: List[Divergence]) -> None:
    """A reason that is never needed is stale: the peers have become stricter, or the case is gone."""
    stale = [each.pattern for each in divergences if not used[each.pattern]]
    assert not stale, f"stated divergences that did not occur: {stale}"
