"""A pytest plugin (`-p skips`, with Tests/Tools on PYTHONPATH): what may be skipped, and what may not.

Every skip and its reason is in the summary. With STRICT_SKIPS set, as `make test-all` does, a skip for a reason that is
not listed here fails the run: a program that is missing, or a machine that cannot do what a test needs, must not look
like a test that passed.
"""
from __future__ import annotations

import os
import re
from typing import Dict, List

import pytest

#: What depends on the kernel, is not for machines or needs a file that may not be copied, and what only root can do.
#: Whole reasons, as regular expressions.
EXPECTED: List[str] = [
    r"this kernel's Landlock knows no ports",
    r"this kernel has no Landlock",
    r"this kernel has no SO_PEERPIDFD \(Linux 6\.5\)",
    r"this kernel has no SO_PASSPIDFD \(Linux 6\.5\)",
    r"this is a user namespace itself",
    r"podman can start no container here: .*",
    r"writes pictures for a person to look at, into SITE_SCREENSHOTS",
    r"waits long: --slow",
    r"ADOBE_PASS_OPENAPI names no copy of Adobe's OpenAPI document",
]
#: These only where root is not who runs them.
EXPECTED_OF_USERS: List[str] = [
    r"needs root",
    r"needs to be other users",
    r"needs another [gu]id",
    r"needs other uids",
    r"other users need root",
    r"root is needed to .*",
    r"only root may .*",
    r"takes /proc away in a mount namespace of its own",
    r"this user may stop no thread of another process",
]


def is_expected(reason: str, is_root: bool) -> bool:
    patterns = EXPECTED if is_root else EXPECTED + EXPECTED_OF_USERS
    return any(re.fullmatch(pattern, reason, re.DOTALL) for pattern in patterns)


class Skips:
    def __init__(self) -> None:
        self.unexpected: Dict[str, int] = {}

    def note(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if not report.skipped or hasattr(report, "wasxfail"):
            return
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        if not is_expected(reason, os.getuid() == 0):
            self.unexpected[reason] = self.unexpected.get(reason, 0) + 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.note(report)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.unexpected and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for reason, count in sorted(self.unexpected.items()):
            terminalreporter.write_line(f"FAILED: {count} skipped that may not be skipped here: {reason}")


def pytest_configure(config: pytest.Config) -> None:
    if "s" not in config.option.reportchars and "a" not in config.option.reportchars:
        config.option.reportchars += "s"
    if os.environ.get("STRICT_SKIPS"):
        config.pluginmanager.register(Skips(), "strict-skips")
