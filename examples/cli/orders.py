"""A command-line program whose user logs in with a browser. It stores nothing: the sidecar has sessions and tokens.

    POSTERN_SOCKET=/run/postern/postern.sock python orders.py COMMAND     (with all that it needs: ../run cli COMMAND)
"""

import argparse
import sys
import time
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from postern_auth import AuthorizationPending, Client, LoginRequired, PosternError

ISSUER, RESOURCE = "corp", "orders"  # their names in postern.yaml
WAIT = 300  # seconds for the user


def awaited_callback(redirect_uri: str, state: str, url: str) -> str:
    """Opens the browser at `url`, and waits on a loopback port for its redirect (RFC 8252)."""
    found: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        timeout = 5  # a connection that sends nothing must not block the next one

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            is_ours = parts.path == urlsplit(redirect_uri).path and parse_qs(parts.query).get("state") == [state]
            text = b"You can close this window.\n" if is_ours else b"This is not the login that is waiting.\n"
            self.send_response(200 if is_ours else 404)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            if is_ours:
                found.append(f"{redirect_uri}?{parts.query}")

        def log_message(self, format: str, *arguments: object) -> None:
            """No log: the URL contains an authorization code."""

    server = HTTPServer(("127.0.0.1", urlsplit(redirect_uri).port or 80), Handler)
    deadline = time.monotonic() + WAIT
    with server:
        print(f"To log in, open {url}", file=sys.stderr, flush=True)
        webbrowser.open(url)
        while not found:
            server.timeout = deadline - time.monotonic()
            if server.timeout <= 0:
                raise SystemExit("The browser did not come back in time.")
            server.handle_request()
    return found[0]


def login(postern: Client) -> None:
    started = postern.begin_authorization(ISSUER)
    callback = awaited_callback(started.redirect_uri or "", started.state, started.authorization_url)
    user = postern.complete_authorization(callback, started.state)  # of the login that this program has begun
    print(f"Logged in: {user.subject}", file=sys.stderr)


def login_on_another_device(postern: Client) -> None:
    """The device grant (RFC 8628), where this machine has no browser."""
    started = postern.begin_device_authorization(ISSUER)
    print(f"To log in, open {started.verification_uri} and type {started.user_code}", file=sys.stderr, flush=True)
    while True:
        time.sleep(started.interval_ms / 1000)
        try:
            user = postern.complete_device_authorization(started.handle)
        except AuthorizationPending:
            continue
        print(f"Logged in: {user.subject}", file=sys.stderr)
        return


def list_orders(postern: Client) -> None:
    """This program runs as its user, so the session is the only one of the user id. A server names each user's own."""
    result = postern.fetch_resource(RESOURCE, "orders", session="only")
    if not result.ok:
        raise SystemExit(f"The server's response is {result.status}.")
    for order in result.json()["orders"]:
        print(order["id"], order["item"], order["quantity"])


def logout(postern: Client) -> None:
    for session in list(postern.iter_sessions()):
        if session.issuer == ISSUER:
            postern.end_session(session.session)


def main() -> int:
    parser = argparse.ArgumentParser(description="Shows your orders.")
    parser.add_argument("command", choices=["login", "list", "logout"], nargs="?", default="list")
    parser.add_argument("--device", action="store_true", help="log in with a browser on another device")
    arguments = parser.parse_args()
    start_login = login_on_another_device if arguments.device else login
    with Client() as postern:
        try:
            if arguments.command == "logout":
                logout(postern)
            elif arguments.command == "login":
                logout(postern)  # one session a user: `list` uses the only one
                start_login(postern)
            else:
                try:
                    list_orders(postern)
                except LoginRequired:
                    if not sys.stdin.isatty():  # a script has no user to log in
                        raise
                    start_login(postern)
                    list_orders(postern)
        except LoginRequired:
            print("Not logged in: use the command login.", file=sys.stderr)
            return 2
        except PosternError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
