"""Requests that parsers are known to read differently, and valid ones: byte sequences at the borders of RFC 9112."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Union

#: What follows each case on the same connection. Nothing of it may reach a server behind a rejected request.
FOLLOWING = "GET /up/SMUGGLED HTTP/1.1\r\nHost: postern\r\nConnection: close\r\n\r\n"
HOST = b"Host: postern\r\n"
LISTENER_TABLE = Path(__file__).resolve().parents[1] / "EndToEnd" / "gateway-requests.json"
Text = Union[str, bytes]


@dataclass(frozen=True)
class RequestCase:
    """The first bytes of a connection."""

    name: str
    data: bytes
    #: Whether every server has to forward it.
    is_valid: bool = False


def octets(text: Text) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1")


def get(fields: Text = b"", target: Text = "/up/a", version: Text = "HTTP/1.1", host: bytes = HOST) -> bytes:
    """A GET request with further fields; each of them ends with its own CR LF."""
    return b"GET " + octets(target) + b" " + octets(version) + b"\r\n" + host + octets(fields) + b"\r\n"


def post(fields: Text, body: Text = b"", version: Text = "HTTP/1.1") -> bytes:
    return b"POST /up/a " + octets(version) + b"\r\n" + HOST + octets(fields) + b"\r\n" + octets(body)


def chunked(body: Text, fields: Text = b"") -> bytes:
    return post(b"Transfer-Encoding: chunked\r\n" + octets(fields), body)


def cases() -> List[RequestCase]:
    """All of them; each has a name of its own."""
    families: Dict[str, Iterator[RequestCase]] = {
        "line": request_lines(), "target": targets(), "host": hosts(), "name": field_names(), "value": field_values(),
        "ending": line_endings(), "length": content_lengths(), "coding": transfer_encodings(), "chunk": chunks(),
        "trailer": trailers(), "hop": hop_by_hop(), "size": sizes(), "noise": noise(),
    }
    made = [
        RequestCase(f"{family}-{case.name}", case.data)
        for family, members in families.items() for case in members
    ]
    made += [RequestCase(f"valid-{case.name}", case.data, True) for case in valid()]
    made += listener_table()
    names = [case.name for case in made]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    return made


def listener_table() -> List[RequestCase]:
    """The requests that the listener's own tests have, for this gateway's resource."""
    table = json.loads(LISTENER_TABLE.read_text(encoding="utf-8"))

    def data(text: str) -> bytes:
        return octets(re.sub(r"(?i)( |http://postern)/a", r"\1/up/a", text))

    return [
        RequestCase(f"listener-{kind}-{entry['name']}", data(entry["request"]))
        for kind, entries in table.items() for entry in entries
    ]


def named(**made: bytes) -> Iterator[RequestCase]:
    """Cases with names that are identifiers."""
    return (RequestCase(name.replace("_", "-"), data) for name, data in made.items())


def each(template: str, values: List[Text], make) -> Iterator[RequestCase]:
    """One case for each value, which the case's name shows."""
    return (RequestCase(template.format(ascii(octets(value))[2:-1][:40]), make(octets(value))) for value in values)


