"""Patterns of file names, as in ``a{label}_s{subject}_e{take}``."""

from __future__ import annotations

import difflib
import re

from kerneton.exceptions import ParameterError

_FIELDS = ("label", "subject", "take")


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression: {name} is one or more characters of one file or folder name.

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
