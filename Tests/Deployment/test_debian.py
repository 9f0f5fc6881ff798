"""The Debian package: what lintian says, and its life on a machine that systemd booted."""
from __future__ import annotations

import os
import shlex
import subprocess
import threading
from pathlib import Path
from typing import Iterator, List, Tuple

import pytest

from harness.waiting import eventually
from machines.booted import BootedMachine
from machines.files import DEPLOY, ROOT, foreign_libraries, needs, needs_namespaces, postern

SOCKET = "/run/postern/postern.sock"
UNITS = ("postern.socket", "postern.service")
# What other packages would do at the end of an installation is not looked at.
INSTALL = ("dpkg", "--install", "--no-triggers", "--force-unsafe-io", "/postern.deb")


@pytest.fixture(scope="module")
def package() -> Path:
    """Built with build.sh, unless POSTERN_DEB names one."""
    if "POSTERN_DEB" in os.environ:
        return Path(os.environ["POSTERN_DEB"]).resolve()
    needs("dpkg-buildpackage", "dh", "strip")
    if foreign_libraries(postern()):
        pytest.skip("a debug build: its Swift libraries are in no package")
    directory = ROOT / ".build" / "deb"
    done = subprocess.run(
        [str(DEPLOY / "debian" / "build.sh"), postern(), str(directory)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode(errors="replace")
    return next(directory.glob("postern_*.deb"))


def test_lintian_finds_nothing(package: Path) -> None:
    needs("lintian")
    done = subprocess.run(
        ["lintian", "--allow-root", "--display-info", "--pedantic", "--fail-on=error,warning,info,pedantic", str(package)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (done.returncode, done.stdout.decode()) == (0, "")


def contents(package: Path) -> List[Tuple[str, str, str]]:
    listed = subprocess.run(["dpkg-deb", "--contents", str(package)], stdout=subprocess.PIPE, check=True)
    rows = [line.split() for line in listed.stdout.decode().splitlines()]
    return [(row[0], row[1], row[5].lstrip(".")) for row in rows]


def test_it_holds_what_it_is_for_and_nothing_is_anybodys_to_write(package: Path) -> None:
    paths = {path for _, _, path in contents(package)}
    assert paths >= {
        "/usr/bin/postern", "/lib/systemd/system/postern.service", "/lib/systemd/system/postern.socket",
        "/usr/lib/systemd/user/postern.service", "/usr/lib/systemd/user/postern.socket",
        "/lib/systemd/system/postern-gateway.socket", "/usr/lib/systemd/user/postern-gateway.socket",
        "/usr/lib/sysusers.d/postern.conf", "/usr/lib/tmpfiles.d/postern.conf", "/usr/share/man/man1/postern.1.gz",
        "/usr/share/man/man1/postern-call.1.gz", "/usr/share/man/man1/postern-doctor.1.gz",
        "/usr/share/doc/postern/copyright", "/usr/share/doc/postern/examples/postern.yaml",
        "/usr/share/bash-completion/completions/postern",
    }
    for mode, owner, path in contents(package):
        assert owner == "root/root" and mode[8] != "w" and mode[5] != "w" and "s" not in mode, (mode, owner, path)


def test_the_manual_names_every_command_and_is_well_formed(package: Path, directory: Path) -> None:
    needs("man")
    subprocess.run(["dpkg-deb", "--extract", str(package), str(directory / "root")], check=True)
    pages = {}
    for page in (directory / "root/usr/share/man/man1").iterdir():
        done = subprocess.run(
            ["man", "--local-file", "--warnings", str(page)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "MANWIDTH": "100"})
        assert (done.returncode, done.stderr.decode()) == (0, ""), page
        pages[page.name] = done.stdout.decode()
    text = pages["postern.1.gz"]
    for command in ["serve", "call", "login", "probe", "check-config", "doctor", "jose verify", "openrpc", "configuration"]:
        assert f"   postern {command}\n" in text, command


# MARK: on a machine


@pytest.fixture(scope="module")
def machine(package: Path) -> Iterator[BootedMachine]:
    """Without Postern, but for the package in /."""
    needs("nsenter")
    needs_namespaces()
    prepare = f"rm -f $root/usr/sbin/policy-rc.d $root/usr/bin/postern\ncp {shlex.quote(str(package))} $root/postern.deb\n"
    booted = BootedMachine(prepare, [])
    yield booted
    booted.stop()


def test_it_is_installed_and_waits_for_its_configuration(machine: BootedMachine) -> None:
    machine.run(*INSTALL)
    assert "postern-clients" in machine.run("getent", "group", "postern-clients")
    for unit in UNITS:
        assert machine.property(unit, "UnitFileState") == "enabled"
        assert machine.property(unit, "ActiveState") == "inactive"
        assert machine.property(unit, "Result") == "success"
    assert machine.path("/etc/postern/secrets").stat().st_mode & 0o777 == 0o700


def test_with_a_configuration_it_serves(machine: BootedMachine) -> None:
    machine.path("/etc/postern/postern.yaml").write_text('peers: [{ uid: 0, methods: ["*"] }]\nstore: { kind: memory }\n')
    machine.run("systemctl", "start", *UNITS)
    assert '"name":"postern"' in machine.run("postern", "call", "getInfo").replace(" ", "")


def test_no_connection_is_refused_while_it_is_upgraded(machine: BootedMachine) -> None:
    outcomes: List[str] = []
    ended = threading.Event()

    def call() -> None:
        while not ended.is_set():
            try:
                with machine.connect(SOCKET) as connection:
                    outcomes.append("answered" if connection.works() else "not answered")
            except (EOFError, ConnectionResetError, BrokenPipeError):
                outcomes.append("cut")
            except OSError as error:
                outcomes.append(type(error).__name__)

    before = machine.property("postern.service", "MainPID")
    callers = [threading.Thread(target=call) for _ in range(2)]
    for caller in callers:
        caller.start()
    try:
        machine.run(*INSTALL)
        count = len(outcomes)
        eventually(lambda: len(outcomes) > count + 10)
    finally:
        ended.set()
        for caller in callers:
            caller.join(20)
    assert machine.property("postern.service", "MainPID") not in ("0", before)
    assert set(outcomes) <= {"answered", "cut"}, {name: outcomes.count(name) for name in set(outcomes)}
    assert outcomes.count("cut") <= 2


def test_removed_it_leaves_what_the_administrator_made(machine: BootedMachine) -> None:
    machine.run("dpkg", "--purge", "--no-triggers", "postern")
    assert not machine.path("/usr/bin/postern").exists()
    assert not machine.path(SOCKET).exists()
    assert machine.property("postern.service", "LoadState") == "not-found"
    assert machine.path("/etc/postern/postern.yaml").exists()