def request_lines() -> Iterator[RequestCase]:
    line = lambda text: octets(text) + b"\r\n" + HOST + b"\r\n"
    yield from each("version-{}", [
        "http/1.1", "HTTP/1.2", "HTTP/2.0", "HTTP/1.10", "HTTP/01.1", "HTTP/1", "HTTP/1.", "HTTP/.1", "HTTP/1.1x",
        "HTTP/1,1", "HTTP /1.1", "HTTP/ 1.1", "HTTPS/1.1", "ICY/1.0", "HTTP/1.1 ", "HTTP/1.1\t", "HTTP/1.1 HTTP/1.1",
        "HTTP/0.9", "HTTP/3.0", "HTTP/-1.1", "HTTP/1.1\0", "HTTP/1.\xb1", "XTTP/1.1", "HTTP/11", "HTTP/1.1;a",
        "HTTP/9.9", "HTTP//1.1", "",
    ], lambda value: get(version=value))
    yield from each("method-{}", [
        "", "GE T", "G(T", "G@T", "GET:", "G,T", "G/T", "GET\0", "GET\x7f", "G\xe9T", "\"GET\"", "[GET]", "G{T", "G=T",
        "get", "Get", "GETT", "FOO", "X" * 300, "CONNECT", "TRACE", "TRACK", "PRI", "HTTP/1.1",
    ], lambda value: line(value + b" /up/a HTTP/1.1"))
    yield from each("blank-{}", ["  ", "\t", " \t", "\x0b", "\x0c", "\xa0", "\r", "\0", "\x1f"],
                    lambda value: line(b"GET" + value + b"/up/a HTTP/1.1"))
    yield from each("blank-behind-{}", ["  ", "\t", "\t ", "\x0b", "\x0c", "\x85", "\r", "\0"],
                    lambda value: line(b"GET /up/a" + value + b"HTTP/1.1"))
    yield from each("before-{}", [
        " ", "\t", "\r", "\n", "\n\n", "\r\n\r\n", "\r\n" * 10, "\0", "\xef\xbb\xbf", "\r\n ", "\r\r\n", "a: b\r\n",
        "\x16\x03\x01",
    ], lambda value: value + get())
    yield from named(
        no_version=b"GET /up/a\r\n" + HOST + b"\r\n", nine=b"GET /up/a\r\n\r\n", only_method=line("GET"),
        preface=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        preface_and_settings=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
        proxy=b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n" + get(),
        in_fields=line("GET /up/a HTTP/1.1\r\nGET /up/b HTTP/1.1"),
        folded=b"GET /up/a\r\n HTTP/1.1\r\n" + HOST + b"\r\n",
    )


