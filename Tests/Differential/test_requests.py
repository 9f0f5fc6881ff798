"""What the gateway forwards, nginx and haproxy read in the same way; behind what it rejects nothing is read at all."""

from __future__ import annotations

import os
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence

import pytest

import request_readers
from request_cases import FOLLOWING, RequestCase, cases
from request_divergences import REQUESTS
from request_readers import HAPROXY, NGINX, Outcome, Reader, Seen, Upstream
from starting import gateway_in, proxy_in

#: How long nothing may come before something counts as unfinished on the second try, which decides, in seconds.
PATIENCE = 1.5

pytestmark = pytest.mark.skipif(not (NGINX and HAPROXY), reason="needs nginx and haproxy")


@pytest.fixture(scope="module")
def gateway(directory: Path) -> Iterator[Reader]:
    upstream = Upstream()
    try:
        with gateway_in(directory / "gateway", upstream.port) as connect:
            yield Reader("gateway", upstream, connect)
    finally:
        upstream.stop()


@pytest.fixture(scope="module")
def peers(directory: Path) -> Iterator[List[Reader]]:
    made = []
    with ExitStack() as stack:
        for start in [request_readers.nginx, request_readers.haproxy]:
            upstream = Upstream()
            stack.callback(upstream.stop)
            connect = stack.enter_context(proxy_in(directory / start.__name__, start, upstream))
            made.append(Reader(start.__name__, upstream, connect))
        yield made


def outcomes(readers: Sequence[Reader], chosen: List[RequestCase], piecemeal: bool) -> Dict[str, List[Outcome]]:
    """What each reader makes of the cases, each followed by a good request on the same connection."""

    def read(reader: Reader) -> List[Outcome]:
        found = []
        for case in chosen:
            data = case.data + FOLLOWING.encode()
            outcome = reader.outcome(data, piecemeal)
            if not outcome.is_closed:
                outcome = reader.outcome(data, piecemeal, PATIENCE)
            found.append(outcome)
        return found

    with ThreadPoolExecutor(len(readers)) as pool:
        return dict(zip([reader.name for reader in readers], pool.map(read, readers)))


#: A request that the gateway answers by itself: it was read, and went no further.
Reading = List[Optional[Seen]]


def reading(ours: Outcome) -> Reading:
    """The requests that the gateway has read; without the last one where that is what it rejects."""
    forwarded = iter(ours.seen)
    accepted = ours.statuses[:-1] if is_rejection(ours) else ours.statuses
    return [next(forwarded, None) if status == 200 else None for status in accepted]


def is_rejection(ours: Outcome) -> bool:
    return bool(ours.statuses) and ours.statuses[-1] >= 400


def agrees(ours: Outcome, theirs: Outcome) -> bool:
    """Whether a peer has read the same requests, and more of them only where the gateway rejects the next one."""
    own = reading(ours)
    if len(theirs.seen) < len(own) or len(theirs.seen) > len(own) and not is_rejection(ours):
        return False
    return all(mine in (None, other) for mine, other in zip(own, theirs.seen))


def faults_of(case: RequestCase, ours: Outcome, theirs: Dict[str, Outcome], used: Counter) -> List[str]:
    """What is wrong with the gateway's reading of a case."""
    described = f"{case.name}: {case.data[:300]!r}\n  gateway {ours}" + "".join(
        f"\n  {name} {outcome}" for name, outcome in theirs.items())
    faults = []
    if ours.faults:
        faults.append(f"the server could not read what came: {described}")
    if is_rejection(ours) and not ours.is_closed:
        faults.append(f"the connection goes on behind a rejection: {described}")
    if is_rejection(ours) and len(ours.seen) != sum(status == 200 for status in ours.statuses):
        faults.append(f"a rejected request reached the server: {described}")
    if case.is_valid and (is_rejection(ours) or not ours.seen):
        faults.append(f"a valid request was rejected: {described}")
    if not reading(ours):
        return faults if not ours.seen else faults + [f"forwarded without a response: {described}"]
    for name, outcome in theirs.items():
        if agrees(ours, outcome):
            continue
        reason = next((each for each in REQUESTS if each.peer == name and re.match(each.pattern, case.name)), None)
        if reason is None:
            faults.append(f"{name} reads it otherwise: {described}")
        else:
            used[reason] += 1
    return faults


def compare(found: Dict[str, List[Outcome]], chosen: List[RequestCase]) -> Counter:
    """Fails with every case that is forwarded though a peer reads it otherwise; returns which reasons were needed."""
    used: Counter = Counter()
    faults = [
        fault
        for index, case in enumerate(chosen)
        for fault in faults_of(
            case, found["gateway"][index],
            {name: each[index] for name, each in found.items() if name != "gateway"}, used)
    ]
    assert not faults, f"{len(faults)} faults in {len(chosen)} cases\n" + "\n".join(faults[:20])
    return used


def test_what_is_forwarded_has_one_reading(gateway: Reader, peers: List[Reader]):
    """Would catch a request that passes the gateway and that another server frames, names or routes differently."""
    chosen = cases()
    found = outcomes([gateway, *peers], chosen, piecemeal=False)
    used = compare(found, chosen)
    rejected = sum(is_rejection(outcome) for outcome in found["gateway"])
    assert rejected >= 400, f"only {rejected} of {len(chosen)} cases were rejected: they are not malformed"
    disputed = sum(first.seen != second.seen for first, second in zip(found["nginx"], found["haproxy"]))
    assert disputed >= 150, f"the peers differ on {disputed} cases only: the cases find too little"
    stale = [each for each in REQUESTS if not used[each]]
    assert not stale, f"stated divergences that did not occur: {stale}"


def test_the_reading_does_not_depend_on_the_pieces(gateway: Reader, peers: List[Reader]):
    """Would catch a parser whose verdict depends on where a read ends, such as between CR and LF."""
    chosen = [case for case in cases() if len(case.data) < 1_000][:: int(os.environ.get("POSTERN_SAMPLE", "4"))]
    found = outcomes([gateway, *peers], chosen, piecemeal=True)
    compare(found, chosen)
    whole = outcomes([gateway], chosen, piecemeal=False)["gateway"]
    differing = [
        (case.name, pieces, one)
        for case, pieces, one in zip(chosen, found["gateway"], whole)
        if (pieces.seen, pieces.statuses, pieces.is_closed) != (one.seen, one.statuses, one.is_closed)
    ]
    assert not differing, differing[:10]


def test_a_peer_would_be_caught(peers: List[Reader]):
    """Would catch a comparison that finds nothing: haproxy in the gateway's part fails it."""
    chosen = [case for case in cases() if case.name.startswith(("name-", "ending-", "coding-"))]
    found = outcomes(peers, chosen, piecemeal=False)
    with pytest.raises(AssertionError, match="reads it otherwise"):
        compare({"gateway": found["haproxy"], "nginx": found["nginx"]}, chosen)
