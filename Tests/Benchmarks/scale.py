"""What many configured issuers and resources, open connections and sessions cost: memory, start, reload, each call."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import socket
import subprocess
import time
from collections.abc import Callable

from processes import Failed, call, resident_kib, wait_for_socket
from sessions import SessionBench

COUNTS = (1000, 5000)
MANY_PAIRS, MANY_CONNECTIONS = 1000, 1000
STARTS = 5
RATE = 1000  # `getInfo` calls a second during a reload
FLIGHT = (4, 8)
LEAST_CALLS = 1000
# Two values of a key that changes nothing else.
TIMEOUTS = ("30s", "31s")


class ScaleBench:
    """The part of a run that is about growth; `bench` starts and measures."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.options = bench.options
        self.directory = bench.directory / "scale"
        self.directory.mkdir(exist_ok=True)

    # -- configurations

    def configuration(self, pairs: int, changed: int = 0) -> dict:
        """The run's configuration and so many issuers with a resource each, the first `changed` of them different.

        No key that can be left out: a configuration has at most 1 MiB."""
        configuration = json.loads(self.bench.configuration.read_text(encoding="ascii"))
        configuration["limits"] = {"connections": 2 * MANY_CONNECTIONS, "connectionsPerUid": 2 * MANY_CONNECTIONS}
        for number in range(pairs):
            base, name = f"{self.bench.upstream}/t/{number}", f"tenant-{number}"
            configuration["issuers"][name] = {"issuer": base, "clientId": f"client-{number}"}
            timeout = TIMEOUTS[number < changed]
            configuration["resources"][name] = {"baseUrl": f"{base}/", "issuer": name, "timeout": timeout}
        return configuration

    def write(self, name: str, configuration: dict) -> pathlib.Path:
        path = self.directory / f"{name}.yaml"
        path.write_text(json.dumps(configuration, separators=(",", ":")), encoding="ascii")
        return path

    # -- memory, start, reload

    def start(self, name: str, configuration: pathlib.Path):
        """A server that accepts connections, and the milliseconds from before fork until it does."""
        begin = time.monotonic()
        child, socket_path = self.bench.start_postern(f"scale-{name}", guarded=False, configuration=configuration)
        wait_for_socket(socket_path, child, self.bench.log).close()
        return child, socket_path, (time.monotonic() - begin) * 1e3

    def stop(self, child, socket_path: pathlib.Path) -> None:
        self.bench.children.stop(child)
        socket_path.unlink(missing_ok=True)

    def sizes(self, configuration: pathlib.Path, pairs: int) -> dict[str, int]:
        """The resident size before the first call, and when each resource was used: then it has what it keeps."""
        child, socket_path, _ = self.start("sizes", configuration)
        time.sleep(self.options.settle)
        sizes = {"idleKib": resident_kib(child.pid)}
        requests = self.directory / "each.requests"
        params = ({"resource": f"tenant-{number}", "path": "x", "auth": "none"} for number in range(pairs))
        lines = (json.dumps({"method": "fetchResource", "params": one}) + "\n" for one in params)
        requests.write_text("".join(lines), encoding="ascii")
        # As many calls for one pair as for many, so that only the pairs differ.
        count = max(pairs, LEAST_CALLS)
        self.bench.load(socket_path, *FLIGHT, requests=count, requests_from=requests, expect='"status":404')
        time.sleep(self.options.settle)
        sizes["usedKib"] = resident_kib(child.pid)
        self.stop(child, socket_path)
        return sizes

    def start_steady(self, socket_path: pathlib.Path) -> subprocess.Popen:
        requests = self.directory / "getInfo.requests"
        requests.write_text(json.dumps({"method": "getInfo"}) + "\n", encoding="ascii")
        command = [self.bench.programs / "steady", "--socket", socket_path, "--requests-from", requests, "--rate", RATE]
        command += ["--seconds", self.options.seconds, "--warm-up", self.options.warm_up]
        return self.bench.children.start(command, stdout=subprocess.PIPE, log=self.bench.children.error_log)

    def end_of_steady(self, child: subprocess.Popen) -> dict:
        try:
            output, _ = child.communicate(timeout=self.options.seconds + 60)
        except subprocess.TimeoutExpired as problem:
            raise Failed("the calls next to a reload do not come to an end") from problem
        finally:
            self.bench.children.stop(child)
        if child.returncode != 0:
            raise Failed("the calls next to a reload failed")
        line = json.loads(output)
        if line["unexpected"] or line["rejected"]:
            raise Failed(f"wrong answers next to a reload, the first: {line.get('firstBadAnswer', '')}")
        return line

    def reload(self, connection: socket.socket, path: pathlib.Path, content: pathlib.Path) -> float:
        """Milliseconds of one reload, which must find changed resources and nothing else."""
        fresh = path.with_suffix(".new")
        shutil.copyfile(content, fresh)
        os.replace(fresh, path)
        begin = time.monotonic()
        found = call(connection, "reloadConfig", timeout=60.0)["changed"]
        milliseconds = (time.monotonic() - begin) * 1e3
        if not found or any(key.partition(".")[0] != "resources" for key in found):
            raise Failed(f"reloadConfig found these changes instead of some of resources: {found[:3]}")
        return milliseconds

    def measure_reloads(self, child, socket_path, path: pathlib.Path, pairs: int) -> dict:
        """Reloads of one and of all resources, one after the other while `getInfo` is called at a steady rate."""
        before = self.directory / "before"
        shutil.copyfile(path, before)
        measured = {"quiet": {"calls": self.end_of_steady(self.start_steady(socket_path))}}
        for name, changed in (("one", 1), ("all", pairs)):
            after = self.write("after", self.configuration(pairs, changed))
            contents = [after, before]
            milliseconds = []
            with wait_for_socket(socket_path, child, self.bench.log) as connection:
                calls = self.start_steady(socket_path)
                end = time.monotonic() + self.options.warm_up + self.options.seconds
                time.sleep(self.options.warm_up)
                # An even number, so that the next measurement finds what this one found.
                while len(milliseconds) % 2 or not milliseconds or time.monotonic() + milliseconds[-1] / 500 < end:
                    content = contents[len(milliseconds) % 2]
                    milliseconds.append(self.reload(connection, path, content))
                measured[name] = {"milliseconds": milliseconds, "calls": self.end_of_steady(calls)}
        return measured

    def measure_count(self, pairs: int, base: dict[str, int], say: Callable[[str], None]) -> dict:
        say(f"{pairs:,} issuers and resources")
        path = self.write(f"pairs-{pairs}", self.configuration(pairs))
        starts = []
        for _ in range(min(STARTS, self.options.starts)):
            child, socket_path, milliseconds = self.start("start", path)
            starts.append(milliseconds)
            self.stop(child, socket_path)
        sizes = self.sizes(path, pairs)
        child, socket_path, _ = self.start("reload", path)
        reloads = self.measure_reloads(child, socket_path, path, pairs)
        time.sleep(self.options.settle)
        after = resident_kib(child.pid)
        self.stop(child, socket_path)
        return {
            "pairs": pairs,
            "base": base,
            "sizes": sizes,
            "afterReloadsKib": after,
            "startMs": starts,
            "reloads": reloads,
        }

    # -- processor time of a call

    def compare(self, name: str, servers: dict, requests: dict[str, dict], more: Callable[[str], dict] = lambda _: {}):
        """Rows of processor time for each request, `one` and `many` alternately."""
        rows = []
        for method, request in requests.items():

            def load(which: str, request: dict = request) -> dict:
                child, socket_path = servers[which]
                named = {"seconds": self.options.fetch_seconds, **request, **more(which)}
                return self.bench.load_server(child, socket_path, *FLIGHT, **named)

            lines = self.bench.interleave({"one": lambda: load("one"), "many": lambda: load("many")})
            rows.append({"name": f"`{method}`, {name}", **lines})
        return rows

    def requests(self) -> dict[str, dict]:
        fetch = {"request": self.bench.write_fetch("open", "1k"), "expect": '"status":200'}
        return {"getInfo": {}, "fetchResource": fetch}

    def measure_pairs(self, say: Callable[[str], None]) -> list[dict]:
        say(f"processor time of a call, {MANY_PAIRS:,} issuers and resources")
        servers = {}
        for which, pairs in (("one", 1), ("many", MANY_PAIRS)):
            servers[which] = self.start(which, self.write(which, self.configuration(pairs)))[:2]
        rows = self.compare(f"1 and {MANY_PAIRS:,} issuers and resources", servers, self.requests())
        for server in servers.values():
            self.stop(*server)
        return rows

    def measure_connections(self, say: Callable[[str], None]) -> list[dict]:
        """The calls come over a few connections, while the others are open and idle."""
        say(f"processor time of a call, {MANY_CONNECTIONS:,} open connections")
        path = self.write("connections", self.configuration(1))
        servers = {which: self.start(which, path)[:2] for which in ("one", "many")}
        idle = [wait_for_socket(servers["many"][1], servers["many"][0]) for _ in range(MANY_CONNECTIONS)]
        try:
            for connection in idle:
                call(connection, "getInfo")  # the server has accepted it
            rows = self.compare(f"1 and {MANY_CONNECTIONS:,} open connections", servers, self.requests())
            for connection in idle:
                call(connection, "getInfo")  # and has kept it
        finally:
            for connection in idle:
                connection.close()
        for server in servers.values():
            self.stop(*server)
        return rows

    def measure_sessions(self, say: Callable[[str], None]) -> list[dict]:
        count = self.options.sessions
        say(f"processor time of a call, {count:,} sessions")
        sessions = SessionBench(self.bench)
        servers, touches = {}, {}
        for which, number in (("one", 1), ("many", count)):
            child, socket_path, _ = self.start(which, sessions.configuration(f"scale-{which}"))
            with wait_for_socket(socket_path, child, self.bench.log) as connection:
                handles = sessions.create_sessions(connection, number)
            servers[which] = child, socket_path
            path = sessions.write_touches(handles)
            touches[which] = path.rename(path.with_name(f"touches-{which}.jsonl"))
            sessions.touch_all(socket_path, touches[which], number)
        title = f"1 and {count:,} sessions"
        rows = self.compare(title, servers, self.requests())
        expect = {"getAccessToken": {"expect": '"accessToken":"access-tok'}}
        rows += self.compare(title, servers, expect, lambda which: {"requests_from": touches[which]})
        for server in servers.values():
            self.stop(*server)
        return rows

    def measure(self, say: Callable[[str], None]) -> dict:
        base = self.sizes(self.write("base", self.configuration(1)), 1)
        return {
            "rounds": self.options.rounds,
            "seconds": self.options.fetch_seconds,
            "rate": RATE,
            "flight": FLIGHT,
            "counts": [self.measure_count(pairs, base, say) for pairs in COUNTS],
            "calls": self.measure_pairs(say) + self.measure_connections(say) + self.measure_sessions(say),
        }
