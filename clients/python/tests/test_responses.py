"""Responses as HTTP libraries have them: headers in any case, `raise_for_status`. Without a sidecar."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

import postern_auth
from postern_auth import FetchResult, Headers, ResponseHead, types
from postern_auth.delegates import AnsweredRequest
from postern_auth.errors import StatusError, from_answer

TIMING = {"totalMs": 1, "queueMs": 0, "connectMs": 0, "firstByteMs": 1}
LINES = {"content-type": ["text/plain; charset=iso-8859-1"], "set-cookie": ["a=1", "b=2"]}


def response(status: int, **members: object) -> FetchResult:
    return FetchResult.from_json(
        {
            "task": "t", "status": status, "url": "https://api.example/x?secret=1", "headers": LINES, "attempts": 1,
            "tokenRefreshed": False, "advicesSatisfied": [], "timing": TIMING, **members,
        }
    )  # fmt: skip


def test_headers_are_found_in_any_case() -> None:
    """A lookup by the name as the standards write it that finds nothing, or the first letter of a value."""
    headers = response(200).headers
    assert headers["Content-Type"] == headers["content-type"] == headers.get("CONTENT-TYPE") == LINES["content-type"][0]
    assert "Set-Cookie" in headers and "X-Other" not in headers
    assert headers.get("X-Other") is None and headers.get_list("X-Other") == []
    with pytest.raises(KeyError):
        headers["X-Other"]
    assert list(headers) == ["content-type", "set-cookie"] and len(headers) == 2


def test_lines_of_one_name_are_joined_and_can_be_had_one_by_one() -> None:
    """Two cookies that become one."""
    headers = response(200).headers
    assert headers["Set-Cookie"] == "a=1, b=2"
    assert headers.get_list("Set-Cookie") == ["a=1", "b=2"]
    assert headers.lines()[1:] == [("set-cookie", "a=1"), ("set-cookie", "b=2")]


def test_headers_are_values() -> None:
    """Results that cannot be compared, copied or sent to another process, and values in a repr."""
    headers = Headers({"Set-Cookie": ["a=1"], "X": ["1"]})
    assert headers == Headers({"x": ["1"], "set-cookie": ["a=1"]}) != Headers({"x": ["2"]})
    assert hash(headers) == hash(Headers({"x": ["1"], "set-cookie": ["a=1"]}))
    assert copy.deepcopy(headers) == pickle.loads(pickle.dumps(headers)) == headers
    assert "a=1" not in repr(headers)
    assert Headers({"X": "abc"}) == Headers({"x": ["abc"]}), "a text is one line"
    assert headers == {"Set-Cookie": "a=1", "x": "1"} and headers == {"SET-COOKIE": "a=1", "X": "1"}
    others: list[object] = [
        {"X": "1"},
        {"Set-Cookie": "a=2", "X": "1"},
        {"set-cookie": "a=1", "x": "1", "X": "1"},
        [],
        None,
    ]
    for other in others:
        assert headers != other
    assert response(200).to_json()["headers"] == LINES
    assert response(200) == response(200)


def test_text_uses_the_charset_of_the_headers() -> None:
    assert response(200, bodyBase64="5A==").text == "ä"


@pytest.mark.parametrize("status", [200, 204, 304, 399])
def test_a_status_below_400_is_returned(status: int) -> None:
    result = response(status, body='{"a": 1}')
    assert result.ok
    assert result.raise_for_status() is result
    assert result.raise_for_status().json() == {"a": 1}
    head = ResponseHead.from_json(result.to_json())
    assert head.raise_for_status() is head


@pytest.mark.parametrize("status", [400, 404, 503])
def test_a_status_from_400_on_is_raised(status: int) -> None:
    """A failed request that is taken for a success; an error that shows a query, or that nothing catches."""
    result = response(status, reason="Because", retryAfterMs=1500, body="secret")
    assert not result.ok
    with pytest.raises(StatusError) as raised:
        result.raise_for_status()
    error = raised.value
    assert (error.response, error.status, error.reason, error.retry_after) == (result, status, "http_status", 1.5)
    assert isinstance(error, postern_auth.FetchError) and error.outcome == "replied"
    assert str(error) == f"http_status: {status} Because from https://api.example/x (outcome: replied)"
    assert pickle.loads(pickle.dumps(error)).status == status
    for other in (
        ResponseHead.from_json(result.to_json()),
        AnsweredRequest.from_json({"task": "t", "status": status, "headers": {}}),
    ):
        with pytest.raises(StatusError, match=str(status)):
            other.raise_for_status()


@pytest.mark.parametrize(
    ("code", "data", "kind"),
    [
        (1003, {"upstream": {"status": 401, "code": "invalid_client"}}, postern_auth.ClientAuthenticationError),
        (5003, {"error": "invalid_client", "status": 401}, postern_auth.ClientAuthenticationError),
        (1003, {"upstream": {"status": 400, "code": "invalid_scope"}}, postern_auth.FetchError),
        (1003, {"upstream": "invalid_client"}, postern_auth.FetchError),
        (1001, {"upstream": {"code": "invalid_client"}}, postern_auth.LoginRequired),
        (5003, {"error": "invalid_grant"}, postern_auth.SessionError),
        (5003, None, postern_auth.SessionError),
    ],
)
def test_a_wrong_client_secret_is_not_a_login_that_is_needed(
    code: int, data: object, kind: type[postern_auth.PosternError]
) -> None:
    """A program that sends its users to a login because the sidecar's secret is wrong."""
    error = from_answer({"code": code, "message": "m", "data": data})
    assert type(error) is kind
    if kind is postern_auth.ClientAuthenticationError:
        assert isinstance(error, postern_auth.FetchError) and isinstance(error, postern_auth.SessionError)
        assert not isinstance(error, postern_auth.LoginRequired)
        assert type(pickle.loads(pickle.dumps(error))) is kind


