"""What the documents show is what happens: every example of the reference, every command of the guides that are run."""

import json
import re

import pytest

import console
import stage as stages

import examples  # noqa: E402  (stage makes proto-docs/tool importable)
import reference  # noqa: E402
import run  # noqa: E402
from harness.ports import free_port  # noqa: E402  (and the harness)

PAGES = stages.ROOT / "proto-docs"
#: Pages whose commands are run. Any other page with the comment is run, too; the test fails when one of these loses it.
RUN = {
    "configuration.md", "explain.md", "five-minutes.md", "framing.md", "gateway.md", "on-behalf-of.md", "operations.md", "protect-an-api.md",
    "python.md", "sessions.md",
    "socat.md", "step-up.md", "wire.md", "../README.md",
}
#: Pages whose commands other tests run: Tests/Deployment, Tests/Examples, Tests/OtherLanguages.
ELSEWHERE = {"examples.md", "mac.md", "other-languages.md"}


@pytest.mark.parametrize("method", run.methods())
def test_examples_of_the_reference(stage, method):
    """Catches an example whose request or answer is not what the sidecar takes and gives, and a method without any."""
    found = examples.load(method)
    assert found
    for example in found:
        received, unlike = run.run(stage, method, example)
        assert not unlike, f"{method}: {example['title']}"
        assert received == example["receive"], f"{method}: {example['title']}: `make record-examples` writes what comes now"


def test_examples_are_of_methods_that_exist():
    """Catches an example that nobody runs any more."""
    known = {examples.slug(method) for method in run.methods()}
    assert {path.stem for path in examples.FOLDER.glob("*.json")} == known


def test_reference_is_what_would_be_written():
    """Catches a page that was changed by hand, or not written after a change of a method, an error or an example."""
    there = {path.name: path.read_text(encoding="utf-8") for path in (PAGES / "reference").glob("*.md")}
    assert there == reference.pages(), "run make docs"


