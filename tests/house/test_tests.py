"""Rules of the tests themselves."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
CLOCKS = re.compile(r"\btime\.(perf_counter|monotonic|time|process_time|thread_time)(_ns)?\(")


def test_no_test_looks_at_a_clock():
    """A busy machine must not make a test fail; benchmarks measure times."""
    found = [
        f"{path.relative_to(TESTS)}:{number}"
        for path in sorted(TESTS.rglob("*.py"))
        if path.name != "coverage_fuzz.py"  # a program that runs for as long as it is told
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if CLOCKS.search(line)
    ]
    assert found == []


def test_the_rule_can_fail():
    assert CLOCKS.search("start = " + "time.perf_counter" + "()")
    assert not CLOCKS.search('monkeypatch.setattr(progress.time, "monotonic", clock)')
