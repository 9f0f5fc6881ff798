"""Needs pytest, and no sidecar: `postern` is a fixture of postern_auth."""

from io import BytesIO

from postern_auth import FetchResult
from postern_auth.testing import FakePostern

from app import create_app

HERE = "http://localhost"  # that of Flask's test client


def test_a_user_uploads_a_receipt(postern: FakePostern) -> None:
    receipts = postern.when.fetch_resource("receipts", method="POST").returns(FetchResult.of(201))
    postern.log_in_as("alice")
    browser = create_app(postern, HERE).test_client()
    browser.get(postern.callback_url(browser.get("/login").headers["Location"]))
    stored = browser.post("/receipts", data={"file": (BytesIO(b"%PDF"), "lunch.pdf", "application/pdf")})
    assert stored.status_code == 303
    [call], [session] = receipts.calls, postern.sessions
    assert (call.body, call.header("Content-Type")) == (b"%PDF", "application/pdf")
    assert (call.query, call.params["session"]) == ({"name": ["lunch.pdf"]}, session.session)


def test_nobody_uploads_without_a_login(postern: FakePostern) -> None:
    browser = create_app(postern, HERE).test_client()
    assert browser.post("/receipts", data={"file": (BytesIO(b"%PDF"), "lunch.pdf")}).status_code == 401
    assert not postern.calls
