#!/usr/bin/env python3
"""Measures Postern and C programs that do the same work, in one run on one machine. See README.md in this folder."""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import history
import machine
import report
from adobe_pass import AdobePassBench
from c_sidecar import CSidecarBench
from clients import ClientBench
from endpoints import EndpointBench
from fairness import FairnessBench
from fetch import FetchBench
from gateway import GatewayBench
from oauth import OAuthBench
from outbound import OutboundBench
from preauthorize import PreauthorizeBench
from processes import Children, Failed, call, cpu_seconds, resident_kib, tail, wait_for_socket
from scale import ScaleBench
from sessions import SessionBench
from tokens import TokenBench
from workers import WorkersBench

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# name, connections, requests in flight on each, target ratio
ECHO = [
    ("1 connection", 1, 1, None),
    ("16 connections", 16, 1, 0.85),
    ("1 connection, 64 pipelined", 1, 64, 0.85),
]


def say(text):
    print(text, file=sys.stderr, flush=True)


class Bench:
    """One run: its directory, its processes and what it has measured so far."""

    def __init__(self, options, directory, children):
        self.options = options
        self.directory = directory
        self.children = children
        self.log = directory / "postern.log"
        self.programs = pathlib.Path(options.programs).resolve()
        children.error_log = str(directory / "clients.log")

    # -- servers

    def write_configuration(self, upstream):
        secret = self.directory / "secret"
        secret.touch(mode=0o600)
        secret.write_text("bench-secret", encoding="ascii")
        configuration = {
            "issuers": {
                "bench": {
                    "issuer": upstream,
                    "clientId": "bench",
                    "clientAuth": "client_secret_basic",
                    "clientSecretFile": str(secret),
                    "scope": "bench",
                }
            },
            "resources": {
                "open": {"baseUrl": f"{upstream}/open/", "auth": "none"},
                "guarded": {"baseUrl": f"{upstream}/resource/", "issuer": "bench", "auth": "clientCredentials", "scope": "bench"},
            },
            "store": {"kind": "memory"},
            "log": {"level": self.options.log_level, "format": "json"},
            "development": {"plainHTTPOnLoopback": True},
        }
        path = self.directory / "postern.yaml"  # JSON is YAML
        path.write_text(json.dumps(configuration, indent=2), encoding="ascii")
        return path

    def start_upstream(self):
        child = self.children.start([self.programs / "upstream", "--require-bearer"], stdout=subprocess.PIPE)
        self.upstream = child.stdout.readline().decode().strip()
        if not self.upstream:
            raise Failed("the upstream did not start")
        self.configuration = self.write_configuration(self.upstream)

    def start_postern(self, name, guarded=True, configuration=None):
        socket_path = self.directory / f"{name}.sock"
        configuration = configuration or self.configuration
        command = [self.options.postern, "serve", "--config", configuration, "--socket", socket_path]
        return self.children.start(command, log=self.log, guarded=guarded), socket_path

    def start_c_server(self, name, threads, information=None, guarded=True):
        socket_path = self.directory / f"{name}.sock"
        command = [self.programs / "echo_server", "--socket", socket_path, "--threads", threads]
        command += ["--info", information] if information else []
        return self.children.start(command, guarded=guarded), socket_path

    # -- clients

    def load(
        self,
        socket_path,
        connections,
        pipeline,
        *,
        seconds=None,
        requests=None,
        request=None,
        requests_from=None,
        expect=None,
        stream_bytes=None,
    ):
        command = [
            self.programs / "load",
            "--socket",
            socket_path,
            "--connections",
            connections,
            "--pipeline",
            pipeline,
        ]
        if requests:
            command += ["--requests", requests]
        else:
            command += ["--seconds", seconds, "--warm-up", self.options.warm_up]
        command += ["--request", request] if request else []
        command += ["--requests-from", requests_from] if requests_from else []
        command += ["--expect", expect] if expect else []
        command += ["--stream-bytes", stream_bytes] if stream_bytes else []
        line = self.children.measure(command, timeout=600 if requests else seconds + self.options.warm_up + 60)
        if any(line["errors"].values()):
            raise Failed(f"wrong answers {line['errors']}, the first: {line.get('firstBadAnswer', '')}")
        return line

    def load_server(self, server, socket_path, *arguments, **named):
        """`load`, with the server's processor time for each request."""
        before = cpu_seconds(server.pid)
        line = self.load(socket_path, *arguments, **named)
        line["serverCpuUs"] = (cpu_seconds(server.pid) - before) * 1e6 / line["totalRequests"]
        return line

    def http_json(self, path, data=None, headers=None):
        request = urllib.request.Request(self.upstream + path, data=data, headers=headers or {})
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)

    # -- sections

    def measure_startup(self):
        """Milliseconds from before fork to a connected socket, and to the first answer; the size of an idle process."""
        say(f"start-up, {self.options.starts} starts")
        measured = {
            "Postern": self.start_postern,
            "C server": lambda name, guarded: self.start_c_server(name, 1, guarded=guarded),
        }
        times = {name: {"connect": [], "answer": []} for name in measured}
        for round_ in range(self.options.starts):
            for name, start in measured.items():
                begin = time.monotonic()
                child, socket_path = start(f"start-{round_}", guarded=False)
                connection = wait_for_socket(socket_path, child, self.log)
                times[name]["connect"].append((time.monotonic() - begin) * 1e3)
                call(connection, "getInfo")
                times[name]["answer"].append((time.monotonic() - begin) * 1e3)
                connection.close()
                self.children.stop(child)
                socket_path.unlink(missing_ok=True)
        result = {"starts": self.options.starts, "times": times, "idleKib": {}}
        for name, start in measured.items():
            child, socket_path = start("idle", guarded=False)
            wait_for_socket(socket_path, child, self.log).close()
            time.sleep(self.options.settle)
            result["idleKib"][name] = resident_kib(child.pid)
            self.children.stop(child)
            socket_path.unlink(missing_ok=True)
        return result

    def interleave(self, measured):
        """Rounds of all the programs alternately, the order reversed each time; a list of lines for each."""
        lines = {name: [] for name in measured}
        for round_ in range(self.options.rounds):
            for name in list(measured)[:: -1 if round_ % 2 else 1]:
                lines[name].append(measured[name]())
        return lines

    def measure_echo(self):
        server, socket_path = self.start_postern("echo")
        with wait_for_socket(socket_path, server, self.log) as connection:
            information = self.directory / "info.json"
            information.write_text(json.dumps(call(connection, "getInfo")), encoding="utf-8")
        peers = {}
        for threads in sorted({1, len(os.sched_getaffinity(0))}):
            peers[threads] = self.start_c_server(f"peer-{threads}", threads, information)
            wait_for_socket(peers[threads][1], peers[threads][0]).close()

        rows = []
        for name, connections, pipeline, target in ECHO:
            # The thread count that suits the C server best in this very scenario is the one it is measured with.
            trials = {
                threads: statistics.median(
                    self.load(peer[1], connections, pipeline, seconds=self.options.trial)["requestsPerSecond"]
                    for _ in range(2)
                )
                for threads, peer in peers.items()
            }
            threads = max(trials, key=trials.get)
            say(f"echo, {name} (C server: {threads} thread{'s' if threads > 1 else ''})")
            arguments = (connections, pipeline)
            rows.append(
                {
                    "name": name,
                    "target": target,
                    "threads": threads,
                    **self.interleave(
                        {
                            "postern": lambda: self.load_server(
                                server, socket_path, *arguments, seconds=self.options.seconds
                            ),
                            "peer": lambda: self.load_server(*peers[threads], *arguments, seconds=self.options.seconds),
                        }
                    ),
                }
            )
        for child in (server, *(peer[0] for peer in peers.values())):
            self.children.stop(child)
        return rows

    def write_fetch(self, resource, path, streamed=False):
        request = self.directory / f"fetch-{resource}-{path}{'-streamed' if streamed else ''}.json"
        params = {"resource": resource, "path": path} | ({"stream": True} if streamed else {})
        request.write_text(json.dumps({"method": "fetchResource", "params": params}), encoding="ascii")
        return request

    def measure_soak(self):
        """Resident size of one process: idle, then after each tenth of the requests."""
        result = []
        fetch = self.write_fetch("guarded", "1k")
        for name, count, connections, pipeline, named in (
            ("getInfo", self.options.soak_requests, 16, 4, {}),
            (
                "fetchResource, `auth: clientCredentials`, 1 KB",
                self.options.soak_fetches,
                4,
                8,
                {"request": fetch, "expect": '"status":200'},
            ),
        ):
            if count == 0:
                continue
            say(f"soak, {count:,} × {name}")
            server, socket_path = self.start_postern("soak")
            wait_for_socket(socket_path, server, self.log).close()
            time.sleep(self.options.settle)
            sizes = [resident_kib(server.pid)]
            for _ in range(10):
                self.load(socket_path, connections, pipeline, requests=max(count // 10, 1), **named)
                sizes.append(resident_kib(server.pid))
            time.sleep(self.options.settle)
            result.append(
                {
                    "name": name,
                    "requests": max(count // 10, 1) * 10,
                    "connections": connections,
                    "pipeline": pipeline,
                    "sizesKib": sizes,
                    "settledKib": resident_kib(server.pid),
                }
            )
            self.children.stop(server)
            socket_path.unlink(missing_ok=True)
        return result

    def run(self):
        results = {"facts": machine.facts(ROOT, self.programs, self.options.postern), "options": vars(self.options)}
        results["conditions"] = {}
        self.start_upstream()
        for name in (name for name in SECTIONS if name in self.options.only):
            watch = machine.Watch(self.children)
            results[name] = SECTIONS[name](self)
            results["conditions"][name] = watch.conditions()
        return results


# The parts of a run, in their order.
SECTIONS = {
    "startup": Bench.measure_startup,
    "echo": Bench.measure_echo,
    "sidecar": lambda bench: CSidecarBench(bench).measure(say),
    "fetch": lambda bench: FetchBench(bench).measure(say),
    "outbound": lambda bench: OutboundBench(bench).measure(say),
    "gateway": lambda bench: GatewayBench(bench).measure(say),
    "endpoints": lambda bench: EndpointBench(bench).measure(say),
    "preauthorize": lambda bench: PreauthorizeBench(bench).measure(say),
    "adobe": lambda bench: AdobePassBench(bench).measure(say),
    "clients": lambda bench: ClientBench(bench).measure(say),
    "oauth": lambda bench: OAuthBench(bench).measure(say),
    "workers": lambda bench: WorkersBench(bench).measure(say),
    "tokens": lambda bench: TokenBench(bench).measure(say),
    "sessions": lambda bench: SessionBench(bench).measure(say),
    "scale": lambda bench: ScaleBench(bench).measure(say),
    "fairness": lambda bench: FairnessBench(bench).measure(say),
    "soak": Bench.measure_soak,
}


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--postern", default=str(ROOT / ".build/release/postern"), help="the binary to measure (%(default)s)"
    )
    parser.add_argument(
        "--playground", default=str(ROOT / ".build/release/playground"), help="the upstream with tokens (%(default)s)"
    )
    parser.add_argument(
        "--programs", default=str(ROOT / ".build/benchmarks"), help="where the C programs are built (%(default)s)"
    )
    parser.add_argument(
        "--engine",
        default=str(ROOT / ".build/benchmark-engine/release/check_tokens_engine"),
        help="the engine's side of the token benchmark (%(default)s)",
    )
    parser.add_argument(
        "--peers",
        default=str(ROOT / ".build/benchmark-peers"),
        help="the Python environment with the libraries to compare with (%(default)s)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="about three minutes in all; for trying out, not for the record"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="write the tables to proto-docs/benchmarks.md; with --only these sections, the others stay",
    )
    parser.add_argument("--json", metavar="FILE", help="write every single measurement to FILE")
    parser.add_argument("--only", metavar="SECTIONS", default=",".join(SECTIONS), help="comma-separated (%(default)s)")
    parser.add_argument("--rounds", type=int, help="rounds of each scenario (5)")
    parser.add_argument("--seconds", type=float, help="length of one measurement (3)")
    parser.add_argument("--fetch-rounds", type=int, help="rounds of each point of fetches and decisions (3)")
    parser.add_argument("--fetch-seconds", type=float, help="length of one measurement of fetches and decisions (1.5)")
    parser.add_argument("--starts", type=int, help="number of starts measured (20)")
    parser.add_argument("--soak-requests", type=int, help="getInfo requests of the soak (1000000)")
    parser.add_argument("--soak-fetches", type=int, help="fetchResource requests of the soak (100000)")
    parser.add_argument("--tokens", type=int, help="tokens made for each algorithm (20000)")
    parser.add_argument("--sessions", type=int, help="sessions made in the file store (10000)")
    parser.add_argument("--proofs", type=int, help="requests with a DPoP proof in one measurement (20000)")
    parser.add_argument("--pairs", type=int, help="proofs that are shown to two replicas at once (10000)")
    parser.add_argument("--devices", type=int, help="devices that log in at Adobe Pass (1000)")
    parser.add_argument(
        "--upstream-concurrency", type=int, default=8, help="its limits.concurrency; 0: none (%(default)s)"
    )
    parser.add_argument("--log-level", default="info", help="of Postern's configuration (%(default)s, its own default)")
    options = parser.parse_args()
    full = {
        "rounds": 5,
        "seconds": 3.0,
        "fetch_rounds": 3,
        "fetch_seconds": 1.5,
        "starts": 20,
        "soak_requests": 1_000_000,
        "soak_fetches": 100_000,
        "tokens": 20_000,
        "sessions": 10_000,
        "devices": 1_000,
        "proofs": 20_000,
        "pairs": 10_000,
        "warm_up": 0.5,
        "trial": 1.0,
        "settle": 1.0,
    }
    quick = {
        "rounds": 2,
        "seconds": 0.6,
        "fetch_rounds": 1,
        "fetch_seconds": 0.3,
        "starts": 5,
        "soak_requests": 50_000,
        "soak_fetches": 5_000,
        "tokens": 10_000,
        "sessions": 1_000,
        "devices": 100,
        "proofs": 2_000,
        "pairs": 1_000,
        "warm_up": 0.1,
        "trial": 0.2,
        "settle": 0.3,
    }
    for name, value in (quick if options.quick else full).items():
        if getattr(options, name, None) is None:
            setattr(options, name, value)
    options.only = [section.strip() for section in options.only.split(",")]
    unknown = [section for section in options.only if section not in SECTIONS]
    counts = (options.rounds, options.fetch_rounds, options.starts, options.devices, options.proofs, options.pairs)
    if unknown or min(counts) < 1 or min(options.seconds, options.fetch_seconds) <= 0:
        parser.error(f"unknown section {unknown[0]!r}" if unknown else "counts and seconds must be positive")
    return options


def main():
    options = read_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    build = subprocess.run(
        ["make", "-s", "-C", HERE, f"OUT={pathlib.Path(options.programs).resolve()}"], stdout=sys.stderr, check=False
    )
    if build.returncode != 0:
        sys.exit("the C programs could not be built (make deps installs what they need)")
    if not os.access(options.postern, os.X_OK):
        sys.exit(f"{options.postern}: not there; make release builds it")
    options.postern = str(pathlib.Path(options.postern).resolve())
    children = Children()
    with tempfile.TemporaryDirectory(prefix="postern-bench-") as directory:
        bench = Bench(options, pathlib.Path(directory), children)
        try:
            results = bench.run()
        except Failed as problem:
            sys.exit(f"failed: {problem}\n{tail(bench.log)}")
        finally:
            children.stop_all()
    is_kept = options.write and not options.quick and "sidecar" in results
    if is_kept:
        results["sidecar"]["history"] = history.appended(history.read(), history.entry(results))
    text = report.markdown(results)
    print(text)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    if options.write:
        page = ROOT / "proto-docs/benchmarks.md"
        page.parent.mkdir(exist_ok=True)
        if is_kept:
            history.write(results["sidecar"]["history"])
            history.draw()
        if set(options.only) != set(SECTIONS) and page.exists():
            text = report.merged(page.read_text(encoding="utf-8"), results)
        page.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
