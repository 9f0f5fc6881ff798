"""What has to be there before an example: a user's session, a token, a fetch that waits.

A scene adds to `samples` what the page shows for what it made: shown → real.
"""

from __future__ import annotations

import json
import time
from typing import Any, Callable, Dict, List

from stage import Stage

from harness import journeys
from harness.browser import announce_login, authorize, callback_of
from harness.connection import Connection
from harness.waiting import eventually

REDIRECT = "http://127.0.0.1:8765/callback"
SESSION = "k0Zr8mW…"
BANK_SESSION = "Vf7Qp2x…"
STATE = "x9T…"
CALLBACK = f"{REDIRECT}?code=mZ3…&state={STATE}"


class Scene:
    """Sets up by name, over connections of its own that stay open until the example is over."""

    def __init__(self, stage: Stage, connection: Connection, connect: Callable[[], Connection]) -> None:
        self.stage, self.connection, self.connect = stage, connection, connect
        self.samples: Dict[str, str] = {}
        self._open: List[Connection] = []

    def set(self, names: Any) -> None:
        for name in [names] if isinstance(names, str) else names or []:
            getattr(self, f"set_{name}")()

    def close(self) -> None:
        for connection in self._open:
            connection.close()

    def _post(self, path: str, body: Any) -> Any:
        status, _, answer = self.stage.playground.request("POST", path, json.dumps(body).encode())
        assert status == 200, (path, answer)
        return json.loads(answer or b"null")

    # Logins

    def _begin(self) -> Dict[str, str]:
        """What `completeAuthorization` takes when alice's browser comes back."""
        announce_login(self.stage.playground)
        begun = self.connection.call("beginAuthorization", {"issuer": "corp", "redirectUri": REDIRECT})
        return callback_of(begun)

    def set_login(self) -> None:
        """alice's next login at the issuer needs no page."""
        announce_login(self.stage.playground)

    def set_callback(self) -> None:
        back = self._begin()
        self.samples[CALLBACK], self.samples[STATE] = back["callbackUrl"], back["state"]

    def set_session(self) -> None:
        session = self.connection.call("completeAuthorization", self._begin())
        self.samples[SESSION] = session["session"]

    def set_device(self) -> None:
        begun = self.connection.call("beginDeviceAuthorization", {"issuer": "corp"})
        self.samples["d7Hq2sT…"] = begun["handle"]
        self._post("/playground/device", {"userCode": begun["userCode"], "user": "alice"})
        time.sleep(begun["intervalMs"] / 1000)  # asking sooner does not reach the issuer, and there is no clock to turn

    def set_undecided_device(self) -> None:
        self.samples["d7Hq2sT…"] = self.connection.call("beginDeviceAuthorization", {"issuer": "corp"})["handle"]

    def set_sso_token(self) -> None:
        self.samples["AQIC5wM2…"] = journeys.sign_on(self.stage.playground)

    def set_bank_session(self) -> None:
        self.samples[BANK_SESSION] = journeys.session(self.connection, self.stage.playground)

    def set_revoked_tokens(self) -> None:
        """Every access token so far is refused from now on, and nobody has been told."""
        self.stage.playground.faults(revokeTokens=True)

    # Adobe Pass

    def _pass_session(self) -> str:
        params = {"provider": "tv", "mvpd": "Cablevision", "domainName": "example.com", "redirectUrl": "https://example.com/done"}
        code: str = self.connection.call("pass.createSession", params)["code"]
        self.samples["QZR7T4X"] = code
        return code

    def set_incomplete_pass_code(self) -> None:
        """A television shows a code; the MVPD is to be chosen on a second screen."""
        self.samples["QZR7T4X"] = self.connection.call("pass.createSession", {"provider": "tv"})["code"]

    def set_pass_code(self) -> None:
        self._pass_session()

    def set_used_pass_code(self) -> None:
        """alice has logged in with the code."""
        self._post("/playground/adobe", {"login": {"code": self._pass_session()}})

    def set_pass_login(self) -> None:
        self.set_used_pass_code()
        done = self.connection.call("pass.listProfiles", {"provider": "tv", "code": self.samples["QZR7T4X"]})
        assert done["state"] == "authenticated", done

    # Tokens

    def set_used_issuer(self) -> None:
        self.connection.call("fetchResource", {"resource": "orders", "path": "orders"})

    def set_access_token(self) -> None:
        self.samples["eyJ0eXAiOiJhdCtqd3Qi…"] = self.connection.call("getAccessToken", {"resource": "orders"})["accessToken"]

    def set_users_token(self) -> None:
        session = self.connection.call("completeAuthorization", self._begin())["session"]
        given = self.connection.call("getAccessToken", {"issuer": "corp", "session": session})
        self.samples["eyJhbGciOiJSUzI1NiIs…"] = given["accessToken"]

    def set_id_token(self) -> None:
        """One that an application got itself, with the nonce `n-0S6_WzA2Mj`."""
        announce_login(self.stage.playground)
        issuer = self.stage.playground.issuer
        verifier, challenge = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        callback = authorize(
            f"{issuer}/authorize?response_type=code&client_id=shop&redirect_uri={REDIRECT}&scope=openid&state=s"
            f"&nonce=n-0S6_WzA2Mj&code_challenge={challenge}&code_challenge_method=S256")
        code = callback.split("code=")[1].split("&")[0]
        form = (f"grant_type=authorization_code&code={code}&redirect_uri={REDIRECT}&code_verifier={verifier}"
                "&client_id=shop&client_secret=shopsecret")
        status, _, answer = self.stage.playground.request(
            "POST", "/oidc/token", form.encode(), {"Content-Type": "application/x-www-form-urlencoded"})
        assert status == 200, answer
        self.samples["eyJhbGciOiJSUzI1NiIs…"] = json.loads(answer)["id_token"]

    def set_logout_token(self) -> None:
        answer = self._post("/playground/logoutToken", {"clientId": "shop", "user": "alice", "sid": "Hx3fSid-0001"})
        self.samples["eyJ0eXAiOiJsb2dvdXQr…"] = answer["logoutToken"] if "logoutToken" in answer else answer["logout_token"]

    def set_logout_token_of_a_session(self) -> None:
        """alice has a session, and has logged out at the issuer."""
        self.set_session()
        answer = self._post("/playground/logoutToken", {"clientId": "shop", "user": "alice"})
        self.samples["eyJ0eXAiOiJsb2dvdXQr…"] = answer["logout_token"]

    # What waits or runs

    def set_stopped_fetch(self) -> None:
        """A fetch of the bank's that ended in `advice_required`."""
        params = {"resource": "bank", "path": "service/pay", "session": self.samples[BANK_SESSION]}
        self.samples["rT5nK1b…"] = self.connection.error("fetchResource", params)["data"]["continuation"]

    def set_satisfied_advice(self) -> None:
        answers = {"PasswordCallback": "alice-password"}
        done = self.connection.call(
            "authenticateWithAdvice", {"continuation": self.samples["rT5nK1b…"], "answers": answers})
        assert done["state"] == "completed", done

    def set_journey(self) -> None:
        """A login at the access manager that has shown its first page."""
        self.samples["c8Yw3eL…"] = self.connection.call("authenticate", {"issuer": "am"})["continuation"]

    def set_advice_journey(self) -> None:
        step = self.connection.call("authenticateWithAdvice", {"continuation": self.samples["rT5nK1b…"]})
        self.samples["c8Yw3eL…"] = step["continuation"]

    def _task(self) -> None:
        other = self.connect()
        self._open.append(other)
        other.request("fetchResource", {"resource": "open", "path": "slow?ms=20000", "task": "report"})
        eventually(lambda: self.connection.call("listTasks")["tasks"], what="the task")

    def set_task(self) -> None:
        """A fetch named `report` that is under way on another connection."""
        self._task()

    def set_endpoint(self) -> None:
        """A socket for a report, of another connection of the same user."""
        params = {"resources": ["orders"], "httpMethods": ["GET"], "label": "report", "bindTo": "connection"}
        self.samples["ep_Wq3xT0v…"] = self.connection.call("createEndpoint", params)["endpoint"]

    def set_suspended_task(self) -> None:
        self._task()
        self.connection.call("suspendTask", {"task": "report"})

    def set_remembered_decisions(self) -> None:
        self.connection.call("preauthorize", {"provider": "channels", "resources": ["news", "sports"], "context": {"subject": "alice"}})
