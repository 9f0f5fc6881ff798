#!/usr/bin/env python3
"""Writes postern(1) and a page for each command, such as postern-call(1), from the program's own help:

    postern --experimental-dump-help | manual.py DATE DIRECTORY
"""
from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any, Dict, List

SECTIONS = """.SH FILES
.TP
.I /etc/postern/postern.yaml
The configuration of the service.
.TP
.I /etc/postern/secrets/
Secrets, for root alone: the file NAME is the credential secret_NAME, as in
.IR "clientSecretFile: secret_NAME" .
.TP
.I /run/postern/postern.sock
The socket. Members of the group
.B postern-clients
may connect;
.B peers
in the configuration lists what they may call.
.TP
.I /var/lib/private/postern
The sessions, encrypted.
.SH SEE ALSO
.BR systemctl (1),
.BR systemd.exec (5),
.BR socat (1)
"""


def escaped(text: str) -> str:
    """Text for roff: no line of it is a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "").replace("…", "...")
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in text.split("\n"))


def paragraphs(text: str) -> str:
    """Lines that begin with blanks are examples and keep their form."""
    out: List[str] = []
    for is_example, lines in groupby(text.split("\n"), key=lambda line: line.startswith("  ")):
        if is_example:
            out.append(".PP\n.RS 4\n.nf\n" + "\n".join(escaped(line[2:]) for line in lines) + "\n.fi\n.RE\n.PP")
        else:
            out += [escaped(line) if line else ".PP" for line in lines]
    return "\n".join(out) + "\n"


def spelled(argument: Dict[str, Any]) -> str:
    names = [("--" if name["kind"] == "long" else "-") + name["name"] for name in argument.get("names", [])]
    value = f"\\fI{escaped(argument['valueName'])}\\fR"
    if argument["kind"] == "positional":
        return value
    shown = ", ".join(f"\\fB{escaped(name)}\\fR" for name in names)
    return f"{shown} {value}" if argument["kind"] == "option" else shown


def usage(name: str, command: Dict[str, Any]) -> str:
    words = [f"\\fB{escaped(name)}\\fR"]
    for argument in command.get("arguments", []):
        if argument["shouldDisplay"] and argument["valueName"] not in ("help", "version"):
            word = spelled(argument).split(", ")[-1]
            words.append(f"[{word}]" if argument["isOptional"] else word)
    return " ".join(words) + "\n"


def described(command: Dict[str, Any]) -> str:
    out = ""
    for argument in command.get("arguments", []):
        if argument["shouldDisplay"] and argument["valueName"] not in ("help", "version"):
            text = argument.get("abstract", "")
            if argument.get("defaultValue") not in (None, "", "-"):
                text += f" Default: {argument['defaultValue']}."
            out += f".TP\n{spelled(argument)}\n{escaped(text)}\n"
    return out


def leaves_of(command: Dict[str, Any], name: str) -> List[Dict[str, Any]]:
    """The commands without commands of their own, each with its words as `full`."""
    children = [child for child in command.get("subcommands", []) if child["commandName"] != "help"]
    below = [leaf for child in children for leaf in leaves_of(child, f"{name} {child['commandName']}")]
    return below or [{**command, "full": name}]


def head(title: str, name: str, summary: str, date: str) -> str:
    out = f'.\\" Made from the help of the program.\n.TH {escaped(title)} 1 "{date}" postern "User commands"\n'
    return out + f".SH NAME\n{escaped(name)} \\- {escaped(summary)}\n.SH SYNOPSIS\n"


def leaf_page(leaf: Dict[str, Any], date: str) -> str:
    """The page of one command."""
    name = leaf["full"].replace(" ", "-")
    summary = leaf["abstract"].rstrip(".")
    out = head(name.upper(), name, summary[0].lower() + summary[1:], date) + usage(leaf["full"], leaf)
    out += ".SH DESCRIPTION\n" + paragraphs(leaf["abstract"])
    if leaf.get("discussion"):
        out += ".PP\n" + paragraphs(leaf["discussion"])
    options = described(leaf)
    return out + (".SH OPTIONS\n" + options if options else "") + ".SH SEE ALSO\n.BR postern (1)\n"


def page(command: Dict[str, Any], date: str) -> str:
    """The page of the program, with all commands."""
    name = command["commandName"]
    leaves = leaves_of(command, name)
    out = head("POSTERN", name, "auth sidecar for an application", date)
    out += ".br\n".join(usage(leaf["full"], leaf) for leaf in leaves)
    out += ".SH DESCRIPTION\n" + paragraphs(command["abstract"]) + ".PP\n" + paragraphs(command["discussion"])
    out += ".SH COMMANDS\n"
    for leaf in leaves:
        out += f".SS {escaped(leaf['full'])}\n" + paragraphs(leaf["abstract"])
        if leaf.get("discussion"):
            out += ".PP\n" + paragraphs(leaf["discussion"])
        out += described(leaf)
    return out + SECTIONS


def main(date: str, directory: Path) -> None:
    command = json.load(sys.stdin)["command"]
    directory.mkdir(parents=True, exist_ok=True)
    name = command["commandName"]
    (directory / f"{name}.1").write_text(page(command, date), encoding="utf-8")
    for leaf in leaves_of(command, name):
        (directory / f"{leaf['full'].replace(' ', '-')}.1").write_text(leaf_page(leaf, date), encoding="utf-8")


main(sys.argv[1], Path(sys.argv[2]))
