"""The configurations of providers.md, at the real providers that run here; hosts and secrets are those of the test."""

import re

import pytest

import stage as stages

from harness import canaille, glewlwyd  # noqa: E402  (stage makes the harness importable)
from harness.sidecar import Sidecar  # noqa: E402
from harness.waiting import eventually  # noqa: E402

PAGE = stages.ROOT / "proto-docs" / "providers.md"
NAMES = ["Keycloak", "Entra", "Okta", "Auth0", "Google", "PingAM", "glewlwyd", "canaille"]
#: What each section has to state.
ROWS = ["registration", "redirect URIs", "scopes", "audience", "refresh", "deviations"]


def section(name):
    return re.split(r"^## ", PAGE.read_text(encoding="utf-8").split(f"\n## {name}\n", 1)[1], flags=re.MULTILINE)[0]


def configuration(name, issuer, secret, resource):
    """The section's configuration with another issuer, secret and resource server."""
    [text] = re.findall(r"^```yaml\n(.*?)^```$", section(name), re.MULTILINE | re.DOTALL)
    text, count = re.subn(r"(?m)^(    issuer: )https://\S+$", rf"\g<1>{issuer}", text)
    assert count == 1
    text = re.sub(r"(clientSecretFile: )\S+", rf"\g<1>{secret}", text)
    text = re.sub(r"(baseUrl: )\S+", rf"\g<1>{resource.base}", text)
    return text + "store: { kind: memory }\ndevelopment: { plainHTTPOnLoopback: true }\n"


@pytest.fixture
def sidecar(tmp_path):
    """Starts a sidecar with a text as its configuration."""
    started = []

    def start(text):
        path = tmp_path / "postern.sock"
        file = tmp_path / "postern.yaml"
        file.write_text(text)
        file.chmod(0o600)
        started.append(Sidecar(tmp_path, text, path=path, arguments=["--socket", str(path)]))
        return started[-1]

    yield start
    for one in started:
        one.stop()


def secret_file(folder, secret):
    file = folder / "secret"
    file.touch(mode=0o600)
    file.write_text(secret)
    return file


def check(connection, resource, authorize, redirect):
    """A service's fetch; a login, three refreshes with a rotating token, a fetch after each."""
    assert connection.call("fetchResource", {"resource": "reports", "path": "orders"})["status"] == 200
    begun = connection.call("beginAuthorization", {"issuer": "corp", "redirectUri": redirect})
    callback = {"callbackUrl": authorize(begun["authorizationUrl"]), "state": begun["state"]}
    session = connection.call("completeAuthorization", callback)["session"]
    seen = len(set(resource.tokens))

    def is_refreshed():
        """Canaille's token of the same second is the same token, which is an error for a refresh."""
        answer = connection.answer_to(connection.request("refreshSession", {"session": session}))
        return "result" in answer or answer["error"]["data"]["reason"] != "token_endpoint_error" and pytest.fail(str(answer))

    for _ in range(3):
        assert connection.call("fetchResource", {"resource": "orders", "path": "orders", "session": session})["status"] == 200
        eventually(is_refreshed, what="a refresh")
    assert len(set(resource.tokens)) >= seen + 2, "the refreshed tokens were not sent"
    assert connection.call("endSession", {"session": session})["ended"] is True


def test_glewlwyd(sidecar, tmp_path):
    """Catches a recipe that does not work as it stands: grants, scopes, refresh with rotation and reuse detection."""
    provider = glewlwyd.Provider(tmp_path / "glewlwyd", token_seconds=60)
    resource = glewlwyd.Resource(provider)
    try:
        running = sidecar(configuration("glewlwyd", provider.issuer, secret_file(tmp_path, "svcsecret"), resource))
        with running.connect() as connection:
            check(connection, resource, glewlwyd.Browser(provider).authorize, "http://127.0.0.1/cb")
    finally:
        resource.stop()
        provider.stop()


def test_canaille(sidecar, tmp_path):
    """Catches a recipe that does not work as it stands: pages, `iss` in the callback, refresh with rotation."""
    provider = canaille.Canaille()
    resource = glewlwyd.Resource(provider)
    try:
        running = sidecar(configuration("canaille", provider.issuer, secret_file(tmp_path, "shopsecret"), resource))
        with running.connect() as connection:
            check(connection, resource, provider.authorize, canaille.REDIRECT)
    finally:
        resource.stop()
        provider.stop()


@pytest.mark.parametrize("name", NAMES)
def test_every_section_states_the_same_things_and_whether_it_was_tested(name):
    """Catches a recipe with a row missing, and one that is neither tested here nor says that it is not."""
    text = section(name)
    rows = re.findall(r"^\| ([^|]+) \| \S", text, re.MULTILINE)
    assert rows == ROWS
    is_tested = f"def test_{name.lower()}(" in open(__file__, encoding="utf-8").read()
    assert ("ot tested against the real provider" in text) is not is_tested
    assert bool(re.search(r"^Tested", text, re.MULTILINE)) is is_tested
