"""Memory is checked before the work: what needs more than there is is refused."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kerneton.exceptions import DataError


def free_memory() -> int | None:
    """Bytes that this process can still allocate without swapping; None if the system does not say.

    The free memory of the machine, or less if a container or `ulimit -v` allows less.

    >>> free = free_memory()
    >>> free is None or free > 0
    True
    """
    known = [left for left in (_of_machine(), _of_container(), _of_limit()) if left is not None]
    return max(min(known), 0) if known else None


def most_used() -> int | None:
    """Bytes of memory that this process has used at once so far; None if the system does not say.

    >>> most = most_used()
    >>> most is None or most > 1e6
    True
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _of_machine() -> int | None:
    try:
        lines = dict(
            line.split(":", 1) for line in Path("/proc/meminfo").read_text("ascii").splitlines()
        )
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _of_container(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Free memory of a control group; its file cache counts as free."""
    for most, used, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            limit, now = int((root / most).read_text()), int((root / used).read_text())
            stat = (root / most).with_name("memory.stat").read_text().splitlines()
            return (
                limit
                - now
                + next((int(line.split()[1]) for line in stat if line.startswith(f"{cache} ")), 0)
            )
        except (OSError, ValueError, IndexError):  # "max": there is no limit
            continue
    return None


def _of_limit() -> int | None:
    """Free address space under the limit of this process."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return None if limit == resource.RLIM_INFINITY else limit - pages * resource.getpagesize()
    except (ImportError, OSError, ValueError):
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
