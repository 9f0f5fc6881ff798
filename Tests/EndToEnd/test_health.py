"""What `/healthz`, `/readyz`, `health` and `postern probe` say while the provider, the store and the configuration
come and go."""
from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Tuple

import pytest

from harness import binaries
from harness.playground import Playground
from harness.ports import free_port
from harness.sidecar import Sidecar
from harness.waiting import eventually
from test_status_server import get, port_of

Start = Callable[..., Sidecar]
ASKING = {"health": {"askIssuers": True}, "http": {"listen": "127.0.0.1:0"}}


def report(sidecar: Sidecar) -> Tuple[int, Dict[str, Any]]:
    """The status and the report of /readyz."""


    status, _, body = get(port_of(sidecar), "/readyz")
    return status, json.loads(body)


def probe(sidecar: Sidecar, *arguments: str) -> int:
    command = [binaries.postern(), "probe", "--socket", sidecar.path, *arguments]
    return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode


def becomes(sidecar: Sidecar, status: int, seconds: float = 20) -> Dict[str, Any]:
    def look() -> Dict[str, Any]:
        code, said = report(sidecar)
        return said if code == status else {}

    return eventually(look, seconds, f"/readyz {status}")


def at(port: int, playground: Playground) -> Dict[str, Any]:
    """The standard issuer, at another port."""
    return {"issuer": playground.issuer.replace(f":{playground.port}", f":{port}")}


@pytest.fixture
def later(start: Start, playground: Playground, start_playground: Callable[..., Playground]) -> Iterator[Any]:
    """A sidecar whose provider is not there yet, and what starts the provider."""
    port = free_port()
    changes = {**ASKING, "issuers": {"play": at(port, playground)}}
    yield start(changes), lambda: start_playground("--port", str(port)), changes


def test_it_starts_before_its_provider_and_becomes_ready_by_itself(later: Any) -> None:
    sidecar, provide, _ = later
    with sidecar.connect() as listener:
        assert listener.call("subscribe", {"events": ["event.healthChanged"]})["subscribed"]
        said = becomes(sidecar, 503)
        assert said["status"] == "down" and said["checks"]["issuer.play.keys"]["status"] == "down"
        assert get(port_of(sidecar), "/healthz")[0] == 200
        assert (probe(sidecar), probe(sidecar, "--ready")) == (0, 1)
        provider = provide()
        said = becomes(sidecar, 200)
        assert said["status"] == "ok" and said["checks"]["issuer.play.keys"]["ageMs"] >= 0
        assert (probe(sidecar), probe(sidecar, "--ready")) == (0, 0)
        changes = [message["params"]["status"] for message in listener.others() if "params" in message]
        while not changes or changes[-1] != "ok":
            changes.append(listener.receive()["params"]["status"])  # type: ignore[index, call-overload]
        assert changes in (["ok"], ["down", "ok"])
    # Nobody has called anything: only metadata and keys were asked for.
    counted = provider.statistics()
    assert counted["tokenRequests"] == 0 and counted["discoveryRequests"] == 1


def test_a_provider_that_is_lost_leaves_it_ready_while_its_keys_are_good(later: Any) -> None:
    sidecar, provide, _ = later
    provider = provide()
    becomes(sidecar, 200)
    provider.stop()
    with sidecar.connect() as connection:
        connection.error("fetchResource", {"resource": "orders", "path": "orders"})
    status, said = report(sidecar)
    assert (status, said["status"]) == (200, "degraded")
    assert said["checks"]["issuer.play"]["status"] == "degraded" and said["checks"]["issuer.play.keys"]["status"] == "ok"
    assert get(port_of(sidecar), "/healthz")[0] == 200 and probe(sidecar, "--ready") == 0


def test_without_usable_keys_it_is_ready_no_more_until_they_are_back(
    start: Start, playground: Playground, start_playground: Callable[..., Playground]
) -> None:
    # Not one that the kernel chooses: somebody else could be given it before it comes back.
    provider = start_playground("--port", str(free_port()))
    short = {**at(provider.port, playground), "jwks": {"minTtl": "1s", "maxTtl": "2s", "staleIfError": "0s"}}
    sidecar = start({**ASKING, "issuers": {"play": short}})
    becomes(sidecar, 200)
    provider.stop()
    said = becomes(sidecar, 503)
    assert said["status"] == "down" and "no key set" in said["checks"]["issuer.play.keys"]["detail"]
    assert get(port_of(sidecar), "/healthz")[0] == 200
    start_playground("--port", str(provider.port))
    becomes(sidecar, 200)


def test_one_issuer_of_two_that_cannot_be_reached_is_degraded(start: Start, playground: Playground, configuration: Any) -> None:
    other = {**configuration["issuers"]["play"], **at(free_port(), playground)}
    sidecar = start({**ASKING, "issuers": {"other": other}})
    said = becomes(sidecar, 200)
    assert said["status"] == "degraded" and said["checks"]["issuer.other.keys"]["status"] == "down"


def test_a_server_that_only_gives_tokens_needs_no_keys(start: Start, playground: Playground) -> None:
    play = {"issuer": playground.base + "/nothing", "endpoints": {"token": playground.issuer + "/token"}}
    said = becomes(start({**ASKING, "issuers": {"play": play}}), 200)
    assert "publishes no key set" in said["checks"]["issuer.play.keys"]["detail"]


