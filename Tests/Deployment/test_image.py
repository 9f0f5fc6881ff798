"""The container image: what is in it, and the sidecar at work in it for an application in another root file system."""
from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

from harness.browser import announce_login, callback_of
from harness.playground import Playground
from machines import container
from machines.files import DEPLOY, ROOT, postern
from machines.pair import SHARED, SOCKET, USER, Deployment

REDIRECT = "http://127.0.0.1:8765/callback"


def files(root: Path) -> List[Path]:
    return [path for path in root.rglob("*") if not path.is_symlink() and path.is_file()]


# MARK: what is in it


def test_it_is_small(image: Dict[str, Any]) -> None:
    size = sum(path.stat().st_size for path in files(image["root"]))
    assert size <= 60_000_000, size


def test_it_holds_one_program_and_nothing_that_could_run_another(image: Dict[str, Any]) -> None:
    programs = [path for path in files(image["root"]) if path.stat().st_mode & 0o111]
    assert sorted(path.name for path in programs) == ["ld-linux-x86-64.so.2", "postern"]
    # The directory of the socket hands its group on; no file has such a bit.
    assert not [path for path in files(image["root"]) if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID)]
    assert not [path for path in image["root"].rglob("*") if path.stat(follow_symlinks=False).st_uid not in (0, USER)]


def test_directories_of_the_sidecar_are_its_own(image: Dict[str, Any]) -> None:
    for name, mode in [("run/postern", 0o2770), ("var/lib/postern", 0o700), ("var/log/postern", 0o700)]:
        status = (image["root"] / name).stat()
        assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (USER, USER, mode), name


def test_every_library_that_is_needed_is_there_and_no_other(image: Dict[str, Any]) -> None:
    libraries = {path.name for path in (image["root"] / "usr/lib").rglob("*.so*")} | {"ld-linux-x86-64.so.2"}
    needed = set()
    for path in files(image["root"]):
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        shown = subprocess.run(["objdump", "--private-headers", str(path)], stdout=subprocess.PIPE, check=True)
        needed |= set(re.findall(r"NEEDED +(\S+)", shown.stdout.decode()))
    assert needed - libraries == set()
    assert libraries - needed == set()


def test_the_engine_is_told_who_runs_it_and_how_to_see_that_it_works(image: Dict[str, Any]) -> None:
    config = image["config"]
    assert config["User"] == f"{USER}:{USER}"
    assert config["Entrypoint"] == ["/usr/bin/postern"]
    assert config["Cmd"] == ["serve", "--config", "/etc/postern/postern.yaml"]
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/postern", "probe"]
    assert config["StopSignal"] == "SIGTERM"


def test_the_dockerfile_takes_its_files_from_the_same_list() -> None:
    text = (DEPLOY / "container" / "Dockerfile").read_text()
    assert "assemble.sh .build/release/postern /image" in text
    final = text.split("FROM scratch AS image", 1)[1]
    assert re.findall(r"^(?:COPY|ADD|RUN).*", final, re.MULTILINE) == ["COPY --from=build /image/ /"]


def test_the_dockerfile_builds_as_the_makefile_does() -> None:
    text, makefile = (
        re.sub(r" +", " ", path.read_text().replace("\\\n", " ")) for path in (DEPLOY / "container" / "Dockerfile", ROOT / "Makefile"))
    packages = re.search(r"^BUILD_PACKAGES := (.*)$", makefile, re.MULTILINE)
    flags = re.search(r"^RELEASE_FLAGS := \$\(BUILD_FLAGS\) (.*)$", makefile, re.MULTILINE)
    assert packages and flags
    linked = set(re.findall(r'\.apt\(\["([^"]+)"\]\)', (ROOT / "Package.swift").read_text()))
    assert len(linked) > 4, "the scan of Package.swift finds too little"
    installed = set(re.findall(r"\b(?:lib[\w-]+|zlib1g)-dev\b", text))
    assert linked <= installed <= set(packages.group(1).split())
    # The image's build has no repository, and its version no commit.
    options = re.sub(r" +\$\(addprefix -Xlinker ,\$\(COMMIT_OBJECT\)\)", "", flags.group(1)).strip()
    assert f"swift build {options} --product postern" in text


def test_the_sbom_names_every_file_and_every_package(image: Dict[str, Any]) -> None:
    path = image["root"] / "usr/share/doc/postern/postern.spdx.json"
    document = json.loads(path.read_text())
    listed = {file["fileName"]: file["checksums"][1]["checksumValue"] for file in document["files"]}
    there = {
        "./" + str(file.relative_to(image["root"])): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files(image["root"]) if file != path
    }
    assert listed == there
    names = {package["name"] for package in document["packages"]}
    assert names >= {entry.name for entry in (image["root"] / "var/lib/dpkg/status.d").iterdir()}
    assert names >= {"postern", "swift-log", "swift-argument-parser", "swift-runtime", "libssl3", "libcurl4"}
    assert "swift-nio" not in names


def test_the_sbom_is_valid_spdx(image: Dict[str, Any]) -> None:
    parser = pytest.importorskip("spdx_tools.spdx.parser.parse_anything", reason="make test-deployment installs it")
    validator = pytest.importorskip("spdx_tools.spdx.validation.document_validator")
    document = parser.parse_file(str(image["root"] / "usr/share/doc/postern/postern.spdx.json"))
    assert validator.validate_full_spdx_document(document) == []


