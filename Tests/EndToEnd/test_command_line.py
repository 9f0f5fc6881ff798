"""What the command makes of its arguments, and of none."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable, List

import pytest

from harness import binaries, settings
from harness.playground import Playground
from harness.sidecar import Sidecar


def run(*arguments: str, launcher: List[str] = []) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*launcher, binaries.postern(), *arguments], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)


WITHOUT_PROC = ["unshare", "--mount", "sh", "-c", "umount -l /proc && exec \"$@\"", "sh"]


@pytest.mark.parametrize("arguments", [[], ["jose"], ["audit"]])
def test_no_command_is_a_wrong_use(arguments: List[str]) -> None:
    """A success would be taken for one by whoever started it for something."""
    done = run(*arguments)
    assert done.returncode == 64 and "Usage: postern" in done.stderr and done.stdout == "", done


def test_help_is_none() -> None:
    done = run("--help")
    assert done.returncode == 0 and "SUBCOMMANDS" in done.stdout


@pytest.mark.skipif(os.getuid() != 0, reason="takes /proc away in a mount namespace of its own")
def test_arguments_are_read_without_proc(start: Callable[..., Sidecar], directory: Path) -> None:
    """Swift reads them from /proc: a probe without it asked nobody, and succeeded."""
    nowhere = str(directory / "nowhere.sock")
    done = run("probe", "--socket", nowhere, launcher=WITHOUT_PROC)
    assert done.returncode == 1 and nowhere in done.stderr, done
    sidecar = start({})
    assert run("probe", "--socket", sidecar.path, launcher=WITHOUT_PROC).returncode == 0
    sidecar.stop()
    assert run("probe", "--socket", sidecar.path, launcher=WITHOUT_PROC).returncode == 1
    assert run(launcher=WITHOUT_PROC).returncode == 64


def test_check_config_knows_the_methods(directory: Path) -> None:
    """A misspelt method lets nobody call what was meant, and is found when somebody tries."""
    path = directory / "rules.yaml"
    path.write_text("peers: [{ uid: 1, methods: [fetchResorce, getInfo, $/cancelRequest, rpc.discover] }]\n")
    done = run("check-config", "--config", str(path))
    assert done.returncode == 1, done
    assert "peers[0].methods[0]: there is no method fetchResorce; did you mean fetchResource?" in done.stderr
    assert "getInfo" not in done.stderr and "cancelRequest" not in done.stderr
    done = run("serve", "--config", str(path), "--socket", str(directory / "never.sock"))
    assert done.returncode == 78 and "did you mean fetchResource?" in done.stderr, done


def test_check_config_finds_settings_without_effect(directory: Path) -> None:
    """Catches advice that nobody will ever see, and a word about a bound that keeps a sidecar from its start."""
    path = directory / "idle.yaml"
    resource = 'baseUrl: "https://api.example.com/", auth: none'
    path.write_text(f"resources: {{ a: {{ {resource}, advice: {{ enabled: true }} }} }}\n")
    done = run("check-config", "--config", str(path))
    assert done.returncode == 1 and "resources.a.advice: has no effect without an issuer" in done.stderr, done
    path.write_text(f"resources: {{ a: {{ {resource}, cookies: {{ maxCookies: 5 }} }} }}\n")
    done = run("check-config", "--config", str(path))
    assert done.returncode == 0 and "resources.a.cookies.maxCookies: has no effect" in done.stdout + done.stderr, done


# MARK: the configuration file where none is named


SMALL = "resources: { open: { baseUrl: \"https://api.example.com/\", auth: none } }\nstore: { kind: memory }\n"
OWN_ETC = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /etc && mkdir /etc/postern && exec \"$@\"", "sh"]
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


def check(directory: Path, *arguments: str, launcher: List[str] = []) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*launcher, binaries.postern(), "check-config", *arguments], capture_output=True, text=True, timeout=30, cwd=directory)


def test_the_file_of_the_working_directory_is_the_default(directory: Path) -> None:
    """The output names the file: it is not always the expected one."""
    (directory / "postern.yaml").write_text(SMALL)
    (directory / "other.yaml").write_text("resources: 1\n")
    done = check(directory)
    assert done.returncode == 0 and done.stdout == "postern.yaml: ok\n", done
    for arguments in [["other.yaml"], ["--config", "other.yaml"]]:
        done = check(directory, *arguments)
        assert done.returncode == 1 and "other.yaml:1" in done.stderr, done
    done = check(directory, "other.yaml", "--config", "postern.yaml")
    assert done.returncode == 64 and "not both" in done.stderr, done


@needs_root
def test_the_systems_file_is_the_second_choice(directory: Path) -> None:
    done = check(directory, launcher=OWN_ETC)
    assert done.returncode == 64 and "neither ./postern.yaml nor /etc/postern/postern.yaml" in done.stderr, done
    filled = [part.replace("/etc/postern &&", "/etc/postern && : > /etc/postern/postern.yaml &&") for part in OWN_ETC]
    done = check(directory, launcher=filled)
    assert done.stdout == "/etc/postern/postern.yaml: ok\n", done
    (directory / "postern.yaml").write_text(SMALL)
    assert check(directory, launcher=filled).stdout == "postern.yaml: ok\n"


def strange_owner(directory: Path) -> None:
    os.chown(directory, 1001, 1001)


def strange_file(directory: Path) -> None:
    os.chown(directory / "postern.yaml", 1001, 1001)


def open_directory(directory: Path) -> None:
    directory.chmod(0o777)


def open_file(directory: Path) -> None:
    (directory / "postern.yaml").chmod(0o666)


def strange_link(directory: Path) -> None:
    (directory / "postern.yaml").rename(directory / "target.yaml")
    (directory / "postern.yaml").symlink_to("target.yaml")
    os.chown(directory / "postern.yaml", 1001, 1001, follow_symlinks=False)


@needs_root
@pytest.mark.parametrize("spoil, reason", [
    (strange_owner, "its directory belongs to another user"),
    (strange_file, "it belongs to another user"),
    (strange_link, "it belongs to another user"),
    (open_directory, "other users can replace files"),
    (open_file, "other users can change it"),
])
def test_a_file_of_another_user_must_be_named(directory: Path, spoil: Callable[[Path], None], reason: str) -> None:
    """Catches a configuration that another user has put into the directory where somebody starts the sidecar."""
    (directory / "postern.yaml").write_text(SMALL)
    spoil(directory)
    for command in ["check-config", "doctor", "serve"]:
        done = subprocess.run(
            [binaries.postern(), command], capture_output=True, text=True, timeout=30, cwd=directory)
        assert done.returncode == 64 and reason in done.stderr and "--config" in done.stderr, done
    assert check(directory, "postern.yaml").returncode == 0


def test_a_sticky_directory_is_safe_for_an_own_file(directory: Path) -> None:
    """As /tmp is: nobody else can replace the file."""
    (directory / "postern.yaml").write_text(SMALL)
    directory.chmod(0o1777)
    assert check(directory).stdout == "postern.yaml: ok\n"


def test_the_log_names_the_file_that_was_found(directory: Path, start: Callable[..., Sidecar]) -> None:
    sidecar = start({})
    assert f'"configuration":"{sidecar.configuration_path}"' in sidecar.awaits_log('"message":"listening"')


# MARK: help and completions


COMMANDS = [
    [], ["serve"], ["call"], ["explain"], ["login"], ["probe"], ["check-config"], ["doctor"], ["jose", "verify"], ["jose", "decrypt"],
    ["jose", "inspect"], ["audit", "verify"], ["url"], ["credential"], ["run"],
]


def examples(command: List[str]) -> List[str]:
    """The commands under `Examples:` of a command's help; a line after one that ends with a pipe belongs to it."""
    text = run(*command, "--help").stdout
    lines = text.partition("Examples:\n")[2].partition("\nUSAGE")[0].splitlines()
    found: List[str] = []
    for line in filter(None, (line.strip() for line in lines)):
        if found and found[-1].endswith("|"):
            found[-1] += " " + line
        else:
            found.append(line)
    return found


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_shows_examples_that_can_be_pasted(command: List[str], directory: Path) -> None:
    """Catches an example that the width of the terminal breaks, or whose arguments are wrong: status 64."""
    (directory / "postern.yaml").write_text(SMALL)
    shown = examples(command)
    assert shown and all(re.match("(postern|curl|echo) ", line) for line in shown), shown
    for line in shown:
        # What would run on, contact others or open a browser is only parsed.
        harmless = "postern " + line.split("postern ", 1)[1] + " --help" if "serve" in line or "login" in line else line
        done = subprocess.run(
            ["bash", "-c", f"touch token.txt; {harmless}"], capture_output=True, text=True, timeout=60, cwd=directory,
            env={"PATH": f"{Path(binaries.postern()).parent}:{os.environ['PATH']}", "HOME": str(directory),
                 "POSTERN_SOCKET": str(directory / "nowhere.sock")})
        assert done.returncode not in (64, 126, 127), (line, done)