def test_headers_go_out_as_lines() -> None:
    """Headers of a response that cannot be given to another call."""
    from postern_auth import _framing

    line = _framing.request(1, "parseAdvice", {"status": 401, "headers": Headers(LINES)}, 10_000)
    assert json.loads(line)["params"]["headers"] == LINES


KEY = {"alg": "ES256"}
VALID: dict[str, object] = {"valid": True, "claims": {"sub": "u"}, "header": {}, "key": KEY, "cached": False}
INVALID: dict[str, object] = {"valid": False, "error": {"code": "expired", "message": "m"}}


def test_a_verdict_is_true_if_it_is_valid() -> None:
    """`if client.validate_access_token(…)` that lets every token pass."""
    valid, invalid = types.token_verdict(VALID), types.token_verdict(INVALID)
    assert valid and valid.valid and isinstance(valid, types.ValidToken) and valid.error is None
    assert not invalid and not invalid.valid and isinstance(invalid, types.InvalidToken) and invalid.claims is None
    assert invalid.error.code == "expired"
    assert valid.to_json() == VALID and invalid.to_json()["valid"] is False
    assert not types.introspection_verdict(INVALID) and types.introspection_verdict({"valid": True, "claims": {}})
    assert types.jws_verdict({"valid": True, "payload": "text"}).content == b"text"
    assert types.jwe_verdict({"valid": True, "plaintextBase64": "AA=="}).content == b"\0"
    assert not types.jws_verdict({**INVALID, "header": {"alg": "none"}})


@pytest.mark.parametrize("value", [{"valid": "false"}, {"valid": 1}, {"valid": False}, {"valid": True}, {}])
def test_a_verdict_of_another_shape_is_none(value: dict[str, object]) -> None:
    """A verdict without claims or reason that counts as valid."""
    with pytest.raises(KeyError):
        types.token_verdict(value)


def decision(authorized: object) -> dict[str, object]:
    return {"id": "a", "authorized": authorized, "source": "local", "ageMs": 0}


@pytest.mark.parametrize(
    ("outcome", "decisions", "expected"),
    [
        ("response", [True], True),
        ("response", [True, True], True),
        ("response", [True, False], False),
        ("response", ["false"], False),
        ("response", [1], False),
        ("response", [], False),
        ("failure", [], False),
        ("failure", [True], False),
    ],
)
def test_only_permits_are_true(outcome: str, decisions: list[object], expected: bool) -> None:
    """`if client.preauthorize(…)` or `if decision` that lets everybody pass."""
    members = {"outcome": outcome, "decisions": [decision(one) for one in decisions], "unhonoredFeatures": []}
    found = types.Preauthorization.from_json(members)
    assert bool(found) is expected
    assert [bool(one) for one in found.decisions] == [one is True for one in decisions]
