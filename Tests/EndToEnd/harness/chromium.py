"""A real browser: headless Chromium from Debian, driven over its DevTools pipe (no port, no further library)."""
from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import selectors
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Dict, Optional

from .waiting import eventually

PROGRAM = "chromium"
#: Nothing is fetched from anywhere, and nothing is found but 127.0.0.1 and, as another site, 127.0.0.2. Without its sandbox, which neither root nor
#: most containers can have: all it sees are pages of this machine.
FLAGS = [
    "--no-sandbox",
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
    "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-default-apps", "--password-store=basic", "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE 127.0.0.2",
]


class Chromium:
    """One browser process with a profile in `directory`; `pages` opens pages that share nothing with each other."""

    def __init__(self, directory: Path) -> None:
        program = shutil.which(PROGRAM)
        assert program, "chromium is not installed (make deps)"
        its_input, self._out = os.pipe()
        self._in, its_output = os.pipe()
        # The browser wants them as 3 and 4; from above 9 nothing is in the way of the shell's own moving about.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (its_input, its_output)]
        os.close(its_input)
        os.close(its_output)
        command = f'exec "$0" "$@" 3<&{ends[0]} 4>&{ends[1]} {ends[0]}<&- {ends[1]}>&-'
        self._log = open(directory / "chromium.log", "wb")
        self.process = subprocess.Popen(
            ["bash", "-c", command, program, *FLAGS, f"--user-data-dir={directory / 'profile'}", "about:blank"],
            pass_fds=ends, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
            env={**os.environ, "HOME": str(directory)}, start_new_session=True)
        for end in ends:
            os.close(end)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._in, selectors.EVENT_READ)
        self._received = b""
        self._numbers = itertools.count(1)
        self.version: str = self.command("Browser.getVersion")["product"]

    def command(self, method: str, params: Optional[Dict[str, Any]] = None, session: Optional[str] = None) -> Dict[str, Any]:
        """One DevTools command and its result; events in between are passed over."""
        number = next(self._numbers)
        message: Dict[str, Any] = {"id": number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 30
        while True:
            text, end, rest = self._received.partition(b"\0")
            if not end:
                assert self._selector.select(max(0, deadline - time.monotonic())), f"no answer to {method}"
                data = os.read(self._in, 1 << 20)
                assert data, f"chromium ended: {self._tail()}"
                self._received += data
                continue
            self._received = rest
            answer = json.loads(text)
            if answer.get("id") == number:
                if "error" in answer:
                    raise DevToolsError(f"{method}: {answer['error']}")
                return answer["result"]

    def page(self, *, dark: bool = False, width: int = 900, height: int = 700) -> "Page":
        """A page of a profile of its own: no cookies."""
        return Page(self, dark, width, height)

    def stop(self) -> None:
        try:
            self.command("Browser.close")
            self.process.wait(5)
        except (AssertionError, DevToolsError, OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(10)
        self._selector.close()
        for descriptor in (self._in, self._out):
            os.close(descriptor)
        self._log.close()

    def _tail(self) -> str:
        return Path(self._log.name).read_text(errors="replace")[-2000:]


class DevToolsError(Exception):
    """The browser refused a command."""


class Page:
    """What a user does on a page: read, type, press."""

    def __init__(
        self, browser: Chromium, dark: bool = False, width: int = 900, height: int = 700, *, context: Optional[str] = None
    ) -> None:
        self._browser = browser
        self._context = context or browser.command("Target.createBrowserContext")["browserContextId"]
        self._target = browser.command(
            "Target.createTarget", {"url": "about:blank", "browserContextId": self._context})["targetId"]
        self._session = browser.command(
            "Target.attachToTarget", {"targetId": self._target, "flatten": True})["sessionId"]
        self.command("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.command("Emulation.setEmulatedMedia", {"features": features})

    def command(self, method: str, params: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
        return self._browser.command(method, params, self._session)

    def tab(self) -> "Page":
        """Another page of the same profile, which is closed with this one."""
        return Page(self._browser, context=self._context)

    def close(self) -> None:
        self._browser.command("Target.disposeBrowserContext", {"browserContextId": self._context})

    def open(self, url: str) -> Optional[str]:
        """Goes to `url` as if it had been typed; the browser's error if there is nothing."""
        error = self.command("Page.navigate", {"url": url}).get("errorText")
        if not error:
            eventually(lambda: self.evaluate("document.readyState") == "complete", what="the page")
        return error

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; None while one page makes way for the next."""
        try:
            answer = self.command("Runtime.evaluate", {"expression": expression, "returnByValue": True})
        except DevToolsError:
            return None
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    @property
    def url(self) -> str:
        return self.evaluate("location.href") or ""

    @property
    def text(self) -> str:
        """What a user reads."""
        return self.evaluate("document.body ? document.body.innerText : ''") or ""

    def reads(self, text: str, seconds: float = 15) -> str:
        """Waits until `text` can be read; the whole text."""
        try:
            return eventually(lambda: self.text if text in self.text else "", seconds)
        except AssertionError:
            raise AssertionError(f"no {text!r} at {self.url}:\n{self.text}") from None

    def type(self, selector: str, text: str) -> None:
        """Clicks into a field, clears it and types."""
        self.click(selector)
        self.evaluate(f"document.querySelector({json.dumps(selector)}).select()")
        self.command("Input.insertText", {"text": text})

    def press(self, text: str) -> None:
        """Clicks the button or link that reads `text`."""
        self._click(
            "[...document.querySelectorAll('button, a, input[type=submit]')]"
            f".find(e => (e.innerText || e.value || '').trim() === {json.dumps(text)} && e.getClientRects().length)",
            text)

    def click(self, selector: str) -> None:
        self._click(f"document.querySelector({json.dumps(selector)})", selector)

    def _click(self, element: str, what: str) -> None:
        script = (
            f"(() => {{ const e = {element}; if (!e || e.disabled) return null; e.scrollIntoView({{block: 'center'}});"
            " const r = e.getBoundingClientRect(); return r.width ? [r.x + r.width / 2, r.y + r.height / 2] : null })()")
        try:
            x, y = eventually(lambda: self.evaluate(script), 15)
        except AssertionError:
            raise AssertionError(f"nothing to click: {what!r} at {self.url}:\n{self.text}") from None
        for kind in ["mousePressed", "mouseReleased"]:
            self.command("Input.dispatchMouseEvent", {
                "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1})

    def screenshot(self, path: Path) -> None:
        data = self.command("Page.captureScreenshot", {"format": "png"})["data"]
        path.write_bytes(base64.b64decode(data))