def targets() -> Iterator[RequestCase]:
    yield from each("{}", [
        "/up/a#f", "/up/a#", "/up/a?q#f", "/up/\\a", "/up\\..\\a", "/up/\xe9", "/up/\xc3\xa9", "/up/%zz", "/up/%",
        "/up/%0", "/up/%00", "/up/%0d%0a", "/up/a/../b", "/up/a/./b", "/up/..", "/../up/a", "/up/%2e%2e/a",
        "/up/%2E./a", "/up/..%2fa", "/up/%252e%252e/a", "//up/a", "/up//a", "/up/a//", "/./up/a", "/up/a\x7f",
        "/up/a\x01", "/up/a\0b", "/up/a\tb", "/up/a\x0bb", "/up/<a>", "/up/\"a\"", "/up/{a}", "/up/a|b", "/up/a^b",
        "/up/a`b", "/up/a;b=../c", "/up/a%5cb", "/up/%u0061", "/up/a\x80", "/up/a?\xff", "/up/a?%", "/up/a?a b", "up/a",
        "?q", "*", "**", "/*", "a", ":", "postern:80", "postern", "http://other/up/a", "http://a@postern/up/a",
        "http://postern@other/up/a", "https://postern/up/a", "ftp://postern/up/a", "http:/up/a", "http:///up/a",
        "http:up/a", "http://postern", "http://postern?q", "http://postern#f", "http://postern:/up/a",
        "http://postern:x/up/a", "http://postern:99999/up/a", "http://postern:81/up/a", "http://postern\\up/a",
        "http://[::1/up/a", "http://[::1]x/up/a", "http://pos tern/up/a", "http://postern,other/up/a",
        "http://%70ostern/up/a", "//postern/up/a", "HTTP://other/up/a", "javascript://postern/up/a",
        "/up/" + "a" * 9_000, "/up/a?" + "a" * 9_000,
    ], lambda value: get(target=value))
    yield RequestCase("asterisk-options", b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n")
    yield RequestCase("connect", b"CONNECT postern:80 HTTP/1.1\r\nHost: postern:80\r\n\r\n")
    yield RequestCase("connect-path", b"CONNECT /up/a HTTP/1.1\r\n" + HOST + b"\r\n")


def hosts() -> Iterator[RequestCase]:
    yield from each("{}", [
        "", " ", "a@postern", "postern,other", "postern, postern", "postern other", "postern/", "postern/up",
        "http://postern", "postern:", "postern:x", "postern:99999", "postern:80:80", "postern:-1", "postern: 80",
        "[::1", "::1", "[::1]x", "[x]", "[]", "postern\tother", "postern\0", "postern\x0b", "post\xe9rn", "%70ostern",
        "postern?", "postern#", "postern\\other", "\"postern\"", "<postern>", "postern;", "*", "postern:80, other",
        "pos\x7ftern", "..", ":80", "postern\x01",
    ], lambda value: get(host=b"Host: " + value + b"\r\n"))
    yield from named(
        missing=get(host=b""), twice=get(host=HOST + HOST), two=get(host=HOST + b"Host: other\r\n"),
        other_first=get(host=b"Host: other\r\n" + HOST), two_cases=get(host=HOST + b"HOST: other\r\n"),
        blank_before_colon=get(host=b"Host : postern\r\n"), tab_before_colon=get(host=b"Host\t: postern\r\n"),
        blank_before_name=get(host=b" Host: postern\r\n"), folded=get(host=b"Host: postern\r\n .other\r\n"),
        folded_empty=get(host=b"Host:\r\n postern\r\n"), second_blank_before_colon=get(host=HOST + b"Host : other\r\n"),
        second_folded=get(host=HOST + b" Host: other\r\n"), second_by_lf=get(host=b"Host: postern\nHost: other\r\n"),
        second_by_cr=get(host=b"Host: postern\rHost: other\r\n"), two_in_http_1_0=get(host=HOST + HOST,
        version="HTTP/1.0"),
        against_target=get(target="http://postern/up/a", host=b"Host: other\r\n"),
        missing_beside_target=get(target="http://postern/up/a", host=b""),
        empty_beside_target=get(target="http://postern/up/a", host=b"Host:\r\n"),
    )


def field_names() -> Iterator[RequestCase]:
    yield from each("{}",
        [octets("X-T" + mark + "A") for mark in "()<>@,;\\\"/[]?={} \t\0\x01\x0b\x0c\x1f\x7f\x80\xe9\xff"],
                    lambda value: get(value + b": 1\r\n"))
    yield from each("line-{}", [
        ": 1", " : 1", ":", "X-T", "X-T 1", "X-T=1", "=1", "\x00: 1", "X-T : 1", "X-T\t: 1", "X-T\x0b: 1", "X-T\xa0: 1",
        "X-T\0: 1", " X-T: 1", "\tX-T: 1", " ", "\t", "\x0bX-T: 1", "\xef\xbb\xbfX-T: 1", "HTTP/1.1 200 OK",
        "GET /up/b HTTP/1.1", "://", "X-T:1:",
    ], lambda value: get(value + b"\r\n"))
    yield from each("first-{}", [" X-T: 1", "\tX-T: 1", " ", ": 1", "X-T : 1", "X-T"],
        lambda value: get(host=value + b"\r\n" + HOST))
    yield from each("underscore-{}", ["Content_Length: 5", "Transfer_Encoding: chunked", "Content.Length: 5"],
                    lambda value: post(value + b"\r\n"))
    yield from each("underscore-get-{}", ["Postern_Key: 1", "Postern_Session: s", "X_Forwarded_For: 1", "Host_: a"],
                    lambda value: get(value + b"\r\n"))


def field_values() -> Iterator[RequestCase]:
    marks = "\0\x01\x02\x07\x08\x0b\x0c\x0e\x1b\x1f\x7f\x80\xa0\xff\r\n"
    yield from each("{}", [octets("a" + mark + "b") for mark in marks], lambda value: get(b"X-T: " + value + b"\r\n"))
    yield from each("end-{}", [octets("a" + mark) for mark in "\0\x01\x0b\x0c\x7f\x85\xa0"],
                    lambda value: get(b"X-T: " + value + b"\r\n"))
    yield from each("fold-{}", [
        "\r\n b", "\r\n\tb", "\r\n  b", "\r\n ", "\r\n\t", "\r\n \r\n b", "\r\n\x0bb", "\n b", "\r b", "\r\n X-T-B: 2",
    ], lambda value: get(b"X-T: a" + value + b"\r\n"))
    yield from each("hidden-{}", [
        "\nX-T-B: 2", "\rX-T-B: 2", "\r\r\nX-T-B: 2", "\n\rX-T-B: 2", "\0\r\nX-T-B: 2", "\n\n", "\r\r",
        "\n\nGET /up/b HTTP/1.1\r\nA: b", "\r\rGET /up/b HTTP/1.1\r\nA: b", "\r\n\n", "\n\r\n",
        "\r\n\rGET /up/b HTTP/1.1\r\nA: b",
    ], lambda value: get(b"X-T: a" + value + b"\r\n"))


def line_endings() -> Iterator[RequestCase]:
    plain = get("X-T: a\r\n")
    framed = post("Content-Length: 5\r\nX-T: a\r\n", "hello")
    yield from each("all-{}", ["\n", "\r", "\n\r", "\r\r\n", "\r\n\n", "\x0b", "\x0c", "\x1e", "\x85",
        "\u2028".encode()],
                    lambda value: plain.replace(b"\r\n", value))
    lines = plain.split(b"\r\n")
    for number, where in enumerate(["line", "host", "field", "empty"]):
        for text in ["\n", "\r", "\r\r\n", "\n\r"]:
            ends = [b"\r\n"] * 4
            ends[number] = octets(text)
            data = b"".join(part + end for part, end in zip(lines, ends))
            yield RequestCase(f"{where}-{text!r}", data)
    yield from each("body-{}", ["\n", "\r", "\n\r"], lambda value: framed.replace(b"\r\n", value))


def content_lengths() -> Iterator[RequestCase]:
    yield from each("{}", [
        "", " ", "+5", "-5", "0x5", "5,5", "5, 5", "5,", ",5", "5 5", "5;", "5.0", "5e0", "1_0", "\xb2", "5\0", "5\x0b",
        "\x0b5", "5\x0c", "99999999999999999999", "18446744073709551621", "9223372036854775808", "-0", "+0", "0x0",
        "0,0", "0, 5", "5, 0", "\"5\"", "'5'", "five", "5a", "a5", "0 5", "5\t5", "(5)", "5\xa0", "\xa05", "05h", "5\r",
        "1e1", "-1", "4294967301", "Infinity", "NaN", "00x5", "0" * 40 + "5",
    ], lambda value: post(b"Content-Length: " + value + b"\r\n", "hello"))
    yield from each("two-{}", ["5|5", "5|0", "0|5", "5|6", "6|5", "5|", "|5", "5|5,5", "5|05", "5|-1", "5|x", "0|0"],
                    lambda value: post(b"".join(b"Content-Length: " + each + b"\r\n" for each in value.split(b"|")),
                    "hello"))
    yield from each("field-{}", [
        "Content-Length : 5", "Content-Length\t: 5", " Content-Length: 5", "Content-Length 5", "Content-Length\0: 5",
        "Content-Length:\r\n 5", "Content-Length: 5\r\n 5", "Content-Length: \r\n\t5", "Content Length: 5",
        "Content-Length:: 5", "X: y\nContent-Length: 5", "X: y\rContent-Length: 5",
        "Content-Length: 0\nContent-Length: 5", "Content-Length: 5\r\nContent-Length : 0", "\xffContent-Length: 5",
        "Content-Length: 0\r\n Content-Length: 5",
    ], lambda value: post(value + b"\r\n", "hello"))
    yield from named(
        longer=post("Content-Length: 500\r\n", "hello"), get_two=get("Content-Length: 0\r\nContent-Length: 70\r\n"),
        none_with_body=post("", "hello"), none_with_line=post("", "\r\n"), short=post("Content-Length: 3\r\n", "hello"),
    )


def transfer_encodings() -> Iterator[RequestCase]:
    body = "5\r\nhello\r\n0\r\n\r\n"
    yield from each("{}", [
        "", "chunked, chunked", "chunked, identity", "identity", "identity, chunked", "gzip", "gzip, chunked",
        "chunked, gzip", "xchunked", "chunkedx", "chunked;q=1", "chunked;", "chunked ;a=b", "\x0bchunked",
        "chunked\x0b", "\x0cchunked", "chunked\0", "\0chunked", "\"chunked\"", "'chunked'", "chunked,", ",chunked",
        "chunked chunked", "chunk", "chunked\xa0", "\xa0chunked", "chun ked", "chunked\t,", "x, chunked",
        "trailers, chunked", "chunked, x", "(chunked)", "chunked-", "deflate", "compress, chunked", "x-chunked",
        "chunked=1", "\xe7hunked", "cow", "null", "0", "chunked\r", "gzip;chunked", "chunked\x01",
        "CHUN\u212aED".encode(), "chunked\x7f", ", ,chunked",
    ], lambda value: post(b"Transfer-Encoding: " + value + b"\r\n", body))
    yield from each("two-{}", ["chunked|chunked", "chunked|identity", "identity|chunked", "chunked|", "|chunked",
        "x|chunked", "chunked|x",
                              "gzip|chunked"],
                    lambda value: post(b"".join(b"Transfer-Encoding: " + each + b"\r\n" for each in value.split(b"|")),
                    body))
    for length in ["0", "5", "15", "500"]:
        for first in ["length", "coding"]:
            for coding in ["chunked", "identity", "xchunked"]:
                fields = [f"Content-Length: {length}\r\n", f"Transfer-Encoding: {coding}\r\n"]
                yield RequestCase(f"{coding}-with-{length}-{first}-first",
                                  post("".join(fields if first == "length" else fields[::-1]), body))
    yield from each("field-{}", [
        "Transfer-Encoding : chunked", "Transfer-Encoding\t: chunked", " Transfer-Encoding: chunked",
        "Transfer-Encoding:\r\n chunked", "Transfer-Encoding:\r\n\tchunked", "Transfer-Encoding: chunked\r\n x",
        "Transfer-Encoding: x\r\n , chunked", "Transfer Encoding: chunked", "X: y\nTransfer-Encoding: chunked",
        "X: y\rTransfer-Encoding: chunked", "Transfer-Encoding\0: chunked", "Transfer-Encoding:: chunked",
        "Transfer-Encoding\x0b: chunked", "\xffTransfer-Encoding: chunked", "Transfer-Encoding chunked",
        "Transfer-Encoding;: chunked", "Foo: bar\r\n\tTransfer-Encoding: chunked", "Transfer-Encoding:\n chunked",
        "Transfer-Encoding: \0chunked",
    ], lambda value: post(b"Content-Length: 15\r\n" + value + b"\r\n", body))
    yield from named(
        in_http_1_0=post("Transfer-Encoding: chunked\r\n", body, "HTTP/1.0"),
        in_http_1_0_with_length=post("Content-Length: 15\r\nTransfer-Encoding: chunked\r\n", body, "HTTP/1.0"),
        in_http_1_0_kept=post("Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n", body, "HTTP/1.0"),
        get_with_both=get("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n") + b"0\r\n\r\n",
        unfinished=chunked("5\r\nhel"), no_last_chunk=chunked("5\r\nhello\r\n"),
    )


def chunks() -> Iterator[RequestCase]:
    yield from each("size-{}", [
        "", "0x5", "+5", "-5", " 5", "\t5", "5 ", "5\t", "5  ", "5_", "5g", "x", "g5", "5.", "5,5", "5 5", "00x5",
        "\x0b5", "5\x0b", "5\0", "\0005", "5\x0c", "FFFFFFFFFFFFFFFF", "10000000000000005", "8000000000000005",
        "100000005", "FFFFFFFFFFFFFFFB", "-0", "0" * 17 + "5", "0" * 300 + "5", "\xb5", "5h", "\"5\"", "5\xa0", "05 ",
        "5:",
    ], lambda value: chunked(value + b"\r\nhello\r\n0\r\n\r\n"))
    yield from each("extension-{}", [
        ";a\nb", ";a\rb", ";\n", ";\r", ";a=\"b\r\n\"", ";a=\"b\n\"", ";a=\"b", ";a\0", ";a\x01", ";a\x7f", " ;a=b",
        ";a=b;", ";;", ";", "; a", ";=b", ";a=", ";a b", "a", ";a=\"\\\"\"", ";a=(", ";\xff", ";" + "a" * 5_000, "\t;a",
        ";a=b=c", ";a=\"\r\n0\r\n\r\n\"",
    ], lambda value: chunked(b"5" + value + b"\r\nhello\r\n0\r\n\r\n"))
    yield from each("size-end-{}", ["\n", "\r", "\r\r\n", "\n\r", "\r\n\r\n", "\r\n ", " \r\n", "\r \n", "\r\0\n"],
                    lambda value: chunked(b"5" + value + b"hello\r\n0\r\n\r\n"))
    yield from each("data-end-{}", ["", "\n", "\r", "\n\r", "\r\r\n", "x\r\n", "\r\n\r\n", " \r\n", "\0\0", "ab",
        "\r\n\n", "\rx"],
                    lambda value: chunked(b"5\r\nhello" + value + b"0\r\n\r\n"))
    yield from each("last-{}", [
        "0\n\n", "0\r\r", "0\r\n\n", "0\n\r\n", "0\r\n", "0", "0\r\n\r", "00x\r\n\r\n", "0 \r\n\r\n", "-0\r\n\r\n",
        "0;\n\r\n\r\n", "0\r\nx", "\r\n\r\n", "", "0\r\n \r\n", "0\r\n\r\r\n", "+0\r\n\r\n", "0x0\r\n\r\n",
    ], lambda value: chunked(b"5\r\nhello\r\n" + value))
    yield from named(
        too_short=chunked("4\r\nhello\r\n0\r\n\r\n"), too_long=chunked("6\r\nhello\r\n0\r\n\r\n"),
        hidden=chunked("5;a\nGET /up/b HTTP/1.1\r\nHost: postern\r\n\r\n"), plain_body=chunked("hello"),
        empty_line_first=chunked("\r\n5\r\nhello\r\n0\r\n\r\n"), request_as_chunk=chunked("GET /up/b HTTP/1.1\r\n\r\n"),
    )


def trailers() -> Iterator[RequestCase]:
    yield from each("{}", [
        "X-T", ": 1", " X-T: 1", "X-T : 1", "X-T: a\n", "X-T: a\rb", "X-T: a\0", "X-T: a\r\n b", "X T: 1",
        "X-T: a\nX-T-B: 2", "X-T\x0b: 1", "Content-Length: 5", "Transfer-Encoding: chunked", "Host: other",
        "Authorization: Bearer x", "Postern-Session: s", "Cookie: a=b", "Content_Length: 5", "X-T: " + "a" * 9_000,
        "\xff: 1", "GET /up/b HTTP/1.1", "X-T: \x7f", "X(T: 1",
    ], lambda value: chunked(b"5\r\nhello\r\n0\r\n" + value + b"\r\n\r\n"))
    yield RequestCase("many", chunked("5\r\nhello\r\n0\r\n" + "X-T: 1\r\n" * 2_000 + "\r\n"))


def hop_by_hop() -> Iterator[RequestCase]:
    yield from each("get-{}", [
        "Expect: x", "Expect: 200-ok", "Expect: 100-continue, x", "Expect: ", "Connection: Host",
        "Connection: host, close", "Connection: a b", "Connection: ,", "Connection: \0", "Connection: clo\x0bse",
        "Connection: close\r\nConnection: keep-alive", "Connection: X-T\r\nX-T: 1",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__", "Upgrade: h2c",
        "Upgrade: websocket",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Connection: Upgrade\r\nUpgrade: TLS/1.0", "Connection: Upgrade\r\nUpgrade: foo/2, bar",
        "Proxy-Connection: close", "Trailer: Host", "Keep-Alive: timeout=1", "TE: trailers", "TE: chunked",
        "TE: gzip;q=1, chunked", "Connection: Authorization\r\nAuthorization: Bearer x",
        "Connection: Cookie\r\nCookie: a=b", "Connection: (x)", "Connection: \"close\"", "HTTP2-Settings: x",
        "Connection: Postern-Session",
    ], lambda value: get(value + b"\r\n"))
    body = "hello"
    yield from each("post-{}", [
        "Expect: x", "Expect: 100-continue\r\nExpect: 100-continue", "Expect: 100-continued",
        "Connection: Content-Length", "Connection: close, Content-Length",
        "Connection: Content-Type\r\nContent-Type: text/plain", "Connection: Upgrade\r\nUpgrade: h2c",
        "Connection: Upgrade\r\nUpgrade: websocket", "Connection: Transfer-Encoding",
        "Connection: Expect\r\nExpect: 100-continue",
    ], lambda value: post(value + b"\r\nContent-Length: 5\r\n", body))
    yield RequestCase("chunked-connection-transfer-encoding",
                      chunked("5\r\nhello\r\n0\r\n\r\n", "Connection: Transfer-Encoding\r\n"))


def sizes() -> Iterator[RequestCase]:
    yield from named(
        fields=get("X-T: 1\r\n" * 150), long_field=get("X-T: " + "a" * 17_000 + "\r\n"),
        long_name=get("X-" + "a" * 17_000 + ": 1\r\n"),
        section=get("".join(f"X-T-{number}: {'a' * 5_000}\r\n" for number in range(14))),
        folds=get("X-T: a\r\n" + " b\r\n" * 200),
        endless_line=b"GET /up/" + b"a" * 70_000, long_method=b"G" * 20_000 + b" /up/a HTTP/1.1\r\n" + HOST + b"\r\n",
    )


def noise() -> Iterator[RequestCase]:
    """Good requests with one byte replaced, inserted or removed; the same ones in every run."""
    source = random.Random(9112)
    goods = [get("X-T: a\r\n"), post("Content-Length: 5\r\nX-T: a\r\n", "hello"),
             chunked("5;a=b\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n")]
    marks = b"\0\t\n\x0b\r !\"#%'(),/:;=?@\\\x7f\x80\xff0a"
    for number in range(120):
        data = bytearray(goods[number % 3])
        position = source.randrange(len(data))
        mark = source.choice(marks)
        if number % 4 == 0:
            data.insert(position, mark)
        elif number % 4 == 1:
            del data[position]
        else:
            data[position] = mark
        yield RequestCase(str(number), bytes(data))


def valid() -> Iterator[RequestCase]:
    body = "5\r\nhello\r\n0\r\n\r\n"
    yield from each("method-{}", ["GET", "DELETE", "OPTIONS", "PATCH", "PUT", "HEAD", "POST"],
                    lambda value: value + b" /up/a HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n")
    yield from each("target-{}", ["/up/a?q", "/up/a?", "/up/%41", "/up/a?q=%2e%2e/", "/up/a-._~!$&'()*+,=:@",
        "/up/a/b/", "/up/a?a?b/c"],
                    lambda value: get(target=value))
    yield from each("value-{}", ["X-T: a", "X-T:a", "X-T:  a  ", "X-T:\ta\t", "X-T: a b\tc", "X-T:", "X-T: ",
        "X-T: a\r\nX-T: b", "x-t: A",
                                "X-T: a:b,c;d=\"e\\\"\"", "X-T: \xc3\xa9".encode("latin-1"), "X-T!#$%&'*+.^`|~9: 1"],
                    lambda value: get(value + b"\r\n"))
    yield from each("chunks-{}", [body, "0\r\n\r\n", "05\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n00\r\n\r\n",
        "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
                                 "5;a=b\r\nhello\r\n0\r\n\r\n", "5;a\r\nhello\r\n0;b\r\n\r\n",
                                 "5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
                                 "2\r\n\r\n\r\n0\r\n\r\n"],
                    lambda value: chunked(value))
    yield from named(
        length=post("Content-Length: 5\r\n", "hello"), zeros=post("Content-Length: 0005\r\n", "hello"),
        get_with_body=get("Content-Length: 5\r\n") + b"hello",
        coding_case=post("Transfer-Encoding: Chunked\r\n", body),
        coding_blanks=post("Transfer-Encoding: \t chunked \r\n", body),
        empty_line_before=b"\r\n" + get(), absolute=get(target="http://postern/up/a"),
        port=get(host=b"Host: postern:80\r\n"),
        address=get(host=b"Host: [::1]:80\r\n"), get_chunked=get("Transfer-Encoding: chunked\r\n") + body.encode(),
        two=get("X-T: 1\r\n") + get("X-T: 2\r\n"), close=get("Connection: close\r\n"), old=get(version="HTTP/1.0"),
        old_without_host=get(version="HTTP/1.0", host=b""),
        request_in_body=post("Content-Length: 40\r\n", "GET /up/b HTTP/1.1\r\nHost: postern\r\nA: b\r\n\r\n"[:40]),
        many_fields=get("".join(f"X-T-{number}: {number}\r\n" for number in range(80))),
    )
