#!/usr/bin/env python3
"""Checks the programs that fetches are compared with: clients that overlook wrong responses would be too fast."""
from __future__ import annotations

import pathlib
import shutil
import subprocess
import unittest

import report_fetch
from check import PROGRAMS, Case
from tls_upstream import TLSUpstream, is_installed

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE.parent.parent / ".build/benchmark-peers/bin/python"
SIZE = 1024


class Clients(Case):
    """Each client of the fetches against the upstream."""

    def setUp(self) -> None:
        super().setUp()
        upstream = self.children.start([PROGRAMS / "upstream"], stdout=subprocess.PIPE)
        self.base = upstream.stdout.readline().decode().strip()
        self.clients: dict[str, list] = {"curl_multi": [PROGRAMS / "curl_multi"]}
        if shutil.which("node"):
            self.clients["node"] = ["node", HERE / "peers/fetch.mjs"]
        for library in ("requests", "httpx"):
            if PEERS.exists() and not subprocess.run([PEERS, "-c", f"import {library}"], check=False).returncode:
                self.clients[library] = [PEERS, HERE / "peers/fetch.py", "--library", library]

    def fetch(self, command: list, *arguments: object) -> dict:
        times = ["--in-flight", 3, "--seconds", 0.2, "--warm-up", 0.05]
        return self.children.measure([*command, *times, *arguments], 30)

    def test_whole_and_streamed_bodies_are_counted(self) -> None:
        for name, command in self.clients.items():
            for more in ([], ["--stream"]):
                with self.subTest(name, more=more):
                    line = self.fetch(command, "--url", f"{self.base}/open/1k", "--expect-bytes", SIZE, *more)
                    self.assertGreater(line["requests"], 3)
                    self.assertEqual((line["failed"], line["bodyBytes"]), (0, line["requests"] * SIZE))
                    counted = line["requestsPerSecond"] * line["seconds"]
                    self.assertAlmostEqual(counted, line["requests"], delta=3 if more else 0.01)
                    self.assertLessEqual(line["latencyUs"]["p50"], line["latencyUs"]["max"])

    def test_wrong_answers_are_noticed(self) -> None:
        for name, command in self.clients.items():
            for path, size in (("open/1k", SIZE + 1), ("open/nothing", SIZE), ("open/nothing", 21)):
                with self.subTest(name, path=path, size=size):
                    line = self.fetch(command, "--url", f"{self.base}/{path}", "--expect-bytes", size)
                    self.assertGreater(line["failed"], 0)
                    self.assertIn("status", line["firstFailure"])


@unittest.skipUnless(is_installed(), "nginx is not installed")
class BehindTLS(Case):
    """nginx with certificates of its own."""

    def test_each_port_speaks_its_protocol_to_those_who_trust_it(self) -> None:
        upstream = TLSUpstream(self.children, self.directory, {"1k": b"x" * SIZE})
        before = upstream.requests()
        requested = 0
        for base, more, version in [
            (upstream.http1, [], "HTTP/1.1"),
            (upstream.http1, ["--http2"], "HTTP/1.1"),
            (upstream.http2, ["--http2"], "HTTP/2"),
            (upstream.http2, ["--http2", "--multiplex"], "HTTP/2"),
        ]:
            command = [PROGRAMS / "curl_multi", "--url", f"{base}/open/1k", "--expect-bytes", SIZE, "--in-flight", 4]
            command += ["--requests", 40, *more]
            with self.subTest(base, more=more):
                line = self.children.measure([*command, "--cacert", upstream.ca_file], 30)
                self.assertEqual((line["requests"], line["failed"], line["httpVersion"]), (40, 0, version))
                requested += 40
                self.assertEqual(self.children.measure(command, 30)["failed"], 40)
        self.assertGreaterEqual(upstream.requests() - before, requested)


class Report(unittest.TestCase):
    """Which targets concern a point, and whether they are met."""

    @staticmethod
    def line(rate: float, p50: float, **more: object) -> dict:
        latency = {"p50": p50, "p99": p50}
        return {"requestsPerSecond": rate, "latencyUs": latency, "serverCpuUs": 1.0, "failed": 0, "requests": 9} | more

    def point(self, body: str, in_flight: int, own: dict, peer: dict) -> dict:
        lines = {"postern": [own], "curl": [peer], "requests": [peer], "httpx": [peer]}
        return {"body": body, "streamed": False, "inFlight": in_flight, "curlMultiplexes": False, "lines": lines}

    def test_targets(self) -> None:
        for body, in_flight, rate, p50, curl, requests in [
            ("1 KB", 1, 40, 249, True, False),
            ("1 KB", 1, 140, 251, False, True),
            ("1 KB", 32, 81, 999, True, False),
            ("1 KB", 256, 79, 1, False, False),
            ("1 MB", 32, 89, 1, False, False),
            ("1 MB", 256, 101, 1, True, True),
        ]:
            with self.subTest(body, in_flight=in_flight, rate=rate, p50=p50):
                point = self.point(body, in_flight, self.line(rate, p50), self.line(100, 100))
                self.assertEqual(report_fetch.verdict(point, "curl")[1], curl)
                self.assertEqual(report_fetch.verdict(point, "requests")[1], requests)
                self.assertIsNone(report_fetch.verdict(point, "httpx"))
                self.assertIsNone(report_fetch.verdict(point, "node"))

    def test_shared_connections_have_a_target_of_their_own(self) -> None:
        for body, in_flight, rate, good in [("1 KB", 32, 70, True), ("1 KB", 32, 69, False), ("1 KB", 256, 70, False)]:
            point = self.point(body, in_flight, self.line(rate, 1), self.line(100, 1)) | {"curlMultiplexes": True}
            self.assertEqual(report_fetch.verdict(point, "curl")[1], good)

    def test_a_client_is_compared_with_postern_in_the_same_rounds(self) -> None:
        point = self.point("1 KB", 32, self.line(50, 1), self.line(100, 1))
        point["lines"]["postern"] += [self.line(500, 1)] * 2
        self.assertEqual(report_fetch.verdict(point, "requests"), ("ratio > 1", False))

    def test_a_client_that_fetched_nothing_is_shown_and_not_compared_with(self) -> None:
        failed = self.line(5, 5, failed=1, firstFailure="a|b")
        gone = {"requests": 0, "totalRequests": 0, "failed": 1, "firstFailure": "it ended"}
        for nothing in (failed, gone, self.line(0, 0), self.line(5, 5, requests=0)):
            point = self.point("1 KB", 1, self.line(1, 1), nothing)
            self.assertIsNone(report_fetch.verdict(point, "requests"))
        point = self.point("1 KB", 1, self.line(1, 1), failed)
        fetch = {"transports": [{"name": "HTTP/1.1", "http2": False, "points": [point]}], "more": []}
        fetch |= {"rounds": 1, "seconds": 1, "flights": [[1, 1, 1]], "upstream": None, "tokenRequests": 1}
        text = "\n".join(report_fetch.sections(fetch))
        self.assertIn("failed: a\\|b", text)
        self.assertIn("0 of 0 targets met", text)
        self.assertEqual({line.count(" |") for line in text.splitlines() if line.startswith("| ")}, {11, 13})


if __name__ == "__main__":
    unittest.main()
