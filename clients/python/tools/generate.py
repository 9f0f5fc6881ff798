"""Writes the generated modules of the client: from proto-docs/openrpc.json, and blocking ones from asynchronous ones.

python tools/generate.py            # rewrite them
python tools/generate.py --check    # exit status 1 when one differs
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from emit_blocking import blocking_module  # noqa: E402
from emit_methods import expectations_module, methods_module, names_module  # noqa: E402
from emit_reasons import reasons_module  # noqa: E402
from emit_types import Types  # noqa: E402

ROOT = HERE.parents[2]
PACKAGE = HERE.parent / "src" / "postern_auth"
#: Asynchronous modules whose blocking twins are generated: `_async_auth.py` becomes `_auth.py`.
ASYNCHRONOUS = ["_async_auth.py", "_async_base.py", "_async_fake_client.py", "_async_httpx.py"]


def generate(document: dict[str, Any]) -> dict[str, str]:
    """File name → content, unformatted."""
    methods: list[dict[str, Any]] = document["methods"]
    types = Types(names(methods), {method["name"] for method in methods})
    blocking = methods_module(methods, types, asynchronous=False)
    asynchronous = methods_module(methods, types, asynchronous=True)
    return {
        "_methods.py": blocking,
        "_async_methods.py": asynchronous,
        "types.py": types.module(),
        "reasons.py": reasons_module(methods),
        "_expectations.py": expectations_module(methods, types),
        "_names.py": names_module(methods),
        "_openrpc.json": json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n",
        **{name.replace("_async", ""): blocking_module((PACKAGE / name).read_text(), name) for name in ASYNCHRONOUS},
    }


def names(methods: list[dict[str, Any]]) -> set[str]:
    """All parameters, and all members of what methods take and return."""
    found: set[str] = set()

    def gather(schema: Any) -> None:
        if isinstance(schema, dict):
            inner = schema.get("properties", {})
            found.update(inner)
            for one in (*inner.values(), schema.get("items"), schema.get("additionalProperties")):
                gather(one)

    for method in methods:
        for parameter in method["params"]:
            found.add(parameter["name"])
            gather(parameter["schema"])
        gather(method.get("result", {}).get("schema"))
    return found


def formatted(text: str) -> str:
    """As ruff writes it."""
    ruff = [sys.executable, "-m", "ruff"]
    settings = ["--config", str(HERE.parent / "pyproject.toml")]
    for command in (
        [*ruff, "check", "--quiet", "--fix", "--unsafe-fixes", "--select", "UP,I,F", *settings, "-"],
        [*ruff, "format", "--quiet", *settings, "-"],
    ):
        text = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    return text


def main() -> int:
    options = argparse.ArgumentParser(description="Writes the generated modules of the client.")
    options.add_argument("--check", action="store_true", help="change nothing; fail when something differs")
    check: bool = options.parse_args().check
    document = json.loads((ROOT / "proto-docs" / "openrpc.json").read_text())
    status = 0
    for name, text in generate(document).items():
        path = PACKAGE / name
        content = formatted(text) if path.suffix == ".py" else text
        if path.exists() and path.read_text() == content:
            continue
        if check:
            print(f"{path} is out of date: run clients/python/tools/generate.py", file=sys.stderr)
            status = 1
        else:
            path.write_text(content)
            print(f"{path} written")
    return status


if __name__ == "__main__":
    sys.exit(main())
