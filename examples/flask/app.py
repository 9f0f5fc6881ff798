"""A web application with Flask: its users log in, it fetches their orders. Their tokens never enter it.

    POSTERN_SOCKET=/run/postern/postern.sock python app.py     (with all that it needs: ../run flask)
"""

import hmac
import logging
import os
import secrets
from dataclasses import dataclass, field
from html import escape

from flask import Flask, redirect, request
from postern_auth import AdviceRequired, Client, FetchResult, JourneyStep, PosternError, Session
from postern_auth.wsgi import Protect
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.wrappers import Response

ISSUER, RESOURCE = "corp", "orders"  # their names in postern.yaml
AUDIENCE = "https://shop.example/api"  # who the tokens of other programs must be for
LOGIN_COOKIE, SESSION_COOKIE = "shop_login", "shop_session"
log = logging.getLogger("shop")
LOGIN_AGAIN = {"not_authenticated", "session_not_found", "session_expired"}
LINKS = """<p><a href="/data">My orders</a> · <a href="/sensitive">The vault</a> (requires a stronger login)</p>
<form method="post" action="/logout"><input type="hidden" name="csrf" value="{csrf}"><button>Log out</button></form>"""


@dataclass
class Browser:
    """What the server knows of a browser whose user has logged in."""

    user: Session  # user.session is the handle under which the sidecar has the tokens
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    step_up: JourneyStep | None = None
    suspended: str | None = None  # the continuation of the fetch that waits for the step-up


# Cookie → browser. In memory, for one process: with more, a store that they share, and in which entries expire.
browsers: dict[str, Browser] = {}

app = Flask(__name__)
postern = Client()  # the socket is $POSTERN_SOCKET; connects with the first call, so a server may fork before that
# For other programs, which send an access token of their own. Cookies count for nothing here.
api = Flask(__name__)
protected = Protect(api, postern, issuer=ISSUER, audience=AUDIENCE, required_scopes=["orders"])
app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/api": protected})


@api.get("/orders/<order_id>")
def order(order_id: str) -> dict[str, str | None]:
    claims = request.environ["postern.claims"]
    return {"client": claims.get("client_id"), "order": order_id, "subject": claims.get("sub")}


def current() -> Browser | None:
    return browsers.get(request.cookies.get(SESSION_COOKIE, ""))


def page(body: str, status: int = 200) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(f"<!doctype html><title>Shop</title>{body}", status, headers, mimetype="text/html")


def set_cookie(response: Response, name: str, value: str, max_age: int | None = None) -> None:
    # Behind a proxy is_secure is right with werkzeug.middleware.proxy_fix.ProxyFix.
    response.set_cookie(name, value, max_age, httponly=True, samesite="Lax", secure=request.is_secure)


def shown(result: FetchResult) -> Response:
    """A response of the resource: any status is a result."""
    body = f'<h1>{result.status}</h1><pre>{escape(result.text)}</pre><a href="/">Back</a>'
    return page(body, 200 if result.ok else 502)


@app.get("/")
def home() -> Response:
    if browser := current():
        return page(f"<h1>Hello {escape(browser.user.subject or '')}</h1>" + LINKS.format(csrf=browser.csrf))
    return page('<h1>Not logged in</h1><p><a href="/login">Log in</a></p>')


@app.get("/login")
def login() -> Response:
    if current():
        return redirect("/", 303)
    started = postern.begin_authorization(ISSUER)  # back to redirectUri of postern.yaml
    response = redirect(started.authorization_url, 303)
    # The callback must come from the browser that started the login: an attacker's callback has another state.
    set_cookie(response, LOGIN_COOKIE, started.state, max_age=600)
    return response


@app.get("/callback")
def callback() -> Response:
    """The issuer's redirect, after a login or a step-up. The sidecar checks state, nonce, code and ID token."""
    browser = current()
    expected, state = request.cookies.get(LOGIN_COOKIE, ""), request.args.get("state", "")
    if state and hmac.compare_digest(state.encode(), expected.encode()):
        user = postern.complete_authorization(request.url)
        response = redirect("/", 303)
        identifier = secrets.token_urlsafe(32)  # a new one at each login
        browsers[identifier] = Browser(user)
        set_cookie(response, SESSION_COOKIE, identifier)
        response.delete_cookie(LOGIN_COOKIE)
        return response
    if browser and browser.step_up:
        step, browser.step_up = browser.step_up, None
        postern.authenticate_with_advice(continuation=step.continuation, callbacks=step.filled(request.url))
        return shown(postern.fetch_resource(continuation=browser.suspended))  # retries the original request
    return page("<h1>This login was not started in this browser</h1>", 400)


@app.get("/data")
def data() -> Response:
    if not (browser := current()):
        return redirect("/login", 303)
    return shown(postern.fetch_resource(RESOURCE, "orders", session=browser.user.session))


@app.get("/sensitive")
def sensitive() -> Response:
    """Step-up: the resource requires a stronger login (RFC 9470), the user logs in again, the fetch continues."""
    if not (browser := current()):
        return redirect("/login", 303)
    try:
        return shown(postern.fetch_resource(RESOURCE, "vault", session=browser.user.session))
    except AdviceRequired as required:
        step = postern.authenticate_with_advice(continuation=required.continuation)
        browser.step_up, browser.suspended = step, required.continuation
        [callback] = step.callbacks or []  # a RedirectCallback to the login page
        return redirect(callback["output"][0]["value"], 303)


@app.post("/logout")
def logout() -> Response:
    browser = current()
    if not browser or not hmac.compare_digest(request.form.get("csrf", "").encode(), browser.csrf.encode()):
        return page("<h1>This form is not from this application</h1>", 403)
    del browsers[request.cookies[SESSION_COOKIE]]
    postern.end_session(browser.user.session)  # revokes its tokens at the issuer
    response = redirect("/", 303)
    response.delete_cookie(SESSION_COOKIE)
    return response


@app.errorhandler(PosternError)
def failed(error: PosternError) -> Response:
    if error.reason in LOGIN_AGAIN:
        browsers.pop(request.cookies.get(SESSION_COOKIE, ""), None)
        return redirect("/", 303)
    cancelled = error.reason == "authorization_failed"  # by the user, or by the issuer's policy
    status = 403 if cancelled else 503 if error.retryable else 502
    # The log has what an operator needs, the page what a user may see.
    log.error("%s %s: %s, trace %s", request.method, request.path, error, error.trace_id)
    return page(f"<h1>{escape(error.reason)}</h1>", status)


if __name__ == "__main__":
    # Without an access log: the URL of a callback contains an authorization code.
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    app.run("127.0.0.1", int(os.environ.get("PORT", "8000")))
