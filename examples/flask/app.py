"""A web application with Flask: its users log in, it fetches their orders. Their tokens never enter it.

    POSTERN_SOCKET=/run/postern/postern.sock python app.py     (with all that it needs: ../run flask)
"""

import logging
import os
from html import escape

from flask import Flask, request
from postern_auth import Client, FetchResult, PosternError
from postern_auth.flask import Login
from postern_auth.wsgi import Protect
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.wrappers import Response

PORT = int(os.environ.get("PORT", "8000"))
app, api = Flask(__name__), Flask(__name__)
postern = Client()  # the socket is $POSTERN_SOCKET; connects with the first call, so a server may fork before that
# /login, /callback, /logout, /backchannel-logout, and who is logged in. PUBLIC_URL: what browsers see behind a proxy.
login = Login(postern, issuer="corp", public_url=os.environ.get("PUBLIC_URL", f"http://127.0.0.1:{PORT}"))
login.install(app)
# For other programs, which send an access token of their own. Cookies count for nothing here.
protected = Protect(api, postern, issuer="corp", audience="https://shop.example/api", required_scopes=["orders"])
app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/api": protected})


@api.get("/orders/<order_id>")
def order(order_id: str) -> dict[str, str | None]:
    claims = request.environ["postern.claims"]
    return {"client": claims.get("client_id"), "order": order_id, "subject": claims.get("sub")}


def page(body: str, status: int = 200) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(f"<!doctype html><title>Shop</title>{body}", status, headers, mimetype="text/html")


def shown(result: FetchResult) -> Response:
    """A response of the resource: any status is a result."""
    body = f'<h1>{result.status}</h1><pre>{escape(result.text)}</pre><a href="/">Back</a>'
    return page(body, 200 if result.ok else 502)


@app.get("/")
def home() -> Response:
    user = login.optional_user()
    if user is None:
        return page('<h1>Not logged in</h1><p><a href="/login">Log in</a></p>')
    return page(
        f'<h1>Hello {escape(user.subject or "")}</h1><p><a href="/data">My orders</a> · <a href="/sensitive">The vault</a>'
        ' (requires a stronger login)</p><form method="post" action="/logout"><button>Log out</button></form>')


@app.get("/data")
def data() -> Response:
    return shown(postern.fetch_resource("orders", "orders", session=login.current_session()))


@app.get("/sensitive")
def sensitive() -> Response:
    return shown(postern.fetch_resource("orders", "vault", session=login.current_session()))


@app.errorhandler(PosternError)
def failed(error: PosternError) -> Response:
    # The log has what an operator needs, the page what a user may see.
    logging.error("%s %s: %s, trace %s", request.method, request.path, error, error.trace_id)
    return page(f"<h1>{escape(error.reason)}</h1>", 503 if error.retryable else 502)


if __name__ == "__main__":
    # Without an access log: the URL of a callback contains an authorization code.
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    app.run("127.0.0.1", PORT)
