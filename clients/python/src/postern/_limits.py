"""Bounds and times of a client."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

#: The sidecar's `limits.messageBytes` when nothing else is configured.
REQUEST_BYTES = 16 << 20
ANSWER_BYTES = 64 << 20
#: The sidecar's `limits.depth`.
DEPTH = 128
#: How long the sidecar waits for a delegate.
DELEGATE_SECONDS = 180.0
#: Delegate calls under way at a time; more are refused, so that the sidecar takes its default.
DELEGATE_CALLS = 32
#: Bytes of answers to the sidecar's requests that may wait for it to take them; then no more are made.
OWED_BYTES = 1 << 20
#: Undelivered bytes of a stream at which its task is suspended, and at which it goes on.
STREAM_HIGH = 1 << 20
STREAM_LOW = 256 << 10
#: What may come after a suspension was asked for; more is a fault.
STREAM_MOST = 64 << 20
#: Streams on one connection: half of what the sidecar takes, because each may have a suspension under way, too.
STREAMS_EACH = 64


@dataclass(frozen=True)
class Limits:
    """What a client allows itself and the sidecar."""

    #: A larger request is refused before it is sent.
    request_bytes: int = REQUEST_BYTES
    #: A larger answer ends the connection.
    answer_bytes: int = ANSWER_BYTES
    #: Seconds a connection attempt may take.
    connect: float = 5.0
    #: Seconds in which a sidecar that was there is looked for again.
    reconnect: float = 5.0
    #: Calls under way on the connection; over that they wait.
    in_flight: int = 100
    #: Calls that wait; over that they are refused as `overloaded`.
    queued: int = 10_000


class Deadline:
    """A moment by which something must be done."""

    __slots__ = ("last", "moment", "seconds")

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds > 0:
            raise ValueError("timeout must be more than 0 seconds")
        if seconds is None or seconds == math.inf:
            self.seconds = self.moment = self.last = math.inf
        else:
            self.seconds = seconds
            self.moment = time.monotonic() + seconds
            #: The answer is waited for a little longer than the sidecar waits, which says more about what happened.
            self.last = self.moment + min(2.0, 0.5 + seconds / 10)

    def left(self) -> float:
        """Seconds until then, infinite without one, never negative."""
        left = self.moment - time.monotonic()
        return left if left > 0 else 0.0

    def left_ms(self) -> int | None:
        """For `meta.timeoutMs`."""
        moment = self.moment
        return None if moment == math.inf else max(1, int((moment - time.monotonic()) * 1000))

    def patience(self) -> float:
        """Seconds until `last`, infinite without one, never negative."""
        left = self.last - time.monotonic()
        return left if left > 0 else 0.0
