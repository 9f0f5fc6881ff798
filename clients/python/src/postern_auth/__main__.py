"""The command line: `python -m postern_auth call METHOD '{"json": ...}'`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from ._address import socket_path
from ._rpc_over_http import is_address
from ._wire import members
from .client import Client
from .errors import ConnectionFailed, ConnectionLost, DeadlineExceeded, PosternError
from .types import FetchResult

#: The exit codes of `postern call`: a result; an error; no response. Wrong usage is 64.
DONE, FAILED, NO_RESPONSE, USAGE = 0, 1, 2, 64


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    common = _Parser(add_help=False)
    common.add_argument("--socket", metavar="PATH", help=f"default: {socket_path()}")
    common.add_argument("--timeout", type=_seconds, default=60.0, metavar="SECONDS", help="default: 60")
    parser = _Parser(prog="python -m postern_auth", description="Calls the Postern sidecar.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    call = commands.add_parser("call", parents=[common], help="call a method and print its result")
    call.add_argument("method", metavar="METHOD", help="getInfo, fetchResource, …")
    call.add_argument("params", metavar="PARAMS", nargs="?", default="{}", help="a JSON object; - reads standard input")
    call.add_argument("--compact", action="store_true", help="one line")
    commands.add_parser("health", parents=[common], help="print the health; exit status 1 unless it is ok")
    commands.add_parser("version", parents=[common], help="print versions of this client and the sidecar")
    get = commands.add_parser("get", parents=[common], help="print the body of a resource; exit status 1 from 400 on")
    get.add_argument("resource", metavar="RESOURCE")
    get.add_argument("path", metavar="PATH")
    get.add_argument("--session", metavar="HANDLE", help="for a user's resource; only: this user id's only session")
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError("must be more than 0")
    return value


def _call(client: Client, options: argparse.Namespace) -> int:
    text = sys.stdin.read() if options.params == "-" else options.params
    try:
        params = json.loads(text)
    except ValueError as error:
        print(f"python -m postern_auth: PARAMS is not JSON: {error}", file=sys.stderr)
        return USAGE
    params = members(params)
    if params is None:
        print("python -m postern_auth: PARAMS is not a JSON object", file=sys.stderr)
        return USAGE
    result: Any = client.call(options.method, params)
    print(json.dumps(result, indent=None if options.compact else 2, ensure_ascii=False))
    return DONE


def _health(client: Client, _: argparse.Namespace) -> int:
    health = client.health()
    print(health.status)
    for name, check in sorted(health.checks.items()):
        print(f"  {check.status:9} {name}{': ' + check.detail if check.detail else ''}")
    return DONE if health.status == "ok" else FAILED


def _version(client: Client, _: argparse.Namespace) -> int:
    from . import __version__

    info = client.get_info()
    print(f"postern-auth {__version__}\n{info.name} {info.version} (protocol {info.protocol_version})")
    return DONE


def _get(client: Client, options: argparse.Namespace) -> int:
    result: FetchResult
    if is_address(client.path):  # there are no streams
        to = sys.stdout.buffer
        result = client.fetch_resource(options.resource, options.path, session=options.session, body_to=to)
    else:
        with client.stream_resource(options.resource, options.path, session=options.session) as stream:
            while data := stream.read(1 << 16):
                sys.stdout.buffer.write(data)
            result = stream.result
    sys.stdout.flush()
    if not result.ok:
        print(f"{result.status} {result.reason or ''}".rstrip(), file=sys.stderr)
    return DONE if result.ok else FAILED


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status."""
    options = _parser().parse_args(arguments)
    command = {"call": _call, "health": _health, "version": _version, "get": _get}[options.command]
    try:
        with Client(options.socket, timeout=options.timeout) as client:
            return command(client, options)
    except PosternError as error:
        print(f"python -m postern_auth: {error}", file=sys.stderr)
        if options.command == "call" and error.data:
            print(json.dumps({"code": error.code, "data": error.data}, indent=2, default=str), file=sys.stderr)
        unanswered = isinstance(error, (ConnectionFailed, ConnectionLost, DeadlineExceeded)) and error.code == 0
        return NO_RESPONSE if unanswered else FAILED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has closed it
        return DONE
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
