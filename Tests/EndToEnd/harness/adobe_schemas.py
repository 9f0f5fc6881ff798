"""The schemas of Adobe Pass, checked by jsonschema in a child process, as the tests' own Python does not have it."""
from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, List

from . import binaries

SCRIPT = binaries.ROOT / "Tests" / "Providers" / "adobe_pass_schemas.py"


def check(**task: Any) -> Dict[str, List[str]]:
    """The problems of `answers` and of `requests` as `/playground/adobe` shows them; differences from `document`."""
    python = os.environ.get("PROVIDERS_PYTHON") or str(binaries.ROOT / ".build" / "providers" / "bin" / "python")
    assert os.access(python, os.X_OK), f"{python} is not there: install jsonschema with `make providers`"
    done = subprocess.run(
        [python, str(SCRIPT)], input=json.dumps(task).encode(), stdout=subprocess.PIPE, timeout=120, check=True)
    return json.loads(done.stdout)
