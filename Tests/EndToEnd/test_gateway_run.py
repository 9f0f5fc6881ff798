"""`postern run` with programs as they are: they use a resource through the gateway, and never have its credential."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import binaries
from harness.sidecar import Sidecar

SECRET = "the-credential-of-the-server"
KEY = "key of this machine"


class Server:
    """A server of files that requires a bearer token, and keeps what it was sent."""

    def __init__(self, directory: Path) -> None:
        self.requests: List[Dict[str, str]] = []
        requests = self.requests

        class Handler(SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def __init__(self, *arguments: Any) -> None:
                super().__init__(*arguments, directory=str(directory))

            def do_GET(self) -> None:
                requests.append({"path": self.path, **{name.lower(): value for name, value in self.headers.items()}})
                if self.headers.get("Authorization") == f"Bearer {SECRET}":
                    return super().do_GET()
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def files(directory: Path) -> Path:
    """What the server has: a repository, a package index, and a document."""
    root = directory / "files"
    (root / "simple/tiny").mkdir(parents=True)
    (root / "simple/tiny/index.html").write_text('<a href="tiny-1.0-py3-none-any.whl">tiny</a>')
    with zipfile.ZipFile(root / "simple/tiny/tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", "x = 1\n")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")
    (root / "models").write_text(json.dumps({"models": []}))
    work = directory / "work"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(work)]
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    (work / "file").write_text("content\n")
    for arguments in (["add", "file"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(work), str(root / "app.git")], check=True)
    subprocess.run(["git", "-C", str(root / "app.git"), "update-server-info"], check=True)
    return root


@pytest.fixture
def server(files: Path) -> Iterator[Server]:
    made = Server(files)
    yield made
    made.stop()


@pytest.fixture
def program(directory: Path, server: Server, start: Callable[..., Sidecar]) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs a program by `postern run` with these options, next to a sidecar with the server as resource `files`."""
    for name, text in [("gateway.key", KEY), ("credential", SECRET)]:
        (directory / name).write_text(text + "\n")
        (directory / name).chmod(0o600)
    from harness.ports import free_port
    sidecar = start({
        "listen": {"path": str(directory / "postern.sock")},
        "store": {"kind": "memory"},
        "resources": {
            "files": {
                "baseUrl": server.base, "auth": "credential",
                "credential": {"header": "Authorization", "prefix": "Bearer ", "valueFile": str(directory / "credential")},
            },
            "index": {
                "baseUrl": server.base + "simple/", "auth": "credential",
                "credential": {"header": "Authorization", "prefix": "Bearer ", "valueFile": str(directory / "credential")},
            },
        },
        "gateway": {"listen": {
            "path": str(directory / "http.sock"),
            "address": f"127.0.0.1:{free_port()}", "keyFile": str(directory / "gateway.key"),
        }},
        "development": {"plainHTTPOnLoopback": True},
    })

    def run(options: List[str], command: List[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [binaries.postern(), "run", "--config", str(sidecar.configuration_path), *options, "--", *command],
            capture_output=True, text=True, timeout=120, cwd=directory,
            env={"PATH": os.environ["PATH"], "HOME": str(directory), "GIT_TERMINAL_PROMPT": "0", "PIP_NO_CACHE_DIR": "1"})

    return run


def test_git_clones_by_the_url_of_the_server(program: Any, server: Server, directory: Path) -> None:
    """Catches a clone whose configuration names the gateway, or has the key in it."""
    done = program(["--git", "files"], ["git", "clone", "-q", server.base + "app.git", "copy"])
    assert done.returncode == 0, done
    assert (directory / "copy/file").read_text() == "content\n"
    assert f"url = {server.base}app.git" in (directory / "copy/.git/config").read_text()
    assert KEY not in (directory / "copy/.git/config").read_text()
    assert all(KEY not in json.dumps(one) and "postern-key" not in one for one in server.requests)


def test_pip_installs_from_the_index(program: Any, server: Server, directory: Path) -> None:
    """Catches an index whose links lead past the gateway, and a password that pip does not send."""
    done = program(
        ["--set", "PIP_INDEX_URL=index"],
        [sys.executable, "-m", "pip", "install", "--no-deps", "--disable-pip-version-check", "--target", str(directory / "lib"), "tiny"])
    assert done.returncode == 0, done
    assert (directory / "lib/tiny.py").read_text() == "x = 1\n"
    assert {one["authorization"] for one in server.requests} == {f"Bearer {SECRET}"}


CLIENT = """
import json, os, urllib.request
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/models")
request.add_header("Authorization", "Bearer " + os.environ["OPENAI_API_KEY"])
print(urllib.request.urlopen(request).read().decode())
print(json.dumps(dict(os.environ)) + open("/proc/self/environ").read())
"""


def test_a_client_with_its_keys_variable(program: Any, server: Server) -> None:
    """Catches a key that the gateway passes on, and the server's credential in the program."""
    done = program(["--set", "OPENAI_BASE_URL=files"], [sys.executable, "-c", CLIENT])
    assert done.returncode == 0 and done.stdout.startswith('{"models": []}'), done
    assert SECRET not in done.stdout and KEY in done.stdout
    assert [one["authorization"] for one in server.requests] == [f"Bearer {SECRET}"]


def test_curl_with_a_key_and_without(program: Any, server: Server, directory: Path) -> None:
    """Catches a gateway that every program of the machine can use."""
    curl = ["sh", "-c", 'curl -s -o /dev/null -w "%{http_code}" "$@" "${FILES}models"', "sh"]
    options = ["--set", "FILES=files", "--key-in", "KEY"]
    assert program(options, curl).stdout == "401" and server.requests == []
    assert program(options, [*curl, "-H", "Postern-Key: wrong, but as long"]).stdout == "401"
    assert program(options, ["sh", "-c", curl[2].replace('"$@"', '-H "Postern-Key: $KEY"')]).stdout == "200"
    socket = ["curl", "-s", "--unix-socket", str(directory / "http.sock"), "http://postern/files/models"]
    assert program([], socket).stdout == '{"models": []}'
