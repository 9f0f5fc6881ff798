"""The section about neighbours, as Markdown."""

from tables import median, met, rate, table, us

TARGET, TIGHT_TARGET = 3.0, 2.0


def target(call, flood):
    """How many times its quiet p99 the caller's may be; None: no target."""
    if flood == "same":
        return None
    return TIGHT_TARGET if (call, flood) == ("getInfo", "fixedRate") else TARGET


def _row(row, name, what):
    quiet, during = median(row["quiet"], "latencyUs", "p99"), median(row[name], "latencyUs", "p99")
    ratios = [
        one["latencyUs"]["p99"] / alone["latencyUs"]["p99"] for one, alone in zip(row[name], row["quiet"])
    ]
    flood = median(row[name], "flood", "requestsPerSecond")
    rejected = max(line["rejected"] for line in row[name])
    limit = target(row["name"], name)
    return [
        f"`{row['name']}`, {row['rate']}/s, during {what}",
        us(median(row["quiet"], "latencyUs", "p50")),
        us(quiet),
        us(median(row[name], "latencyUs", "p50")),
        us(during),
        f"{during / quiet:.2f}",
        f"{min(ratios):.2f}–{max(ratios):.2f}",
        f"{rate(flood)} ({flood / row['rate']:,.0f} : 1)",
        rejected,
        f"≤ {limit:g}" if limit else "–",
        met(during / quiet <= limit) if limit else "",
    ]


def sections(results):
    """Heading, table and what to know of it."""
    head = [
        "", "quiet p50 µs", "quiet p99 µs", "flooded p50 µs", "flooded p99 µs", "p99 ratio", "lowest–highest",
        "flood answered/s", "rejected", "target", "",
    ]
    rows = [
        _row(row, name, what)
        for row in results["rows"]
        for name, what in (
            ("fixedRate", "another user's 50 times as much"),
            ("other", "another user's flood without bound"),
            ("same", "such a flood of the same user's"),
        )
    ]
    bound = results["concurrency"]
    return [
        "## A caller during a flood",
        "",
        f"One user sends few calls, on one connection and at a steady rate. A flood sends fifty times as "
        f"many over {results['connections']} connections, or as many as are answered, with 8 (`fetchResource`) or 16 requests in flight on "
        f"each. ES256 tokens, none of "
        f"them used by that user before; `fetchResource` fetches from the playground"
        + (f", with at most {bound} requests at a time (`limits.concurrency`). " if bound else ". ")
        + f"Medians of {results['rounds']} rounds of {results['seconds']:g} s. The flood, at `nice {results['nice']}`, the callers, "
        f"the upstreams and the sidecar share the processors of this machine.",
        "",
        *table(head, rows),
    ]
