"""The units as files: they are well-formed, locked down, and say what the guide says."""
from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from machines.files import DEPLOY, needs, needs_root, postern

SYSTEMD = DEPLOY / "systemd"


@pytest.mark.parametrize("folder", ["", "user"])
def test_systemd_finds_no_fault_in_the_units(folder: str, directory: Path) -> None:
    needs("systemd-analyze")
    names = ["postern.service", "postern.socket", "postern-gateway.socket"]
    for name in names:
        text = (SYSTEMD / folder / name).read_text()
        (directory / name).write_text(text.replace("/usr/bin/postern", postern()))
    manager = ["--user"] if folder else ["--system"]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *manager, *[str(directory / name) for name in names]],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(directory)})
    complaints = [line for line in done.stdout.decode().splitlines() if "postern" in line]
    assert (done.returncode, complaints) == (0, [])


def test_the_service_is_locked_down_as_far_as_systemd_can() -> None:
    needs("systemd-analyze")
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=15", "--no-pager", str(SYSTEMD / "postern.service")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()
    score = re.search(r"exposure level for postern\.service: ([\d.]+)", done.stdout.decode())
    assert score and float(score.group(1)) <= 1.5


def test_the_group_is_made_and_is_not_the_services_user(directory: Path) -> None:
    needs("systemd-sysusers")
    needs_root("write the files of another root")
    (directory / "etc").mkdir()
    subprocess.run(
        ["systemd-sysusers", f"--root={directory}", str(SYSTEMD / "postern.sysusers")], check=True, capture_output=True)
    groups = (directory / "etc" / "group").read_text()
    socket = (SYSTEMD / "postern.socket").read_text()
    group = re.search(r"^SocketGroup=(.+)$", socket, re.MULTILINE)
    assert group and re.search(rf"^{group.group(1)}:", groups, re.MULTILINE)
    # A dynamic user cannot have the name of a group that exists.
    user = re.search(r"^User=(.+)$", (SYSTEMD / "postern.service").read_text(), re.MULTILINE)
    assert user and not re.search(rf"^{user.group(1)}:", groups, re.MULTILINE)


def test_secrets_are_for_root_alone(directory: Path) -> None:
    needs("systemd-tmpfiles")
    needs_root("make files that are root's")
    shutil.copytree("/etc", directory / "etc", symlinks=True, ignore=lambda _, names: [n for n in names if n not in ("passwd", "group")])
    subprocess.run(
        ["systemd-tmpfiles", f"--root={directory}", "--create", str(SYSTEMD / "postern.tmpfiles")],
        check=True, capture_output=True)
    assert oct((directory / "etc/postern").stat().st_mode & 0o7777) == "0o755"
    assert oct((directory / "etc/postern/secrets").stat().st_mode & 0o7777) == "0o700"
