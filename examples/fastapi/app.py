"""A web application with FastAPI: its users log in, it fetches their orders. Their tokens never enter it.

    POSTERN_SOCKET=/run/postern/postern.sock python app.py     (with all that it needs: ../run fastapi)
"""

import logging
import os
from contextlib import asynccontextmanager
from html import escape
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.responses import HTMLResponse
from postern_auth import AsyncClient, FetchResult, PosternError, Session
from postern_auth.asgi import Protect
from postern_auth.fastapi import Login

PORT = int(os.environ.get("PORT", "8000"))
postern = AsyncClient()  # the socket is $POSTERN_SOCKET; connects with the first call
# /login, /callback, /logout, /backchannel-logout, and who is logged in. PUBLIC_URL: what browsers see behind a proxy.
login = Login(postern, issuer="corp", public_url=os.environ.get("PUBLIC_URL", f"http://127.0.0.1:{PORT}"))


@asynccontextmanager
async def lifespan(_: FastAPI):
    async with postern:
        yield


app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
login.install(app)
# For other programs, which send an access token of their own. Cookies count for nothing here.
api = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
app.mount("/api", Protect(api, postern, issuer="corp", audience="https://shop.example/api", required_scopes=["orders"]))


@api.get("/orders/{order_id}")
async def order(order_id: str, request: Request) -> dict[str, str | None]:
    claims = request.scope["postern"].claims
    return {"client": claims.get("client_id"), "order": order_id, "subject": claims.get("sub")}


def page(body: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(f"<!doctype html><title>Shop</title>{body}", status, {"Cache-Control": "no-store"})


def shown(result: FetchResult) -> HTMLResponse:
    """A response of the resource: any status is a result."""
    body = f'<h1>{result.status}</h1><pre>{escape(result.text)}</pre><a href="/">Back</a>'
    return page(body, 200 if result.ok else 502)


@app.get("/")
async def home(user: Annotated[Session | None, Depends(login.optional_user)]) -> HTMLResponse:
    if user is None:
        return page('<h1>Not logged in</h1><p><a href="/login">Log in</a></p>')
    return page(
        f'<h1>Hello {escape(user.subject or "")}</h1><p><a href="/data">My orders</a> · <a href="/sensitive">The vault</a>'
        ' (requires a stronger login)</p><form method="post" action="/logout"><button>Log out</button></form>')


@app.get("/data")
async def data(session: Annotated[str, Depends(login.current_session)]) -> HTMLResponse:
    return shown(await postern.fetch_resource("orders", "orders", session=session))


@app.get("/sensitive")
async def sensitive(session: Annotated[str, Depends(login.current_session)]) -> HTMLResponse:
    return shown(await postern.fetch_resource("orders", "vault", session=session))


@app.exception_handler(PosternError)
async def failed(request: Request, error: PosternError) -> HTMLResponse:
    # The log has what an operator needs, the page what a user may see.
    logging.error("%s %s: %s, trace %s", request.method, request.url.path, error, error.trace_id)
    return page(f"<h1>{escape(error.reason)}</h1>", 503 if error.retryable else 502)


if __name__ == "__main__":
    # Without an access log: the URL of a callback contains an authorization code.
    uvicorn.run(app, host="127.0.0.1", port=PORT, access_log=False)
