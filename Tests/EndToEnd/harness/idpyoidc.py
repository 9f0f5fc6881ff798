"""idpyoidc, a second real OpenID provider, as a child process."""
from __future__ import annotations

import base64
import json
import os
import subprocess
import urllib.error
import urllib.request
from typing import Any, Dict, Tuple
from urllib.parse import parse_qs, urlencode, urlsplit

from . import binaries, processes
from .browser import authorize

SCRIPT = binaries.ROOT / "Tests" / "Providers" / "idpyoidc_provider.py"
REDIRECT = "http://127.0.0.1:8765/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


class IdpyOIDC:
    """A running provider. It also ends when this process does, because its standard input ends then."""

    def __init__(self) -> None:
        python = os.environ.get("PROVIDERS_PYTHON") or str(binaries.ROOT / ".build" / "providers" / "bin" / "python")
        assert os.access(python, os.X_OK), f"{python} is not there: install idpyoidc with `make providers`"
        self.process = subprocess.Popen(
            [python, "-W", "ignore", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None
        self.issuer = self.process.stdout.readline().decode().strip()
        assert self.issuer, f"idpyoidc did not start (exit status {self.process.wait(10)})"

    def stop(self) -> None:
        processes.end(self.process)

    def post(self, path: str, client: str, **form: str) -> Tuple[int, Dict[str, Any]]:
        """One request made directly, around the sidecar."""
        credentials = base64.b64encode(f"{client}:{client}secret".encode()).decode()
        request = urllib.request.Request(
            f"{self.issuer}/{path}", urlencode(form).encode(), {"Authorization": f"Basic {credentials}"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def tokens(self, nonce: str = "n") -> Dict[str, Any]:
        """Tokens of alice for shop, obtained around the sidecar."""
        query = urlencode({
            "response_type": "code", "client_id": "shop", "redirect_uri": REDIRECT, "scope": "openid offline_access",
            "prompt": "consent", "state": "s", "nonce": nonce, "code_challenge": CHALLENGE, "code_challenge_method": "S256"})
        code = parse_qs(urlsplit(authorize(f"{self.issuer}/authorization?{query}")).query)["code"][0]
        status, tokens = self.post(
            "token", "shop", grant_type="authorization_code", code=code, redirect_uri=REDIRECT, code_verifier=VERIFIER)
        assert status == 200, tokens
        return tokens
