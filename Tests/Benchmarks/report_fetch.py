"""The sections of the report that are about fetches."""
from __future__ import annotations

from tables import compared, median, met, rate, ratio_of, table, us

RATIOS = {"1 KB": 0.8, "1 MB": 0.9}  # of libcurl's requests/s, where several are in flight
MULTIPLEXED_RATIO = 0.7  # of a 1 KB body over HTTP/2, 32 in flight, where libcurl multiplexes
ADDED_US = 150  # to libcurl's p50, with one in flight
NAMES = {"curl": "libcurl", "requests": "`requests` (Python)", "httpx": "`httpx` (Python)", "node": "`fetch` (Node)"}
HTTP2 = (
    "Postern has one exchange at a time on an HTTP/2 connection, and at most 64 connections to an origin. libcurl's "
    "transfers share connections (multiplexed) or have one each, whichever is faster at that point; 1 KB with 32 in "
    "flight is always measured with shared ones. `requests` and "
    "Node's `fetch` speak HTTP/1.1 to the same server."
)
HEAD = ["", "", "req/s", "p50 µs", "p99 µs", "CPU µs/req", "Postern's ratio", "lowest–highest", "added p50, µs"]
HEAD += ["target", ""]


def rounds(point: dict, name: str) -> dict[str, list[dict]]:
    """Postern and `name` in the rounds that both had and in which that client fetched something: on a busy machine a
    slow one may end nothing in its second."""
    both = zip(point["lines"]["postern"], point["lines"].get(name, []))
    good = [(a, b) for a, b in both if not b.get("failed") and b["requests"] * b["requestsPerSecond"] > 0]
    return {"postern": [a for a, _ in good], "peer": [b for _, b in good]}


def verdict(point: dict, name: str) -> tuple[str, bool] | None:
    """The target for Postern compared with `name` at this point, and whether it is met."""
    measured = rounds(point, name)
    if not measured["peer"]:
        return None
    ratio = ratio_of(measured)[0]
    if name == "requests":
        return "ratio > 1", ratio > 1
    if name == "curl" and point["inFlight"] == 1:
        return f"added ≤ {ADDED_US}", _added(measured) <= ADDED_US
    if name == "curl":
        is_small = point["body"] == "1 KB" and point["inFlight"] == 32
        target = MULTIPLEXED_RATIO if is_small and point["curlMultiplexes"] else RATIOS[point["body"]]
        return f"ratio ≥ {target}", ratio >= target
    return None


def _added(measured: dict[str, list[dict]]) -> float:
    own, peer = (median(measured[name], "latencyUs", "p50") for name in ("postern", "peer"))
    return own - peer


def _cells(lines: list[dict]) -> list[str]:
    per_second = median(lines, "requestsPerSecond")
    return [
        rate(per_second) if per_second >= 10 else f"{per_second:.1f}",
        us(median(lines, "latencyUs", "p50")),
        us(median(lines, "latencyUs", "p99")),
        f"{median(lines, 'serverCpuUs'):.1f}",
    ]


def _rows(point: dict, http2: bool) -> list[list[str]]:
    own = point["lines"]["postern"]
    where = f"{point['body']}{' streamed' if point['streamed'] else ''}, {point['inFlight']} in flight"
    rows = [[f"**{where}**", "**Postern**", *(f"**{cell}**" for cell in _cells(own)), "", "", "", "", ""]]
    for name, shown in NAMES.items():
        lines = point["lines"].get(name, [])
        measured = rounds(point, name)
        peer = measured["peer"]
        if name == "curl" and point["curlMultiplexes"]:
            shown += ", multiplexed"
        elif http2 and peer and peer[0]["httpVersion"] != "HTTP/2":
            shown += f", {peer[0]['httpVersion']}"
        if lines and not peer:
            reason = lines[0].get("firstFailure", "no answer in time").replace("|", "\\|")
            rows.append(["", shown, f"failed: {reason}", *[""] * 8])
        if not peer:
            continue
        ratio, low, high = ratio_of(measured)
        target, good = verdict(point, name) or ("–", None)
        added = f"{_added(measured):+,.0f}" if name == "curl" and point["inFlight"] == 1 else ""
        cells = [*_cells(peer), f"{ratio:.2f}", f"{low:.2f}–{high:.2f}", added, target]
        rows.append(["", shown, *cells, "" if good is None else met(good)])
    return rows


def _transport(one: dict) -> list[str]:
    rows = [row for point in one["points"] for row in _rows(point, one["http2"])]
    verdicts = [verdict(point, name) for point in one["points"] for name in NAMES]
    given = [good for _, good in filter(None, verdicts)]
    lines = [f"## `fetchResource` over {one['name']}", "", *table(HEAD, rows)]
    lines += [f"{sum(given)} of {len(given)} targets met." + (f" {HTTP2}" if one["http2"] else ""), ""]
    return lines


def _versions(fetch: dict) -> str:
    lines = [lines for one in fetch["transports"] for point in one["points"] for lines in point["lines"].values()]
    return ", ".join(dict.fromkeys(line["version"] for several in lines for line in several if line.get("version")))


def sections(fetch: dict) -> list[str]:
    """Their Markdown."""
    flights = ", ".join(
        f"{count} = {connections} connections × {pipeline} pipelined"
        for count, connections, pipeline in fetch["flights"]
        if count > 1
    )
    versions = _versions(fetch)
    upstream = f"Behind TLS: {fetch['upstream']}, one process. " if fetch["upstream"] else ""
    lines = [
        "## `fetchResource` compared with plain libcurl (multi interface, C)",
        "",
        *compared(fetch["more"], "libcurl"),
        f"HTTP/1.1. Fetches are measured in {fetch['rounds']} rounds of {fetch['seconds']:g} s. "
        f"In flight through Postern: {flights}. Every fetch reached the upstream; Postern requested "
        f"{fetch['tokenRequests']} token{'' if fetch['tokenRequests'] == 1 else 's'} in all.",
        "",
        "The tables below are of `auth: none`. Each of their lines is a client that fetches the same URL directly; "
        "the ratio is Postern's requests/s divided by the client's, and added p50 is Postern's p50 less libcurl's. "
        + upstream
        + (f"{versions}." if versions else "`make bench-deps` installs the clients in other languages."),
        "",
    ]
    for one in fetch["transports"]:
        lines += _transport(one)
    if len(fetch["transports"]) == 1:
        lines += ["nginx is not installed (`make bench-deps`): nothing over TLS.", ""]
    return lines
