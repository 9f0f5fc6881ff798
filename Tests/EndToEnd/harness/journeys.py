"""Journeys at the playground's access manager."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List, Optional

from .connection import Connection
from .playground import Playground

TRANSACTION = "TransactionConditionAdvice"
SERVICE = "AuthenticateToServiceConditionAdvice"
LEVEL = "AuthLevelConditionAdvice"


def settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    """An issuer `am` with the access manager, and `mine`, its resource."""
    playground.request("DELETE", "/playground/ssoTokens")
    playground.request("DELETE", "/playground/accessManager")
    secret = directory / "shop-secret"
    secret.write_text("shopsecret")
    secret.chmod(0o600)
    return {
        "issuers": {
            "am": {
                "issuer": playground.issuer, "clientId": "shop", "clientAuth": "client_secret_basic",
                "clientSecretFile": str(secret), "scope": "openid profile orders",
                "redirectUri": "http://127.0.0.1:8765/callback",
                "accessManager": {"baseUrl": playground.base + "/am", "realm": "alpha"},
            }
        },
        "resources": {
            "mine": {"baseUrl": playground.base + "/resource/", "issuer": "am", "auth": "user", "scope": "orders"},
        },
    }


def control(playground: Playground, **changes: Any) -> Dict[str, Any]:
    """Changes the access manager's settings, and gives its state."""
    body = json.dumps(changes).encode() if changes else None
    status, _, answer = playground.request("POST" if changes else "GET", "/playground/accessManager", body)
    assert status == 200, answer
    return json.loads(answer)


def sign_on(playground: Playground, user: str = "alice") -> str:
    status, _, body = playground.request("POST", "/playground/ssoTokens", json.dumps({"user": user}).encode())
    assert status == 200, body
    return json.loads(body)["tokenId"]


def is_signed_on(playground: Playground, token: str) -> bool:
    path = "/am/json/realms/root/realms/alpha/sessions?_action=getSessionInfo"
    return playground.request("POST", path, headers={"Cookie": f"playgroundSSO={token}"})[0] == 200


def session(connection: Connection, playground: Playground, user: str = "alice") -> str:
    """A session whose user is signed on."""
    grant = {"type": "sso", "ssoToken": sign_on(playground, user)}
    return connection.call("createSession", {"issuer": "am", "grant": grant})["session"]


def types(step: Dict[str, Any]) -> List[str]:
    assert step["state"] == "callbacks", step
    return [callback["type"] for callback in step["callbacks"]]


def filled(step: Dict[str, Any], *values: Any) -> List[Dict[str, Any]]:
    """The step's callbacks with the first input of each that has one set, in order."""
    callbacks = json.loads(json.dumps(step["callbacks"]))
    rest = list(values)
    for callback in callbacks:
        if callback.get("input") and rest:
            callback["input"][0]["value"] = rest.pop(0)
    return callbacks


def go_on(connection: Connection, step: Dict[str, Any], *values: Any, **more: Any) -> Dict[str, Any]:
    params = {"continuation": step["continuation"], **more}
    if values:
        params["callbacks"] = filled(step, *values)
    return connection.call("authenticate", params)


def begin(connection: Connection, tree: Optional[str] = None, **more: Any) -> Dict[str, Any]:
    params = {"issuer": "am", **more}
    if tree:
        params["tree"] = tree
    return connection.call("authenticate", params)
