"""A web application whose users log in and upload receipts. No token of theirs enters it."""

import os

from flask import Flask, redirect, request
from flask.typing import ResponseReturnValue
from postern_auth import Client, PosternError
from postern_auth.flask import Login

FORMS = """
<form method="post" action="/receipts" enctype="multipart/form-data"><input type="file" name="file"><button>Upload</button></form>
<form method="post" action="/logout"><button>Log out</button></form>
"""


def create_app(postern: Client, public_url: str) -> Flask:
    """The application; public_url is how browsers reach it."""
    app = Flask("receipts")
    login = Login(postern, issuer="corp", public_url=public_url)
    login.install(app)

    @app.get("/")
    def home() -> str:
        return FORMS if login.optional_session() else '<a href="/login">Log in</a>'

    @app.post("/receipts")
    def upload() -> ResponseReturnValue:
        session = login.current_session()
        file = request.files["file"]
        # Of any size: the file goes to the sidecar by a descriptor, or in pieces.
        stored = postern.fetch_resource(
            "receipts", "receipts", method="POST", params={"name": file.filename}, headers={"Content-Type": file.mimetype},
            body=file.stream, session=session)
        return redirect("/", 303) if stored.ok else ("Not stored", 502)

    @app.errorhandler(PosternError)
    def failed(error: PosternError) -> ResponseReturnValue:
        app.logger.error("%s", error)
        return error.reason, 503 if error.retryable else 502

    return app


if __name__ == "__main__":
    port = int(os.environ.get("PORT", "8000"))
    with Client() as client:
        create_app(client, os.environ.get("PUBLIC_URL", f"http://127.0.0.1:{port}")).run(port=port)
