"""Responses of a server that proxies are known to read differently, or that end before they are whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterator, List

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
SIZED = b"Content-Length: 2\r\n\r\nok"


@dataclass(frozen=True)
class ResponseCase:
    """The bytes that a server sends before it closes the connection."""

    name: str
    data: bytes
    #: Whether every proxy has to pass it on.
    is_valid: bool = False


def cases() -> List[ResponseCase]:
    """All of them; each has a name of its own."""
    made = [
        *(ResponseCase(f"line-{name}", data) for name, data in status_lines().items()),
        *(ResponseCase(f"field-{name}", OK + data + SIZED) for name, data in fields().items()),
        *(ResponseCase(f"framing-{name}", OK + data) for name, data in framings().items()),
        *(ResponseCase(f"valid-{name}", data, True) for name, data in valid().items()),
        *controls(),
    ]
    assert len({case.name for case in made}) == len(made)
    return made


def status_lines() -> Dict[str, bytes]:
    lines = {
        "99": b"HTTP/1.1 99 X", "600": b"HTTP/1.1 600 X", "1000": b"HTTP/1.1 1000 X", "20": b"HTTP/1.1 20 X",
        "0": b"HTTP/1.1 0 X", "200x": b"HTTP/1.1 200x X", "minus": b"HTTP/1.1 -200 X", "no-status": b"HTTP/1.1",
        "lower": b"http/1.1 200 OK", "0.9": b"HTTP/0.9 200 OK", "1.2": b"HTTP/1.2 200 OK", "2.0": b"HTTP/2.0 200 OK",
        "2": b"HTTP/2 200", "3": b"HTTP/3 200", "other": b"XTTP/1.1 200 OK", "icy": b"ICY 200 OK",
        "cr": b"HTTP/1.1 200 O\rK", "nul": b"HTTP/1.1 200 O\0K", "two-blanks": b"HTTP/1.1  200 OK",
        "tab": b"HTTP/1.1\t200 OK", "blank-first": b" HTTP/1.1 200 OK", "latin": b"HTTP/1.1 200 O\xe9",
        "no-reason": b"HTTP/1.1 200", "empty-line-first": b"\r\nHTTP/1.1 200 OK",
    }
    made = {name: line + b"\r\n" + SIZED for name, line in lines.items()}
    made["none"] = b"hello"
    made["nothing"] = b""
    made["only"] = b"HTTP/1.1 200 OK\r\n"
    made["by-lf"] = (OK + SIZED).replace(b"\r\n", b"\n")
    made["switch"] = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n" + OK + SIZED
    made["switch-alone"] = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nok"
    made["interim-without-end"] = b"HTTP/1.1 100 Continue\r\n\r\n"
    return made


def fields() -> Dict[str, bytes]:
    return {
        "lf": b"X-T: a\nX-T-B: b\r\n", "cr": b"X-T: a\rX-T-B: b\r\n", "lf-lf": b"X-T: a\n\nHTTP/1.1 200 OK\r\n",
        "fold": b"X-T: a\r\n b\r\n", "fold-tab": b"X-T: a\r\n\tb\r\n",
        "fold-length": b"X-T: a\r\n Content-Length: 5\r\n", "blank-name": b"X T: a\r\n", "blank-colon": b"X-T : a\r\n",
        "tab-colon": b"X-T\t: a\r\n", "no-colon": b"X-T\r\n", "no-name": b": a\r\n", "bracket": b"X-T(: a\r\n",
        "name-latin": b"X-T\xe9: a\r\n", "name-nul": b"X-T\0: a\r\n", "latin": b"X-T: \xe9\r\n",
        "utf-8": b"X-T: \xc3\xa9\r\n", "many": b"X-T: a\r\n" * 1_500, "large": b"X-T: " + b"a" * 300_000 + b"\r\n",
        "length-blank-colon": b"Content-Length : 5\r\n", "coding-blank-colon": b"Transfer-Encoding : chunked\r\n",
        "length-in-lf": b"X: a\nContent-Length: 5\r\n", "response-in-value": b"X-T: a\r\r\nHTTP/1.1 200 OK\r\n",
    }


def controls() -> Iterator[ResponseCase]:
    for number in [0, 1, 7, 8, 11, 12, 27, 31, 127]:
        yield ResponseCase(f"control-{number:02x}", OK + b"X-T: a" + bytes([number]) + b"b\r\n" + SIZED)


def framings() -> Dict[str, bytes]:
    chunked = CHUNKED
    return {
        "longer": b"Content-Length: 20\r\n\r\nok",
        "shorter": b"Content-Length: 1\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        "two": b"Content-Length: 2\r\nContent-Length: 5\r\n\r\nokxyz",
        "two-equal": b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", "list": b"Content-Length: 2, 2\r\n\r\nok",
        "list-other": b"Content-Length: 2, 5\r\n\r\nokxyz", "minus": b"Content-Length: -1\r\n\r\nok",
        "plus": b"Content-Length: +2\r\n\r\nok", "hexadecimal": b"Content-Length: 0x2\r\n\r\nok",
        "empty": b"Content-Length: \r\n\r\nok", "large": b"Content-Length: 18446744073709551618\r\n\r\nok",
        "letters": b"Content-Length: 2a\r\n\r\nok", "blank": b"Content-Length: 2 0\r\n\r\nok",
        "both": b"Content-Length: 2\r\n" + chunked + b"3\r\nabc\r\n0\r\n\r\n",
        "both-reversed": b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "identity": b"Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok",
        "unknown": b"Transfer-Encoding: x\r\n\r\nok",
        "unknown-length": b"Transfer-Encoding: x\r\nContent-Length: 2\r\n\r\nok",
        "twice": b"Transfer-Encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "two-codings": b"Transfer-Encoding: chunked\r\n" + chunked + b"2\r\nok\r\n0\r\n\r\n",
        "not-last": b"Transfer-Encoding: chunked, x\r\n\r\n2\r\nok\r\n0\r\n\r\n", "cut": chunked + b"5\r\nok",
        "no-last": chunked + b"2\r\nok\r\n", "last-cut": chunked + b"2\r\nok\r\n0\r\n",
        "no-size": chunked + b"\r\nok\r\n0\r\n\r\n", "size-letters": chunked + b"zz\r\nok\r\n0\r\n\r\n",
        "size-0x": chunked + b"0x2\r\nok\r\n0\r\n\r\n", "size-plus": chunked + b"+2\r\nok\r\n0\r\n\r\n",
        "size-minus": chunked + b"-2\r\nok\r\n0\r\n\r\n",
        "size-large": chunked + b"FFFFFFFFFFFFFFFFF\r\nok\r\n0\r\n\r\n",
        "size-wraps": chunked + b"10000000000000002\r\nok\r\n0\r\n\r\n",
        "size-blank": chunked + b"2 \r\nok\r\n0\r\n\r\n", "size-blank-first": chunked + b" 2\r\nok\r\n0\r\n\r\n",
        "size-lf": chunked + b"2\nok\n0\n\n", "data-longer": chunked + b"2\r\nokxyz\r\n0\r\n\r\n",
        "data-shorter": chunked + b"4\r\nok\r\n0\r\n\r\n", "extension-lf": chunked + b"2;a\nok\r\n0\r\n\r\n",
        "trailer": chunked + b"2\r\nok\r\n0\r\nContent-Length: 5\r\nX-T: a\r\n\r\n",
        "trailer-bad": chunked + b"2\r\nok\r\n0\r\nX T\r\n\r\n",
        "behind": chunked + b"2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
        "coding-vt": b"Transfer-Encoding: \x0bchunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    }


def valid() -> Dict[str, bytes]:
    return {
        "sized": OK + SIZED, "chunked": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "until-close": OK + b"\r\nok", "empty": OK + b"Content-Length: 0\r\n\r\n",
        "no-content": b"HTTP/1.1 204 No Content\r\n\r\n",
        "not-modified": b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n",
        "not-modified-sized": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        "continue": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + SIZED,
        "early-hints": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK + SIZED,
        "not-found": b"HTTP/1.1 404 Not Found\r\n" + SIZED, "old": b"HTTP/1.0 200 OK\r\n\r\nok",
        "fields": OK + b"X-T: a\r\nX-T: b\r\nX-T-B:c\r\nX-T-C:  d  \r\n" + SIZED,
        "error": b"HTTP/1.1 599 X\r\n" + SIZED,
        "large-chunks": OK + CHUNKED + (b"1000\r\n" + b"a" * 4_096 + b"\r\n") * 64 + b"0\r\n\r\n",
        "extension": OK + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\n\r\n",
        "no-reason": b"HTTP/1.1 200 \r\n" + SIZED,
    }
