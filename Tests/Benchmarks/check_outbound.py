#!/usr/bin/env python3
"""Checks the part of a run about credentials and proxies: what it relies on, and what it reports."""
from __future__ import annotations

import json
import shutil
import subprocess
import unittest
import urllib.error
import urllib.request

import report_outbound
from check import PROGRAMS, Case
from outbound import SIZE, SQUID, Squid
from tables import table
from tls_upstream import NAME


class Exchange(Case):
    """The upstream's token exchange."""

    def test_an_exchange_names_the_type_of_its_token(self) -> None:
        upstream = self.children.start([PROGRAMS / "upstream", "--require-bearer"], stdout=subprocess.PIPE)
        base = upstream.stdout.readline().decode().strip()

        def token(grant: str) -> dict:
            fields = {"Authorization": "Basic YmVuY2g6YmVuY2g="}
            request = urllib.request.Request(f"{base}/token", f"grant_type={grant}&subject_token=x".encode(), fields)
            with urllib.request.urlopen(request, timeout=10) as response:
                return json.load(response)

        exchanged = token("urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange")
        self.assertEqual(exchanged["issued_token_type"], "urn:ietf:params:oauth:token-type:access_token")
        own = token("client_credentials")
        self.assertNotIn("issued_token_type", own)
        self.assertEqual(own["access_token"], exchanged["access_token"])
        with self.assertRaises(urllib.error.HTTPError):
            token("password")


@unittest.skipUnless(shutil.which(SQUID), "squid is not installed")
class ThroughAProxy(Case):
    """The server's name is known to the proxy only."""

    def fetch(self, *more: object) -> dict:
        url = f"{self.base.replace('127.0.0.1', NAME)}/open/1k"
        command = [PROGRAMS / "curl_multi", "--url", url, "--in-flight", 4, "--expect-bytes", SIZE, "--requests", 40]
        return self.children.measure([*command, *more], 30)

    def connections(self) -> int:
        with urllib.request.urlopen(f"{self.base}/stats", timeout=10) as response:
            return json.load(response)["connections"]

    def test_requests_pass_through_it_or_fail(self) -> None:
        upstream = self.children.start([PROGRAMS / "upstream"], stdout=subprocess.PIPE)
        self.base = upstream.stdout.readline().decode().strip()
        self.directory.chmod(0o711)
        squid = Squid(self.children, self.directory / "squid")
        for more in ([], ["--fresh"]):
            line = self.fetch("--proxy", squid.url, *more)
            self.assertEqual((line["requests"], line["failed"], line["bodyBytes"]), (40, 0, 40 * SIZE), more)
        self.assertEqual(self.fetch()["failed"], 40)


def line(rate: float, p50: float = 100) -> dict:
    return {"requestsPerSecond": rate, "latencyUs": {"p50": p50, "p99": p50}, "serverCpuUs": 1.0}


class Report(unittest.TestCase):
    """Targets, and rows with all cells."""

    def test_the_ratio_is_of_the_rounds(self) -> None:
        own, peer = [line(90), line(45), line(80)], [line(100), line(50), line(100)]
        self.assertEqual(report_outbound.ratios(own, peer), (0.9, 0.8, 0.9))

    def test_targets_through_a_proxy(self) -> None:
        for in_flight, rate, p50, good in [(32, 80, 999, True), (32, 79, 1, False), (1, 9, 250, True), (1, 200, 251, False)]:
            point = {"inFlight": in_flight, "lines": {"postern": [line(rate, p50)], "curl": [line(100)]}}
            self.assertEqual(report_outbound.proxy_verdict(point)[1], good, (in_flight, rate, p50))

    def test_every_row_has_all_cells(self) -> None:
        auths = {"clientCredentials": [line(100)], "onBehalfOf": [line(90)], "credential": [line(89)]}
        names = {"postern": [line(1)], "curl": [line(1)], "posternDirect": [line(1)], "curlDirect": [line(1)]}
        measured = {
            "rounds": 1,
            "seconds": 1,
            "credentials": {"points": [{"inFlight": 1, "lines": auths}], "tokenRequests": 2},
            "proxied": {"points": [{"way": "tunnel", "inFlight": 32, "lines": names}], "proxy": "p", "upstream": "u"},
        }
        text = "\n".join(report_outbound.sections(measured))
        cells = {row.count("|") for row in text.splitlines() if row.startswith("|")}
        self.assertEqual(cells, {table(["x"] * 10, [])[0].count("|")})
        self.assertEqual((text.count("| met |"), text.count("**missed**")), (2, 1))
        self.assertIn("not installed", "\n".join(report_outbound.sections(measured | {"proxied": None})))


if __name__ == "__main__":
    unittest.main()
