"""The harness: acting as another user touches no other thread."""
from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

from harness.users import ALICE, acting_as, needs_root
from harness.waiting import eventually


@needs_root
def test_another_thread_waits_on_meanwhile_for_what_it_waited_for() -> None:
    """A wait that is started again looks its descriptor up again: a test double that had ended would take the
    connections of the next one, and a test would report a response that the sidecar never mixed up."""
    old = socket.create_server(("127.0.0.1", 0))
    number, port = old.fileno(), old.getsockname()[1]
    taken = []
    waiting = threading.Thread(target=lambda: taken.append(old.accept()[0]), daemon=True)
    waiting.start()
    eventually(lambda: system_call(waiting) in (288, 202), what="a wait in accept4 (of x86-64, of aarch64)")
    old.close()
    with socket.create_server(("127.0.0.1", 0)) as new:
        new.settimeout(10)
        assert new.fileno() == number
        with acting_as(ALICE):
            assert os.geteuid() == ALICE
        assert os.geteuid() == 0
        with socket.create_connection(new.getsockname()), new.accept()[0]:
            assert not taken
    with socket.create_connection(("127.0.0.1", port)):
        waiting.join(10)
        taken.pop().close()


def system_call(thread: threading.Thread) -> int:
    """The number of the system call that the thread is in; -1 for none."""
    word = Path(f"/proc/self/task/{thread.native_id}/syscall").read_text().split()[0]
    return int(word) if word.isdigit() else -1
