"""Rows and cells of a table, whatever stands between them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from kerneton.exceptions import FormatError
from kerneton.files.readers._text import LARGEST, MAX_LINE, decode, lines, shorten

_MISSING = {"", "nan", "na", "n/a", "null", "none", "-"}


def rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells; the first row decides what stands between cells, lines with # are comments.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.csv"
    >>> _ = file.write_text("# by hand\\na;b\\n1;2,5\\n")
    >>> list(rows(file))
    [(2, ['a', 'b']), (3, ['1', '2,5'])]
    """
    delimiter: str | None = ""
    table = lines(path, raw=True)
    for line, text in table:
        if text.isspace() or text.lstrip().startswith("#"):
            continue
        if delimiter == "":
            delimiter = _delimiter(text)
        if '"' in text and delimiter is not None:
            text = _whole_row(text, table, f"{path}, line {line}")
        try:
            yield line, _split(text.rstrip("\r\n"), delimiter)
        except csv.Error as error:
            raise FormatError(f"{path}, line {line}: {error}") from error


def _whole_row(text: str, rest: Iterator[tuple[int, str]], where: str) -> str:
    """A row whose quoted cells may go on over several lines."""
    quotes = text.count('"')
    if quotes % 2 == 0:
        return text
    parts, length = [text], len(text)
    for _, more in rest:
        parts.append(more)
        length += len(more)
        quotes += more.count('"')
        if quotes % 2 == 0:
            return "".join(parts)
        if length > MAX_LINE:
            break
    raise FormatError(f"{where}: a quotation mark that is never closed")


def first_row(head: bytes) -> list[str]:
    """The cells of the first row, from the start of a file.

    >>> first_row(b"x\\ty\\tz\\n1\\t2\\t3")
    ['x', 'y', 'z']
    """
    for line in decode(head).splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                return _split(line, _delimiter(line))
            except csv.Error:
                return []
    return []


def parse(cell: str) -> float | None:
    """A cell as a number, with point or comma, NaN where it says that there is none; None for other words.

    >>> parse("1,5"), parse("n/a"), parse("left")
    (1.5, nan, None)
    """
    try:
        return float(cell)
    except ValueError:
        pass
    cell = cell.strip().strip('"').strip().lower()
    if cell in _MISSING:
        return math.nan
    try:
        return float(cell.replace(",", ".", 1))
    except ValueError:
        return None


def number(cells: Sequence[str], i: int, path: Path, line: int) -> float:
    """The number in one cell of a row.

    >>> number(["1.5", "x"], 1, Path("nod.csv"), 7)
    Traceback (most recent call last):
    ...
    kerneton.exceptions.FormatError: nod.csv, line 7, column 2: expected a number, got 'x'
    """
    value = parse(cells[i])
    if value is None:
        raise FormatError(
            f"{path}, line {line}, column {i + 1}: expected a number, got {shorten(cells[i].strip())!r}"
        )
    if abs(value) > LARGEST:
        raise FormatError(f"{path}, line {line}, column {i + 1}: {shorten(cells[i].strip())!r} is too large")
    return value


def _delimiter(line: str) -> str | None:
    """The most frequent of tab, semicolon and comma; None is white space."""
    best = max("\t;,", key=line.count)
    return best if best in line else None


def _split(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    if '"' not in line:
        return line.split(delimiter)
    return next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter, strict=True))
