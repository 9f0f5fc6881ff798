"""How requests leave: fetches with each kind of credential, and fetches through a proxy."""
from __future__ import annotations

import functools
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable

from fetch import FetchBench
from processes import Children, Failed, call, tail, wait_for_socket
from tls_upstream import NAME, TLSUpstream, free_ports, is_installed

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "EndToEnd"))
from harness.signing import SigningKey  # noqa: E402  the end-to-end tests' own

SIZE = 1024
# in flight: connections to Postern, requests in flight on each
FLIGHTS = {1: (1, 1), 32: (4, 8)}
CREDENTIALS = ("clientCredentials", "onBehalfOf", "credential")
AUDIENCE = "https://gateway.example"
SQUID = shutil.which("squid") or "/usr/sbin/squid"

# Nothing is cached, logged or looked up: it only relays.
SQUID_CONFIGURATION = """\
http_port 127.0.0.1:{port}
visible_hostname squid.test
hosts_file {directory}/hosts
http_access allow all
cache deny all
cache_mem 0 MB
access_log none
cache_log {directory}/cache.log
pid_filename none
server_persistent_connections on
client_persistent_connections on
shutdown_lifetime 0 seconds
"""


class Squid:
    """squid in one process. Only it resolves `NAME`: what reaches that server has passed through it."""

    def __init__(self, children: Children, directory: pathlib.Path) -> None:
        directory.mkdir()
        directory.chmod(0o777)  # it gives up root, and writes its log as another user
        (directory / "hosts").write_text(f"127.0.0.1 {NAME}\n", encoding="ascii")
        for _ in range(3):  # the port is free when it is chosen; another program may still be quicker
            (port,) = free_ports(1)
            configuration = directory / "squid.conf"
            configuration.write_text(SQUID_CONFIGURATION.format(port=port, directory=directory), encoding="ascii")
            self.child = children.start([SQUID, "-N", "-f", configuration])
            self.url = f"http://127.0.0.1:{port}"
            if self._is_up(port):
                return
            children.stop(self.child)
        raise Failed(f"squid did not start\n{tail(directory / 'cache.log')}")

    def _is_up(self, port: int) -> bool:
        end = time.monotonic() + 20
        while self.child.poll() is None and time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.05)
        return False

    @property
    def version(self) -> str:
        done = subprocess.run([SQUID, "-v"], capture_output=True, text=True, check=False)
        return "squid " + done.stdout.partition("Version ")[2].split()[0]


