"""DCK's time as the number of frames doubles, compared with the direct sum."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy_reference

from bench_parts._timing import Settings, compared, median_seconds
from bench_parts.workloads import PAPER_DCK, SET_E, parameters, recordings
from kerneton.kernels.dck import DCK

FRAMES = (200, 400, 800)
N_SEQUENCES = 4
KINDS: dict[str, dict[str, Any]] = {"any_distance": {}, "window": PAPER_DCK}


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds per sequence for 200, 400 and 800 frames, eight joints in float64, with and without
    the paper's window.

    The targets apply to the worse of the two.
    """
    found: dict[str, Any] = {}
    frames = tuple(n // 10 for n in FRAMES) if settings.quick else FRAMES
    for kind, options in KINDS.items():
        given = {n: list(recordings(N_SEQUENCES, n, 20).astype(float)) for n in frames}
        kernel = DCK(joints=SET_E, **options).fit(given[frames[0]])
        calls = {str(n): partial(kernel.transform, X) for n, X in given.items()}
        seconds = median_seconds(calls, settings, f"DCK, {kind.replace('_', ' ')}")
        row: dict[str, Any] = {
            "frames": list(frames),
            "seconds": [seconds[str(n)] / N_SEQUENCES for n in frames],
        }
        longest = given[frames[-1]][0][:, kernel.joints_]
        calls = {"direct": partial(numpy_reference.dck, longest, **parameters(kernel))}
        row["direct_seconds"] = median_seconds(calls, settings, "DCK, direct", repeats=2)["direct"]
        row["vs_direct"] = row["direct_seconds"] / row["seconds"][-1]
        found[kind] = row
    rows = list(found.values())
    lines = {}
    for at, key in ((1, "dck_growth_200_400"), (2, "dck_growth_400_800")):
        worst = max(rows, key=lambda row: row["seconds"][at] / row["seconds"][at - 1])["seconds"]
        lines[key] = compared(worst[at], worst[at - 1], worst[at] / worst[at - 1], "s")
    worst = min(rows, key=lambda row: row["vs_direct"])
    lines["dck_800_vs_direct"] = compared(
        worst["seconds"][-1], worst["direct_seconds"], worst["vs_direct"], "s"
    )
    return found | {"comparisons": lines}
