"""Tables of text, for the screen and for Markdown."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

Rows = Sequence[Sequence[str]]  # the first one is the header


def percent(value: float | None, digits: int = 1) -> str:
    """A fraction in per cent; a dash if there is none.

    >>> percent(0.9298), percent(0.9298, 2), percent(None)
    ('93.0', '92.98', '-')
    """
    return "-" if value is None else f"{100 * value:.{digits}f}"


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    r"""Rows as the text of a CSV file; None is an empty cell.

    >>> csv_text([["γ", "test"], [0.5, None]])
    'γ,test\n0.5,\n'
    """
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def aligned(rows: Rows) -> str:
    """Columns for the screen: numbers to the right, words to the left.

    >>> print(aligned([["label", "recall %"], ["wave", "93.0"], ["drink", "8.5"]]))
    label  recall %
    wave       93.0
    drink       8.5
    """
    # a label cannot forge a row
    rows = [[" ".join(cell.splitlines()) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numeric = [all(_is_number(row[i]) for row in rows[1:]) for i in range(len(widths))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in rows
    )


def markdown(rows: Rows) -> str:
    """A Markdown table; cells are text, in which HTML and links mean nothing, or one span of code.

    >>> print(markdown([["label", "recall %"], ["a|b", "93.0"], ["<b>", "8.5"]]))
    | label | recall % |
    | --- | ---: |
    | a\\|b | 93.0 |
    | &lt;b> | 8.5 |
    """
    header, *body = [[inline(cell).replace("|", "\\|") for cell in row] for row in rows]
    rule = [
        "---:" if body and all(_is_number(row[i]) for row in body) else "---"
        for i in range(len(header))
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *body])


def inline(text: str) -> str:
    r"""Text as Markdown shows it, on one line: a label cannot bring HTML, links, pictures or lines
    of its own.

    >>> print(inline("<img src=x> [a](b)\n# c"), inline("`a < b`"))
    &lt;img src=x> \[a](b) # c `a < b`
    """
    text = " ".join(text.split("\n")).replace("\r", " ")
    if len(text) > 1 and text[0] == text[-1] == "`":
        return "`" + text[1:-1].replace("`", "'") + "`"
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(
        r"(?i)(?=[\\`\[]|(?<=:)//|(?<=www)\.)", r"\\", text
    )  # also of bare addresses, which become links


def _is_number(cell: str) -> bool:
    return cell == "-" or cell.replace(".", "", 1).isdigit()
