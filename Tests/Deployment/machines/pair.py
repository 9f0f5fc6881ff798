"""The sidecar and an application as two containers."""
from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

from harness.playground import Playground

from . import container, roots
from .container import Container

SECRETS = "/run/secrets/postern"
SOCKET = "/run/postern/postern.sock"
USER, APPLICATION, SHARED = 10001, 20001, 3000


class Deployment:
    """The sidecar in its image and an application in a root of its own; they share the socket's directory only."""

    def __init__(
        self, place: Path, image: Dict[str, Any], playground: Playground, kubelet: bool = False,
        changes: Optional[Dict[str, Any]] = None,
    ) -> None:
        """With `kubelet` volumes are as Kubernetes makes them: root's, writable for all, of the group `fsGroup`."""
        self.config = image["config"]
        self.shared, self.state, self.secrets = place / "shared", place / "state", place / "secrets"
        owner = 0 if kubelet else USER
        for directory, mode, group in [
            (self.shared, 0o2777 if kubelet else 0o2770, SHARED),
            (self.state, 0o2777 if kubelet else 0o700, SHARED if kubelet else USER),
            (self.secrets, 0o2755 if kubelet else 0o500, SHARED if kubelet else USER),
        ]:
            directory.mkdir()
            os.chown(directory, owner, group)
            directory.chmod(mode)
        for name, secret in [("shop", "shopsecret"), ("svc", "svcsecret"), ("store-key", "ab" * 31 + "cd")]:
            (self.secrets / name).write_text(secret)
            os.chown(self.secrets / name, owner, SHARED if kubelet else USER)
            (self.secrets / name).chmod(0o440 if kubelet else 0o400)
        etc = place / "etc"
        etc.mkdir()
        configuration = {
            "listen": {"mode": "0660", "group": str(SHARED)},
            "peers": [{"uid": USER, "methods": ["*"]}, {"gid": SHARED, "methods": ["*"]}],
            "store": {"keyFile": f"{SECRETS}/store-key"},
            "issuers": {
                "svc": {"issuer": playground.issuer, "clientId": "svc", "clientSecretFile": f"{SECRETS}/svc"},
                "shop": {
                    "issuer": playground.issuer, "clientId": "shop", "clientSecretFile": f"{SECRETS}/shop",
                    "scope": "openid offline_access orders",
                },
            },
            "resources": {
                "orders": {
                    "baseUrl": playground.base + "/resource/", "issuer": "svc", "auth": "clientCredentials", "scope": "orders",
                    "audience": playground.base + "/resource",
                },
                "mine": {"baseUrl": playground.base + "/resource/", "issuer": "shop", "auth": "user", "scope": "orders"},
                "open": {"baseUrl": playground.base + "/open/", "auth": "none"},
            },
            "development": {"plainHTTPOnLoopback": True},
        }
        configuration.update(changes or {})
        (etc / "postern.yaml").write_text(json.dumps(configuration))
        self.socket = configuration["listen"].get("path", SOCKET)
        environment = {**dict(entry.split("=", 1) for entry in self.config["Env"]), "POSTERN_SOCKET": self.socket}
        self.sidecar = Container(
            image["root"], USER, USER, groups=[SHARED], environment=environment,
            mounts=[
                (str(etc), "/etc/postern", "ro"), (str(self.secrets), SECRETS, "ro"),
                (str(self.shared), "/run/postern", "nosuid,nodev,noexec"), (str(self.state), "/var/lib/postern", "nosuid,nodev"),
            ])
        self.place = place
        self.application = self.caller(APPLICATION, [SHARED])
        self.process = self.serve()

    def caller(self, uid: int, groups: List[int]) -> Container:
        """An application that runs as `uid`."""
        root, mounts = roots.application(Path(tempfile.mkdtemp(prefix="root-", dir=self.place)))
        return Container(
            root, uid, uid, groups=groups, mounts=mounts + [(str(self.shared), "/run/postern", "ro,nosuid,nodev,noexec")])

    def serve(self) -> "subprocess.Popen[bytes]":
        process = self.sidecar.start(*self.config["Entrypoint"], *self.config["Cmd"])
        deadline = time.monotonic() + 60
        while self.probe() != 0:
            if process.poll() is not None or time.monotonic() > deadline:
                container.end(process)
                assert process.stdout is not None
                raise AssertionError(process.stdout.read().decode(errors="replace"))
        return process

    def probe(self) -> int:
        return self.sidecar.run(*self.config["Healthcheck"]["Test"][1:])[0]

    def call(self, method: str, caller: Optional[Container] = None, **params: Any) -> Any:
        """What `caller`, the application unless told otherwise, is answered."""
        run = (caller or self.application).run
        status, said = run("/usr/bin/python3", "/tests/caller.py", self.socket, method, json.dumps(params))
        assert status == 0, said
        return json.loads(said)
