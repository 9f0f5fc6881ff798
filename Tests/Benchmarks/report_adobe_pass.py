"""The section of the report that is about Adobe Pass."""
from __future__ import annotations

from tables import median, met, rate, ratio_of, table, us

RATIO_OF_REQUESTS, RATIO_OF_CALLS = 1.0, 3.0
SERVERS = {"double": "the playground's double", "lean": "a C program with fixed answers"}
NAMES = {
    "file": "Postern, file store",
    "memory": "Postern, memory store",
    "client": "Postern's client (Python), file store",
    "httpx": "`httpx` (Python), direct, a client object for each caller",
    "shared": "`httpx`, direct, one client object",
    "curl": "libcurl (C), direct: the server's ceiling",
}
HEAD_OF_JOURNEYS = ["journey", "request", "made", "minimum", "ratio", "target", ""]
HEAD_OF_RATES = ["", "", "calls/s", "p50 µs", "p99 µs", "CPU µs/call", "ratio to `httpx`", "lowest–highest", "target", ""]


def _journey(row: dict) -> list[list[str]]:
    """The journey as a whole, and each request of it."""
    made, minimum = row["made"], row["minimum"]
    ratio = sum(made.values()) / sum(minimum.values())
    good = ratio <= RATIO_OF_REQUESTS
    totals = [f"{sum(made.values()):,}", f"{sum(minimum.values()):,}", f"{ratio:.3f}", f"≤ {RATIO_OF_REQUESTS:g}", met(good)]
    rows = [[f"**{row['name']}**", "all", *totals]]
    for name in sorted({*made, *minimum}, key=lambda name: (len(name) > 3, len(name), name)):
        count, least = made.get(name, 0), minimum.get(name, 0)
        rows.append(["", name, f"{count:,}", f"{least:,}", f"{count / least:.3f}" if least else "–", "", ""])
    return rows


def _rates(point: dict) -> list[list[str]]:
    title = f"**{SERVERS[point['server']]}**"
    rows = []
    for way, name in NAMES.items():
        lines = point["lines"].get(way)
        if not lines:
            continue
        cells = [rate(median(lines, "requestsPerSecond")), us(median(lines, "latencyUs", "p50"))]
        cells += [us(median(lines, "latencyUs", "p99")), f"{median(lines, 'serverCpuUs'):.1f}"]
        ratio = ["", "", "", ""]
        if "httpx" in point["lines"] and way != "httpx":
            middle, low, high = ratio_of({"postern": lines, "peer": point["lines"]["httpx"]})
            ratio = [f"{middle:.2f}", f"{low:.2f}–{high:.2f}", "–", ""]
            if way == "file":
                ratio[2:] = [f"≥ {RATIO_OF_CALLS:g}", met(middle >= RATIO_OF_CALLS)]
        rows.append([title, name, *cells, *ratio])
        title = ""
    return rows


def sections(measured: dict) -> list[str]:
    """Their Markdown."""
    journeys = measured["journeys"]
    connections = ", ".join(f"{row['connections']:,}" for row in journeys["rows"])
    seconds = ", ".join(f"{row['seconds']:.0f} s" for row in journeys["rows"])
    lines = [
        f"## Adobe Pass: requests of {journeys['devices']:,} devices compared with the least possible",
        "",
        *table(HEAD_OF_JOURNEYS, [cells for row in journeys["rows"] for cells in _journey(row)]),
        f"One sidecar with a file store, at the playground's double of Adobe Pass, whose throttle is on (one request a second "
        f"for each address, after ten at once) and rejected {journeys['throttled']:,} requests. Each device has its own id and address. "
        f"The journeys follow each other and lasted {seconds}; the sidecar opened {connections} connections for them (one for each E8, whose answer "
        "other callers may wait for, and otherwise persistent ones); the users log in two seconds after they have seen the code. The sidecar is "
        "restarted before the second journey. Least possible: by the flows and the checklist of Adobe's documentation; "
        "`Tests/Benchmarks/adobe_devices.py` has it for each request. Not compared with a live service of Adobe's.",
        "",
        "## `pass.authorize` compared with `httpx` at the same server",
        "",
        *table(HEAD_OF_RATES, [cells for point in measured["points"] for cells in _rates(point)]),
        "16 callers, each with a device of its own that is logged in, about one resource, without a limit of the rate; rounds of "
        f"{measured['seconds']:g} s, their number: {measured['rounds']}. Every call is one request for authorization, which is "
        "checked. Postern: 16 connections of the load client, and the sidecar's processor time; its Python client and `httpx`: "
        "16 tasks of one process, and that process's time. `httpx` has its access token already, parses each answer and retries nothing; "
        "ratios are to the faster of its two ways.",
        "",
    ]
    if not any("httpx" in point["lines"] for point in measured["points"]):
        lines += ["`httpx` is not installed (`make bench-deps`).", ""]
    return lines
