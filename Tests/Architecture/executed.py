"""The files that execute for a call, and the walls between modules that it crosses. A report: nothing fails by it.

    make executed    builds with coverage, and prints the figures of five calls

Each kind of call is made many times by a sidecar of its own; what a sidecar does anyway (start, timers, the end) is known from
one that is not called. A file executes for a call if a function of it ran at least once for each of them.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "EndToEnd"))

from harness.logout import login, shop_settings  # noqa: E402
from harness.playground import Playground  # noqa: E402
from harness.sidecar import Sidecar  # noqa: E402
from harness.signing import SigningKey  # noqa: E402

BUILD = ROOT / ".build-coverage"
BINARY = BUILD / "debug" / "postern"
TOOLS = Path(subprocess.run(["which", "swift"], capture_output=True, text=True, check=True).stdout.strip()).resolve().parent
CALLS = 200


def built():
    flags = ["-Xswiftc", "-profile-generate", "-Xswiftc", "-profile-coverage-mapping"]
    subprocess.run(
        ["swift", "build", "--scratch-path", str(BUILD), "--product", "postern", *flags], cwd=ROOT, check=True,
        stdout=subprocess.DEVNULL)


def functions(profile):
    """How often each function ran, by file and name."""
    command = [str(TOOLS / "llvm-cov"), "export", "--format=lcov", f"--instr-profile={profile}", str(BINARY)]
    counts, file = Counter(), ""
    for line in subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines():
        if line.startswith("SF:"):
            file = line[3:]
        elif line.startswith("FNDA:"):
            number, _, name = line[5:].partition(",")
            if "/Sources/" in file and file.startswith(str(ROOT)):
                counts[file.partition("/Sources/")[2], name] += int(number)
    return counts


def run(upstream, prepare, calls):
    """Runs a sidecar that gets so many calls, and returns what ran."""
    with tempfile.TemporaryDirectory(prefix="executed-") as folder:
        directory = Path(folder)
        configuration = {
            **shop_settings(upstream, directory), "listen": {"path": str(directory / "postern.sock")},
            "development": {"plainHTTPOnLoopback": True},
            # The profile is written when the process ends.
            "hardening": {"landlock": "off", "seccomp": "off"},
        }
        del configuration["issuers"]["twin"]
        configuration["resources"]["open"] = {"baseUrl": upstream.base + "/open/", "auth": "none"}
        raw = directory / "profile"
        sidecar = Sidecar(directory, configuration, environment={"LLVM_PROFILE_FILE": str(raw)})
        with sidecar.connect() as connection:
            call = prepare(connection, upstream)
            for _ in range(3 + calls):
                call()
        sidecar.stop()
        merged = directory / "merged"
        subprocess.run([str(TOOLS / "llvm-profdata"), "merge", "-o", str(merged), str(raw)], check=True)
        return functions(merged)


def executed(upstream, prepare):
    """The files that execute for each call."""
    idle, busy = run(upstream, prepare, 0), run(upstream, prepare, CALLS)
    return {file for (file, function), count in busy.items() if count - idle[file, function] >= CALLS}


def open_fetch(connection, _):
    return lambda: connection.call("fetchResource", {"resource": "open", "path": "x"})


def user_fetch(connection, upstream):
    session = login(connection, upstream)["session"]
    return lambda: connection.call("fetchResource", {"resource": "mine", "path": "orders", "session": session})


def refresh(connection, upstream):
    session = login(connection, upstream)["session"]
    return lambda: connection.call("refreshSession", {"session": session})


def validation(connection, _):
    key, now = SigningKey(), int(time.time())
    issuer = "https://idp.example.com"
    token = key.sign({"iss": issuer, "sub": "alice", "aud": "shop", "exp": now + 3600, "iat": now - 10})
    params = {"idToken": token, "expectedIssuer": issuer, "clientId": "shop", "jwks": key.jwks()}
    return lambda: connection.call("validateIdToken", params)


def listing(connection, upstream):
    login(connection, upstream)
    return lambda: connection.call("listSessions")


def main():
    built()
    os.environ["POSTERN_BIN"] = str(BINARY)
    os.environ.setdefault("PLAYGROUND_BIN", str(ROOT / ".build" / "debug" / "playground"))
    upstream = Playground()
    try:
        found = {
            "fetch without a token": executed(upstream, open_fetch), "fetch of a user": executed(upstream, user_fetch),
            "refresh": executed(upstream, refresh), "validation of an ID token": executed(upstream, validation),
            "list of sessions": executed(upstream, listing),
        }
    finally:
        upstream.stop()
    found["fetch of a user with refresh"] = found["fetch of a user"] | found["refresh"]
    for name, files in found.items():
        print(f"{name:30} {len(files):4} files of {len({file.partition('/')[0] for file in files}):2} modules")
    if "--list" in sys.argv:
        for file in sorted(found["fetch of a user with refresh"]):
            print(f"  {file}")


if __name__ == "__main__":
    main()
