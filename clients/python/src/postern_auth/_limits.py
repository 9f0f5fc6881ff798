"""Limits and timeouts of a client."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

#: The default of the sidecar's `limits.messageBytes`.
REQUEST_BYTES = 16 << 20
ANSWER_BYTES = 64 << 20
#: The sidecar's `limits.depth`.
DEPTH = 128
#: How long the sidecar waits for a delegate.
DELEGATE_SECONDS = 180.0
#: Delegate calls in progress at a time; more are rejected, so that the sidecar uses its default.
DELEGATE_CALLS = 32
#: Bytes of responses to the sidecar's requests that may wait until it reads them.
OWED_BYTES = 1 << 20
#: Buffered bytes of a stream at which its task is suspended, and at which it is resumed.
STREAM_HIGH = 1 << 20
STREAM_LOW = 256 << 10
#: Bytes that may arrive after a suspension was requested; more is a violation.
STREAM_MOST = 64 << 20
#: Streams on one connection: half of what the sidecar accepts, because each may also have a suspension in progress.
STREAMS_EACH = 64


#: A longer timeout is none, in seconds: the waits of the system, and the sidecar, have no such times.
LONGEST = 1e9


@dataclass(frozen=True)
class Limits:
    """Limits of a client for itself and the sidecar."""

    #: A larger request is rejected before it is sent.
    request_bytes: int = REQUEST_BYTES
    #: A larger response ends the connection.
    answer_bytes: int = ANSWER_BYTES
    #: Seconds a connection attempt may take.
    connect: float = 5.0
    #: Seconds for which the client retries to connect to a sidecar that was connected before.
    reconnect: float = 5.0
    #: Calls in progress on the connection; beyond that they wait.
    in_flight: int = 100
    #: Calls that wait; beyond that they are rejected as `overloaded`.
    queued: int = 10_000


class Deadline:
    """The moment at which an operation times out."""

    __slots__ = ("last", "moment", "seconds")

    def __init__(self, seconds: float | None) -> None:
        if seconds is None:
            seconds = math.inf
        if not seconds > 0:
            raise ValueError("timeout must be more than 0 seconds")
        if seconds > LONGEST:
            seconds = math.inf
        self.seconds = seconds
        self.moment = moment = time.monotonic() + seconds
        #: The client waits a little longer than the sidecar, whose error has more information.
        self.last = moment + (2.0 if seconds >= 15 else 0.5 + seconds / 10)

    @property
    def seconds_or_none(self) -> float | None:
        """How long it was from the beginning; None: without end."""
        return None if self.seconds == math.inf else self.seconds

    def left(self) -> float:
        """Seconds until then, infinite without one, never negative."""
        left = self.moment - time.monotonic()
        return left if left > 0 else 0.0

    def left_ms(self) -> int | None:
        """For `meta.timeoutMs`."""
        moment = self.moment
        if moment == math.inf:
            return None
        left = int((moment - time.monotonic()) * 1000)
        return left if left > 0 else 1

    def patience(self) -> float:
        """Seconds until `last`, infinite without one, never negative."""
        left = self.last - time.monotonic()
        return left if left > 0 else 0.0
