"""Cells of tables, and numbers as the page writes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kerneton.report.tables import percent


@dataclass(frozen=True)
class Cell:
    """A text with a number to sort by and, for a share, a bar of that length."""

    text: Any
    key: float | None = None
    share: float | None = None
    kind: str = "meter"  # or "heat", "range", "code", "none"


def meter(share: float | None) -> Cell:
    """A fraction in per cent over a bar of that length.

    >>> meter(0.5).text, meter(None).text
    ('50.0', '–')
    """
    return (
        Cell("–", -1, kind="none")
        if share is None
        else Cell(percent(share), round(share, 6), share)
    )


def per_cent(fraction: float) -> str:
    """A fraction in per cent, the sign kept on the number's line.

    >>> per_cent(0.125)
    '12.5\\xa0%'
    """
    return f"{100 * fraction:.1f}\xa0%"


def signed(value: float, digits: int = 3) -> str:
    """A number with its sign.

    >>> signed(-0.25)
    '−0.250'
    """
    return f"{value:+.{digits}f}".replace("-", "−")
