"""Section 4.1: which URLs are fetched, and where redirects lead.

The tables of texts are in Swift: ResourceURLTests, RedirectTests, HTTPURLTests, HTTPURLResolutionTests. Here is a case
of each kind.
"""
from __future__ import annotations

import json
from typing import Any, Callable, Dict
from urllib.parse import quote

import pytest

from harness import expect
from harness.connection import Connection
from harness.playground import Playground
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]
Connect = Callable[..., Connection]


def fetch(connection: Connection, path: str, **params: Any) -> Dict[str, Any]:
    return connection.call("fetchResource", {"resource": "open", "path": path, **params})


def untouched(playground: Playground) -> bool:
    counters = playground.statistics()
    return counters["openRequests"] == 0 and counters["resourceRequests"] == 0


@pytest.mark.parametrize("path", ["echo", "/echo"])
def test_a_relative_path_is_appended_with_or_without_a_leading_slash(
    connection: Connection, playground: Playground, path: str
) -> None:
    assert fetch(connection, path)["url"] == playground.base + "/open/echo"


def test_a_base_url_without_a_slash_at_its_end(start: Start, connect: Connect, playground: Playground) -> None:
    connection = connect(start({"resources": {"open": {"baseUrl": playground.base + "/open"}}}))
    assert fetch(connection, "echo")["url"] == playground.base + "/open/echo"


@pytest.mark.parametrize("path", ["echo/a%20b", "echo/~a-._!$&'()*+,"])
def test_what_stands_in_a_path_arrives_as_it_stands(connection: Connection, path: str) -> None:
    assert json.loads(fetch(connection, path)["body"])["path"] == "/open/" + path


@pytest.mark.parametrize(
    "path",
    ["../resource/orders", "echo/%2e%2e/%2e%2e/resource/orders", "..%2Fresource%2Forders", "..\\resource\\orders"],
)
def test_a_relative_path_cannot_climb_out_of_its_base(connection: Connection, playground: Playground, path: str) -> None:
    message = connection.answer_to(connection.request("fetchResource", {"resource": "open", "path": path}))
    if "error" in message:
        assert message["error"]["code"] in (1006, 1007), message
        expect.fault(message["error"], message["error"]["code"])
        assert untouched(playground)
    else:
        # Sent, but as it stands and under the base: nobody has been fooled.
        assert message["result"]["url"].startswith(playground.base + "/open/")
        assert message["result"]["status"] == 404
        assert playground.statistics()["resourceRequests"] == 0


@pytest.mark.parametrize(
    "path",
    ["//127.0.0.1:1/x", "http://", "file:///etc/passwd", "echo\r\nX: y", "\u0000", "http://user:pass@{host}/open/echo"],
)
def test_other_urls_are_refused(connection: Connection, playground: Playground, path: str) -> None:
    host = playground.base.replace("http://", "")
    error = connection.error("fetchResource", {"resource": "open", "path": path.replace("{host}", host)})
    assert error["code"] in (1006, 1007, -32602), error
    expect.fault(error, error["code"])
    assert untouched(playground)


def test_an_absolute_url_under_the_base_is_fetched(connection: Connection, playground: Playground) -> None:
    assert fetch(connection, playground.base + "/open/echo")["status"] == 200
    assert fetch(connection, playground.base.replace("http", "HTTP") + "/open/echo")["status"] == 200


@pytest.mark.parametrize(
    "path", ["/resource/orders", "/openecho", "/open/%2e%2e/resource/orders"]
)
def test_an_absolute_url_beside_the_base_is_not(connection: Connection, playground: Playground, path: str) -> None:
    error = connection.error("fetchResource", {"resource": "open", "path": playground.base + path})
    assert error["code"] in (1006, 1007), error
    assert untouched(playground)


