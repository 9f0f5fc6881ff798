"""The applications with uploads, at the sidecar and the playground. Their own tests, at a fake, run with the clients'."""

from __future__ import annotations

import json
import sys
import urllib.parse
from typing import Callable, Dict

import pytest

from application import EXAMPLES, PLAYGROUND, WebApplication

from harness.playground import Playground

BOUNDARY = "----receipt"
FORM = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="lunch.pdf"\r\nContent-Type: application/pdf\r\n\r\n'
    f"%PDF\r\n--{BOUNDARY}--\r\n")


class Uploads(WebApplication):
    PROGRAMS = {
        "flaskuploads": [sys.executable, "app.py"],
        "expressuploads": [str(EXAMPLES / "run"), "expressuploads"],
    }


@pytest.fixture(params=sorted(Uploads.PROGRAMS))
def application(request: pytest.FixtureRequest, start: Callable[..., Uploads], playground: Playground) -> Uploads:
    return start(request.param, {PLAYGROUND: playground.base + "/"}, kind=Uploads)


def upload(application: Uploads, cookies: Dict[str, str]) -> int:
    headers = {"Content_Type": f"multipart/form-data; boundary={BOUNDARY}", "Accept": "*/*"}
    return application.request("POST", "/receipts", cookies, FORM, **headers).status


def test_a_user_uploads_a_receipt_and_nobody_else_does(application: Uploads, playground: Playground) -> None:
    """Catches an upload without its user's token, or with that of a user who has logged out."""
    login = application.request("GET", "/login")
    playground.request("POST", "/playground/login", json.dumps({"user": "alice", "times": 1}).encode())
    _, headers, _ = playground.request("GET", login.headers["Location"].replace(playground.base, ""))
    parts = urllib.parse.urlsplit(headers["location"])
    done = application.request("GET", f"{parts.path}?{parts.query}", login.begun)
    cookies = {"postern-session": done.cookie("postern-session").partition("=")[2].partition(";")[0]}
    assert upload(application, cookies) == 303, application.log()
    playground.faults(resource={"kind": "unavailable"})
    assert upload(application, cookies) == 502, application.log()
    playground.faults(resource=None)
    application.request("POST", "/logout", cookies, Sec_Fetch_Site="same-origin")
    assert upload(application, cookies) == 401 and upload(application, {}) == 401, application.log()
