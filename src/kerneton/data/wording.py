"""How errors and warnings count things and list problems, in few words."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SHOWN = 5  # kinds of problems in a message
_EXAMPLES = 3  # names of recordings with the same problem
_VARIABLE = re.compile(r"'[^']*'|-?\d[\d.]*(?:e[+-]?\d+)?")  # may differ in problems of one kind


def many(n: int, word: str) -> str:
    """A number of things.

    >>> many(1, "frame"), many(2, "frame")
    ('1 frame', '2 frames')
    """
    return f"{n} {word}{'' if n == 1 else 's'}"


def few(names: list[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
    return ", ".join(names[:_EXAMPLES]) + more


def grouped(problems: Iterable[tuple[str, str]]) -> str:
    """Problems as (who, what) in few words: one sentence per kind, with a count and three examples.

    Problems of one kind differ only in numbers, quoted words and what follows a semicolon.

    >>> grouped([("a.csv:", "line 3: expected 4 columns, got 5"), ("b.csv:", "no rows")])
    'a.csv: line 3: expected 4 columns, got 5; b.csv: no rows'
    >>> lines = enumerate("abcde")
    >>> grouped((f"{name}.csv:", f"line {i}: expected 4 columns, got 5") for i, name in lines)
    'a.csv: line 0: expected 4 columns, got 5 (the same in 5: a.csv, b.csv, c.csv and 2 more)'
    >>> grouped([(f"{name}.txt:", f"no names; give layout={name}") for name in "ab"])
    'a.txt: no names; give layout=a (the same in 2: a.txt, b.txt)'
    """
    kinds: dict[str, list[tuple[str, str]]] = {}
    for who, what in problems:
        kinds.setdefault(_VARIABLE.sub("*", what.partition("; ")[0]), []).append((who, what))
    sentences = []
    for members in kinds.values():
        sentence = " ".join(members[0])
        if len(members) > 1:
            names = [who.removeprefix("recording ").rstrip(":") for who, _ in members]
            sentence += f" (the same in {len(names)}: {few(names)})"
        sentences.append(sentence)
    more = len(sentences) - _SHOWN
    rest = f"; and {more} more kinds of problems" if more > 0 else ""
    return "; ".join(sentences[:_SHOWN]) + rest
