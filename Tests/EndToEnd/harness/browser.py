"""What a browser does at the playground's pages, without one."""
from __future__ import annotations

import http.client
import re
from typing import Dict, Mapping
from urllib.parse import urlsplit

from .playground import Playground


def authorize(url: str) -> str:
    """Opens an authorization URL and returns where it redirects: logins have been announced with `announce_login`."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        response = connection.getresponse()
        body = response.read()
        assert response.status in (302, 303), (response.status, body[:500])
        location = response.getheader("Location")
        assert location
        return location
    finally:
        connection.close()


def callback_of(begun: Mapping[str, str]) -> Dict[str, str]:
    """What `completeAuthorization` takes when the browser that began the login comes back with its cookie."""
    return {"callbackUrl": authorize(begun["authorizationUrl"]), "state": begun["state"]}


def announce_login(playground: Playground, user: str = "alice", **details: object) -> None:
    """The next authorization succeeds at once."""
    import json

    status, _, body = playground.request(
        "POST", "/playground/login", body=json.dumps({"user": user, "times": 1, **details}).encode(),
        headers={"Content-Type": "application/json"})
    assert status in (200, 201, 204), (status, body)
