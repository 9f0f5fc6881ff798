"""`listen.directoryMode`: the directory of the socket as callers of another user need it."""
from __future__ import annotations

import fcntl
import os
import stat
import time
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from harness.sidecar import Sidecar, StartError
from harness.users import BOB, acting_as, needs_root

Start = Callable[..., Sidecar]


def listen(path: Path, mode: str = "2770") -> Dict[str, Any]:
    return {"listen": {"path": str(path), "mode": "0660", "group": str(os.getgid()), "directoryMode": mode}}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("is_there", [False, True])
def test_it_is_made_when_it_is_missing_and_given_its_mode_when_it_is_ours(
    start: Start, directory: Path, is_there: bool
) -> None:
    own = directory / "shared"
    if is_there:
        own.mkdir(mode=0o755)
    sidecar = start(listen(own / "s"))
    with sidecar.connect() as connection:
        assert connection.works()
    assert mode(own) == 0o2770 and own.stat().st_gid == os.getgid()
    assert mode(own / "s") == 0o660


def test_left_out_the_directory_stays_as_it_is(start: Start, directory: Path) -> None:
    own = directory / "shared"
    own.mkdir()
    own.chmod(0o751)
    start({"listen": {"path": str(own / "s")}})
    assert mode(own) == 0o751


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed to give a directory away")
def test_one_of_another_user_is_left_alone(start: Start, directory: Path) -> None:
    own = directory / "shared"
    own.mkdir(mode=0o755)
    os.chown(own, 12345, 12345)
    sidecar = start(listen(own / "s"))
    assert mode(own) == 0o755 and own.stat().st_uid == 12345
    sidecar.awaits_log("belongs to another user")


@pytest.mark.parametrize("obstacle", ["link", "no parent"])
def test_what_cannot_be_made_a_directory_is_a_failure_at_start(start: Start, directory: Path, obstacle: str) -> None:
    """A link must not have another directory opened for the group."""
    own = directory / "shared"
    (directory / "elsewhere").mkdir(mode=0o700)
    if obstacle == "link":
        own.symlink_to("elsewhere")
    else:
        own = directory / "missing" / "shared"
    with pytest.raises(StartError) as failed:
        start(listen(own / "s"))
    assert failed.value.status == 1 and str(own) in failed.value.log
    assert mode(directory / "elsewhere") == 0o700


@needs_root
def test_no_other_users_lock_keeps_it_from_starting_and_stopping(start: Start, directory: Path) -> None:
    own = directory / "shared"
    own.mkdir()
    for folder in (own, directory):
        folder.chmod(0o755)
    with acting_as(BOB):
        handle = os.open(own, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for _ in range(2):
            began = time.monotonic()
            sidecar = start({"listen": {"path": str(own / "s")}})
            sidecar.stop()
            assert time.monotonic() - began < 4.5 and not (own / "s").exists()
        assert mode(own / ".s.lock") == 0o600 and "cannot be locked" not in sidecar.log()
    finally:
        os.close(handle)


@needs_root
def test_a_lock_file_of_another_user_is_told_and_does_not_matter(start: Start, directory: Path) -> None:
    own = directory / "shared"
    own.mkdir()
    (own / ".s.lock").write_text("")
    os.chown(own / ".s.lock", BOB, BOB)
    sidecar = start({"listen": {"path": str(own / "s")}})
    sidecar.awaits_log("cannot be locked")
    sidecar.stop()
    assert not (own / "s").exists()
