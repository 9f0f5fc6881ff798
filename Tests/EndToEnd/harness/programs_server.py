"""A server of what common programs speak: APIs of models, a Git repository, package indexes, an object store, a vault."""
from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import subprocess
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Callable, Dict, List, Tuple
from urllib.parse import unquote

MESSAGE = "the models agree"
OBJECT = b"an object of the store\n" * 100
#: The name of the package that the registry has.
NPM_PACKAGE = "gatewaydemo"


def npm_package() -> bytes:
    """The smallest package that npm installs: `gatewaydemo` 1.0.0."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in {
            "package.json": json.dumps({"name": NPM_PACKAGE, "version": "1.0.0"}), "index.js": "module.exports = 42\n",
        }.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def wheel() -> bytes:
    """The smallest package that pip installs: `gatewaydemo` 1.0."""
    files = {
        "gatewaydemo.py": "VALUE = 42\n",
        "gatewaydemo-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: gatewaydemo\nVersion: 1.0\n",
        "gatewaydemo-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(text)}\n"
    files["gatewaydemo-1.0.dist-info/RECORD"] = record + "gatewaydemo-1.0.dist-info/RECORD,,\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def repository(folder: Path) -> None:
    """A bare repository `demo.git` with one commit."""
    work = folder / "work"
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "HOME": str(folder)}
    for command in (
        ["git", "init", "-q", "-b", "main", str(work)],
        ["git", "-C", str(work), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first commit"],
        ["git", "clone", "-q", "--bare", str(work), str(folder / "demo.git")],
        ["git", "-C", str(folder / "demo.git"), "config", "http.receivepack", "true"],
    ):
        subprocess.run(command, check=True, env=environment, timeout=30)


class ProgramsServer:
    """Serves until `stop`, and only requests with `SECRET` in the header `X-Upstream-Key`, or in that of a vault; any other
    gets 401. `before_end` is called within each response, while the program waits for the rest of it."""

    def __init__(self, secret: str, folder: Path) -> None:
        self.requests: List[Tuple[str, str, Dict[str, str]]] = []
        self.rejected = 0
        #: Requests of Git whose body came in chunks.
        self.chunked = 0
        self.before_end: Callable[[], None] = lambda: None
        repository(folder)
        double = self
        package = wheel()
        npm = npm_package()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def _body(self) -> bytes:
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", "0")))
                whole = b""
                while True:
                    size = int(self.rfile.readline(), 16)
                    whole += self.rfile.read(size)
                    self.rfile.readline()
                    if size == 0:
                        return whole

            def _serve(self) -> None:
                body = self._body()
                double.requests.append((self.command, self.path, {name.lower(): value for name, value in self.headers.items()}))
                if secret not in (self.headers.get("X-Upstream-Key"), self.headers.get("X-Vault-Token")):
                    double.rejected += 1
                    return self._answer(401, "text/plain", b"no key")
                path, _, query = self.path.partition("?")
                if path == "/v1/chat/completions":
                    return self._model(json.loads(body), self._openai)
                if path.endswith("/deployments/m/chat/completions") and "api-version=" in query:
                    return self._model(json.loads(body), self._openai)
                if path in ("/v1/models/m:generateContent", "/v1/models/m:streamGenerateContent"):
                    return self._model({"stream": "alt=sse" in query}, self._google)
                if path.startswith("/v1/secret/"):
                    return self._vault(path[len("/v1/secret/"):])
                if path == f"/{NPM_PACKAGE}":
                    return self._answer(200, "application/json", self._npm())
                if path.startswith(f"/{NPM_PACKAGE}/-/"):
                    return self._answer(200, "application/octet-stream", npm)
                if path == "/v1/messages":
                    return self._model(json.loads(body), self._anthropic)
                if path.startswith("/git/"):
                    return self._git(unquote(path[4:]), query, body)
                if path == "/simple/gatewaydemo/":
                    link = '<a href="../../files/gatewaydemo-1.0-py3-none-any.whl">gatewaydemo-1.0-py3-none-any.whl</a>'
                    return self._answer(200, "text/html", f"<!DOCTYPE html><html><body>{link}</body></html>".encode())
                if path.startswith("/files/"):
                    return self._answer(200, "application/zip", package)
                if path == "/bucket/key":
                    return self._answer(200, "binary/octet-stream", OBJECT)
                return self._answer(200, "text/plain", f"{self.command} {self.path} {len(body)}".encode())

            def _answer(self, status: int, kind: str, content: bytes, **fields: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                for name, value in fields.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command == "HEAD":
                    return
                half = len(content) // 2
                self.wfile.write(content[:half])
                self.wfile.flush()
                double.before_end()
                self.wfile.write(content[half:])
                self.wfile.flush()

            def _model(self, request: Dict[str, object], form: "Callable[[bool], List[bytes]]") -> None:
                if not request.get("stream"):
                    return self._answer(200, "application/json", form(False)[0])
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for event in form(True):
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                    self.wfile.flush()
                double.before_end()
                self.wfile.write(b"0\r\n\r\n")
                self.wfile.flush()

            @staticmethod
            def _openai(streams: bool) -> List[bytes]:
                common = {"id": "c1", "created": 1, "model": "m"}
                if not streams:
                    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": MESSAGE}}
                    return [json.dumps({**common, "object": "chat.completion", "choices": [choice]}).encode()]
                events = [
                    {**common, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": word + " "}}]}
                    for word in MESSAGE.split()
                ]
                return [b"data: " + json.dumps(event).encode() + b"\n\n" for event in events] + [b"data: [DONE]\n\n"]

            @staticmethod
            def _google(streams: bool) -> List[bytes]:
                pieces = [word + " " for word in MESSAGE.split()] if streams else [MESSAGE]
                answers = [
                    json.dumps({"candidates": [{"content": {"role": "model", "parts": [{"text": piece}]}, "index": 0}]}).encode()
                    for piece in pieces
                ]
                return [b"data: " + answer + b"\r\n\r\n" for answer in answers] if streams else answers

            def _vault(self, path: str) -> None:
                """Version 2 of the engine of keys and values: LIST names what GET reads below `data`."""
                if (self.command, path) == ("LIST", "metadata/app"):
                    data: Dict[str, object] = {"keys": ["database"]}
                elif (self.command, path) == ("GET", "data/app/database"):
                    data = {"data": {"password": MESSAGE}, "metadata": {"version": 1}}
                else:
                    return self._answer(405, "application/json", b'{"errors":["unsupported operation"]}')
                self._answer(200, "application/json", json.dumps({"request_id": "r", "data": data}).encode())

            @staticmethod
            def _npm() -> bytes:
                """With the whole URL of the archive at this server, as registries give it."""
                archive = f"{double.base}/{NPM_PACKAGE}/-/{NPM_PACKAGE}-1.0.0.tgz"
                integrity = "sha512-" + base64.b64encode(hashlib.sha512(npm).digest()).decode()
                version = {"name": NPM_PACKAGE, "version": "1.0.0", "dist": {"tarball": archive, "integrity": integrity}}
                return json.dumps({
                    "name": NPM_PACKAGE, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}).encode()

            @staticmethod
            def _anthropic(streams: bool) -> List[bytes]:
                message = {
                    "id": "m1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn", "stop_sequence": None,
                    "content": [{"type": "text", "text": MESSAGE}], "usage": {"input_tokens": 1, "output_tokens": 1},
                }
                if not streams:
                    return [json.dumps(message).encode()]
                events: List[Dict[str, object]] = [
                    {"type": "message_start", "message": {**message, "content": []}},
                    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
                    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": MESSAGE}},
                    {"type": "content_block_stop", "index": 0},
                    {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 1}},
                    {"type": "message_stop"},
                ]
                return [b"event: %s\ndata: %s\n\n" % (str(event["type"]).encode(), json.dumps(event).encode()) for event in events]

            def _git(self, path: str, query: str, body: bytes) -> None:
                double.chunked += self.headers.get("Transfer-Encoding") == "chunked"
                environment = {
                    "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
                    "REQUEST_METHOD": self.command, "QUERY_STRING": query, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "CONTENT_LENGTH": str(len(body)), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_USER": "a", "REMOTE_ADDR": "127.0.0.1",
                    "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
                }
                done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, timeout=30)
                head, _, content = done.stdout.partition(b"\r\n\r\n")
                fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
                status = int(fields.pop("Status", "200").split()[0])
                self._answer(status, fields.pop("Content-Type", "text/plain"), content, **fields)

            do_GET = do_POST = do_HEAD = do_PUT = do_LIST = _serve

            def log_message(self, *arguments: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
