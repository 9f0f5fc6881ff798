"""Section 1, first part: where the socket is, who may connect to it, and what may stand in its place."""
from __future__ import annotations

import ctypes
import grp
import os
import re
import socket
import stat
import struct
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Set

import pytest

from harness.sidecar import Sidecar, StartError

Start = Callable[..., Sidecar]


def test_the_configured_path_is_used(start: Start, directory: Path) -> None:
    path = directory / "elsewhere.sock"
    with start({"listen": {"path": str(path)}}, path=path).connect() as connection:
        assert connection.works()


def test_the_socket_option_names_the_path(start: Start, directory: Path) -> None:
    path = directory / "option.sock"
    with start({"listen": None}, path=path, arguments=["--socket", str(path)]).connect() as connection:
        assert connection.works()


def test_the_configured_path_goes_before_the_environment(start: Start, directory: Path) -> None:
    environment = {"POSTERN_SOCKET": str(directory / "environment.sock"), "XDG_RUNTIME_DIR": str(directory)}
    path = directory / "configured.sock"
    start({"listen": {"path": str(path)}}, path=path, environment=environment)
    assert not (directory / "environment.sock").exists()


def test_the_socket_option_goes_before_the_environment(start: Start, directory: Path) -> None:
    environment = {"POSTERN_SOCKET": str(directory / "environment.sock")}
    path = directory / "option.sock"
    start({"listen": None}, path=path, arguments=["--socket", str(path)], environment=environment)
    assert not (directory / "environment.sock").exists()


def test_postern_socket_is_the_first_default(start: Start, directory: Path) -> None:
    path = directory / "variable.sock"
    environment = {"POSTERN_SOCKET": str(path), "XDG_RUNTIME_DIR": str(directory)}
    with start({"listen": None}, path=path, environment=environment).connect() as connection:
        assert connection.works()
    assert not (directory / "postern.sock").exists()


def test_xdg_runtime_dir_is_the_second_default(start: Start, directory: Path) -> None:
    path = directory / "postern.sock"
    with start({"listen": None}, path=path, environment={"XDG_RUNTIME_DIR": str(directory)}).connect() as connection:
        assert connection.works()


ACTIVATION = """
import os, sys
descriptor, given_to, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
os.dup2(descriptor, 3)
os.set_inheritable(3, True)
os.environ["LISTEN_FDS"] = "1"
os.environ["LISTEN_PID"] = str(os.getpid()) if given_to == "me" else "1"
os.execv(command[0], command)
"""


def activated(start: Start, directory: Path, given_to: str, connect_to: Path) -> Sidecar:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(directory / "activated.sock"))
        listener.listen(16)
        if given_to != "me":
            # Whoever connects there is connected to this process: the sidecar must not answer.
            assert connect_to != directory / "activated.sock"
        launcher = [sys.executable, "-c", ACTIVATION, str(listener.fileno()), given_to]
        configured = {"listen": {"path": str(directory / "configured.sock")}}
        return start(configured, path=connect_to, launcher=launcher, pass_fds=(listener.fileno(),))
    finally:
        listener.close()


def test_systemd_activation_goes_before_all(start: Start, directory: Path) -> None:
    sidecar = activated(start, directory, "me", directory / "activated.sock")
    with sidecar.connect() as connection:
        assert connection.works()
    assert not (directory / "configured.sock").exists()


TWO_SOCKETS = """
import os, sys
names, descriptors, command = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
for index, text in enumerate(descriptors):
    os.dup2(int(text), 60 + index)
for index in range(len(descriptors)):
    os.dup2(60 + index, 3 + index)
    os.set_inheritable(3 + index, True)
os.closerange(3 + len(descriptors), 200)
os.environ.update(LISTEN_FDS=str(len(descriptors)), LISTEN_PID=str(os.getpid()), LISTEN_FDNAMES=names)
os.execv(command[0], command)
"""


@pytest.mark.parametrize("names", ["rpc:gateway", "gateway:rpc", "postern:gateway"])
def test_systemd_passes_a_socket_for_each_of_two(start: Start, directory: Path, names: str) -> None:
    """Catches a gateway that makes a socket of its own where it may not, or requests that arrive at the wrong one."""
    places = {"gateway": directory / "passed-http.sock"}
    listeners = []
    try:
        for name in names.split(":"):
            listeners.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listeners[-1].bind(str(places.setdefault(name, directory / "passed.sock")))
            listeners[-1].listen(16)
        numbers = [listener.fileno() for listener in listeners]
        launcher = [sys.executable, "-c", TWO_SOCKETS, names, ",".join(map(str, numbers))]
        nowhere = {"path": "/nowhere/at/all/http.sock"}
        sidecar = start(
            {"listen": {"path": str(directory / "configured.sock")}, "gateway": {"listen": nowhere}},
            path=directory / "passed.sock", launcher=launcher, pass_fds=numbers)
    finally:
        for listener in listeners:
            listener.close()
    with sidecar.connect() as connection:
        assert connection.works()
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(str(places["gateway"]))
        client.sendall(b"GET /.postern/nothing HTTP/1.1\r\nHost: postern\r\n\r\n")
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 404 ")
    assert not (directory / "configured.sock").exists()
    sidecar.stop()
    assert places["gateway"].exists(), "the file is systemd's"


def test_systemd_activation_of_another_process_is_ignored(start: Start, directory: Path) -> None:
    with activated(start, directory, "another", directory / "configured.sock").connect() as connection:
        assert connection.works()


