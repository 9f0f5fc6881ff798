"""Programs as they are shipped, with nothing but a base URL: each gets its answer through the gateway, and none has the
upstream's secret at any time."""
from __future__ import annotations

import base64
import json
import os
import secrets
import subprocess
import threading
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Set

import pytest

from harness import memory
from harness.ports import free_port
from harness.programs_server import MESSAGE, OBJECT, ProgramsServer
from harness.sidecar import Sidecar

#: The programs from PyPI, in an environment of their own: `make programs`.
PROGRAMS = Path(os.environ.get("PROGRAMS", Path(__file__).resolve().parents[2] / ".build" / "programs")) / "bin"

needs_programs = pytest.mark.skipif(not (PROGRAMS / "aws").exists(), reason="needs `make programs`")


class Bench:
    """A gateway in front of a server with a key. The memory of programs is searched while they wait for a response."""

    def __init__(self, directory: Path, start: Callable[..., Sidecar]) -> None:
        self.secret = "upstream-" + secrets.token_hex(16)
        self.key = "local-" + secrets.token_hex(16)
        self.marker = "marker-" + secrets.token_hex(16)
        self.directory = directory
        (directory / "served").mkdir()
        self.server = ProgramsServer(self.secret, directory / "served")
        for name, content in {"upstream": self.secret, "key": self.key}.items():
            (directory / name).write_text(content)
            (directory / name).chmod(0o600)
        self.port = free_port()
        self.socket = directory / "http.sock"
        credential = {"header": "X-Upstream-Key", "valueFile": str(directory / "upstream")}
        start({
            "resources": {"up": {"baseUrl": self.server.base + "/", "auth": "credential", "credential": credential}},
            "gateway": {
                "listen": {
                    "path": str(self.socket), "address": f"127.0.0.1:{self.port}", "keyFile": str(directory / "key"),
                }
            },
        })
        self.process: "subprocess.Popen[bytes] | None" = None
        #: Taken while a program is started: its first request may come before its number is known here.
        self.starting = threading.Lock()
        self.seen: Set[bytes] = set()
        self.server.before_end = self._search

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/up"

    @property
    def base_with_key(self) -> str:
        """For programs that take a password in the URL."""
        return f"http://any:{self.key}@127.0.0.1:{self.port}/up"

    def _search(self) -> None:
        needles = [self.secret.encode(), base64.b64encode(self.secret.encode()), self.marker.encode()]
        with self.starting:
            started = self.process
        if started is not None:
            for process in memory.descendants(started.pid):
                self.seen |= memory.found_in(process, needles)

    def run(self, *command: str, **environment: str) -> bytes:
        """What the program prints. It succeeds, it has been searched at least once, and it had no secret."""
        clean = {"PATH": os.environ["PATH"], "HOME": str(self.directory), "MARKER": self.marker, "NO_COLOR": "1"}
        with self.starting:
            self.process = subprocess.Popen(
                command, env={**clean, **environment}, cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        output, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors.decode() + output.decode()
        assert self.marker.encode() in self.seen, "the program was not searched"
        assert self.seen == {self.marker.encode()}, "the program has the upstream's secret"
        assert self.server.requests and self.server.rejected == 0
        for _, _, headers in self.server.requests:
            assert not any(self.key in value for value in headers.values()), "the listener's key went upstream"
        return output


@pytest.fixture
def bench(directory: Path, start: Callable[..., Sidecar]) -> Iterator[Bench]:
    made = Bench(directory, start)
    yield made
    made.server.stop()


def script(bench: Bench, text: str, **environment: str) -> bytes:
    """Runs Python with the packages of `make programs`."""
    return bench.run(str(PROGRAMS / "python"), "-c", text, **environment)


# Each case catches that the program cannot be served with a base URL alone, or gets to see what it must not.


def test_curl_on_the_socket(bench: Bench) -> None:
    output = bench.run("curl", "-sS", "--fail", "--unix-socket", str(bench.socket), "http://postern/up/some/path?q=1")
    assert output == b"GET /some/path?q=1 0"


def test_curl_on_loopback(bench: Bench) -> None:
    upload = bench.directory / "upload"
    upload.write_bytes(b"x" * 3_000_000)
    output = bench.run("curl", "-sS", "--fail", "-H", f"Postern-Key: {bench.key}", "-T", str(upload), f"{bench.base}/upload")
    assert output == b"PUT /upload 3000000"


def test_wget(bench: Bench) -> None:
    output = bench.run("wget", "-q", "-O", "-", f"--header=Postern-Key: {bench.key}", f"{bench.base}/page")
    assert output == b"GET /page 0"


def test_git_clones(bench: Bench) -> None:
    bench.run("git", "clone", "-q", f"{bench.base_with_key}/git/demo.git", "clone")
    log = subprocess.run(["git", "-C", str(bench.directory / "clone"), "log", "--format=%s"], capture_output=True, timeout=30)
    assert log.stdout == b"first commit\n"


@needs_programs
def test_pip_installs_from_an_index(bench: Bench) -> None:
    target = bench.directory / "installed"
    bench.run(
        str(PROGRAMS / "pip"), "install", "-q", "--disable-pip-version-check", "--no-cache-dir", "--target", str(target),
        "--index-url", f"{bench.base_with_key}/simple/", "--trusted-host", "127.0.0.1", "gatewaydemo")
    assert (target / "gatewaydemo.py").read_text() == "VALUE = 42\n"


@needs_programs
def test_requests(bench: Bench) -> None:
    text = "import requests,os;print(requests.get(os.environ['U']+'/r',headers={'Postern-Key':os.environ['K']}).text)"
    assert script(bench, text, U=bench.base, K=bench.key) == b"GET /r 0\n"


@needs_programs
def test_httpx_on_the_socket(bench: Bench) -> None:
    text = (
        "import httpx,os;"
        "c=httpx.Client(transport=httpx.HTTPTransport(uds=os.environ['S']),base_url='http://postern/up/');"
        "print(c.post('h',content=b'12345').text)")
    assert script(bench, text, S=str(bench.socket)) == b"POST /h 5\n"


@pytest.mark.skipif(subprocess.run(["node", "-e", "fetch"], capture_output=True).returncode != 0, reason="needs node 18")
def test_node_fetch(bench: Bench) -> None:
    text = (
        "fetch(process.env.U + '/n', {method: 'POST', body: 'abc', headers: {'Postern-Key': process.env.K}})"
        ".then(r => r.text()).then(t => console.log(t))")
    assert bench.run("node", "-e", text, U=bench.base, K=bench.key) == b"POST /n 3\n"


@needs_programs
@pytest.mark.parametrize("streams", [False, True])
def test_openai(bench: Bench, streams: bool) -> None:
    text = (
        "import openai;c=openai.OpenAI();"
        f"r=c.chat.completions.create(model='m',messages=[{{'role':'user','content':'x'}}],stream={streams});"
        + ("print(''.join(e.choices[0].delta.content for e in r).strip())" if streams else "print(r.choices[0].message.content)"))
    assert script(bench, text, OPENAI_BASE_URL=f"{bench.base}/v1", OPENAI_API_KEY=bench.key).decode().strip() == MESSAGE


@needs_programs
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_anthropic(bench: Bench, streams: bool, variable: str) -> None:
    arguments = "model='m',max_tokens=9,messages=[{'role':'user','content':'x'}]"
    text = (
        "import anthropic;c=anthropic.Anthropic();"
        + (f"print(''.join(c.messages.stream({arguments}).__enter__().text_stream))" if streams
           else f"print(c.messages.create({arguments}).content[0].text)"))
    output = script(bench, text, ANTHROPIC_BASE_URL=bench.base, **{variable: bench.key})
    assert output.decode().strip() == MESSAGE


@needs_programs
def test_aws(bench: Bench) -> None:
    """The access key's identifier is where this program has a value for the listener's key."""
    bench.run(
        str(PROGRAMS / "aws"), "s3api", "get-object", "--bucket", "bucket", "--key", "key", "got",
        AWS_ENDPOINT_URL=bench.base, AWS_ACCESS_KEY_ID=bench.key, AWS_SECRET_ACCESS_KEY="unused", AWS_DEFAULT_REGION="eu-west-1",
        AWS_EC2_METADATA_DISABLED="true")
    assert (bench.directory / "got").read_bytes() == OBJECT


def test_the_search_finds_a_secret_that_is_there(bench: Bench) -> None:
    """A search that finds nothing in any program would prove nothing."""
    with pytest.raises(AssertionError, match="has the upstream's secret"):
        bench.run(
            "curl", "-sS", "--fail", "-H", f"Postern-Key: {bench.key}", f"{bench.base}/x", HIDDEN=f"before {bench.secret} after")


@pytest.mark.parametrize("field", [
    "api-key: {}", "x-goog-api-key: {}", "X-Api-Key: {}", "Authorization: token {}", "Authorization: Bearer {}", "X-Upstream-Key: {}",
    "x-upstream-key: Key {}",
])
def test_the_key_where_programs_keep_the_key_of_their_server(bench: Bench, field: str) -> None:
    """Clients of Azure's and Google's models and of GitHub, and the field that the resource's own credential has."""
    output = bench.run("curl", "-sS", "--fail", "-H", field.format(bench.key), f"{bench.base}/x")
    assert output == b"GET /x 0"


@pytest.mark.parametrize("headers", [
    ["api-key: wrong"], ["x-goog-api-key: "], ["Authorization: token wrong"], ["X-Upstream-Key: wrong"],
    [], ["Postern-Key: wrong"], ["Postern-Key: "], ["Authorization: Bearer wrong"], ["X-Api-Key: wrong"], ["Authorization: Basic YTpi"],
])
def test_without_the_key_nothing_goes_upstream(bench: Bench, headers: List[str]) -> None:
    """A program of another user on this machine gets nothing, whatever it has in the key's slots."""
    options = [option for header in headers for option in ("-H", header)]
    done = subprocess.run(
        ["curl", "-sS", "-w", "%{http_code}", "-o", str(bench.directory / "body"), *options, f"{bench.base}/x"],
        capture_output=True, timeout=30)
    assert done.stdout == b"401", done.stderr
    problem: Dict[str, object] = json.loads((bench.directory / "body").read_text())
    assert problem["status"] == 401
    assert bench.server.requests == []
