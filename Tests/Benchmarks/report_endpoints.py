"""The section about endpoints, as Markdown."""
from __future__ import annotations

import statistics
from typing import Any

from tables import median, met, rate, table, us

MOST_KIB = 4 << 10
LEAST_RATIO = 0.95
END_US = 10_000
TITLES = {
    "none": "the main socket, no endpoints", "through": "through an endpoint",
    "thousand": "the main socket, next to a thousand endpoints", "after": "the main socket, after their end",
}


def sections(results: dict[str, Any]) -> list[str]:
    """Heading, tables and what to know of them."""
    base = median(results["lines"]["none"], "requestsPerSecond")
    rows = []
    for name, title in TITLES.items():
        lines = results["lines"][name]
        ratio = median(lines, "requestsPerSecond") / base
        rows.append([
            title, rate(median(lines, "requestsPerSecond")), us(median(lines, "latencyUs", "p50")),
            us(median(lines, "latencyUs", "p99")), f"{median(lines, 'serverCpuUs'):.1f}",
            *(["–", "–", ""] if name == "none" else [f"{ratio:.2f}", f"≥ {LEAST_RATIO}", met(ratio >= LEAST_RATIO)]),
        ])
    ends = sorted(results["endUs"])
    late = sum(value > END_US for value in ends)
    other = [
        [f"memory of {results['endpoints']:,} endpoints, KiB", f"{results['kib']:,}", f"≤ {MOST_KIB:,}", met(results["kib"] <= MOST_KIB)],
        [f"end of a fetch under way after `revokeEndpoint`, µs: median of {len(ends)}", us(statistics.median(ends)), "–", ""],
        ["the same, highest", us(ends[-1]), f"≤ {END_US:,}", met(not late)],
    ]
    connections, pipeline = results["load"]
    return [
        "## Endpoints",
        "",
        f"`getInfo` over {connections} connections with {pipeline} requests in flight on each. The end is measured at the child: from the moment the "
        f"maker sends `revokeEndpoint` until the child has read the error of its fetch.",
        "",
        *table(["", "req/s", "p50 µs", "p99 µs", "CPU µs/req", "ratio", "target", ""], rows),
        *table(["", "", "target", ""], other),
    ]
