"""`httpx` through Postern: give a client one of these transports, and its requests get tokens, refresh and step-up.

httpx.Client(transport=PosternTransport(client, resource="billing"))
httpx.Client(mounts={"http+postern://": PosternTransport(client)})

A program that must keep its own transport has `PosternAuth` for its tokens, where these may leave the sidecar.
"""

from __future__ import annotations

from ._async_httpx import AsyncPosternAuth, AsyncPosternTransport
from ._httpx import PosternAuth, PosternTransport

__all__ = ["AsyncPosternAuth", "AsyncPosternTransport", "PosternAuth", "PosternTransport"]
