"""Configurations."""
from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Dict, Optional

from .playground import Playground


def standard(directory: Path, playground: Playground) -> Dict[str, Any]:
    """The playground as issuer `play`, its resource server as `orders` (client credentials), `open` its open half."""
    secret = directory / "client-secret"
    secret.write_text("svcsecret")
    secret.chmod(0o600)
    return {
        "listen": {"path": str(directory / "postern.sock")},
        "store": {"kind": "memory"},
        "issuers": {
            "play": {
                "issuer": playground.issuer,
                "clientId": "svc",
                "clientAuth": "client_secret_basic",
                "clientSecretFile": str(secret),
            }
        },
        "resources": {
            "orders": {
                "baseUrl": playground.base + "/resource/",
                "issuer": "play",
                "auth": "clientCredentials",
                "scope": "orders",
                "audience": playground.base + "/resource",
            },
            "open": {"baseUrl": playground.base + "/open/", "auth": "none"},
        },
        # Many tests count what an issuer is asked, or change what it answers once the sidecar runs: it is asked when
        # they need it.
        "health": {"askIssuers": False},
        "development": {"plainHTTPOnLoopback": True},
    }


def changed(configuration: Dict[str, Any], changes: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    """A copy with `changes` merged in; None takes a member away."""
    result = copy.deepcopy(configuration)
    for name, value in (changes or {}).items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict) and isinstance(result.get(name), dict):
            result[name] = changed(result[name], value)
        else:
            result[name] = copy.deepcopy(value)
    return result