def test_each_package_brings_its_licence(image: Dict[str, Any]) -> None:
    for entry in (image["root"] / "var/lib/dpkg/status.d").iterdir():
        assert (image["root"] / "usr/share/doc" / entry.name / "copyright.gz").stat().st_size > 0
    assert (image["root"] / "usr/share/doc/postern/swift-log/NOTICE.txt").exists()
    assert (image["root"] / "usr/share/doc/postern/swift-log/LICENSE.txt.gz").stat().st_size > 0


# MARK: at work


@pytest.fixture(scope="module")
def deployment(place: Path, image: Dict[str, Any], playground: Playground) -> Iterator[Deployment]:
    running = Deployment(place, image, playground)
    yield running
    container.end(running.process)


def test_it_runs_as_its_user_without_privileges_on_a_root_nobody_can_write(deployment: Deployment) -> None:
    process = container.inner(deployment.process)
    status = dict(re.findall(r"^(\w+):\t(.*)$", Path(f"/proc/{process}/status").read_text(), re.MULTILINE))
    assert status["Uid"].split() == [str(USER)] * 4
    assert status["NoNewPrivs"] == "1"
    assert {int(status[name], 16) for name in status if name.startswith("Cap")} == {0}
    options = [line.split() for line in Path(f"/proc/{process}/mountinfo").read_text().splitlines()]
    assert [line[5].split(",")[0] for line in options if line[4] == "/"][-1] == "ro"


def test_the_socket_is_for_the_group_alone(deployment: Deployment) -> None:
    status = (deployment.shared / "postern.sock").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (USER, SHARED, 0o660)


def test_the_application_fetches_with_a_token_it_never_sees(deployment: Deployment) -> None:
    answer = deployment.call("fetchResource", resource="orders", path="orders")
    assert answer["result"]["status"] == 200, answer


def test_the_application_sees_nothing_of_the_sidecar_but_the_socket(deployment: Deployment) -> None:
    program = (
        "import os; lock = '/run/postern/.postern.sock.lock';"
        "print(os.listdir('/run'), sorted(os.listdir('/run/postern')), [p for p in os.listdir('/proc') if p.isdigit()],"
        " os.access(lock, os.R_OK), os.access(lock, os.W_OK))")
    status, said = deployment.application.run("/usr/bin/python3", "-c", program)
    # The lock that sidecars take turns by is theirs alone.
    assert (status, said.strip()) == (0, "['postern'] ['.postern.sock.lock', 'postern.sock'] ['1'] False False"), said


def test_the_application_cannot_put_another_socket_in_its_place(deployment: Deployment) -> None:
    status, said = deployment.application.run("/usr/bin/python3", "-c", f"import os; os.unlink({SOCKET!r})")
    assert status == 1 and "Read-only file system" in said


def test_certificate_authorities_are_where_libcurl_looks(image: Dict[str, Any]) -> None:
    for path in ["etc/ssl/certs/ca-certificates.crt", "usr/lib/ssl/cert.pem"]:
        target = image["root"] / path
        if target.is_symlink():
            target = image["root"] / os.readlink(target).lstrip("/")
        assert target.read_text().count("BEGIN CERTIFICATE") > 50


def test_a_session_outlives_the_container(deployment: Deployment, playground: Playground) -> None:
    announce_login(playground)
    begun = deployment.call("beginAuthorization", issuer="shop", redirectUri=REDIRECT)["result"]
    session = deployment.call("completeAuthorization", **callback_of(begun))["result"]["session"]
    assert container.end(deployment.process) == 0
    assert deployment.probe() == 1
    deployment.process = deployment.serve()
    answer = deployment.call("fetchResource", resource="mine", path="orders", session=session)
    assert answer["result"]["status"] == 200, answer



# MARK: Compose


@pytest.fixture(scope="module")
def services() -> Dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="make test-deployment installs it")
    return yaml.safe_load((DEPLOY / "container" / "compose.yaml").read_text())


def test_compose_gives_the_sidecar_no_more_than_it_needs(services: Dict[str, Any]) -> None:
    sidecar = services["services"]["postern"]
    assert sidecar["read_only"] is True
    assert sidecar["cap_drop"] == ["ALL"]
    assert sidecar["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in sidecar and "cap_add" not in sidecar and "ports" not in sidecar
    # It may take half a minute to answer what is pending.
    assert int(sidecar["stop_grace_period"].rstrip("s")) > 30


def test_compose_shares_the_socket_by_group_and_starts_in_order(services: Dict[str, Any]) -> None:
    sidecar, application = services["services"]["postern"], services["services"]["shop"]
    assert set(sidecar["group_add"]) & set(application["group_add"])
    options = services["volumes"]["postern-socket"]["driver_opts"]["o"].split(",")
    assert {"uid=10001", f"gid={sidecar['group_add'][0]}", "mode=2770"} <= set(options)
    assert application["depends_on"]["postern"]["condition"] == "service_healthy"
    assert "postern-socket:/run/postern:ro" in application["volumes"]


def test_the_example_configuration_is_valid(directory: Path) -> None:
    text = (DEPLOY / "container" / "postern.yaml").read_text()
    (directory / "postern.yaml").write_text(text.replace("/run/secrets/", f"{directory}/"))
    for name in set(re.findall(r"/run/secrets/([\w-]+)", text)):
        (directory / name).write_text("ab" * 31 + "cd")
    done = subprocess.run(
        [postern(), "check-config", "--config", str(directory / "postern.yaml")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()
