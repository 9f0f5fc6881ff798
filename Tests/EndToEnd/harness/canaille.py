"""Canaille, a real OpenID provider with login pages, as a child process; and a browser in which alice logs in there."""
from __future__ import annotations

import base64
import http.cookiejar
import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from typing import Any, Dict, Optional, Tuple
from urllib.parse import urlencode, urljoin

from . import binaries, processes

SCRIPT = binaries.ROOT / "Tests" / "Providers" / "canaille_provider.py"
REDIRECT = "http://127.0.0.1:8765/callback"
#: What alice types into the fields of the pages.
TYPED = {"login": "alice", "password": "alicepw-1234"}


class _StaysHere(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        return None


class Canaille:
    """A running provider. It also ends when this process does, because its standard input ends then."""

    def __init__(self) -> None:
        python = os.environ.get("PROVIDERS_PYTHON") or str(binaries.ROOT / ".build" / "providers" / "bin" / "python")
        assert os.access(python, os.X_OK), f"{python} is not there: install canaille with `make providers`"
        self.process = subprocess.Popen(
            [python, "-W", "ignore", str(SCRIPT), REDIRECT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None
        self.issuer = self.process.stdout.readline().decode().strip()
        assert self.issuer, f"canaille did not start (exit status {self.process.wait(10)})"

    def stop(self) -> None:
        processes.end(self.process)

    def introspect(self, token: str) -> Dict[str, Any]:
        credentials = base64.b64encode(b"shop:shopsecret").decode()
        request = urllib.request.Request(
            f"{self.issuer}/oauth/introspect", urlencode({"token": token}).encode(), {"Authorization": f"Basic {credentials}"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def authorize(self, url: str) -> str:
        """Logs alice in, page by page, and returns the callback."""
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        browser = urllib.request.build_opener(jar, _StaysHere)
        for _ in range(12):
            location, page = self._open(browser, url)
            if location is None:
                typed = {name: TYPED[name] for name in re.findall(r'<input[^>]*name="([^"]*)"', page) if name in TYPED}
                assert typed, f"a page without a login: {page[:1000]}"
                location, page = self._open(browser, url, typed)
                assert location, f"the login was not accepted: {page[:1000]}"
            url = urljoin(url, location)
            if url.startswith(REDIRECT):
                return url
        raise AssertionError(f"no end of redirects: {url}")

    @staticmethod
    def _open(browser: Any, url: str, form: Optional[Dict[str, str]] = None) -> Tuple[Optional[str], str]:
        try:
            with browser.open(url, urlencode(form).encode() if form else None, timeout=20) as answer:
                return None, answer.read().decode()
        except urllib.error.HTTPError as redirect:
            assert redirect.code == 302, (redirect.code, redirect.read()[:1000])
            return redirect.headers["Location"], ""
