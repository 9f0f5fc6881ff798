"""The HTTP socket of an endpoint: an unchanged program reaches what the endpoint leaves, and nothing else."""
from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import binaries, expect
from harness.connection import Connection
from harness.gateway import Answer, UnixConnection, Upstream, ask
from harness.sidecar import Sidecar
from harness.users import ALICE, BOB, as_user, connect_as, needs_root, open_to_all
from harness.waiting import eventually

Start = Callable[..., Sidecar]


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    made = Upstream()
    yield made
    made.stop()


@pytest.fixture
def gateway(start: Start, upstream: Upstream, directory: Path) -> Callable[..., Sidecar]:
    """Starts a sidecar with the gateway, and the resources `up` and `secret`."""

    def begin(**changes: Any) -> Sidecar:
        resources = {name: {"baseUrl": f"{upstream.base}/{name}/", "auth": "none"} for name in ("up", "secret")}
        listen = {"path": str(directory / "http.sock"), "mode": "0666"}
        made = start({"gateway": {"listen": listen, "protect": changes.pop("protect", {})}, "resources": resources, **changes})
        made.awaits_log("gateway listening")
        return made

    return begin


def endpoint(maker: Connection, **params: Any) -> Dict[str, Any]:
    made: Dict[str, Any] = maker.call("createEndpoint", {"http": True, **params})
    return made


def words(answer: Answer) -> Dict[str, Any]:
    """A problem without what differs from call to call."""
    assert answer.headers["Content-Type"] == "application/problem+json", answer.body
    return {name: value for name, value in answer.json.items() if name != "traceId"}


def is_gone(path: str) -> bool:
    try:
        ask(path, "GET", "/up/a")
        return False
    except (FileNotFoundError, ConnectionRefusedError):
        return True
    except ConnectionError:
        return False  # it is there, and for another process


def test_exactly_one_api(gateway: Callable[..., Sidecar], upstream: Upstream) -> None:
    """Catches a resource, an HTTP method, a path or a path of the gateway's own that an endpoint leads to although its
    lists do not, and an answer that shows what there is outside of them."""
    with gateway().connect() as maker:
        made = endpoint(maker, resources=["up"], httpMethods=["GET"], paths=["orders/", "about"])
        path = made["http"]["path"]
        assert os.stat(path).st_mode & 0o777 == 0o600 and path == made["path"] + ".http"
        for target in ("/up/orders/7", "/up/orders/7/lines?x=1", "/up/about"):
            assert ask(path, "GET", target).status == 200, target
        seen = list(upstream.seen)
        assert seen == [("GET", "/up/orders/7"), ("GET", "/up/orders/7/lines?x=1"), ("GET", "/up/about")]
        nothing = ask(path, "GET", "/nothing/orders/7")
        assert nothing.status == 404
        for method, target in [
            ("GET", "/secret/orders/7"), ("POST", "/up/orders/7"), ("HEAD", "/up/orders/7"), ("GET", "/up/"),
            ("GET", "/up/ordersx/7"), ("GET", "/up/about/us"), ("GET", "/up/other?path=orders/7"),
        ]:
            answer = ask(path, method, target)
            assert answer.status == 404, (method, target, answer.body)
            if method != "HEAD":
                assert words(answer) == words(nothing), (method, target)
        for target in ("/up/orders/..%2fsecret", "/up/orders%2f7", "/up/orders/../about", "/up/orders/%2e%2e/about", "/up//orders/7"):
            assert ask(path, "GET", target).status in (400, 404), target
        assert upstream.seen == seen


def test_methods_of_the_sidecar(gateway: Callable[..., Sidecar], upstream: Upstream) -> None:
    """Catches a fetch through an endpoint that may not call the method for it."""
    with gateway().connect() as maker:
        path = endpoint(maker, methods=["getInfo"])["http"]["path"]
        answer = ask(path, "GET", "/up/a")
        assert answer.status == 403 and answer.json["reason"] == "peer_forbidden" and answer.json["code"] == -32020
        assert upstream.seen == []


