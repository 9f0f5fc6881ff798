"""What was measured of earlier versions, and the chart of it. Standard library only.

    python3 Tests/Benchmarks/history.py    draws the chart again from history.json
"""
from __future__ import annotations

import json
import pathlib
from html import escape

from c_sidecar import SHAPES
from tables import median, ratio_of

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "history.json"
CHART = HERE.parent.parent / "proto-docs/benchmarks.svg"  # next to the page
TARGETS = {name: ratio for name, _, _, ratio, _ in SHAPES}
KEPT = 40  # versions in the chart
TITLE = "## The C sidecar over the versions"

# The size of a panel, and what is around it.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, GAP = 600, 220, 84, 190, 34, 92, 28
COLOURS = ["#1f6feb", "#bf5b04", "#1a7f37"]
GREY, INK, LINE = "#8c959f", "#1f2328", "#d0d7de"


def entry(results: dict) -> dict:
    """What of a run's C sidecar section is kept."""
    facts = dict(results["facts"])
    rows = results["sidecar"]["rows"]
    version, _, commit = facts["Postern"].partition(", commit ")
    return {
        "version": version.removeprefix("postern "),
        "commit": commit.removesuffix(" with changes"),
        "changed": commit.endswith(" with changes"),
        "date": facts["Date"],
        "cpu": facts["CPU"],
        "ratio": {row["name"]: round(ratio_of(row)[0], 3) for row in rows},
        "cpuUs": {row["name"]: round(median(row["postern"], "serverCpuUs"), 1) for row in rows},
        "yardstickCpuUs": {row["name"]: round(median(row["peer"], "serverCpuUs"), 1) for row in rows},
    }


def read(path: pathlib.Path = FILE) -> list[dict]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def appended(entries: list[dict], new: dict) -> list[dict]:
    """`entries` with `new` at their end, instead of an earlier measurement of the same version."""
    same = ("version", "commit", "changed")
    return [one for one in entries if any(one[key] != new[key] for key in same)] + [new]


def write(entries: list[dict], path: pathlib.Path = FILE) -> None:
    """One version a line, so that a change of the file shows which are new."""
    lines = ",\n".join(" " + json.dumps(one, ensure_ascii=False) for one in entries)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def sections(entries: list[dict]) -> list[str]:
    """The chart's part of the page."""
    if not entries:
        return []
    first, last = entries[0], entries[-1]
    return [
        TITLE,
        "",
        f"![Ratio to the C sidecar and processor time of a fetch, by version]({CHART.name})",
        "",
        f"A 1 KB fetch, `auth: none`, from {_label(first)} ({first['date']}) to {_label(last)} ({last['date']}), which "
        "is the table above. Top: Postern's requests/s divided by the C sidecar's of the same run, with the targets as "
        "dashes. Bottom: Postern's processor time of a fetch; grey is the C sidecar's, which shows how much faster or "
        "busier the machine was. A plus sign marks a version with changes that were not committed."
        + "".join(f" {_label(one)}: {one['note']}." for one in entries if "note" in one),
        "",
    ]


# -- the chart


def _label(one: dict) -> str:
    return one["commit"] + ("+" if one["changed"] else "")


def _ceiling(value: float) -> float:
    """The end of an axis that reaches `value`: a round number a little above it."""
    step = 10.0 ** (len(str(int(value))) - 1) if value >= 1 else 0.1
    while step * 10 < value * 1.05:
        step *= 10
    for factor in (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12.5, 15):
        if step * factor >= value * 1.05:
            return step * factor
    return step * 20


def _polyline(points: list[tuple[float, float]], colour: str, more: str = "") -> list[str]:
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    line = f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"{more}/>'
    dots = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"{more}/>' for x, y in points]
    return [line, *dots] if len(points) > 1 else dots


