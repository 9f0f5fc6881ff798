"""Files that change together: pairs of Swift files that most commits change both of. A report: nothing fails by it.

    python3 Tests/Architecture/history.py [COMMITS]    the pairs of the last COMMITS commits (`make house` prints the first)

Files in different modules that change together may belong together. A commit of more than 40 files moves or renames, and
does not count. Paths are today's: git follows renames.
"""

import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_FILES = 40
LEAST_CHANGES = 6


def commits(count):
    """The Swift files of Sources that each commit changed, under the names that they have now."""
    command = ["git", "log", f"-{count}", "--no-merges", "--name-status", "-M", "--format=%x00", "--", "Sources"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    renamed = {}
    for commit in text.split("\0"):
        files = set()
        for line in commit.splitlines():
            status, *names = line.split("\t")
            if not names or not names[-1].endswith(".swift"):
                continue
            name = renamed.get(names[-1], names[-1])
            files.add(name)
            if status.startswith("R"):
                renamed[names[0]] = name
        if files:
            yield files


def pairs(changes):
    """(share of the commits with one of them that changed both, both, the pair), the most first."""
    single, both = Counter(), Counter()
    for files in changes:
        if len(files) <= MOST_FILES:
            single.update(files)
            both.update(combinations(sorted(files), 2))
    found = [
        (count / (single[one] + single[other] - count), count, one, other)
        for (one, other), count in both.items() if count >= LEAST_CHANGES
    ]
    return sorted(found, reverse=True)


def report(count, most):
    for share, together, one, other in pairs(commits(count)):
        if (ROOT / one).exists() and (ROOT / other).exists():
            print(f"  {share:4.0%} {together:4}  {one.removeprefix('Sources/')}  {other.removeprefix('Sources/')}")
            most -= 1
            if most == 0:
                return


if __name__ == "__main__":
    report(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, 40)
