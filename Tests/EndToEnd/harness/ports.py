"""Ports that a test may give to a server it starts later."""
from __future__ import annotations

import random
import socket
from pathlib import Path
from typing import List

#: A socket for each port that was given away, so that no other worker gives it away meanwhile. They have names and no
#: files, and end with this process.
_claims: List[socket.socket] = []


def free_port() -> int:
    """A free port that nobody gets unasked: the kernel chooses those for port 0 and for outgoing connections from a
    range above it."""
    # From 20,000 on the tests' glewlwyd takes its own.
    highest = min(20_000, int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]))
    assert highest > 11_000, "the kernel gives these ports away"
    while True:
        # Chromium opens nothing at 10,080 (ERR_UNSAFE_PORT), the last of the ports that it refuses.
        port = random.randrange(10_081, highest)
        with socket.socket() as probe:
            claim = socket.socket(socket.AF_UNIX)
            try:
                claim.bind(f"\0postern-tests-port-{port}")
                probe.bind(("127.0.0.1", port))
            except OSError:
                claim.close()
                continue
            _claims.append(claim)
            return port
