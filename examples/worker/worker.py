"""A worker without users: every minute it fetches the orders, with a token from client credentials that it never sees.

    POSTERN_SOCKET=/run/postern/postern.sock python worker.py [--once]     (with all that it needs: ../run worker)
"""

import argparse
import logging
import os
import signal
import sys
import threading

from postern_auth import Client, FetchResult, PosternError

RESOURCE = "orders"  # its name in postern.yaml
PERIOD = float(os.environ.get("PERIOD", "60"))  # seconds
LONGEST_WAIT = 300.0


def process(result: FetchResult) -> None:
    """The worker's own work."""
    for order in result.json()["orders"]:
        print(order["id"], order["item"], order["quantity"], flush=True)


def wait_after(error: PosternError, failures: int) -> float:
    """Seconds until the next attempt: what the sidecar advises, else twice as long with each failure."""
    return min(error.retry_after or 2.0 ** min(failures, 10), LONGEST_WAIT)


def main() -> int:
    parser = argparse.ArgumentParser(description="Fetches the orders, with a token from client credentials.")
    parser.add_argument("--once", action="store_true", help="exit after the first orders")
    once = parser.parse_args().once
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())

    failures = 0
    with Client() as postern:
        while not stop.is_set():
            try:
                result = postern.fetch_resource(RESOURCE, "orders")
            except PosternError as error:
                if not error.retryable:  # the program or the configuration is wrong: the supervisor shall notice
                    logging.error("%s", error)
                    return 1
                failures += 1
                wait = wait_after(error, failures)
                logging.warning("%s; next attempt in %.0f s", error.reason, wait)
            else:
                failures, wait = 0, PERIOD
                if result.ok:
                    process(result)
                else:  # any HTTP status is a result
                    logging.warning("status %d", result.status)
                if once:
                    return 0 if result.ok else 1
            stop.wait(wait)
    return 0


if __name__ == "__main__":
    sys.exit(main())
