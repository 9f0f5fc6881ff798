#!/usr/bin/env python3
"""Writes postern(1) from the program's own help: postern --experimental-dump-help | manual.py DATE."""
from __future__ import annotations

import json
import sys
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
    for line in text.split("\n"):
        if line.startswith("  "):
            out.append(".PP\n.RS 4\n.nf\n" + escaped(line.strip()) + "\n.fi\n.RE\n.PP")
        else:
            out.append(escaped(line) if line else ".PP")
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


def page(command: Dict[str, Any], date: str) -> str:
    name = command["commandName"]
    out = f'.\\" Made from the help of the program.\n.TH POSTERN 1 "{date}" postern "User commands"\n'
    out += f".SH NAME\n{name} \\- auth sidecar for an application\n.SH SYNOPSIS\n"
    leaves: List[Dict[str, Any]] = []

    def collect(parent: str, one: Dict[str, Any]) -> None:
        children = [child for child in one.get("subcommands", []) if child["commandName"] != "help"]
        for child in children:
            collect(f"{parent} {child['commandName']}", child)
        if not children:
            leaves.append({**one, "full": parent})

    collect(name, command)
    out += ".br\n".join(usage(leaf["full"], leaf) for leaf in leaves)
    out += ".SH DESCRIPTION\n" + paragraphs(command["abstract"]) + ".PP\n" + paragraphs(command["discussion"])
    out += ".SH COMMANDS\n"
    for leaf in leaves:
        out += f".SS {escaped(leaf['full'])}\n" + paragraphs(leaf["abstract"])
        if leaf.get("discussion"):
            out += ".PP\n" + paragraphs(leaf["discussion"])
        out += described(leaf)
    return out + SECTIONS


sys.stdout.write(page(json.load(sys.stdin)["command"], sys.argv[1]))