def test_the_gateways_own_paths(gateway: Callable[..., Sidecar]) -> None:
    """Catches a verdict, or the end of sessions, through an endpoint without the method for it."""
    sidecar = gateway(protect={"api": {"issuer": "play", "audience": "https://api.example.com"}})
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    with sidecar.connect() as maker:
        path = endpoint(maker, methods=["fetchResource"])["http"]["path"]
        assert ask(path, "POST", "/.postern/backchannel-logout/play", b"logout_token=a", form).status == 403
        assert ask(path, "GET", "/.postern/auth/api", headers={"X-Original-URI": "/a", "X-Original-Method": "GET"}).status == 403
        assert ask(path, "GET", "/.postern/auth/nothing").status == 403
        assert ask(path, "GET", "/.postern/nothing").status == 404


def test_it_needs_the_gateway(sidecar: Sidecar) -> None:
    """Catches an endpoint whose program gets no HTTP although its maker wanted that."""
    with sidecar.connect() as maker:
        error = maker.error("createEndpoint", {"http": True})
        assert error["code"] == -32602 and error["data"]["path"] == "/http", error
        assert maker.call("listEndpoints")["endpoints"] == []


ENDS = ["revoked", "expired", "connection"]


@pytest.mark.parametrize("end", ENDS)
def test_its_end_ends_what_is_under_way(gateway: Callable[..., Sidecar], upstream: Upstream, end: str) -> None:
    """Catches a response that goes on, or looks whole, once the endpoint has ended; a request that stays at the server;
    and a socket that stays, also of an endpoint that was made through the first one."""
    sidecar = gateway()
    maker, watcher = sidecar.connect(), sidecar.connect()
    bound: Dict[str, Any] = {"expired": {"expiresInMs": 2000}, "connection": {"bindTo": "connection"}}.get(end, {})
    made = endpoint(maker, resources=["up"], **bound)
    with Connection(made["path"]) as child:
        below = endpoint(child, resources=["up"])["http"]["path"]
        path = made["http"]["path"]
        streams = [(UnixConnection(path), "/up/events"), (UnixConnection(below), "/up/large?100000000")]
        for stream, target in streams:
            stream.request("GET", target)
        upstream.next_event.release()
        responses = [stream.getresponse() for stream, _ in streams]
        for response in responses:
            assert response.status == 200 and response.read(6)
        waiting: List[Answer] = []
        thread = threading.Thread(target=lambda: waiting.append(ask(path, "GET", "/up/hang")))
        thread.start()
        assert upstream.hanging.wait(10)
        if end == "revoked":
            assert watcher.call("revokeEndpoint", {"endpoint": made["endpoint"]}) == {"revoked": 2}
        if end == "connection":
            maker.close()
        for response in responses:
            with pytest.raises(http.client.IncompleteRead):
                response.read()
        thread.join(10)
        assert waiting[0].status == 403 and waiting[0].json["reason"] == "peer_forbidden"
        eventually(lambda: upstream.left, what="the end of the request at the server")
        # Connections end before the files do.
        for one in (path, below):
            eventually(lambda: is_gone(one) and not os.path.exists(one), what="the end of the socket")
    assert watcher.call("listEndpoints")["endpoints"] == []
    maker.close()
    watcher.close()


def test_a_stop_takes_the_sockets_away(gateway: Callable[..., Sidecar]) -> None:
    """Catches a file that stays behind the process, and a program that is cut off while it gets its response."""
    sidecar = gateway()
    with sidecar.connect() as maker:
        path = endpoint(maker)["http"]["path"]
        idle = UnixConnection(path)
        idle.request("GET", "/up/a")
        assert idle.getresponse().read()
        sidecar.signal(signal.SIGTERM)
        assert sidecar.wait() == 0
        assert not list(Path(path).parent.glob("*.e-*"))


