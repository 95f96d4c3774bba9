"""What a progress bar shows; imported when one is drawn."""

from __future__ import annotations

from typing import TextIO

_WIDTH = 24  # of a bar


def draw(stream: TextIO, done: int, total: int | None, desc: str, elapsed: float) -> None:
    """Redraw the line of a terminal, or write one more line to a file or log."""
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
    rate = f"{done / elapsed:.2g}/s" if done < 100 * elapsed else f"{done / max(elapsed, 1e-9):.0f}/s"
    if not total:
        return f"{head}{done} {_clock(elapsed)}" + (f" ({rate})" if done and elapsed else "")
    filled = _WIDTH * min(done, total) // total
    left = f" ({rate}, {_clock(elapsed * (total - done) / done)} left)" if 0 < done < total else ""
    return f"{head}[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total} {_clock(elapsed)}{left}"


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
