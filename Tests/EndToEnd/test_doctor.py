"""`postern doctor`: finds what does not work, names the cure, and ends."""
from __future__ import annotations

import json
import secrets
import socket
import subprocess
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

from harness import binaries, settings
from harness.issuer import IssuerDouble, document
from harness.playground import Playground
from harness.users import needs_root


def diagnose(configuration: Dict[str, Any], directory: Path, *options: str, launcher: List[str] = []) -> Any:
    """The exit code, the checks by name, and everything that was printed."""
    path = directory / "postern.yaml"
    path.write_text(json.dumps(configuration))
    path.chmod(0o600)
    done = subprocess.run(
        [*launcher, binaries.postern(), "doctor", str(path), "--json", *options], capture_output=True, text=True,
        timeout=60)
    report = json.loads(done.stdout)
    checks = {check["check"]: check for check in report["checks"]}
    failed = [check for check in report["checks"] if check["status"] == "failed"]
    assert report["failed"] == len(failed) and (done.returncode == 1) == bool(failed), done
    for check in checks.values():
        assert check["tried"] and check["found"] and ("cure" in check) == (check["status"] in ("warning", "failed")), check
    assert "shopsecret" not in done.stdout + done.stderr and "eyJ" not in done.stdout, "a secret was printed"
    return done.returncode, checks


@pytest.fixture
def configuration(directory: Path, playground: Playground) -> Dict[str, Any]:
    made = settings.standard(directory, playground)
    made["issuers"]["play"].update(clientId="shop", redirectUri="http://127.0.0.1:8765/callback")
    Path(made["issuers"]["play"]["clientSecretFile"]).write_text("shopsecret")
    return made


def test_all_is_well(configuration: Dict[str, Any], directory: Path, playground: Playground) -> None:
    """Catches a check that fails where everything works, and one that changes something: no file is left."""
    before = sorted(path.name for path in directory.iterdir())
    code, checks = diagnose(configuration, directory)
    assert code == 0, checks
    statuses = {name: check["status"] for name, check in checks.items()}
    for name in ["discovery", "keys", "token for resources.orders", "redirect URI", "clock"]:
        assert statuses[f"issuers.play: {name}"] == "ok", checks
    assert statuses["socket directory"] == statuses["store (memory)"] == "ok" and statuses["socket"] == "skipped"
    assert sorted(path.name for path in directory.iterdir()) == sorted([*before, "postern.yaml"])


