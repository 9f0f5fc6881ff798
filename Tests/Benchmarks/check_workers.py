#!/usr/bin/env python3
"""Checks the part of the report about one session in several processes."""
from __future__ import annotations

import unittest

import report_workers
from tables import table


def line(rate: float, lost: int = 0) -> dict:
    after = 0.25 if lost else None
    return {"requestsPerSecond": rate, "tokens": 4, "lost": lost, "firstLostAfter": after, "problem": "OAuthError: x" if lost else ""}


class Report(unittest.TestCase):
    def setUp(self) -> None:
        lines = {"memory": [line(0, 8), line(5, 8)], "file": [line(100), line(200)], "postern": [line(300), line(300)]}
        self.measured = {"rounds": 2, "authlib": "1", "points": [{"processes": 8, "lines": lines}]}

    def test_lost_sessions_have_no_ratio(self) -> None:
        memory, file, _ = report_workers._rows(self.measured["points"][0])
        self.assertEqual(memory[4:], ["8 of 8", "0.2", "", ""])
        self.assertEqual(file[4:], ["0 of 8", "–", "2.00", "1.50–3.00"])

    def test_every_row_has_all_cells(self) -> None:
        text = "\n".join(report_workers.sections(self.measured))
        found = [row.count("|") for row in text.splitlines() if row.startswith("|")]
        self.assertEqual(found, [table(report_workers.HEAD, [])[0].count("|")] * 5)
        self.assertIn("`OAuthError: x`", text)

    def test_libraries_may_be_missing(self) -> None:
        self.assertIn("make bench-deps", "\n".join(report_workers.sections(None)))


if __name__ == "__main__":
    unittest.main()
