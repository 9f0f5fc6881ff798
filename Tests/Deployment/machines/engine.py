"""Docker Compose with podman as its engine, in a network namespace of its own: the ports of a file are free there."""
from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path
from typing import List

import pytest

from harness.waiting import eventually

from . import container

SETTINGS = """
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
static_dir = "{directory}/libpod"
tmp_dir = "{directory}/tmp"
volume_path = "{directory}/volumes"
[network]
network_backend = "netavark"
network_config_dir = "{directory}/networks"
[containers]
log_driver = "k8s-file"
default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]
"""
STORAGE = '[storage]\ndriver = "vfs"\ngraphroot = "{directory}/storage"\nrunroot = "{directory}/run"\n'
#: Compose 2 as Compose 1: images are there, and waiting is done here, since podman checks no health without systemd.
DOCKER = """#!/bin/bash
set -e
[ "$1" = compose ] && shift
arguments=(); wait=
for one; do case $one in --build) arguments+=(--no-build) ;; --wait) wait=1; arguments+=(--detach) ;; *) arguments+=("$one") ;; esac; done
docker-compose "${arguments[@]}" </dev/null
[ -z "$wait" ] || timeout 60 sh -c 'until docker-compose "$1" "$2" exec -T postern postern probe 2>/dev/null; do sleep 0.2; done' - "$1" "$2"
"""


class Engine:
    """What runs behind `launcher`, with `environment`, uses this engine. Skips the test where it starts no container."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        values = {
            "directory": directory, "files": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
            "processes": resource.getrlimit(resource.RLIMIT_NPROC)[1],
        }
        (directory / "containers.conf").write_text(SETTINGS.format(**values))
        (directory / "storage.conf").write_text(STORAGE.format(**values))
        programs = directory / "bin"
        programs.mkdir()
        (programs / "docker").write_text(DOCKER)
        (programs / "docker").chmod(0o755)
        self.environment = {
            **os.environ, "CONTAINERS_CONF": f"{directory}/containers.conf", "CONTAINERS_STORAGE_CONF": f"{directory}/storage.conf",
            "DOCKER_HOST": f"unix://{directory}/engine.sock", "PATH": f"{programs}:{os.environ['PATH']}",
        }
        self._inner = 0
        start = f"mount -t tmpfs tmpfs /run && ip link set lo up && exec podman system service --time 0 unix://{directory}/engine.sock"
        with (directory / "log").open("wb") as log:
            self.process = subprocess.Popen(
                ["unshare", "--fork", "--pid", "--mount", "--mount-proc", "--net", "--kill-child", "sh", "-c", start],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            eventually(self._is_ready, 60, "the engine")
            self._inner = container.inner(self.process)
        except BaseException:
            self.stop()
            raise

    def _is_ready(self) -> bool:
        if self.process.poll() is not None:
            pytest.skip(f"podman can start no container here: {(self.directory / 'log').read_text()[-200:]}")
        return (self.directory / "engine.sock").exists()

    def launcher(self, directory: Path) -> List[str]:
        return ["nsenter", f"--target={self._inner}", "--mount", "--net", "--pid", f"--wdns={directory}", "--"]

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*self.launcher(self.directory), *command], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)

    def load(self, archive: Path, name: str) -> None:
        """An image, and a container of it as a trial."""
        loaded = self.run("podman", "load", "--quiet", "--input", str(archive.resolve()))
        assert loaded.returncode == 0, loaded.stderr
        self.run("podman", "tag", loaded.stdout.rsplit(" ", 1)[-1].strip(), name)
        tried = self.run("podman", "run", "--rm", "--no-healthcheck", "--publish", "127.0.0.1:7080:7080", name, "--version")
        if tried.returncode != 0:
            pytest.skip(f"podman can start no container here: {tried.stderr.strip()[-200:]}")

    def assemble(self, name: str, *programs: str) -> None:
        """An image of this machine's programs and their libraries, run by nobody."""
        root = self.directory / name
        for program in programs:
            libraries = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True).stdout
            for file in [word for word in libraries.split() if word.startswith("/")]:
                place = root / file.lstrip("/")
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place)
            place = root / "usr" / "bin" / Path(program).name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(program, place)
        archive = self.directory / f"{name}.tar"
        subprocess.run(["tar", "--directory", str(root), "--create", "--file", str(archive), "."], check=True)
        made = self.run("podman", "import", "--quiet", "--change", "USER 65534", "--change", "ENV PATH=/usr/bin", str(archive), name)
        assert made.returncode == 0, made.stderr

    def stop(self) -> None:
        """Removes the containers with their cgroups, and ends every process of the namespaces."""
        if self.process.poll() is None:
            if self._inner:
                for _ in range(2):  # all at once, so that one which others depend on is left by the first
                    self.run("podman", "rm", "--all", "--force", "--time", "0")
            self.process.kill()
            self.process.wait(10)


def needed() -> List[str]:
    return ["docker-compose", "podman", "runc", "ip", "socat"]
