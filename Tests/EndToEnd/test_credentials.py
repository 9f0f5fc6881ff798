"""`auth: credential`: a resource's own secret is in its requests as configured, and nowhere else."""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple
from urllib.parse import quote, unquote

import pytest

from harness import binaries, expect
from harness.certificates import Authority
from harness.collector import Collector
from harness.connection import Connection
from harness.gateway import ask
from harness.keyed import Answer, KeyedServer, Request
from harness.ports import free_port
from harness.sidecar import Sidecar, StartError
from harness.users import ALICE, BOB, BOTH, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]
SECRET = "k3y+of/postern&tests=1"
ENCODED = "k3y%2Bof%2Fpostern%26tests%3D1"


@pytest.fixture
def serve() -> Iterator[Callable[..., KeyedServer]]:
    started: List[KeyedServer] = []

    def serve(*arguments: Any, **options: Any) -> KeyedServer:
        started.append(KeyedServer(*arguments, **options))
        return started[-1]

    yield serve
    for server in started:
        server.stop()


@pytest.fixture
def server(serve: Callable[..., KeyedServer]) -> KeyedServer:
    return serve()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("tls"))
    made.issue("server", "subjectAltName=IP:127.0.0.1")
    return made


@pytest.fixture
def secret(directory: Path) -> Path:
    path = directory / "key"
    put(path, SECRET)
    return path


def put(path: Path, content: Any) -> None:
    """Replaces a file as one should: a new one gets its name."""
    new = path.with_name(path.name + ".new")
    new.write_bytes(content if isinstance(content, bytes) else content.encode())
    new.chmod(0o600)
    new.replace(path)


def resource(server: KeyedServer, credential: Dict[str, Any], **members: Any) -> Dict[str, Any]:
    return {"resources": {"r": {"baseUrl": server.base + "/api/", "auth": "credential", "credential": credential, **members}}}


