"""The hardening page: what the sidecar gives up at its start, and what it says of it."""
from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from harness import expect, settings
from harness.browser import announce_login, callback_of
from harness.certificates import Authority
from harness.connection import Connection
from harness.issuer import IssuerDouble
from harness.mutual import MutualTLS
from harness.playground import Playground
from harness.sidecar import Sidecar, StartError
from harness.waiting import eventually

LANDLOCK_ABI = ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)

needs_ports = pytest.mark.skipif(LANDLOCK_ABI < 4, reason="this kernel's Landlock knows no ports")
needs_landlock = pytest.mark.skipif(LANDLOCK_ABI < 1, reason="this kernel has no Landlock")
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root may look into a process that is not dumpable")

# Starts the rest of the command where a system call fails: argument 1 is its number, 2 the error.
WITHOUT = """
import ctypes, os, struct, sys
number, error = int(sys.argv[1]), int(sys.argv[2])
def line(code, jt, jf, k): return struct.pack("HBBI", code, jt, jf, k)
code = line(0x20, 0, 0, 0) + line(0x15, 0, 1, number) + line(6, 0, 0, 0x50000 | error) + line(6, 0, 0, 0x7fff0000)
program = ctypes.create_string_buffer(code)
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(4, ctypes.cast(program, ctypes.c_void_p).value))) == 0
os.execv(sys.argv[3], sys.argv[3:])
"""
ENOSYS, EPERM = 38, 1


OWN_FILTERS = int(re.findall(r"^Seccomp_filters:\t(\d+)$", Path("/proc/self/status").read_text(), re.MULTILINE)[0])


def without(call: int, error: int) -> List[str]:
    return [sys.executable, "-c", WITHOUT, str(call), str(error)]


def elsewhere_socket(directory: Path) -> Dict[str, Any]:
    return {"listen": {"path": str(directory / "other.sock")}}


def status_of(task: Path) -> Dict[str, str]:
    return dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)


def test_the_kernel_reports_the_same_of_every_thread(sidecar: Sidecar, connection: Connection) -> None:
    assert connection.call("fetchResource", {"resource": "orders", "path": "echo"})["status"] == 200
    tasks = list(Path(f"/proc/{sidecar.process.pid}/task").iterdir())
    assert len(tasks) > 3
    for task in tasks:
        try:
            status = status_of(task)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), status["Name"]
        # One from before the first thread, one from when the socket listened.
        assert int(status["Seccomp_filters"]) == OWN_FILTERS + 2, status["Name"]


@needs_ports
def test_get_info_and_health_say_that_nothing_is_missing(
    start: Callable[..., Sidecar], connect: Callable[..., Connection]
) -> None:
    connection = connect(start({"hardening": {"landlock": "required"}}))
    hardening = connection.call("getInfo")["hardening"]
    memory = hardening.pop("lockedMemory")
    assert memory["lockedBytes"] > 0 and memory["unlockedBytes"] == 0
    missing = hardening.pop("missing")
    abi = hardening["landlock"].pop("abi")
    assert abi == LANDLOCK_ABI
    assert hardening == {
        "noNewPrivileges": True, "dumpable": False, "coreDumps": False, "writableCode": False,
        "landlock": {"fileSystem": True, "network": True, "scope": abi >= 6}, "seccomp": True}
    check = connection.call("health")["checks"]["hardening"]
    assert check["status"] == "ok" and missing == ([] if abi >= 6 else [check["detail"]])


@needs_root
def test_secrets_are_in_memory_that_is_neither_swapped_nor_dumped_nor_inherited(sidecar: Sidecar) -> None:
    flags = re.findall(r"^VmFlags: (.*)$", Path(f"/proc/{sidecar.process.pid}/smaps").read_text(), re.MULTILINE)
    assert any({"lo", "dd", "wf"} <= set(line.split()) for line in flags)
    assert int(status_of(Path(f"/proc/{sidecar.process.pid}"))["VmLck"].split()[0]) >= 64


