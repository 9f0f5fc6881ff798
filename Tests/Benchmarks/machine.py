"""Facts about the machine and the versions, for the head of the report."""

import os
import platform
import subprocess


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


def facts(root, programs, postern):
    """Name and value, in the order of the report."""
    commit = _first_line(["git", "-C", str(root), "rev-parse", "--short", "HEAD"])
    changed = _first_line(["git", "-C", str(root), "status", "--porcelain", "--untracked-files=no"])
    load_average = os.getloadavg()
    return [
        ("Date", _first_line(["date", "-u", "+%Y-%m-%d %H:%M UTC"])),
        ("CPU", f"{_cpu_model()}, {len(os.sched_getaffinity(0))} of {os.cpu_count()} cores usable"),
        ("Memory", f"{_memory_gib():.0f} GiB"),
        ("Kernel", platform.release()),
        (
            "Postern",
            f"{_first_line([postern, '--version'])}, commit {commit or 'unknown'}{' with changes' if changed else ''}",
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
            + (" (**not a quiet machine: the numbers are worth little**)" if load_average[0] > 0.5 else ""),
        ),
    ]
