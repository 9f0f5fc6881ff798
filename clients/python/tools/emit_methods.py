"""Typed methods from the method list."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from emit_blocking import blocking
from emit_types import Types
from naming import BY_HAND, DESCRIPTIONS, GROUP, GROUP_CLASS, GROUP_PROPERTY, VERDICTS, method_name, snake

Method = dict[str, Any]

#: Parameters that may be given by position although they are optional.
BY_POSITION = {"fetchResource": ["resource", "path"], "beginAuthorization": ["redirectUri"]}
#: Parameters that are optional on the wire only so that their absence has an error of its own.
REQUIRED = {"completeAuthorization": {"state"}}
#: Two members of the wire that are one parameter here: str is the first, bytes the second.
FOLDED = {"bodyBase64": "body"}
#: Parameters that something else stands for: a method of its own, or what `body` and `body_to` are.
ELSEWHERE = {
    "fetchResource": {"stream", "streamHead", "bodyAs", "bodyFrom", "contentLength", "bodyTo", "timeoutMs"},
    "preauthorize": {"timeoutMs"},
    # `endpoint` receives it.
    "createEndpoint": {"descriptor"},
}
#: The parameter in seconds that stands for `timeoutMs`, and how it is documented.
TIMEOUT = {"fetchResource": "timeout", "stream": "total_timeout", "preauthorize": "decision_timeout"}
TIMEOUTS = {
    "timeout": "timeout: Seconds for the whole call, the user's step-up included, in place of the resource's own "
    "timeout, at most 600 there.",
    "total_timeout": "total_timeout: Seconds for the whole fetch, at most 600; default: no limit after the head.",
    "decision_timeout": "decision_timeout: Seconds, at most 600; the resources left then are network_error.",
}
#: How the bodies of `fetchResource` are documented here.
BODY = (
    "body: Text or bytes; or a path, a file in binary mode, a socket or an iterable of bytes, read to its end; "
    "overrides parameters."
)
FORMS = {
    "params": (
        "Query",
        "params: The query, with any method: a mapping, pairs, or text; added to that of `path`.",
    ),
    "json": ("Any", "json: The body, as JSON, with its `Content-Type`."),
    "data": ("Data", "data: The body: a mapping or pairs as a form with its `Content-Type`, or what `body` takes."),
}
BODY_TO = "body_to: A path, a file in binary mode or a socket: the response's body goes there, and not into the result."

HEADER = '''"""{title} Generated from proto-docs/openrpc.json by tools/generate.py: do not edit."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from typing import Any, Callable, Literal, Optional, Protocol, TypeVar, Union

from .{streams} import {stream}
from ._arguments import Data, Query, compose, milliseconds
from ._bodies import Body, Target
from ._endpoints import Endpoint
{opening}
from ._wire import as_object, present, wire, wires
from .types import (
{types}
)

_Result = TypeVar("_Result")


class {name}:
    """Every method of the protocol, typed.

    Params of every call: `timeout` in seconds bounds it, in the sidecar and here (None: the default of the client,
    `math.inf`: no limit); `traceparent` is a W3C trace context that upstream requests continue.
    """

    {define} _invoke(
        self,
        method: str,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: Optional[float],
        traceparent: Optional[str],
    ) -> _Result:
        raise NotImplementedError

    {define} _fetch(
        self,
        params: dict[str, Any],
        body: Optional[Body],
        body_to: Optional[Target],
        timeout: Optional[float],
        traceparent: Optional[str],
    ) -> FetchResult:
        raise NotImplementedError

    {define} _stream(
        self, params: dict[str, Any], body: Optional[Body], timeout: Optional[float], traceparent: Optional[str]
    ) -> {stream}:
        raise NotImplementedError

    def _endpoint(
        self, params: dict[str, Any], timeout: Optional[float], traceparent: Optional[str]
    ) -> contextlib.{manager}[Endpoint]:
        raise NotImplementedError

    @property
    def {property}(self) -> {group}:
        """The methods of Adobe Pass."""
        return {group}(self._invoke)
'''

#: The block with an endpoint: arguments as those of `create_endpoint`.
ENDPOINT = '''
    @contextlib.asynccontextmanager
    async def endpoint(self, *, {keywords},) -> AsyncGenerator[Endpoint, None]:
        """A socket for one child, which can do a part of what this client can; revoked at the end of the block.

        The lists are those of `create_endpoint`. It also ends with this connection, also when this process is killed,
        unless `bind_to` is another.

        {more}
        """
        params: dict[str, Any] = present({{{members}}})
        async with self._endpoint(params, timeout, traceparent) as made:
            yield made
