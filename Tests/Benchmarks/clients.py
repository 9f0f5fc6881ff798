"""What a call costs through the clients of Python and Node, compared with the raw socket from the same language."""

import os
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# name, which of the program's series, target in microseconds
CLIENTS = {
    "python": [("Python, `Client`", "Client", 40), ("Python, `AsyncClient`", "AsyncClient", 80)],
    "node": [("Node, `Client`", "client", 30)],
}


class ClientBench:
    """The part of a run that is about the clients; each program starts a sidecar of its own."""

    def __init__(self, bench):
        self.bench = bench

    def measure(self, say):
        os.environ["POSTERN_BIN"] = self.bench.options.postern
        os.environ["PYTHONPATH"] = str(ROOT / "clients/python/src")
        programs = {
            "python": [sys.executable, ROOT / "clients/python/benchmarks/overhead.py", "--json"],
            "node": [shutil.which("node") or "node", ROOT / "clients/node/bench/overhead.mjs", "--json"],
        }
        rows = []
        for language, command in programs.items():
            say(f"clients, {language}")
            medians = self.bench.children.measure(command, timeout=600)
            for name, series, target in CLIENTS[language]:
                rows.append({"name": name, "target": target, "socketUs": medians["socket"], "clientUs": medians[series]})
        return rows
