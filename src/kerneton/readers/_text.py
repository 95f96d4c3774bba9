"""Lines and numbers of text files, within limits."""

from __future__ import annotations

import codecs
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from kerneton.exceptions import FormatError, MissingDataError

MAX_BYTES = 1 << 29  # what a reader may allocate on the word of a header
MAX_LINE = 1 << 20  # characters; more than a hundred thousand numbers


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines without their ends; blank lines are skipped.

    UTF-8, or UTF-16 with its byte order mark, whichever way lines end. Bytes that are no text become U+FFFD
    and so fail later, where a number or a name is expected.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rows.txt"
    >>> _ = file.write_text("1 2\\n\\n3 4\\n")
    >>> list(lines(file))
    [(1, '1 2'), (3, '3 4')]
    """
    try:
        with path.open("rb") as raw:
            start = raw.read(2)
        encoding = "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
        with path.open(encoding=encoding, errors="replace") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise FormatError(f"{path}, line {number}: longer than {MAX_LINE} characters")
                if text := line.strip():
                    yield number, text
    except OSError as error:
        raise MissingDataError(f"{path}: cannot be read: {error.strerror}") from error


def numbers(words: Sequence[str], where: str) -> list[float]:
    """Words as numbers; NaN is a number here, infinity is not.

    >>> numbers(["1", "2.5e-1"], "wave.txt, line 3")
    [1.0, 0.25]
    """
    values = []
    for i, word in enumerate(words):
        try:
            value = float(word)
        except ValueError:
            raise FormatError(f"{where}, column {i + 1}: expected a number, got {shorten(word)!r}") from None
        if math.isinf(value):
            raise FormatError(f"{where}, column {i + 1}: {shorten(word)!r} is infinite")
        values.append(value)
    return values


def first_words(head: bytes) -> list[str]:
    """The words of the first line that is not blank.

    >>> first_words(b"\\n1 2.5 -3\\n4 5 6\\n")
    ['1', '2.5', '-3']
    """
    return head.lstrip()[:MAX_LINE].split(b"\n", 1)[0].decode("utf-8-sig", "replace").split()


def all_numbers(words: Sequence[str]) -> bool:
    """Whether there are words and every one is a number.

    >>> all_numbers(["1", "2.5"]), all_numbers(["1", "x"]), all_numbers([])
    (True, False, False)
    """
    try:
        for word in words:
            float(word)
    except ValueError:
        return False
    return bool(words)


def shorten(text: str, width: int = 40) -> str:
    """Text short enough for an error message.

    >>> shorten("abcdefgh", 5)
    'ab...'
    """
    return text if len(text) <= width else text[: width - 3] + "..."
