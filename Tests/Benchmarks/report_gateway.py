"""The sections of the report that are about the gateway, forward authentication and requests that come in."""
from __future__ import annotations

from report_outbound import ratios
from tables import median, met, rate, table, us

ADDED_US = 150  # to the p50 of a request without a proxy, with one in flight
PROXY_RATIO = 0.6  # of nginx's requests/s as a plain proxy, with 32 in flight
EVENT_US = 1000  # what the first event of a stream may be later
FRONT_RATIO = 0.7  # of the requests/s of nginx with njs
PROOF_RATIO = 0.8  # of the C program's requests/s
NUMBERS = ["req/s", "p50 µs", "p99 µs", "CPU µs/req"]
GATEWAYS = ("unix", "loopback")
NAMES = {
    "direct": "direct",
    "nginx": "nginx",
    "squid": "squid",
    "mitmproxy": "mitmproxy",
    "unix": "**Postern**, Unix socket",
    "loopback": "**Postern**, loopback",
}
FRONTS = {
    "open": "nginx without authentication",
    "njs": "nginx and njs",
    "repeated": "nginx and **Postern**, tokens seen before",
    "new": "nginx and **Postern**, new tokens",
}
KINDS = {"cached": "tokens seen before", "new": "new tokens"}


def _numbers(lines: list[dict]) -> list[str]:
    return [
        rate(median(lines, "requestsPerSecond")),
        us(median(lines, "latencyUs", "p50")),
        us(median(lines, "latencyUs", "p99")),
        f"{median(lines, 'serverCpuUs'):.1f}",
    ]


def _compared(own: list[dict], peer: list[dict]) -> list[str]:
    middle, low, high = ratios(own, peer)
    return [f"{middle:.2f}", f"{low:.2f}–{high:.2f}"]


def added(own: list[dict], direct: list[dict], *path: str) -> float:
    """What one median is above the other, in µs."""
    return median(own, *path) - median(direct, *path)


def proxy_verdict(point: dict, name: str) -> tuple[str, bool] | None:
    """The target of the gateway, and whether it is met; None where nginx is not there to compare with."""
    lines = point["lines"]
    if point["inFlight"] == 1:
        return f"added p50 ≤ {ADDED_US}", added(lines[name], lines["direct"], "latencyUs", "p50") <= ADDED_US
    if "nginx" not in lines:
        return None
    return f"≥ {PROXY_RATIO} of nginx", ratios(lines[name], lines["nginx"])[0] >= PROXY_RATIO


def _proxy_rows(point: dict) -> list[list[str]]:
    rows = []
    all_lines = point["lines"]
    for name, lines in all_lines.items():
        title = "" if rows else f"**{point['inFlight']} in flight**"
        more = "" if name == "direct" else f"{added(lines, all_lines['direct'], 'latencyUs', 'p50'):+,.0f}"
        ratio = ["", ""]
        if name not in ("direct", "nginx") and "nginx" in all_lines:
            ratio = _compared(lines, all_lines["nginx"])
        verdict = proxy_verdict(point, name) if name in GATEWAYS else None
        target = [verdict[0], met(verdict[1])] if verdict else ["–", ""]
        rows.append([title, NAMES[name], *_numbers(lines), more, *ratio, *target])
    return rows


def _proxies(measured: dict) -> list[str]:
    points = measured["proxies"]["points"]
    processes = ", ".join(f"{point['inFlight']} in flight: {point['workers']}" for point in points)
    head = ["", "", *NUMBERS, "added p50, µs", "ratio to nginx", "lowest–highest", "target", ""]
    return [
        "## 1 KB through the gateway compared with other proxies",
        "",
        *table(head, [row for point in points for row in _proxy_rows(point)]),
        f"{measured['rounds']} rounds of {measured['seconds']:g} s, alternately; in flight are connections with one request "
        "each. The upstream requires a token: Postern adds it (`auth: clientCredentials`), the clients of everything else "
        "send it themselves. Ratios are the medians of the rounds' ratios of requests/s. The processor time is that of the "
        "program in the middle, and with `direct` of the upstream. nginx and mitmproxy are reverse proxies, squid is a "
        f"forward proxy without a cache; nothing logs but Postern. Processes of nginx, the faster number: {processes}. "
        f"{', '.join(measured['versions'])}.",
        "",
    ]


def event_verdict(point: dict, name: str) -> tuple[str, bool] | None:
    """The target of the first event, and whether it is met."""
    if name not in GATEWAYS or point["streams"] != 1:
        return None
    later = added(point["lines"][name], point["lines"]["direct"], "firstUs", "p50")
    return f"first ≤ {EVENT_US:,} later", later <= EVENT_US


def _event_rows(point: dict) -> list[list[str]]:
    rows = []
    for name, lines in point["lines"].items():
        title = "" if rows else f"**{point['streams']} at a time**"
        direct = point["lines"]["direct"]
        cells = [us(median(lines, kind, quantile)) for kind in ("firstUs", "laterUs") for quantile in ("p50", "p99")]
        more = "" if name == "direct" else f"{added(lines, direct, 'firstUs', 'p50'):+,.0f}"
        verdict = event_verdict(point, name)
        target = [verdict[0], met(verdict[1])] if verdict else ["–", ""]
        rows.append([title, NAMES[name], *cells, more, *target])
    return rows


