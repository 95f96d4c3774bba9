"""Patterns of file names, as in ``a{label}_s{subject}_e{take}``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path

from kerneton.data.wording import few
from kerneton.exceptions import DataError, ParameterError

_FIELDS = ("label", "subject", "take")


class Pattern:
    """A pattern of file names without extension or, with a ``/``, of paths below a folder."""

    def __init__(self, text: str) -> None:
        self._text, self._fits = text, compile_pattern(text)

    def fields(self, path: Path, root: Path) -> dict[str, str]:
        """The fields in the name of a file.

        >>> Pattern("{subject}/{label}_*").fields(Path("all/ann/wave_2.csv"), Path("all"))
        {'subject': 'ann', 'label': 'wave'}
        """
        name = path.relative_to(root).with_suffix("").as_posix() if "/" in self._text else path.stem
        if (found := self._fits.fullmatch(name)) is None:
            raise DataError(f"{path}: {name!r} does not fit the pattern {self._text!r}")
        return found.groupdict()

    def doubts(self, subjects: Iterable[str | None]) -> list[str]:
        """A warning if {subject} also matches a number of the take, because takes would then count
        as people.

        >>> Pattern("{label}_{subject}").doubts(["ann", "ann_2"])[0].split(":")[1]
        ' ann_2; if that is a person and a take, name the take in the pattern'
        """
        between = set(re.sub(r"\{\w+\}", "", self._text)) & set("_-. ")
        odd = sorted({s for s in subjects if s and "{subject}" in self._text and between & set(s)})
        told = (
            f"subjects contain what separates the parts of the pattern {self._text!r}: {few(odd)}"
        )
        return [
            f"{told}; if that is a person and a take, name the take in the pattern: {{take}} or *"
        ] * bool(odd)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression: {name} is one or more characters of one file or folder
    name.

    >>> compile_pattern("a{label}_s{subject}_*").fullmatch("a01_s02_e03")["subject"]
    '02'
    """
    parts = re.split(r"\{(\w+)\}", pattern)
    fields = parts[1::2]
    if odd := [name for name in fields if name not in _FIELDS]:
        near = difflib.get_close_matches(odd[0].lower(), _FIELDS, n=1)
        hint = f" (did you mean {{{near[0]}}}?)" if near else ""
        known = ", ".join(f"{{{name}}}" for name in _FIELDS)
        raise ParameterError(
            f"pattern {pattern!r}: no field {{{odd[0]}}}{hint}; fields are {known}, and * fits anything else"
        )
    if len(set(fields)) != len(fields) or not {"label", "subject"} & set(fields):
        raise ParameterError(
            f"pattern {pattern!r} must contain {{label}} or {{subject}}, and every name only once; "
            "for example 'a{label}_s{subject}_e{take}'"
        )
    if "{" in "".join(parts[::2]) or "}" in "".join(parts[::2]):
        raise ParameterError(f"pattern {pattern!r} has a brace that does not enclose a {{name}}")
    literal = [re.escape(part).replace(r"\*", ".*?") for part in parts[::2]]
    named = [f"(?P<{name}>[^/]+?)" for name in fields]
    return re.compile("".join(a + b for a, b in zip(literal, [*named, ""], strict=True)))
