"""The sections of the report that are about credentials and proxies."""
from __future__ import annotations

import statistics

from tables import median, met, rate, table, us

CREDENTIAL_RATIO = 0.9  # of the requests/s with client credentials
PROXY_RATIO = 0.8  # of libcurl's requests/s through the same proxy, with 32 in flight
ADDED_US = 150  # to libcurl's p50 through the same proxy, with one in flight
NUMBERS = ["req/s", "p50 µs", "p99 µs", "CPU µs/req"]
WAYS = {"tunnel": "https, in a tunnel", "absolute": "http, in absolute form"}
NAMES = {
    "postern": "**Postern**",
    "curl": "libcurl",
    "curlFresh": "libcurl, a connection for each request",
    "posternDirect": "Postern, no proxy",
    "curlDirect": "libcurl, no proxy",
}


def ratios(own: list[dict], peer: list[dict]) -> tuple[float, float, float]:
    """The median, the lowest and the highest ratio of one round's requests/s: other programs that keep the machine busy
    slow both sides of a round."""
    rounds = [a["requestsPerSecond"] / b["requestsPerSecond"] for a, b in zip(own, peer)]
    return statistics.median(rounds), min(rounds), max(rounds)


def _numbers(lines: list[dict]) -> list[str]:
    return [
        rate(median(lines, "requestsPerSecond")),
        us(median(lines, "latencyUs", "p50")),
        us(median(lines, "latencyUs", "p99")),
        f"{median(lines, 'serverCpuUs'):.1f}",
    ]


def _shown(own: list[dict], peer: list[dict]) -> list[str]:
    middle, low, high = ratios(own, peer)
    return [f"{middle:.2f}", f"{low:.2f}–{high:.2f}"]


def _credential_rows(point: dict) -> list[list[str]]:
    rows = []
    base = point["lines"]["clientCredentials"]
    for auth, lines in point["lines"].items():
        title = "" if rows else f"**{point['inFlight']} in flight**"
        verdict = ["", "", "–", ""]
        if auth != "clientCredentials":
            good = ratios(lines, base)[0] >= CREDENTIAL_RATIO
            verdict = [*_shown(lines, base), f"≥ {CREDENTIAL_RATIO}", met(good)]
        rows.append([title, f"`{auth}`", *_numbers(lines), *verdict])
    return rows


def proxy_verdict(point: dict) -> tuple[str, bool]:
    """The target for Postern compared with libcurl through the same proxy, and whether it is met."""
    own, peer = point["lines"]["postern"], point["lines"]["curl"]
    if point["inFlight"] == 1:
        added = median(own, "latencyUs", "p50") - median(peer, "latencyUs", "p50")
        return f"added p50 ≤ {ADDED_US} µs ({added:+,.0f})", added <= ADDED_US
    return f"≥ {PROXY_RATIO}", ratios(own, peer)[0] >= PROXY_RATIO


def _proxy_rows(point: dict) -> list[list[str]]:
    rows = []
    all_lines = point["lines"]
    for name, lines in all_lines.items():
        title = "" if rows else f"**{WAYS[point['way']]}, {point['inFlight']} in flight**"
        verdict = ["", "", "–", ""]
        if name == "curl":
            target, good = proxy_verdict(point)
            verdict = [*_shown(all_lines["postern"], lines), target, met(good)]
        elif name in ("curlFresh", "curlDirect"):
            own = all_lines["postern" if name == "curlFresh" else "posternDirect"]
            verdict = [*_shown(own, lines), "–", ""]
        rows.append([title, NAMES[name], *_numbers(lines), *verdict])
    return rows


def sections(measured: dict) -> list[str]:
    """Their Markdown."""
    how = f"1 KB, {measured['rounds']} rounds of {measured['seconds']:g} s, alternately; 32 in flight are 4 connections × 8. "
    how += "The ratio is the median of the rounds' ratios. "
    credentials, proxied = measured["credentials"], measured["proxied"]
    lines = ["## Warm fetches by `auth`", ""]
    head = ["", "`auth`", *NUMBERS, "ratio", "lowest–highest", "target", ""]
    lines += table(head, [row for point in credentials["points"] for row in _credential_rows(point)])
    lines += [
        f"{how}All of them warm, over HTTP/1.1, at the same path, which requires the token. `onBehalfOf` names the same "
        "inbound token, a JWT with ES256, in each call; the credential is a file. Postern requested "
        f"{credentials['tokenRequests']} tokens in all, of which one was an exchange.",
        "",
        "## Fetches through a proxy compared with libcurl through the same proxy",
        "",
    ]
    if proxied is None:
        return lines + ["squid or nginx is not installed.", ""]
    head = ["", "", *NUMBERS, "Postern's ratio", "lowest–highest", "target", ""]
    lines += table(head, [row for point in proxied["points"] for row in _proxy_rows(point)])
    return lines + [
        f"{how}`auth: none`, HTTP/1.1. The proxy is {proxied['proxy']}, one process, without a cache and a log. In a "
        f"tunnel the server is {proxied['upstream']} with TLS; in absolute form it is `upstream.c`, and Postern makes a "
        "connection to the proxy for each request. Without a proxy, the ratio is Postern's to libcurl's, both directly.",
        "",
    ]
