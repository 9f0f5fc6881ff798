"""The gateway and programs that know nothing of it: they get a base URL, a socket or the listener's key, no secret."""
from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness.gateway import Upstream
from harness.ports import free_port
from harness.sidecar import Sidecar

KEY = "a-key-of-this-listener-0123456789"
MEBIBYTE = 1 << 20


class Files:
    """A static server: a repository, an index of packages."""

    def __init__(self, root: Path) -> None:
        class Handler(SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

        self.root = root
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(root)))
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class Gateway:
    """Where programs reach the gateway."""

    def __init__(self, sidecar: Sidecar, path: str, port: int) -> None:
        self.sidecar, self.path, self.base = sidecar, path, f"http://127.0.0.1:{port}"

    def with_key(self, name: str = "key") -> str:
        """The base URL with the key as a password."""
        return self.base.replace("//", f"//{name}:{KEY}@")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    made = Upstream()
    yield made
    made.stop()


@pytest.fixture
def files(directory: Path) -> Iterator[Files]:
    root = directory / "files"
    root.mkdir()
    made = Files(root)
    yield made
    made.stop()


@pytest.fixture
def gateway(start: Callable[..., Sidecar], upstream: Upstream, files: Files, directory: Path) -> Gateway:
    key = directory / "key"
    key.write_text(KEY)
    key.chmod(0o600)
    path, port = str(directory / "http.sock"), free_port()
    sidecar = start({
        "gateway": {"listen": {"path": path, "address": f"127.0.0.1:{port}", "keyFile": str(key)}},
        "resources": {
            "up": {"baseUrl": upstream.base + "/v1/", "auth": "none"},
            "files": {"baseUrl": files.base + "/", "auth": "none"},
        }})
    sidecar.awaits_log("gateway listening")
    return Gateway(sidecar, path, port)


def run(*command: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    clean = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", **environment}
    result = subprocess.run(command, capture_output=True, timeout=60, env=clean)
    assert result.returncode == 0, result.stderr.decode(errors="replace")
    return result


def needs(program: str) -> Any:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"needs {program}")


@needs("curl")
def test_curl(gateway: Gateway, directory: Path) -> None:
    curl = ["curl", "-sS", "--fail-with-body", "--unix-socket", gateway.path]
    seen = json.loads(run(*curl, "-d", "a=1", "http://postern/up/x?y").stdout)
    assert (seen["method"], seen["path"], seen["length"]) == ("POST", "/v1/x?y", 3)
    body = os.urandom(5 * MEBIBYTE)
    (directory / "body").write_bytes(body)
    seen = json.loads(run(*curl, "-T", str(directory / "body"), "http://postern/up/x").stdout)  # With Expect.
    assert seen["sha256"] == hashlib.sha256(body).hexdigest() and seen["method"] == "PUT"
    assert run(*curl, "-r", "5-9", "http://postern/up/file").stdout == Upstream.FILE[5:10]
    assert run(*curl, "-I", "http://postern/up/file").stdout.startswith(b"HTTP/1.1 200 OK\r\n")
    assert run(*curl, "--compressed", "http://postern/up/gzip").stdout == b"text " * 1000
    assert json.loads(run(*curl, "--http1.0", "http://postern/up/x").stdout)["method"] == "GET"
    location = run(*curl, "-L", "http://postern/up/fields?status=302&Location=/v1/file").stdout
    assert location == Upstream.FILE
    jar = str(directory / "jar")
    run(*curl, "-c", jar, "http://postern/up/fields?Set-Cookie=a%3Db;Path%3D/v1;Secure")
    seen = json.loads(run(*curl, "-b", jar, "http://postern/up/x").stdout)
    assert ["cookie", "a=b"] in seen["headers"]
    seen = json.loads(run(*curl, "-H", f"Postern-Key: {KEY}", "http://postern/up/x").stdout)
    assert KEY not in json.dumps(seen), "needed on the loopback address only"
    key = ["curl", "-sS", "--fail-with-body", "-H", f"Postern-Key: {KEY}"]
    seen = json.loads(run(*key, f"{gateway.base}/up/x").stdout)
    assert KEY not in json.dumps(seen)


@needs("wget")
def test_wget(gateway: Gateway) -> None:
    command = ["wget", "-q", "-O", "-", f"--header=Postern-Key: {KEY}"]
    assert run(*command, f"{gateway.base}/up/file").stdout == Upstream.FILE
    seen = json.loads(run(*command, "--post-data=a=1", f"{gateway.base}/up/x").stdout)
    assert (seen["method"], seen["length"]) == ("POST", 3) and KEY not in json.dumps(seen)


@needs("git")
def test_git(gateway: Gateway, files: Files, directory: Path) -> None:
    work = directory / "work"
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    run("git", *identity, "init", "-q", str(work))
    (work / "file").write_text("content")
    run("git", *identity, "-C", str(work), "add", "file")
    run("git", *identity, "-C", str(work), "commit", "-qm", "one")
    run("git", "clone", "-q", "--bare", str(work), str(files.root / "repository.git"))
    run("git", "-C", str(files.root / "repository.git"), "update-server-info")
    rule = [f"http.{gateway.base}/.extraHeader=Postern-Key: {KEY}", f"url.{gateway.base}/files/.insteadOf=https://git.example/"]
    settings = [part for line in rule for part in ("-c", line)]
    run("git", *settings, "clone", "-q", "https://git.example/repository.git", str(directory / "clone"))
    assert (directory / "clone" / "file").read_text() == "content"


def test_pip(gateway: Gateway, files: Files, directory: Path) -> None:
    folder = files.root / "simple" / "sample"
    folder.mkdir(parents=True)
    name = "sample-1.0-py3-none-any.whl"
    with zipfile.ZipFile(folder / name, "w") as wheel:
        wheel.writestr("sample.py", "x = 1\n")
        wheel.writestr("sample-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: sample\nVersion: 1.0\n")
        wheel.writestr("sample-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("sample-1.0.dist-info/RECORD", "")
    (folder / "index.html").write_text(f'<a href="{name}">{name}</a>')
    run(sys.executable, "-m", "venv", str(directory / "venv"))
    run(
        str(directory / "venv" / "bin" / "pip"), "download", "-q", "--no-deps", "--no-cache-dir", "--disable-pip-version-check",
        "--index-url", f"{gateway.with_key()}/files/simple/", "--trusted-host", "127.0.0.1", "-d", str(directory / "down"),
        "sample")
    assert (directory / "down" / name).exists()


def test_python_clients(gateway: Gateway) -> None:
    requests = pytest.importorskip("requests")
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {KEY}"
        seen = session.post(f"{gateway.base}/up/x", data=iter([b"a", b"b"]), timeout=20).json()
        assert seen["length"] == 2 and KEY not in json.dumps(seen)
        with session.get(f"{gateway.base}/up/large?{3 * MEBIBYTE}", stream=True, timeout=20) as response:
            assert sum(len(piece) for piece in response.iter_content(1 << 16)) == 3 * MEBIBYTE


@needs("node")
def test_node_fetch(gateway: Gateway) -> None:
    script = f"""
      const headers = {{"Postern-Key": "{KEY}"}};
      const response = await fetch("{gateway.base}/up/x", {{method: "PUT", body: "hello", headers}});
      console.log(response.status, (await response.json()).length);
    """
    assert run("node", "--input-type=module", "-e", script).stdout.split() == [b"200", b"5"]
