"""The examples of the methods, one file for each in proto-docs/examples.

The reference shows them, and the tests run them.

A file holds `examples`, a list of

    title, text     heading and explanation; text is Markdown and optional
    scene           the set-up that it needs, by name: see Tests/Documents/scenes.py
    send            the message to send, or several; missing `jsonrpc`, `id` and method are added
    receive         the responses, in order of the ids, as the page shows them
    volatile        JSON Pointers (`*` for any member) of values that differ each time → the shown value
    abridged        the same for values that are too long to show

A `…` in a shown text matches any text. Values that a scene creates (a session's handle, a token) are in `send` and
`receive` as the sample text that the scene gives them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "proto-docs" / "examples"

WIDTH = 100
NOW = "2026-01-05T10:15:00.000Z"
#: Members that differ each time, anywhere in a response, and the values that are shown for them.
ALWAYS_VOLATILE: Dict[str, Any] = {
    "at": NOW,
    "createdAt": NOW,
    "startedAt": NOW,
    "expiresAt": "2026-01-05T10:18:00.000Z",
    "accessTokenExpiresAt": "2026-01-05T10:16:00.000Z",
    "date": ["Mon, 05 Jan 2026 10:15:00 GMT"],
    "trace": "4bf92f3577b34da6a3ce929d0e0e4736",
    "traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
    "pid": 4711,
    "totalMs": 12,
    "queueMs": 0,
    "connectMs": 1,
    "firstByteMs": 4,
    "retryAfterMs": 1000,
}
#: Members that are volatile where their text looks like this: a generated name.
GENERATED = {"task": (re.compile(r"task-\w+\Z"), "task-1j3rly850nj1z")}


def slug(method: str) -> str:
    """The method's name in file names: `$/cancelRequest` is `cancelRequest`."""
    return method.rsplit("/", 1)[-1]


def load(method: str) -> List[Dict[str, Any]]:
    path = FOLDER / f"{slug(method)}.json"
    if not path.is_file():
        raise FileNotFoundError(f"{method} has no example: write {path.relative_to(ROOT)} and run `make record-examples`")
    return json.loads(path.read_text(encoding="utf-8"))["examples"]


def save(method: str, examples: List[Dict[str, Any]]) -> None:
    text = json.dumps({"examples": examples}, indent=2, ensure_ascii=False)
    (FOLDER / f"{slug(method)}.json").write_text(text + "\n", encoding="utf-8")


def messages(method: str, example: Dict[str, Any]) -> List[Dict[str, Any]]:
    """What is sent, as whole messages."""
    sent = example["send"]
    whole = []
    for number, message in enumerate(sent if isinstance(sent, list) else [sent], 1):
        head: Dict[str, Any] = {"jsonrpc": "2.0"}
        if not message.get("notification") and not method.startswith("$/") or "id" in message:
            head["id"] = message.get("id", number)
        head["method"] = message.get("method", method)
        if message.get("params") is not None:
            head["params"] = message["params"]
        whole.append(head)
    return whole


def command(sent: List[Dict[str, Any]]) -> str:
    """The shell command that sends them."""
    texts = "\n".join(text(message) for message in sent)
    return f"socat -t 30 - UNIX-CONNECT:$POSTERN_SOCKET <<'END'\n{texts}\nEND"


def text(message: Dict[str, Any]) -> str:
    """A message whose envelope is on one line."""
    flat = json.dumps(message, ensure_ascii=False)
    last = list(message)[-1]
    if len(flat) <= WIDTH or not isinstance(message[last], dict):
        return flat
    head = json.dumps({name: member for name, member in message.items() if name != last}, ensure_ascii=False)
    members = ",\n".join(
        f"  {json.dumps(name)}: {pretty(member, 2, WIDTH, len(name) + 5)}" for name, member in message[last].items())
    return f'{head[:-1]}, {json.dumps(last)}: {{\n{members}\n}}}}'


