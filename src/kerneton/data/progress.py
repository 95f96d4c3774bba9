"""The type of ``progress`` in library functions, and a function that shows no progress."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Progress(Protocol):
    """Called like ``tqdm.tqdm``, which can be used as well."""

    def __call__(
        self, iterable: Iterable[Item], *, total: int | None = None, desc: str = ""
    ) -> Iterable[Item]: ...


def silent(iterable: Iterable[Item], *, total: int | None = None, desc: str = "") -> Iterable[Item]:  # noqa: ARG001
    """Show no progress.

    >>> list(silent([1, 2], desc="splits"))
    [1, 2]
    """
    return iterable
