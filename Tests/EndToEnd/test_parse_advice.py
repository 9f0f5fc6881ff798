"""Section 4.4: `parseAdvice` with advice in every form, and with what only looks like it."""
from __future__ import annotations

import base64
import json
from typing import Any, Dict, List, Optional
from urllib.parse import quote, quote_plus

import pytest

from harness import expect
from harness.connection import Connection

TX = "7b8bfd4c-60fe-4271-928d-d09b94496f84"
TRANSACTION = "TransactionConditionAdvice"
SERVICE = "AuthenticateToServiceConditionAdvice"


def document(*pairs: Any) -> str:
    inside = "".join(
        f'<AttributeValuePair><Attribute name="{name}"/><Value>{value}</Value></AttributeValuePair>'
        for name, value in pairs
    )
    return f"<Advices>{inside}</Advices>"


XML = document((TRANSACTION, TX))
ADVICE = {
    "type": TRANSACTION,
    "value": TX,
    "txId": TX,
    "authIndexType": "composite_advice",
    "authIndexValue": XML,
}


def location(value: str) -> str:
    goto = "http://ig.example.com/products?_txid%3D" + TX
    return f"https://am.example.com/am/?goto={goto}&realm=/&authIndexType=composite_advice&authIndexValue={value}"


def encoded(value: Any) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


def parse(
    connection: Connection, status: int, headers: Optional[Dict[str, Any]] = None, body: Optional[str] = None
) -> Dict[str, Any]:
    params: Dict[str, Any] = {"status": status, "headers": headers or {}}
    if body is not None:
        params["body"] = body
    return connection.call("parseAdvice", params)


NOTHING: Dict[str, List[Any]] = {"advices": []}


@pytest.mark.parametrize(
    "value",
    [
        quote(XML, safe=""),
        quote_plus(XML),
        quote(quote(XML, safe=""), safe=""),
        quote(quote_plus(XML), safe=""),
        quote('"' + XML + '"', safe=""),
        quote(XML.replace('"', "'").replace("/>", "></Attribute>").replace("><", ">\n <"), safe=""),
        base64.urlsafe_b64encode(XML.encode()).decode().rstrip("="),
        base64.b64encode(XML.encode()).decode(),
    ],
)
def test_redirects(connection: Connection, value: str) -> None:
    for status in [302, 303, 307]:
        result = parse(connection, status, {"Location": location(value)})
        assert result == {"advices": [{**ADVICE, "realm": "/"}], "source": "redirect"}


def test_challenges(connection: Connection) -> None:
    advices = encoded({TRANSACTION: [TX]})
    challenge = f'SSOADVICE realm="/",advices="{advices}",am_uri="https://am.example.com/am/"'
    expected = {"advices": [{**ADVICE, "realm": "/"}], "source": "header"}
    assert parse(connection, 401, {"WWW-Authenticate": challenge}) == expected
    assert parse(connection, 401, {"www-authenticate": ["Basic realm=\"a, b\"", challenge + ","]}) == expected
    several = f'Negotiate, SSOADVICE advices={encoded({SERVICE: ["/sdk:A", "B"], "Own": ["<&>"]})}, Bearer'
    result = parse(connection, 401, {"WWW-Authenticate": several})
    assert [(advice["type"], advice["value"]) for advice in result["advices"]] == [
        (SERVICE, "/sdk:A"),
        (SERVICE, "B"),
        ("Own", "<&>"),
    ]
    assert "txId" not in result["advices"][0] and "realm" not in result["advices"][0]


def test_rfc_9470_and_uma(connection: Connection) -> None:
    challenge = 'Bearer error="insufficient_user_authentication", acr_values="gold silver", max_age="5"'
    assert parse(connection, 401, {"WWW-Authenticate": challenge}) == {
        "advices": [{"type": "insufficient_user_authentication", "acrValues": ["gold", "silver"], "maxAge": 5}],
        "source": "header",
    }
    challenge = 'UMA realm="photos", as_uri="https://as.example.com", ticket="016f84e8"'
    assert parse(connection, 401, {"WWW-Authenticate": challenge}) == {
        "advices": [{"type": "uma_ticket", "value": "016f84e8", "realm": "photos"}],
        "source": "header",
    }


def test_bodies(connection: Connection) -> None:
    row = {"resource": "https://x", "actions": {}, "advices": {TRANSACTION: [TX], "Own": ["a&b"]}, "ttl": 0}
    own = {
        "type": "Own",
        "value": "a&b",
        "authIndexType": "composite_advice",
        "authIndexValue": document(("Own", "a&amp;b")),
    }
    for body in [row, [row], [{"advices": {}}, row]]:
        for status in [200, 403]:
            result = parse(connection, status, {"content-type": "text/plain"}, json.dumps(body))
            assert result == {"advices": [ADVICE, own], "source": "body"}
    bare = json.dumps({TRANSACTION: [TX], "code": 403, "errors": ["no"]})
    for status in [401, 403]:
        assert parse(connection, status, {}, bare) == {"advices": [ADVICE], "source": "body"}
    for status in [200, 400, 404, 500]:
        assert parse(connection, status, {}, bare) == NOTHING


def test_what_is_no_advice_is_none(connection: Connection) -> None:
    entity = '<!DOCTYPE A [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + document(("A", "&e;"))
    bomb = "<!DOCTYPE A [" + "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9)) + "]>"
    for value in [entity, bomb + document(("A", "&e9;")), "<a>" * 5000, document(("A", "x" * 5000)), XML + XML, ""]:
        assert parse(connection, 302, {"Location": location(quote(value, safe=""))}) == NOTHING
    for value in ["%", "%3C%", "%FF%FE", "%2525" * 5000]:
        assert parse(connection, 302, {"Location": location(value)}) == NOTHING
    for value in ["SSOADVICE", 'SSOADVICE advices="', 'SSOADVICE advices="e30="', "," * 60000, '"' * 3000]:
        assert parse(connection, 401, {"WWW-Authenticate": value}) == NOTHING
    for body in ["", "null", "[" * 5000, '{"advices":{"A":[' + "[" * 100 + "]" * 100 + "]}}", "\u0000", "x" * 300000]:
        assert parse(connection, 403, {}, body) == NOTHING
    assert parse(connection, 200) == NOTHING
    assert connection.call("getInfo")["name"]


def test_params_are_checked(connection: Connection) -> None:
    for params, path in [
        ({}, "/status"),
        ({"status": 99, "headers": {}}, "/status"),
        ({"status": 600, "headers": {}}, "/status"),
        ({"status": "401", "headers": {}}, "/status"),
        ({"status": 401}, "/headers"),
        ({"status": 401, "headers": []}, "/headers"),
        ({"status": 401, "headers": {"a": 1}}, "/headers/a"),
        ({"status": 401, "headers": {}, "body": {}}, "/body"),
        ({"status": 401, "headers": {}, "bodyBase64": ""}, "/bodyBase64"),
    ]:
        expect.fault(connection.error("parseAdvice", params), -32602, path)
