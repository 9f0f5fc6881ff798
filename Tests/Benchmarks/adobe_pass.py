"""Adobe Pass: the requests of many devices, and `pass.authorize` compared with `httpx` at the same server."""
from __future__ import annotations

import base64
import functools
import json
import os
import pathlib
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable

import adobe_devices
from adobe_devices import DOMAIN, MVPD, PROVIDER, REDIRECT
from processes import Failed, call, wait_for_socket

HERE = pathlib.Path(__file__).resolve().parent
CLIENT = HERE.parent.parent / "clients/python/src"
STATEMENT = "eyJhbGciOiJub25lIn0.eyJzb2Z0d2FyZV9pZCI6ImJlbmNoIn0.c2lnbmF0dXJl"
INFORMATION = {"model": "bench", "version": "1", "osName": "Linux", "osVersion": "1", "connectionType": "Ethernet"}
SERVICE, RESOURCE, CALLERS = "REF30", "news", 16
JOURNEYS = {
    "first login with a second screen": adobe_devices.first_login,
    "return after a restart of the sidecar": adobe_devices.come_back,
    "next title": adobe_devices.next_title,
    f"{adobe_devices.AT_ONCE} titles at once, by each tenth device": adobe_devices.beyond_the_rate,
    "logout": adobe_devices.log_out,
}


