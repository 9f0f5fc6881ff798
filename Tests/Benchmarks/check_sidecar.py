#!/usr/bin/env python3
"""Checks the C sidecar, and what the report makes of it, of growth and of earlier versions."""
from __future__ import annotations

import base64
import json
import pathlib
import socket
import subprocess
import tempfile
import time
import unittest
import xml.dom.minidom
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import history
import machine
import report_scale
import report_sidecar
from c_sidecar import SHAPES
from check import PROGRAMS, Case
from processes import wait_for_socket

BODIES = {
    "/plain": b'{"a":"\\"\\\\\x01\x7f\n"}' + "äé€😀".encode() + b"12345678\"",
    "/binary": bytes(range(256)),
    "/cut": "€".encode()[:2],
    "/surrogate": b"12345678\xed\xa0\x80",
    "/empty": b"",
}


class Upstream(BaseHTTPRequestHandler):
    """Answers with a body of `BODIES`, or with what it was sent."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # a response in one write

    def answer(self) -> None:
        if self.path == "/redirect":
            self.send_response(302)
            self.send_header("Location", "/plain")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = BODIES.get(self.path)
        if body is None:
            sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            body = json.dumps({"method": self.command, "x": self.headers.get("X-Test"), "body": sent}).encode()
        self.send_response(200, "Fine \\ \"here\"")
        self.send_header("X-Twice", "one")
        self.send_header("x-twice", 'tw"o')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = answer

    def log_message(self, *_: object) -> None:
        pass


class CSidecar(Case):
    def setUp(self) -> None:
        super().setUp()
        self.upstream = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
        self.addCleanup(self.upstream.server_close)
        self.addCleanup(self.upstream.shutdown)
        Thread(target=self.upstream.serve_forever, daemon=True).start()
        self.base = f"http://127.0.0.1:{self.upstream.server_port}"
        self.start()

    def start(self, *arguments: object) -> None:
        self.path = self.directory / f"s{len(list(self.directory.iterdir()))}"
        command = [PROGRAMS / "sidecar", "--base-url", self.base + "/", "--socket", self.path, *arguments]
        self.server = self.children.start(command, log=self.directory / "log")
        wait_for_socket(self.path, self.server, self.directory / "log").close()

    def exchange(self, *lines: bytes) -> list[dict]:
        """The answers to all that is sent before the connection is half closed."""
        with wait_for_socket(self.path, self.server) as connection:
            connection.settimeout(20)
            connection.sendall(b"".join(lines))
            connection.shutdown(socket.SHUT_WR)
            received = b""
            while chunk := connection.recv(1 << 20):
                received += chunk
        return [json.loads(line) for line in received.splitlines()]

    @staticmethod
    def request(id: object, **params: object) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": id, "method": "fetchResource", "params": params}).encode() + b"\n"

    def fetch(self, **params: object) -> dict:
        [answer] = self.exchange(self.request(1, **params))
        return answer["result"]

    def test_bodies_arrive_as_they_are(self) -> None:
        for path, body in BODIES.items():
            with self.subTest(path):
                result = self.fetch(path=path)
                if path in ("/binary", "/cut", "/surrogate"):
                    self.assertEqual(base64.b64decode(result["bodyBase64"], validate=True), body)
                else:
                    self.assertEqual(result["body"].encode(), body)

    def test_a_result_has_what_the_response_had(self) -> None:
        result = self.fetch(path="redirect", resource="any")
        self.assertEqual((result["status"], result["reason"]), (200, 'Fine \\ "here"'))
        self.assertEqual(result["url"], f"{self.base}/plain")
        self.assertEqual(result["headers"]["x-twice"], ["one", 'tw"o'])
        self.assertEqual(result["body"].encode(), BODIES["/plain"])
        self.assertEqual(result["timing"].keys(), {"totalMs", "queueMs", "connectMs", "firstByteMs"})

    def test_options_of_a_request_do_not_reach_the_next_one(self) -> None:
        first = self.fetch(path="echo", method="PUT", body="text", headers={"X-Test": "yes"})
        self.assertEqual(json.loads(first["body"]), {"method": "PUT", "x": "yes", "body": "text"})
        self.assertEqual(self.fetch(path="plain", method="HEAD")["body"], "")
        self.assertEqual(json.loads(self.fetch(path="echo")["body"]), {"method": "GET", "x": None, "body": ""})

    def test_every_pipelined_request_is_answered_once(self) -> None:
        for arguments in ([], ["--transfers", 2]):
            self.start(*arguments)
            with self.subTest(arguments):
                ids = [*range(150), *(f'"{number}\\' for number in range(50))]
                answers = self.exchange(*(self.request(id, path="plain") for id in ids))
                self.assertEqual(sorted(map(str, ids)), sorted(str(answer["id"]) for answer in answers))
                self.assertTrue(all(answer["result"]["body"].encode() == BODIES["/plain"] for answer in answers))

    def test_bad_input_is_answered_and_harms_nothing(self) -> None:
        for text, reason in {
            b"{\n": "parse_error",
            b"[]\n": "invalid_request",
            b'{"id":1,"method":"getInfo"}\n': "method_not_found",
            self.request(1, path="plain", stream=True): "invalid_params",
            self.request(1, path="plain", method="PUT", headers={"a": 1}): "invalid_params",
            self.request(1, path=7): "invalid_params",
        }.items():
            with self.subTest(text):
                [answer] = self.exchange(text)
                self.assertEqual(answer["error"]["data"]["reason"], reason)
        self.assertEqual(self.exchange(b'{"method":"fetchResource","params":{}}\n', b"\n\n", b"{"), [])
        self.assertEqual(json.loads(self.fetch(path="echo")["body"]), {"method": "GET", "x": None, "body": ""})

    def test_connections_that_go_and_an_upstream_that_goes(self) -> None:
        for _ in range(20):
            with wait_for_socket(self.path, self.server) as connection:
                connection.sendall(self.request(1, path="plain") * 50)
        self.assertEqual(self.fetch(path="plain")["status"], 200)
        descriptors = pathlib.Path(f"/proc/{self.server.pid}/fd")
        end = time.monotonic() + 10
        while len(list(descriptors.iterdir())) > 64 + 10 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertLessEqual(len(list(descriptors.iterdir())), 64 + 10)
        self.upstream.shutdown()
        self.upstream.server_close()
        time.sleep(0.1)
        answers = self.exchange(*(self.request(number, path="plain") for number in range(100)))
        reasons = {answer["error"]["data"]["reason"] for answer in answers if "error" in answer}
        self.assertLessEqual(reasons, {"server_unreachable"})
        self.assertEqual(len(answers), 100)


def line(rate: float, cpu: float) -> dict:
    return {"requestsPerSecond": rate, "latencyUs": {"p50": 1, "p99": 2, "max": 3000}, "serverCpuUs": cpu}


def sidecar(rates: list[float], cpu: float = 75) -> dict:
    peers = {"peer": [line(100, 40)], "curl": [line(200, 30)]}
    rows = [
        {"name": name, "target": target, "cpuTarget": most, "postern": [line(own, cpu)], **peers}
        for (name, _, _, target, most), own in zip(SHAPES, rates)
    ]
    return {"rounds": 1, "seconds": 1.0, "rows": rows}


class Report(unittest.TestCase):
    def test_targets_of_the_c_sidecar(self) -> None:
        for rates, cpu, ratios, cpus in [
            ([70, 85, 100], 75, [True] * 3, [None, True, None]),
            ([69, 84, 99], 75.1, [False] * 3, [None, False, None]),
        ]:
            rows = sidecar(rates, cpu)["rows"]
            self.assertEqual([report_sidecar.ratio_verdict(row)[1] for row in rows], ratios)
            verdicts = [report_sidecar.cpu_verdict(row) for row in rows]
            self.assertEqual([verdict and verdict[1] for verdict in verdicts], cpus)
        cells = [text.count("|") for text in report_sidecar.sections(sidecar([1, 2, 3])) if text.startswith("|")]
        self.assertEqual(cells, [11] * (2 + 9))

    def test_targets_of_growth(self) -> None:
        calls = {"calls": line(1, 1)}
        reload = {"milliseconds": [100.0, 100.0], **calls}
        sizes = {"idleKib": 8 * 999, "usedKib": 8 * 999 + 1}
        count = {"pairs": 1000, "base": {"idleKib": 0, "usedKib": 0}, "sizes": sizes, "afterReloadsKib": 1}
        count |= { "startMs": [60.0], "reloads": {"quiet": calls, "one": reload, "all": reload}}
        row = {"name": "a", "one": [line(1, 10)], "many": [line(1, 11)]}
        worse = row | {"many": [line(1, 11.1)]}
        measured = {"rounds": 1, "seconds": 1.0, "rate": 1000, "flight": (4, 8)}
        measured |= {"counts": [count], "calls": [row, worse]}
        text = "\n".join(report_scale.sections(measured))
        self.assertEqual((text.count("**missed**"), text.count("| met |")), (2, 7))
        rows = [found.count("|") for found in text.splitlines() if found.startswith("|")]
        self.assertEqual(rows, [7] * (2 + 8) + [8] * (2 + 2))

    def test_other_programs_are_seen(self) -> None:
        class Idle:
            @staticmethod
            def cpu_seconds() -> float:
                return 0.0

        watch = machine.Watch(Idle())
        subprocess.run(["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"], check=True)
        conditions = watch.conditions()
        self.assertGreater(conditions["othersShare"], 0.05)
        self.assertIn("not a quiet machine", machine.shown(conditions))
        self.assertNotIn("not a quiet machine", machine.shown(conditions | {"othersShare": 0.0}))


class History(unittest.TestCase):
    POSTERN = "postern 1.2, commit abc with changes"
    RESULTS = {"facts": [("Date", "2026-01-02 03:04 UTC"), ("CPU", "any"), ("Postern", POSTERN)]}

    def entries(self, *commits: str) -> list[dict]:
        entries: list[dict] = []
        for number, commit in enumerate(commits, 1):
            results = self.RESULTS | {"sidecar": sidecar([10 * number, 20 * number, 30 * number], 300 / number)}
            new = history.entry(results) | {"commit": commit, "date": f"2026-01-{number:02}"}
            entries = history.appended(entries, new)
        return entries

    def test_a_version_is_there_once(self) -> None:
        entries = self.entries("a", "b", "a")
        self.assertEqual([one["commit"] for one in entries], ["b", "a"])
        self.assertEqual(entries[1]["ratio"], dict(zip(history.TARGETS, [0.3, 0.6, 0.9])))
        self.assertEqual((entries[1]["version"], entries[1]["changed"]), ("1.2", True))

    def test_the_file_is_read_as_it_was_written(self) -> None:
        directory = self.enterContext(tempfile.TemporaryDirectory(prefix="postern-bench-check-"))
        for entries in ([], self.entries("a", "b")):
            path = pathlib.Path(directory) / "history.json"
            history.write(entries, path)
            self.assertEqual(history.read(path), entries)

    def test_the_chart_is_well_formed_and_inside_its_frame(self) -> None:
        for commits in (["a"], ["a<&\"", "b"], [str(number) for number in range(100)]):
            drawn = xml.dom.minidom.parseString(history.chart(self.entries(*commits))).documentElement
            width, height = int(drawn.getAttribute("width")), int(drawn.getAttribute("height"))
            circles = drawn.getElementsByTagName("circle")
            self.assertEqual(len(circles), 9 * min(len(commits), history.KEPT))
            for circle in circles:
                self.assertTrue(0 < float(circle.getAttribute("cx")) < width)
                self.assertTrue(0 < float(circle.getAttribute("cy")) < height)

    def test_a_note_is_on_the_page(self) -> None:
        self.assertIn("a+: busy.", "\n".join(history.sections([one | {"note": "busy"} for one in self.entries("a")])))

    def test_the_chart_is_that_of_the_recorded_history(self) -> None:
        self.assertEqual(history.CHART.read_text(encoding="utf-8"), history.chart(history.read()))


if __name__ == "__main__":
    unittest.main()
