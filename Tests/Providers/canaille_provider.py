"""Canaille, a real OpenID provider in Python, for the tests: its application on 127.0.0.1, its data in memory.

It has what no other provider of the tests has: login pages with forms, `iss` in the callback (RFC 9207), refresh tokens
for every login. Everything that OpenID and OAuth require is Canaille's.

    python canaille_provider.py REDIRECT_URI

Prints its issuer, http://127.0.0.1:PORT, when it answers, and ends when its standard input does.

User   alice / alicepw-1234
Client shop / shopsecret: code, refresh with rotation, client credentials; scopes openid profile email
"""
from __future__ import annotations

import secrets
import socket
import sys
import threading
from datetime import datetime, timezone

from canaille import create_app
from canaille.app import models
from canaille.backends import Backend
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

REDIRECT = sys.argv[1]


def configuration(port: int) -> dict:
    key = RSAKey.generate_key(2048, {"kid": "first"}, private=True)
    return {
        "SECRET_KEY": secrets.token_hex(32),
        "SERVER_NAME": f"127.0.0.1:{port}",
        "PREFERRED_URL_SCHEME": "http",
        "WTF_CSRF_ENABLED": False,  # the tests' browser reads no pages
        "SESSION_COOKIE_SECURE": False,
        "CANAILLE": {"DATABASE": "memory", "JAVASCRIPT": False},
        "CANAILLE_OIDC": {"ACTIVE_JWKS": [key.as_dict(private=True)]},
    }


def fill() -> None:
    """The user and the client."""
    now = datetime.now(timezone.utc)
    backend = Backend.instance
    backend.save(models.User(
        user_name="alice", family_name="Alice", formatted_name="Alice", emails=["alice@example.test"],
        password="alicepw-1234"))
    client = models.Client(
        client_id="shop", client_secret="shopsecret", client_name="shop", client_uri="http://127.0.0.1/",
        client_id_issued_at=now, redirect_uris=[REDIRECT], token_endpoint_auth_method="client_secret_basic",
        grant_types=["authorization_code", "refresh_token", "client_credentials"], response_types=["code"],
        scope=["openid", "profile", "email"], id_token_signed_response_alg="RS256")
    backend.save(client)
    client.audience = [client]
    backend.save(client)


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = create_app(config=configuration(port))
    with app.app_context():
        fill()
    server = make_server("127.0.0.1", port, app, threaded=True, fd=listener.fileno())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{port}", flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
