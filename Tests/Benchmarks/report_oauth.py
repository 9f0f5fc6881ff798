"""The section of the report that is about programs with tokens of their own."""
from __future__ import annotations

import statistics

from tables import median, rate, ratio_of, table, us

TITLE = "## `httpx` through Postern compared with `httpx` and authlib's OAuth2 session"
NAMES = {
    "postern": "`httpx` through Postern",
    "authlib": "`httpx` with authlib",
    "bare": "`httpx`, a token put in by hand",
    "client": "Postern's client, no `httpx`",
}
COLD = {
    "authlib": "`httpx` with authlib: fetches a token, its endpoint being given",
    "postern": "`httpx` through Postern, which has a token",
    "client": "Postern's client without `httpx`, the same",
    "fresh": "`httpx` through a Postern just started: discovery, token",
}
HEAD = ["", "", "fetches/s", "p50 µs", "p99 µs", "slowest, ms", "CPU µs/fetch", "tokens", "Postern's ratio", "lowest–highest"]
HEAD += ["added p50, µs"]


def added(point: dict) -> float:
    """What goes on top of authlib's p50, in microseconds."""
    own, peer = (median(point["lines"][name], "latencyUs", "p50") for name in ("postern", "authlib"))
    return own - peer


def _cells(lines: list[dict]) -> list[str]:
    return [
        rate(median(lines, "requestsPerSecond")),
        us(median(lines, "latencyUs", "p50")),
        us(median(lines, "latencyUs", "p99")),
        f"{median(lines, 'latencyUs', 'max') / 1000:.1f}",
        us(median(lines, "serverCpuUs")),
        f"{median(lines, 'tokens'):g}",
    ]


def _rows(point: dict) -> list[list[str]]:
    title = f"{point['style']}, {point['inFlight']} at a time, tokens of {point['life']:,} s"
    rows = []
    for name, shown in NAMES.items():
        lines = point["lines"].get(name)
        if not lines:
            continue
        more = ["", "", ""]
        if name == "authlib":
            ratio, low, high = ratio_of({"postern": point["lines"]["postern"], "peer": lines})
            more = [f"{ratio:.2f}", f"{low:.2f}–{high:.2f}", f"{added(point):+,.0f}"]
        rows.append([f"**{title}**" if title else "", shown, *_cells(lines), *more])
        title = ""
    return rows


def reading(measured: dict) -> list[str]:
    """What the figures say, for and against."""
    points = measured["points"]
    longest = max(point["life"] for point in points)
    long_lived = [point for point in points if point["life"] == longest]
    ratios = [ratio_of({"postern": point["lines"]["postern"], "peer": point["lines"]["authlib"]})[0] for point in points]
    shares = [
        median(point["lines"]["bare"], "serverCpuUs") / median(point["lines"]["authlib"], "serverCpuUs")
        for point in long_lived
    ]
    refreshed = [
        f"{point['style']} {median(point['lines']['postern'], 'tokens'):g} and "
        f"{median(point['lines']['authlib'], 'tokens'):g}"
        for point in points
        if point["life"] < longest and point["inFlight"] > 1
    ]
    return [
        f"Postern made {min(ratios):.2f} to {max(ratios):.2f} times authlib's fetches/s, though each of its fetches crosses "
        "another process and is JSON both ways. That is little of authlib's doing: `httpx` with a token put in by hand "
        f"takes {min(shares):.0%} to {max(shares):.0%} of its processor time. Postern's transport replaces "
        "`httpx`'s own HTTP/1.1 and connection pool, which are Python and slow down with every connection; the sidecar "
        "has libcurl for that. Against a client with a quick HTTP of its own the sidecar costs time instead: see "
        "libcurl above. Processor time is the program's and the sidecar's together, without the upstream's.",
        "",
        "When a token expires, Postern requests one for all waiting calls; authlib's asynchronous session has a lock for "
        "that, each thread of its blocking one requests a token, and whole seconds make it refresh early. Tokens in a "
        "round with short-lived ones, 16 at a time, "
        f"Postern and authlib: {', '.join(refreshed)}. authlib also requests one at the start of each round, as every "
        "process with tokens of its own does; Postern's is there for all processes.",
        "",
    ]


def _cold(cold: dict[str, list[float]]) -> list[str]:
    rows = [
        [COLD[name], *(f"{value:.0f}" for value in (statistics.median(times), min(times), max(times)))]
        for name, times in cold.items()
    ]
    return table([f"Start of Python to the first answer, ms; {len(cold['authlib'])} starts", "median", "lowest", "highest"], rows)


def sections(measured: dict | None) -> list[str]:
    """Their Markdown."""
    if measured is None:
        return [TITLE, "", "authlib and `httpx` are not installed (`make bench-deps`).", ""]
    seconds = f"{measured['seconds']:g} s"
    return [
        TITLE,
        "",
        *table(HEAD, [row for point in measured["points"] for row in _rows(point)]),
        f"The playground's `/resource/orders`, {measured['bytes']} bytes, with client credentials; every client refreshes a "
        f"token a tenth of its lifetime, at most 30 s, before its end. Rounds of {seconds}, with short-lived tokens at least "
        f"three lifetimes long; their number: {measured['rounds']}. {', '.join(measured['versions'])}.",
        "",
        *reading(measured),
        *_cold(measured["cold"]),
    ]
