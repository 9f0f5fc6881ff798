"""The sections of the report that are about growth."""
from __future__ import annotations

import statistics

from tables import median, met, table

PAIR_KIB = 8
START_MS = {1000: 60, 5000: 200}
RELOAD_MS = {1000: 100, 5000: 400}
WAIT_MS = 5  # that the longest wait during reloads may exceed the longest without
CALL_RATIO = 1.1
HEAD = ["", "median", "lowest", "highest", "target", ""]


def _spread(name: str, values: list[float], target: float) -> list[str]:
    middle = statistics.median(values)
    cells = [f"{value:.1f}" for value in (middle, min(values), max(values))]
    return [name, *cells, f"≤ {target}", met(middle <= target)]


def _mib(kib: int) -> str:
    return f"{kib / 1024:.1f} MiB"


def longest_ms(reloads: dict, name: str) -> float:
    return reloads[name]["calls"]["latencyUs"]["max"] / 1e3


def pair_kib(count: dict, when: str) -> float:
    """The resident size of an issuer with its resource."""
    return (count["sizes"][when] - count["base"][when]) / (count["pairs"] - 1)


def _rows(count: dict, rate: int) -> list[list[str]]:
    pairs, reloads = count["pairs"], count["reloads"]
    quiet = longest_ms(reloads, "quiet")
    rows = []
    for when, what in (("idleKib", f"**{pairs:,}**: RSS a pair, idle"), ("usedKib", "RSS a pair, each used once")):
        size = pair_kib(count, when)
        rows.append([f"{what}, KiB", f"{size:.1f}", "", "", f"≤ {PAIR_KIB}", met(size <= PAIR_KIB)])
    rows += [
        _spread("start to a connected socket, ms", count["startMs"], START_MS[pairs]),
        _spread("`reloadConfig`, one resource changed, ms", reloads["one"]["milliseconds"], RELOAD_MS[pairs]),
        _spread("`reloadConfig`, all resources changed, ms", reloads["all"]["milliseconds"], RELOAD_MS[pairs]),
        [f"longest wait of {rate:,} `getInfo` a second without a reload, ms", f"{quiet:.1f}", "", "", "–", ""],
    ]
    for name, what in (("one", "one resource"), ("all", "all resources")):
        longest, limit = longest_ms(reloads, name), quiet + WAIT_MS
        number = len(reloads[name]["milliseconds"])
        rows.append(
            [
                f"the same during {number} reloads of {what}, ms",
                f"{longest:.1f}",
                "",
                "",
                f"≤ {limit:.1f}",
                met(longest <= limit),
            ]
        )
    return rows


def call_ratio(row: dict) -> float:
    return median(row["many"], "serverCpuUs") / median(row["one"], "serverCpuUs")


def _calls(rows: list[dict]) -> list[str]:
    body = []
    for row in rows:
        rounds = [many["serverCpuUs"] / one["serverCpuUs"] for many, one in zip(row["many"], row["one"])]
        ratio = call_ratio(row)
        body.append(
            [
                row["name"],
                *(f"{median(row[which], 'serverCpuUs'):.1f}" for which in ("one", "many")),
                f"{ratio:.2f}",
                f"{min(rounds):.2f}–{max(rounds):.2f}",
                f"≤ {CALL_RATIO}",
                met(ratio <= CALL_RATIO),
            ]
        )
    return table(["", "CPU µs/call, one", "many", "ratio", "lowest–highest", "target", ""], body)


def sections(measured: dict) -> list[str]:
    """Their Markdown."""
    counts = measured["counts"]
    title = " and ".join(f"{count['pairs']:,}" for count in counts)
    base = _mib(counts[0]["base"]["idleKib"])
    sizes = "; ".join(
        f"{_mib(count['sizes']['idleKib'])} with {count['pairs']:,}, {_mib(count['afterReloadsKib'])} after the reloads"
        for count in counts
    )
    connections, pipeline = measured["flight"]
    return [
        f"## {title} issuers and resources",
        "",
        *table(HEAD, [row for count in counts for row in _rows(count, measured["rate"])]),
        "A pair is an issuer and a resource of it, each with a name, a URL and a client of its own. RSS, idle: "
        f"{base} with one pair, {sizes}. Reloads are called one after the other, each with another file; every one "
        "must report changed resources and nothing else.",
        "",
        "## Processor time of a call as its surroundings grow",
        "",
        *_calls(measured["calls"]),
        f"{connections} connections × {pipeline} pipelined, {measured['rounds']} rounds of {measured['seconds']:g} s; "
        "1 KB fetches, `auth: none`. The other connections are open and idle; `getAccessToken` is called for all "
        "sessions in turn.",
        "",
    ]
