"""`store.kind: redis` with a server that answers reads and rejects writes: full, without its replicas, or a replica
itself."""
from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from harness import expect
from harness.playground import Playground
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually
from test_session_store import fetch_status, login, redis, redis_store, settings  # noqa: F401

Start = Callable[..., Sidecar]


def command(url: str, *words: str) -> None:
    port = url.rpartition(":")[2].partition("/")[0]
    done = subprocess.run(
        ["redis-cli", "-h", "127.0.0.1", "-p", port, "--no-auth-warning", "-a", "pw", *words],
        capture_output=True, text=True, timeout=10, check=True)
    assert done.stdout.strip() == "OK", done.stdout


REJECTIONS = {
    "OOM": (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
    "NOREPLICAS": (("CONFIG", "SET", "min-replicas-to-write", "1"), ("CONFIG", "SET", "min-replicas-to-write", "0")),
    "READONLY": (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
}


@needs_root
@pytest.mark.parametrize("code", REJECTIONS)
def test_writes_that_a_redis_rejects_keep_no_other_user_from_reading(
    start: Start, settings: Dict[str, Any], redis: str, playground: Playground, directory: Path, code: str  # noqa: F811
) -> None:
    begin, end = REJECTIONS[code]
    sidecar = start({**settings, **BOTH, "store": redis_store(settings, redis, directory)})
    open_to_all(directory)
    with connect_as(BOB, sidecar) as bob, connect_as(ALICE, sidecar) as alice:
        session = login(bob, playground)
        grant = {"issuer": "shop", "grant": {"type": "tokens", "accessToken": "a"}}
        alice.call("createSession", grant)
        command(redis, *begin)
        told = []
        # For longer than a session that was read is remembered where processes share the store.
        until = time.monotonic() + 5
        while time.monotonic() < until:
            told.append(expect.fault(alice.error("createSession", grant), 5008))
            assert fetch_status(bob, session) == 200
            assert [one["session"] for one in bob.call("listSessions")["sessions"]] == [session]
        assert all(data["retryable"] is True for data in told)
        command(redis, *end)
        eventually(lambda: "result" in alice.answer_to(alice.request("createSession", grant)), what="a write")
        assert bob.call("refreshSession", {"session": session})["session"] == session
