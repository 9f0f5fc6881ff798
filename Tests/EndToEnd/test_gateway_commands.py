"""`postern url`, `postern run` and `postern credential`: what other programs get of the gateway, or of a token."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import pytest

from harness import binaries, settings
from harness.playground import Playground
from harness.sidecar import Sidecar

Done = "subprocess.CompletedProcess[str]"
KEY = "k/e y+1 of sixteen"
RESOURCES = {
    "billing": {"baseUrl": "https://api.example.com/v1/", "auth": "none"},
    **{name: {"baseUrl": "https://other.example.com/", "auth": "none"} for name in ["a:b", "ü", "a/b", "%41", ".."]},
    "source": {"baseUrl": "https://git.example.com/", "additionalOrigins": ["https://mirror.example.com/git/"], "auth": "none"},
}
BASE = "http://127.0.0.1:7080/"


def run(directory: Path, *arguments: str, given: str = "", **environment: str) -> Done:
    return subprocess.run(
        [binaries.postern(), *arguments], input=given, capture_output=True, text=True, timeout=30, cwd=directory,
        env={"PATH": os.environ["PATH"], "HOME": str(directory), **environment})


@pytest.fixture
def write(directory: Path) -> Callable[..., None]:
    """Writes a configuration with this `gateway.listen`, and the file of its key."""

    def write(listen: Optional[Dict[str, Any]]) -> None:
        configuration: Dict[str, Any] = {"resources": RESOURCES, "store": {"kind": "memory"}}
        if listen is not None:
            configuration["gateway"] = {"listen": listen}
        (directory / "postern.yaml").write_text(json.dumps(configuration))
        (directory / "gateway.key").write_text(KEY + "\n")
        (directory / "gateway.key").chmod(0o600)

    return write


SOCKET = {"path": "/run/postern/http.sock"}
ADDRESS = {"address": "127.0.0.1:7080", "keyFile": "gateway.key"}


# MARK: url


@pytest.mark.parametrize("listen, words, url", [
    (SOCKET, ["billing"], "http://postern/billing/"),
    (ADDRESS, ["billing"], BASE + "billing/"),
    ({**SOCKET, **ADDRESS}, ["billing"], BASE + "billing/"),
    ({**SOCKET, **ADDRESS}, ["billing", "--socket"], "http://postern/billing/"),
    (ADDRESS, ["a:b"], BASE + "a:b/"),
    ({**ADDRESS, "address": "[::1]:7080"}, ["billing"], "http://[::1]:7080/billing/"),
])
def test_the_base_url_of_a_resource(
    directory: Path, write: Callable[..., None], listen: Dict[str, Any], words: List[str], url: str
) -> None:
    """Catches a URL that leads to another resource, or has no slash, to which programs add one path or another."""
    write(listen)
    done = run(directory, "url", *words)
    assert (done.returncode, done.stdout, done.stderr) == (0, url + "\n", "")


@pytest.mark.parametrize("listen, words, reason", [
    (None, ["url", "billing"], "the gateway is off"),
    (SOCKET, ["url", "biling"], "there is no resource biling; did you mean billing?"),
    (ADDRESS, ["url", "--socket", "billing"], "gateway.listen.path"),
    *((listen, ["url", name], "give it another one") for listen in (SOCKET, ADDRESS) for name in ["ü", "a/b", "%41", ".."]),
    (SOCKET, ["run", "--set", "A=billing", "--", "true"], "gateway.listen.address"),
    (SOCKET, ["run", "--key-in", "A", "--", "true"], "gateway.listen.address"),
    (ADDRESS, ["run", "--set", "A=biling", "--", "true"], "did you mean billing?"),
    (ADDRESS, ["run", "--git", "nothing", "--", "true"], "there is no resource nothing"),
])
def test_what_there_is_no_url_for(
    directory: Path, write: Callable[..., None], listen: Optional[Dict[str, Any]], words: List[str], reason: str
) -> None:
    """Catches a program that is started without what it was to be given."""
    write(listen)
    done = run(directory, *words)
    assert (done.returncode, done.stdout) == (1, "") and reason in done.stderr, done


# MARK: run


PRINT = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]


def variables(directory: Path, *words: str, **environment: str) -> Dict[str, str]:
    done = run(directory, "run", *words, "--", *PRINT, **environment)
    assert done.returncode == 0, done
    found: Dict[str, str] = json.loads(done.stdout)
    return found


def test_the_variables_of_programs(directory: Path, write: Callable[..., None]) -> None:
    """Catches a program that goes to its vendor's server, with the credential that its environment has for that."""
    write({**SOCKET, **ADDRESS})
    known = ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "PIP_INDEX_URL", "UV_DEFAULT_INDEX", "npm_config_registry", "AWS_ENDPOINT_URL"]
    words = [word for name in known for word in ("--set", f"{name}=billing")]
    mine = {"OPENAI_API_KEY": "secret", "ANTHROPIC_API_KEY": "secret", "PIP_EXTRA_INDEX_URL": "http://u:secret@i.example/"}
    found = variables(directory, *words, "--key-in", "MY_KEY", **mine)
    plain, with_key = BASE + "billing/", "http://postern:k%2Fe%20y%2B1%20of%20sixteen@127.0.0.1:7080/billing/"
    assert found["OPENAI_BASE_URL"] == found["ANTHROPIC_BASE_URL"] == BASE + "billing"
    assert found["npm_config_registry"] == found["AWS_ENDPOINT_URL"] == plain
    assert found["PIP_INDEX_URL"] == found["UV_DEFAULT_INDEX"] == with_key
    for name in ["OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "MY_KEY", "npm_config_//127.0.0.1:7080/billing/:_authToken"]:
        assert found[name] == KEY, name
    assert "secret" not in " ".join(found.values()), found


def test_a_path_below_a_resource(directory: Path, write: Callable[..., None]) -> None:
    """Catches an index whose links lead out of its resource because that has to be the index itself."""
    write({**SOCKET, **ADDRESS})
    names = ["PIP_INDEX_URL", "npm_config_registry", "OPENAI_BASE_URL", "PLAIN", "ENCODED"]
    paths = ["simple/", "npm/all/", "v1", "a/b", "a|b%2Fc/"]
    found = variables(directory, *[word for name, path in zip(names, paths) for word in ("--set", f"{name}=billing/{path}")])
    assert found["PIP_INDEX_URL"].endswith("@127.0.0.1:7080/billing/simple/")
    assert found["npm_config_registry"] == BASE + "billing/npm/all/"
    assert found["npm_config_//127.0.0.1:7080/billing/:_authToken"] == KEY
    assert (found["OPENAI_BASE_URL"], found["PLAIN"]) == (BASE + "billing/v1", BASE + "billing/a/b")
    assert found["ENCODED"] == BASE + "billing/a%7Cb%2Fc/"
    for path in ["/simple", "../x", "a/%2e%2e/b", "a?b", "a#b", "a/..%2fb", "a b"]:
        done = run(directory, "run", "--set", f"A=billing/{path}", "--", "true")
        assert done.returncode == 1 and "not a path below a resource" in done.stderr, (path, done)


def test_no_proxy_gets_the_requests_of_the_program(directory: Path, write: Callable[..., None]) -> None:
    """Catches a proxy of the environment that gets the key."""
    write(ADDRESS)
    found = variables(directory, HTTP_PROXY="http://proxy.example:3128", NO_PROXY=".corp.example")
    assert found["NO_PROXY"] == ".corp.example,127.0.0.1,::1,localhost" and found["no_proxy"] == "127.0.0.1,::1,localhost"


def test_git_goes_to_the_gateway(directory: Path, write: Callable[..., None]) -> None:
    """Catches a setting that replaces others of the environment, or that git does not understand."""
    write(ADDRESS)
    git = ["git", "config", "--get-regexp", "^(url|http|user)\\."]
    own = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Ann", "GIT_CONFIG_NOSYSTEM": "1"}
    done = run(directory, "run", "--git", "source", "--", *git, **own)
    assert sorted(done.stdout.splitlines()) == [
        f"http.{BASE}source/.extraheader Postern-Key: {KEY}",
        f"url.{BASE}source/.insteadof https://git.example.com/",
        "user.name Ann",
    ]


def test_the_program_takes_over_the_process(directory: Path, write: Callable[..., None]) -> None:
    """Catches a parent that stays: signals, the exit code and the process id are the program's own."""
    write(ADDRESS)
    done = run(directory, "run", "--", "sh", "-c", "exit 7")
    assert (done.returncode, done.stderr) == (7, "")
    started = subprocess.Popen(
        [binaries.postern(), "run", "--", "sh", "-c", "echo $$; exec sleep 60"], stdout=subprocess.PIPE, text=True, cwd=directory)
    assert started.stdout is not None and int(started.stdout.readline()) == started.pid
    started.send_signal(signal.SIGTERM)
    assert started.wait(30) == -signal.SIGTERM
    started.stdout.close()
    status = [sys.executable, "-c", "print([l for l in open('/proc/self/status') if l.startswith(('SigBlk', 'SigIgn'))])"]
    plain = subprocess.run(status, capture_output=True, text=True, check=True).stdout
    assert run(directory, "run", "--", *status).stdout == plain, "signals that are ignored or blocked stay so in the program"


@pytest.mark.parametrize("words, code", [
    (["run"], 64), (["run", "--"], 64), (["run", "true"], 64), (["run", "--set", "A", "--", "true"], 64),
    (["run", "--set", "=billing", "--", "true"], 64), (["run", "--key-in", "A=b", "--", "true"], 64),
    (["run", "--", "./nothing-here"], 127), (["run", "--", "./postern.yaml"], 126),
])
def test_programs_that_cannot_run(directory: Path, write: Callable[..., None], words: List[str], code: int) -> None:
    """Catches a failure that looks like one of the program."""
    write(ADDRESS)
    done = run(directory, *words)
    assert done.returncode == code and done.stderr != "", done


# MARK: credential


@pytest.fixture
def credential(start: Callable[..., Sidecar], playground: Playground, directory: Path) -> Callable[..., Done]:
    """Runs the command against a sidecar whose tokens may leave."""
    configuration = settings.changed(settings.standard(directory, playground), {"tokens": {"leaveTheSidecar": True}})
    sidecar = start(configuration)

    def call(*words: str, given: str = "") -> Done:
        config = ["--config", str(sidecar.configuration_path), "--socket", sidecar.path]
        return run(directory, "credential", *config, *words, given=given)

    return call


def asked(url: str) -> str:
    """What git writes about `url`."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"protocol={scheme}\nhost={host}\n" + (f"path={path}\n" if slash else "") + "\n"


def test_git_gets_a_token_for_the_resource_only(credential: Callable[..., Done], playground: Playground) -> None:
    """Catches a token that goes to another host, or to a path that is not the resource's."""
    base = playground.base
    for url in [base, base + "/resource/app.git"]:
        done = credential("--as", "git", "orders", "get", given=asked(url))
        name, password, expiry = done.stdout.splitlines()
        assert (done.returncode, name) == (0, "username=oauth2") and password.startswith("password=ey"), done
        assert expiry.startswith("password_expiry_utc=1") or expiry.startswith("password_expiry_utc=2")
    named = credential("--as", "git", "orders", "get", "--username", "x", given="username=ann\n" + asked(base))
    assert named.stdout.startswith("username=ann\n")
    bearer = credential("--as", "git", "--bearer", "orders", "get", given=asked(base)).stdout
    assert bearer.startswith("capability[]=authtype\nauthtype=Bearer\ncredential=ey")
    for url in ["https://evil.example", base.replace("http", "https"), base + "0", base + "/other/app.git", "", "http://"]:
        done = credential("--as", "git", "orders", "get", given=asked(url))
        assert (done.returncode, done.stdout) == (0, ""), (url, done)
    for operation in ["store", "erase", "novel"]:
        done = credential("--as", "git", "orders", operation, given=asked(base))
        assert (done.returncode, done.stdout) == (0, ""), done


def test_docker_and_headers(credential: Callable[..., Done], playground: Playground) -> None:
    """Catches a form that these programs cannot read, and the same leaks."""
    base = playground.base
    found = json.loads(credential("--as", "docker", "orders", "get", "--username", "ann", given=base + "/v2/\n").stdout)
    assert (found["ServerURL"], found["Username"]) == (base + "/v2/", "ann") and found["Secret"].startswith("ey")
    done = credential("--as", "docker", "orders", "get", given="evil.example\n")
    assert (done.returncode, done.stdout) == (1, "credentials not found in native keychain\n"), done
    assert credential("--as", "docker", "orders", "list").stdout == "{}\n"
    assert credential("--as", "docker", "orders", "store", given="{}").returncode == 2
    header = json.loads(credential("--as", "headers", "orders").stdout)
    assert list(header) == ["Authorization"] and header["Authorization"].startswith("Bearer ey")
    asking = json.dumps({"uri": base + "/resource/x?y"})
    found = json.loads(credential("--as", "headers", "orders", "get", given=asking).stdout)
    assert found["headers"]["Authorization"][0].startswith("Bearer ey") and found["expires"].endswith("Z")
    for given in [json.dumps({"uri": "https://evil.example/"}), json.dumps({"uri": base + "/other/"}), "no JSON", "[]"]:
        assert json.loads(credential("--as", "headers", "orders", "get", given=given).stdout) == {"headers": {}}, given


def test_keys_of_aws(credential: Callable[..., Done]) -> None:
    """Catches a response that has no keys and is printed nevertheless."""
    done = credential("--as", "aws", "open", "--path", "echo")
    assert (done.returncode, done.stdout) == (2, "") and "AccessKeyId" in done.stderr, done
    done = credential("--as", "aws", "open", "--path", "no-such-page")
    assert (done.returncode, done.stdout) == (2, "") and "status 404" in done.stderr and "--path" in done.stderr, done


def test_a_token_that_may_not_leave(start: Callable[..., Sidecar], playground: Playground, directory: Path) -> None:
    """Catches a way around tokens.leaveTheSidecar, and a program that waits for its user."""
    sidecar = start(settings.standard(directory, playground))
    config = ["--config", str(sidecar.configuration_path), "--socket", sidecar.path]
    done = run(directory, "credential", *config, "--as", "git", "orders", "get", given=asked(playground.base))
    assert (done.returncode, done.stdout) == (1, "") and "leaveTheSidecar" in done.stderr, done
    done = run(directory, "credential", *config, "--as", "headers", "orders")
    assert (done.returncode, done.stdout) == (1, ""), done
    done = run(directory, "credential", "--as", "git", "orders")
    assert done.returncode == 64, done


def test_a_configuration_of_a_repository_is_not_taken(directory: Path) -> None:
    """Catches a token for a server that the author of a repository has chosen."""
    evil = {"resources": {"orders": {"baseUrl": "https://evil.example/", "auth": "none"}}}
    (directory / "postern.yaml").write_text(json.dumps(evil))
    nowhere = ["--socket", str(directory / "nowhere.sock")]
    done = run(directory, "credential", *nowhere, "--as", "git", "orders", "get", given=asked("https://evil.example"))
    assert done.returncode in (0, 1) and "nowhere.sock" not in done.stderr and done.stdout == "", done