@needs_root
def test_its_own_user_cannot_read_its_memory(start: Callable[..., Sidecar], directory: Path) -> None:
    for path in [directory, directory / "client-secret"]:
        os.chown(path, 65534, 65534)
    launcher = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    own = directory / "sidecar-0"
    sidecar = start(launcher=["sh", "-c", f'chown -R 65534:65534 "{own}"; exec "$@"', "sh", *launcher])
    script = "import sys\ntry: open(sys.argv[1], 'rb').read(1)\nexcept OSError as error: print(error.errno)"
    for name in ["mem", "environ", "maps"]:
        said = subprocess.run(
            [*launcher, sys.executable, "-c", script, f"/proc/{sidecar.process.pid}/{name}"], capture_output=True, text=True)
        assert said.stdout.strip() in ("1", "13"), (name, said)


def test_everything_can_be_switched_off(start: Callable[..., Sidecar], connect: Callable[..., Connection]) -> None:
    off = {"landlock": "off", "seccomp": "off", "lockedMemory": "off", "coreDumps": True}
    connection = connect(start({"hardening": off}))
    hardening = connection.call("getInfo")["hardening"]
    assert hardening["landlock"] == {"abi": 0, "fileSystem": False, "network": False, "scope": False}
    assert not hardening["seccomp"] and hardening["dumpable"] and hardening["lockedMemory"]["lockedBytes"] == 0
    for name in off:
        assert any(f"hardening.{name}" in text for text in hardening["missing"]), hardening["missing"]
    assert connection.call("health")["checks"]["hardening"]["status"] == "ok", "nobody asked for it"
    assert connection.call("fetchResource", {"resource": "orders", "path": "echo"})["status"] == 200


def test_a_kernel_without_landlock_is_no_fault_unless_it_is_required(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], directory: Path
) -> None:
    connection = connect(start(launcher=without(444, ENOSYS)))
    hardening = connection.call("getInfo")["hardening"]
    assert hardening["landlock"]["abi"] == 0 and not hardening["landlock"]["fileSystem"] and hardening["seccomp"]
    check = connection.call("health")["checks"]["hardening"]
    assert check["status"] == "ok" and "no Landlock" in check["detail"]
    assert connection.call("fetchResource", {"resource": "orders", "path": "echo"})["status"] == 200
    with pytest.raises(StartError) as failed:
        start({"hardening": {"landlock": "required"}, **elsewhere_socket(directory)}, launcher=without(444, ENOSYS))
    assert failed.value.status == 1
    assert "hardening.landlock is required, and cannot be had: this kernel has no Landlock" in failed.value.log


def test_a_container_that_forbids_filters_is_no_fault_unless_one_is_required(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], directory: Path
) -> None:
    number = 277 if os.uname().machine == "aarch64" else 317
    connection = connect(start(launcher=without(number, EPERM)))
    hardening = connection.call("getInfo")["hardening"]
    assert not hardening["seccomp"] and any(text.startswith("seccomp: ") for text in hardening["missing"])
    assert connection.call("health")["checks"]["hardening"]["status"] == "ok"
    with pytest.raises(StartError) as failed:
        start({"hardening": {"seccomp": "required"}, **elsewhere_socket(directory)}, launcher=without(number, EPERM))
    assert "hardening.seccomp is required" in failed.value.log


@needs_root
def test_too_little_locked_memory_is_no_fault_unless_it_is_required(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], directory: Path
) -> None:
    # Root's limit counts for nothing while it has the capability.
    launcher = ["prlimit", "--memlock=0:0", "setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"]
    connection = connect(start(launcher=launcher))
    hardening = connection.call("getInfo")["hardening"]
    memory = hardening["lockedMemory"]
    assert memory["lockedBytes"] == 0 and memory["unlockedBytes"] > 0
    assert any("RLIMIT_MEMLOCK" in text for text in hardening["missing"])
    assert connection.call("health")["checks"]["hardening"]["status"] == "ok"
    with pytest.raises(StartError) as failed:
        start({"hardening": {"lockedMemory": "required"}, **elsewhere_socket(directory)}, launcher=launcher)
    assert "hardening.lockedMemory is required" in failed.value.log


