"""A second real OpenID provider for the tests: idpyoidc, the library of Identity Python, behind Python's HTTP server.

It has what glewlwyd has not: ID tokens signed with Ed25519 (EdDSA, RFC 8037) and token exchange (RFC 8693). Everything
that OpenID and OAuth ask for is the library's; this file carries requests to it and answers back.

    python idpyoidc_provider.py [--token-seconds N]

Prints its issuer, http://127.0.0.1:PORT, when it answers, and ends when its standard input does.

User   alice, who is always logged in and agrees to everything
Client shop / shopsecret: code with PKCE, refresh with rotation (offline_access), exchange; ID tokens with EdDSA
Client back / backsecret: exchange; may present the tokens of shop's users
Client signer: as back, by client_secret_jwt alone
"""
from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, Optional
from urllib.parse import parse_qsl, urlsplit

from cryptojwt import JWT
from idpyoidc.message.oauth2 import ResponseMessage
from idpyoidc.server import Server
from idpyoidc.server.configure import OPConfiguration
from idpyoidc.server.exception import ClientAuthenticationError
from idpyoidc.server.token import jwt_token

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
AUTHENTICATION = ["client_secret_basic", "client_secret_post", "client_secret_jwt"]
SIGNING_SECRET = "the secret of a client that signs with it"
KEYS = [
    {"type": "OKP", "crv": "Ed25519", "use": ["sig"]}, {"type": "EC", "crv": "P-256", "use": ["sig"]},
    {"type": "RSA", "key": "", "use": ["sig"]},
]


class TypedJWT(JWT):  # type: ignore[misc]
    """Access tokens with the type of RFC 9068 section 2.1, which idpyoidc leaves out."""

    def pack(self, *arguments: Any, **named: Any) -> Any:
        return super().pack(*arguments, **{**named, "jws_headers": {"typ": "at+jwt"}})


jwt_token.JWT = TypedJWT


def configuration(issuer: str, token_seconds: int) -> Dict[str, Any]:
    def endpoint(path: str, name: str, **settings: Any) -> Dict[str, Any]:
        return {"path": path, "class": f"idpyoidc.server.{name}", "kwargs": settings}

    token = {"class": "idpyoidc.server.token.jwt_token.JWTToken"}
    audience = f"{issuer}/orders"
    return {
        "issuer": issuer,
        "key_conf": {"key_defs": KEYS, "uri_path": "jwks"},
        "cookie_handler": {
            "class": "idpyoidc.server.cookie_handler.CookieHandler",
            "kwargs": {"keys": {"key_defs": [{"type": "OCT", "kid": "enc", "use": ["enc"]},
                                             {"type": "OCT", "kid": "sig", "use": ["sig"]}]}},
        },
        "preference": {
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["EdDSA", "RS256"],
            "scopes_supported": ["openid", "offline_access", "profile"],
        },
        "endpoint": {
            "provider_config": endpoint(
                ".well-known/openid-configuration", "oidc.provider_config.ProviderConfiguration",
                client_authn_method=None),
            "authorization": endpoint(
                "authorization", "oidc.authorization.Authorization", client_authn_method=None,
                response_types_supported=["code"], response_modes_supported=["query"]),
            "token": endpoint(
                "token", "oidc.token.Token", client_authn_method=AUTHENTICATION, new_refresh_token=True,
                revoke_refresh_on_issue=True),
            "userinfo": endpoint("userinfo", "oidc.userinfo.UserInfo", client_authn_method=["bearer_header"]),
            "introspection": endpoint(
                "introspection", "oauth2.introspection.Introspection", client_authn_method=AUTHENTICATION,
                release=["scope"]),
            "token_revocation": endpoint(
                "revocation", "oauth2.token_revocation.TokenRevocation", client_authn_method=AUTHENTICATION),
        },
        "add_on": {
            "pkce": {
                "function": "idpyoidc.server.oauth2.add_on.pkce.add_support",
                "kwargs": {"essential": True, "code_challenge_method": {"S256": "s256"}},
            },
        },
        "authentication": {
            "alice": {
                "acr": "urn:oasis:names:tc:SAML:2.0:ac:classes:InternetProtocolPassword",
                "class": "idpyoidc.server.user_authn.user.NoAuthn", "kwargs": {"user": "alice"},
            },
        },
        "userinfo": {
            "class": "idpyoidc.server.user_info.UserInfo", "kwargs": {"db": {"alice": {"name": "Alice"}}},
        },
        "authz": {
            "class": "idpyoidc.server.authz.AuthzHandling",
            "kwargs": {"grant_config": {"expires_in": 43_200, "usage_rules": {
                "authorization_code": {
                    "supports_minting": ["access_token", "refresh_token", "id_token"], "max_usage": 1, "expires_in": 60},
                "access_token": {"supports_minting": ["access_token"], "expires_in": token_seconds},
                "refresh_token": {
                    "supports_minting": ["access_token", "refresh_token", "id_token"], "expires_in": 43_200},
            }}},
        },
        "token_handler_args": {
            "key_conf": {"key_defs": [{"type": "oct", "bytes": 24, "use": ["enc"], "kid": "code"}]},
            "code": {"lifetime": 60, "kwargs": {"crypt_conf": {"kwargs": {"keys": {"key_defs": [
                {"type": "OCT", "use": ["enc"], "kid": "password"}, {"type": "OCT", "use": ["enc"], "kid": "salt"}]}}}}},
            "token": {**token, "kwargs": {"lifetime": token_seconds, "add_claims_by_scope": True, "aud": [audience]}},
            "refresh": {**token, "kwargs": {"lifetime": 43_200, "aud": [audience]}},
            "id_token": {"class": "idpyoidc.server.token.id_token.IDToken", "kwargs": {"lifetime": token_seconds}},
        },
        "session_params": {"encrypter": {"kwargs": {"keys": {"key_defs": [
            {"type": "OCT", "use": ["enc"], "kid": "password"}, {"type": "OCT", "use": ["enc"], "kid": "salt"}]}}}},
    }


