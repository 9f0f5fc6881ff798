"""What type checkers know about a verdict: mypy and pyright check this file with `make lint-python`.

A member that may be None where it cannot be, or the other way round, is an error of theirs.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import assert_type

from postern_auth import AsyncClient, Client, FetchResult, PosternError, Session
from postern_auth.testing import AsyncFakePostern, FakePostern, FetchExpectation
from postern_auth.types import (
    IntrospectionVerdict,
    InvalidToken,
    JWEVerdict,
    JWSVerdict,
    TokenVerdict,
    ValidToken,
    VerificationKey,
)


def by_truth(verdict: TokenVerdict) -> str:
    if not verdict:
        assert_type(verdict, InvalidToken)
        return verdict.error.code
    assert_type(verdict, ValidToken)
    assert_type(verdict.claims, dict[str, Any])
    assert_type(verdict.key, VerificationKey)
    return str(verdict.claims["sub"])


def by_value(verdict: TokenVerdict) -> str:
    return str(verdict.claims["sub"]) if verdict.valid is True else verdict.error.code


def by_error(verdict: TokenVerdict) -> str:
    return str(verdict.claims["sub"]) if verdict.error is None else verdict.error.code


def of_other_methods(introspected: IntrospectionVerdict, signed: JWSVerdict, encrypted: JWEVerdict) -> list[str]:
    first = str(introspected.claims["sub"]) if introspected else introspected.error.code
    second = signed.content.decode() if signed else signed.error.code
    third = encrypted.content.decode() if encrypted else encrypted.error.code
    return [first, second, third]


def of_reasons(error: PosternError) -> str:
    """A reason that is mistyped is an error of both type checkers."""
    if error.reason == "session_expired":
        return "log in"
    if error.reason == "sesion_expired":  # type: ignore[comparison-overlap]  # pyright: ignore[reportUnnecessaryComparison]
        return "never"
    if error.outcome == "not_send":  # type: ignore[comparison-overlap]  # pyright: ignore[reportUnnecessaryComparison]
        return "never"
    return "fail"


def of_fakes(fake: FakePostern, asynchronous: AsyncFakePostern) -> tuple[Client, AsyncClient]:
    """Fakes are clients, and their answers have the types of the methods."""
    orders = fake.when.fetch_resource("orders").fails("not_authenticated").returns(FetchResult.of(200, json=[]))
    assert_type(orders, FetchExpectation)
    fake.when.fetch_resource("orders").fails("not_autenticated")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    fake.when.get_session("s").returns(Session.of("alice"))
    fake.when.get_session("s").returns(FetchResult.of(200))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(fake.fetch_resource("orders"), FetchResult)
    return fake, asynchronous
