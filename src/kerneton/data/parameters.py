"""Parameters of estimators and functions: checked when they are used, their names read once."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from kerneton.data.checks import LARGEST_COORDINATE
from kerneton.exceptions import OutdatedWarning, ParameterError

Called = TypeVar("Called", bound=Callable[..., Any])

NARROWEST = 1e-9  # a width whose square and its inverse are ordinary numbers in single precision


def check_in(name: str, value: Any, low: float, high: float, *, closed: str = "both") -> None:
    """Check that a number lies in an interval; ``closed``: "both", "left", "right", "neither"."""
    ok = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    ok = ok and (value > low or (closed in ("both", "left") and value == low))
    ok = ok and (value < high or (closed in ("both", "right") and value == high))
    if not ok:
        left, right = (
            "[" if closed in ("both", "left") else "(",
            "]" if closed in ("both", "right") else ")",
        )
        raise ParameterError(
            f"{name} must be a number in {left}{low}, {high}{right}, got {value!r}"
        )


def check_positive(name: str, value: Any, *, integer: bool = False) -> None:
    """Check that a number is positive and, if ``integer``, whole."""
    kinds = (int, np.integer) if integer else (int, float, np.integer, np.floating)
    if (
        not isinstance(value, kinds)
        or isinstance(value, bool)
        or not value > 0
        or not np.isfinite(value)
    ):
        kind = "whole number" if integer else "number"
        raise ParameterError(f"{name} must be a positive {kind}, got {value!r}")


def check_width(name: str, value: Any) -> None:
    """Check that the square of a kernel width, or other scale, neither overflows nor vanishes."""
    check_positive(name, value)
    check_in(name, value, NARROWEST, LARGEST_COORDINATE)


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Check that a value is one of several choices."""
    choices = list(choices)
    # In parameter grids, strings and whole numbers may be NumPy's; True is not 1, nor is 1.0.
    plain = isinstance(value, (str, int, np.integer)) and not isinstance(value, bool)
    if not any(value is c or (plain and value == c) for c in choices):
        raise ParameterError(
            f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}"
        )


def renamed(**names: str) -> Callable[[Called], Called]:
    """A function that also takes arguments by the names that they had in the version before, with
    a warning.

    >>> @renamed(delay="delay_s")
    ... def stream(delay_s=0.0):
    ...     return delay_s
    >>> stream(delay_s=0.5)
    0.5
    """

    def decorate(function: Called) -> Called:
        @functools.wraps(function)
        def called(*arguments: Any, **given: Any) -> Any:
            for old in names.keys() & given.keys():
                new = names[old]
                if new in given:
                    raise ParameterError(f"{old} is now called {new}: give only {new}")
                warn_renamed(f"{old}=", f"{new}=")
                given[new] = given.pop(old)
            return function(*arguments, **given)

        return called  # type: ignore[return-value]

    return decorate


def warn_renamed(old: str, new: str) -> None:
    """Warn the caller of the calling function that something is called otherwise now."""
    message = f"{old} is now {new}; the old form goes in the next version"
    warnings.warn(message, OutdatedWarning, stacklevel=3)


class QuickParameters:
    """An estimator whose parameter names are read from its signature once, not at each of hundreds
    of copies.
    """

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        return super()._get_param_names()  # type: ignore[misc]
