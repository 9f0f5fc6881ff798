#!/usr/bin/env python3
"""Runs the end-to-end tests in several workers at once: most of a test's time is waiting.

    workers.py [--workers 6] [--logs .build] [--usual | --slow] [--record] [what pytest takes]

Each worker is a pytest of its own with some of the files. They are shared out by durations.json, the seconds that each
file took when they were last recorded: the longest first, each to the worker with the least so far; a file that is not
in the list counts as the median. `--usual` leaves out what is marked `thorough`, as `make test` does, and `--slow` runs
what is marked `slow` alone; the list has the seconds of each. `--record` rewrites those of the run, if all passed. A
worker that fails prints its log; what was skipped is printed always. Standard library only.
"""
from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Dict, Iterable, List, Optional
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DURATIONS = HERE / "durations.json"
#: What pytest answers when no test is left of the files it was given.
NOTHING_SELECTED = 5


def share_out(files: Iterable[str], durations: Dict[str, float], workers: int) -> List[List[str]]:
    """The files of each worker."""
    usual = statistics.median(durations.values()) if durations else 1.0
    seconds = {name: durations.get(name, usual) for name in files}
    shares: List[List[str]] = [[] for _ in range(workers)]
    totals = [0.0] * workers
    for name in sorted(seconds, key=lambda name: (-seconds[name], name)):
        least = totals.index(min(totals))
        shares[least].append(name)
        totals[least] += seconds[name]
    return [share for share in shares if share]


def recorded(reports: Iterable[Path]) -> Dict[str, Dict[str, float]]:
    """Seconds of each file in pytest's JUnit reports: of all its tests but slow ones, of those that are not marked
    `thorough` either, and of slow ones."""
    seconds: Dict[str, Dict[str, float]] = {}
    for report in reports:
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            module = next(part for part in case.get("classname", "").split(".") if part.startswith("test_"))
            marks = {mark.get("name") for mark in case.findall("properties/property")}
            kinds = ["slow"] if "slow" in marks else ["all"] if "thorough" in marks else ["all", "usual"]
            file = seconds.setdefault(f"{module}.py", {} if "slow" in marks else {"all": 0.0, "usual": 0.0})
            for kind in kinds:
                file[kind] = file.get(kind, 0.0) + float(case.get("time", "0"))
    return {name: {kind: round(taken, 1) for kind, taken in file.items()} for name, file in seconds.items()}


def merged(known: Dict[str, Dict[str, float]], new: Dict[str, Dict[str, float]]) -> Dict[str, Dict[str, float]]:
    """The list with what a run has recorded: a run of slow tests leaves the other seconds as they are."""
    names = sorted({*known, *new})
    return {name: {**known.get(name, {}), **new.get(name, {})} for name in names if (HERE / name).exists()}


def text_of(durations: Dict[str, Dict[str, float]]) -> str:
    """One file a line."""
    lines = (f"  {json.dumps(name)}: {json.dumps(seconds)}" for name, seconds in durations.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the end-to-end tests in several workers at once.")
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--logs", type=Path, default=ROOT / ".build", help="folder of the logs and reports")
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--usual", action="store_true", help="leave out what is marked thorough")
    some.add_argument("--slow", action="store_true", help="run what is marked slow, and nothing else")
    parser.add_argument("--record", action="store_true", help="rewrite durations.json")
    options, passed_on = parser.parse_known_args()
    options.logs.mkdir(parents=True, exist_ok=True)
    for old in options.logs.glob("end-to-end-*"):
        old.unlink()

    kind = "slow" if options.slow else "usual" if options.usual else "all"
    known = json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}
    durations = {name: seconds.get(kind, 0.0) for name, seconds in known.items()}
    passed_on += {"slow": ["--slow", "-m", "slow"], "usual": ["-m", "not thorough"], "all": []}[kind]
    shares = share_out((path.name for path in HERE.glob("test_*.py")), durations, options.workers)
    running: List[subprocess.Popen[bytes]] = []

    def stop(number: int, frame: Optional[FrameType]) -> None:
        for process in running:
            process.send_signal(signal.SIGINT)  # pytest stops what its fixtures started
        for process in running:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        sys.exit(128 + number)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    logs = [options.logs / f"end-to-end-{number}.log" for number in range(len(shares))]
    for log, share in zip(logs, shares):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={log.with_suffix('.xml')}"]
        command += [*passed_on, *(str(HERE / name) for name in share)]
        with log.open("wb") as output:
            running.append(subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True))  # Ctrl-C comes from us alone: a second one would end what stops the servers
    statuses = [process.wait() for process in running]

    texts = [log.read_text(errors="replace").rstrip() for log in logs]
    failed = [number for number, status in enumerate(statuses) if status not in (0, NOTHING_SELECTED)]
    for number in failed:
        print(texts[number])
    for number in failed:
        print(*(line for line in texts[number].splitlines() if line.startswith(("FAILED ", "ERROR "))), sep="\n")
    for number, text in enumerate(texts):
        if number not in failed:
            print(*(line + "\n" for line in text.splitlines() if line.startswith("SKIPPED ")), sep="", end="")
    for text in texts:
        print(text.rpartition("\n")[2])
    if failed or all(status == NOTHING_SELECTED for status in statuses):
        return 1
    if options.record:
        DURATIONS.write_text(text_of(merged(known, recorded(log.with_suffix(".xml") for log in logs))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
