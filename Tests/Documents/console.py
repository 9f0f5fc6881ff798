"""Runs the `console` blocks of a page, from the first to the last in one shell, and compares what they print.

A page that is run has a comment, which is invisible when it is rendered:

    <!-- run: sidecar -->    with a sidecar at $POSTERN_SOCKET, as proto-docs/examples/postern.yaml has it
    <!-- run: billing -->    with a sidecar at /run/postern/postern.sock, as the README has it, and that in postern.yaml
    <!-- run: alone -->      with nothing but the commands on the PATH

A command starts with `$ ` and ends when it is complete for the shell; its output follows, in which `…` matches
anything, and on a line of its own any lines. A block below `<!-- not run: reason -->` is skipped.
"""

from __future__ import annotations

import difflib
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Sequence

MODE = re.compile(r"^<!-- run: (sidecar|billing|alone) -->$", re.MULTILINE)
BLOCK = re.compile(r"^(?:<!-- (not run: [^\n]+) -->\n+)?```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "-- the next command: "


class Step(NamedTuple):
    command: str
    expected: List[str]


def mode(page: str) -> Optional[str]:
    found = MODE.search(page)
    return found.group(1) if found else None


def is_complete(command: str) -> bool:
    if command.endswith("\\"):
        return False
    checked = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True)
    return checked.returncode == 0 and "here-document" not in checked.stderr


def steps(page: str) -> List[Step]:
    found: List[Step] = []
    for skipped, block in BLOCK.findall(page):
        if skipped:
            continue
        lines = block.splitlines()
        assert lines and lines[0].startswith("$ "), f"a console block begins with a command:\n{block}"
        while lines:
            command = lines.pop(0)[2:]
            while not is_complete(command):
                assert lines, f"this command does not end:\n{command}"
                command += "\n" + lines.pop(0)
            expected = []
            while lines and not lines[0].startswith("$ "):
                expected.append(lines.pop(0))
            found.append(Step(command, expected))
    return found


def outputs(
    steps: List[Step], directory: Path, environment: Dict[str, str], seconds: float = 300, launcher: Sequence[str] = ()
) -> List[str]:
    """What each command prints on both its outputs. The launcher is what runs the shell."""
    script = "".join(f"printf '\\n%s\\n' '{MARK}{number}'\n{step.command}\n" for number, step in enumerate(steps))
    # A file, not a pipe: what a background process still holds open must not be waited for.
    transcript = directory / "transcript"
    with open(transcript, "wb") as file:
        shell = subprocess.Popen(
            [*launcher, "bash", "-c", script], cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=file,
            stderr=subprocess.STDOUT, start_new_session=True)
        try:
            shell.wait(seconds)
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            shell.wait(10)
    parts = re.split(rf"\n?^{re.escape(MARK)}\d+\n", transcript.read_text(encoding="utf-8", errors="replace"), flags=re.MULTILINE)
    return parts[1:]


def difference(step: Step, output: str) -> str:
    """Empty when the output is as the page has it."""
    pattern = ""
    for line in step.expected:
        pattern += r"(?:[^\n]*\n)*?" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n"
    real = output.rstrip("\n") + "\n" if output.strip("\n") else ""
    if re.fullmatch(pattern, real):
        return ""
    lines = difflib.unified_diff(step.expected, real.splitlines(), "the page", "the run", lineterm="")
    return f"$ {step.command}\n" + "\n".join(lines)