def _events(events: dict) -> list[str]:
    head = ["", "", "first event, p50 µs", "p99 µs", "later events, p50 µs", "p99 µs", "added to the first, µs", "target", ""]
    return [
        "## Server-sent events through the gateway",
        "",
        *table(head, [row for point in events["points"] for row in _event_rows(point)]),
        f"Streams of {events['events']} events, {events['intervalMs']} ms apart. The first event is measured from before the "
        "request; each later one from the time in it, which the server wrote by the same clock. nginx with "
        "`proxy_buffering off`.",
        "",
    ]


def front_verdict(point: dict, name: str) -> tuple[str, bool] | None:
    """The target of forward authentication, and whether it is met."""
    if name not in ("repeated", "new"):
        return None
    return f"≥ {FRONT_RATIO}", ratios(point["lines"][name], point["lines"]["njs"])[0] >= FRONT_RATIO


def _front_rows(point: dict) -> list[list[str]]:
    rows = []
    for name, lines in point["lines"].items():
        title = "" if rows else f"**{point['algorithm']}, {point['inFlight']} in flight**"
        verdict = front_verdict(point, name)
        ratio = _compared(lines, point["lines"]["njs"]) if verdict else ["", ""]
        target = [verdict[0], met(verdict[1])] if verdict else ["–", ""]
        rows.append([title, FRONTS[name], point["workers"][name], *_numbers(lines), *ratio, *target])
    return rows


def _fronts(fronts: dict | None) -> list[str]:
    lines = ["## nginx with forward authentication compared with njs", ""]
    if fronts is None:
        return [*lines, "nginx or its module njs is not installed (`make bench-deps`).", ""]
    head = ["", "", "processes", *NUMBERS, "ratio to njs", "lowest–highest", "target", ""]
    return [
        *lines,
        *table(head, [row for point in fronts["points"] for row in _front_rows(point)]),
        "A file of 1 KB behind `auth_request`, over kept connections. The subrequest goes to `/.postern/auth/orders` on "
        "Postern's Unix socket, or to a script of njs that verifies the same tokens by the same rules with WebCrypto and a key "
        f"that it has as text. Tokens seen before are {fronts['repeated']} in turn; new ones are {fronts['tokens']:,} in turn, "
        "more than Postern's cache of verifications has. njs gets the new ones: it keeps nothing. The processor time is that "
        "of nginx and of Postern; processes are those of nginx, the faster number.",
        "",
    ]


def _proof_rows(point: dict) -> list[list[str]]:
    own, peer = point["lines"]["postern"], point["lines"]["peer"]
    title = f"**{KINDS[point['kind']]}, {point['inFlight']} in flight**"
    target = [f"≥ {PROOF_RATIO}", met(ratios(own, peer)[0] >= PROOF_RATIO)]
    threads = f"{point['threads']} thread{'s' if point['threads'] > 1 else ''}"
    return [
        [title, "**Postern**", *_numbers(own), *_compared(own, peer), *target],
        ["", f"C, {threads}", *_numbers(peer), "", "", "–", ""],
    ]


def _proofs(proofs: dict) -> list[str]:
    head = ["", "", *NUMBERS, "ratio", "lowest–highest", "target", ""]
    counts = " and ".join(f"{count:,}" for count in sorted({point["requests"] for point in proofs["points"]}))
    return [
        "## `validateRequest` with DPoP compared with C",
        "",
        *table(head, [row for point in proofs["points"] for row in _proof_rows(point)]),
        f"{counts} requests in each round, the same for both programs, over the Unix socket; 32 in flight are 4 connections "
        "× 8. Each request has a proof of its own (ES256) and an access token that is bound to its key (a JWT, ES256): one "
        f"of {proofs['shared']} tokens, or one that was not used before. The C program makes the same checks, keeps verified "
        "tokens and the uses of proofs in memory, and has as many threads as make it fastest.",
        "",
    ]


def replay_verdict(replays: dict) -> bool:
    """Whether exactly one replica accepted each proof."""
    return replays["accepted"] == [0, replays["pairs"], 0]


def _replays(replays: dict | None) -> list[str]:
    lines = ["## One DPoP proof at two replicas with one Redis", ""]
    if replays is None:
        return [*lines, "redis-server is not installed (`make deps`).", ""]
    none, one, both = replays["accepted"]
    head = ["proofs, each at both replicas at once", "accepted by one", "by both", "by none", "target", ""]
    row = [f"{replays['pairs']:,}", f"{one:,}", f"{both:,}", f"{none:,}", "one each", met(replay_verdict(replays))]
    return [
        *lines,
        *table(head, [row]),
        f"64 proofs at a time, {replays['seconds']:.1f} s in all; the first replica was the one that accepted in "
        f"{replays['first'] / max(one, 1):.0%} of the pairs.",
        "",
    ]


def sections(measured: dict) -> list[str]:
    """Their Markdown."""
    return [
        *_proxies(measured),
        *_events(measured["events"]),
        *_fronts(measured["forwardAuthentication"]),
        *_proofs(measured["proofs"]),
        *_replays(measured["replays"]),
    ]
