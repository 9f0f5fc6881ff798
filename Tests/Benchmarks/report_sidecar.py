"""The section of the report that is about the C sidecar."""
from __future__ import annotations

from tables import median, met, rate, ratio_of, table, us

TITLE = "## A 1 KB fetch compared with a C sidecar (epoll, jansson, libcurl)"
HEAD = ["", "", "req/s", "p50 µs", "p99 µs", "CPU µs/req", "Postern's ratio", "lowest–highest", "target", ""]
NAMES = {"postern": "**Postern**", "peer": "C sidecar", "curl": "libcurl (C), no sidecar"}


def cpu_verdict(row: dict) -> tuple[str, bool] | None:
    """The target of Postern's processor time, and whether it is met."""
    target = row["cpuTarget"]
    return (f"CPU ≤ {target} µs", median(row["postern"], "serverCpuUs") <= target) if target else None


def ratio_verdict(row: dict) -> tuple[str, bool]:
    """The target of requests/s compared with the C sidecar, and whether it is met."""
    return f"ratio ≥ {row['target']}", ratio_of(row)[0] >= row["target"]


def _row(row: dict, name: str) -> list[str]:
    lines = row[name]
    cells = [
        rate(median(lines, "requestsPerSecond")),
        us(median(lines, "latencyUs", "p50")),
        us(median(lines, "latencyUs", "p99")),
        f"{median(lines, 'serverCpuUs'):.1f}",
    ]
    verdict = {"postern": cpu_verdict(row), "peer": ratio_verdict(row)}.get(name)
    ratio = ["", ""]
    if name != "postern":
        middle, low, high = ratio_of({"postern": row["postern"], "peer": lines})
        ratio = [f"{middle:.2f}", f"{low:.2f}–{high:.2f}"]
    title = f"**{row['name']}**" if name == "postern" else ""
    return [title, NAMES[name], *cells, *ratio, *((verdict[0], met(verdict[1])) if verdict else ("–", ""))]


def sections(measured: dict) -> list[str]:
    """The section's lines."""
    return [
        TITLE,
        "",
        *table(HEAD, [_row(row, name) for row in measured["rows"] for name in NAMES]),
        f"`auth: none`, HTTP/1.1, {measured['rounds']} rounds of {measured['seconds']:g} s. The C sidecar "
        "(`Tests/Benchmarks/sidecar.c`) answers with the same members and body from one thread, without tokens, limits "
        "or rules, over at most 64 connections to the upstream, as Postern. Postern has all cores and shares them with "
        "the load client and the upstream. libcurl is called in process, as many transfers at a time.",
        "",
    ]
