"""An application of a TV service, which speaks to the playground's double of Adobe Pass without a sidecar."""
from __future__ import annotations

import base64
import json
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import quote, urlencode

from .playground import Playground

INFORMATION = {"model": "m", "version": "1", "osName": "Linux", "osVersion": "6", "connectionType": "LAN"}
FORM, JSON = "application/x-www-form-urlencoded", "application/json;charset=utf-8"
LOGIN = {"mvpd": "Cablevision", "domainName": "example.com", "redirectUrl": "https://example.com/done?a=1"}


def encoded(value: Any) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


def jws(subject: str) -> str:
    part = base64.urlsafe_b64encode(json.dumps({"sub": subject}).encode()).decode().rstrip("=")
    return f"e30.{part}.c2ln"


def framework(access: str = "granted", provider: str = "partner-spectrum", until: str = "9999999999999") -> Dict[str, str]:
    return {"AP-Partner-Framework-Status": encoded({
        "frameworkPermissionInfo": {"accessStatus": access},
        "frameworkProviderInfo": {"id": provider, "expirationDate": until}})}


class Application:
    """Every answer is kept in `answers`, with the entry of the double's log of its request."""

    def __init__(self, playground: Playground) -> None:
        self.playground = playground
        self.answers: List[Tuple[Dict[str, Any], Dict[str, Any]]] = []
        device = {"X-Device-Info": encoded(INFORMATION)}
        statement = json.dumps({"software_statement": "e30.e30.e30"}).encode()
        client = self._send("POST", "/adobe/o/client/register", statement, {**device, "Content-Type": "application/json"})
        form = {"grant_type": "client_credentials", "client_id": client["client_id"], "client_secret": client["client_secret"]}
        token = self._send(
            "POST", "/adobe/o/client/token", urlencode(form).encode(), {**device, "Content-Type": FORM})["access_token"]
        self.token = {"Authorization": f"Bearer {token}"}
        self.device = {**device, "AP-Device-Identifier": "fingerprint ZGV2aWNl"}

    def get(self, path: str, device: bool = True, **headers: str) -> Any:
        return self._send("GET", path, None, {**self.token, **(self.device if device else {}), **_named(headers)})

    def post(self, path: str, form: Dict[str, str], device: bool = True, **headers: str) -> Any:
        fields = {**self.token, **(self.device if device else {}), **_named(headers), "Content-Type": FORM}
        return self._send("POST", path, urlencode(form, quote_via=quote).encode(), fields)

    def decide(self, path: str, *resources: str, **headers: str) -> List[Dict[str, Any]]:
        fields = {**self.token, **self.device, **_named(headers), "Content-Type": JSON}
        answer = self._send("POST", f"decisions/{path}", json.dumps({"resources": resources}).encode(), fields)
        return answer.get("decisions", [])

    def switch(self, **changes: Any) -> Dict[str, Any]:
        status, _, body = self.playground.request("POST", "/playground/adobe", json.dumps(changes).encode())
        assert status == 200, body
        return json.loads(body)

    def log_in(self, **form: str) -> str:
        code: str = self.post("sessions", {**LOGIN, **form})["code"]
        self.switch(login={"code": code})
        return code

    def _send(self, method: str, path: str, body: Optional[bytes], headers: Dict[str, str]) -> Any:
        target = path if path.startswith("/") else f"/adobe/api/v2/REF30/{path}"
        status, _, content = self.playground.request(method, target, body, headers)
        answer = json.loads(content)
        request = json.loads(self.playground.request("GET", "/playground/adobe")[2])["requests"][-1]
        self.answers.append((request, {"call": request["call"], "status": status, "json": answer}))
        return answer


def _named(headers: Dict[str, str]) -> Dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