class Server:
    """A server with the API, at `base`."""

    def __init__(self, base: str) -> None:
        self.base = base

    def request(self, path: str, data: bytes | None = None, fields: dict[str, str] | None = None, method: str | None = None) -> dict:
        request = urllib.request.Request(self.base + path, data, fields or {}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def authorizations(self) -> int:
        """How many requests there were, those for authorization at least."""
        return self.request("/stats")["requests"]

    def log_in(self, connection, device: dict) -> None:
        """Makes a login of the sidecar's: here every device has one."""
        call(connection, "pass.listProfiles", {"provider": PROVIDER, "device": device, "mvpd": MVPD})

    def log_in_directly(self, fields: dict[str, str]) -> None:
        """The same without the sidecar."""


class Double(Server):
    """The playground's double of Adobe Pass."""

    def __init__(self, bench, throttle: bool) -> None:
        self.child = bench.children.start([bench.options.playground, "--port", "0"], stdout=subprocess.PIPE)
        line = self.child.stdout.readline()
        if not line:
            raise Failed("the playground did not start (make release builds it)")
        super().__init__(json.loads(line)["baseUrl"])
        self.request("/playground/adobe", json.dumps({"throttle": throttle}).encode())

    def counts(self) -> adobe_devices.Requests:
        """The requests so far, by their number; a browser's are left out."""
        counts = adobe_devices.Requests(self.request("/playground/adobe")["counts"])
        del counts["E5"]
        return counts

    def connections(self) -> int:
        """Those that were opened so far, without the one of this request."""
        return self.request("/playground/statistics")["connections"] - 1

    def throttled(self) -> int:
        return self.request("/playground/statistics")["adobeThrottled"]

    def authorizations(self) -> int:
        return self.counts()["E10"]

    def log_in(self, connection, device: dict) -> None:
        own = {"provider": PROVIDER, "device": device}
        parameters = {"mvpd": MVPD, "domainName": DOMAIN, "redirectUrl": REDIRECT}
        session = call(connection, "pass.createSession", own | parameters)
        adobe_devices.log_in(session["url"])
        profiles = call(connection, "pass.listProfiles", own | {"code": session["code"]})
        if profiles["state"] != "authenticated":
            raise Failed(f"pass.listProfiles: {json.dumps(profiles)[:500]}")

    def log_in_directly(self, fields: dict[str, str]) -> None:
        form = urllib.parse.urlencode({"mvpd": MVPD, "domainName": DOMAIN, "redirectUrl": REDIRECT}).encode()
        session = self.request(f"/adobe/api/v2/{SERVICE}/sessions", form, fields)
        adobe_devices.log_in(urllib.parse.urljoin(self.base, session["url"]))


class AdobePassBench:
    """The part of a run that is about Adobe Pass; `bench` starts and measures."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.options = bench.options
        self.directory = bench.directory / "adobe"
        self.directory.mkdir(exist_ok=True)
        self.python = pathlib.Path(self.options.peers) / "bin/python"

    @functools.cache
    def has_httpx(self) -> bool:
        return self.python.exists() and not subprocess.run([self.python, "-c", "import httpx"], check=False).returncode

    def write(self, name: str, content: str) -> pathlib.Path:
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_text(content, encoding="ascii")
        return path

    def configuration(self, name: str, server: Server, store: dict, **more: object) -> pathlib.Path:
        """`more`: of the decision point."""
        point = {
            "kind": "adobe-pass",
            "baseUrl": f"{server.base}/adobe",
            "serviceProvider": SERVICE,
            "softwareStatementFile": str(self.write("statement", STATEMENT)),
            "deviceIdFile": str(self.directory / f"{name}.device"),
            "redirectUrls": [REDIRECT],
            "domainNames": [DOMAIN],
            "cache": {"permit": "10m"},
        }
        configuration = {
            "preauthorization": {PROVIDER: point | more},
            "store": store,
            "log": {"level": self.options.log_level},
            "development": {"plainHTTPOnLoopback": True},
        }
        return self.write(f"{name}.yaml", json.dumps(configuration, indent=2))  # JSON is YAML

    def file_store(self, name: str) -> dict:
        return {"kind": "file", "path": str(self.directory / f"{name}.store")}

    # -- the journeys

    def journeys(self, say: Callable[[str], None]) -> dict:
        """The requests that arrived at the double, which throttles, and the least that there can be."""
        double = Double(self.bench, throttle=True)
        configuration = self.configuration("journeys", double, self.file_store("journeys"))
        rows = []
        server = None
        for number, (name, journey) in enumerate(JOURNEYS.items()):
            if journey in (adobe_devices.first_login, adobe_devices.come_back):
                if server:
                    self.bench.children.stop(server)
                server, path = self.bench.start_postern(f"adobe-{number}", configuration=configuration)
                wait_for_socket(path, server, self.bench.log).close()
            say(f"Adobe Pass, {self.options.devices:,} devices: {name}")
            before, opened = double.counts(), double.connections()
            devices = self.options.devices
            if journey is adobe_devices.beyond_the_rate:
                devices = max(1, devices // 10)
            minimum, seconds = adobe_devices.run(journey, path, devices)
            # One is that of the first count, and each user's browser has one.
            browsers = self.options.devices if journey is adobe_devices.first_login else 0
            opened = double.connections() - opened - 1 - browsers
            made = double.counts()
            made.subtract(before)
            row = {"name": name, "seconds": seconds, "connections": opened}
            rows.append(row | {"made": dict(+made), "minimum": dict(minimum)})
        throttled = double.throttled()
        self.bench.children.stop(server)
        self.bench.children.stop(double.child)
        return {"devices": self.options.devices, "rows": rows, "throttled": throttled}

    # -- calls per second

    def direct(self, server: Server) -> dict:
        """What a program needs that calls the server itself: a client's token, and devices with logins."""
        information = base64.b64encode(json.dumps(INFORMATION).encode()).decode()
        own = {"X-Device-Info": information, "Accept": "application/json"}
        body = json.dumps({"software_statement": STATEMENT}).encode()
        client = server.request("/adobe/o/client/register", body, own | {"Content-Type": "application/json"})
        form = {"grant_type": "client_credentials", "client_id": client["client_id"], "client_secret": client["client_secret"]}
        token = server.request("/adobe/o/client/token", urllib.parse.urlencode(form).encode(), own)
        devices = []
        for number in range(CALLERS):
            identifier = base64.b64encode(f"direct-{number}".encode()).decode()
            fields = own | {
                "Authorization": f"Bearer {token['access_token']}",
                "AP-Device-Identifier": f"fingerprint {identifier}",
                "X-Forwarded-For": f"198.19.0.{number + 1}",
            }
            server.log_in_directly(fields)
            devices.append(fields | {"Content-Type": "application/json;charset=utf-8"})
        url = f"{server.base}/adobe/api/v2/{SERVICE}/decisions/authorize/{MVPD}"
        return {"url": url, "devices": devices, "body": json.dumps({"resources": [RESOURCE]}), "resource": RESOURCE}

    def start(self, name: str, server: Server, store: dict) -> tuple:
        """A sidecar with logins of all callers' devices."""
        rate = {"perSecond": 100_000, "burst": 100_000}
        configuration = self.configuration(name, server, store, rateLimit=rate)
        child, path = self.bench.start_postern(name, configuration=configuration)
        with wait_for_socket(path, child, self.bench.log) as connection:
            for number in range(CALLERS):
                server.log_in(connection, adobe_devices.device(number))
        return child, path

    def measured(self, name: str, server: Server, sidecars: dict[str, tuple]) -> dict[str, Callable[[], dict]]:
        """The programs to compare at one server."""
        params = [
            {"provider": PROVIDER, "device": adobe_devices.device(number), "resources": [RESOURCE]} for number in range(CALLERS)
        ]
        requests = self.write("requests", "".join(json.dumps({"method": "pass.authorize", "params": one}) + "\n" for one in params))
        measured: dict[str, Callable[[], dict]] = {}
        for store, (child, path) in sidecars.items():
            measured[store] = functools.partial(
                self.bench.load_server, child, path, CALLERS, 1, requests_from=requests,
                seconds=self.options.fetch_seconds, expect='"serializedToken":"')
        direct = self.direct(server)
        plan = self.write(f"{name}.plan", json.dumps(direct | {"params": params}))
        if self.has_httpx():
            program = ["env", f"PYTHONPATH={CLIENT}", self.python, HERE / "peers/authorize.py", "--plan", plan]
            command = [*program, "--through", "client", "--socket", sidecars["file"][1]]
            measured["client"] = functools.partial(self.outside, command, sidecars["file"][0])
            measured["httpx"] = functools.partial(self.outside, [*program, "--through", "httpx"])
            measured["shared"] = functools.partial(self.outside, [*program, "--through", "httpx", "--shared"])
        body = self.write("body", direct["body"])
        command = [self.bench.programs / "curl_multi", "--url", direct["url"], "--post", body]
        for field, value in direct["devices"][0].items():
            if field != "Content-Type":
                command += ["--header", f"{field}: {value}"]
        measured["curl"] = functools.partial(self.outside, command)
        return measured

    def outside(self, command: list, sidecar=None) -> dict:
        """A program of its own, with its processor time for each call, and the sidecar's where it goes through one."""
        seconds = self.options.fetch_seconds
        times = ["--in-flight", CALLERS, "--seconds", seconds, "--warm-up", self.options.warm_up]
        line = self.bench.children.measure([*command, *times], timeout=seconds + self.options.warm_up + 60)
        if line["failed"]:
            raise Failed(f"{command[-1]}: {line['failed']} failed, the first: {line.get('firstFailure', '')}")
        line["serverCpuUs"] = line["cpuSeconds"] * 1e6 / max(line["requests"], 1)
        return line

    def rates(self, name: str, server: Server, say: Callable[[str], None]) -> dict:
        say(f"pass.authorize at {name}, {CALLERS} callers")
        sidecars = {
            "file": self.start(f"adobe-{name}-file", server, self.file_store(name)),
            "memory": self.start(f"adobe-{name}-memory", server, {"kind": "memory"}),
        }
        measured = self.measured(name, server, sidecars)
        lines: dict[str, list[dict]] = {way: [] for way in measured}
        for number in range(self.options.rounds):
            for way in list(measured)[:: -1 if number % 2 else 1]:
                before = server.authorizations()
                line = measured[way]()
                made = server.authorizations() - before
                if made < line["totalRequests"]:
                    raise Failed(f"{way}: {line['totalRequests']} calls, {made} requests")
                lines[way].append(line)
        for child, _ in sidecars.values():
            self.bench.children.stop(child)
        return {"server": name, "lines": lines}

    # -- the section

    def measure(self, say: Callable[[str], None]) -> dict:
        if not os.access(self.options.playground, os.X_OK):
            raise Failed(f"{self.options.playground}: not there; make release builds it")
        journeys = self.journeys(say)
        double = Double(self.bench, throttle=False)
        points = [self.rates("double", double, say)]
        self.bench.children.stop(double.child)
        points.append(self.rates("lean", Server(self.bench.upstream), say))
        seconds = self.options.fetch_seconds
        return {"journeys": journeys, "points": points, "rounds": self.options.rounds, "seconds": seconds}
