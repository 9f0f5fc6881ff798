"""The section of the report that is about the clients of Python and Node."""

import statistics

from tables import met, table, us

TITLE = "## A call through the clients compared with the raw socket"
HEAD = ["", "socket p50 µs", "client p50 µs", "added µs", "lowest–highest", "target", ""]


def sections(rows):
    """The section's lines."""
    body = []
    for row in rows:
        # Of each round by itself: what disturbs one of the two disturbs both.
        added = [client - raw for client, raw in zip(row["clientUs"], row["socketUs"])]
        middle = statistics.median(added)
        body.append(
            [
                row["name"],
                us(statistics.median(row["socketUs"])),
                us(statistics.median(row["clientUs"])),
                us(middle),
                f"{us(min(added))}–{us(max(added))}",
                f"≤ {row['target']}",
                met(middle <= row["target"]),
            ]
        )
    return [
        TITLE,
        "",
        *table(HEAD, body),
        "One `getInfo` after the other: bytes on a plain socket of the same language, without reading the answer's JSON, and the client "
        "with typed results. Medians of alternating rounds.",
        "",
    ]
