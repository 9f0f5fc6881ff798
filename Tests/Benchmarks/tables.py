"""Cells and tables in Markdown."""


def rate(value):
    return f"{value:,.0f}"


def us(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def met(good):
    return "met" if good else "**missed**"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]
