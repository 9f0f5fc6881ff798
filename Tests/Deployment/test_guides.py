"""The guides' container examples: the Compose file and the configuration fit together and admit the right users."""
from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest
import yaml

from harness import settings
from harness.playground import Playground
from harness.sidecar import Sidecar

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ["python.md", "node.md"]
UID = 10001

# Asks one thing as another user: prints the answer's error, or that of connecting, or nothing.
CALLER = """
import json, socket, sys
with socket.socket(socket.AF_UNIX) as connection:
    try:
        connection.connect(sys.argv[1])
    except PermissionError:
        sys.exit(print("permission denied"))
    connection.sendall(b'{"jsonrpc":"2.0","id":1,"method":"%s"}\\n' % sys.argv[2].encode())
    print(json.loads(connection.makefile().readline()).get("error", {}).get("data", {}).get("reason", "result"))
"""


def shown(guide: str) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The Compose file and the configuration below "In a container"."""
    text = (ROOT / "proto-docs" / guide).read_text(encoding="utf-8").split("## In a container")[1]
    compose, configuration = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return yaml.safe_load(compose), yaml.safe_load(configuration)


@pytest.mark.parametrize("guide", GUIDES)
def test_both_files_fit_together(guide: str) -> None:
    """Catches a sidecar that may not give its socket to the group, an application outside of it, missing secrets."""
    compose, configuration = shown(guide)
    sidecar, application = compose["services"]["postern"], compose["services"]["app"]
    group = configuration["listen"]["group"]
    assert configuration["listen"]["mode"] == "0660"
    assert group in sidecar["group_add"] and group in application["group_add"]
    assert f"gid={group}" in compose["volumes"]["socket"]["driver_opts"]["o"]
    assert "./secrets:/run/secrets:ro" in sidecar["volumes"]
    assert {"socket:/run/postern", "./postern.yaml:/etc/postern/postern.yaml:ro"} <= set(sidecar["volumes"])
    assert application["volumes"] == ["socket:/run/postern:ro"]
    assert configuration["listen"]["path"] == application["environment"]["POSTERN_SOCKET"]
    uid = int(application["user"].split(":")[0])
    assert {rule["uid"] for rule in configuration["peers"]} == {UID, uid}
    assert shown(guide) == shown(GUIDES[0])


@pytest.fixture
def contained(directory: Path, playground: Playground) -> Iterator[Sidecar]:
    """The sidecar as the guide's container has it: its uid, the group, and the directory that the volume is."""
    if os.geteuid() != 0:
        pytest.skip("other users need root")
    compose, configuration = shown(GUIDES[0])
    volume = directory / "socket"
    volume.mkdir()
    options = dict(option.split("=") for option in compose["volumes"]["socket"]["driver_opts"]["o"].split(","))
    os.chown(volume, int(options["uid"]), int(options["gid"]))
    volume.chmod(int(options["mode"], 8))
    directory.chmod(0o755)
    whole = settings.changed(settings.standard(directory, playground), {**configuration, "issuers": None, "resources": None})
    whole["resources"] = {"open": {"baseUrl": playground.base + "/open/", "auth": "none"}}
    whole["listen"]["path"] = str(volume / "postern.sock")
    running = Sidecar(directory, whole, launcher=as_user(UID, compose["services"]["postern"]["group_add"]))
    yield running
    running.stop()


def as_user(uid: int, groups: List[str]) -> List[str]:
    chosen = f"--groups={','.join(groups)}" if groups else "--clear-groups"
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", chosen, "--"]


def asked(sidecar: Sidecar, uid: int, groups: List[str], method: str) -> str:
    command = [*as_user(uid, groups), "/usr/bin/python3", "-c", CALLER, sidecar.path, method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd="/")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_application_gets_in_and_nobody_else(contained: Sidecar) -> None:
    assert asked(contained, 10002, ["3000"], "getInfo") == "result"
    assert asked(contained, 10002, ["3000"], "metrics") == "peer_forbidden"
    assert asked(contained, UID, ["3000"], "health") == "result"
    assert asked(contained, 10003, ["3000"], "getInfo") == "peer_forbidden"
    assert asked(contained, 10002, [], "getInfo") == "permission denied"


def test_the_image_is_loaded_by_the_name_that_is_run() -> None:
    """Catches `docker run postern` after a `docker load` of an image with another name."""
    script = (ROOT / "deploy" / "container" / "build.sh").read_text(encoding="utf-8")
    [name] = re.findall(r"docker-archive:\S+\.tar:(\S+):latest", script)
    page = (ROOT / "proto-docs" / "deployment.md").read_text(encoding="utf-8")
    assert f"$ docker tag {name} postern\n" in page
    assert re.search(r"^\$ docker run (.*\\\n)*.* postern$", page, re.MULTILINE)
    assert shown(GUIDES[0])[0]["services"]["postern"]["image"] == "postern"
