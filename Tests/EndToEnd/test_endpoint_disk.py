"""Endpoints where the disk of their socket files is full."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect
from harness.connection import Connection
from harness.endpoints import Endpoint, ids
from harness.sidecar import Sidecar
from harness.users import needs_root
from harness.waiting import eventually

Start = Callable[..., Sidecar]


class SmallDisk:
    """A file system for few files, in a mount namespace of its own."""

    def __init__(self, path: Path, files: int) -> None:
        path.mkdir()
        script = 'mount -t tmpfs -o mode=755,nr_inodes="$1" tmpfs "$2" && echo mounted && exec cat'
        self.path = path
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", str(files), str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None and self.process.stdout.readline() == "mounted\n"
        #: How a process runs that sees it.
        self.launcher = ["nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt"]

    def seen(self, path: Any) -> str:
        """The path of a file on it, for a process outside of the namespace."""
        return f"/proc/{self.process.pid}/root{path}"

    @property
    def free(self) -> int:
        """How many files there is space for."""
        return os.statvfs(self.seen(self.path)).f_ffree

    def sockets(self) -> List[str]:
        return [name for name in os.listdir(self.seen(self.path)) if ".e-" in name]

    def stop(self) -> None:
        self.process.communicate("", timeout=20)


@pytest.fixture
def disk(directory: Path) -> Iterator[SmallDisk]:
    made = SmallDisk(directory / "disk", 16)
    yield made
    made.stop()


@needs_root
def test_a_full_disk_is_an_error_and_nothing_is_left(start: Start, directory: Path, disk: SmallDisk) -> None:
    """Catches an endpoint with one of its two sockets, a file that is left of it, and an error without a reason."""
    path = disk.path / "p.sock"
    gateway = {"listen": {"path": str(directory / "http.sock")}}
    sidecar = start(
        {"listen": {"path": str(path)}, "gateway": gateway}, launcher=disk.launcher, path=Path(disk.seen(path)))
    # An odd number, so that there is space for the first socket of an endpoint, and not for the second.
    while disk.free > 5:
        Path(disk.seen(disk.path / f"filler-{disk.free}")).touch()
    with sidecar.connect() as maker:
        made: List[Dict[str, Any]] = [maker.call("createEndpoint", {"http": True}) for _ in range(2)]
        assert disk.free == 1
        for _ in range(3):
            expect.fault(maker.error("createEndpoint", {"http": True}), -32009)
            assert len(disk.sockets()) == 4
            # The listener is closed a moment after its file is gone.
            eventually(lambda: disk.free == 1, what="space for one file")
        assert ids(maker) == [one["endpoint"] for one in made]
        last = Endpoint(maker)
        for params in ({}, {"descriptor": True}):
            expect.fault(maker.error("createEndpoint", params), -32009)
        assert disk.free == 0 and len(disk.sockets()) == 5
        assert last.revoke() == 1
        eventually(lambda: disk.free == 1, what="space for one file")
        again = Endpoint(maker)
        with Connection(disk.seen(again.path), maker.framing) as child:
            assert child.works()
        for endpoint in ids(maker):
            maker.call("revokeEndpoint", {"endpoint": endpoint})
        assert disk.sockets() == []
        eventually(lambda: disk.free == 5, what="as much space as before")
    assert "No space left on device" in sidecar.log()