'''
OWN_SESSION = (
    ":param session: The session of its calls, which need not name one then: a handle, or `only`, this user id's only\n"
    "            live one now."
)
DESCRIPTOR = ":param descriptor: Whether it comes as a connected socket, too, for a child that cannot reach its path."

GROUP_HEADER = '''

class _Invoke(Protocol):
    {define} __call__(
        self,
        method: str,
        params: dict[str, Any],
        decode: Callable[[Any], _Result],
        timeout: Optional[float],
        traceparent: Optional[str],
    ) -> _Result: ...


class {group}:
    """The methods of Adobe Pass, typed: logins at television providers (MVPDs), and what they permit.

    Params of every call are as with the other methods.
    """

    def __init__(self, invoke: _Invoke) -> None:
        self._invoke = invoke
'''


def methods_module(methods: list[Method], types: Types, asynchronous: bool) -> str:
    bodies: list[str] = []
    grouped: list[str] = []
    for method in methods:
        if method["name"] in BY_HAND:
            for parameter in parameters(method):
                types.name_of(parameter["schema"], f"{method['name']}.{parameter['name']}")
        else:
            list_of = grouped if method["name"].startswith(GROUP) else bodies
            list_of.append(_method(method, types, asynchronous, streaming=False))
        if method["name"] == "fetchResource":
            bodies.append(_method(method, types, asynchronous, streaming=True))
        if method["name"] == "createEndpoint":
            bodies.append(_endpoint(method, types, asynchronous))
    group = {
        "name": "AsyncMethods" if asynchronous else "Methods",
        "define": "async def" if asynchronous else "def",
        "group": f"Async{GROUP_CLASS}" if asynchronous else GROUP_CLASS,
        "manager": "AbstractAsyncContextManager" if asynchronous else "AbstractContextManager",
    }
    heading = GROUP_HEADER.format(**group)
    body = "\n".join(bodies) + "\n" + heading + "\n" + "\n".join(grouped)
    readers = [verdict.reader for verdict in VERDICTS.values()]
    used = [name for name in [*types.classes, *types.aliases, *readers] if re.search(rf"\b{name}\b", body)]
    text = HEADER.format(
        title="The methods of `AsyncClient`." if asynchronous else "The methods of `Client`.",
        **group,
        property=GROUP_PROPERTY,
        streams="_async_streams" if asynchronous else "_streams",
        stream="AsyncResourceStream" if asynchronous else "ResourceStream",
        opening="from ._opening import Opening" if asynchronous else "",
        types="\n".join(f"    {name}," for name in sorted(used)),
    ) + "\n" + body  # fmt: skip
    # An asynchronous client takes asynchronous iterators, too.
    return re.sub(r"\b(Body|Data)\b", r"Async\1", text) if asynchronous else text


EXPECTATIONS_HEADER = '''"""{title} Generated from proto-docs/openrpc.json by tools/generate.py: do not edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable, Literal, Optional, Union

from ._arguments import Data, Query, compose
from ._bodies import Body
from ._fake import Core, Expectation, FetchExpectation, with_body
from ._wire import as_object, present, wire, wires
from .types import (
{types}
)


class Expectations:
    """The methods of a client. Each returns an `Expectation`, which you give answers for the calls that it describes.

    It describes the calls that have the arguments you name: `fake.when.fetch_resource("orders")` describes each fetch
    of that resource, `fake.when.fetch_resource()` each fetch.
    """

    def __init__(self, core: Core) -> None:
        self._core = core

    @property
    def {property}(self) -> {group}Expectations:
        """The methods of Adobe Pass."""
        return {group}Expectations(self._core)
'''

EXPECTATIONS_GROUP = '''

class {group}Expectations:
    """The methods of Adobe Pass, in the same way."""

    def __init__(self, core: Core) -> None:
        self._core = core
'''


def expectations_module(methods: list[Method], types: Types) -> str:
    """The methods of `fake.when`: all parameters are optional."""
    bodies: list[str] = []
    grouped: list[str] = []
    for method in methods:
        if method["name"] not in BY_HAND:
            (grouped if method["name"].startswith(GROUP) else bodies).append(_expectation(method, types))
    group = EXPECTATIONS_GROUP.format(group=GROUP_CLASS)
    body = "\n".join(bodies) + "\n" + group + "\n" + "\n".join(grouped)
    readers = [verdict.reader for verdict in VERDICTS.values()]
    used = [name for name in [*types.classes, *types.aliases, *readers] if re.search(rf"\b{name}\b", body)]
    header = EXPECTATIONS_HEADER.format(
        title="The methods of `fake.when`.",
        types="\n".join(f"    {name}," for name in sorted(used)),
        property=GROUP_PROPERTY,
        group=GROUP_CLASS,
    )
    return header + "\n" + body


def names_module(methods: list[Method]) -> str:
    """The names of methods and parameters in Python."""
    parameters = sorted({parameter["name"] for method in methods for parameter in method["params"]})
    return "".join([
        '"""Names in Python. Generated from proto-docs/openrpc.json by tools/generate.py: do not edit."""',
        "\n\nfrom __future__ import annotations\n\n",
        "#: Methods, as they are written after `client.`.\nMETHODS: dict[str, str] = {\n",
        *[f'    "{method["name"]}": "{method_name(method["name"])}",\n' for method in methods],
        "}\n\n#: Parameters.\nPARAMETERS: dict[str, str] = {\n",
        *[f'    "{name}": "{snake(name)}",\n' for name in parameters],
        "}\n",
    ])  # fmt: skip


def _expectation(method: Method, types: Types) -> str:
    name: str = method["name"]
    positional: list[str] = []
    keywords: list[str] = []
    members: list[str] = []
    for parameter in parameters(method):
        own, annotation, member = _parameter(name, parameter, types)
        if not annotation.startswith("Optional["):
            annotation = f"Optional[{annotation}]"
        given = parameter.get("required") or parameter["name"] in BY_POSITION.get(name, [])
        (positional if given else keywords).append(f"{own}: {annotation} = None")
        if member:
            members.append(member)
        else:
            for form, (kind, _) in FORMS.items():
                keywords.append(f"{form}: {'Any' if kind == 'Any' else f'Optional[{kind}]'} = None")
    result, decode = _result(method, types)
    local = "members" if name == "fetchResource" or any(p["name"] == "params" for p in method["params"]) else "params"
    signature = ", ".join(["self", *positional, *(["*", *keywords] if keywords else [])])
    kind = "FetchExpectation" if name == "fetchResource" else f"Expectation[{result}]"
    own_name = method_name(name).rpartition(".")[2]
    lines = [
        f"    def {own_name}({signature}{',' if len(signature) > 4 else ''}) -> {kind}:",
        f'        """Calls of `{method_name(name)}`."""',
        f"        {local}: dict[str, Any] = " + ("present({" + ", ".join(members) + "})" if members else "{}"),
    ]
    if name == "fetchResource":
        lines.append("        found = compose(members, body, params=params, json=json, data=data)")
        # The `Content-Type` that goes with `json` and `data` does not describe a call.
        lines.append('        return self._core.expect_fetch(with_body({**members, "headers": headers}, found))')
    else:
        lines.append(f'        return self._core.expect("{name}", {local}, {decode})')
    return "\n".join([*lines, ""])


def parameters(method: Method) -> list[dict[str, Any]]:
    """Those that become Python parameters, the required ones first."""
    elsewhere = ELSEWHERE.get(method["name"], set())
    named = [p for p in method["params"] if p["name"] not in {"meta", *elsewhere, *FOLDED}]
    needed = REQUIRED.get(method["name"], set())
    named = [{**p, "required": True} if p["name"] in needed else p for p in named]
    return sorted(named, key=lambda parameter: not parameter.get("required", False))


def _method(method: Method, types: Types, asynchronous: bool, streaming: bool) -> str:
    name: str = method["name"]
    chosen = [p for p in parameters(method) if not (streaming and p["name"] == "continuation")]
    positional: list[str] = []
    keywords: list[str] = []
    documented: list[str] = []
    members: list[str] = []
    for parameter in chosen:
        own, annotation, member = _parameter(name, parameter, types)
        text = f"{own}: {annotation}" + ("" if parameter.get("required") else " = None")
        given = parameter.get("required") or parameter["name"] in BY_POSITION.get(name, [])
        (positional if given else keywords).append(text)
        if member:
            members.append(member)
            documented.append(f"{own}: {types.sentence(parameter.get('summary', ''))}")
            continue
        documented.append(BODY.replace("an iterable", "a (possibly asynchronous) iterable") if asynchronous else BODY)
        for form, (kind, text) in FORMS.items():
            keywords.append(f"{form}: {'Any' if kind == 'Any' else f'Optional[{kind}]'} = None")
            documented.append(text)
        if not streaming:
            keywords.append("body_to: Optional[Target] = None")
            documented.append(BODY_TO)
    timeout = TIMEOUT.get("stream" if streaming else name)
    if timeout:
        documented.append(TIMEOUTS[timeout])
        keywords += [] if timeout == "timeout" else [f"{timeout}: Optional[float] = None"]
    keywords += ["timeout: Optional[float] = None"]
    if timeout:
        members.append(f'"timeoutMs": milliseconds({timeout}, "{timeout}")')
    keywords.append("traceparent: Optional[str] = None")
    result, decode = _result(method, types)
    if streaming:
        result = "Opening[AsyncResourceStream]" if asynchronous else "ResourceStream"
    signature = ", ".join(["self", *positional, "*", *keywords])
    own_name = "stream_resource" if streaming else method_name(name).rpartition(".")[2]
    # `params` is an argument of these.
    local = "members" if any(parameter["name"] == "params" for parameter in chosen) else "params"
    local = "members" if name == "fetchResource" else local
    call = f'self._invoke("{name}", {local}, {decode}, timeout, traceparent)'
    if name == "fetchResource":
        composed = "compose(members, body, params=params, json=json, data=data)"
        call = f"self._fetch(members, {composed}, body_to, timeout, traceparent)"
        if streaming:
            call = f"self._stream(members, {composed}, timeout, traceparent)"
            call = f"Opening({call})" if asynchronous else call
    awaited = "await " if asynchronous and not streaming else ""
    params = "present({" + ", ".join(members) + "})" if members else "{}"
    return "\n".join([
        f"    {'async ' if asynchronous and not streaming else ''}def {own_name}({signature},) -> {result}:",
        textwrap.indent(_docstring(method, types, documented, streaming, asynchronous), "        "),
        f"        {local}: dict[str, Any] = {params}",
        f"        return {awaited}{call}",
        "",
    ])  # fmt: skip


def _endpoint(method: Method, types: Types, asynchronous: bool) -> str:
    """The block with an endpoint. A descriptor comes to a blocking client only."""
    keywords: list[str] = []
    members: list[str] = []
    for parameter in parameters(method):
        own, annotation, member = _parameter(method["name"], parameter, types)
        default = '"connection"' if own == "bind_to" else "None"
        keywords.append(f"{own}: {annotation} = {default}")
        members.append(member)
    more = ["For one with a descriptor use `Client`.\n", OWN_SESSION] if asynchronous else [OWN_SESSION, DESCRIPTOR]
    if not asynchronous:
        keywords.append("descriptor: bool = False")
        members.append('"descriptor": descriptor or None')
    keywords += ["timeout: Optional[float] = None", "traceparent: Optional[str] = None"]
    text = ENDPOINT.format(keywords=", ".join(keywords), members=", ".join(members), more=("\n" + " " * 8).join(more))
    return text if asynchronous else blocking(text)


def _parameter(method: str, parameter: dict[str, Any], types: Types) -> tuple[str, str, str]:
    """Its name, its annotation, and its entry in the dictionary of params; empty for a body."""
    name: str = parameter["name"]
    own = snake(name)
    kind = types.name_of(parameter["schema"], f"{method}.{name}", taken=True)
    if method == "fetchResource" and name == "body":
        return own, "Optional[Body]", ""
    value = own
    if kind.startswith("Union["):
        value = f"wire({own})"
    elif kind.startswith("Sequence[Union["):
        value = f"wires({own})"
    return own, kind if parameter.get("required") else f"Optional[{kind}]", f'"{name}": {value}'


def _result(method: Method, types: Types) -> tuple[str, str]:
    name = types.name_of(method["result"]["schema"], f"{method['name']}.result")
    if name in VERDICTS:
        return name, VERDICTS[name].reader
    return name, "as_object" if name.startswith("dict[") else f"{name}.from_json"


def _docstring(method: Method, types: Types, documented: list[str], streaming: bool, asynchronous: bool) -> str:
    summary = "Fetches a protected resource whose body comes in pieces" if streaming else method["summary"]
    paragraphs = [types.sentence(summary)]
    if streaming:
        paragraphs.append(
            "Read the body from what this returns; status and headers are in its `result` when the body has ended. "
            "`timeout` bounds each wait for a piece, `total_timeout` the whole."
            + (" Use it in `async with`, or await it and close the stream yourself." if asynchronous else "")
        )
    elif description := DESCRIPTIONS.get(method["name"]) or method.get("description"):
        paragraphs.append(types.sentence(description))
    text = "\n\n".join("\n".join(textwrap.wrap(paragraph, 108)) for paragraph in paragraphs)
    if documented:
        lines = ["\n".join(textwrap.wrap(f":param {line}", 108, subsequent_indent="    ")) for line in documented]
        text += "\n\n" + "\n".join(lines)
    text = text.replace("\\", "\\\\")
    return f'"""{text}"""' if "\n" not in text else f'"""{text}\n"""'
