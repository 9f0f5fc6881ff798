#!/usr/bin/env python3
"""Checks the programs of the benchmark of Adobe Pass, and its part of the report."""
from __future__ import annotations

import json
import subprocess
import time
import unittest
import urllib.error
import urllib.request

import adobe_devices
import report_adobe_pass
from check import PROGRAMS, Case
from check_fetch import HERE, PEERS
from tables import table


class LeanServer(Case):
    """The C program that answers like Adobe Pass, and those who call it directly."""

    def setUp(self) -> None:
        super().setUp()
        upstream = self.children.start([PROGRAMS / "upstream"], stdout=subprocess.PIPE)
        self.base = upstream.stdout.readline().decode().strip() + "/adobe"
        form = b"grant_type=client_credentials&client_id=bench&client_secret=bench-secret"
        with urllib.request.urlopen(f"{self.base}/o/client/token", form, timeout=10) as answer:
            self.fields = {"Authorization": f"Bearer {json.load(answer)['access_token']}"}
        self.url = f"{self.base}/api/v2/REF30/decisions/authorize/Cablevision"

    def answer(self, url: str, body: bytes | None = None, fields: dict[str, str] | None = None) -> dict:
        request = urllib.request.Request(url, body, self.fields if fields is None else fields)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def test_a_permit_has_a_media_token_that_lives(self) -> None:
        (decision,) = self.answer(self.url, b'{"resources":["news"]}')["decisions"]
        self.assertIs(decision["authorized"], True)
        self.assertTrue(decision["token"]["serializedToken"])
        self.assertGreater(decision["token"]["notAfter"], time.time() * 1000)
        profiles = self.answer(f"{self.base}/api/v2/REF30/profiles/Cablevision")["profiles"]
        self.assertGreater(profiles["Cablevision"]["notAfter"], time.time() * 1000)
        self.assertIn("client_secret", self.answer(f"{self.base}/o/client/register", b"{}"))

    def test_wrong_requests_get_no_permit(self) -> None:
        for body, fields, status in [
            (b'{"resources":["news"]}', {}, 401),
            (b'{"resources":["news"]}', {"Authorization": "Bearer other"}, 401),
            (b'{"resources":["sports"]}', None, 400),
            (None, None, 405),
        ]:
            with self.subTest(body=body, fields=fields), self.assertRaises(urllib.error.HTTPError) as problem:
                self.answer(self.url, body, fields)
            self.assertEqual(problem.exception.code, status)

    def test_programs_notice_wrong_answers(self) -> None:
        body = self.directory / "body"
        body.write_bytes(b'{"resources":["news"]}')
        plan = {"devices": [self.fields], "body": '{"resources":["news"]}', "resource": "news", "params": []}
        commands: dict[str, list] = {}
        for name, url, resource in (("good", self.url, "news"), ("path", f"{self.base}/none", "news"), ("resource", self.url, "sports")):
            path = self.directory / f"{name}.json"
            path.write_text(json.dumps(plan | {"url": url, "resource": resource}), encoding="ascii")
            if PEERS.exists() and not subprocess.run([PEERS, "-c", "import httpx"], check=False).returncode:
                commands[f"httpx {name}"] = [PEERS, HERE / "peers/authorize.py", "--through", "httpx", "--plan", path]
        field = f"Authorization: {self.fields['Authorization']}"
        commands["curl good"] = [PROGRAMS / "curl_multi", "--url", self.url, "--post", body, "--header", field]
        commands["curl header"] = [PROGRAMS / "curl_multi", "--url", self.url, "--post", body]
        for name, command in commands.items():
            with self.subTest(name):
                line = self.children.measure([*command, "--in-flight", 2, "--seconds", 0.2, "--warm-up", 0.05], 30)
                self.assertEqual(line["failed"] == 0, name.endswith("good"))


class Minimum(unittest.TestCase):
    """The least number of polls."""

    def test_a_poll_at_once_and_one_after_the_login(self) -> None:
        for seconds, polls in [(0, 1), (0.1, 2), (2.0, 2), (5.0, 2), (5.1, 3), (14.9, 4)]:
            self.assertEqual(adobe_devices.polls(seconds), polls, seconds)

    def test_no_two_devices_share_an_address(self) -> None:
        devices = [adobe_devices.device(number) for number in range(1000)]
        self.assertEqual(len({one["address"] for one in devices}), 1000)
        self.assertEqual(len({one["id"] for one in devices}), 1000)


class Report(unittest.TestCase):
    """Ratios and targets."""

    @staticmethod
    def line(rate: float) -> dict:
        return {"requestsPerSecond": rate, "latencyUs": {"p50": 1.0, "p99": 2.0}, "serverCpuUs": 1.0}

    def measured(self, made: dict, ours: float) -> dict:
        row = {"name": "return", "seconds": 1.0, "connections": 1, "made": made, "minimum": {"E7": 10, "E10": 10}}
        lines = {"file": [self.line(ours)], "memory": [self.line(1)], "httpx": [self.line(100)], "curl": [self.line(1)]}
        journeys = {"devices": 10, "rows": [row], "throttled": 0}
        return {"journeys": journeys, "points": [{"server": "double", "lines": lines}], "rounds": 1, "seconds": 1.0}

    def test_more_requests_than_the_minimum_miss_the_target(self) -> None:
        for made, total, good in [
            ({"E7": 10, "E10": 10}, "1.000", "met"),
            ({"E7": 10, "E10": 11}, "1.050", "**missed**"),
            ({"E7": 10, "E10": 10, "token": 1}, "1.050", "**missed**"),
        ]:
            with self.subTest(made):
                rows = report_adobe_pass._journey(self.measured(made, 1)["journeys"]["rows"][0])
                self.assertEqual([rows[0][4], rows[0][6]], [total, good])
                self.assertEqual(len(rows), 1 + len(made))

    def test_the_ratio_of_calls(self) -> None:
        for ours, cells in [(300, ["3.00", "3.00–3.00", "≥ 3", "met"]), (299, ["2.99", "2.99–2.99", "≥ 3", "**missed**"])]:
            rows = report_adobe_pass._rates(self.measured({}, ours)["points"][0])
            self.assertEqual(rows[0][6:], cells)
            self.assertEqual(rows[2][6:], ["", "", "", ""])

    def test_every_row_has_all_cells(self) -> None:
        text = "\n".join(report_adobe_pass.sections(self.measured({"E7": 10}, 1)))
        found = [row.count("|") for row in text.splitlines() if row.startswith("|")]
        heads = [table(head, [])[0].count("|") for head in (report_adobe_pass.HEAD_OF_JOURNEYS, report_adobe_pass.HEAD_OF_RATES)]
        self.assertEqual(found, [heads[0]] * 5 + [heads[1]] * 6)
        self.assertNotIn("make bench-deps", text)


if __name__ == "__main__":
    unittest.main()
