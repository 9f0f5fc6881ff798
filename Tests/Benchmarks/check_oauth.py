#!/usr/bin/env python3
"""Checks the part of the report about programs with tokens of their own."""
from __future__ import annotations

import unittest

import report_oauth


def line(rate: float, p50: float, tokens: int = 1) -> dict:
    latency = {"p50": p50, "p99": 2 * p50, "max": 3 * p50}
    return {"requestsPerSecond": rate, "latencyUs": latency, "serverCpuUs": 1000.0, "tokens": tokens}


def point(life: int, flight: int, clients: tuple[str, ...]) -> dict:
    lines = {name: [line(1000 + 100 * number, 500 + 100 * number)] for number, name in enumerate(clients)}
    return {"life": life, "style": "asyncio", "inFlight": flight, "lines": lines}


class Report(unittest.TestCase):
    def setUp(self) -> None:
        both, all_of_them = ("postern", "authlib"), ("postern", "authlib", "bare", "client")
        self.measured = {
            "rounds": 1,
            "seconds": 1.0,
            "bytes": 99,
            "points": [point(3600, 1, all_of_them), point(3600, 16, all_of_them), point(2, 16, both)],
            "cold": {name: [10.0, 30.0, 20.0] for name in report_oauth.COLD},
            "versions": ["authlib 1", "httpx 1"],
        }

    def test_every_row_has_all_cells(self) -> None:
        text = "\n".join(report_oauth.sections(self.measured))
        rows = [found.count("|") for found in text.splitlines() if found.startswith("|")]
        self.assertEqual(rows, [12] * (2 + 4 + 4 + 2) + [5] * (2 + 4))
        self.assertIn("0.91 to 0.91 times authlib's fetches/s", text)
        self.assertIn("asyncio 1 and 1", text)

    def test_added_is_what_goes_on_top(self) -> None:
        self.assertEqual(report_oauth.added(self.measured["points"][0]), -100)

    def test_libraries_may_be_missing(self) -> None:
        self.assertIn("make bench-deps", "\n".join(report_oauth.sections(None)))


if __name__ == "__main__":
    unittest.main()
