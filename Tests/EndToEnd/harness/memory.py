"""Searches what other processes have in memory and in their environment."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Dict, Iterable, List, Set


def descendants(root: int) -> List[int]:
    """The process and all that it has started, directly or not."""
    parents: Dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def found_in(process: int, needles: Iterable[bytes]) -> Set[bytes]:
    """Those of `needles` that are in the process's readable memory, its environment or its arguments."""
    wanted, found = set(needles), set()
    for name in ("environ", "cmdline"):
        try:
            content = Path(f"/proc/{process}/{name}").read_bytes()
        except OSError:
            continue
        found |= {needle for needle in wanted if needle in content}
    try:
        maps = Path(f"/proc/{process}/maps").read_text().splitlines()
        memory = os.open(f"/proc/{process}/mem", os.O_RDONLY)
    except OSError:
        return found
    try:
        for line in maps:
            span, access = line.split()[:2]
            # What nobody has written is the program's file.
            if not access.startswith("rw"):
                continue
            begin, end = (int(part, 16) for part in span.split("-"))
            try:
                content = os.pread(memory, end - begin, begin)
            except (OSError, OverflowError):
                continue
            found |= {needle for needle in wanted if needle in content}
    finally:
        os.close(memory)
    return found