@needs_landlock
def test_all_of_it_can_be_required(start: Callable[..., Sidecar], connect: Callable[..., Connection]) -> None:
    required = {"landlock": "required", "seccomp": "required", "lockedMemory": "required"}
    connection = connect(start({"hardening": required}))
    assert connection.call("fetchResource", {"resource": "orders", "path": "echo"})["status"] == 200


# While it serves


@pytest.fixture
def named(tmp_path: Path) -> Iterator[MutualTLS]:
    """Servers with a certificate of `localhost`."""
    authority = Authority(tmp_path)
    authority.issue("server", "subjectAltName=IP:127.0.0.1,DNS:localhost", by="middle")
    double = MutualTLS(authority)
    yield double
    double.stop()


@needs_landlock
def test_what_lasts_works_under_the_second_filter(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], playground: Playground, directory: Path,
    named: MutualTLS,
) -> None:
    """Full files of the audit log, SIGHUP, a store and its write-ahead log, names, secrets: none may need what was
    given up."""
    audit = directory / "audit" / "log"
    audit.parent.mkdir(mode=0o700)
    secret = directory / "shop-secret"
    secret.write_text("shopsecret")
    secret.chmod(0o600)
    shop = {
        "issuer": playground.issuer, "clientId": "shop", "clientAuth": "client_secret_basic",
        "clientSecretFile": str(secret), "scope": "openid offline_access orders"}
    sidecar = start({
        "audit": {"path": str(audit), "maxBytes": 65536},
        "store": {"kind": "file", "path": str(directory / "store")},
        "issuers": {"shop": shop},
        "resources": {
            "mine": {"baseUrl": playground.base + "/resource/", "issuer": "shop", "auth": "user", "scope": "orders"},
            "named": {
                "baseUrl": named.resource.replace("127.0.0.1", "localhost") + "/", "auth": "none",
                "tls": {"caFile": named.authority.file},
            },
        },
        "hardening": {"landlock": "required", "seccomp": "required"},
    })
    connection = connect(sidecar)
    announce_login(playground)
    begun = connection.call(
        "beginAuthorization", {"issuer": "shop", "redirectUri": "http://127.0.0.1:8765/callback"})
    session = connection.call("completeAuthorization", callback_of(begun))["session"]
    mine = {"resource": "mine", "path": "orders", "session": session}
    assert connection.call("fetchResource", mine)["status"] == 200
    assert connection.call("fetchResource", {"resource": "named", "path": "x"})["status"] == 200
    for _ in range(350):
        connection.call("fetchResource", {"resource": "orders", "path": "orders"})
    sidecar.awaits_log("audit log rotated")
    audit.rename(audit.with_name("moved"))
    secret.with_suffix(".new").write_text("another")
    secret.with_suffix(".new").chmod(0o600)
    secret.with_suffix(".new").replace(secret)
    sidecar.signal(signal.SIGHUP)
    eventually(audit.exists, what="a new file after SIGHUP")
    sidecar.awaits_log("configuration reloaded")
    assert connection.call("fetchResource", mine)["status"] == 200
    for file in ["sessions.db", "sessions.db-wal"]:
        assert (directory / "store" / file).stat().st_mode & 0o777 == 0o600
    health = connection.call("health")
    assert health["checks"]["hardening"]["status"] == "ok", health
    assert "Operation not permitted" not in sidecar.log()


# Environment


@pytest.mark.parametrize("first", ["/", "\u0301"], ids=["absolute", "combining"])
def test_the_keys_of_tls_connections_are_not_written_down(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], directory: Path, named: MutualTLS, first: str
) -> None:
    # U+0301 and the equals sign before it make one character: the name would not be found.
    keys = directory / "keys" if first == "/" else Path.cwd() / f"{first}{directory.name}"
    value = str(keys) if first == "/" else keys.name
    target = {"baseUrl": named.resource + "/", "auth": "none", "tls": {"caFile": named.authority.file}}
    # Landlock would hide that libcurl tried.
    sidecar = start(
        {"resources": {"r": target}, "hardening": {"landlock": "off"}}, environment={"SSLKEYLOGFILE": value})
    assert connect(sidecar).call("fetchResource", {"resource": "r", "path": "x"})["status"] == 200
    existed = keys.exists()
    keys.unlink(missing_ok=True)
    assert not existed
    assert "SSLKEYLOGFILE was removed from the environment" in sidecar.log()
    assert value not in sidecar.log()