def test_another_origin_is_not_allowed(connection: Connection, playground: Playground) -> None:
    other = [
        "http://127.0.0.1:1/open/echo", "http://127.0.0.2:%d/open/echo" % playground.port,
        "https://127.0.0.1:%d/open/echo" % playground.port,
    ]
    for url in other:
        error = connection.error("fetchResource", {"resource": "open", "path": url})
        assert error["code"] in (1006, 1007), (url, error)
    assert untouched(playground)


def test_additional_origins_may_be_configured_with_a_path(
    start: Start, connect: Connect, start_playground: Any
) -> None:
    other = start_playground()
    connection = connect(start({"resources": {"open": {"additionalOrigins": [other.base + "/open/echo/"]}}}))
    assert fetch(connection, other.base + "/open/echo/x")["url"] == other.base + "/open/echo/x"
    expect.fault(connection.error("fetchResource", {"resource": "open", "path": other.base + "/open/binary"}), 1007)


def test_additional_origins_may_be_configured_without_a_path(
    start: Start, connect: Connect, start_playground: Any
) -> None:
    other = start_playground()
    connection = connect(start({"resources": {"open": {"additionalOrigins": [other.base]}}}))
    assert fetch(connection, other.base + "/open/echo")["status"] == 200


def test_plain_http_needs_the_development_switch(start: Start, connect: Connect, playground: Playground) -> None:
    https = {"baseUrl": "https://127.0.0.1:1/open/"}
    changes = {"development": None, "issuers": None, "resources": {"orders": None, "open": https}}
    connection = connect(start(changes))
    error = connection.error("fetchResource", {"resource": "open", "path": playground.base + "/open/echo"})
    assert error["code"] in (1006, 1007), error
    assert untouched(playground)


def redirect(to: str, status: int = 302) -> str:
    return f"redirect?status={status}&to={quote(to, safe='')}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(connection: Connection, playground: Playground, status: int) -> None:
    result = fetch(connection, redirect("/open/echo/there", status))
    assert result["status"] == 200
    assert result["url"] == playground.base + "/open/echo/there"


def test_redirects_may_be_relative(connection: Connection, playground: Playground) -> None:
    assert fetch(connection, redirect("echo/x"))["url"] == playground.base + "/open/echo/x"
    assert fetch(connection, redirect("?to=%2Fopen%2Fecho&status=302"))["url"] == playground.base + "/open/echo"


def test_redirects_are_not_followed_when_not_wanted(connection: Connection, playground: Playground) -> None:
    result = fetch(connection, redirect("/open/echo"), followRedirects=False)
    assert result["status"] == 302
    assert result["headers"]["location"] == ["/open/echo"]
    assert playground.statistics()["openRequests"] == 1


def test_a_303_becomes_a_get_without_a_body(connection: Connection) -> None:
    result = fetch(connection, redirect("/open/echo", 303), method="POST", body="secret", headers={"Content-Type": "text/plain"})
    seen = json.loads(result["body"])
    assert seen["method"] == "GET" and seen["body"] == ""
    assert "content-type" not in seen["headers"]


@pytest.mark.parametrize("status", [307, 308])
def test_a_307_and_308_keep_method_and_body(connection: Connection, status: int) -> None:
    result = fetch(connection, redirect("/open/echo", status), method="PUT", body="kept", headers={"Content-Type": "text/plain"})
    seen = json.loads(result["body"])
    assert seen["method"] == "PUT" and seen["body"] == "kept"
    assert seen["headers"]["content-type"] == ["text/plain"]


def test_ten_redirects_are_followed(connection: Connection, playground: Playground) -> None:
    result = fetch(connection, "redirects/10")
    assert result["status"] == 200
    assert result["url"] == playground.base + "/open/redirects/0"


def test_more_than_ten_redirects_are_a_protocol_error(connection: Connection, playground: Playground) -> None:
    expect.fault(connection.error("fetchResource", {"resource": "open", "path": "redirects/11"}), 1013)
    assert playground.statistics()["openRequests"] == 11


