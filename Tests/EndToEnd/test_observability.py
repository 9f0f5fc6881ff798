"""Metrics as Prometheus wants them; the alert rules and the dashboard of deploy/ against what a sidecar exposes."""
from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, Set

import pytest

from harness import binaries, expect
from harness.sidecar import Sidecar

Start = Callable[..., Sidecar]
DEPLOY = binaries.ROOT / "deploy"
RULES = DEPLOY / "prometheus" / "alerts.yaml"
DASHBOARD = DEPLOY / "grafana" / "postern.json"
NAME = re.compile(r"\b(?:postern|process)_[a-z_]+\b")


def promtool(*arguments: Any, text: str = "") -> str:
    program = shutil.which("promtool")
    assert program, "promtool is not there: install Debian's prometheus (`make deps`)"
    done = subprocess.run([program, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def exposition(start: Start, directory: Path) -> str:
    """What a sidecar exposes that has done a little of everything."""
    sidecar = start({
        "audit": {"path": str(directory / "audit.log")},
        "telemetry": {"otlp": {"endpoint": "http://127.0.0.1:9/v1/traces"}},
        "resources": {"orders": {"limits": {"concurrency": 2, "breaker": {}}}},
    })
    with sidecar.connect() as connection:
        for resource in ("orders", "open"):
            connection.call("fetchResource", {"resource": resource, "path": "echo"})
        expect.fault(connection.error("nothing"), -32601)
        connection.call("reloadConfig")
        return connection.call("metrics")["text"]


def families(exposition: str) -> Set[str]:
    names: Set[str] = set()
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", exposition, re.M):
        names |= {name} if kind != "histogram" else {f"{name}_bucket", f"{name}_sum", f"{name}_count"}
    return names


def test_promtool_finds_nothing_wrong_with_the_metrics(exposition: str) -> None:
    assert promtool("check", "metrics", text=exposition) == ""


def test_the_alert_rules_are_valid_and_fire_when_they_should() -> None:
    assert "SUCCESS" in promtool("check", "rules", RULES)
    assert "SUCCESS" in promtool("test", "rules", RULES.with_suffix(".test.yaml"))


def test_each_alert_says_what_to_do_and_is_tried() -> None:
    text, tried = RULES.read_text(), RULES.with_suffix(".test.yaml").read_text()
    alerts = re.split(r"(?m)^      - alert: ", text)[1:]
    assert len(alerts) >= 10
    for alert in alerts:
        name = alert.split("\n", 1)[0]
        for annotation in ("summary", "runbook"):
            assert re.search(rf"^          {annotation}: \S", alert, re.M), f"{name} has no {annotation}"
        assert f'alertname="{name}"' in tried, f"{name} is not shown to fire"


def test_alerts_and_dashboard_name_metrics_that_are_there(exposition: str) -> None:
    there = families(exposition)
    board: Dict[str, Any] = json.loads(DASHBOARD.read_text())
    expressions = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    assert len(expressions) > 20
    named = {name for expression in expressions for name in NAME.findall(expression)}
    assert named <= there, named - there
    rules = re.findall(r"(?ms)^        expr: (.*?)^        (?:for|labels):", RULES.read_text())
    in_rules = set(NAME.findall("\n".join(rules)))
    assert len(in_rules) > 10 and in_rules <= there, in_rules - there
    # And the other way: nothing is exposed that nobody looks at.
    assert {re.sub(r"_(sum|count)$", "_bucket", name) for name in there} <= named | in_rules


def test_the_dashboard_can_be_read_by_grafana() -> None:
    board = json.loads(DASHBOARD.read_text())
    assert board["title"] and board["uid"] == "postern" and board["schemaVersion"] >= 36
    identifiers = [panel["id"] for panel in board["panels"]]
    assert len(set(identifiers)) == len(identifiers)
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        if panel["type"] != "row":
            assert panel["description"] and panel["targets"], panel["title"]
