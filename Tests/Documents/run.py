"""Runs the examples of a method as the reference shows them, through socat.

    python3 Tests/Documents/run.py          runs all of them and writes what came into proto-docs/examples
    python3 Tests/Documents/run.py METHOD…  those of some methods only
"""

from __future__ import annotations

import json
import sys
from typing import Any, Dict, List, Tuple

from stage import ROOT, Stage

import examples  # noqa: E402
from scenes import Scene  # noqa: E402


def order(message: Any) -> Tuple[int, str]:
    """Answers in the order of their ids, in front of them what the sidecar says by itself, in the order it came."""
    return (0, "") if "method" in message else (1, json.dumps(message.get("id")))


def run(stage: Stage, method: str, example: Dict[str, Any]) -> Tuple[List[Any], List[str]]:
    """What comes back, as the page shows it; and where it is not of the announced kind."""
    sidecar = stage.sidecar()
    connection = sidecar.connect()
    scene = Scene(stage, connection, sidecar.connect)
    try:
        scene.set(example.get("scene"))
        command = stage.real(examples.command(examples.messages(method, example)), scene.samples)
        done = stage.run(command)
    finally:
        scene.close()
        connection.close()
    assert done.returncode == 0 and not done.stderr, f"{command}\nended with {done.returncode}: {done.stderr}"
    lines = [line for line in done.stdout.split("\n") if line]
    received = sorted((json.loads(stage.shown(line, scene.samples)) for line in lines), key=order)
    return examples.concealed(received, example)


def methods() -> List[str]:
    document = json.loads((ROOT / "proto-docs" / "openrpc.json").read_text(encoding="utf-8"))
    return [method["name"] for method in document["methods"]]


def main() -> int:
    stage = Stage()
    status = 0
    try:
        for method in sys.argv[1:] or methods():
            found = examples.load(method)
            for example in found:
                received, unlike = run(stage, method, example)
                changed = example.get("receive") != received
                if changed:
                    example["receive"] = received
                print(f"{method}: {example['title']}: {'changed' if changed else 'as it was'}")
                for line in unlike:
                    status = 1
                    print(f"  not of the announced kind: {line}")
            examples.save(method, found)
    finally:
        stage.stop()
    return status


if __name__ == "__main__":
    raise SystemExit(main())
