"""Root file systems: that of the image, and one of an application that shares nothing with it."""
from __future__ import annotations

import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import IO, Any, Dict, Tuple

from .container import Mounts
from .files import DEPLOY, ROOT, postern

BUILT = ROOT / ".build" / "image"


def build_image() -> Path:
    """Builds the image with build.sh, unless POSTERN_IMAGE names one; the archive's path."""
    if "POSTERN_IMAGE" in os.environ:
        return Path(os.environ["POSTERN_IMAGE"])
    done = subprocess.run(
        [str(DEPLOY / "container" / "build.sh"), postern(), str(BUILT)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode(errors="replace")
    return BUILT / "postern.tar"


def unpack(archive: Path, directory: Path) -> Tuple[Path, Dict[str, Any]]:
    """The image's root file system and its configuration, as an engine takes them out of the archive."""
    with tarfile.open(archive) as image:

        def member(name: str) -> IO[bytes]:
            file = image.extractfile(name)
            assert file is not None
            return file

        manifest = json.load(member("manifest.json"))[0]
        configuration = json.load(member(manifest["Config"]))
        root = directory / "image"
        root.mkdir()
        for layer in manifest["Layers"]:
            subprocess.run(
                ["tar", "--extract", "--numeric-owner", "--same-owner", "--preserve-permissions", f"--directory={root}"],
                input=member(layer).read(), check=True)
    return root, configuration


def application(directory: Path) -> Tuple[Path, Mounts]:
    """A root with this machine's programs and nothing else of it, and the mounts that it needs."""
    directory.chmod(0o755)
    root = directory / "application"
    for name in ["dev", "proc", "run/postern", "tests", "tmp"]:
        (root / name).mkdir(parents=True)
    mounts: Mounts = [("tmpfs", "/tmp", "mode=1777"), (str(Path(__file__).parent), "/tests", "ro")]
    for name in ["bin", "lib", "lib64", "usr", "etc"]:
        place = Path("/") / name
        if place.is_symlink():
            (root / name).symlink_to(os.readlink(place))
        elif place.is_dir():
            (root / name).mkdir()
            mounts.append((str(place), f"/{name}", "ro"))
    return root, mounts
