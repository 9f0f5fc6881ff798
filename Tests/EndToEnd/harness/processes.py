"""Servers of the tests that end with their standard input."""
from __future__ import annotations

import subprocess


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ends `process` by closing its standard input; one that does not go within 10 s is killed."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
    process.stdout.close()
