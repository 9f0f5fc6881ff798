"""Programs as they are shipped, with nothing but a base URL: each gets its answer through the gateway, and none has the
upstream's secret at any time."""
from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Set

import pytest

from harness import memory
from harness.ports import free_port
from harness.programs_server import MESSAGE, OBJECT, ProgramsServer
from harness.sidecar import Sidecar
from harness.waiting import eventually

#: The programs from PyPI, in an environment of their own: `make programs`.
PROGRAMS = Path(os.environ.get("PROGRAMS", Path(__file__).resolve().parents[2] / ".build" / "programs")) / "bin"

needs_programs = pytest.mark.skipif(not (PROGRAMS / "aws").exists(), reason="needs `make programs`")


class Bench:
    """A gateway in front of a server with a key. The memory of programs is searched while they wait for a response."""

    def __init__(
        self, directory: Path, start: Callable[..., Sidecar], more: "Dict[str, object] | None" = None
    ) -> None:
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

        def resource(path: str = "", header: str = "X-Upstream-Key") -> Dict[str, object]:
            credential = {"header": header, "valueFile": str(directory / "upstream")}
            return {"baseUrl": f"{self.server.base}/{path}", "auth": "credential", "credential": credential}

        start({
            "resources": {
                "up": resource(), "vault": resource(header="X-Vault-Token"), **(more or {}),
            },
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
        return self.base_of("up")

    def base_of(self, resource: str) -> str:
        return f"http://127.0.0.1:{self.port}/{resource}"

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


def test_git_pushes_in_chunks(bench: Bench) -> None:
    """Git sends a pack that is longer than `http.postBuffer` in chunks, after a request that asks whether it may."""
    clone = bench.directory / "clone"
    bench.run("git", "clone", "-q", f"{bench.base_with_key}/git/demo.git", str(clone))
    (clone / "large").write_bytes(secrets.token_bytes(300_000))
    for command in (["add", "large"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "second commit"]):
        subprocess.run(["git", "-C", str(clone), *command], check=True, timeout=30)
    bench.run("git", "-C", str(clone), "-c", "http.postBuffer=65536", "push", "-q", "origin", "main")
    assert bench.server.chunked > 0
    pushed = subprocess.run(
        ["git", "-C", str(bench.directory / "served" / "demo.git"), "-c", "safe.directory=*", "log", "-1", "--format=%s", "main"],
        capture_output=True, timeout=30)
    assert pushed.stdout == b"second commit\n"


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


JAVA = """
import java.net.*;
import java.net.http.*;
class Program {
  public static void main(String[] a) throws Exception {
    var request = HttpRequest.newBuilder(URI.create(a[0] + "/j")).header("Postern-Key", a[1]);
    var client = HttpClient.newHttpClient();
    for (int i = 0; i < 2; i++) {
      var response = client.send(
        request.POST(HttpRequest.BodyPublishers.ofString("abc")).build(), HttpResponse.BodyHandlers.ofString());
      System.out.println(response.version() + " " + response.body());
    }
  }
}
"""


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_java(bench: Bench) -> None:
    """Java's client asks on each plain connection whether HTTP/2 may be spoken there (`Upgrade: h2c`)."""
    (bench.directory / "Program.java").write_text(JAVA)
    subprocess.run(["javac", "Program.java"], check=True, cwd=bench.directory, timeout=60)
    output = bench.run("java", "-cp", str(bench.directory), "Program", bench.base, bench.key)
    assert output.decode().splitlines() == ["HTTP_1_1 POST /j 3"] * 2


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
@pytest.mark.parametrize("streams", [False, True])
def test_openai_as_azure_serves_it(bench: Bench, streams: bool) -> None:
    text = (
        "import openai,os;c=openai.AzureOpenAI(azure_endpoint=os.environ['U'],api_version='2024-10-21');"
        f"r=c.chat.completions.create(model='m',messages=[{{'role':'user','content':'x'}}],stream={streams});"
        + ("print(''.join(e.choices[0].delta.content for e in r).strip())" if streams else "print(r.choices[0].message.content)"))
    assert script(bench, text, U=bench.base, AZURE_OPENAI_API_KEY=bench.key).decode().strip() == MESSAGE
    assert [request[1].partition("?")[0] for request in bench.server.requests] == ["/openai/deployments/m/chat/completions"]


@needs_programs
@pytest.mark.parametrize("streams", [False, True])
def test_google_genai(bench: Bench, streams: bool) -> None:
    text = (
        "import os;from google import genai;"
        "c=genai.Client(api_key=os.environ['K'],http_options={'base_url':os.environ['U']});"
        + ("print(''.join(e.text for e in c.models.generate_content_stream(model='m',contents='x')).strip())" if streams
           else "print(c.models.generate_content(model='m',contents='x').text)"))
    assert script(bench, text, U=bench.base, K=bench.key).decode().strip() == MESSAGE


@needs_programs
def test_hvac_lists_and_reads(bench: Bench) -> None:
    """A vault's client lists with a method of its own, LIST, and has its token in a field of its own."""
    text = (
        "import hvac;v=hvac.Client().secrets.kv.v2;"
        "name=v.list_secrets(path='app',mount_point='secret')['data']['keys'][0];"
        "r=v.read_secret_version(path='app/'+name,mount_point='secret',raise_on_deleted_version=True);"
        "print(r['data']['data']['password'])")
    assert script(bench, text, VAULT_ADDR=bench.base_of("vault") + "/", VAULT_TOKEN=bench.key).decode().strip() == MESSAGE
    assert ("LIST", "/v1/secret/metadata/app") in [request[:2] for request in bench.server.requests]


@needs_programs
def test_npm_installs_from_a_registry_at_the_root_of_its_server(bench: Bench) -> None:
    """A registry names archives by their whole URL. npm puts its own registry's URL in place of their origin."""
    (bench.directory / ".npmrc").write_text(
        f"registry={bench.base}/\n//127.0.0.1:{bench.port}/up/:_authToken={bench.key}\n"
        "replace-registry-host=always\naudit=false\nfund=false\nupdate-notifier=false\n")
    (bench.directory / "package.json").write_text("{}")
    bench.run(str(PROGRAMS / "npm"), "install", "gatewaydemo")
    assert (bench.directory / "node_modules" / "gatewaydemo" / "index.js").read_text() == "module.exports = 42\n"


def test_rclone_moves_files_of_a_webdav_server(directory: Path, start: Callable[..., Sidecar]) -> None:
    """A client in Go, to the server that it has itself: PROPFIND, MKCOL, PUT, and MOVE with the gateway's own URL as the
    destination. The server's responses have its paths: it works where the resource has the name of the path."""
    served, password, port = directory / "dav", secrets.token_hex(16), free_port()
    served.mkdir()
    (directory / "basic").write_text("Basic " + base64.b64encode(f"user:{password}".encode()).decode())
    (directory / "basic").chmod(0o600)
    environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "RCLONE_CONFIG": str(directory / "rclone.conf")}
    server = subprocess.Popen(
        ["rclone", "serve", "webdav", str(served), "--addr", f"127.0.0.1:{port}", "--baseurl", "/dav", "--user", "user"],
        env={**environment, "RCLONE_PASS": password}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
        credential = {"header": "Authorization", "valueFile": str(directory / "basic")}
        bench = Bench(directory, start, {
            "dav": {"baseUrl": f"http://127.0.0.1:{port}/dav/", "auth": "credential", "credential": credential},
        })
        (directory / "rclone.conf").write_text(
            f"[dav]\ntype = webdav\nurl = {bench.base_of('dav')}\nvendor = other\nbearer_token = {bench.key}\n")
        (directory / "local").mkdir()
        (directory / "local" / "a name with spaces & é.txt").write_text("content")

        def rclone(*arguments: str) -> str:
            done = subprocess.run(["rclone", "--retries=1", *arguments], env=environment, capture_output=True, timeout=60, text=True)
            assert done.returncode == 0, done.stderr
            return done.stdout

        rclone("copy", str(directory / "local"), "dav:folder")
        rclone("moveto", "dav:folder/a name with spaces & é.txt", "dav:moved/other.txt")
        assert rclone("cat", "dav:moved/other.txt") == "content"
        assert rclone("lsf", "-R", "dav:").split() == ["folder/", "moved/", "moved/other.txt"]
        rclone("purge", "dav:moved")
        assert [path.name for path in served.rglob("*")] == ["folder"]
        bench.server.stop()
    finally:
        server.terminate()
        server.wait(10)


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
