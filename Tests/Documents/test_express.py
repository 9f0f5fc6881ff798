"""The example with Express in a real browser, at a real provider: Chromium and glewlwyd.

What it does at the playground, and step-up, is in clients/node/test/express.test.mjs; attacks are in
Tests/Examples/test_attacks.py.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness.chromium import Chromium
from harness.glewlwyd import Provider, Resource
from harness.ports import free_port
from harness.sidecar import Sidecar
from stage import ROOT


@pytest.fixture
def directory():
    made = Path(tempfile.mkdtemp(prefix="postern-express-", dir="/tmp"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def provider(directory, port):
    started = Provider(directory / "glewlwyd", "--redirect-uri", f"http://127.0.0.1:{port}/callback", token_seconds=60)
    yield started
    started.stop()


@pytest.fixture
def resource(provider):
    started = Resource(provider)
    yield started
    started.stop()


@pytest.fixture
def sidecar(directory, port, provider, resource):
    """The example's configuration, at the addresses and for the client of this provider."""
    text = (ROOT / "examples" / "express" / "postern.yaml").read_text(encoding="utf-8")
    for shown, real in {
        "http://127.0.0.1:8080/oidc": provider.issuer, "http://127.0.0.1:8080/resource/": resource.base, "clientId: shop": "clientId: svc",
        "shopsecret": "svcsecret", "http://127.0.0.1:8000": f"http://127.0.0.1:{port}",
    }.items():
        assert shown in text, shown
        text = text.replace(shown, real)
    file, path = directory / "postern.yaml", directory / "s"
    file.write_text(text, encoding="utf-8")
    started = Sidecar(directory, None, path=path, arguments=["--config", str(file), "--socket", str(path)])
    yield started
    started.stop()


@pytest.fixture
def example(port, sidecar):
    """The application at its address, started by the command of all examples."""
    environment = {"PATH": os.environ["PATH"], "PORT": str(port), "POSTERN_SOCKET": sidecar.path}
    process = subprocess.Popen(
        [ROOT / "examples" / "run", "express"], env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == f"Open http://127.0.0.1:{port}\n"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


@pytest.fixture
def user(directory):
    browser = Chromium(directory)
    yield browser.page(height=900)
    browser.stop()


def test_a_user_logs_in_sees_their_orders_and_logs_out(example, user, resource):
    """Catches an application that works with the development double only, or in no real browser."""
    user.open(example)
    user.press("Log in")
    user.reads("Please enter your login and password")
    user.type("#username", "alice")
    user.type("#password", "alicepw")
    user.press("OK")
    user.reads("svc requires access to the following scopes")
    user.click("#grant-orders")
    user.press("Grant access")
    user.reads("Connection to svc")
    user.press("Continue")
    user.reads("Hello ")
    assert user.url == f"{example}/"

    user.press("My orders")
    user.reads('{"orders": [1, 2]}')
    assert len(resource.tokens) == 1
    cookies = [one for one in user.command("Network.getCookies", {"urls": [example]})["cookies"] if one["name"] == "postern-session"]
    assert [(one["httpOnly"], one["sameSite"], len(one["value"])) for one in cookies] == [(True, "Lax", 43)]
    # A document can read the provider's cookies, which are for all ports of this host, and not the application's.
    assert cookies[0]["value"] not in user.evaluate("document.cookie")
    for token in resource.tokens:
        assert token not in user.evaluate("document.documentElement.outerHTML")

    user.open(example)
    user.press("Log out")
    user.reads("Log in")
    assert user.url == f"{example}/"
    user.open(f"{example}/data")
    assert not user.url.startswith(example), "still logged in"
