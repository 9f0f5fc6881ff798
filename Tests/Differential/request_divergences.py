"""Where the gateway accepts what nginx or haproxy reads otherwise, or rejects; each with the sentence that allows it.

What the gateway rejects needs no reason here: it may always be stricter. Every entry has to be needed.
"""

from __future__ import annotations

from typing import List, NamedTuple


class RequestDivergence(NamedTuple):
    """Cases that a peer reads otherwise, and why the gateway's reading is the only right one."""

    #: The names of the cases.
    pattern: str
    #: `nginx` or `haproxy`.
    peer: str
    reason: str


REQUESTS: List[RequestDivergence] = []
