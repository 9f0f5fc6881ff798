"""Logins and logouts at an issuer that sends logout tokens."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

from .browser import announce_login, callback_of
from .connection import Connection
from .glewlwyd import Browser, Provider
from .playground import Playground

REDIRECT = "http://127.0.0.1:8765/callback"


def shop_settings(playground: Playground, directory: Path) -> Dict[str, Any]:
    """A store of files, the issuer `shop`, the same one as `twin`, and a resource of its users."""
    for name, secret in [("shop-secret", "shopsecret"), ("store-key", "ab" * 31 + "cd")]:
        (directory / name).write_text(secret)
        (directory / name).chmod(0o600)
    shop = {
        "issuer": playground.issuer, "clientId": "shop", "clientAuth": "client_secret_basic",
        "clientSecretFile": str(directory / "shop-secret"), "scope": "openid offline_access orders",
    }
    return {
        "store": {"kind": "file", "path": str(directory / "store"), "keyFile": str(directory / "store-key")},
        "issuers": {"shop": shop, "twin": shop},
        "resources": {
            "mine": {"baseUrl": playground.base + "/resource/", "issuer": "shop", "auth": "user", "scope": "orders"}
        },
    }


def login(connection: Connection, playground: Playground, user: str = "alice", issuer: str = "shop") -> Dict[str, Any]:
    announce_login(playground, user)
    begun = connection.call("beginAuthorization", {"issuer": issuer, "redirectUri": REDIRECT})
    return connection.call("completeAuthorization", callback_of(begun))


def logout_token(playground: Playground, **body: Any) -> str:
    status, _, answer = playground.request(
        "POST", "/playground/logoutToken", json.dumps({"clientId": "shop", **body}).encode())
    assert status == 200, answer
    return json.loads(answer)["logout_token"]


def sessions(connection: Connection) -> List[str]:
    return [session["session"] for session in connection.call("listSessions")["sessions"]]


def corp_issuer(provider: Provider) -> Dict[str, Any]:
    """The issuer `corp` at glewlwyd, whose logout tokens have no `exp`."""
    return {"corp": {
        "issuer": provider.issuer, "clientId": "svc", "clientSecret": "svcsecret", "scope": "openid orders",
        "idToken": {"requireLogoutExp": False},
    }}


def log_out_at(provider: Provider, connection: Connection) -> None:
    """Logs a user in at `corp` and out at glewlwyd, whose logout token must end the session."""
    browser = Browser(provider)
    connection.call("subscribe", {"events": ["event.sessionEnded"]})
    begun = connection.call("beginAuthorization", {"issuer": "corp", "redirectUri": "http://127.0.0.1/cb"})
    callback = browser.authorize(begun["authorizationUrl"])
    session = connection.call("completeAuthorization", {"callbackUrl": callback, "state": begun["state"]})
    browser.log_out(session["claims"]["sid"])
    event = connection.receive()
    assert event["method"] == "event.sessionEnded" and event["params"]["session"] == session["session"]
    assert sessions(connection) == []
