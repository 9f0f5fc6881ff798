"""install-packages, with an apt, a dpkg and a systemd that only write down what they are asked.

Run by itself: python3 -m pytest -q Tests/Tools. Standard library only.
"""
from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Dict, List

import pytest

SCRIPT = Path(__file__).resolve().parent / "install-packages"
THEIRS = "#!/bin/sh\nexit 104\n"

#: The apt of these tests: writes down its arguments and whether services may start now, then exits as $APT has it.
APT = """#!/bin/bash
printf '%s\\n' "$*" >>"$CALLS"
[[ "$*" == *' install '* ]] || exit 0
{ sh "$POLICY_RC_D" redis-server start; echo "policy $?"; } >>"$CALLS" 2>/dev/null
case $APT in
  fail) exit 100 ;;
  hang) : >"$CALLS.hangs"; while :; do sleep 0.05; done ;;
  enable)
    ln -s /lib/systemd/system/redis-server.service "$SYSTEMD_UNITS/multi-user.target.wants/redis-server.service"
    ln -s /lib/systemd/system/getty@.service "$SYSTEMD_UNITS/multi-user.target.wants/getty@tty1.service" ;;
esac
"""
DPKG_QUERY = """#!/bin/bash
case "$*" in
  *' here') echo -n 'install ok installed' ;;
  '-L systemd') echo /lib/systemd/system/getty@.service ;;
  *) exit 1 ;;
esac
"""


def signals_as_usual() -> None:
    """What runs in the background or under nohup ignores these, and a shell can set no trap for what it ignores."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Machine:
    """A PATH and the two places that the script changes."""

    def __init__(self, folder: Path) -> None:
        self.calls = folder / "calls"
        self.policy = folder / "policy-rc.d"
        self.units = folder / "units"
        (self.units / "multi-user.target.wants").mkdir(parents=True)
        (self.units / "multi-user.target.wants" / "mine.service").symlink_to("/lib/systemd/system/mine.service")
        programs = folder / "programs"
        programs.mkdir()
        note = '#!/bin/sh\necho "${0##*/} $*" >>"$CALLS"\n'
        for name, text in {
            "apt-get": APT, "dpkg-query": DPKG_QUERY, "sudo": '#!/bin/sh\nexec "$@"\n',
            "systemctl": note, "deb-systemd-helper": note,
        }.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self.environment: Dict[str, str] = {
            **os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "CALLS": str(self.calls), "APT": "",
            "POLICY_RC_D": str(self.policy), "SYSTEMD_UNITS": str(self.units), "INSTALL_PAUSE": "0",
        }

    def start(self, *packages: str, apt: str = "") -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [str(SCRIPT), *packages], env={**self.environment, "APT": apt}, text=True, start_new_session=True, preexec_fn=signals_as_usual,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, *packages: str, apt: str = "") -> int:
        process = self.start(*packages, apt=apt)
        self.output = process.communicate(timeout=30)[0]
        return process.returncode

    def lines(self) -> List[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def disabled(self) -> List[str]:
        return [line.split()[-1] for line in self.lines() if line.startswith(("systemctl disable", "deb-systemd-helper disable"))]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_nothing_is_asked_for_when_all_is_there(machine: Machine) -> None:
    assert machine.run("here", "here") == 0
    assert machine.lines() == [] and machine.output == "" and not machine.policy.exists()


def test_no_service_starts_meanwhile_and_the_policy_is_gone_afterwards(machine: Machine) -> None:
    assert machine.run("here", "redis-server", "socat") == 0
    assert any(line.endswith("--no-install-recommends redis-server socat") for line in machine.lines())
    assert "policy 101" in machine.lines()
    assert not machine.policy.exists()


def test_a_policy_of_the_machine_is_used_and_stays_as_it_is(machine: Machine) -> None:
    machine.policy.write_text(THEIRS)
    assert machine.run("redis-server") == 0
    assert "policy 104" in machine.lines()
    assert machine.policy.read_text() == THEIRS


def test_a_policy_that_is_a_dangling_link_is_not_written_through(machine: Machine, tmp_path: Path) -> None:
    machine.policy.symlink_to(tmp_path / "nowhere")
    assert machine.run("redis-server") == 0
    assert machine.policy.is_symlink() and not (tmp_path / "nowhere").exists()


def test_the_policy_is_gone_after_a_failure_and_the_failure_is_told(machine: Machine) -> None:
    assert machine.run("redis-server", apt="fail") == 1
    assert "could not install: redis-server" in machine.output
    assert machine.lines().count("policy 101") == 6
    assert not machine.policy.exists()


def started(machine: Machine) -> "subprocess.Popen[str]":
    """A run whose apt has begun, and does not end."""
    process = machine.start("redis-server", apt="hang")
    while process.poll() is None and not Path(f"{machine.calls}.hangs").exists():
        time.sleep(0.01)
    assert machine.policy.exists()
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_policy_is_gone_after_a_signal(machine: Machine, number: signal.Signals) -> None:
    process = started(machine)
    os.killpg(process.pid, number)  # the script and its apt, as a terminal does
    process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert not machine.policy.exists()


def test_what_a_killed_run_left_is_removed_by_the_next(machine: Machine) -> None:
    process = started(machine)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    assert machine.policy.exists()
    assert machine.run("redis-server") == 0
    assert not machine.policy.exists()


def test_what_was_enabled_meanwhile_is_disabled_but_for_systemds_own(machine: Machine) -> None:
    assert machine.run("redis-server", apt="enable") == 0
    assert machine.disabled() == ["redis-server.service"]