def test_the_text_has_every_check_with_its_cure(configuration: Dict[str, Any], directory: Path) -> None:
    path = directory / "postern.yaml"
    configuration["issuers"]["play"]["clientId"] = "stranger"
    path.write_text(json.dumps(configuration))
    done = subprocess.run([binaries.postern(), "doctor", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "checks failed" in done.stderr, done
    lines = done.stdout.splitlines()
    failed = [index for index, line in enumerate(lines) if line.startswith("failed   issuers.play: token")]
    assert failed and lines[failed[0] + 1].strip().startswith("cure: issuers.play: clientId"), done.stdout


def test_a_wrong_secret_is_the_clients(configuration: Dict[str, Any], directory: Path) -> None:
    secret = Path(configuration["issuers"]["play"]["clientSecretFile"])
    secret.write_text("another")
    code, checks = diagnose(configuration, directory)
    token = checks["issuers.play: token for resources.orders"]
    assert code == 1 and token["status"] == "failed" and "invalid_client" in token["found"], checks
    assert "clientAuth" in token["cure"] and checks["issuers.play: discovery"]["status"] == "ok"


def test_client_authentication_where_no_token_can_be_requested(
    configuration: Dict[str, Any], directory: Path, playground: Playground
) -> None:
    """An application whose users log in: a wrong secret would be found with the first login."""
    configuration["resources"]["orders"]["auth"] = "user"
    found = diagnose(configuration, directory)[1]
    assert found["issuers.play: client authentication"]["status"] == "ok", found
    assert found["issuers.play: token"]["status"] == "skipped" and "a user" in found["issuers.play: token"]["found"]
    Path(configuration["issuers"]["play"]["clientSecretFile"]).write_text("another")
    code, found = diagnose(configuration, directory)
    check = found["issuers.play: client authentication"]
    assert code == 1 and check["status"] == "failed" and "clientAuth" in check["cure"], found
    configuration["issuers"]["play"]["endpoints"] = {"introspection": playground.base + "/open/text"}
    check = diagnose(configuration, directory)[1]["issuers.play: client authentication"]
    assert check["status"] == "skipped" and "not decided" in check["found"], check


def test_an_issuer_that_is_not_there(configuration: Dict[str, Any], directory: Path) -> None:
    """The checks that need its metadata are not tried: three failures would hide the one cause."""
    configuration["issuers"]["play"]["issuer"] = "http://127.0.0.1:1/oidc"
    code, checks = diagnose(configuration, directory)
    assert code == 1 and checks["issuers.play: discovery"]["status"] == "failed", checks
    for name in ["keys", "token for resources.orders", "redirect URI"]:
        assert checks[f"issuers.play: {name}"]["status"] == "skipped", checks


def test_an_issuer_of_another_name(issuer: IssuerDouble, configuration: Dict[str, Any], directory: Path) -> None:
    configuration["issuers"] = {"play": {"issuer": issuer.base + "/"}}
    del configuration["resources"]["orders"]
    code, checks = diagnose(configuration, directory)
    found = checks["issuers.play: discovery"]
    assert code == 1 and found["status"] == "failed" and "exactly" in found["cure"], checks


def test_a_redirect_uri_that_is_not_registered(
    issuer: IssuerDouble, configuration: Dict[str, Any], directory: Path
) -> None:
    """The issuer shows a page instead of redirecting (RFC 6749 section 4.1.2.1)."""
    configuration["issuers"] = {"play": {
        "issuer": issuer.base, "clientId": "shop", "redirectUri": "https://shop.example/callback"}}
    del configuration["resources"]["orders"]
    issuer.metadata["authorization_endpoint"] = issuer.base + "/authorize"
    issuer.serve_keys({"keys": []})
    issuer.answers["/authorize"] = lambda _: (400, {"Content-Type": "text/html"}, b"unknown redirect_uri")
    code, checks = diagnose(configuration, directory)
    found = checks["issuers.play: redirect URI"]
    assert code == 1 and found["status"] == "failed" and "https://shop.example/callback" in found["cure"], checks
    [asked] = [asked for asked in issuer.asked if asked.path.startswith("/authorize")]
    assert "prompt=none" in asked.path and "code_challenge=" in asked.path and "cookie" not in asked.headers
    issuer.answers["/authorize"] = lambda _: (
        302, {"Location": "https://shop.example/callback?error=login_required&state=x"}, b"")
    assert diagnose(configuration, directory)[1]["issuers.play: redirect URI"]["status"] == "ok"


def test_clocks_that_differ(issuer: IssuerDouble, configuration: Dict[str, Any], directory: Path) -> None:
    configuration["issuers"] = {"play": {"issuer": issuer.base}}
    del configuration["resources"]["orders"]
    issuer.serve_keys({"keys": []})
    issuer.answers["/.well-known/openid-configuration"] = lambda _: document(
        issuer.metadata, Date=formatdate(time.time() - 120, usegmt=True))
    found = diagnose(configuration, directory)[1]["issuers.play: clock"]
    assert found["status"] == "failed" and "s behind this machine's" in found["found"], found


def test_a_server_cannot_command_the_terminal(
    issuer: IssuerDouble, configuration: Dict[str, Any], directory: Path
) -> None:
    """Catches an escape sequence in what a server chose, which a terminal would obey."""
    configuration["issuers"] = {"play": {
        "issuer": issuer.base, "clientId": "shop", "redirectUri": "https://shop.example/callback"}}
    del configuration["resources"]["orders"]
    issuer.metadata["token_endpoint_auth_methods_supported"] = ["\x1b]0;gotcha\x07"]
    issuer.metadata["authorization_endpoint"] = issuer.base + "/authorize"
    issuer.serve_keys({"keys": []})
    issuer.answers["/authorize"] = lambda _: (
        302, {"Location": "https://shop.example/callback?error=%1b%5b2Jgotcha&state=x"}, b"")
    path = directory / "postern.yaml"
    path.write_text(json.dumps(configuration))
    done = subprocess.run([binaries.postern(), "doctor", str(path)], capture_output=True, text=True, timeout=60)
    assert done.stdout.count("gotcha") == 2 and "\x1b" not in done.stdout and "\x07" not in done.stdout, done.stdout


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that accepts connections and never answers."""
    listener = socket.create_server(("127.0.0.1", 0))
    yield listener.getsockname()[1]
    listener.close()


def test_it_ends_when_a_server_hangs(silent: int, configuration: Dict[str, Any], directory: Path) -> None:
    """Catches a wait without a bound: `diagnose` would time out."""
    configuration["issuers"]["hung"] = {"issuer": f"http://127.0.0.1:{silent}", "clientId": "x"}
    code, checks = diagnose(configuration, directory, "--timeout", "0.5")
    assert code == 1 and checks["issuers.hung: discovery"]["status"] == "failed", checks
    assert "--timeout" in checks["issuers.hung: discovery"]["cure"]
    assert checks["issuers.play: discovery"]["status"] == "ok", "another issuer's checks were not made"


def test_a_token_endpoint_that_hangs(silent: int, configuration: Dict[str, Any], directory: Path) -> None:
    configuration["issuers"]["play"]["endpoints"] = {"token": f"http://127.0.0.1:{silent}/token"}
    code, checks = diagnose(configuration, directory, "--timeout", "0.5")
    assert code == 1 and checks["issuers.play: token for resources.orders"]["status"] == "failed", checks
    assert checks["issuers.play: keys"]["status"] == "ok"


def test_a_missing_socket_directory(configuration: Dict[str, Any], directory: Path) -> None:
    configuration["listen"]["path"] = str(directory / "run/postern.sock")
    found = diagnose(configuration, directory)[1]["socket directory"]
    assert found["status"] == "failed" and "listen.directoryMode" in found["cure"], found
    (directory / "run").mkdir()
    (directory / "run").chmod(0o777)
    found = diagnose(configuration, directory)[1]["socket directory"]
    assert found["status"] == "failed" and "chmod o-w" in found["cure"], found


@needs_root
def test_a_store_of_another_user(configuration: Dict[str, Any], directory: Path) -> None:
    """Run as a user who may read the configuration and nothing else."""
    store = directory / "store"
    store.mkdir(mode=0o700)
    configuration["store"] = {"kind": "file", "path": str(store)}
    directory.chmod(0o755)
    Path(configuration["issuers"]["play"]["clientSecretFile"]).chmod(0o644)
    path = directory / "postern.yaml"
    path.write_text(json.dumps(configuration))
    path.chmod(0o644)
    done = subprocess.run(
        ["setpriv", "--reuid", "1001", "--regid", "1001", "--clear-groups", binaries.postern(), "doctor", str(path), "--json"],
        capture_output=True, text=True, timeout=60)
    checks = {check["check"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["store (file)"]["status"] == "failed" and "uid 1001" in checks["store (file)"]["found"], checks
    assert checks["socket directory"]["status"] == "failed", checks


def test_a_redis_server_that_is_not_there(configuration: Dict[str, Any], directory: Path) -> None:
    key = directory / "store.key"
    key.write_text(secrets.token_hex(32))
    key.chmod(0o600)
    configuration["store"] = {"kind": "redis", "keyFile": str(key), "redis": {"url": "redis://127.0.0.1:1"}}
    found = diagnose(configuration, directory)[1]["store (redis)"]
    assert found["status"] == "failed" and "store.redis" in found["cure"] and key.read_text() not in str(found), found


def test_problems_of_the_configuration_are_checks_that_failed(directory: Path) -> None:
    code, checks = diagnose({"resources": {"billing": {"baseURL": "https://api.example.com"}}}, directory)
    assert code == 1 and "baseUrl" in checks["configuration"]["found"], checks


def test_variables_that_are_not_used_are_named(
    configuration: Dict[str, Any], directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy that works for curl is not used here, which would take long to find out."""
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    path = directory / "postern.yaml"
    path.write_text(json.dumps(configuration))
    done = subprocess.run([binaries.postern(), "doctor", str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "https_proxy" in done.stdout, done


def test_a_running_sidecar_is_found(configuration: Dict[str, Any], directory: Path, start: Any) -> None:
    start(configuration)
    found = diagnose(configuration, directory)[1]["socket"]
    assert found["status"] == "ok" and "a sidecar of version" in found["found"], found