def pretty(value: Any, indent: int = 0, width: int = WIDTH, used: int = 0) -> str:
    """JSON that is broken into lines only if it is too long."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or indent + used + len(flat) <= width:
        return flat
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        lines = []
        for name, member in value.items():
            key = json.dumps(name, ensure_ascii=False) + ": "
            lines.append(f"{inner}{key}{pretty(member, indent + 2, width, len(key) + 1)}")
        return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(inner + pretty(member, indent + 2, width, 1) for member in value) + "\n" + " " * indent + "]"


# MARK: what differs each time


def positions(value: Any, pointer: str = "") -> Iterator[Tuple[str, Any]]:
    """Every value in `value` with its JSON Pointer, outermost first."""
    yield pointer, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    for name, member in members:
        yield from positions(member, f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}")


def concealed(received: Any, example: Dict[str, Any]) -> Tuple[Any, List[str]]:
    """`received` with volatile and abridged values as shown, and the pointers of real values that do not match."""
    marks = [
        (re.compile("".join("[^/]+" if part == "*" else re.escape(part) for part in re.split(r"(\*)", pointer)) + r"\Z"), shown)
        for kind in ("volatile", "abridged")
        for pointer, shown in example.get(kind, {}).items()
    ]
    unlike: List[str] = []

    def walk(value: Any, pointer: str) -> Any:
        for pattern, shown in marks:
            if pattern.match(pointer):
                return put(value, shown, pointer)
        name = pointer.rsplit("/", 1)[-1]
        if name in ALWAYS_VOLATILE:
            return put(value, ALWAYS_VOLATILE[name], pointer)
        if name in GENERATED and isinstance(value, str) and GENERATED[name][0].match(value):
            return GENERATED[name][1]
        if isinstance(value, dict):
            return {key: walk(member, f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}") for key, member in value.items()}
        if isinstance(value, list):
            return [walk(member, f"{pointer}/{position}") for position, member in enumerate(value)]
        return value

    def put(value: Any, shown: Any, pointer: str) -> Any:
        if not looks_like(value, shown):
            unlike.append(f"{pointer}: {json.dumps(value, ensure_ascii=False)[:200]} does not look like {json.dumps(shown, ensure_ascii=False)}")
        return shown

    return walk(received, ""), unlike


#: A handle or the like, of which a few characters are shown.
OPAQUE = re.compile(r"(?!eyJ)[\w-]{3,16}…\Z")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")


def looks_like(value: Any, shown: Any) -> bool:
    """Whether a value matches: same type, a time for a time, one word for a cut word, else the text around each `…`."""
    if type(value) is type(shown) and value == shown:
        return True
    if isinstance(shown, bool) or isinstance(value, bool) or shown is None or value is None:
        return type(shown) is type(value)
    if isinstance(shown, (int, float)):
        return isinstance(value, (int, float))
    if type(shown) is not type(value):
        return False
    if isinstance(shown, list):
        return "…" not in shown or all(member in value for member in shown if member != "…")
    if isinstance(shown, dict):
        return all(name in value and looks_like(value[name], member) for name, member in shown.items() if name != "…")
    if OPAQUE.match(shown):
        return re.fullmatch(r"[\w.~-]{8,}", value) is not None
    if "…" in shown:
        return re.fullmatch(".*".join(map(re.escape, shown.split("…"))), value, re.DOTALL) is not None
    return not TIMESTAMP.match(shown) or TIMESTAMP.match(value) is not None


def differing(example: Dict[str, Any]) -> Tuple[List[str], List[str]]:
    """The names, as the page lists them, of volatile and of abridged values."""
    marks = {
        kind: [re.compile(re.escape(pointer).replace(r"\*", "[^/]+") + r"\Z") for pointer in example.get(kind, {})]
        for kind in ("volatile", "abridged")
    }
    found: Dict[str, List[str]] = {"volatile": [], "abridged": []}
    for pointer, value in positions(example["receive"]):
        name = pointer.rsplit("/", 1)[-1]
        is_generated = name in GENERATED and isinstance(value, str) and GENERATED[name][0].match(value)
        kinds = [kind for kind in marks if any(mark.match(pointer) for mark in marks[kind])]
        if not kinds and (name in ALWAYS_VOLATILE or is_generated):
            kinds = ["volatile"]
        for kind in kinds:
            if name not in found[kind]:
                found[kind].append(name)
    return found["volatile"], found["abridged"]
