"""Facts about the machine and the versions, for the head of the report."""

import os
import platform
import subprocess
import time


def _first_line(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout.strip().splitlines() or [""])[0]


def _cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
        for line in info:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gib():
    with open("/proc/meminfo", encoding="ascii") as info:
        return int(info.readline().split()[1]) / 1024 / 1024


QUIET_LOAD, QUIET_SHARE = 0.5, 0.05


class Watch:
    """How busy the machine is with other programs while something is measured."""

    def __init__(self, children):
        self._children = children
        self._date = _date()
        self._load_average = os.getloadavg()
        self._begin = self._read()

    def conditions(self):
        """When and where it was, and the share of all processors that other programs had from the start until now."""
        begin, end = self._begin, self._read()
        share = max(0.0, (end[1] - begin[1]) - (end[2] - begin[2])) / max(end[0] - begin[0], 0.001) / os.cpu_count()
        return {
            "date": self._date,
            "cpu": _processors(),
            "loadAverage": list(self._load_average),
            "othersShare": min(share, 1.0),
        }

    def _read(self):
        return time.monotonic(), _busy_seconds(), self._children.cpu_seconds()


def _busy_seconds():
    """Time that all processors had for programs, and that a hypervisor took from them. Interrupts are left out."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _, _, _, _, steal = (int(field) for field in stat.readline().split()[1:9])
    return (user + nice + system + steal) / os.sysconf("SC_CLK_TCK")


def shown(conditions):
    """The conditions of a measurement as a sentence's part."""
    load, share = conditions["loadAverage"], conditions["othersShare"]
    busy = " (**not a quiet machine: the numbers are worth little**)" if share > QUIET_SHARE else ""
    before = " ".join(f"{value:.2f}" for value in load)
    return (
        f"{conditions['date']}, {conditions['cpu']}; load average before {before}, other programs had {share:.0%} of "
        f"the processors{busy}"
    )


def _date():
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def _processors():
    return f"{_cpu_model()}, {len(os.sched_getaffinity(0))} of {os.cpu_count()} cores usable"


def facts(root, programs, postern):
    """Name and value, in the order of the report."""
    commit = _first_line(["git", "-C", str(root), "rev-parse", "--short", "HEAD"])
    changed = _first_line(["git", "-C", str(root), "status", "--porcelain", "--untracked-files=no"])
    load_average = os.getloadavg()
    return [
        ("Date", _date()),
        ("CPU", _processors()),
        ("Memory", f"{_memory_gib():.0f} GiB"),
        ("Kernel", platform.release()),
        (
            "Postern",
            f"{_first_line([postern, '--version']).partition(' (')[0]}, commit {commit or 'unknown'}{' with changes' if changed else ''}",
        ),
        ("Swift", _first_line(["swift", "--version"])),
        ("C compiler", _first_line(["cc", "--version"])),
        (
            "C libraries",
            f"{_first_line([programs / 'echo_server', '--version'])}, "
            f"{_first_line([programs / 'curl_multi', '--version'])}",
        ),
        (
            "Load average at start",
            " ".join(f"{load:.2f}" for load in load_average)
            + (" (**not a quiet machine: the numbers are worth little**)" if load_average[0] > QUIET_LOAD else ""),
        ),
    ]
