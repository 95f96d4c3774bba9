"""Lines and numbers of text files, within limits."""

from __future__ import annotations

import codecs
import itertools
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from kerneton.exceptions import FormatError, MissingDataError

MAX_BYTES = 1 << 29  # what a reader may allocate on the word of a header
LARGEST = 1e30  # coordinates beyond this overflow when squared in float32
MAX_LINE = 1 << 20  # characters; more than a hundred thousand numbers


def lines(path: Path, *, raw: bool = False) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines without their ends; blank lines are skipped. ``raw``: all lines, with their ends.

    UTF-8, or UTF-16 with its byte order mark, whichever way lines end. Bytes that are no text become U+FFFD
    and so fail later, where a number or a name is expected.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rows.txt"
    >>> _ = file.write_text("1 2\\n\\n3 4\\n")
    >>> list(lines(file))
    [(1, '1 2'), (3, '3 4')]
    """
    try:
        if not path.is_file():  # devices have no end, and pipes may never begin
            raise MissingDataError(f"{path}: {'not a plain file' if path.exists() else 'no such file'}")
        with path.open("rb") as start:
            encoding = _encoding(start.read(2))
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
    """Words as numbers; NaN is a number here, infinity and what squares to it is not.

    >>> numbers(["1", "2.5e-1"], Path("wave.txt"), 3)
    [1.0, 0.25]
    """
    try:
        values = list(map(float, words))
        if max(values) <= LARGEST and min(values) >= -LARGEST:  # false where NaN hides a comparison
            return values
    except ValueError:
        pass
    values = []
    for i, word in enumerate(words):
        try:
            value = float(word)
        except ValueError:
            raise FormatError(
                f"{path}, line {line}, column {i + 1}: expected a number, got {shorten(word)!r}"
            ) from None
        if abs(value) > LARGEST:
            raise FormatError(f"{path}, line {line}, column {i + 1}: {shorten(word)!r} is too large")
        values.append(value)
    return values


def table(path: Path, width: int, what: str) -> np.ndarray:
    """(rows, width) the numbers of a file whose every line holds ``width`` of them.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rows.txt"
    >>> _ = file.write_text("1 2\\n3 4\\n")
    >>> table(file, 2, "x y")
    array([[1., 2.], [3., 4.]])
    """
    values = array("d")  # a list of Python floats would take five times the memory
    for line, text in lines(path):
        words = text.split()
        if len(words) != width:
            raise FormatError(
                f"{path}, line {line}: expected {width} numbers ({what}), got {len(words)} words"
            )
        values.extend(numbers(words, path, line))
        if values.itemsize * len(values) > MAX_BYTES:
            raise FormatError(f"{path}, line {line}: more than {MAX_BYTES >> 20} MiB of numbers")
    if not values:
        raise FormatError(f"{path}: no numbers")
    return np.frombuffer(values).reshape(-1, width)


def first_rows(head: bytes, n_rows: int = 2) -> list[list[str]]:
    """The words of the first lines that are not blank.

    >>> first_rows(b"\\n1 2.5 -3\\n4 5 6\\n7 8 9")
    [['1', '2.5', '-3'], ['4', '5', '6']]
    """
    rows = (line.split() for line in decode(head).splitlines())
    return list(itertools.islice((row for row in rows if row), n_rows))


def decode(head: bytes) -> str:
    """The start of a file as text, in the encoding that `lines` will find.

    >>> decode("é;1".encode("utf-16"))
    'é;1'
    """
    return head.decode(_encoding(head), errors="replace")


def _encoding(head: bytes) -> str:
    return "utf-16" if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def are_numbers(words: Sequence[str], width: int, n_whole: int = 0) -> bool:
    """Whether these are ``width`` numbers, the first ``n_whole`` of them whole.

    >>> are_numbers(["1", "2.5"], 2, 1), are_numbers(["1", "x"], 2), are_numbers(["1.5", "2"], 2, 1)
    (True, False, False)
    """
    try:
        values = [float(word) for word in words]
    except ValueError:
        return False
    return len(values) == width and all(value.is_integer() for value in values[:n_whole])


def shorten(text: str, width: int = 40) -> str:
    """Text short enough for an error message.

    >>> shorten("abcdefgh", 5)
    'ab...'
    """
    return text if len(text) <= width else text[: width - 3] + "..."
