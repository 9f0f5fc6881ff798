"""No optional security parameter is lost by an initializer that fails.

`ResourceServer(pins: KeyPins(...))` with a failable `KeyPins.init?` compiles, and a spelling error makes it nil: no
pins. What an optional parameter takes therefore throws. The list names the failable initializers that no such
parameter takes.
"""

import re
from pathlib import Path

from test_modules import ENGINE

SOURCES = Path(__file__).resolve().parents[2] / "Sources"
TYPE = re.compile(r"^(?:public )?(?:final )?(?:struct|enum|class|extension) (\w+)", re.MULTILINE)
LIBRARIES = [*ENGINE, "CurlTransport", "HTTPMessages", "JOSE", "PosternURLLoading"]

FAILABLE = {
    "AuthZENReasons": "of a response",
    "ContentEncryption": "required where it is taken",
    "HTTPMethod": "required where it is taken; the engine's own throws",
    "IPAddress": "judged by the transport, taken by nothing",
    "JourneyCallback": "of a response",
    "KeyManagementAlgorithm": "required where it is taken",
    "MediaType": "of a response",
    "PassClient": "nil at a decision point of another kind; a caller has to check that",
    "SignatureAlgorithm": "required where it decides; optional only as the label of a key that is made",
    "TraceContext": "no security parameter",
}


def declared():
    found = set()
    for module in LIBRARIES:
        for path in sorted((SOURCES / module).rglob("*.swift")):
            text = path.read_text(encoding="utf-8")
            for match in re.finditer(r"^  public (?:convenience )?init\?", text, re.MULTILINE):
                found.add(TYPE.findall(text[: match.start()])[-1])
    return found


def test_failable_initializers_are_listed():
    found = declared()
    assert len(found) > 3, "the scan of the sources finds too little"
    assert found - FAILABLE.keys() == set(), "can an optional parameter be lost by it? then it throws"
    assert FAILABLE.keys() - found == set(), "listed, and not in the sources"
