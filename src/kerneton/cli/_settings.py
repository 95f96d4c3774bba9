"""Parameters and columns given as NAME=VALUE, and parts of their names."""

from __future__ import annotations

import argparse
import ast
import difflib
import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any

from kerneton.exceptions import ParameterError


def find_parameter(name: str, known: Iterable[str]) -> str:
    """The full name of a parameter, from the full name or from some of its parts in order,
    including the last, if that is unique.

    >>> find_parameter("sck__power", ["sck__kernel__power", "dck__kernel__power", "machine__C"])
    'sck__kernel__power'
    """
    known = list(known)
    found = [full for full in known if _names(name.split("__"), full.split("__"))]
    if name in found or len(found) == 1:
        return name if name in found else found[0]
    if found:
        raise ParameterError(
            f"parameter {name!r} is ambiguous: it may be {', '.join(found)}; give the full name"
        )
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.3)
    raise ParameterError(
        f"no parameter {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else "")
    )


def _names(some: list[str], full: list[str]) -> bool:
    rest = iter(full)
    return some[-1] == full[-1] and all(part in rest for part in some)


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Parameters from NAME=VALUE; the value is a Python literal or a plain word.

    >>> parse_settings(["sck__power=0.3", "sck__joints=['head', 3]", "dck__joints=E"])
    {'sck__power': 0.3, 'sck__joints': ['head', 3], 'dck__joints': 'E'}
    """
    parsed = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise ParameterError(f"--set takes NAME=VALUE, such as sck__power=0.3, got {setting!r}")
        try:
            parsed[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            parsed[name.strip()] = value.strip()
    return parsed


def in_options(message: str, options: Collection[str]) -> str:
    """A message of the library with names of options instead of arguments of Python.

    >>> in_options(
    ...     "view='free' goes with preset=; n_jobs must not be 0, order=7",
    ...     ["view", "preset", "jobs"],
    ... )
    '--view free goes with --preset; --jobs must not be 0, order=7'
    >>> in_options("columns={'a': 'head_x'} or flip=False or up='-y'", ["columns", "flip", "up"])
    '--columns a=head_x or --no-flip or --up=-y'
    >>> in_options("--poses must be positive", ["poses"])
    '--poses must be positive'
    """

    def told(found: re.Match[str]) -> str:
        if found["name"] not in options:
            return found[0]
        option, word = found["name"].replace("_", "-"), found["word"] or ""
        if word in ("True", "False"):
            return f"--{option}" if word == "True" else f"--no-{option}"
        if found["many"]:
            value = _written(found["many"])
            return found[0] if value is None else f"--{option} {value}"
        text = (found["text"] or "").replace("' or '", " or ")
        return f"--{option}{'=' if text.startswith('-') else ' '}{text or word}".rstrip()

    message = message.replace("use fit_spotting", "use kerneton fit --spot")
    value = r"'(?P<text>[^']*(?:' or '[^']*)*)'|(?P<many>\{[^{}]*\}|\[[^][]*\])|(?P<word>\w*)"
    pattern = rf"(?<![\w-])(n_)?(?P<name>[a-z_]+)(=({value})|(?= must ))"
    return re.sub(pattern, told, message)


def _written(literal: str) -> str | None:
    """A list or dict of Python as it is written on the command line; None for anything else.

    >>> _written("{'LW X': 'left_wrist_x'}"), _written("['time', 'head_x']")
    ("'LW X=left_wrist_x'", 'time,head_x')
    """
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError):
        return None
    if isinstance(value, dict):
        value = [f"{old}={new}" for old, new in value.items()]
    return shlex.quote(",".join(map(str, value)))


def column_names(text: str | None) -> list[str] | dict[str, str] | None:
    """The columns of a table, or the new names of some of them.

    >>> column_names("time,head_x"), column_names("t=time")
    (['time', 'head_x'], {'t': 'time'})
    """
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    return renamed(names, "--columns") if "=" in text else names


def renamed(pairs: Iterable[str], option: str) -> dict[str, str]:
    """New names by old ones, from OLD=NEW.

    >>> renamed(["RigthHand=right_hand"], "--rename")
    {'RigthHand': 'right_hand'}
    """
    names = {}
    for text in pairs:
        old, equals, new = text.partition("=")
        if not equals or not old.strip() or not new.strip():
            raise ParameterError(
                f"{option} takes OLD=NEW, such as RigthHand=right_hand, got {text!r}"
            )
        names[old.strip()] = new.strip()
    return names


def nearest_options(unknown: Sequence[str], actions: Sequence[argparse.Action]) -> str:
    """What to say of unknown arguments, with the options of a command that are written nearly like
    them.
    """
    known = [option for action in actions for option in action.option_strings]
    wrong = [word.partition("=")[0] for word in unknown if word.startswith("--")]
    return f"unrecognized arguments: {shlex.join(unknown)}{nearest(wrong, known)}"


def nearest(wrong: Iterable[str], known: Sequence[str]) -> str:
    """A question whether what is written nearly like the wrong words was meant; empty if there is
    nothing like them.

    >>> nearest(["evalute"], ["evaluate", "info"])
    '; did you mean evaluate?'
    """
    near = [found[0] for word in wrong if (found := difflib.get_close_matches(word, known, n=1))]
    return f"; did you mean {' and '.join(near)}?" if near else ""


def whole(text: str) -> int:
    """The ``type`` of an option for a whole number."""
    with suppress(ValueError):
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}")
