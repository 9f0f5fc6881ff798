"""Cells and tables in Markdown."""

import statistics


def rate(value):
    return f"{value:,.0f}"


def us(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def met(good):
    return "met" if good else "**missed**"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


def median(lines, *path):
    """The median of one number over the rounds."""
    values = []
    for line in lines:
        for key in path:
            line = line[key]
        values.append(line)
    return statistics.median(values)


def ratio_of(row):
    """The ratio of the medians, and the lowest and highest ratio of one round."""
    postern, peer = row["postern"], row["peer"]
    rounds = [a["requestsPerSecond"] / b["requestsPerSecond"] for a, b in zip(postern, peer)]
    ratio = median(postern, "requestsPerSecond") / median(peer, "requestsPerSecond")
    return ratio, min(rounds), max(rounds)


def compared(rows, peer_name):
    """Postern and its peer side by side, a row for each scenario."""
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
        ratio, low, high = ratio_of(row)
        cells = [row["name"]]
        for name in ("postern", "peer"):
            lines = row[name]
            cells += [
                rate(median(lines, "requestsPerSecond")),
                us(median(lines, "latencyUs", "p50")),
                us(median(lines, "latencyUs", "p99")),
                f"{median(lines, 'serverCpuUs'):.1f}",
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
