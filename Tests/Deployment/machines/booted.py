"""A machine that systemd boots: PID 1 of namespaces of its own, over the present system's files."""
from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import List

import pytest

from harness.connection import Connection

# What is written goes to a file system in memory. The network is the host's: the playground is on its loopback.
BOOT = r"""
set -eu
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir "$1/above" "$1/work" "$1/root"
root=$1/root
mount -t overlay -o "lowerdir=/,upperdir=$1/above,workdir=$1/work" overlay "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
# Without the host's control groups: systemd takes what it sees there for its own.
mount --bind /sys "$root/sys"
groups=$root/sys/fs/cgroup
if [ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ]; then
  mount -t cgroup2 cgroup2 "$groups"
else
  mount -t tmpfs -o mode=755 tmpfs "$groups"
  mkdir "$groups/systemd"
  mount -t cgroup -o none,name=systemd systemd "$groups/systemd"
fi
rm -rf "$root/etc/systemd/system" "$root/etc/postern" "$root/var/lib/postern" "$root/var/lib/private/postern"
mkdir -p "$root/etc/systemd/system"
. "$1.prepare"
# In a container systemd leaves it to the container's maker that mounts are seen by its services.
mount --make-rshared "$root"
export container=lxc
exec chroot "$root" /lib/systemd/systemd --system --unit=test.target --show-status=no --log-target=console
"""

# The machine's root control group must be one of its own before the namespace begins there.
ENTER = r"""
for group in $GROUPS_TO_JOIN; do echo $$ >"$group/cgroup.procs"; done
exec "$@"
"""

TARGET = """[Unit]
Requires={units}
After={units}
"""


class BootedMachine:
    """`prepare` is shell text that puts files into `$root`; `units` are started by the boot."""

    def __init__(self, prepare: str, units: List[str]) -> None:
        directory = tempfile.mkdtemp(prefix="machine-", dir="/tmp")
        self.directory = Path(directory)
        self.log = Path(directory + ".log")
        target = f"cat >$root/etc/systemd/system/test.target <<'END'\n{TARGET.format(units=' '.join(units))}END\n"
        self.preparation = Path(directory + ".prepare")
        self.preparation.write_text(prepare + "\n" + target)
        hierarchy = Path("/sys/fs/cgroup")
        hierarchies = [hierarchy / name for name in ["systemd", "unified"]]
        if (hierarchy / "cgroup.procs").exists():
            hierarchies = [hierarchy]
        self.groups = [one / self.directory.name for one in hierarchies if (one / "cgroup.procs").exists()]
        for group in self.groups:
            group.mkdir()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["sh", "-eu", "-c", ENTER, "enter",
                 "unshare", "--fork", "--pid", "--mount", "--uts", "--ipc", "--cgroup", "--kill-child",
                 "bash", "-c", BOOT, "boot", directory],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "GROUPS_TO_JOIN": " ".join(map(str, self.groups))})
        try:
            self.pid = self._first_process()
            self._wait_for_boot()
        except BaseException:
            self.stop()
            raise

    def _first_process(self) -> int:
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            children = path.read_text().split() if path.exists() else []
            if children:
                return int(children[0])
            time.sleep(0.01)
        raise AssertionError("no namespaces: " + self.said())

    def _wait_for_boot(self) -> None:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                pytest.skip("systemd does not boot in namespaces here: " + self.said()[-400:])
            if self.run("systemctl", "is-active", "test.target", check=False).strip() == "active":
                return
            time.sleep(0.05)
        raise AssertionError("the machine does not come up: " + self.said())

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def run(self, *command: str, check: bool = True) -> str:
        """What `command` prints on the machine."""
        done = subprocess.run(
            ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--root", "--wd",
             *command],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        text = done.stdout.decode(errors="replace")
        assert not check or done.returncode == 0, f"{command}: status {done.returncode}\n{text}"
        return text

    def property(self, unit: str, name: str) -> str:
        return self.run("systemctl", "show", "--property", name, "--value", unit).strip()

    def journal(self, unit: str) -> str:
        return self.run("journalctl", "--no-pager", f"--unit={unit}", "--output=cat", check=False)

    def path(self, path: str) -> Path:
        """A file of the machine, seen from here."""
        return Path(f"/proc/{self.pid}/root{path}")

    def connect(self, socket: str) -> Connection:
        return Connection(str(self.path(socket)))

    @staticmethod
    def _remove(group: Path) -> None:
        deadline = time.monotonic() + 5
        while group.exists() and time.monotonic() < deadline:
            for folder, _, _ in os.walk(group, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    time.sleep(0.02)  # its last process has not quite ended

    def stop(self) -> None:
        # What runs there ends with its PID 1.
        self.process.kill()
        self.process.wait(10)
        for group in self.groups:
            self._remove(group)
        self.log.unlink(missing_ok=True)
        self.preparation.unlink(missing_ok=True)
        try:
            os.rmdir(self.directory)
        except OSError:
            pass
