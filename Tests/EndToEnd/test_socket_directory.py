"""`listen.directoryMode`: the directory of the socket as callers of another user need it."""
from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from harness.sidecar import Sidecar, StartError

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
