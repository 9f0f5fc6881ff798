#!/usr/bin/env python3
"""One of several processes that fetch with the tokens of one user session, whose refresh token is replaced by each use.

`memory`: authlib's session with the tokens in this process, as its documentation shows it. `file`: the same with the
tokens in a file that all processes share, refreshed under a lock. `postern`: Postern's client. A process whose session
is lost ends at once. Prints a line of JSON.
"""
from __future__ import annotations

import argparse
import fcntl
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any, Callable

# authlib would like a successor of httpx, of which there is none in the environment.
warnings.simplefilter("ignore")

TIMEOUT = 30.0


def authlib_session(options: argparse.Namespace) -> Any:
    """authlib's session, with tokens in its own memory."""
    from authlib.integrations.httpx_client import OAuth2Client

    return OAuth2Client(
        client_id="shop",
        client_secret="shopsecret",
        token=json.loads(Path(options.tokens).read_text()),
        token_endpoint=options.token_endpoint,
        token_endpoint_auth_method="client_secret_basic",
        leeway=options.leeway,
        timeout=TIMEOUT,
        trust_env=False,
    )


def shared_session(options: argparse.Namespace) -> Any:
    """authlib's session, with tokens in a file: one process refreshes, under a lock, the others read the result."""
    session = authlib_session(options)
    refresh_own = session.ensure_active_token
    path = Path(options.tokens)
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)

    def ensure_active(token: Any = None) -> bool:
        if not session.token.is_expired(leeway=options.leeway):
            return True
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            session.token = json.loads(path.read_text())
            if refresh_own(session.token):
                written = path.with_suffix(f".{os.getpid()}")
                written.write_text(json.dumps(session.token))
                written.replace(path)
            return True
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)

    session.ensure_active_token = ensure_active
    return session


def fetcher(options: argparse.Namespace) -> Callable[[], int]:
    """A function that fetches once and returns the status."""
    if options.through == "postern":
        from postern import Client

        client = Client(options.socket, timeout=TIMEOUT)
        return lambda: client.fetch_resource("mine", options.path, session=options.session).status
    session = (shared_session if options.through == "file" else authlib_session)(options)
    return lambda: session.get(f"{options.base}{options.path}").status_code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--through", choices=("memory", "file", "postern"), required=True)
    parser.add_argument("--socket", help="Postern's")
    parser.add_argument("--session", help="its handle at Postern")
    parser.add_argument("--tokens", help="authlib: a file with the token response of the login")
    parser.add_argument("--base", help="authlib: what the path is appended to")
    parser.add_argument("--token-endpoint")
    parser.add_argument("--leeway", type=float, required=True)
    parser.add_argument("--path", required=True)
    parser.add_argument("--start", type=float, required=True, help="when all processes start, by the monotonic clock")
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    fetch = fetcher(options)
    while time.monotonic() < options.start:
        time.sleep(0.001)
    requests, lost_after, problem = 0, None, ""
    while lost_after is None and time.monotonic() < options.start + options.seconds:
        try:
            status = fetch()
            problem = "" if status == 200 else f"status {status}"
        except Exception as error:  # whatever it is: the session cannot be used any more
            problem = f"{type(error).__name__}: {error}"
        if problem:
            lost_after = time.monotonic() - options.start
        else:
            requests += 1
    print(json.dumps({"requests": requests, "lostAfter": lost_after, "problem": problem}), flush=True)


if __name__ == "__main__":
    main()