def provider(issuer: str, token_seconds: int) -> Server:
    server = Server(OPConfiguration(configuration(issuer, token_seconds)), cwd=os.getcwd())
    common = {
        "token_endpoint_auth_method": "client_secret_basic", "id_token_signed_response_alg": "EdDSA",
        "response_types_supported": ["code"], "allowed_scopes": ["openid", "offline_access", "profile"],
    }
    server.context.cdb["shop"] = {
        **common, "client_id": "shop", "client_secret": "shopsecret", "client_salt": "salt-of-shop",
        "redirect_uris": [("http://127.0.0.1:8765/callback", None)],
        "grant_types_supported": ["authorization_code", "refresh_token", EXCHANGE],
    }
    server.context.cdb["back"] = {
        **common, "client_id": "back", "client_secret": "backsecret", "client_salt": "salt-of-back",
        "redirect_uris": [], "grant_types_supported": [EXCHANGE],
    }
    server.context.cdb["signer"] = {
        **common, "client_id": "signer", "client_secret": SIGNING_SECRET, "client_salt": "salt-of-signer",
        "token_endpoint_auth_method": "client_secret_jwt", "redirect_uris": [], "grant_types_supported": [EXCHANGE],
    }
    server.keyjar.add_symmetric("signer", SIGNING_SECRET)
    # The library's default is the endpoint alone; the issuer is the audience that leaves no other server a use for it.
    for endpoint in server.endpoint.values():
        endpoint.allowed_targets = [*endpoint.allowed_targets, ""]  # stands for the issuer
    return server


class Handler(BaseHTTPRequestHandler):
    """Hands requests to the library's endpoint of that path."""

    protocol_version = "HTTP/1.1"
    library: Server
    one_at_a_time = threading.Lock()  # the library's sessions are plain dictionaries

    def do_GET(self) -> None:
        self._serve(None)

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode())

    def _serve(self, body: Optional[str]) -> None:
        parts = urlsplit(self.path)
        path = parts.path.strip("/")
        with self.one_at_a_time:
            if path == "jwks":
                return self._answer(200, self.library.keyjar.export_jwks_as_json(), "application/json")
            for endpoint in self.library.endpoint.values():
                if endpoint.endpoint_path == path:
                    return self._carry(endpoint, dict(parse_qsl(parts.query)) if body is None else body)
        self._answer(404, "{}", "application/json")

    def _carry(self, endpoint: Any, request: Any) -> None:
        information = {
            "headers": {name.lower(): value for name, value in self.headers.items()}, "method": self.command,
            "url": self.path, "cookie": [],
        }
        try:
            asked = endpoint.parse_request(request, http_info=information)
            refused = isinstance(asked, ResponseMessage) and "error" in asked
            arguments = asked if refused else endpoint.process_request(asked, http_info=information)
        except ClientAuthenticationError as error:
            return self._refuse(401, "invalid_client", error)
        except Exception as error:
            return self._refuse(400, "invalid_request", error)
        if isinstance(arguments, ResponseMessage) and "error" in arguments:
            status = 401 if arguments["error"] == "invalid_client" else 400
            return self._answer(status, arguments.to_json(), "application/json")
        answer = endpoint.do_response(request=asked, **arguments)
        fields = dict(answer["http_headers"])
        if answer.get("response_placement", endpoint.response_placement) == "url":
            return self._answer(302, "", "text/plain", {"Location": answer["response"]})
        self._answer(answer.get("response_code", 200), answer["response"], fields.pop("Content-type", "application/json"))

    def _refuse(self, status: int, code: str, error: Exception) -> None:
        logging.getLogger("provider").warning("%s: %r", self.path.partition("?")[0], error)
        text = json.dumps({"error": code, "error_description": str(error)})
        self._answer(status, text, "application/json")

    def _answer(self, status: int, text: str, kind: str, fields: Optional[Dict[str, str]] = None) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Cache-Control": "no-store", **(fields or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description="idpyoidc as a provider for tests")
    parser.add_argument("--token-seconds", type=int, default=60)
    arguments = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    issuer = f"http://127.0.0.1:{server.server_address[1]}"
    Handler.library = provider(issuer, arguments.token_seconds)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(issuer, flush=True)
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
