"""Session tokens: cached answers compared with oidc-agent's, and what ten thousand sessions in the file store cost."""

import json
import os
import shutil
import socket
import subprocess
import time

from processes import Failed, call, cpu_seconds, resident_kib, session_cpu_seconds, wait_for_socket

# name, clients, whether Postern's connections are kept (oidc-agent answers once on a connection), target ratio
CACHED = [
    ("1 client, a connection for each request", 1, False, None),
    ("16 clients, a connection for each request", 16, False, 1.5),
    ("1 client, Postern's connection kept", 1, True, None),
    ("16 clients, Postern's connections kept", 16, True, 8),
]
ACCOUNT, REFRESH_TOKEN = "bench", "bench-refresh-token"
PIPELINE, CONNECTIONS = 16, 16


class SessionBench:
    """The part of a run that is about sessions; `bench` starts and measures."""

    def __init__(self, bench):
        self.bench = bench
        self.options = bench.options
        self.directory = bench.directory / "sessions"
        self.directory.mkdir(exist_ok=True)

    def configuration(self, name):
        """The run's configuration with a file store of its own, and tokens that may leave."""
        configuration = json.loads(self.bench.configuration.read_text(encoding="ascii"))
        key = self.directory / "key"
        key.unlink(missing_ok=True)
        key.touch(mode=0o600)
        key.write_text(os.urandom(32).hex(), encoding="ascii")
        configuration["store"] = {"kind": "file", "path": str(self.directory / name), "keyFile": str(key)}
        configuration["tokens"] = {"leaveTheSidecar": True}
        path = self.directory / f"{name}.yaml"
        path.write_text(json.dumps(configuration, indent=2), encoding="ascii")
        return path

    # -- cached tokens

    def start_oidc_agent(self):
        """oidc-agent with one account, which it holds in memory as after `oidc-add`; None where it is not installed."""
        if shutil.which("oidc-agent") is None:
            return None
        path = self.directory / "oidc-agent.sock"
        command = ["oidc-agent", "--console", "--no-autoload", "--no-autoreauthenticate", "--socket-path", path]
        child = self.bench.children.start(command, log=self.bench.directory / "oidc-agent.log")
        wait_for_socket(path, child, self.bench.directory / "oidc-agent.log").close()
        account = {
            "name": ACCOUNT,
            "issuer_url": self.bench.upstream + "/",
            "issuer": self.bench.upstream + "/",
            "client_id": "bench",
            "client_secret": "bench-secret",
            "refresh_token": REFRESH_TOKEN,
            "scope": "bench",
            "cert_path": "/etc/ssl/certs/ca-certificates.crt",
            "redirect_uris": ["http://localhost:4242"],
            "daeSetByUser": 0,
        }
        add = {"request": "add", "config": account, "lifetime": 0, "password": "", "confirm": 0, "alwaysallowid": 0}
        self.ask_oidc_agent(path, add)
        return child, path

    def ask_oidc_agent(self, path, request):
        """One request as its IPC has it: JSON, answered once, and the connection is over."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(30)
            connection.connect(str(path))
            connection.sendall(json.dumps(request).encode())
            answer = b""
            while chunk := connection.recv(1 << 16):
                answer += chunk
        decoded = json.loads(answer)
        if decoded.get("status") != "success":
            raise Failed(f"oidc-agent: {decoded}")
        return decoded

    def clients(self, server, socket_path, request, token, count, keep, cpu):
        """A measurement; each answer must hold the token."""
        command = [self.bench.programs / "clients", "--socket", socket_path, "--request", request, "--clients", count]
        command += ["--expect", f'"{token}"', "--seconds", self.options.seconds, "--warm-up", self.options.warm_up]
        before = cpu(server.pid)
        timeout = self.options.seconds + self.options.warm_up + 60
        line = self.bench.children.measure(command + (["--keep"] if keep else []), timeout)
        if line["errors"]["unexpected"]:
            raise Failed(f"wrong answers {line['errors']}, the first: {line.get('firstBadAnswer', '')}")
        line["serverCpuUs"] = (cpu(server.pid) - before) * 1e6 / max(line["totalRequests"], 1)
        return line

    def measure_cached(self, say):
        agent = self.start_oidc_agent()
        if agent is None:
            say("oidc-agent is not installed: make bench-deps")
        server, path = self.bench.start_postern("cached", configuration=self.configuration("cached"))
        with wait_for_socket(path, server, self.bench.log) as connection:
            grant = {"type": "refresh_token", "refreshToken": REFRESH_TOKEN}
            session = call(connection, "createSession", {"issuer": "bench", "grant": grant})["session"]
            params = {"issuer": "bench", "session": session}
            token = call(connection, "getAccessToken", params)["accessToken"]
        ours, theirs = self.directory / "ours.json", self.directory / "theirs.json"
        text = {"jsonrpc": "2.0", "id": 1, "method": "getAccessToken", "params": params}
        ours.write_text(json.dumps(text) + "\n", encoding="ascii")
        request = {"request": "access_token", "account": ACCOUNT, "min_valid_period": 0, "application_hint": "bench"}
        theirs.write_text(json.dumps(request), encoding="ascii")
        if agent is not None and (given := self.ask_oidc_agent(agent[1], request)["access_token"]) != token:
            raise Failed(f"oidc-agent has another token than Postern: {len(given)} and {len(token)} characters")
        rows = []
        for name, count, keep, target in CACHED:
            say(f"cached session tokens, {name}")
            measured = {"postern": lambda: self.clients(server, path, ours, token, count, keep, cpu_seconds)}
            if agent is not None:
                # Its answer comes from a second process behind the one that listens: both are counted.
                measured["peer"] = lambda: self.clients(*agent, theirs, token, count, False, session_cpu_seconds)
            rows.append({"name": name, "target": target, "keep": keep, **self.bench.interleave(measured)})
        self.bench.children.stop(server)
        if agent is not None:
            self.bench.children.stop(agent[0])
        return {"rows": rows, "oidcAgent": self.oidc_agent_version() if agent is not None else None}

    def oidc_agent_version(self):
        done = subprocess.run(["oidc-agent", "--version"], capture_output=True, text=True, check=False, timeout=20)
        return (done.stdout.strip().splitlines() or ["oidc-agent"])[0]

    # -- many sessions

    def create_sessions(self, connection, count):
        """Sessions from tokens that callers brought, each with a refresh token; their handles."""
        connection.settimeout(60)
        handles, begun, rest = [], 0, b""
        while len(handles) < count:
            requests = []
            while begun < min(count, len(handles) + PIPELINE):
                grant = {"type": "tokens", "accessToken": f"access-token-of-session-{begun:032}", "expiresIn": 36000}
                grant |= {"refreshToken": f"refresh-token-of-session-{begun:032}", "scope": "bench"}
                params = {"issuer": "bench", "grant": grant}
                requests.append({"jsonrpc": "2.0", "id": begun, "method": "createSession", "params": params})
                begun += 1
            connection.sendall("".join(json.dumps(request) + "\n" for request in requests).encode())
            chunk = connection.recv(1 << 20)
            if not chunk:
                raise Failed("createSession: the connection was closed")
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                answer = json.loads(line)
                if "result" not in answer:
                    raise Failed(f"createSession: {line[:500]}")
                handles.append(answer["result"]["session"])
        return handles

    def write_touches(self, handles):
        path = self.directory / "touches.jsonl"
        lines = (
            json.dumps({"method": "getAccessToken", "params": {"issuer": "bench", "session": handle}})
            for handle in handles
        )
        path.write_text("\n".join(lines) + "\n", encoding="ascii")
        return path

    def touch_all(self, path, touches, count):
        self.bench.load(path, CONNECTIONS, 1, requests=count, requests_from=touches, expect='"accessToken":"access-tok')

    def start_with_sessions(self, configuration, round_, handle):
        """Milliseconds from before fork to the first answer, to `getSession` and to `getAccessToken`."""
        begin = time.monotonic()
        server, path = self.bench.start_postern(f"many-{round_}", guarded=False, configuration=configuration)
        times = {}
        session = {"session": handle}
        calls = [("getInfo", None), ("getSession", session), ("getAccessToken", {"issuer": "bench", **session})]
        with wait_for_socket(path, server, self.bench.log) as connection:
            for method, arguments in calls:
                call(connection, method, arguments)
                times[method] = (time.monotonic() - begin) * 1e3
        return server, path, times

    def measure_many(self, say):
        count = self.options.sessions
        say(f"{count:,} sessions in the file store")
        configuration = self.configuration("many")
        server, path = self.bench.start_postern("many", configuration=configuration)
        with wait_for_socket(path, server, self.bench.log) as connection:
            first = self.create_sessions(connection, 1)
            time.sleep(self.options.settle)
            sizes = {"oneSession": resident_kib(server.pid)}
            begin = time.monotonic()
            handles = first + self.create_sessions(connection, count - 1)
            seconds = time.monotonic() - begin
        time.sleep(self.options.settle)
        sizes["created"] = resident_kib(server.pid)
        touches = self.write_touches(handles)
        self.touch_all(path, touches, count)
        time.sleep(self.options.settle)
        sizes["createdTouched"] = resident_kib(server.pid)
        self.bench.children.stop(server)

        starts = []
        for round_ in range(self.options.starts):
            server, path, times = self.start_with_sessions(configuration, round_, handles[round_ % count])
            starts.append(times)
            if round_ + 1 < self.options.starts:
                self.bench.children.stop(server)
        time.sleep(self.options.settle)
        sizes["restarted"] = resident_kib(server.pid)
        self.touch_all(path, touches, count)
        time.sleep(self.options.settle)
        sizes["restartedTouched"] = resident_kib(server.pid)
        self.bench.children.stop(server)
        files = sum(file.stat().st_size for file in (self.directory / "many").rglob("*") if file.is_file())
        return {
            "sessions": count,
            "createdPerSecond": (count - 1) / seconds,
            "sizesKib": sizes,
            "starts": starts,
            "storeKib": files / 1024,
        }

    def measure(self, say):
        return {"cached": self.measure_cached(say), "many": self.measure_many(say)}
