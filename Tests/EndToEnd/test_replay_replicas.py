"""One DPoP proof, shown to two replicas with one Redis at the same moment, ten thousand times."""
from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from harness.quick_signing import QuickKey
from harness.replays import outcomes
from harness.sidecar import Sidecar
from test_session_store import redis, redis_store  # noqa: F401
from test_validate_request import Client, client, request, settings  # noqa: F401

PAIRS = 10_000
#: How old a proof may be: all of them are made before the first one is shown.
PAST = 300


# Would catch: a proof that two replicas accept because each looked before the other had recorded it, or that none
# accepts; and a `jti` that is used up for another key.
@pytest.mark.slow
def test_one_of_two_replicas_accepts_a_proof(
    start: Callable[..., Sidecar], settings: Dict[str, Any], client: Client, redis: str, directory: Path  # noqa: F811
) -> None:
    store = redis_store({"store": {"keyFile": str(directory / "store-key")}}, redis, directory)
    settings["issuers"]["corp"]["dpop"] = {"past": f"{PAST}s"}
    replicas = [start({**settings, "store": store, "listen": {"path": str(directory / f"{n}.sock")}}) for n in range(2)]
    other = Client(client.issuer, client.signer)
    requests = []
    for one in (client, other):
        one.key, token = QuickKey(one.key), one.token(bound=True)
        proofs = (one.proof(token, jti=f"jti-{number}") for number in range(PAIRS // 2))
        requests += [request(f"DPoP {token}", proof) for proof in proofs]
    begin = time.monotonic()
    found = outcomes([replica.path for replica in replicas], requests)
    assert time.monotonic() - begin < PAST, "the machine is too slow: proofs have become too old"
    wrong = {number: pair for number, pair in enumerate(found) if sum(pair) != 1}
    assert not wrong, f"{len(wrong)} of {PAIRS} pairs, such as {list(wrong.items())[:5]}"
    # Both replicas were the first one often enough for the result to mean anything.
    assert min(sum(pair[replica] for pair in found) for replica in range(2)) > PAIRS // 100