@pytest.mark.parametrize(
    "target",
    ["/resource/orders", "https://elsewhere.example/", "//elsewhere.example/", "file:///etc/passwd"],
)
def test_a_redirect_to_a_disallowed_url_is_the_result(connection: Connection, playground: Playground, target: str) -> None:
    result = fetch(connection, redirect(target))
    assert result["status"] == 302
    assert result["headers"]["location"] == [target]
    assert playground.statistics()["resourceRequests"] == 0


def test_a_redirect_without_a_location_is_the_result(connection: Connection) -> None:
    assert fetch(connection, "status/302")["status"] == 302


def test_across_origins_only_harmless_headers_go_along(
    start: Start, connect: Connect, playground: Playground, start_playground: Any
) -> None:
    other = start_playground()
    connection = connect(start({"resources": {"open": {"additionalOrigins": [other.base]}}}))
    headers = {
        "Accept": "application/json", "Accept-Language": "de", "X-Api-Key": "secret", "Cookie": "a=b", "Content-Type": "text/plain",
        "X-Custom": "1",
    }
    trace = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    result = fetch(connection, redirect(other.base + "/open/echo", 307), method="POST", body="b", headers=headers, meta=trace)
    seen = json.loads(result["body"])
    assert result["url"] == other.base + "/open/echo"
    assert seen["headers"]["accept"] == ["application/json"]
    assert seen["headers"]["accept-language"] == ["de"]
    assert seen["headers"]["content-type"] == ["text/plain"]
    assert "user-agent" in seen["headers"] and "traceparent" in seen["headers"]
    for name in ["x-api-key", "cookie", "x-custom", "authorization"]:
        assert name not in seen["headers"], name


def test_across_origins_the_token_stays_behind(start: Start, connect: Connect, start_playground: Any, playground: Playground) -> None:
    other = start_playground()
    connection = connect(start({"resources": {"orders": {"additionalOrigins": [other.base + "/open/"]}}}))
    path = "redirect?to=" + quote(other.base + "/open/echo", safe="")
    result = connection.call("fetchResource", {"resource": "orders", "path": path})
    assert result["url"] == other.base + "/open/echo"
    assert "authorization" not in json.loads(result["body"])["headers"]


def test_within_an_origin_the_token_goes_along(connection: Connection) -> None:
    result = connection.call("fetchResource", {"resource": "orders", "path": "redirect?to=/resource/echo"})
    assert "authorization" in json.loads(result["body"])["headers"]


def test_on_a_way_to_another_origin_and_back_the_token_does_not_come_back(
    start: Start, connect: Connect, playground: Playground, start_playground: Any
) -> None:
    other = start_playground()
    connection = connect(start({"resources": {"orders": {"additionalOrigins": [other.base + "/open/"]}}}))
    back = other.base + "/open/redirect?to=" + quote(playground.base + "/resource/echo", safe="")
    result = connection.call("fetchResource", {"resource": "orders", "path": "redirect?to=" + quote(back, safe="")})
    # Without the token: refused there, and no reason to renew it.
    assert result["status"] == 401 and result["url"] == playground.base + "/resource/echo"
    assert result["attempts"] == 1 and result["tokenRefreshed"] is False
    assert playground.statistics()["tokenRequests"] == 1


@pytest.mark.parametrize(
    "address",
    ["[::ffff:127.0.0.1]", "0x7f000001", "127.0.0.1:80@127.0.0.1", "localhost."],
)
def test_no_spelling_of_an_address_is_the_one_that_is_configured(
    connection: Connection, playground: Playground, address: str
) -> None:
    url = f"http://{address}:{playground.port}/open/echo"
    error = connection.error("fetchResource", {"resource": "open", "path": url})
    assert error["code"] in (1006, 1007), (url, error)
    expect.fault(error, error["code"])
    # Nor does a redirect get there.
    result = fetch(connection, redirect(url))
    assert result["status"] == 302
    assert playground.statistics()["openRequests"] == 1
