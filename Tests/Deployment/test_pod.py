"""A pod without Kubernetes: the manifest's volumes, users and probes, each container in a PID namespace of its own."""
from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest

from harness.browser import announce_login, callback_of
from harness.playground import Playground
from harness.waiting import eventually
from machines import container
from machines.pair import APPLICATION, SECRETS, SHARED, USER, Deployment
from test_kubernetes import manifests, sidecar, yaml

SLOW = {"resource": "billing", "path": "slow", "parameters": {"ms": 20_000}}
REDIRECT = "http://127.0.0.1:8765/callback"
TESTER = 30001
PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def pod(place: Path, image: Dict[str, Any], playground: Playground) -> Iterator[Deployment]:
    """`listen`, `peers` and `store` are those of the manifest; issuer and resource are the playground's."""
    example = yaml.safe_load(manifests()["ConfigMap"]["data"]["postern.yaml"])
    resources = {
        "billing": {"baseUrl": playground.base + "/open/", "auth": "none"},
        "other": {"baseUrl": playground.base + "/open/", "auth": "none"},
    }
    kept = {name: example[name] for name in ["listen", "peers", "store"]}
    kept["peers"] = [{"uid": TESTER, "methods": ["*"]}, *kept["peers"]]
    running = Deployment(place, image, playground, kubelet=True, changes={**kept, "resources": resources})
    yield running
    container.end(running.process)


def test_the_socket_is_the_groups_in_a_directory_of_the_sidecars_making(pod: Deployment) -> None:
    assert stat.S_IMODE(pod.shared.stat().st_mode) == 0o2777
    # Below it is one of the sidecar's making, for the group alone.
    own = (pod.shared / "shared").stat()
    assert (own.st_uid, own.st_gid, stat.S_IMODE(own.st_mode)) == (USER, SHARED, 0o2770)
    status = (pod.shared / "shared" / "postern.sock").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (USER, SHARED, 0o660)


@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_the_probes_of_the_manifest_succeed(pod: Deployment, probe: str) -> None:
    status, said = pod.sidecar.run(*sidecar()[probe]["exec"]["command"])
    assert (status, said) == (0, "")


def test_the_application_of_another_user_may_do_what_its_rule_says(pod: Deployment) -> None:
    assert pod.call("fetchResource", resource="billing", path="hello")["result"]["status"] in (200, 404)
    assert pod.call("reloadConfig")["error"]["data"]["reason"] == "peer_forbidden"
    # What its rule does not show does not exist for it.
    assert pod.call("fetchResource", resource="other", path="hello")["error"]["data"]["reason"] == "invalid_params"


def test_a_third_user_of_the_group_connects_and_may_do_nothing(pod: Deployment) -> None:
    other = pod.caller(20002, [SHARED])
    assert pod.call("getInfo", caller=other)["error"]["data"]["reason"] == "peer_forbidden"


@pytest.mark.parametrize("uid", [20002, APPLICATION])
def test_without_the_group_nobody_connects(pod: Deployment, uid: int) -> None:
    stranger = pod.caller(uid, [])
    status, said = stranger.run(PYTHON, "/tests/caller.py", pod.socket, "getInfo", "{}")
    assert (status, said.strip()) == (1, "PermissionError")


def test_the_application_cannot_replace_the_socket_though_all_may_write_the_directory(pod: Deployment) -> None:
    status, said = pod.application.run(PYTHON, "-c", f"import os; os.rename({pod.socket!r}, '/run/postern/shared/mine')")
    assert status == 1 and "Read-only file system" in said


def test_the_application_cannot_read_the_secrets(pod: Deployment) -> None:
    assert pod.sidecar.run("/usr/bin/postern", "check-config", "--config", "/etc/postern/postern.yaml")[0] == 0
    status, said = pod.application.run(PYTHON, "-c", f"open('{SECRETS}/shop')")
    assert status == 1 and "No such file" in said


def test_sessions_are_kept_below_a_directory_that_all_may_write(pod: Deployment, playground: Playground) -> None:
    tester = pod.caller(TESTER, [SHARED])
    announce_login(playground)
    begun = pod.call("beginAuthorization", caller=tester, issuer="shop", redirectUri=REDIRECT)
    assert "result" in begun, begun
    assert "session" in pod.call("completeAuthorization", caller=tester, **callback_of(begun["result"]))["result"]
    assert (pod.state / "store").stat().st_mode & 0o777 == 0o700


# MARK: callers whose process id cannot be seen

# What stands in for the sidecar, to see what the kernel tells it: the id, and that the process has ended.
OBSERVER = """
import os, select, socket, struct
SO_PEERPIDFD = 77
with socket.socket(socket.AF_UNIX) as listener:
    os.umask(0o007)
    listener.bind("/run/postern/observer.sock")
    listener.listen()
    print("listening", flush=True)
    peer, _ = listener.accept()
    pid, uid, gid = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    print(pid, uid, flush=True)
    watched = struct.unpack("i", peer.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD, 4))[0]
    alive = not select.select([watched], [], [], 0)[0]
    print("alive" if alive else "gone", flush=True)
    print("gone" if select.select([watched], [], [], 30)[0] else "still there", flush=True)
"""


def test_the_kernel_tells_of_a_callers_end_though_its_pid_reads_0(pod: Deployment) -> None:
    (pod.shared / "observer.py").write_text(OBSERVER)
    root = pod.caller(USER, [SHARED])
    root.specification["mounts"][-1] = (str(pod.shared), "/run/postern", "nosuid,nodev,noexec")
    observer = root.start(PYTHON, "/run/postern/observer.py")
    assert observer.stdout is not None
    caller = None
    try:
        assert observer.stdout.readline().strip() == b"listening"
        caller = pod.application.start(PYTHON, "/tests/caller.py", "/run/postern/observer.sock", "HOLD", "getInfo", "{}")
        assert observer.stdout.readline().split() == [b"0", str(APPLICATION).encode()]
        said = observer.stdout.readline().strip()
        if said != b"alive":
            pytest.skip("this kernel has no SO_PEERPIDFD (Linux 6.5)")
        os.kill(container.inner(caller), signal.SIGKILL)
        assert observer.stdout.readline().strip() == b"gone"
    finally:
        for process in [observer, caller]:
            if process is not None:
                process.kill()
                process.wait(10)


def test_what_a_killed_caller_waited_for_is_given_up(pod: Deployment, playground: Playground) -> None:
    playground.reset()
    caller = pod.application.start(PYTHON, "/tests/caller.py", pod.socket, "HOLD", "fetchResource", json.dumps(SLOW))
    try:
        eventually(lambda: playground.statistics()["openRequests"] == 1)
        os.kill(container.inner(caller), signal.SIGKILL)
        eventually(lambda: playground.statistics()["abandonedRequests"] == 1)
    finally:
        caller.kill()
        caller.wait(10)


# MARK: the end


def test_a_request_that_is_pending_when_the_pod_ends_is_answered(pod: Deployment, playground: Playground) -> None:
    playground.reset()
    params = json.dumps({**SLOW, "parameters": {"ms": 1500}})
    caller = pod.application.start(PYTHON, "/tests/caller.py", pod.socket, "fetchResource", params)
    eventually(lambda: playground.statistics()["openRequests"] == 1)
    began = time.monotonic()
    assert container.end(pod.process) == 0
    assert time.monotonic() - began < manifests()["Deployment"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    said, _ = caller.communicate(timeout=20)
    assert json.loads(said)["result"]["status"] == 200
    status, _ = pod.sidecar.run(*sidecar()["livenessProbe"]["exec"]["command"])
    assert status == 1
