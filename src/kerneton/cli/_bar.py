"""Progress bars."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TextIO, TypeVar

Item = TypeVar("Item")

_WIDTH = 24  # of a bar
_REDRAW = 0.1  # seconds between two drawings on a terminal
_REPEAT = 10.0  # seconds between two lines in a file or log


def bar(
    iterable: Iterable[Item],
    *,
    total: int | None = None,
    desc: str = "",
    stream: TextIO | None = None,
) -> Iterator[Item]:
    """Yield the items of ``iterable`` and show the progress.

    On a terminal, one line is redrawn and removed at the end; otherwise a line is written every ten
    seconds.

    >>> import io
    >>> list(bar("ab", desc="letters", stream=io.StringIO()))
    ['a', 'b']
    """
    stream = sys.stderr if stream is None else stream
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    terminal = stream.isatty()
    start = shown = time.monotonic()
    done = 0
    try:
        if terminal:
            _draw(stream, done, total, desc, 0.0)
        for item in iterable:
            yield item
            done += 1
            now = time.monotonic()
            if now - shown >= (_REDRAW if terminal else _REPEAT):
                shown = now
                _draw(stream, done, total, desc, now - start)
    finally:
        if terminal:
            stream.write("\r\x1b[K")
            stream.flush()


def _draw(stream: TextIO, done: int, total: int | None, desc: str, elapsed: float) -> None:
    line = progress_line(done, total, desc, elapsed)
    stream.write(f"\r{line}\x1b[K" if stream.isatty() else f"{line}\n")
    stream.flush()


def progress_line(done: int, total: int | None, desc: str, elapsed: float) -> str:
    """One line with the progress, the speed and the estimated time left.

    >>> progress_line(3, 12, "splits", 6.0)
    'splits [######..................] 3/12 0:06 (0.5/s, 0:18 left)'
    >>> progress_line(3, None, "files", 6.0)
    'files 3 0:06 (0.5/s)'
    """
    head = f"{desc} " if desc else ""
    rate = (
        f"{done / elapsed:.2g}/s" if done < 100 * elapsed else f"{done / max(elapsed, 1e-9):.0f}/s"
    )
    if not total:
        return f"{head}{done} {_clock(elapsed)}" + (f" ({rate})" if done and elapsed else "")
    filled = _WIDTH * min(done, total) // total
    left = f" ({rate}, {_clock(elapsed * (total - done) / done)} left)" if 0 < done < total else ""
    return f"{head}[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total} {_clock(elapsed)}{left}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
