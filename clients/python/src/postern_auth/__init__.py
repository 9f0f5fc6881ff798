"""Client for Postern, the auth sidecar.

>>> import postern_auth
>>> with postern_auth.Client() as client:
...     client.get_info().name
'postern'
"""

from __future__ import annotations

from ._chunks import ResponseHead
from ._endpoints import Endpoint
from ._headers import Headers
from ._limits import Limits
from .aio import AsyncClient
from .client import Call, Client
from .delegates import AdviceReceived, AnsweredRequest, CallToApprove, RequestChange, RequestToUpdate
from .errors import (
    AdviceFailed,
    AdviceRequired,
    AuthenticationError,
    AuthorizationPending,
    Cancelled,
    ClientAuthenticationError,
    ClientClosed,
    ConfigurationInvalid,
    ConnectionFailed,
    ConnectionLost,
    DeadlineExceeded,
    FetchError,
    Forbidden,
    InteractionRequired,
    InternalError,
    LoginRequired,
    PassError,
    PassNotConfigured,
    PassRejected,
    PassUnreachable,
    PosternError,
    ProtocolViolation,
    RequestError,
    SessionError,
    StatusError,
    Unavailable,
    ValidationUndecided,
)
from .events import Event
from .types import Advice, FetchResult, Grant, JourneyStep, Part, PassDevice, Session

__version__ = "0.1.0"

__all__ = [
    "Advice",
    "AdviceFailed",
    "AdviceReceived",
    "AdviceRequired",
    "AnsweredRequest",
    "AsyncClient",
    "AuthenticationError",
    "AuthorizationPending",
    "Call",
    "CallToApprove",
    "Cancelled",
    "Client",
    "ClientAuthenticationError",
    "ClientClosed",
    "ConfigurationInvalid",
    "ConnectionFailed",
    "ConnectionLost",
    "DeadlineExceeded",
    "Endpoint",
    "Event",
    "FetchError",
    "FetchResult",
    "Forbidden",
    "Grant",
    "Headers",
    "InteractionRequired",
    "InternalError",
    "JourneyStep",
    "Limits",
    "LoginRequired",
    "Part",
    "PassDevice",
    "PassError",
    "PassNotConfigured",
    "PassRejected",
    "PassUnreachable",
    "PosternError",
    "ProtocolViolation",
    "RequestChange",
    "RequestError",
    "RequestToUpdate",
    "ResponseHead",
    "Session",
    "SessionError",
    "StatusError",
    "Unavailable",
    "ValidationUndecided",
]