def test_every_error_of_a_method_has_a_remedy():
    """Catches an error in openrpc.json that errors.md does not know, or knows by another reason."""
    rows = re.findall(r"^\| (-?\d+) \| `(\w+)` \| .+ \| .+ \|$", (PAGES / "errors.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == len(set(rows)) > 40
    document = json.loads((PAGES / "openrpc.json").read_text(encoding="utf-8"))
    declared = {(str(e["code"]), e["data"]["reason"]) for m in document["methods"] for e in m.get("errors", [])}
    assert declared - set(rows) == set()


def test_examples_provoke_errors_by_their_reasons():
    """Catches an answer in an example whose code and reason do not belong together."""
    rows = dict(re.findall(r"^\| (-?\d+) \| `(\w+)` \|", (PAGES / "errors.md").read_text(encoding="utf-8"), re.MULTILINE))
    for method in run.methods():
        for example in examples.load(method):
            for message in example["receive"]:
                if error := message.get("error"):
                    assert rows[str(error["code"])] == error["data"]["reason"]


# MARK: programs of the README


def program(language):
    [text] = re.findall(rf"^```{language}\n(.*?)^```$", stages.README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return text


def test_the_python_of_the_readme(stage):
    """Catches a program on the first page that does not run."""
    sidecar, _ = stage.billing()
    printed = stage.run_program(sidecar, ["/usr/bin/python3", "-c", program("python") + "\nprint(invoice)"])
    assert printed == "{'path': '/billing/invoices/7', 'token': True}\n"


def test_the_javascript_of_the_readme(stage):
    sidecar, _ = stage.billing()
    packages = sidecar.directory / "node_modules"
    packages.mkdir()
    (packages / "postern-auth").symlink_to(stages.ROOT / "clients" / "node")
    file = sidecar.directory / "program.mjs"
    file.write_text(program("js") + "\nconsole.log(invoice);")
    assert stage.run_program(sidecar, ["node", str(file)]) == "{ path: '/billing/invoices/7', token: true }\n"


@pytest.mark.parametrize("name", ["README.md", "proto-docs/five-minutes.md"])
def test_waiting_for_a_sidecar_that_does_not_start_ends(stage, name):
    """Catches a wait on a first page that never ends when `serve` has exited, or ends without the reason."""
    steps = console.steps((stages.ROOT / name).read_text(encoding="utf-8"))
    [wait] = [step for step in steps if step.command.startswith("until postern probe")]
    environment = {**stage.environment_of(None), "POSTERN_SOCKET": "/nonexistent/postern.sock"}
    start = console.Step("postern serve --config no-such-file 2> postern.log &", [])
    [_, printed] = console.outputs([start, wait], stage.fresh_directory(), environment, seconds=20)
    assert "no-such-file" in printed


# MARK: pages


def all_pages():
    texts = {path.relative_to(PAGES).as_posix(): path.read_text(encoding="utf-8") for path in PAGES.rglob("*.md")}
    return {**texts, "../README.md": stages.README.read_text(encoding="utf-8")}


def pages():
    return {name: text for name, text in all_pages().items() if console.mode(text)}


def test_no_command_is_left_out():
    """Catches a command in a guide that no test runs, and of which nobody said why."""
    texts = {name: text for name, text in all_pages().items() if not console.mode(text) and not name.startswith("reference/")}
    found = {name for name, text in texts.items() if any(not skipped for skipped, _ in console.BLOCK.findall(text))}
    assert found - ELSEWHERE == set()


def test_the_pages_that_are_run():
    """Catches a guide that lost the mark by which it is found here."""
    assert RUN - pages().keys() == set()


@pytest.mark.parametrize("name", sorted(pages()))
def test_commands_of_a_page(stage, name):
    """Catches a command that does not work as it stands, or prints something else than the page shows."""
    page = pages()[name]
    directory = stage.fresh_directory()
    if console.mode(page) == "sidecar":
        environment, addresses = stage.environment_of(stage.sidecar()), stage.addresses
    elif console.mode(page) == "billing":
        sidecar, addresses = stage.billing()
        environment = stage.environment_of(sidecar)
        (directory / "postern.yaml").write_bytes((sidecar.directory / "postern.yaml").read_bytes())
        (directory / "postern.yaml").chmod(0o600)
    else:
        environment, addresses = stage.environment_of(None), free_addresses()
    steps = console.steps(page)
    assert len(steps) >= 2, "the scan of the page finds too little"
    real = [step._replace(command=exchanged(step.command, addresses)) for step in steps]
    printed = console.outputs(real, directory, environment)
    if console.mode(page) == "billing":  # who follows it has TLS, and no warning of a development switch
        printed = [re.sub(r"^postern: warning: .*development switch is on\n", "", one, flags=re.MULTILINE) for one in printed]
    assert len(printed) == len(steps), printed
    back = {real: shown for shown, real in addresses.items()}
    found = [console.difference(step, exchanged(output, back)) for step, output in zip(steps, printed)]
    assert not any(found), f"proto-docs/{name}:\n" + "\n\n".join(filter(None, found))


def free_addresses():
    """For a page that starts its own playground: another port than the one it shows, which may be in use."""
    port = free_port()
    addresses = {stages.PLAYGROUND: f"127.0.0.1:{port}", "--port 8080": f"--port {port}"}
    # The gateway's, and that of an API.
    return {**addresses, **{shown: f"127.0.0.1:{free_port()}" for shown in ("127.0.0.1:7080", "127.0.0.1:9000")}}


def exchanged(text, by):
    for old, new in by.items():
        text = text.replace(old, new)
    return text


def test_the_comparison_sees_differences():
    """Guards the guard: a page whose output differs must not pass."""
    step = console.Step("x", ["a … c", "…", "end"])
    assert console.difference(step, "a b c\nanything\nmore\nend\n") == ""
    assert console.difference(step, "a b c\nend\n") == ""
    assert console.difference(step, "a b d\nend\n") and console.difference(step, "a b c\n") and console.difference(step, "")
    assert console.difference(console.Step("x", []), "something\n") and not console.difference(console.Step("x", []), "")
    text = "```console\n$ cat <<'END'\n$ no command\nEND\n$ no command\n$ echo \\\n  b |\n  cat\nb\n```\n"
    found = console.steps("<!-- not run: why -->\n```console\n$ no\n```\n" + text)
    assert [step.command for step in found] == ["cat <<'END'\n$ no command\nEND", "no command", "echo \\\n  b |\n  cat"]
    assert examples.looks_like("k0Zr8mW-abcdef", "abc…") and not examples.looks_like("a b c d e f g h", "abc…")
    assert not examples.looks_like("text", 1) and not examples.looks_like(True, 1) and not examples.looks_like("x", examples.NOW)
    assert examples.looks_like("Bearer x", "Bearer …") and not examples.looks_like("Basic xxxx", "Bearer …")
