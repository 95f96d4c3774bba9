from __future__ import annotations

import io

import pytest

from kerneton.cli import _bar
from kerneton.cli._bar import bar, progress_line
from kerneton.data.progress import silent
from kerneton.parallel.threads import ticks


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Time that passes a second whenever it is looked at."""
    now = iter(range(1000))
    monkeypatch.setattr(_bar.time, "monotonic", lambda: float(next(now)))
    monkeypatch.setattr(_bar, "_REPEAT", 10.0)


def test_terminal_sees_one_line_that_is_wiped(clock):
    stream = Terminal()
    assert list(bar("abc", desc="letters", stream=stream)) == ["a", "b", "c"]
    drawn = stream.getvalue().split("\r")
    assert [line.partition("]")[2].split()[0] for line in drawn if "letters" in line] == [
        "0/3",
        "1/3",
        "2/3",
        "3/3",
    ]
    assert "\n" not in stream.getvalue()
    assert drawn[-1] == "\x1b[K"


def test_log_sees_a_line_every_ten_seconds(clock):
    stream = io.StringIO()
    list(bar(range(25), desc="files", stream=stream))
    assert [line.split()[2] for line in stream.getvalue().splitlines()] == ["10/25", "20/25"]
    assert "\r" not in stream.getvalue()


def test_short_run_leaves_no_line_in_a_log(clock):
    stream = io.StringIO()
    list(bar(range(9), stream=stream))
    assert stream.getvalue() == ""


def test_stderr_is_where_it_goes(capsys):
    list(bar(range(3)))
    assert capsys.readouterr().out == ""


def test_interrupted_bar_is_wiped():
    stream = Terminal()

    def broken():
        yield 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(bar(broken(), total=2, stream=stream))
    assert stream.getvalue().endswith("\r\x1b[K")


def test_items_without_a_length(clock):
    stream = Terminal()
    assert list(bar(iter("ab"), stream=stream)) == ["a", "b"]
    assert "1 0:01" in stream.getvalue()


def test_silent_is_the_iterable_itself():
    items = [1, 2]
    assert silent(items, total=2, desc="numbers") is items


def test_lines():
    assert progress_line(0, 4, "", 0.0) == "[........................] 0/4 0:00"
    assert progress_line(4, 4, "", 75.0) == "[########################] 4/4 1:15"
    assert progress_line(2, 4, "x", 3700.0).endswith("2/4 1:01:40 (0.00054/s, 1:01:40 left)")
    assert progress_line(9, 4, "", 1.0).startswith("[########################] 9/4")


def test_ticks_come_one_by_one_and_the_bar_is_closed():
    seen = []

    def shown(iterable, *, total, desc):
        seen.append((total, desc))
        try:
            for i in iterable:
                seen.append(i)
                yield i
        finally:
            seen.append("closed")

    with ticks(shown, 3, "passes") as tick:
        tick()
        tick()
    assert seen == [(3, "passes"), 0, 1, "closed"]
