"""A television in a terminal: its user logs in on a second screen (app.py), then plays titles.

    POSTERN_SOCKET=/run/postern/postern.sock python tv.py [--device ID]     (with all that it needs: ../run television)
"""

import argparse
import os
import sys
import time

from postern_auth import Client, PassDevice, PassRejected, PosternError
from postern_auth.types import PassProfiles, Status

PROVIDER = "tv"  # its name in postern.yaml
PAGE = os.environ.get("PAGE", f"http://127.0.0.1:{os.environ.get('PORT', '8000')}")  # of app.py
TITLES = ["news", "film", "boxing-deny"]  # the playground denies what has `deny` in its name
WAIT_MS = 25 * 60 * 1000
HELP = "Type the name of a title, logout or quit."


class Television:
    """One device at Adobe Pass. Without an id it is the sidecar's own."""

    def __init__(self, postern: Client, device_id: str | None) -> None:
        self.postern = postern
        self.device = PassDevice(device_id) if device_id else None

    def log_in(self) -> None:
        """Uses the login that there is, else shows codes until the user has logged in on the second screen."""
        found = self.postern.adobe_pass.list_profiles(PROVIDER, device=self.device)
        while found.state != "authenticated":
            started = self.postern.adobe_pass.create_session(PROVIDER, device=self.device)
            if not started.code:
                raise SystemExit(f"The login cannot start: {started.action_name}")
            print(f"To log in, open {PAGE} on a phone and type {started.code}", flush=True)
            found = self.awaited(started.code)
            if found.state == "superseded":
                raise SystemExit("This code is over: the same device has started another login.")
        print(f"Logged in at {found.selected}.", flush=True)

    def awaited(self, code: str) -> PassProfiles:
        """The end of a code's life: a login, or the lack of one. The sidecar polls while the call waits."""
        while True:
            try:
                found = self.postern.adobe_pass.list_profiles(
                    PROVIDER, code=code, wait_ms=WAIT_MS, device=self.device, timeout=WAIT_MS / 1000 + 60)
            except PosternError as error:
                if isinstance(error, PassRejected) and error.next == "newCode":  # its time was over at Adobe first
                    return self.postern.adobe_pass.list_profiles(PROVIDER, device=self.device)
                if not error.retryable:
                    raise
                time.sleep(error.retry_after or 5)
            else:
                if found.state != "pending":
                    return found

    def show_titles(self) -> None:
        """Decisions for what to show. They come from the cache where it can be, and permit nothing by themselves."""
        context = {"pass": {"device": {"id": self.device.id}}} if self.device else None
        for decision in self.postern.preauthorize(TITLES, provider=PROVIDER, context=context).decisions:
            print(f"  {decision.id}: {'plays' if decision.authorized else reason(decision.error)}", flush=True)

    def play(self, title: str) -> None:
        """Each playback has a decision of its own, with a media token for the service that releases the stream."""
        [decision] = self.postern.adobe_pass.authorize(PROVIDER, [title], device=self.device).decisions
        if not decision.authorized or not decision.token:
            print(f"{title} does not play: {reason(decision.error)}", flush=True)
            if decision.error and decision.error.action == "authentication":
                self.log_in()
            return
        start = decision.token.serialized_token[:6]  # the player gets the whole, unopened; no log, no file has it
        print(f"{title} plays; its media token {start}… ends at {decision.token.expires_at:%H:%M} UTC", flush=True)

    def log_out(self) -> None:
        ended = self.postern.adobe_pass.logout(PROVIDER, device=self.device)
        failed = ended.upstream == "failed"  # it can be called once more; here the login has ended
        print("Logged out here, but not at Adobe Pass." if failed else "Logged out.", flush=True)
        for step in ended.logouts:
            if step.url:
                print(f"To log out at {step.mvpd}, too, open {step.url}", flush=True)


def reason(error: Status | None) -> str:
    return (error.message or error.code) if error else "no reason was given"


def main() -> int:
    parser = argparse.ArgumentParser(description="A television: log in with a phone, then play titles.")
    parser.add_argument("--device", metavar="ID", help="the device's id, 1 to 256 bytes; default: the sidecar's own")
    device_id = parser.parse_args().device
    with Client() as postern:
        television = Television(postern, device_id)
        try:
            television.log_in()
            television.show_titles()
            print(HELP, flush=True)
            for line in sys.stdin:
                command = line.strip()
                if command == "quit":
                    break
                if command == "logout":
                    television.log_out()
                    break
                if command in TITLES:
                    television.play(command)
                else:
                    print(HELP, flush=True)
        except PosternError as error:
            print(error, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