def _text(x: float, y: float, text: str, anchor: str = "start", colour: str = INK, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"{more}>{escape(text)}</text>'


def _spread(wanted: list[float], least: float) -> list[float]:
    """Heights near the wanted ones that are at least so far apart, for labels."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = list(wanted)
    for before, index in zip(order, order[1:]):
        placed[index] = max(placed[index], placed[before] + least)
    return placed


class _Panel:
    """One diagram: a series for each shape over the versions."""

    def __init__(self, top: float, entries: list[dict], title: str, end: float) -> None:
        self.top, self.entries, self.title, self.end = top, entries, title, end

    def x(self, index: int) -> float:
        count = len(self.entries)
        return LEFT + (WIDTH / 2 if count == 1 else WIDTH * index / (count - 1))

    def y(self, value: float) -> float:
        return self.top + HEIGHT * (1 - value / self.end)

    def points(self, member: str, shape: str) -> list[tuple[float, float]]:
        return [
            (self.x(index), self.y(one[member][shape]))
            for index, one in enumerate(self.entries)
            if shape in one.get(member, {})
        ]

    def frame(self, form: str) -> list[str]:
        lines = [_text(LEFT, self.top - 12, self.title, more=' font-weight="600"')]
        for step in range(6):
            value = self.end * step / 5
            y = self.y(value)
            lines.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}" stroke="{LINE}"/>')
            lines.append(_text(LEFT - 8, y + 4, format(value, form), "end"))
        return lines

    def labels(self, names: list[str], heights: list[float], colours: list[str]) -> list[str]:
        spread = _spread(heights, 16)
        return [_text(LEFT + WIDTH + 12, y + 4, name, colour=c) for name, y, c in zip(names, spread, colours)]


def _series(panel: _Panel, member: str, shapes: list[str], form: str) -> list[str]:
    lines, names, heights = [], [], []
    for shape, colour in zip(shapes, COLOURS):
        points = panel.points(member, shape)
        lines += _polyline(points, colour)
        value = panel.entries[-1][member].get(shape)
        names.append(f"{shape}: {format(value, form)}" if value is not None else shape)
        heights.append(points[-1][1])
    return lines + panel.labels(names, heights, COLOURS)


def chart(entries: list[dict]) -> str:
    """An SVG of both panels."""
    entries = entries[-KEPT:]
    shapes = [shape for shape in TARGETS if any(shape in one["ratio"] for one in entries)]
    highest = max([*(one["ratio"][shape] for one in entries for shape in one["ratio"]), *TARGETS.values()])
    ratios = _Panel(TOP, entries, "Requests/s, Postern divided by the C sidecar", _ceiling(highest))
    top = TOP + HEIGHT + TOP + GAP
    most = max(value for one in entries for member in ("cpuUs", "yardstickCpuUs") for value in one[member].values())
    times = _Panel(top, entries, "Processor time of a fetch, µs", _ceiling(most))
    lines = ratios.frame(".2f")
    for shape, colour in zip(shapes, COLOURS):
        y = ratios.y(TARGETS[shape])
        dashes = f'stroke="{colour}" stroke-dasharray="5 4"'
        lines.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}" {dashes}/>')
    lines += _series(ratios, "ratio", shapes, ".2f")
    lines += times.frame(".0f")
    for shape in shapes:
        lines += _polyline(times.points("yardstickCpuUs", shape), GREY, ' opacity="0.6"')
    lines += _series(times, "cpuUs", shapes, ".0f")
    below = top + HEIGHT + 14
    for index, one in enumerate(entries):
        x = times.x(index)
        rotated = f' transform="rotate(-45 {x:.1f} {below})"'
        lines.append(_text(x, below, f"{_label(one)} {one['date'][5:10]}", "end", more=rotated))
    width, height = LEFT + WIDTH + RIGHT, top + HEIGHT + BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="system-ui, sans-serif" font-size="12" role="img">',
            "<title>A 1 KB fetch over the versions, compared with a C sidecar</title>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *lines,
            "</svg>",
            "",
        ]
    )


def draw() -> None:
    """The chart's file, as history.json has it."""
    CHART.write_text(chart(read()), encoding="utf-8")


if __name__ == "__main__":
    draw()
