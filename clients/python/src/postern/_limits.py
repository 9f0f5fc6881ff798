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
#: Undelivered bytes of a stream at which its task is suspended, and at which it goes on.
STREAM_HIGH = 1 << 20
STREAM_LOW = 256 << 10
#: What may come after a suspension was asked for; more is a fault.
STREAM_MOST = 64 << 20


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


class Deadline:
    """A moment by which something must be done."""

    __slots__ = ("moment", "seconds")

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds > 0:
            raise ValueError("timeout must be more than 0 seconds")
        self.seconds = math.inf if seconds is None else seconds
        self.moment = math.inf if self.seconds == math.inf else time.monotonic() + self.seconds

    def left(self) -> float:
        """Seconds until then, infinite without one, never negative."""
        left = self.moment - time.monotonic()
        return left if left > 0 else 0.0

    def left_ms(self) -> int | None:
        """For `meta.timeoutMs`."""
        left = self.left()
        return None if left == math.inf else max(1, int(left * 1000))

    def with_patience(self) -> Deadline:
        """The moment until which to wait for the answer."""
        later = Deadline.__new__(Deadline)
        later.seconds = self.seconds
        later.moment = self.moment if self.moment == math.inf else time.monotonic() + max(self.patience(), 0.001)
        return later

    def patience(self) -> float:
        """Seconds to wait for the answer: a little longer than the sidecar, which says more about what happened."""
        left = self.left()
        return left if left == math.inf else left + min(2.0, 0.5 + left / 10)
