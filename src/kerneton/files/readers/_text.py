"""Files and their text: lines, numbers and cells, within limits."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import math
import re
import stat
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from kerneton.exceptions import FormatError, MissingDataError

MAX_BYTES = 1 << 29  # that a reader may allocate for the sizes in a header
LARGEST = 1e30  # coordinates beyond this overflow when squared in float32
MAX_LINE = 1 << 20  # characters; more than a hundred thousand numbers
RECORDING = 4096  # bytes that a recording needs in addition to its arrays
MAX_JOINTS = 1000  # a body with face and fingers has a few hundred
_HEAD = 1 << 16  # bytes that show the encoding
_MISSING = {"", "nan", "na", "n/a", "null", "none", "nil", "-", "--", "?", "missing", "-nan"}
_MISSING |= {"#n/a", "#value!", "#num!", "#div/0!", "#ref!"}  # Excel
_MISSING |= {"nan(ind)", "-nan(ind)", "1.#qnan", "1.#ind", "-1.#ind"}  # C and C++ on Windows
_COMMENT = re.compile(r"\s*#(?!N/A|VALUE!|NUM!|DIV/0!|REF!)")


def check_regular(path: Path) -> int:
    """The size of a plain file; devices and pipes are refused, since they may have no end."""
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise MissingDataError(f"{path}: no such file") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise MissingDataError(
            f"{path}: cannot be read: {getattr(error, 'strerror', error)}"
        ) from error
    if stat.S_ISDIR(status.st_mode):
        raise MissingDataError(f"{path}: a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise MissingDataError(f"{path}: a device, pipe or socket; only plain files are read")
    return status.st_size


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; False for impossible paths."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether a path is a plain file; False for impossible paths."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_head(path: Path, size: int) -> bytes:
    """The first bytes of a plain file."""
    check_regular(path)
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise MissingDataError(f"{path}: cannot be read: {error.strerror}") from error


def lines(path: Path, *, raw: bool = False) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines without their ends; blank lines are skipped. ``raw``: all
    lines, with their ends.

    UTF-8, UTF-16 with its byte order mark, or else the encoding of Western Windows, with any line
    ends.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rows.txt"
    >>> _ = file.write_text("1 2\\n\\n3 4\\n")
    >>> list(lines(file))
    [(1, '1 2'), (3, '3 4')]
    """
    encoding = _encoding(read_head(path, _HEAD))
    try:
        with path.open(encoding=encoding, errors="replace", newline="") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise FormatError(f"{path}, line {number}: longer than {MAX_LINE} characters")
                if raw:
                    yield number, line
                elif not line.isspace():
                    yield number, line.rstrip("\r\n")
    except OSError as error:
        raise MissingDataError(f"{path}: cannot be read: {error.strerror}") from error


def numbers(words: Sequence[str], path: Path, line: int) -> list[float]:
    """Words as numbers; NaN is allowed, infinity and numbers whose square is infinite are not.

    >>> numbers(["1", "2.5e-1"], Path("wave.txt"), 3)
    [1.0, 0.25]
    """
    try:
        values = list(map(float, words))
        if max(values) <= LARGEST and min(values) >= -LARGEST:  # false where NaN hides a comparison
            return values
    except ValueError:
        pass
    where = f"{path}, line {line}, column"
    return [_checked(_float(word), word, f"{where} {i}") for i, word in enumerate(words, 1)]


