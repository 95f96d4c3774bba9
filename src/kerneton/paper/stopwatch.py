"""Seconds of a call, by the clock or by the processor (``clock=time.process_time``)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def timed(
    call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Seconds of one call, and its result.

    >>> timed(lambda: 1 + 1)[1]
    2
    """
    start = clock()
    result = call()
    return clock() - start, result


def repeated(
    call: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Seconds of each repeat; a first call, which may compile, is not counted."""
    call()
    return [timed(call, clock)[0] for _ in range(repeats)]