def test_variables_of_libraries_are_warned_of_by_name(start: Callable[..., Sidecar]) -> None:
    names = ["SSL_CERT_FILE", "SSL_CERT_DIR", "https_proxy", "HTTP_PROXY", "OPENSSL_CONF", "HOSTALIASES", "RES_OPTIONS"]
    log = start(environment={name: "/somewhere/secret" for name in names}).log()
    for name in names:
        assert f"{name} was removed from the environment" in log
    assert "caFile" in log and "/somewhere/secret" not in log


def test_authorities_of_the_environment_are_not_trusted(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], named: MutualTLS
) -> None:
    sidecar = start(
        {"resources": {"r": {"baseUrl": named.resource + "/", "auth": "none"}}},
        environment={"SSL_CERT_FILE": named.authority.file, "CURL_CA_BUNDLE": named.authority.file})
    expect.fault(connect(sidecar).error("fetchResource", {"resource": "r", "path": "x"}), 1010)


# Files


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="postern-elsewhere-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@needs_landlock
def test_a_reload_that_names_a_file_elsewhere_is_refused_and_says_what_to_do(
    sidecar: Sidecar, connection: Connection, configuration: Any, elsewhere: Path
) -> None:
    secret = elsewhere / "secret"
    secret.write_text("svcsecret")
    secret.chmod(0o600)
    changed = settings.changed(configuration, {"issuers": {"play": {"clientSecretFile": str(secret)}}})
    sidecar.write(changed)
    error = connection.error("reloadConfig")
    text = str(error)
    assert "clientSecretFile" in text and str(secret) in text and "restart" in text and "hardening.landlock" in text, text
    assert connection.call("health")["checks"]["configuration"]["status"] == "degraded"
    assert connection.call("fetchResource", {"resource": "orders", "path": "echo"})["status"] == 200
    sidecar.write(configuration)
    assert connection.call("reloadConfig") == {"changed": []}


@needs_landlock
@pytest.mark.parametrize("exists", [True, False])
def test_a_reload_with_an_assertion_out_of_reach_says_what_to_do(
    sidecar: Sidecar, connection: Connection, configuration: Any, elsewhere: Path, exists: bool
) -> None:
    """Catches a reload that works, and requests to the issuer that all fail from then on."""
    file = elsewhere / "token"
    if exists:
        file.write_text("later")
    by_assertion = {"clientAuth": "client_assertion", "clientSecretFile": None, "clientAssertion": {"file": str(file)}}
    sidecar.write(settings.changed(configuration, {"issuers": {"play": by_assertion}}))
    text = str(connection.error("reloadConfig"))
    assert str(file) in text and "restart" in text and "hardening.landlock" in text, text
    assert connection.call("fetchResource", {"resource": "orders", "path": "echo"})["status"] == 200


def test_a_reload_that_cannot_read_for_another_reason_says_that(
    sidecar: Sidecar, connection: Connection, configuration: Any, directory: Path
) -> None:
    missing = directory / "missing"
    sidecar.write(settings.changed(configuration, {"issuers": {"play": {"clientSecretFile": str(missing)}}}))
    assert "there is no such file" in str(connection.error("reloadConfig"))


def test_a_secret_that_is_renamed_into_place_is_read(
    sidecar: Sidecar, connection: Connection, configuration: Any, directory: Path
) -> None:
    new = directory / "client-secret.new"
    new.write_text("anothersecret")
    new.chmod(0o600)
    new.replace(directory / "client-secret")
    assert connection.call("reloadConfig") == {"changed": ["issuers"]}


