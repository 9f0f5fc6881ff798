"""What every error looks like (wire contract, section 2)."""
from __future__ import annotations

import re
from typing import Any, Dict, Optional

REASON = re.compile(r"[a-z][a-z0-9_]*\Z")
#: A JWT, or one half of it. Its first three letters alone come up in random base64url, too.
LIKE_A_TOKEN = re.compile(r"eyJ[A-Za-z0-9_-]{5,}\.eyJ|eyJ(?:hbGci|0eXAi|raWQi|pc3Mi|zdWIi|hdWQi|lbmMi)")
RFC3339_MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")

REASONS = {
    -32700: "parse_error",
    -32600: "invalid_request",
    -32601: "method_not_found",
    -32602: "invalid_params",
    -32603: "internal_error",
    -32800: "request_cancelled",
    -32007: "message_too_large",
    -32009: "overloaded",
    -32010: "batch_too_large",
    -32020: "peer_forbidden",
    -32021: "shutting_down",
    -32022: "deadline_exceeded",
    -32024: "audit_unavailable",
    -32025: "message_too_complex",
    1001: "not_authenticated",
    1002: "not_implicitly_authenticated",
    1003: "device_not_authenticated",
    1004: "method_not_allowed",
    1005: "invalid_headers",
    1006: "invalid_url",
    1007: "origin_not_allowed",
    1008: "network_unreachable",
    1009: "server_unreachable",
    1010: "tls_failure",
    1011: "pin_mismatch",
    1012: "response_too_large",
    1013: "protocol_error",
    1014: "debugger_attached",
    1015: "payload_encryption_failed",
    1016: "task_not_found",
    1017: "advice_required",
    1018: "advice_failed",
    1019: "interaction_required",
    2001: "jwks_fetch_failed",
    2002: "discovery_failed",
    2003: "discovery_issuer_mismatch",
    2004: "jwks_invalid",
    2005: "issuer_unknown",
    2006: "jwks_url_not_allowed",
    2007: "introspection_failed",
    3001: "advice_not_recognised",
    3002: "continuation_unknown",
    3003: "authentication_timed_out",
    3004: "access_manager_unreachable",
    3005: "access_manager_error",
    5001: "session_not_found",
    5002: "session_expired",
    5003: "token_endpoint_error",
    5004: "token_endpoint_unreachable",
    5005: "authorization_failed",
    5006: "state_unknown",
    5007: "authorization_pending",
    5008: "store_unavailable",
    5009: "issuer_unknown",
    5010: "grant_not_supported",
    6001: "pass_error",
    6002: "pass_unreachable",
    6003: "pass_not_configured",
}


def error(message: Dict[str, Any], code: int, identifier: Any = ...) -> Dict[str, Any]:
    """`message` is an error response of `code` with that code's reason; returns its `data`."""
    assert message.get("jsonrpc") == "2.0", message
    assert "result" not in message, message
    assert "id" in message, message
    if identifier is not ...:
        assert message["id"] == identifier and type(message["id"]) is type(identifier), message
    return fault(message["error"], code)


def fault(error: Dict[str, Any], code: int, path: Optional[str] = None) -> Dict[str, Any]:
    """`error` is well-formed, has `code` and that code's reason, and names `path` if one is given; returns its
    `data`."""
    assert set(error) <= {"code", "message", "data"}, error
    assert isinstance(error["code"], int) and not isinstance(error["code"], bool), error
    assert error["code"] == code, error
    assert isinstance(error["message"], str) and error["message"], error
    data = error["data"]
    assert REASON.match(data["reason"]), error
    assert data["reason"] == REASONS[code], error
    if "outcome" in data:
        assert data["outcome"] in ("not_sent", "sent_no_reply", "replied"), error
    if "retryable" in data:
        assert isinstance(data["retryable"], bool), error
    if "retryAfterMs" in data:
        assert isinstance(data["retryAfterMs"], int), error
    if path is not None:
        assert data.get("path") == path, error
    return data


def refusal(result: Dict[str, Any], code: str, claim: Optional[str] = None) -> Dict[str, Any]:
    """`result` refuses a token with `code`, and shows nothing of it; returns its `error`."""
    assert result["valid"] is False, result
    assert set(result) <= {"valid", "error", "header"}, result
    error = result["error"]
    assert set(error) <= {"code", "message", "claim", "expected", "actual"}, error
    assert error["code"] == code, error
    assert error["message"], error
    if claim is not None:
        assert error.get("claim") == claim, error
    return error