def fetch(connection: Connection, path: str = "x", **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": "r", "path": path, **params})


def fault(connection: Connection, code: int, path: str = "x", **params: Any) -> Dict[str, Any]:
    return expect.fault(connection.error("fetchResource", {"resource": "r", "path": path, **params}), code)


# What arrives


@pytest.mark.parametrize(
    "form, header, value",
    [
        ({"header": "X-Api-Key"}, "x-api-key", SECRET),
        ({"header": "Authorization", "prefix": "Bearer "}, "authorization", "Bearer " + SECRET),
        ({"header": "Authorization", "prefix": "Token token="}, "authorization", "Token token=" + SECRET),
        ({"header": "Authorization"}, "authorization", SECRET),
    ],
)
def test_a_header_arrives_byte_by_byte(
    start: Start, connect: Connect, server: KeyedServer, secret: Path, form: Dict[str, Any], header: str, value: str
) -> None:
    connection = connect(start(resource(server, {**form, "valueFile": str(secret)})))
    result = fetch(connection)
    assert result["status"] == 200 and result["url"] == server.base + "/api/x" and result["attempts"] == 1
    assert [request.headers[header] for request in server.requests] == [[value]]


@pytest.mark.parametrize("source", ["valueFile", "valueEnv", "value"])
def test_a_query_parameter_is_encoded_and_shown_with_a_mask(
    start: Start, connect: Connect, server: KeyedServer, secret: Path, source: str
) -> None:
    given = {"valueFile": str(secret), "valueEnv": "API_KEY", "value": SECRET}[source]
    sidecar = start(resource(server, {"query": "key", source: given}), environment={"API_KEY": SECRET})
    connection = connect(sidecar)
    assert fetch(connection)["url"] == server.base + "/api/x?key=***"
    assert fetch(connection, "x?a=1", parameters={"b": 2})["url"] == server.base + "/api/x?a=1&b=2&key=***"
    assert [request.target for request in server.requests] == [f"/api/x?key={ENCODED}", f"/api/x?a=1&b=2&key={ENCODED}"]
    assert unquote(server.requests[0].query.partition("=")[2]) == SECRET


@pytest.fixture
def nginx(directory: Path) -> Iterator[str]:
    """nginx, whose `auth_basic` knows one user."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    port = free_port()
    hashed = subprocess.run(
        ["openssl", "passwd", "-apr1", "pässword:1"], check=True, capture_output=True, text=True).stdout.strip()
    (directory / "users").write_text(f"app:{hashed}\n")
    (directory / "www").mkdir()
    (directory / "www" / "x").write_text("inside")
    (directory / "nginx.conf").write_text(f"""
        pid {directory}/nginx.pid; error_log stderr warn; daemon off; worker_processes 1; user root;
        events {{ worker_connections 64; }}
        http {{
          access_log off; client_body_temp_path {directory}/t1; proxy_temp_path {directory}/t2;
          fastcgi_temp_path {directory}/t3; uwsgi_temp_path {directory}/t4; scgi_temp_path {directory}/t5;
          server {{ listen 127.0.0.1:{port}; root {directory}/www; auth_basic "p"; auth_basic_user_file {directory}/users; }}
        }}""")
    with open(directory / "nginx.log", "wb") as log:
        process = subprocess.Popen([program, "-p", str(directory), "-c", str(directory / "nginx.conf")], stderr=log)
    base = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert process.poll() is None, (directory / "nginx.log").read_text()
        try:
            urllib.request.urlopen(base, timeout=5)
        except urllib.error.HTTPError as error:
            return error.code == 401
        except OSError:
            return False
        return False

    try:
        eventually(answers, what="nginx")
        yield base
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(10)


def test_basic_is_what_nginx_accepts(start: Start, connect: Connect, nginx: str, directory: Path) -> None:
    put(directory / "password", "pässword:1\n")
    basic = {"username": "app", "passwordFile": str(directory / "password")}
    connection = connect(start(
        {"resources": {"r": {"baseUrl": nginx + "/", "auth": "credential", "credential": {"basic": basic}}}}))
    result = fetch(connection)
    assert result["status"] == 200 and result["body"] == "inside"
    put(directory / "password", "another")
    wrong = eventually(lambda: (lambda found: found if found["status"] == 401 else None)(fetch(connection)), what="a 401")
    assert wrong["attempts"] == 1 and wrong["tokenRefreshed"] is False
    put(directory / "password", "pässword:1")
    eventually(lambda: fetch(connection)["status"] == 200, what="the right password")


# What callers may not send


def test_the_name_is_the_resources_own(start: Start, connect: Connect, server: KeyedServer, secret: Path) -> None:
    connection = connect(start(resource(server, {"header": "X-Api-Key", "valueFile": str(secret)})))
    for name in ["X-Api-Key", "x-api-key", "X_API_KEY", "Authorization"]:
        assert fault(connection, 1005, headers={name: "mine"})["path"] == f"/headers/{name}"
        fault(connection, 1005, headers={name: "mine"}, auth="none")
    assert server.requests == []


def test_the_parameter_is_the_resources_own(start: Start, connect: Connect, server: KeyedServer, secret: Path) -> None:
    connection = connect(start(resource(server, {"query": "key", "valueFile": str(secret)})))
    for query in ["key=1", "a=b&KEY=1", "%6bey=1", "k%65y", "key%5B%5D=1", "a=1;key=2"]:
        assert fault(connection, 1006, "x?" + query)["path"] == "/path"
    for parameters in [{"key": 1}, {"Key": {"a": 1}}, {"a": 1, "key": [1]}]:
        assert fault(connection, 1006, parameters=parameters)["path"] == "/parameters"
    fault(connection, 1006, server.base + "/api/x?key=1")
    assert server.requests == []
    assert fetch(connection, "x?keys=1", parameters={"a": {"key": 1}})["status"] == 200


def test_getAccessToken_does_not_hand_it_out(start: Start, connect: Connect, server: KeyedServer, secret: Path) -> None:
    changes = resource(server, {"header": "X-Api-Key", "valueFile": str(secret)})
    connection = connect(start({**changes, "tokens": {"leaveTheSidecar": True}}))
    for params in [{"resource": "r"}, {"resource": "r", "auth": "credential"}, {"issuer": "play", "auth": "credential"}]:
        error = connection.error("getAccessToken", params)
        expect.fault(error, -32020)
        assert SECRET not in json.dumps(error)
    assert connection.call("getAccessToken", {"resource": "orders"})["tokenType"] == "Bearer"


def test_a_call_chooses_among_what_is_configured(start: Start, connect: Connect, server: KeyedServer, secret: Path) -> None:
    connection = connect(start(resource(server, {"header": "X-Api-Key", "valueFile": str(secret)})))
    data = expect.fault(
        connection.error("fetchResource", {"resource": "orders", "path": "orders", "auth": "credential"}), 1003)
    assert data["outcome"] == "not_sent" and data["retryable"] is False
    fault(connection, 1003, auth="clientCredentials")
    assert server.requests == []
    assert fetch(connection, auth="none")["status"] == 200
    assert not server.requests[0].shows(SECRET)
    assert "fetchResource.credential" in connection.call("getInfo")["features"]


# Redirects


FORMS = [{"header": "X-Api-Key"}, {"header": "Authorization", "prefix": "Bearer "}, {"query": "key"}]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: str(list(form.values())[0]))
@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
@pytest.mark.parametrize("status", [302, 307])
def test_it_ends_at_another_origin_and_does_not_come_back(
    start: Start, connect: Connect, serve: Callable[..., KeyedServer], secret: Path, form: Dict[str, Any], host: str, status: int
) -> None:
    server, other = serve(), serve(host)
    server.redirects("/api/x", "y", status)
    server.redirects("/api/y", other.base + "/a", status)
    other.redirects("/a", "/b", status)
    other.redirects("/b", server.base + "/api/z", status)
    connection = connect(start(resource(
        server, {**form, "valueFile": str(secret)}, additionalOrigins=[other.base])))
    result = fetch(connection, method="POST", body="text")
    assert result["status"] == 200 and result["url"] == server.base + "/api/z"
    seen = [(request.path, request.shows(SECRET) or request.shows(ENCODED)) for request in server.requests]
    assert seen == [("/api/x", True), ("/api/y", True), ("/api/z", False)]
    assert [request.path for request in other.requests] == ["/a", "/b"]
    assert not any(request.shows(SECRET) or request.shows(ENCODED) for request in other.requests)
    # The body follows the rules for all redirects.
    assert [request.body for request in other.requests] == ([b"", b""] if status == 302 else [b"text", b"text"])
    # The next call begins at the resource again; a call may begin at the other origin, too.
    fetch(connection, "w")
    assert server.requests[-1].shows(SECRET) or server.requests[-1].shows(ENCODED)
    fetch(connection, other.base + "/c")
    assert other.requests[-1].shows(SECRET) or other.requests[-1].shows(ENCODED)


def test_it_ends_at_another_scheme(
    start: Start, connect: Connect, serve: Callable[..., KeyedServer], authority: Authority, secret: Path
) -> None:
    plain, secure = serve(), serve(authority=authority)
    plain.redirects("/api/x", secure.base + "/api/a")
    secure.redirects("/api/a", plain.base + "/api/z")
    connection = connect(start(resource(
        plain, {"header": "X-Api-Key", "valueFile": str(secret)}, additionalOrigins=[secure.base],
        tls={"caFile": authority.file})))
    assert fetch(connection)["status"] == 302, "not from https to http"
    assert [request.shows(SECRET) for request in plain.requests + secure.requests] == [True, False]


def test_a_query_that_a_server_repeats_goes_no_further(
    start: Start, connect: Connect, serve: Callable[..., KeyedServer], secret: Path
) -> None:
    server, other = serve(), serve()
    server.answers["/api/x"] = lambda request: (302, {"Location": "y?" + request.query}, b"")
    server.answers["/api/y"] = lambda request: (302, {"Location": other.base + "/a?b=1&" + request.query}, b"")
    connection = connect(start(resource(
        server, {"query": "key", "valueFile": str(secret)}, additionalOrigins=[other.base])))
    assert fetch(connection)["url"] == other.base + "/a?b=1"
    assert [request.target for request in server.requests] == [f"/api/x?key={ENCODED}", f"/api/y?key={ENCODED}"]
    assert [request.target for request in other.requests] == ["/a?b=1"]
    shown = fetch(connection, followRedirects=False)
    assert shown["status"] == 302 and shown["headers"]["location"] == ["y?key=***"]


@pytest.mark.parametrize("form", [{"header": "X-Api-Key"}, {"query": "key"}], ids=str)
@pytest.mark.parametrize("name", ["y?token={}", "y/{}/z", "y?next=%2Fa%3Fkey%3D{}"])
def test_a_secret_under_a_servers_own_name_is_shown_nowhere_and_goes_no_further(
    start: Start, connect: Connect, serve: Callable[..., KeyedServer], secret: Path, form: Dict[str, Any], name: str
) -> None:
    """It would catch a redirect that puts the secret into a result, a log or another origin's hands."""
    plain = "key-of-postern-0123456789"
    put(secret, plain)
    server, other = serve(), serve()
    server.redirects("/api/x", "/api/" + name.format(plain))
    server.redirects("/api/w", other.base + "/" + name.format(plain))
    sidecar = start({
        **resource(server, {**form, "valueFile": str(secret)}, additionalOrigins=[other.base]), "log": {"level": "trace"}})
    connection = connect(sidecar)
    here, there = fetch(connection), fetch(connection, "w")
    assert here["status"] == 200 and not [request for request in other.requests if request.shows(plain)]
    there["headers"].pop("location", None)
    everything = json.dumps([here, there, connection.call("listTasks")]) + sidecar.log()
    assert plain not in everything and "***" in here["url"]


# Rotation


class Lock:
    """Accepts one key; counts what it refuses."""

    def __init__(self, key: str) -> None:
        self.key, self.refused = key, 0
        #: Held while the key is replaced, here and in the file: no request is judged meanwhile.
        self.replacement = threading.Lock()

    def __call__(self, request: Request) -> Answer:
        with self.replacement:
            if request.headers.get("x-api-key") == [self.key]:
                return 200, {}, b"ok"
            self.refused += 1
            return 401, {"WWW-Authenticate": "ApiKey"}, b"no"


def beside(directory: Path) -> Tuple[Path, Callable[[str], None]]:
    """A file that is replaced by renaming."""
    path = directory / "rotated"
    return path, lambda text: put(path, text)


def kubernetes(directory: Path) -> Tuple[Path, Callable[[str], None]]:
    """A mounted Secret: the file is a link through `..data`, which is exchanged."""
    volume = directory / "volume"
    volume.mkdir()
    (volume / "rotated").symlink_to("..data/rotated")
    versions = iter(range(100))

    def swap(text: str) -> None:
        version = volume / f"..{next(versions)}"
        version.mkdir()
        (version / "rotated").write_text(text)
        (version / "rotated").chmod(0o440)
        (volume / "..data_tmp").symlink_to(version.name)
        old = os.path.realpath(volume / "..data")
        (volume / "..data_tmp").replace(volume / "..data")
        if "..data" not in old:
            shutil.rmtree(old, ignore_errors=True)

    return volume / "rotated", swap


@pytest.mark.parametrize("place", [beside, kubernetes])
def test_a_new_key_is_used_within_two_seconds(
    start: Start, connect: Connect, server: KeyedServer, directory: Path, place: Any
) -> None:
    path, replace = place(directory)
    replace("one")
    connection = connect(start(resource(server, {"header": "X-Api-Key", "valueFile": str(path)})))
    for key in ["two", "three\n"]:
        fetch(connection)
        replace(key)
        replaced = time.monotonic()
        eventually(lambda: (fetch(connection), server.requests[-1].headers["x-api-key"])[1] == [key.strip()], what="the key")
        assert time.monotonic() - replaced < 2.5


def test_a_rotation_under_load_costs_one_request_at_most(
    start: Start, server: KeyedServer, directory: Path
) -> None:
    """200 requests a second, in turn: the key is replaced in the file and at the server at one moment, five times."""
    path = directory / "rotated"
    put(path, "key-0")
    lock = Lock("key-0")
    server.answers["/api/x"] = lock
    sidecar = start(resource(server, {"header": "X-Api-Key", "valueFile": str(path)}))
    statuses: List[int] = []
    over = threading.Event()

    def load() -> None:
        with sidecar.connect() as connection:
            due = time.monotonic()
            while not over.is_set():
                statuses.append(fetch(connection)["status"])
                due += 0.005
                time.sleep(max(0.0, due - time.monotonic()))

    caller = threading.Thread(target=load)
    caller.start()
    try:
        for number in range(1, 6):
            before, refused = len(statuses), lock.refused
            eventually(lambda: len(statuses) >= before + 60, what="load")
            with lock.replacement:
                put(path, f"key-{number}")
                lock.key = f"key-{number}"
            before = len(statuses)
            eventually(lambda: len(statuses) >= before + 60, what="load")
            assert lock.refused - refused <= 1, number
            assert statuses[-1] == 200
    finally:
        over.set()
        caller.join(20)
    assert set(statuses) <= {200, 401}


BAD = {
    "empty": b"", "break": b"one\r\nX-Injected: 1", "two lines": b"one\ntwo\n", "nul": b"o\0ne", "utf-8": "ké".encode(),
    "invalid utf-8": b"k\xff", "9 KiB": b"k" * 9216, "tab": b"a\tb", "blank": b" one", "1 MiB": b"k" * (1 << 20),
}


@pytest.mark.parametrize("content", list(BAD.values()), ids=list(BAD))
def test_a_bad_value_is_a_problem_at_start(start: Start, server: KeyedServer, secret: Path, content: bytes) -> None:
    put(secret, content)
    with pytest.raises(StartError) as failure:
        start(resource(server, {"header": "X-Api-Key", "valueFile": str(secret)}))
    assert "resources.r.credential.valueFile" in failure.value.log
    assert "Injected" not in failure.value.log and "kkkk" not in failure.value.log


@pytest.mark.parametrize("content", [*BAD.values(), None], ids=[*BAD, "gone"])
def test_a_file_gone_bad_keeps_the_last_good_value(
    start: Start, connect: Connect, server: KeyedServer, secret: Path, content: Any
) -> None:
    put(secret, "good")
    sidecar = start(resource(server, {"header": "X-Api-Key", "valueFile": str(secret)}))
    connection = connect(sidecar)
    fetch(connection)
    if content is None:
        secret.unlink()
    else:
        put(secret, content)

    def check() -> Any:
        fetch(connection)
        return connection.call("health")["checks"].get(f"file.{secret}")

    found = eventually(check, what="the check")
    assert found["status"] == "degraded" and connection.call("health")["status"] == "degraded"
    assert {tuple(request.headers["x-api-key"]) for request in server.requests} == {("good",)}
    assert "kkkk" not in json.dumps(found) + sidecar.log() and "Injected" not in sidecar.log()
    put(secret, "better")
    eventually(lambda: check() is None, what="the recovery")
    assert server.requests[-1].headers["x-api-key"] == ["better"]
    assert connection.call("health")["status"] == "ok"


# What is configured wrongly


@pytest.mark.parametrize(
    "credential, key",
    [
        ({"header": "X-Api-Key"}, "credential"),
        ({"valueFile": "F"}, "credential"),
        ({}, "credential"),
        ({"header": "X-Api-Key", "query": "key", "valueFile": "F"}, "credential"),
        ({"header": "X-Api-Key", "basic": {"username": "a", "passwordFile": "F"}, "valueFile": "F"}, "credential"),
        ({"basic": {"username": "a", "passwordFile": "F"}, "valueFile": "F"}, "credential"),
        ({"query": "key", "prefix": "Bearer ", "valueFile": "F"}, "credential.prefix"),
        ({"header": "X-Api-Key", "valueFile": "F", "valueEnv": "HOME"}, "credential.valueEnv"),
        ({"basic": {"passwordFile": "F"}}, "credential.basic"),
        ({"basic": {"username": "a"}}, "credential.basic"),
        ({"basic": {"username": "a:b", "passwordFile": "F"}}, "credential.basic.username"),
        ({"header": "Host", "valueFile": "F"}, "credential.header"),
        ({"header": "Content-Length", "valueFile": "F"}, "credential.header"),
        ({"header": "Cookie", "valueFile": "F"}, "credential.header"),
        ({"header": "Connection", "valueFile": "F"}, "credential.header"),
        ({"header": "X Y", "valueFile": "F"}, "credential.header"),
        ({"header": "X-Y\r\nZ", "valueFile": "F"}, "credential.header"),
        ({"header": "X-Y", "prefix": "é ", "valueFile": "F"}, "credential.prefix"),
        ({"query": "a=b", "valueFile": "F"}, "credential.query"),
        ({"header": "X-Api-Key", "valueFile": "F", "vaule": "x"}, "credential.vaule"),
    ],
)
def test_a_form_that_cannot_be_used_is_a_problem(
    start: Start, server: KeyedServer, secret: Path, credential: Dict[str, Any], key: str
) -> None:
    text = json.dumps(credential).replace('"F"', json.dumps(str(secret)))
    with pytest.raises(StartError) as failure:
        start(resource(server, json.loads(text)))
    assert f"resources.r.{key}" in failure.value.log
    assert SECRET not in failure.value.log


@pytest.mark.parametrize(
    "members, key",
    [
        ({"auth": "credential"}, "resources.r.auth"),
        ({"auth": "none", "credential": {}}, "resources.r.credential"),
        ({"auth": "clientCredentials", "issuer": "play", "credential": {}}, "resources.r.credential"),
    ],
)
def test_auth_and_credential_belong_together(
    start: Start, server: KeyedServer, secret: Path, members: Dict[str, Any], key: str
) -> None:
    if "credential" in members:
        members = {**members, "credential": {"header": "X-Api-Key", "valueFile": str(secret)}}
    with pytest.raises(StartError) as failure:
        start({"resources": {"r": {"baseUrl": server.base + "/", **members}}})
    assert key + ":" in failure.value.log, failure.value.log


def test_a_password_in_a_url_is_a_problem(start: Start, server: KeyedServer) -> None:
    with pytest.raises(StartError) as failure:
        start({"resources": {"r": {"baseUrl": server.base.replace("//", f"//app:{ENCODED}@") + "/", "auth": "none"}}})
    assert "resources.r.baseUrl" in failure.value.log and ENCODED not in failure.value.log


# Callers


@needs_root
def test_who_may_not_use_the_resource_does_not_use_the_file(
    start: Start, server: KeyedServer, secret: Path, directory: Path
) -> None:
    """The rule is judged first: for a caller whom the resource is hidden from, the file, gone bad, is not looked at."""
    changes = resource(server, {"header": "X-Api-Key", "valueFile": str(secret)})
    peers = [{"uid": 0, "methods": ["*"]}, {"uid": ALICE, "methods": ["*"]},
             {"uid": BOB, "methods": ["fetchResource", "getAccessToken", "health"], "resources": ["open"]}]
    sidecar = start({**changes, **BOTH, "peers": peers})
    open_to_all(sidecar.directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        assert fetch(alice)["status"] == 200
        put(secret, "two\nlines")
        time.sleep(1.5)
        told = [bob.error("fetchResource", {"resource": name, "path": "x", **given})
                for name, given in [("r", {}), ("r", {"auth": "credential"}), ("q", {})]]
        for error in told:
            error["data"].pop("traceId")
        assert told[0] == told[1] and json.dumps(told[0]).replace(" r ", " q ") == json.dumps(told[2])
        assert "replaced" not in sidecar.log(), "the file was read"
        fetch(alice)
        sidecar.awaits_log("a replaced file or key is not valid")
    assert len(server.requests) == 2


# Nothing leaks


@pytest.mark.parametrize("form", FORMS + [{"basic": {"username": "app"}}], ids=lambda form: str(list(form.values())[0])[:9])
def test_the_secret_is_in_no_answer_log_metric_span_or_record(
    start: Start, server: KeyedServer, secret: Path, directory: Path, form: Dict[str, Any]
) -> None:
    collector = Collector()
    server.answers["/api/401"] = lambda _: (401, {}, b"")
    server.answers["/api/moved"] = lambda _: (307, {"Location": "/api/x"}, b"")
    # A header that no server may send: the exchange fails once it has begun.
    server.answers["/api/broken"] = lambda _: (200, {"Content-Length": "99999", "Connection": "close"}, b"short")
    server.answers["/api/huge"] = lambda _: (200, {}, b"x" * 100_000)
    asked = threading.Event()
    server.answers["/api/slow"] = lambda _: (asked.wait(20), (200, {}, b"late"))[1]
    credential = json.loads(json.dumps(form))
    (credential["basic"] if "basic" in credential else credential).update(
        {"passwordFile" if "basic" in credential else "valueFile": str(secret)})
    sidecar = start({
        **resource(server, credential, maxBodyBytes="64KiB", cookies={"store": True}),
        "log": {"level": "trace", "format": "json"}, "audit": {"path": str(directory / "audit.log")},
        "telemetry": {"serviceName": "shop-sidecar", "otlp": {"endpoint": collector.url}}, "http": {"listen": "127.0.0.1:0"},
    })
    told: List[Any] = []
    try:
        with sidecar.connect(timeout=30) as connection, sidecar.connect(timeout=30) as watcher:
            for path in ["x", "401", "moved", "broken", "huge", "status?a=1"]:
                told.append(connection.answer_to(connection.request("fetchResource", {"resource": "r", "path": path})))
            for params in [{"stream": True, "streamHead": True}, {"timeoutMs": 300, "path": "slow"}, {"headers": {"X-Api-Key": "1"}},
                           {"path": "x?key=1"}, {"path": "../x"}, {"method": "TRACE"}, {"auth": "none"}]:
                told.append(connection.answer_to(connection.request("fetchResource", {"resource": "r", "path": "x", **params})))
            pending = connection.request("fetchResource", {"resource": "r", "path": "slow", "task": "t"})
            eventually(lambda: "t" in [task["task"] for task in watcher.call("listTasks")["tasks"]], what="the task")
            told += [watcher.call("listTasks"), watcher.call("getTask", {"task": "t"})]
            asked.set()
            told.append(connection.answer_to(pending))
            told += [watcher.call("listTasks"), watcher.call("health"), watcher.call("metrics"), watcher.call("getInfo")]
            told += connection.others()
            server.stop()
            told.append(connection.answer_to(connection.request("fetchResource", {"resource": "r", "path": "x"})))
        eventually(lambda: collector.spans, what="spans")
    finally:
        sidecar.stop()
        collector.stop()
    sent = [request for request in server.requests if request.path == "/api/x"]
    assert len(sent) >= 3
    log = sidecar.log()
    audit = (directory / "audit.log").read_text()
    assert '"auth":"credential"' in audit.replace('": "', '":"')
    everything = {"answers": json.dumps(told), "log": log, "audit": audit, "spans": json.dumps([body for _, _, body in collector.requests])}
    hidden = [SECRET, ENCODED, json.dumps(SECRET)[1:-1], SECRET[:8], "YXBwOm"]
    for name, text in everything.items():
        for value in hidden:
            assert value not in text, (name, text[max(0, text.find(value) - 200) : text.find(value) + 50])
    if "query" in form:
        assert "key=***" in everything["answers"]
        heads = [answer["params"]["url"] for answer in told if answer.get("method") == "fetchResource.head"]
        assert heads == [server.base + "/api/x?key=***"]
        assert [task["url"] for task in told if "task" in task and task.get("task") == "t" and "url" in task][0].endswith("slow?key=***")


def test_a_body_passes_as_it_is(start: Start, connect: Connect, server: KeyedServer, secret: Path) -> None:
    """A server that shows the credential in a body shows it to the caller: that is documented, and the server's own doing."""
    server.answers["/api/x"] = lambda request: (
        200, {"X-Seen": request.headers["x-api-key"][0], "Content-Type": "text/plain"}, request.headers["x-api-key"][0].encode())
    result = fetch(connect(start(resource(server, {"header": "X-Api-Key", "valueFile": str(secret)}))))
    assert result["body"] == SECRET and result["headers"]["x-seen"] == ["***"]


def encoded(text: str, times: int) -> str:
    for _ in range(times):
        text = quote(text, safe="")
    return text


@pytest.mark.parametrize("form", FORMS, ids=lambda form: str(list(form.values())[0]))
def test_a_field_that_returns_it_shows_a_mask(
    start: Start, server: KeyedServer, secret: Path, directory: Path, form: Dict[str, Any]
) -> None:
    """It would catch a field, an error or a head of a stream that has the credential in some spelling, by either way to a
    resource."""
    fields = {
        "Link": f"</api/y?key={ENCODED}>; rel=next", "Refresh": f"0;url=/api/y?key={ENCODED.lower()}",
        "Content-Location": f"/api/y#{SECRET}", "X-Next": "/login?next=" + encoded(f"/api/y?key={ENCODED}", 1),
        "X-Twice": "/login?next=" + encoded(f"/a?b={encoded('/api/y?key=' + ENCODED, 1)}", 1), "Set-Cookie": f"k={ENCODED}; Path=/api/",
        "X-Form": "key=" + ENCODED.replace("%20", "+"), "X-Json": json.dumps({"key": SECRET}), "Location": f"https://far.test/?k={ENCODED}#{SECRET}",
    }
    server.answers["/api/x"] = lambda _: (201, fields, b"made")
    http = str(directory / "http.sock")
    sidecar = start({**resource(server, {**form, "valueFile": str(secret)}), "log": {"level": "trace"},
                     "gateway": {"listen": {"path": http}}, "audit": {"path": str(directory / "audit.log")}})
    sidecar.awaits_log("gateway listening")
    with sidecar.connect() as connection:
        told = [fetch(connection), fetch(connection, stream=True, streamHead=True), connection.call("listTasks"), connection.others()]
        assert told[0]["headers"]["x-next"] == ["/login?next=" + encoded("/api/y?key=", 1) + "***"]
        assert told[0]["headers"]["set-cookie"] == ["k=***; Path=/api/"]
    answer = ask(http, "GET", "/r/x")
    assert answer.status == 201 and answer.headers["Set-Cookie"] == "k=***; Path=/r"
    assert answer.headers["X-Twice"].endswith("***") and answer.headers["Location"] == "https://far.test/?k=***#***"
    everything = json.dumps(told) + str(answer.headers) + sidecar.log() + (directory / "audit.log").read_text()
    for spelling in [SECRET, *(encoded(SECRET, times) for times in (1, 2, 3))]:
        assert spelling.lower() not in everything.lower()


# Offline


def test_check_config_and_doctor_know_it(server: KeyedServer, secret: Path, directory: Path) -> None:
    path = directory / "postern.yaml"

    def run(credential: Dict[str, Any], *command: str) -> "subprocess.CompletedProcess[str]":
        path.write_text(json.dumps({
            "development": {"plainHTTPOnLoopback": True}, "store": {"kind": "memory"},
            "listen": {"path": str(directory / "s.sock")}, **resource(server, credential)}))
        return subprocess.run(
            [binaries.postern(), *command, "--config", str(path)], capture_output=True, text=True, timeout=60)

    good = {"header": "X-Api-Key", "valueFile": str(secret)}
    assert run(good, "check-config").returncode == 0
    for text in [run(good, "check-config").stdout, run(good, "doctor").stdout]:
        assert SECRET not in text
    put(secret, SECRET + "é")
    bad = run(good, "check-config")
    assert bad.returncode == 1 and "resources.r.credential.valueFile" in bad.stdout + bad.stderr
    assert SECRET not in bad.stdout + bad.stderr
    assert server.requests == []
