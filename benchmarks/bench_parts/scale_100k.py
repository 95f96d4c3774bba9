"""100,000 recordings of 25 joints, 40 to 120 frames, 60 classes and 40 people, all features of the
default recogniser.
"""

from __future__ import annotations

from typing import Any

from bench_parts._timing import Settings
from bench_parts.large import _run

N, QUICK = 100_000, 180


def measure(settings: Settings) -> dict[str, Any]:
    """One fit: seconds of choices, encoding and solver, and memory above the recordings."""
    return _run(QUICK if settings.quick else N, "large", 0)