def test_a_reload_that_fails_is_degraded_and_serves(start: Start, playground: Playground) -> None:
    sidecar = start(ASKING)
    becomes(sidecar, 200)
    good = sidecar.configuration_path.read_text()
    sidecar.write("listen: {")
    with sidecar.connect() as connection:
        connection.error("reloadConfig")
        status, said = report(sidecar)
        assert (status, said["status"], said["checks"]["configuration"]["status"]) == (200, "degraded", "degraded")
        assert connection.call("fetchResource", {"resource": "open", "path": "hello"})["status"]
        sidecar.write(good)
        connection.call("reloadConfig")
        eventually(lambda: report(sidecar)[1]["status"] == "ok")


def test_an_issuer_that_a_reload_brings_is_asked(start: Start, playground: Playground, configuration: Any) -> None:
    # Its secret lies in the directory of one that is there from the start on: the sandbox allows no other.
    play = configuration["issuers"]["play"]
    sidecar = start({**ASKING, "issuers": {"play": None, "first": play}, "resources": {"orders": None}})
    assert becomes(sidecar, 200)["status"] == "ok"
    whole = json.loads(sidecar.configuration_path.read_text())
    sidecar.write({**whole, "issuers": {"first": play, "play": play}})
    with sidecar.connect() as connection:
        connection.call("reloadConfig")
    eventually(lambda: report(sidecar)[1]["checks"].get("issuer.play.keys", {}).get("status") == "ok")


def test_asking_for_health_asks_nobody_else(start: Start, playground: Playground) -> None:
    sidecar = start(ASKING)
    becomes(sidecar, 200)
    playground.request("DELETE", "/playground/statistics")
    before = {**playground.statistics(), "connections": None}
    with sidecar.connect() as connection:
        for _ in range(50):
            connection.call("health")
            get(port_of(sidecar), "/readyz")
            get(port_of(sidecar), "/healthz")
    assert probe(sidecar) == probe(sidecar, "--ready") == 0
    assert {**playground.statistics(), "connections": None} == before


def with_users(directory: Path, store: Dict[str, Any]) -> Dict[str, Any]:
    key = directory / "store-key"
    key.write_text("ab" * 31 + "cd")
    key.chmod(0o600)
    return {**ASKING, "store": {**store, "keyFile": str(key)}, "resources": {"orders": {"auth": "user"}}}


def test_a_store_that_is_taken_away_is_down(start: Start, directory: Path, playground: Playground) -> None:
    place = directory / "store"
    sidecar = start(with_users(directory, {"kind": "file", "path": str(place)}))
    assert becomes(sidecar, 200)["checks"]["store"]["status"] == "ok"
    place.rename(directory / "elsewhere")
    said = becomes(sidecar, 503)
    assert said["status"] == "down" and "is gone" in said["checks"]["store"]["detail"]
    assert get(port_of(sidecar), "/healthz")[0] == 200 and (probe(sidecar), probe(sidecar, "--ready")) == (0, 1)
    (directory / "elsewhere").rename(place)
    becomes(sidecar, 200)
    shutil.rmtree(place)
    becomes(sidecar, 503)


def test_a_store_that_somebody_else_has_is_down(start: Start, directory: Path, playground: Playground) -> None:
    changes = with_users(directory, {"kind": "file", "path": str(directory / "store")})
    becomes(start(changes), 200)
    second = start({**changes, "listen": {"path": str(directory / "second.sock")}})
    eventually(lambda: "locked" in report(second)[1]["checks"]["store"].get("detail", ""), what="the store's lock in the report")
    assert report(second)[0] == 503


def test_a_store_that_nothing_needs_is_not_opened(start: Start, directory: Path) -> None:
    sidecar = start({**ASKING, "store": {"kind": "file", "path": str(directory / "store")}})
    assert becomes(sidecar, 200)["checks"]["store"].get("detail") in (None, "not needed yet")
    eventually(lambda: report(sidecar)[1]["checks"]["store"].get("detail") == "not needed yet")
    place = directory / "store"
    assert not place.exists() or not list(place.iterdir())


def test_a_redis_that_is_gone_is_down_and_comes_back(start: Start, directory: Path) -> None:
    server = shutil.which("redis-server")
    assert server, "redis-server is not installed (make deps)"
    path = directory / "redis.sock"

    def run() -> Any:
        child = subprocess.Popen(
            [server, "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(directory)],
            stdout=subprocess.DEVNULL)
        eventually(path.exists)
        return child

    child = run()
    try:
        sidecar = start(with_users(directory, {"kind": "redis", "path": None, "redis": {"url": f"unix://{path}?db=0"}}))
        assert becomes(sidecar, 200)["checks"]["store"]["status"] == "ok"
        child.terminate()
        child.wait(10)
        path.unlink(missing_ok=True)
        said = becomes(sidecar, 503)
        assert said["status"] == "down" and said["checks"]["store"]["status"] == "down"
        child = run()
        becomes(sidecar, 200, 40)
    finally:
        child.terminate()
        child.wait(10)
