"""Snapshots of behaviour: what is written down of answers, metrics, audit records and log lines, and how it is
compared."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Dict, Iterable, List, Set

FOLDER = Path(__file__).resolve().parents[1] / "snapshots"

#: What differs from run to run, and what is written instead.
VOLATILE = [
    (re.compile(r"/tmp/postern-[^/\s]+(/s\d+\b)?"), "<directory>"),
    (re.compile(r"sha256/[A-Za-z0-9+/]{43}="), "<pin>"),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), r"\1:<port>"),
    (re.compile(r"\bport \d+"), "port <port>"),
    (re.compile(r"(the TLS connection failed): .*"), r"\1: <reason>"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "<id>"),
    (re.compile(r"\bprocess \d+"), "process <pid>"),
    (re.compile(r"\bThere are (at least )?\d+ sessions"), "There are <count> sessions"),
    (re.compile(r"\b\d+(\.\d+)? (ms|milliseconds|seconds|s)\b"), "<time>"),
    (re.compile(r"postern\.yaml:\d+:\d+"), "postern.yaml:<place>"),
]
#: Members of an error's `data` whose value is part of the contract; of the others only the name is kept.
FAULT_VALUES = ["reason", "path", "outcome", "retryable", "error", "status", "errorCode", "method", "limit"]
#: The same of a result.
RESULT_VALUES = ["valid", "state", "status", "outcome", "attempts", "tokenRefreshed", "ended", "upstream", "revoked", "kind", "removed"]
#: Labels of metrics whose values are names of the configuration, or too many.
OPEN_LABELS = {"issuer", "le", "method", "origin", "provider", "resource", "version"}


def plain(text: str) -> str:
    """`text` without what differs from run to run."""
    for pattern, stand_in in VOLATILE:
        text = pattern.sub(stand_in, text)
    return text


def described(answer: Dict[str, Any]) -> Dict[str, Any]:
    """A JSON-RPC answer: code, reason and so on, the names of all other members, and apart from those the message for
    people."""
    if "error" in answer:
        data = answer["error"].get("data", {})
        facts = {"code": answer["error"]["code"], **_chosen(data, FAULT_VALUES)}
        if "upstream" in data:
            facts["upstream"] = data["upstream"]
        facts["data"] = sorted(data)
        return {**facts, "message": plain(answer["error"]["message"])}
    result = answer["result"]
    facts = _chosen(result, RESULT_VALUES)
    if "decisions" in result:
        facts["decisions"] = [_decision(one) for one in result["decisions"]]
    facts["result"] = sorted(result)
    verdict = result.get("error") or (result["status"] if isinstance(result.get("status"), dict) else {})
    facts.update({name: verdict[name] for name in ("code", "claim", "action") if name in verdict})
    if "message" in verdict:
        facts["message"] = plain(verdict["message"])
    return facts


def _chosen(members: Dict[str, Any], names: List[str]) -> Dict[str, Any]:
    return {name: members[name] for name in names if name in members and not isinstance(members[name], (dict, list))}


def _decision(decision: Dict[str, Any]) -> Dict[str, Any]:
    error = decision.get("error", {})
    facts = {"authorized": decision["authorized"], "source": decision.get("source"), "members": sorted(decision)}
    return {**facts, **{name: error[name] for name in ("code", "status", "action") if name in error}}


def families(texts: Iterable[str]) -> Dict[str, Any]:
    """Metric families in Prometheus text: type, help, label names, and for labels with a fixed vocabulary their
    values."""
    found: Dict[str, Any] = {}
    for line in (line for text in texts for line in text.splitlines()):
        if line.startswith("# HELP "):
            name, _, text = line[len("# HELP "):].partition(" ")
            found.setdefault(name, {"type": "", "labels": {}})["help"] = text
        elif line.startswith("# TYPE "):
            name, _, kind = line[len("# TYPE "):].partition(" ")
            found[name]["type"] = kind
        elif line:
            name = re.split(r"[ {]", line)[0]
            family = found.get(name) or found[re.sub(r"_(bucket|sum|count)$", "", name)]
            for label, value in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', line):
                family["labels"].setdefault(label, set()).update([] if label in OPEN_LABELS else [value])
    return {name: {**family, "labels": {label: sorted(values) for label, values in sorted(family["labels"].items())}}
            for name, family in found.items()}


def members_by(records: Iterable[Dict[str, Any]], *naming: str) -> Dict[str, Any]:
    """For each kind of record, as the values of `naming` tell it: the members that all of them have, and those of some
    only."""
    always: Dict[str, Set[str]] = {}
    ever: Dict[str, Set[str]] = {}
    for record in records:
        kind = " ".join(plain(str(record[name])) for name in naming if name in record)
        always[kind] = always.get(kind, set(record)) & set(record)
        ever.setdefault(kind, set()).update(record)
    return {kind: {"always": sorted(always[kind]), "sometimes": sorted(ever[kind] - always[kind])} for kind in ever}


class Snapshot:
    """One file of facts: an object of groups, each of which is an object of entries."""

    def __init__(self, name: str) -> None:
        self.path = FOLDER / f"{name}.json"

    def write(self, found: Dict[str, Dict[str, Any]]) -> None:
        FOLDER.mkdir(exist_ok=True)
        self.path.write_text(self._text(found))

    def differences(self, found: Dict[str, Dict[str, Any]]) -> List[str]:
        """A line or two for each entry that is new, is missing, or says something else."""
        expected = json.loads(self.path.read_text()) if self.path.exists() else {}
        found = json.loads(self._text(found))
        lines = []
        for group in sorted({*expected, *found}):
            old, new = expected.get(group, {}), found.get(group, {})
            for name in sorted({*old, *new}):
                if name not in new:
                    lines.append(f"{group}: {name}: is missing; it was {json.dumps(old[name])}")
                elif name not in old:
                    lines.append(f"{group}: {name}: is new: {json.dumps(new[name])}")
                else:
                    lines += self._changed(f"{group}: {name}", old[name], new[name])
        return lines

    @staticmethod
    def _changed(title: str, old: Dict[str, Any], new: Dict[str, Any]) -> List[str]:
        return [
            f"{title}: {member}\n    was {json.dumps(old.get(member))}\n    is  {json.dumps(new.get(member))}"
            for member in sorted({*old, *new}) if old.get(member) != new.get(member)]

    @staticmethod
    def _text(found: Dict[str, Dict[str, Any]]) -> str:
        """JSON with the facts of an entry in one line and what is written for people in the next: a changed word is
        one changed line."""
        def entry(facts: Dict[str, Any]) -> str:
            words = [name for name in ("message", "help") if name in facts]
            lines = [json.dumps({name: facts[name] for name in sorted(facts) if name not in words}, ensure_ascii=False)[1:-1]]
            lines += [json.dumps({name: facts[name]}, ensure_ascii=False)[1:-1] for name in words]
            return "{" + ",\n      ".join(line for line in lines if line) + "}"

        def group(entries: Dict[str, Any]) -> str:
            return ",\n".join(f"    {json.dumps(name, ensure_ascii=False)}: {entry(entries[name])}" for name in sorted(entries))

        return "{\n" + ",\n".join(f"  {json.dumps(name)}: {{\n{group(found[name])}\n  }}" for name in sorted(found)) + "\n}\n"
