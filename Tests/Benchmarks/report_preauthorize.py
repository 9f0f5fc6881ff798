"""The section of the report that is about decisions."""
from __future__ import annotations

from tables import median, met, rate, ratio_of, table, us

CACHED_RATE, CACHED_P99_US = 45_000, 1000
ADDED_US = {1: 150, 10: 300, 100: 300}  # by the number of resources
NAMES = {"curl": "libcurl (C), direct", "httpx": "`httpx` (Python), direct"}
HEAD = ["", "", "calls/s", "p50 µs", "p99 µs", "CPU µs/call", "cold's ratio", "cached's ratio", "added p50, µs"]
HEAD += ["target", ""]


def _cells(lines: list[dict]) -> list[str]:
    return [
        rate(median(lines, "requestsPerSecond")),
        us(median(lines, "latencyUs", "p50")),
        us(median(lines, "latencyUs", "p99")),
        f"{median(lines, 'serverCpuUs'):.1f}",
    ]


def cached_verdict(point: dict) -> tuple[str, bool] | None:
    """The target of cached decisions, and whether it is met."""
    if point["resources"] != 10 or point["inFlight"] == 1:
        return None
    lines = point["lines"]["cached"]
    good = median(lines, "requestsPerSecond") >= CACHED_RATE and median(lines, "latencyUs", "p99") <= CACHED_P99_US
    return f"≥ {CACHED_RATE:,}/s, p99 ≤ {CACHED_P99_US:,}", good


def added(point: dict) -> float:
    """What a cold call takes beyond the decision point's own time, as a plain C program sees that."""
    own, direct = (median(point["lines"][name], "latencyUs", "p50") for name in ("cold", "curl"))
    return own - direct


def cold_verdict(point: dict) -> tuple[str, bool] | None:
    """The target of cold calls, and whether it is met."""
    if point["inFlight"] != 1:
        return None
    target = ADDED_US[point["resources"]]
    return f"added ≤ {target}", added(point) <= target


def _rows(point: dict) -> list[list[str]]:
    count = point["resources"]
    title = f"{count} resource{'s' if count > 1 else ''}, {point['inFlight']} in flight"
    rows = []
    for name, shown, verdict in (
        ("cached", "Postern, cached", cached_verdict(point)),
        ("cold", "Postern, cold", cold_verdict(point)),
    ):
        target, good = verdict or ("–", None)
        more = f"{added(point):+,.0f}" if name == "cold" and point["inFlight"] == 1 else ""
        cells = [*_cells(point["lines"][name]), "", "", more]
        rows.append([title, shown, *cells, target, "" if good is None else met(good)])
        title = ""
    for name, shown in NAMES.items():
        lines = point["lines"].get(name)
        if not lines:
            continue
        ratios = [ratio_of({"postern": point["lines"][own], "peer": lines})[0] for own in ("cold", "cached")]
        rows.append(["", shown, *_cells(lines), *(f"{ratio:.2f}" for ratio in ratios), "", "–", ""])
    return rows


def sections(measured: dict) -> list[str]:
    """Their Markdown."""
    identical = measured["identical"]
    batches = -(-identical["resources"] // identical["batch"])
    good = all(count == batches for count in identical["requests"])
    lines = [
        "## `preauthorize` compared with libcurl and `httpx` at the same decision point",
        "",
        *table(HEAD, [row for point in measured["points"] for row in _rows(point)]),
        f"AuthZEN, one batch for each call, all permitted; rounds of {measured['seconds']:g} s, their number: "
        f"{measured['rounds']}. In flight are connections to Postern with one call each. Cached: no call reaches "
        "the decision point, which is checked. Cold: `LOCAL_CACHE` disabled, so that every call does. Ratios are "
        "Postern's calls/s divided by the client's; added p50 is that of a cold call less libcurl's.",
        "",
        f"{identical['calls']} identical cold calls at once about {identical['resources']} resources, "
        f"{identical['batch']} in a batch, caused {', '.join(str(count) for count in identical['requests'])} requests: one for each batch is "
        f"{batches}, {met(good)}.",
        "",
    ]
    if not any("httpx" in point["lines"] for point in measured["points"]):
        lines += ["`httpx` is not installed (`make bench-deps`).", ""]
    return lines
