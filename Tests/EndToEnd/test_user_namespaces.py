"""A sidecar in a user namespace that does not map all of its callers: they look like one user."""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from harness import expect
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, BOTH, as_user, needs_root, open_to_all

Start = Callable[..., Sidecar]
#: A group that the namespace below maps; the users in it are not mapped.
GROUP = 3000

#: Runs a program as root of a user namespace with one user and two groups, as a runtime without root's rights makes
#: one.
LAUNCHER = f"""
import ctypes, os, signal, sys
(asks, ask), (told, tell) = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    ctypes.CDLL(None).unshare(0x10000000)
    os.write(ask, b"x"); os.read(told, 1)
    os.setgid(0); os.setuid(0)
    os.execv(sys.argv[1], sys.argv[1:])
os.read(asks, 1)
open(f"/proc/{{child}}/uid_map", "w").write("0 0 1\\n1 100000 65536\\n")
open(f"/proc/{{child}}/gid_map", "w").write("0 0 1\\n{GROUP} {GROUP} 1\\n")
os.write(tell, b"x")
signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

PEERS: List[Dict[str, Any]] = [
    {"uid": 0, "methods": ["*"]}, {"gid": GROUP, "methods": ["*"]}, {"gid": 65534, "methods": ["*"]}]


def namespaces_work() -> bool:
    return os.getuid() == 0 and subprocess.run(["unshare", "-U", "-r", "true"], capture_output=True).returncode == 0


@pytest.fixture
def launcher(directory: Path) -> List[str]:
    if not namespaces_work():
        pytest.skip("no user namespaces here")
    path = directory / "launcher.py"
    path.write_text(LAUNCHER)
    return [sys.executable, str(path)]


def test_users_whom_the_namespace_does_not_map_are_rejected_and_share_nothing(
    start: Start, launcher: List[str]
) -> None:
    sidecar = start({**BOTH, "peers": PEERS}, launcher=launcher)
    open_to_all(sidecar.directory)
    with sidecar.connect() as own:
        assert own.works()
    grant = {"type": "tokens", "accessToken": "alices", "expiresIn": 600}
    groups = os.getgroups()
    os.setgroups([GROUP])
    try:
        for user in (ALICE, BOB):
            with as_user(user, sidecar.connect) as connection:
                expect.fault(connection.error("createSession", {"issuer": "play", "grant": grant}), -32020)
                expect.fault(connection.error("listSessions"), -32020)
    finally:
        os.setgroups(groups)
    sidecar.awaits_log("does not map its uid")
    assert sidecar.log().count("does not map its uid") == 1
    assert sidecar.log().count("matches no user") == 1


@needs_root
def test_where_all_users_are_mapped_nobody_is_a_user_like_others(start: Start) -> None:
    if Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]:
        pytest.skip("this is a user namespace itself")
    sidecar = start({**BOTH, "peers": [*BOTH["peers"], {"uid": 65534, "methods": ["*"]}]})
    open_to_all(sidecar.directory)
    with as_user(65534, sidecar.connect) as connection:
        assert connection.works()
    assert "matches no user" not in sidecar.log()