@needs_root
def test_it_is_its_makers(gateway: Callable[..., Sidecar], upstream: Upstream, directory: Path) -> None:
    """Catches an endpoint whose requests are of who connects, and one that another user can use."""
    methods = ["fetchResource", "createEndpoint"]
    sidecar = gateway(
        listen={"path": str(directory / "postern.sock"), "mode": "0666"},
        peers=[{"uid": ALICE, "methods": methods, "resources": ["up"]}, {"uid": BOB, "methods": methods}])
    open_to_all(directory)
    with connect_as(ALICE, sidecar) as alice, connect_as(BOB, sidecar) as bob:
        path = endpoint(alice)["http"]["path"]
        assert as_user(ALICE, lambda: ask(path, "GET", "/up/a")).status == 200
        assert as_user(ALICE, lambda: ask(path, "GET", "/secret/a")).status == 404
        assert ask(path, "GET", "/secret/a").status == 404, "it is root who connects, and Alice who fetches"
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError, PermissionError)):
            as_user(BOB, lambda: ask(path, "GET", "/up/a"))
        wide = endpoint(bob)["http"]["path"]
        assert as_user(BOB, lambda: ask(wide, "GET", "/secret/a")).status == 200
        assert upstream.seen == [("GET", "/up/a"), ("GET", "/secret/a")]


def test_it_is_for_one_process(gateway: Callable[..., Sidecar]) -> None:
    """Catches an endpoint for a process that another one of the same user uses over HTTP, and one that outlives it."""
    with gateway().connect() as maker:
        child = subprocess.Popen(
            [sys.executable, "-c", "import os, sys\npath = sys.stdin.readline().strip()\n"
             "os.execvp('curl', ['curl', '-s', '--unix-socket', path, 'http://postern/up/a', 'http://postern/up/hang'])"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert child.stdin is not None and child.stdout is not None
        path = endpoint(maker, bindTo={"pid": child.pid})["http"]["path"]
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            ask(path, "GET", "/up/a")
        child.stdin.write(path + "\n")
        child.stdin.flush()
        assert '"path": "/up/a"' in child.stdout.read(200)
        child.kill()
        child.wait(10)
        eventually(lambda: is_gone(path), what="the end of the endpoint")


def test_few_connections(gateway: Callable[..., Sidecar], directory: Path) -> None:
    """Catches a program whose connections take those of its maker."""
    with gateway().connect() as maker:
        path = endpoint(maker)["http"]["path"]
        mine = [UnixConnection(path) for _ in range(32)]
        for connection in mine:
            connection.request("GET", "/up/a")
            assert connection.getresponse().read()
        assert ask(path, "GET", "/up/a").status == 503
        assert ask(str(directory / "http.sock"), "GET", "/up/a").status == 200
        for connection in mine:
            connection.close()
        eventually(lambda: ask(path, "GET", "/up/a").status == 200, what="connections that are free again")


# In sandboxes

SANDBOX = [
    "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
    "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]


def test_curl_in_a_sandbox(gateway: Callable[..., Sidecar], upstream: Upstream, directory: Path) -> None:
    """Catches a sandboxed program that cannot use its endpoint, or that reaches more than it."""
    sidecar = gateway()
    script = (
        "curl -s --unix-socket /tmp/http http://postern/up/a; echo; "
        "curl -s -o /dev/null -w '%{http_code}\\n' --unix-socket /tmp/http http://postern/secret/a; "
        f"curl -s -o /dev/null -w '%{{http_code}}\\n' {upstream.base}/up/a; ls {directory} /tmp")
    done = subprocess.run(
        [binaries.postern(), "run", "--socket", sidecar.path, "--resource", "up", "--http-method", "GET", "--",
         "sh", "-c", 'exec "$@" --bind "$POSTERN_HTTP_SOCKET" /tmp/http sh -c "$0"', script, *SANDBOX],
        capture_output=True, text=True, timeout=60)
    lines = done.stdout.splitlines()
    assert '"path": "/up/a"' in lines[0] and lines[1:3] == ["404", "000"], done
    assert "http" in lines and "postern.sock" not in done.stdout, done
    assert upstream.seen == [("GET", "/up/a")]
