"""A platform that vouches for a program (as Kubernetes does by projected tokens), and an issuer that believes it."""
from __future__ import annotations

import base64
import hmac
import itertools
import json
import os
import secrets
import shutil
import threading
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import parse_qs

from .issuer import Answer, Asked, IssuerDouble, document
from .signing import hs256

BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


class Platform:
    """Writes tokens as kubelet does: `token` leads to `..data/token`, and `..data` to a directory that is exchanged."""

    def __init__(self, directory: Path, audience: str) -> None:
        self.key = secrets.token_bytes(32)
        self.audience = audience
        self.issued: List[str] = []
        self._directory = directory
        self._numbers = itertools.count()
        self._current: Optional[Path] = None
        directory.mkdir(parents=True)
        self.file = directory / "token"
        self.file.symlink_to("..data/token")

    def token(self, life: float = 600, **claims: Any) -> str:
        number = next(self._numbers)
        now = time.time()
        own = {
            "iss": "https://cluster.example", "sub": "system:serviceaccount:shop:shop", "aud": [self.audience],
            "iat": int(now), "exp": int(now + life), "serial": number, **claims,
        }
        self.issued.append(hs256(self.key, {"alg": "HS256", "typ": "JWT"}, {k: v for k, v in own.items() if v is not None}))
        return self.issued[-1]

    def write(self, content: Any, mode: int = 0o600) -> None:
        """Exchanges the directory in one step."""
        fresh = self._directory / f"..{time.time_ns()}"
        fresh.mkdir()
        file = fresh / "token"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        file.chmod(mode)
        self.exchange(fresh)

    def exchange(self, fresh: Path) -> None:
        link = self._directory / "..data_tmp"
        link.symlink_to(fresh.name)
        os.replace(link, self._directory / "..data")
        if self._current is not None:
            shutil.rmtree(self._current)
        self._current = fresh

    def replace(self, life: float = 600, **claims: Any) -> str:
        token = self.token(life, **claims)
        self.write(token)
        return token


class FederatedIssuer:
    """Believes assertions of one platform at all endpoints where clients authenticate. `rejection` decides by the
    claims what else is rejected; `forms` keeps the requests."""

    def __init__(self, issuer: IssuerDouble, platform: Platform) -> None:
        self.issuer, self.platform = issuer, platform
        self.forms: List[Dict[str, str]] = []
        self.rejected: List[Answer] = []
        self.types = {BEARER}
        self.rejection: Optional[Callable[[Dict[str, Any], Dict[str, str]], Optional[Answer]]] = None
        self.secrets: List[str] = []
        self._lock = threading.Lock()
        endpoints = {
            "token": self._token,
            "introspect": lambda _: document({"active": True, "sub": "alice"}),
            "revoke": lambda _: document({}),
            "par": lambda _: document({"request_uri": "urn:example:1", "expires_in": 60}, 201),
            "device": lambda _: document(
                {"device_code": "d", "user_code": "U", "verification_uri": f"{issuer.base}/d", "expires_in": 60}),
        }
        issuer.metadata.update(
            authorization_endpoint=f"{issuer.base}/authorize", token_endpoint=f"{issuer.base}/token",
            introspection_endpoint=f"{issuer.base}/introspect", revocation_endpoint=f"{issuer.base}/revoke",
            pushed_authorization_request_endpoint=f"{issuer.base}/par",
            device_authorization_endpoint=f"{issuer.base}/device")
        for name, endpoint in endpoints.items():
            issuer.answers[f"/{name}"] = lambda asked, name=name, endpoint=endpoint: self._answer(asked, name, endpoint)
        issuer.answers["/r/x"] = lambda asked: document({"token": asked.headers.get("authorization")})

    def settings(self, **members: Any) -> Dict[str, Any]:
        own = {"clientAuth": "client_assertion", "clientAssertion": {"file": str(self.platform.file)}}
        return {**self.issuer.settings(), **own, **members}

    def assertions(self) -> List[str]:
        return [form["client_assertion"] for form in self.forms if "client_assertion" in form]

    def _answer(self, asked: Asked, name: str, endpoint: Callable[[Dict[str, str]], Answer]) -> Answer:
        form = {key: values[0] for key, values in parse_qs(asked.body.decode(), keep_blank_values=True).items()}
        form["endpoint"] = name
        with self._lock:
            self.forms.append(form)
        rejection = self._rejection(form, asked)
        if rejection is not None:
            self.rejected.append(rejection)
            return rejection
        return endpoint(form)

    def _rejection(self, form: Dict[str, str], asked: Asked) -> Optional[Answer]:
        def reject(reason: str) -> Answer:
            return document({"error": "invalid_client", "error_description": reason}, 401)

        if form.get("client_id") != "shop":
            return reject("client_id")
        if "client_secret" in form and "client_assertion" not in form:
            return None if form["client_secret"] in self.secrets else reject("secret")
        if "authorization" in asked.headers or "client_secret" in form:
            return reject("two kinds of authentication")
        if form.get("client_assertion_type") not in self.types:
            return reject("type")
        try:
            header, claims, signature = form["client_assertion"].split(".")
            expected = hmac.new(self.platform.key, f"{header}.{claims}".encode(), "sha256").digest()
            if not hmac.compare_digest(decoded(signature), expected):
                return reject("signature")
            members = json.loads(decoded(claims))
        except (KeyError, ValueError):
            return reject("no JWT")
        if members["exp"] <= time.time():
            return reject("expired")
        if self.issuer.base not in members["aud"]:
            return reject("audience")
        return self.rejection(members, form) if self.rejection else None

    def _token(self, form: Dict[str, str]) -> Answer:
        return document({"access_token": secrets.token_urlsafe(16), "token_type": "Bearer", "expires_in": 300})