class OutboundBench:
    """The part of a run that is about credentials and proxies; `bench` starts and measures."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.options = bench.options
        self.directory = bench.directory / "outbound"
        self.directory.mkdir(exist_ok=True)
        self.fetches = FetchBench(bench)

    # -- the upstreams, the proxy and Postern

    def start_upstream(self) -> None:
        """One whose tokens have a key, so that an inbound token can be validated."""
        key = SigningKey("ES256")
        keys = self.directory / "keys.json"
        keys.write_text(json.dumps(key.jwks()), encoding="ascii")
        command = [self.bench.programs / "upstream", "--require-bearer", "--jwks", keys]
        self.upstream = self.bench.children.start(command, stdout=subprocess.PIPE)
        self.base = self.upstream.stdout.readline().decode().strip()
        now = int(time.time())
        claims = {"iss": self.base, "sub": "alice", "aud": AUDIENCE, "iat": now, "exp": now + 3600, "jti": "1", "client_id": "web"}
        self.inbound = key.sign(claims, typ="at+jwt")

    def statistics(self) -> dict:
        with urllib.request.urlopen(f"{self.base}/stats", timeout=10) as response:
            return json.load(response)

    def token(self) -> str:
        """The one that the upstream requires."""
        request = urllib.request.Request(
            f"{self.base}/token", b"grant_type=client_credentials", {"Authorization": "Basic YmVuY2g6YmVuY2g="})
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)["access_token"]

    def start_proxy(self) -> None:
        self.squid = self.tls = None
        if not (shutil.which(SQUID) and is_installed()):
            return
        os.chmod(self.bench.directory, 0o711)  # for squid's own user
        os.chmod(self.directory, 0o711)
        with urllib.request.urlopen(f"{self.base}/open/1k", timeout=10) as response:
            document = response.read()
        self.tls = TLSUpstream(self.bench.children, self.directory, {"1k": document})
        self.squid = Squid(self.bench.children, self.directory / "squid")

    def named(self, base: str) -> str:
        """A server by the name that only the proxy resolves."""
        return base.replace("127.0.0.1", NAME)

    def configuration(self) -> pathlib.Path:
        configuration = json.loads(self.bench.configuration.read_text(encoding="ascii"))
        configuration["issuers"]["bench"]["issuer"] = self.base
        configuration["issuers"]["bench"]["idToken"] = {"algorithms": ["ES256"]}
        secret = self.directory / "token"
        secret.touch(mode=0o600)
        secret.write_text(self.token(), encoding="ascii")
        guarded = {"baseUrl": f"{self.base}/resource/", "issuer": "bench"}
        exchange = {"grant": "token_exchange", "inboundAudience": AUDIENCE, "audience": "https://bench.example", "scope": "bench"}
        credential = {"header": "Authorization", "prefix": "Bearer ", "valueFile": str(secret)}
        configuration["resources"] = {
            "clientCredentials": guarded | {"auth": "clientCredentials", "scope": "bench"},
            "onBehalfOf": guarded | {"auth": "onBehalfOf", "exchange": exchange},
            "credential": {"baseUrl": f"{self.base}/resource/", "auth": "credential", "credential": credential},
        }
        if self.squid and self.tls:
            open_ = {"auth": "none"}
            trusted = open_ | {"tls": {"caFile": self.tls.ca_file}}
            configuration["resources"] |= {
                "tunnel": trusted | {"baseUrl": f"{self.named(self.tls.http1)}/open/"},
                "direct": trusted | {"baseUrl": f"{self.tls.http1}/open/"},
                "absolute": open_ | {"baseUrl": f"{self.named(self.base)}/open/"},
            }
            configuration["outbound"] = {"proxy": {"url": self.squid.url}, "plainHTTP": [self.named(self.base)]}
        path = self.directory / "postern.yaml"
        path.write_text(json.dumps(configuration, indent=2), encoding="ascii")
        return path

    # -- the clients

    def params(self, resource: str) -> dict:
        params: dict = {"resource": resource, "path": "1k"}
        return params | ({"onBehalfOf": {"token": self.inbound}} if resource == "onBehalfOf" else {})

    def postern(self, resource: str, flight: tuple[int, int]) -> dict:
        request = self.directory / f"fetch-{resource}.json"
        request.write_text(json.dumps({"method": "fetchResource", "params": self.params(resource)}), encoding="ascii")
        return self.bench.load_server(
            *self.server, *flight, request=request, seconds=self.options.fetch_seconds, expect='"status":200')

    def check(self, resources: list[str]) -> None:
        """One answer of each, which also warms what is cached."""
        server, socket_path = self.server
        with wait_for_socket(socket_path, server, self.bench.log) as connection:
            for resource in resources:
                result = call(connection, "fetchResource", self.params(resource))
                if result["status"] != 200 or len(result["body"]) != SIZE:
                    raise Failed(f"{resource}: {result['status']}, {len(result['body'])} bytes")

    # -- the section

    def credentials(self, say: Callable[[str], None]) -> dict:
        before = self.statistics()
        self.check(list(CREDENTIALS))
        points = []
        for in_flight, flight in FLIGHTS.items():
            say(f"credentials of fetches, {in_flight} in flight")
            lines = self.bench.interleave({auth: functools.partial(self.postern, auth, flight) for auth in CREDENTIALS})
            points.append({"inFlight": in_flight, "lines": lines})
        after = self.statistics()
        seen, sent = after["requests"] - before["requests"], sum(
            line["totalRequests"] for point in points for lines in point["lines"].values() for line in lines)
        if seen < sent or after["unauthorized"] > before["unauthorized"]:
            raise Failed(f"the upstream saw {seen} requests, the clients made {sent}; {after}")
        return {"points": points, "tokenRequests": after["tokenRequests"] - before["tokenRequests"]}

    def proxied(self, say: Callable[[str], None]) -> dict | None:
        if not (self.squid and self.tls):
            return None
        self.check(["tunnel", "direct", "absolute"])
        trust, proxy = ["--cacert", self.tls.ca_file], ["--proxy", self.squid.url]
        tunnelled, plain = f"{self.named(self.tls.http1)}/open/1k", f"{self.named(self.base)}/open/1k"
        # Name: the resource of Postern, or what curl_multi is given.
        ways = {
            "tunnel": {
                "postern": "tunnel",
                "curl": [tunnelled, *trust, *proxy],
                "posternDirect": "direct",
                "curlDirect": [f"{self.tls.http1}/open/1k", *trust],
            },
            "absolute": {
                "postern": "absolute",
                "curl": [plain, *proxy],
                "curlFresh": [plain, *proxy, "--fresh"],
            },
        }
        points = []
        for way, clients in ways.items():
            for in_flight, flight in FLIGHTS.items():
                say(f"through a proxy, {way}, {in_flight} in flight")
                measured: dict[str, Callable[[], dict]] = {}
                for name, how in clients.items():
                    if isinstance(how, str):
                        measured[name] = functools.partial(self.postern, how, flight)
                    else:
                        measured[name] = functools.partial(self.fetches.curl, how[0], SIZE, in_flight, *how[1:])
                points.append({"way": way, "inFlight": in_flight, "lines": self.bench.interleave(measured)})
        return {"points": points, "proxy": self.squid.version, "upstream": self.tls.version}

    def measure(self, say: Callable[[str], None]) -> dict:
        self.start_upstream()
        self.start_proxy()
        self.server = self.bench.start_postern("outbound", configuration=self.configuration())
        result = {
            "rounds": self.options.rounds,
            "seconds": self.options.fetch_seconds,
            "credentials": self.credentials(say),
            "proxied": self.proxied(say),
        }
        children = [self.server[0], self.upstream, *(one.child for one in (self.squid, self.tls) if one)]
        for child in children:
            self.bench.children.stop(child)
        return result