BASH = """
source ./completion.bash
COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; current=$2; shift 2
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_postern postern "$current" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(directory: Path, line: str, current: str, *words: str, **environment: str) -> List[str]:
    """What bash would offer for `current` at the end of `line`, which it has taken apart into `words`."""
    (directory / "completion.bash").write_text(run("--generate-completion-script", "bash").stdout)
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", line, current, *words], capture_output=True, text=True, timeout=30, cwd=directory,
        env={"PATH": f"{Path(binaries.postern()).parent}:{os.environ['PATH']}", **environment})
    assert done.stderr == "", "a message would end up in the line that is being typed"
    return done.stdout.split()


def test_completions_know_methods_params_and_names(directory: Path) -> None:
    """Catches a completion script that offers nothing, or needs a secret that the user cannot read."""
    (directory / "postern.yaml").write_text(
        "issuers: { corp: { issuer: \"https://idp.example.com\", clientId: shop, clientSecretFile: /nowhere/secret } }\n"
        "resources: { billing: { baseUrl: \"https://api.example.com/\", issuer: corp, auth: clientCredentials } }\n")
    none = {"POSTERN_SOCKET": str(directory / "nowhere.sock")}
    assert offered(directory, "postern call fetchR", "fetchR", "postern", "call", "fetchR", **none) == ["fetchResource"]
    words = ["postern", "call", "fetchResource"]
    assert offered(directory, "postern call fetchResource re", "re", *words, "re", **none) == ["resource=billing"]
    # bash takes words apart at the equals sign.
    line = "postern call fetchResource resource=b"
    assert offered(directory, line, "b", *words, "resource", "=", "b", **none) == ["billing"]
    line = "postern call fetchResource stream:=t"
    assert offered(directory, line, "t", *words, "stream", ":=", "t", **none) == ["true"]
    assert offered(directory, "postern login ", "", "postern", "login", "", **none)[0] == "corp"
    line = "postern explain fetchResource re"
    assert offered(directory, line, "re", "postern", "explain", "fetchResource", "re", **none) == ["resource=billing"]
    assert offered(directory, "postern url b", "b", "postern", "url", "b", **none) == ["billing"]
    assert "postern.yaml" in offered(directory, "postern doctor po", "po", "postern", "doctor", "po", **none)


def test_a_name_is_no_command_for_the_shell(directory: Path) -> None:
    """bash expands the words that it is offered: who unpacks a foreign directory must not run what its files name."""
    evil = ["$(touch${IFS}made)", "`touch${IFS}made`", "a;touch", "${HOME}"]
    issuers = {name: {"issuer": "https://idp.example.com"} for name in ["corp", *evil]}
    resources = {name: {"baseUrl": "https://api.example.com/", "auth": "none"} for name in ["billing", *evil]}
    (directory / "postern.yaml").write_text(json.dumps({"issuers": issuers, "resources": resources}))
    none = {"POSTERN_SOCKET": str(directory / "nowhere.sock")}
    assert "corp" in offered(directory, "postern login ", "", "postern", "login", "", **none)
    words = ["postern", "call", "fetchResource"]
    assert offered(directory, "postern call fetchResource resource=", "", *words, "resource", "=", "", **none) == ["billing"]
    assert not (directory / "made").exists()


def test_completions_know_what_runs(directory: Path, start: Callable[..., Sidecar]) -> None:
    """Where the configuration cannot be read, issuers come from the sidecar; sessions always do."""
    sidecar = start({"issuers": {"corp": {"issuer": "https://127.0.0.1:1"}}, "health": {"askIssuers": False}})
    with sidecar.connect() as connection:
        connection.call("getInfo")
    elsewhere = directory / "elsewhere"
    elsewhere.mkdir()
    found = offered(elsewhere, "postern login ", "", "postern", "login", "", POSTERN_SOCKET=sidecar.path)
    assert found[:1] == ["corp"] or Path("/etc/postern/postern.yaml").exists(), found


def test_completions_know_the_callers_sessions(
    directory: Path, playground: Playground, start: Callable[..., Sidecar]
) -> None:
    configuration = settings.standard(directory, playground)
    sidecar = start(configuration)
    with sidecar.connect() as connection:
        made = connection.call("createSession", {
            "issuer": "play", "grant": {"type": "tokens", "accessToken": "opaque", "expiresIn": 600}})
    words = ["postern", "call", "getSession", "session", "="]
    found = offered(directory, "postern call getSession session=", "", *words, POSTERN_SOCKET=sidecar.path)
    assert found == [made["session"]]


def test_every_command_has_a_manual_page(directory: Path) -> None:
    """`make man`: catches a command without a page, and a page without its options or examples."""
    tool = Path(__file__).resolve().parents[2] / "deploy/debian/manual.py"
    dump = run("--experimental-dump-help").stdout
    subprocess.run([sys.executable, str(tool), "2026-01-01", str(directory / "man")], input=dump, text=True, check=True)
    pages = {page.stem: page.read_text() for page in (directory / "man").iterdir()}
    assert pages.keys() >= {"-".join(["postern", *command]) for command in COMMANDS}
    assert "\\fB\\-\\-timeout\\fR" in pages["postern-doctor"] and "postern call getInfo" in pages["postern-call"]


def test_the_version_is_one_word_with_a_commit_after_it() -> None:
    done = run("--version")
    assert re.fullmatch(r"postern \d+\.\d+\.\d+( \([0-9a-f]{7,40}(-dirty)?\))?\n", done.stdout), done
