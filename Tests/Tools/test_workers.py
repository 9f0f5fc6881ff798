"""How the end-to-end tests are shared out among workers (Tests/EndToEnd/workers.py)."""
from __future__ import annotations

import json
import sys
from pathlib import Path

END_TO_END = Path(__file__).resolve().parents[1] / "EndToEnd"
sys.path.insert(0, str(END_TO_END))

import workers  # noqa: E402


def test_the_longest_come_first_and_everyone_gets_as_much() -> None:
    durations = {"a": 8.0, "b": 7.0, "c": 6.0, "d": 5.0, "e": 4.0}
    assert workers.share_out("abcde", durations, 2) == [["a", "d", "e"], ["b", "c"]]


def test_a_file_that_is_not_recorded_counts_as_the_median() -> None:
    durations = {"a": 9.0, "b": 3.0, "c": 1.0}
    assert workers.share_out("abcn", durations, 2) == [["a"], ["b", "n", "c"]]


def test_every_file_runs_once_however_many_workers_there_are() -> None:
    files = [f"test_{number}.py" for number in range(7)]
    for count in (1, 3, 7, 20):
        shares = workers.share_out(files, {}, count)
        assert sorted(sum(shares, [])) == files and all(shares)


def test_durations_are_added_up_by_file_with_and_without_what_is_thorough(tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_text(
        '<testsuites><testsuite><testcase classname="Tests.EndToEnd.test_a" name="x" time="1.24"/>'
        '<testcase classname="Tests.EndToEnd.test_a.TestClass" name="y" time="2">'
        '<properties><property name="thorough" value="yes"/></properties></testcase>'
        '<testcase classname="test_a" name="w" time="60"><properties><property name="slow" value="yes"/></properties>'
        '</testcase></testsuite></testsuites>')
    (tmp_path / "two.xml").write_text('<testsuites><testcase classname="test_b" name="z" time="0.5"/></testsuites>')
    found = workers.recorded(tmp_path.glob("*.xml"))
    assert found == {"test_a.py": {"all": 3.2, "usual": 1.2, "slow": 60.0}, "test_b.py": {"all": 0.5, "usual": 0.5}}
    assert json.loads(workers.text_of(found)) == found


def test_a_run_of_slow_tests_leaves_the_other_seconds() -> None:
    known = {"test_limits.py": {"all": 9.0, "usual": 8.0}, "test_of_a_file_that_is_gone.py": {"all": 1.0, "usual": 1.0}}
    found = workers.merged(known, {"test_limits.py": {"slow": 280.0}})
    assert found == {"test_limits.py": {"all": 9.0, "usual": 8.0, "slow": 280.0}}


def test_the_recorded_files_are_there() -> None:
    durations = json.loads(workers.DURATIONS.read_text())
    gone = set(durations) - {path.name for path in END_TO_END.glob("test_*.py")}
    assert not gone, f"make record-durations: {sorted(gone)}"
