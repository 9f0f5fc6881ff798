#!/usr/bin/env python3
"""Checks the programs that decisions are compared with, and their part of the report."""
from __future__ import annotations

import json
import subprocess
import unittest
import urllib.error
import urllib.request

import report_preauthorize
from check import PROGRAMS, Case
from check_fetch import HERE, PEERS


class DecisionPoint(Case):
    """The decision point of the benchmark, and those who ask it directly."""

    def setUp(self) -> None:
        super().setUp()
        upstream = self.children.start([PROGRAMS / "upstream"], stdout=subprocess.PIPE)
        self.base = upstream.stdout.readline().decode().strip()
        self.url = f"{self.base}/access/v1/evaluations"

    def question(self, count: int) -> bytes:
        resources = [{"resource": {"type": "channel", "id": f"{number}"}} for number in range(count)]
        return json.dumps({"evaluations": resources}, separators=(",", ":")).encode()

    def test_every_resource_is_decided(self) -> None:
        for count in (1, 10, 1000):
            with urllib.request.urlopen(self.url, self.question(count), timeout=10) as answer:
                self.assertEqual(json.load(answer), {"evaluations": [{"decision": True}] * count})
        for count in (0, 1001):
            with self.assertRaises(urllib.error.HTTPError):
                urllib.request.urlopen(self.url, self.question(count), timeout=10)
        with urllib.request.urlopen(f"{self.base}/stats", timeout=10) as answer:
            self.assertEqual(json.load(answer)["evaluations"], 3)

    def test_wrong_answers_are_noticed(self) -> None:
        path = self.directory / "question.json"
        path.write_bytes(self.question(3))
        clients: dict[str, list] = {"curl_multi": [PROGRAMS / "curl_multi"]}
        if PEERS.exists() and not subprocess.run([PEERS, "-c", "import httpx"], check=False).returncode:
            clients["httpx"] = [PEERS, HERE / "peers/decide.py", "--resources", 3]
        for name, command in clients.items():
            command = [*command, "--post", path, "--in-flight", 2, "--seconds", 0.2, "--warm-up", 0.05]
            with self.subTest(name):
                good = self.children.measure([*command, "--url", self.url], 30)
                self.assertEqual(good["failed"], 0)
                self.assertGreater(good["requests"], 3)
                self.assertGreater(self.children.measure([*command, "--url", f"{self.base}/nothing"], 30)["failed"], 0)
        if "httpx" in clients:
            path.write_bytes(self.question(2))
            command = [*clients["httpx"], "--post", path, "--url", self.url, "--seconds", 0.2]
            self.assertGreater(self.children.measure(command, 30)["failed"], 0)


class Report(unittest.TestCase):
    """Which targets concern a point, and whether they are met."""

    @staticmethod
    def line(rate: float, p50: float, p99: float = 1) -> dict:
        return {"requestsPerSecond": rate, "latencyUs": {"p50": p50, "p99": p99}, "serverCpuUs": 1.0}

    def point(self, count: int, in_flight: int, cached: dict, cold: dict, direct: dict) -> dict:
        lines = {"cached": [cached], "cold": [cold], "curl": [direct], "httpx": [direct]}
        return {"resources": count, "inFlight": in_flight, "lines": lines}

    def test_targets(self) -> None:
        for count, in_flight, rate, p99, p50, cached, cold in [
            (10, 16, 45_000, 1000, 1, True, None),
            (10, 16, 44_999, 1000, 1, False, None),
            (10, 16, 45_000, 1001, 1, False, None),
            (1, 1, 1, 1, 250, None, True),
            (1, 1, 1, 1, 251, None, False),
            (10, 1, 1, 1, 400, None, True),
            (100, 1, 1, 1, 401, None, False),
            (100, 16, 1, 1, 1, None, None),
        ]:
            with self.subTest(count=count, in_flight=in_flight, rate=rate):
                direct = self.line(1, 100)
                point = self.point(count, in_flight, self.line(rate, 1, p99), self.line(1, p50), direct)
                verdicts = (report_preauthorize.cached_verdict(point), report_preauthorize.cold_verdict(point))
                self.assertEqual([verdict and verdict[1] for verdict in verdicts], [cached, cold])

    def test_every_row_has_all_cells(self) -> None:
        point = self.point(10, 1, self.line(1, 1), self.line(1, 1), self.line(1, 1))
        identical = {"calls": 100, "resources": 100, "batch": 50, "requests": [2, 3]}
        measured = {"points": [point], "identical": identical, "rounds": 1, "seconds": 1.0}
        text = "\n".join(report_preauthorize.sections(measured))
        rows = [line.count("|") for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(rows, [12] * 6)
        self.assertIn("2, 3 requests", text)
        self.assertIn("**missed**", text)


if __name__ == "__main__":
    unittest.main()
