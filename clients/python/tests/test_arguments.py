"""`params`, `json`, `data` and timeouts in seconds become the members of the protocol."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import pytest
from fakes import Fakes

import postern_auth
from postern_auth import AsyncClient, Client, FetchResult
from postern_auth._arguments import compose, milliseconds, with_query


@pytest.mark.parametrize(
    ("path", "params", "expected"),
    [
        ("orders", {"year": 2026}, "orders?year=2026"),
        ("orders?a=1", {"b": "2"}, "orders?a=1&b=2"),
        ("orders?", {"b": "2"}, "orders?b=2"),
        ("orders?a=1#part", {"b": "2"}, "orders?a=1&b=2#part"),
        ("orders", {"q": "a b&c/ü"}, "orders?q=a%20b%26c%2F%C3%BC"),
        ("orders", {"tag": ["x", "y"], "none": None, "on": True, "off": False}, "orders?tag=x&tag=y&on=true&off=false"),
        ("orders", [("a", 1), ("b", 2), ("a", 3.5)], "orders?a=1&b=2&a=3.5"),
        ("orders", (("a", 1),), "orders?a=1"),
        ("orders", "?a=1&b=%20", "orders?a=1&b=%20"),
        ("https://api.example/x", {"a": 1}, "https://api.example/x?a=1"),
        ("orders", {}, "orders"),
        ("orders", {"a": None}, "orders"),
        ("", {"a": 1}, "?a=1"),
    ],
)
def test_params_are_added_to_the_query(path: str, params: Any, expected: str) -> None:
    assert with_query(path, params) == expected


def test_json_is_a_body_with_its_type() -> None:
    members: dict[str, Any] = {"headers": {"X-One": "1"}}
    body = compose(members, None, params=None, json={"a": ["ü", None]}, data=None)
    assert body == '{"a":["ü",null]}'
    assert members["headers"] == {"X-One": "1", "Content-Type": "application/json"}
    members = {"headers": {"content-TYPE": "application/merge-patch+json"}}
    assert compose(members, None, params=None, json=[], data=None) == "[]"
    assert members["headers"] == {"content-TYPE": "application/merge-patch+json"}, "that of the caller stays"
    with pytest.raises(ValueError, match="JSON"):
        compose({}, None, params=None, json=math.nan, data=None)


@pytest.mark.parametrize("data", [{"a": ["1", 2], "b": "x y"}, [("a", "1"), ("a", 2), ("b", "x y")]])
def test_data_is_a_form(data: Any) -> None:
    members: dict[str, Any] = {}
    assert compose(members, None, params=None, json=None, data=data) == "a=1&a=2&b=x+y"
    assert members["headers"] == {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize("data", ["text", b"bytes", bytearray(b"bytes"), memoryview(b"bytes")])
def test_data_that_is_no_form_is_a_body(data: Any) -> None:
    members: dict[str, Any] = {}
    assert compose(members, None, params=None, json=None, data=data) is data
    assert members == {}, "no type is invented"


@pytest.mark.parametrize("value", [b"ab", bytearray(b"ab"), memoryview(b"ab"), [b"ab"], ["x", b"ab"]])
def test_bytes_are_no_value(value: Any) -> None:
    """A query or a form with the numbers of the bytes, or with Python's notation for them."""
    with pytest.raises(TypeError, match="decode it to text"):
        with_query("orders", {"a": value})
    with pytest.raises(TypeError, match="decode it to text"):
        compose({}, None, params=None, json=None, data={"a": value})


@pytest.mark.parametrize(
    ("members", "body", "json", "data", "named"),
    [
        ({}, None, {}, {}, "`json` and `data`"),
        ({}, "b", {}, None, "`json` and `body`"),
        ({}, "b", None, "d", "`data` and `body`"),
        ({"parameters": {"a": 1}}, None, {}, None, "`json` and `parameters`"),
        ({"multipart": []}, None, None, {}, "`data` and `multipart`"),
    ],
)
def test_two_bodies_are_an_error(members: dict[str, Any], body: Any, json: Any, data: Any, named: str) -> None:
    """A body that is dropped without a word."""
    with pytest.raises(TypeError, match=f"{named} exclude each other"):
        compose(members, body, params=None, json=json, data=data)


def test_seconds_become_milliseconds() -> None:
    assert milliseconds(None, "timeout") is None
    assert milliseconds(math.inf, "timeout") is None
    assert milliseconds(1.5, "timeout") == 1500
    assert milliseconds(1e-9, "timeout") == 1
    assert milliseconds(3600, "timeout") == 600_000, "the protocol's longest"
    for wrong in (0, -1, -math.inf, math.nan):
        with pytest.raises(ValueError, match="total_timeout must be more than 0 seconds"):
            milliseconds(wrong, "total_timeout")


def test_the_protocol_gets_them() -> None:
    """Arguments that one of the two clients, or one of the methods, leaves out."""
    fakes = Fakes(lambda fake: fake.when.fetch_resource("r").returns(FetchResult.of()))
    decisions = fakes.blocking.when.preauthorize().fails("overloaded")
    arguments: dict[str, Any] = {"method": "POST", "params": {"a": 1}, "json": {"b": 2}, "timeout": 5}

    fakes.blocking.fetch_resource("r", "p", **arguments)
    fakes.blocking.fetch_resource("r", "p")
    asyncio.run(fakes.asynchronous.fetch_resource("r", "p", **arguments))
    with pytest.raises(postern_auth.PosternError):
        fakes.blocking.preauthorize(["x"], decision_timeout=2)
    first, plain, _, second = fakes.params
    assert {**first, "meta": None} == {**second, "meta": None}
    assert first["path"] == "p?a=1" and json.loads(first["body"]) == {"b": 2} and first["timeoutMs"] == 5000
    assert first["headers"] == {"Content-Type": "application/json"}
    assert "timeoutMs" not in plain, "the resource's own timeout"
    assert decisions.calls[0].params["timeoutMs"] == 2000


def test_the_resource_gets_them(client: Client) -> None:
    echo = client.fetch_resource("orders", "echo?x=1", method="PUT", params={"y": [2, 3]}, data={"a": "b c"}).json()
    assert echo["body"] == "a=b+c"
    assert echo["headers"]["content-type"] == ["application/x-www-form-urlencoded"]
    assert "x=1&y=2&y=3" in json.dumps(echo)
    with client.stream_resource("open", "echo", method="POST", params={"y": 1}, json={"a": 1}) as stream:
        assert json.loads(json.loads(stream.read())["body"]) == {"a": 1}


def test_an_explicit_timeout_takes_precedence_over_the_resource(start: Any) -> None:
    """A call that was given 10 seconds and ends with the resource's half second."""
    sidecar = start({"resources": {"open": {"timeout": "500ms"}}})
    with Client(sidecar.path) as client:
        with pytest.raises(Exception, match="deadline_exceeded"):
            client.fetch_resource("open", "slow?ms=1500")
        assert client.fetch_resource("open", "slow?ms=1500", timeout=10).ok


@pytest.mark.parametrize("seconds", [1e8, 1e9, 1e10, 1e300])
def test_a_very_long_timeout_is_accepted(client: Client, seconds: float) -> None:
    """A number that no system call, and no sidecar, takes."""
    assert client.health(timeout=seconds).status
    assert client.fetch_resource("open", "echo", timeout=seconds).ok

    async def call() -> bool:
        async with AsyncClient(client.path) as own:
            return (await own.fetch_resource("open", "echo", timeout=seconds)).ok

    assert asyncio.run(call())