def test_a_secret_in_a_kubernetes_volume_is_read_when_it_is_exchanged(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], directory: Path
) -> None:
    volume = directory / "volume"
    volume.mkdir()

    def publish(name: str, text: str) -> None:
        (volume / name).mkdir()
        (volume / name / "secret").write_text(text)
        (volume / name / "secret").chmod(0o600)
        (volume / "..data.new").symlink_to(name)
        (volume / "..data.new").replace(volume / "..data")

    publish("..1", "svcsecret")
    (volume / "secret").symlink_to("..data/secret")
    connection = connect(start({"issuers": {"play": {"clientSecretFile": str(volume / "secret")}}}))
    publish("..2", "anothersecret")
    assert connection.call("reloadConfig") == {"changed": ["issuers"]}


def test_a_secret_behind_a_link_to_a_directory_is_read_when_the_link_is_turned(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], directory: Path
) -> None:
    for name, text in [("v1", "svcsecret"), ("v2", "anothersecret")]:
        (directory / name).mkdir()
        (directory / name / "secret").write_text(text)
        (directory / name / "secret").chmod(0o600)
    (directory / "current").symlink_to("v1")
    connection = connect(start({"issuers": {"play": {"clientSecretFile": str(directory / "current" / "secret")}}}))
    (directory / "next").symlink_to("v2")
    (directory / "next").replace(directory / "current")
    assert connection.call("reloadConfig") == {"changed": ["issuers"]}


@needs_root
def test_an_abstract_notify_socket_is_told_of_start_and_end(start: Callable[..., Sidecar]) -> None:
    name = f"postern-notify-{os.getpid()}"
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.settimeout(15)
    manager.bind("\0" + name)
    with manager:
        sidecar = start(environment={"NOTIFY_SOCKET": "@" + name})
        assert b"READY=1" in manager.recv(4096)
        sidecar.stop()
        assert b"STOPPING=1" in manager.recv(4096)


# Ports


@needs_ports
def test_an_endpoint_on_a_port_that_nobody_named_is_not_reached_unless_it_is_allowed(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], issuer: IssuerDouble, directory: Path
) -> None:
    keys = IssuerDouble()
    try:
        keys.serve_keys({"keys": []})
        issuer.metadata["jwks_uri"] = f"{keys.base}/jwks"
        corp = {"issuers": {"corp": {"issuer": issuer.base, "clientId": "app"}}}
        token = "eyJhbGciOiJSUzI1NiJ9.e30.e30"
        ask = {"idToken": token, "issuer": "corp", "clientId": "app"}

        connection = connect(start({**corp, "hardening": {"landlock": "required"}}))
        expect.fault(connection.error("validateIdToken", ask), 2001)
        assert keys.asked == []

        port = int(keys.base.rsplit(":", 1)[1])
        allowed = {"hardening": {"landlock": "required", "connectPorts": [port]}, **elsewhere_socket(directory)}
        connect(start({**corp, **allowed})).call("validateIdToken", ask)
        assert len(keys.asked) == 1
    finally:
        keys.stop()


@needs_ports
def test_in_development_a_reload_may_name_another_port(
    sidecar: Sidecar, connection: Connection, configuration: Any
) -> None:
    hardening = connection.call("getInfo")["hardening"]
    assert not hardening["landlock"]["network"] and any("plainHTTPOnLoopback" in text for text in hardening["missing"])
    sidecar.write(settings.changed(configuration, {"resources": {"far": {"baseUrl": "https://far.test:8443/", "auth": "none"}}}))
    assert connection.call("reloadConfig") == {"changed": ["resources"]}


@needs_ports
def test_a_reload_that_names_another_port_is_refused_and_says_what_to_do(
    start: Callable[..., Sidecar], connect: Callable[..., Connection], configuration: Any
) -> None:
    required = {"hardening": {"landlock": "required"}}
    configuration = settings.changed(configuration, required)
    sidecar = start(required)
    connection = connect(sidecar)
    sidecar.write(settings.changed(configuration, {"resources": {"far": {"baseUrl": "https://far.test:8443/", "auth": "none"}}}))
    text = str(connection.error("reloadConfig"))
    assert "resources.far.baseUrl" in text and "port 8443" in text and "hardening.connectPorts" in text, text
    sidecar.write(settings.changed(configuration, {"resources": {"far": {"baseUrl": "https://far.test/", "auth": "none"}}}))
    assert connection.call("reloadConfig") == {"changed": ["resources"]}
