"""The table of a run, as Markdown."""

import statistics

import report_tokens
from tables import met, rate, table, us

START_MS, IDLE_MIB, FLAT_SHARE, FLAT_KIB = 30, 25, 0.05, 1024


def _median(lines, *path):
    values = []
    for line in lines:
        for key in path:
            line = line[key]
        values.append(line)
    return statistics.median(values)


def _ratio(row):
    """The ratio of the medians, and the lowest and highest ratio of one turn."""
    postern, peer = row["postern"], row["peer"]
    turns = [a["requestsPerSecond"] / b["requestsPerSecond"] for a, b in zip(postern, peer)]
    ratio = _median(postern, "requestsPerSecond") / _median(peer, "requestsPerSecond")
    return ratio, min(turns), max(turns)


def _compared(rows, peer_name):
    head = [
        "",
        "Postern req/s",
        "p50 µs",
        "p99 µs",
        "CPU µs/req",
        f"{peer_name} req/s",
        "p50 µs",
        "p99 µs",
        "CPU µs/req",
        "ratio",
        "lowest–highest",
        "target",
        "",
    ]
    body = []
    for row in rows:
        ratio, low, high = _ratio(row)
        cells = [row["name"]]
        for name in ("postern", "peer"):
            lines = row[name]
            cells += [
                rate(_median(lines, "requestsPerSecond")),
                us(_median(lines, "latencyUs", "p50")),
                us(_median(lines, "latencyUs", "p99")),
                f"{_median(lines, 'serverCpuUs'):.1f}",
            ]
        target = row["target"]
        body.append(
            cells
            + [
                f"{ratio:.2f}",
                f"{low:.2f}–{high:.2f}",
                f"≥ {target}" if target else "–",
                met(ratio >= target) if target else "",
            ]
        )
    return table(head, body)


def _startup(startup):
    rows = []
    for name, times in startup["times"].items():
        connect, answer = statistics.median(times["connect"]), statistics.median(times["answer"])
        ours = name == "Postern"
        rows.append(
            [
                f"{name}: start to a connected socket, ms",
                f"{connect:.1f}",
                f"{min(times['connect']):.1f}",
                f"{max(times['connect']):.1f}",
                f"≤ {START_MS}" if ours else "–",
                met(connect <= START_MS) if ours else "",
            ]
        )
        rows.append(
            [
                f"{name}: start to the first answer, ms",
                f"{answer:.1f}",
                f"{min(times['answer']):.1f}",
                f"{max(times['answer']):.1f}",
                "–",
                "",
            ]
        )
    for name, size in startup["idleKib"].items():
        ours = name == "Postern"
        rows.append(
            [
                f"{name}: idle RSS, MiB",
                f"{size / 1024:.1f}",
                "",
                "",
                f"≤ {IDLE_MIB}" if ours else "–",
                met(size <= IDLE_MIB * 1024) if ours else "",
            ]
        )
    return table(["", f"median of {startup['starts']}", "lowest", "highest", "target", ""], rows)


def _soak(soaks):
    rows = []
    for soak in soaks:
        sizes = soak["sizesKib"]
        # The first tenth fills pools and caches; from there on nothing may grow.
        growth = soak["settledKib"] - sizes[1]
        flat = growth <= max(FLAT_KIB, FLAT_SHARE * sizes[1])
        rows.append(
            [
                f"{soak['requests']:,} × {soak['name']} ({soak['connections']} connections × {soak['pipeline']})",
                *(f"{size / 1024:.1f}" for size in (sizes[0], sizes[1], sizes[5], sizes[10], soak["settledKib"])),
                f"{growth / 1024:+.1f}",
                "flat",
                met(flat),
            ]
        )
    return table(
        ["RSS, MiB", "idle", "after 10 %", "50 %", "100 %", "idle again", "growth since 10 %", "target", ""], rows
    )


def markdown(results):
    """The whole page."""
    options = results["options"]
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`. What is measured and how to read it: `Tests/Benchmarks/README.md`.",
        "",
    ]
    if options["quick"]:
        lines += ["A quick run: for trying out, not for the record.", ""]
    lines += [f"- {name}: {value}" for name, value in results["facts"]]
    lines += [
        f"- Each number is the median of {options['rounds']} turns of {options['seconds']:g} s, Postern and its peer by "
        f"turns in the same run; Postern logs at `{options['log_level']}`.",
        "",
    ]
    if "startup" in results:
        lines += ["## Start and idle", "", *_startup(results["startup"])]
    if "echo" in results:
        rows = results["echo"]
        threads = ", ".join(f"{row['name']}: {row['threads']}" for row in rows)
        lines += [
            "## `getInfo` beside a C server (epoll and jansson)",
            "",
            *_compared(rows, "C server"),
            f"Threads of the C server, the best count for each line: {threads}.",
            "",
        ]
    if "fetch" in results:
        fetch = results["fetch"]
        flights = ", ".join(
            sorted(
                {
                    f"{row['connections'] * row['pipeline']} = {row['connections']} connections × "
                    f"{row['pipeline']} pipelined"
                    for row in fetch["rows"]
                    if row["pipeline"] > 1
                }
            )
        )
        lines += [
            "## `fetchResource` beside plain libcurl (multi interface, C)",
            "",
            *_compared(fetch["rows"], "libcurl"),
            f"In flight through Postern: {flights}. Every fetch reached the upstream; Postern asked it for "
            f"{fetch['tokenRequests']} token{'' if fetch['tokenRequests'] == 1 else 's'} in all.",
            "",
        ]
    if "tokens" in results:
        lines += report_tokens.sections(results["tokens"])
    if "soak" in results:
        lines += ["## Memory over many requests", "", *_soak(results["soak"])]
    return "\n".join(lines).rstrip()
