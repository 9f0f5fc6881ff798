"""The second screen of a television: a page with Flask, on which its user types the television's code and logs in.

    POSTERN_SOCKET=/run/postern/postern.sock python app.py     (with all that it needs: ../run television)
"""

import hmac
import logging
import os
import secrets
from html import escape

from flask import Flask, Request, redirect, request, session
from postern_auth import Client, PassRejected, PosternError
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.utils import cached_property
from werkzeug.wrappers import Response

PORT = int(os.environ.get("PORT", "8000"))
# What browsers see, behind a proxy too, without a path: with /callback it is one of redirectUrls in postern.yaml.
ORIGIN = os.environ.get("PUBLIC_URL", f"http://127.0.0.1:{PORT}").rstrip("/")
IS_SECURE = ORIGIN.startswith("https:")

PROVIDER, DOMAIN = "tv", "example.com"  # the decision point, and its domainNames, in postern.yaml
WAIT_MS = 8000  # for a login that has just ended: longer than pollInterval
log = logging.getLogger("second-screen")
WRONG_CODE = "This code is wrong, or its time is over. Type the one that the television shows now."
INPUT = '<label>Code <input name="code" maxlength="64" autocapitalize="characters" autocomplete="off" required></label>'


class ExactRequest(Request):
    @cached_property
    def cookies(self) -> ImmutableMultiDict[str, str]:
        """By their names byte for byte: a neighbour domain may set what a parser strips to `__Host-…`."""
        pairs = [pair.partition("=") for pair in self.headers.get("Cookie", "").split(";")]
        return ImmutableMultiDict((name.strip(" \t"), value.strip(" \t")) for name, _, value in pairs)


app = Flask(__name__)
app.request_class = ExactRequest
# The browser's cookie has the code and a value for the forms, signed. With more than one process they share the key.
# A neighbour domain could replace it by one of its own browser, and with it the code, but for the prefix.
app.secret_key = secrets.token_bytes(32)
app.config.update(
    SESSION_COOKIE_NAME="__Host-second_screen" if IS_SECURE else "second_screen",
    SESSION_COOKIE_SAMESITE="Lax", SESSION_COOKIE_SECURE=IS_SECURE)
postern = Client()  # the socket is $POSTERN_SOCKET; connects with the first call, so a server may fork before that


def page(body: str, status: int = 200) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(f"<!doctype html><title>Television</title>{body}", status, headers, mimetype="text/html")


def form(action: str, fields: str, button: str) -> str:
    csrf = session.setdefault("csrf", secrets.token_urlsafe(32))
    return (f'<form method="post" action="{action}"><input type="hidden" name="csrf" value="{csrf}">'
            f"{fields}<button>{button}</button></form>")


def code_page(problem: str = "", status: int = 200) -> Response:
    session.pop("code", None)
    shown = f'<p role="alert">{problem}</p>' if problem else ""
    return page(f"<h1>Which code does the television show?</h1>{shown}" + form("/code", INPUT, "Continue"), status)


@app.before_request
def only_own_forms() -> Response | None:
    """Another site, or another host of this one, must not make a browser log in an attacker's television."""
    if request.method != "POST":
        return None
    site, expected = request.headers.get("Sec-Fetch-Site"), session.get("csrf", "")
    # Browsers send the former only where they trust the connection, and Origin with each POST.
    is_own = site == "same-origin" if site is not None else request.headers.get("Origin") == ORIGIN
    if is_own and expected and hmac.compare_digest(request.form.get("csrf", "").encode(), expected.encode()):
        return None
    return page("<h1>This form is not from this application</h1>", 403)


@app.get("/")
def home() -> Response:
    return code_page()


@app.post("/code")
def code() -> Response:
    typed = request.form.get("code", "").strip()
    if not typed or not typed.isprintable() or len(typed.encode()) > 64:
        return code_page(WRONG_CODE, 400)
    session["code"] = typed
    return redirect("/provider", 303)


@app.get("/provider")
def provider() -> Response:
    """Which device wants to log in, and a choice of the provider, which is missing or can be another one."""
    if "code" not in session:
        return redirect("/", 303)
    found = postern.adobe_pass.get_session(PROVIDER, session["code"], second_screen=True)
    device = found.device
    name = " ".join(filter(None, (device.type, device.model))) if device else ""
    label = "Choose your TV provider" if "mvpd" in found.missing_parameters else "Your TV provider, or another one"
    options = "".join(
        f'<option value="{escape(one.id)}"{" selected" * (one.id == found.mvpd)}>'
        f"{escape(one.display_name or one.id)}</option>"
        for one in postern.adobe_pass.get_configuration(PROVIDER).mvpds)
    fields = f'<label>{label} <select name="mvpd">{options}</select></label>'
    return page(
        f"<h1>{escape(name or 'A device')} wants to log in</h1>"
        "<p>Continue only if you see the code on your own television.</p>"
        + form("/provider", fields, "Log in") + '<p><a href="/">Another code</a></p>')


@app.post("/provider")
def login() -> Response:
    """Completes the television's session, and sends the browser to the provider's login page."""
    if "code" not in session:
        return redirect("/", 303)
    started = postern.adobe_pass.resume_session(
        PROVIDER, session["code"], mvpd=request.form.get("mvpd"), domain_name=DOMAIN,
        redirect_url=ORIGIN + "/callback", second_screen=True)
    if started.action_name == "authenticate" and started.url:
        return redirect(started.url, 303)  # of an origin that postern.yaml allows
    if started.action_name == "authorize":  # nothing is left to do: the device is logged in
        return done()
    return redirect("/provider", 303)  # retry: something is still missing


@app.get("/callback")
def callback() -> Response:
    """Back from the provider. The redirect itself proves nothing: Adobe knows whether there is a login."""
    if "code" not in session:
        return redirect("/", 303)
    found = postern.adobe_pass.list_profiles(PROVIDER, code=session["code"], wait_ms=WAIT_MS, second_screen=True)
    if found.state == "authenticated":
        return done()
    if found.state != "pending":
        return code_page(WRONG_CODE, 404)
    links = '<a href="/provider">Try again</a> · <a href="/callback">Check again</a>'
    return page(f"<h1>You are not logged in</h1><p>{links}</p>")


def done() -> Response:
    session.pop("code", None)
    return page("<h1>You are logged in</h1><p>The television continues by itself.</p>")


@app.errorhandler(PosternError)
def failed(error: PosternError) -> Response:
    helps = error.next if isinstance(error, PassRejected) else None
    if helps == "newCode":
        return code_page(WRONG_CODE, 404)
    # The log has what an operator needs, the page what a user may see.
    log.error("%s %s: %s, trace %s", request.method, request.path, error, error.trace_id)
    if helps == "chooseMvpd":
        return page('<h1>This provider cannot be used here</h1><p><a href="/provider">Choose another one</a></p>', 400)
    return page(f"<h1>{escape(error.reason)}</h1>", 503 if error.retryable else 502)


if __name__ == "__main__":
    # Without an access log: it would have the addresses of all users.
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    app.run("127.0.0.1", PORT)
