"""Answers that nobody reads: what one user can make the sidecar keep, and what another one notices of it."""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Callable, List

import pytest

from harness.connection import Connection
from harness.sidecar import Sidecar
from harness.waiting import eventually
from test_caller_limits import connect_as, open_directory  # noqa: F401
from test_message_cost import peak_kilobytes, reset_peak

#: What may wait for one user, and what its copies and holes in the heap may come to when very many answers are made at
#: once.
ALLOWED = (64 + 192) * 1024


@pytest.mark.skipif(os.getuid() != 0, reason="needs to be other users")
@pytest.mark.parametrize("in_batches", [False, True], ids=["one by one", "in batches"])
def test_one_users_unread_answers_are_bounded_over_all_his_connections(
    start: Callable[..., Sidecar], open_directory: Path, in_batches: bool  # noqa: F811
) -> None:
    sidecar = start(
        {
            "listen": {"path": str(open_directory / "postern.sock"), "mode": "0666"},
            "peers": [{"uid": 2001, "methods": ["*"]}, {"uid": 2002, "methods": ["*"]}],
        }
    )
    hoard: List[Connection] = []
    with connect_as(2002, sidecar) as other:
        size = len(str(other.call("rpc.discover")))
        # Four times as much as allowed, by nothing but asking.
        connections = 4 * ALLOWED * 1024 // (32 * size)
        idle = sidecar.resident_kilobytes()
        floor = reset_peak(sidecar)
        try:
            for _ in range(min(connections, 250)):
                hoard.append(connect_as(2001, sidecar))
                calls = [{"jsonrpc": "2.0", "id": number, "method": "rpc.discover"} for number in range(32)]
                if in_batches:
                    hoard[-1].send(calls)
                else:
                    hoard[-1].send_bytes(b"".join(hoard[-1].frame(json.dumps(call)) for call in calls))
                if len(hoard) % 10 == 0:
                    assert other.works()
            assert other.works()
            # The same user still gets answers where he reads them.
            with connect_as(2001, sidecar) as reader:
                assert reader.works()
                assert reader.call("rpc.discover")["openrpc"]
            # One by one the sidecar stops reading in time; a batch's answers come all at once, and connections have to
            # go, which may be after others have been answered: the batches are still being worked on.
            if in_batches:
                sidecar.awaits_log("overflow")
            else:
                assert "overflow" not in sidecar.log()
            assert peak_kilobytes(sidecar) - floor < ALLOWED
        finally:
            for connection in hoard:
                connection.close()
        eventually(lambda: sidecar.resident_kilobytes() - idle < 32 * 1024, what="memory that goes back")
