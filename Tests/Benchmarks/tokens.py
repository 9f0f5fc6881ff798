"""Token validation: the engine compared with C and `openssl speed`, and `validateIdToken` with libraries in process."""

import json
import os
import pathlib
import re
import subprocess

from processes import Failed, call, wait_for_socket

HERE = pathlib.Path(__file__).resolve().parent
ISSUER, CLIENT = "https://idp.example.com", "bench"
# name, what `openssl speed` calls it
ALGORITHMS = [("RS256", "rsa2048"), ("ES256", "ecdsap256"), ("EdDSA", "ed25519")]
LIBRARIES = ("pyjwt", "joserfc", "authlib")
CONNECTIONS, PIPELINE, REPEATED = 16, 4, 64
ALLOCATIONS_FROM, ALLOCATIONS_TO = 1000, 3000


class TokenBench:
    """The part of a run that is about tokens; `bench` starts and measures."""

    def __init__(self, bench):
        self.bench = bench
        self.options = bench.options
        self.directory = bench.directory / "tokens"
        self.directory.mkdir(exist_ok=True)

    # -- the tokens

    def make_tokens(self):
        command = [self.bench.programs / "make_tokens", "--directory", self.directory, "--count", self.options.tokens]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"make_tokens: {done.stderr.strip()}")

    def file(self, algorithm, kind=""):
        return self.directory / f"{algorithm}{kind}.tsv"

    def arguments(self, algorithm, kind=""):
        """What all programs take."""
        words = ["--tokens", self.file(algorithm, kind), "--jwks", self.directory / "jwks.json"]
        return words + ["--algorithm", algorithm, "--issuer", ISSUER, "--client", CLIENT]

    # -- the programs

    def programs(self):
        """Name and command of everything that validates in a process of its own."""
        programs = {"engine": [self.options.engine], "c": [self.bench.programs / "check_tokens"]}
        python = pathlib.Path(self.options.peers) / "bin/python"
        if python.exists():
            programs |= {name: [python, HERE / "peers/validate.py", "--library", name] for name in LIBRARIES}
        if pathlib.Path("/usr/share/nodejs/jose").exists():
            programs |= {"jose": ["node", HERE / "peers/validate.mjs"]}
            programs |= {"jose16": ["node", HERE / "peers/validate.mjs", "--in-flight", 16]}
        return programs

    def check_verdicts(self, programs):
        """A program that lets a faulty token pass, or rejects a good one, would be measured doing something else."""
        for algorithm, _ in ALGORITHMS:
            with open(self.file(algorithm, ".rejected"), encoding="ascii") as file:
                faults = [line.rstrip("\n").split("\t")[3] for line in file]
            few = self.file(algorithm, ".few")
            with open(self.file(algorithm), encoding="ascii") as file:
                few.write_text("".join(next(file) for _ in range(8)), encoding="ascii")
            for name, command in programs.items():
                good = self.verdicts(command, algorithm, ".few")
                if not all(good):
                    raise Failed(f"{name} rejects good {algorithm} tokens")
                passed = {fault for fault, ok in zip(faults, self.verdicts(command, algorithm, ".rejected")) if ok}
                # Python's and JavaScript's JSON take the last of repeated members; that is how these libraries are.
                if passed - (set() if name in ("engine", "c") else {"duplicate"}):
                    raise Failed(f"{name} lets {algorithm} tokens pass with these faults: {', '.join(sorted(passed))}")

    def verdicts(self, command, algorithm, kind):
        return self.bench.children.measure([*command, *self.arguments(algorithm, kind), "--verdicts"], 60)["verdicts"]

    def validate(self, command, algorithm):
        seconds = self.options.seconds
        line = self.bench.children.measure([*command, *self.arguments(algorithm), "--seconds", seconds], seconds + 60)
        line["perSecond"] = line["validations"] / line["seconds"]
        line["perCpuSecond"] = line["validations"] / line["cpuSeconds"]
        return line

    def openssl_speed(self, name):
        """Verifications per second of processor time, as OpenSSL measures itself."""
        command = ["openssl", "speed", "-mr", "-seconds", str(max(1, round(self.options.seconds / 3))), name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        found = re.search(r"^\+F\d:.*:([0-9.]+)$", done.stdout, re.MULTILINE)
        if not found:
            raise Failed(f"openssl speed {name}: {done.stderr.strip()[-300:]}")
        return {"perCpuSecond": float(found.group(1))}

    def allocations(self, command, algorithm):
        """Allocations for one validation: the difference of two counts, without what start and end take."""
        counts = []
        result = self.directory / "allocations"
        for count in (ALLOCATIONS_FROM, ALLOCATIONS_TO):
            environment = {
                **os.environ,
                "LD_PRELOAD": str(self.bench.programs / "count_allocations.so"),
                "BENCH_ALLOCATIONS": str(result),
            }
            words = [str(word) for word in [*command, *self.arguments(algorithm), "--count", count]]
            done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)
            if done.returncode != 0:
                raise Failed(f"{words[0]}: {done.stderr.strip()}")
            counts.append(int(result.read_text(encoding="ascii")))
        return (counts[1] - counts[0]) / (ALLOCATIONS_TO - ALLOCATIONS_FROM)

    # -- Postern

    def write_configuration(self, upstream):
        configuration = {
            "issuers": {
                "tokens": {
                    "issuer": ISSUER,
                    "clientId": CLIENT,
                    "idToken": {"algorithms": [name for name, _ in ALGORITHMS]},
                    "endpoints": {"jwks": f"{upstream}/jwks"},
                }
            },
            "store": {"kind": "memory"},
            "log": {"level": self.options.log_level, "format": "json"},
            "development": {"plainHTTPOnLoopback": True},
        }
        path = self.directory / "postern.yaml"
        path.write_text(json.dumps(configuration, indent=2), encoding="ascii")
        return path

    def start_keys(self):
        command = [self.bench.programs / "upstream", "--jwks", self.directory / "jwks.json"]
        child = self.bench.children.start(command, stdout=subprocess.PIPE)
        return child, child.stdout.readline().decode().strip()

    def write_requests(self, algorithm, kind, count):
        """The first `count` tokens as requests."""
        path = self.directory / f"{algorithm}.{kind}.requests"
        with open(self.file(algorithm), encoding="ascii") as lines, open(path, "w", encoding="ascii") as requests:
            for _, line in zip(range(count), lines):
                token, nonce, access_token = line.rstrip("\n").split("\t")
                params = {"issuer": "tokens", "idToken": token, "nonce": nonce, "accessToken": access_token}
                requests.write(json.dumps({"method": "validateIdToken", "params": params}) + "\n")
        return path

    def write_requests_with_keys(self, algorithm):
        """The repeated tokens, each with the key set instead of the issuer's name."""
        path = self.directory / f"{algorithm}.keys.requests"
        keys = json.loads((self.directory / "jwks.json").read_text(encoding="ascii"))
        issuer = {"expectedIssuer": ISSUER, "clientId": CLIENT, "algorithms": [algorithm], "jwks": keys}
        with open(path, "w", encoding="ascii") as out:
            for line in self.requests[algorithm, "repeated"].read_text(encoding="ascii").splitlines():
                params = json.loads(line)["params"]
                del params["issuer"]
                out.write(json.dumps({"method": "validateIdToken", "params": issuer | params}) + "\n")
        return path

    def check_socket_verdicts(self, configuration):
        server, path = self.bench.start_postern("tokens-check", configuration=configuration)
        with wait_for_socket(path, server, self.bench.log) as connection:
            for algorithm, _ in ALGORITHMS:
                with open(self.file(algorithm, ".rejected"), encoding="ascii") as file:
                    for line in file:
                        token, nonce, access_token, fault = line.rstrip("\n").split("\t")
                        params = {"issuer": "tokens", "idToken": token, "nonce": nonce, "accessToken": access_token}
                        if call(connection, "validateIdToken", params)["valid"] is not False:
                            raise Failed(f"Postern lets an {algorithm} token pass with this fault: {fault}")
        self.bench.children.stop(server)

    def cold(self, algorithm, configuration):
        """A fresh process and tokens that it has not seen: the ring of requests is longer than its cache."""
        server, path = self.bench.start_postern("tokens-cold", configuration=configuration)
        wait_for_socket(path, server, self.bench.log).close()
        line = self.bench.load_server(
            server,
            path,
            CONNECTIONS,
            PIPELINE,
            seconds=self.options.seconds,
            requests_from=self.requests[algorithm, "cold"],
            expect='"cached":false',
        )
        self.bench.children.stop(server)
        path.unlink(missing_ok=True)
        return line

    def repeated(self, algorithm, server, path, kind="repeated", expect='"cached":true'):
        return self.bench.load_server(
            server,
            path,
            CONNECTIONS,
            PIPELINE,
            seconds=self.options.seconds,
            requests_from=self.requests[algorithm, kind],
            expect=expect,
        )

    # -- the sections

    def measure_engine(self, programs, say):
        rows = []
        for algorithm, speed in ALGORITHMS:
            say(f"tokens, {algorithm} compared with C")
            lines = self.bench.interleave(
                {
                    "engine": lambda: self.validate(programs["engine"], algorithm),
                    "c": lambda: self.validate(programs["c"], algorithm),
                    "openssl": lambda: self.openssl_speed(speed),
                }
            )
            allocations = {name: self.allocations(programs[name], algorithm) for name in ("engine", "c")}
            rows.append({"name": algorithm, **lines, "allocations": allocations})
        return rows

    def measure_socket(self, programs, say):
        child, upstream = self.start_keys()
        configuration = self.write_configuration(upstream)
        self.check_socket_verdicts(configuration)
        self.requests = {
            (algorithm, kind): self.write_requests(algorithm, kind, count)
            for algorithm, _ in ALGORITHMS
            for kind, count in (("cold", self.options.tokens), ("repeated", REPEATED))
        }
        for algorithm, _ in ALGORITHMS:
            self.requests[algorithm, "keys"] = self.write_requests_with_keys(algorithm)
        server, path = self.bench.start_postern("tokens-repeated", configuration=configuration)
        wait_for_socket(path, server, self.bench.log).close()
        rows = []
        for algorithm, _ in ALGORITHMS:
            say(f"validateIdToken, {algorithm}")
            # Seen once: from here on each of them is answered from the cache of verdicts.
            self.bench.load(path, 1, 1, requests=REPEATED, requests_from=self.requests[algorithm, "repeated"])
            measured = {
                "cold": lambda: self.cold(algorithm, configuration),
                "repeated": lambda: self.repeated(algorithm, server, path),
                "keys": lambda: self.repeated(algorithm, server, path, "keys", '"valid":true'),
            }
            for name, command in programs.items():
                if name not in ("engine", "c"):
                    measured[name] = lambda command=command: self.validate(command, algorithm)
            rows.append({"name": algorithm, "lines": self.bench.interleave(measured)})
        self.bench.children.stop(server)
        self.bench.children.stop(child)
        return rows

    def measure(self, say):
        if not os.access(self.options.engine, os.X_OK):
            raise Failed(f"{self.options.engine}: not there; make bench-engine builds it")
        say(f"tokens, making {self.options.tokens:,} for each algorithm")
        self.make_tokens()
        programs = self.programs()
        self.check_verdicts(programs)
        return {
            "tokens": self.options.tokens,
            "connections": CONNECTIONS,
            "pipeline": PIPELINE,
            "repeatedTokens": REPEATED,
            "openssl": subprocess.run(
                ["openssl", "version"], capture_output=True, text=True, check=False
            ).stdout.partition(" (")[0].strip(),
            "engine": self.measure_engine(programs, say),
            "socket": self.measure_socket(programs, say),
        }
