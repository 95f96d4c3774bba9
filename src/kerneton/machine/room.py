"""Memory, foreseen: what cannot be done is refused before the work."""

from __future__ import annotations

import os

from kerneton.exceptions import DataError


def free_memory() -> int | None:
    """Bytes that this process can still take without moving others out; None where the system does not say.

    >>> free = free_memory()
    >>> free is None or free > 0
    True
    """
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def check_memory(needed: float, what: str, way_out: str) -> None:
    """Refuse what needs more memory than there is.

    >>> check_memory(2**70, "a fit of so many", "use fewer recordings")
    Traceback (most recent call last):
    kerneton.exceptions...
    """
    free = free_memory()
    if free is not None and needed > free:
        raise DataError(
            f"{what} needs {needed / 2**30:.3g} GiB of memory and {free / 2**30:.3g} GiB are left; {way_out}"
        )
