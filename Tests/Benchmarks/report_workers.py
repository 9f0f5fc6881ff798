"""The section of the report that is about one session in several processes."""
from __future__ import annotations

from tables import median, rate, ratio_of, table
from workers import LIFE, LIVES_A_ROUND

TITLE = "## One session in several processes compared with authlib"
NAMES = {
    "memory": "authlib, tokens in each process",
    "file": "authlib, tokens in a file, refreshed under a lock",
    "postern": "Postern's client",
}
HEAD = ["", "", "fetches/s", "token requests", "processes that lost the session", "first lost after, s", "Postern's ratio"]
HEAD += ["lowest–highest"]


def _rows(point: dict) -> list[list[str]]:
    count = point["processes"]
    title = f"**{count} process{'es' if count > 1 else ''}**"
    rows = []
    for way, name in NAMES.items():
        lines = point["lines"][way]
        firsts = [line["firstLostAfter"] for line in lines if line["firstLostAfter"] is not None]
        ratio = ["", ""]
        if way != "postern" and not any(line["lost"] for line in lines):
            middle, low, high = ratio_of({"postern": point["lines"]["postern"], "peer": lines})
            ratio = [f"{middle:.2f}", f"{low:.2f}–{high:.2f}"]
        rows.append([
            title, name, rate(median(lines, "requestsPerSecond")), f"{median(lines, 'tokens'):g}",
            f"{median(lines, 'lost'):g} of {count}", f"{min(firsts):.1f}" if firsts else "–", *ratio])
        title = ""
    return rows


def sections(measured: dict | None) -> list[str]:
    """Their Markdown."""
    if measured is None:
        return [TITLE, "", "authlib and `httpx` are not installed (`make bench-deps`).", ""]
    problems = {line["problem"] for point in measured["points"] for line in point["lines"]["memory"] if line["problem"]}
    return [
        TITLE,
        "",
        *table(HEAD, [row for point in measured["points"] for row in _rows(point)]),
        f"Blocking `httpx` with authlib {measured['authlib']}, and Postern's client with a file store, at the playground's "
        f"`/resource/orders`, as fast as they can. Access tokens live for {LIFE} s; each refresh replaces the refresh token, and "
        f"a replaced one that is used ends the session. Rounds of {LIFE * LIVES_A_ROUND} s; their number: {measured['rounds']}. "
        "A process that has lost the session stops, so there is no ratio then.",
        *([f"The first error of a process that lost it: `{sorted(problems)[0]}`."] if problems else []),
        "",
    ]
