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


NORMALISED = (
    "RFC 3986 2.3: URIs that differ in the replacement of an unreserved character with its corresponding"
    " percent-encoded US-ASCII octet are equivalent"
)

REQUESTS: List[RequestDivergence] = [
    *(
        RequestDivergence(
            r"(target-/up/(\"a\"|a`b|\{a\}|a\|b|a\^b|<a>)|listener-valid-(brackets and bars in the query"
            r"|characters in the path that no URL has|the same in absolute form))$", peer,
            "RFC 3986 2.4: what is no character of a URI is percent-encoded before it is sent; programs leave these,"
            " and servers read them as they read their encoding")
        for peer in ("nginx", "haproxy")
    ),
    RequestDivergence(
        r"(host- ?|listener-valid-empty Host( without space)?)$", "nginx",
        "RFC 9112 3.2: where the target has no authority, the Host field is sent with an empty value"),
    RequestDivergence(
        r"(noise-12|noise-28|noise-61|length-short|length-none-with-body|listener-valid-methods that no parser knows)$",
        "nginx",
        "RFC 9110 9.1: a method is any token; nginx takes capital letters only"),
    RequestDivergence(
        r"line-method-PRI$", "haproxy", "RFC 9113 3.4 reserves PRI with the target * only"),
    RequestDivergence(
        r"(target-http://postern\?q|listener-valid-absolute form with query only)$", "haproxy",
        "RFC 9112 3.2.2: absolute-form is an absolute-URI, whose path may be empty (RFC 3986 3.3) before a query"),
    RequestDivergence(r"host-\.\.$", "nginx", "RFC 3986 3.2.2: reg-name is any number of unreserved characters"),
    RequestDivergence(
        r"hop-get-Connection: close.*keep-al", "nginx",
        "RFC 9112 9.3: if the close connection option is present, the connection will not persist after the current"
        " response"),
    *(
        RequestDivergence(
            r"hop-get-Connection: X-T", peer,
            "RFC 9110 7.6.1: for each connection-option, an intermediary MUST remove any field with the same name")
        for peer in ("nginx", "haproxy")
    ),
    *(
        RequestDivergence(
            r"(valid-target-/up/(%41|a\?q=%2e%2e/)|listener-valid-percent in the query)$", peer, NORMALISED)
        for peer in ("nginx", "haproxy")
    ),
    RequestDivergence(
        r"valid-value-X-T!#", "nginx", "RFC 9110 5.1: a field name is a token; nginx drops unusual ones"),
    RequestDivergence(
        r"(valid-coding-blanks|listener-valid-spaces and tabs around a value)$", "nginx",
        "RFC 9110 5.5: whitespace around a field value is excluded before it is evaluated, and 5.6.3: a tab is some"),
]

#: The same of responses: what the gateway passes on.
RESPONSES: List[RequestDivergence] = [
    *(
        RequestDivergence(
            r"field-fold", peer,
            "RFC 9112 5.2: a gateway replaces the message by a 502 (nginx), or each obs-fold with one or more spaces"
            " (here one, haproxy as many as the bytes it replaces)")
        for peer in ("nginx", "haproxy")
    ),
    *(
        RequestDivergence(
            r"line-2$", peer,
            "RFC 9112 2.3 has two numbers in a version; libcurl takes HTTP/2 alone, and reads the message as HTTP/1.1")
        for peer in ("nginx", "haproxy")
    ),
]