def test_a_regular_file_on_the_path_is_never_deleted(start: Start, directory: Path) -> None:
    path = directory / "precious.sock"
    path.write_text("precious")
    with pytest.raises(StartError) as refused:
        start({"listen": {"path": str(path)}}, path=path)
    assert refused.value.status not in (0, -6, -11)
    assert str(path) in refused.value.log
    assert path.read_text() == "precious"


def test_a_stale_path_is_replaced(start: Start, directory: Path) -> None:
    path = directory / "stale.sock"
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stale.bind(str(path))
    stale.close()
    assert stat.S_ISSOCK(path.stat().st_mode)
    with pytest.raises(ConnectionRefusedError):
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).connect(str(path))
    # Connectable is not enough here: ask, to be sure that it is the sidecar's.
    with start({"listen": {"path": str(path)}}, path=path).connect() as connection:
        assert connection.works()


def test_a_path_left_by_a_killed_sidecar_is_replaced(start: Start) -> None:
    first = start()
    first.process.kill()
    first.wait()
    with start().connect() as connection:
        assert connection.works()


def test_a_live_path_is_refused_with_a_clear_message(sidecar: Sidecar, start: Start, directory: Path) -> None:
    # `Sidecar` would take the first one's socket for the second's: give it another path to wait for.
    with pytest.raises(StartError) as refused:
        start({"listen": {"path": sidecar.path}}, path=directory / "never.sock")
    assert refused.value.status not in (0, -6, -11)
    assert sidecar.path in refused.value.log
    with sidecar.connect() as connection:
        assert connection.works()


def test_a_path_over_107_bytes_is_refused(start: Start, directory: Path) -> None:
    path = directory / ("x" * (108 - len(str(directory)) - 1))
    assert len(str(path)) == 108
    # Such a path cannot be waited for either.
    with pytest.raises(StartError) as refused:
        start({"listen": {"path": str(path)}}, path=directory / "never.sock")
    assert refused.value.status not in (0, -6, -11)
    assert re.search(r"107|long", refused.value.log)


def test_a_path_of_107_bytes_is_taken(start: Start, directory: Path) -> None:
    path = directory / ("x" * (107 - len(str(directory)) - 1))
    with start({"listen": {"path": str(path)}}, path=path).connect() as connection:
        assert connection.works()


def test_the_mode_is_0600_by_default(sidecar: Sidecar) -> None:
    assert stat.S_IMODE(os.stat(sidecar.path).st_mode) == 0o600


@pytest.mark.parametrize("mode", ["0600", "0660", "0666"])
def test_the_mode_is_as_configured(start: Start, mode: str) -> None:
    sidecar = start({"listen": {"mode": mode}})
    assert stat.S_IMODE(os.stat(sidecar.path).st_mode) == int(mode, 8)


def test_the_mode_never_is_wider_than_it_will_be(start: Start, directory: Path) -> None:
    path = directory / "watched.sock"
    seen: Set[int] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            try:
                seen.add(stat.S_IMODE(os.lstat(path).st_mode))
            except FileNotFoundError:
                pass

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in range(3):
            start({"listen": {"path": str(path)}}, path=path).stop()
    finally:
        done.set()
        watcher.join()
    assert seen <= {0o600}


def test_the_socket_is_made_with_its_final_mode_whatever_the_umask(start: Start, directory: Path) -> None:
    path = directory / "watched.sock"
    libc = ctypes.CDLL(None, use_errno=True)
    events = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert events >= 0
    try:
        created, changed = 0x100, 0x4
        assert libc.inotify_add_watch(events, bytes(directory), created | changed) > 0
        start(
            {"listen": {"path": str(path), "mode": "0660"}}, path=path,
            launcher=["sh", "-c", 'umask 077; exec "$@"', "sh"])
        data, masks = os.read(events, 1 << 16), []
        while data:
            _, mask, _, length = struct.unpack_from("iIII", data)
            if data[16:16 + length].rstrip(b"\0") == b"watched.sock":
                masks.append(mask)
            data = data[16 + length:]
    finally:
        os.close(events)
    # No change after it was made: it never had another mode.
    assert masks == [created]
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o660


def test_the_group_is_as_configured(start: Start) -> None:
    groups = set(os.getgroups()) | {os.getgid()}
    if os.getuid() == 0:
        groups |= {entry.gr_gid for entry in grp.getgrall()}
    other = sorted(groups - {os.getgid()}) or [os.getgid()]
    sidecar = start({"listen": {"group": grp.getgrgid(other[0]).gr_name, "mode": "0660"}})
    assert os.stat(sidecar.path).st_gid == other[0]
    assert stat.S_IMODE(os.stat(sidecar.path).st_mode) == 0o660


def test_a_group_that_does_not_exist_is_refused(start: Start) -> None:
    with pytest.raises(StartError) as refused:
        start({"listen": {"group": "no-such-group"}})
    assert "no-such-group" in refused.value.log


def test_peers_that_match_no_rule_are_refused(start: Start, connect: Any) -> None:
    sidecar = start({"peers": [{"uid": os.getuid() + 1, "methods": ["*"]}]})
    connection = connect(sidecar)
    try:
        identifier = connection.request("getInfo")
        answer: Dict[str, Any] = connection.receive()
    except (BrokenPipeError, ConnectionResetError, EOFError):
        return
    assert answer["error"]["code"] == -32020, answer
    assert answer["id"] in (identifier, None)
