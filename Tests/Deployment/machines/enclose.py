"""Becomes the first process of a container: enclose.py SPECIFICATION (JSON). Run in fresh namespaces, as root.

The root is `root`, read-only; `mounts` are [source, target, options], with `tmpfs`, `proc` or a path as source. Then
user and groups are set, every privilege is given up, and `command` replaces the process.
"""
from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys

PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP = 38, 24

it = json.loads(sys.argv[1])
root = it["root"]


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


mount("--make-rprivate", "/")
mount("--bind", root, root)
mount("-o", "remount,bind,ro,nosuid,nodev", root)
for source, target, options in it["mounts"]:
    place = root + target
    if source in ("tmpfs", "proc"):
        mount("-t", source, "-o", options, source, place)
    else:
        mount("--bind", source, place)
        mount("-o", "remount,bind," + options, place)
mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", root + "/dev")
for device in ["null", "zero", "random", "urandom"]:
    open(f"{root}/dev/{device}", "w").close()
    mount("--bind", f"/dev/{device}", f"{root}/dev/{device}")

libc = ctypes.CDLL(None, use_errno=True)
os.chroot(root)
os.chdir("/")
for capability in range(64):
    libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
os.setgroups(it["groups"])
os.setgid(it["gid"])
os.setuid(it["uid"])
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
    sys.exit("no_new_privs was refused")
os.umask(0o022)
os.execve(it["command"][0], it["command"], it["environment"])