def _float(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _checked(value: float | None, word: str, where: str) -> float:
    if value is None:
        raise FormatError(f"{where}: expected a number, got {shorten(word)!r}")
    if abs(value) > LARGEST:
        raise FormatError(f"{where}: {shorten(word)!r} is too large")
    return value


def table(
    path: Path,
    widths: Sequence[int],
    what: str,
    rows: Iterable[tuple[int, list[str]]] | None = None,
) -> np.ndarray:
    """(rows, width) the numbers of a file whose lines all have the same width, one of ``widths``.

    ``rows`` are line numbers and words, by default of all lines that are not blank.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rows.txt"
    >>> _ = file.write_text("1 2\\n3 4\\n")
    >>> table(file, [2], "x y")
    array([[1., 2.], [3., 4.]])
    """
    values = array("d")  # a list of Python floats would take five times the memory
    width = 0
    for line, words in (
        ((line, text.split()) for line, text in lines(path)) if rows is None else rows
    ):
        if len(words) != width:
            if width or len(words) not in widths:
                expected = f"{width or ' or '.join(map(str, widths))} numbers ({what})"
                raise FormatError(
                    f"{path}, line {line}: expected {expected}, got {len(words)} words"
                )
            width = len(words)
        values.extend(numbers(words, path, line))
        if values.itemsize * len(values) > MAX_BYTES:
            raise FormatError(f"{path}, line {line}: more than {MAX_BYTES >> 20} MiB of numbers")
    if not values:
        raise FormatError(f"{path}: no numbers")
    return np.frombuffer(values).reshape(-1, width)


def first_rows(head: bytes) -> list[list[str]]:
    """The words of the first two lines that are not blank."""
    rows = (line.split() for line in decode(head).splitlines())
    return list(itertools.islice((row for row in rows if row), 2))


def decode(head: bytes) -> str:
    """Bytes as text: UTF-8, UTF-16 with its byte order mark, or else the encoding of Western
    Windows.
    """
    return head.decode(_encoding(head), errors="replace")


def _encoding(head: bytes) -> str:
    if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(
            head
        )  # a character that is cut off is no error
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def starts_with_numbers(head: bytes, width: int, n_whole: int) -> bool:
    """Whether the first rows of a file are ``width`` numbers each, the first ``n_whole`` of them
    whole.
    """
    rows = first_rows(head)
    return bool(rows) and all(are_numbers(row, width, n_whole) for row in rows)


def are_numbers(words: Sequence[str], width: int, n_whole: int = 0) -> bool:
    """Whether these are ``width`` numbers, the first ``n_whole`` of them whole."""
    values = [_float(word) for word in words]
    if len(values) != width or None in values:
        return False
    return all(value is not None and value.is_integer() for value in values[:n_whole])


def shorten(text: str, width: int = 40) -> str:
    """Text short enough for an error message, with ``...`` at its end if it was longer."""
    return text if len(text) <= width else text[: width - 3] + "..."


def rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells; the first row decides what separates cells, lines that begin with #
    are comments.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.csv"
    >>> _ = file.write_text("# by hand\\na;b\\n1;2,5\\n")
    >>> list(rows(file))
    [(2, ['a', 'b']), (3, ['1', '2,5'])]
    """
    delimiter: str | None = ""
    table = lines(path, raw=True)
    for line, text in table:
        if text.isspace() or _COMMENT.match(text):
            continue
        if delimiter == "":
            delimiter = _delimiter(text)
            if re.fullmatch(r"sep=[,;\t]\s*", text, re.IGNORECASE):  # Excel's note to itself
                continue
        if '"' in text and delimiter is not None:
            text = _whole_row(text, table, f"{path}, line {line}")
        try:
            yield line, _split(text.rstrip("\r\n"), delimiter)
        except csv.Error as error:
            raise FormatError(f"{path}, line {line}: {error}") from error


def _whole_row(text: str, rest: Iterator[tuple[int, str]], where: str) -> str:
    """A row whose quoted cells may contain line ends."""
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
    """The cells of the first row, from the start of a file."""
    for line in decode(head).splitlines():
        if line.strip() and not line.lstrip().startswith(("#", "sep=")):
            try:
                return _split(line, _delimiter(line))
            except csv.Error:
                return []
    return []


def parse(cell: str) -> float | None:
    """A cell as a number, with decimal point or comma; NaN for a missing value, None for other
    words.

    >>> parse("1,5"), parse("n/a"), parse("left")
    (1.5, nan, None)
    """
    if (value := _float(cell)) is not None:
        return value
    cell = cell.strip().strip('"').strip().lower()
    return math.nan if cell in _MISSING else _float(cell.replace(",", ".", 1))


def number(cells: Sequence[str], i: int, path: Path, line: int) -> float:
    """The number in one cell of a row.

    >>> number(["1.5", "x"], 1, Path("nod.csv"), 7)
    Traceback (most recent call last):
    ...
    kerneton.exceptions.FormatError: nod.csv, line 7, column 2: expected a number, got 'x'
    """
    return _checked(parse(cells[i]), cells[i].strip(), f"{path}, line {line}, column {i + 1}")


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


def at_origin(joints: np.ndarray) -> np.ndarray:
    """Which joints (T, J) are missing, because they are exactly at the origin in some frames; in
    all frames it is a root.

    >>> frames = [[[0.0, 0, 0], [1, 2, 3]], [[0, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 2, 4]]]
    >>> at_origin(np.array(frames)).tolist()
    [[False, False], [True, True], [False, False]]
    """
    zero = (joints == 0).all(axis=2)
    lost = zero.all(axis=1)
    return lost[:, None] | (zero & ~zero[~lost].all(axis=0))
