"""Spotting in hours of recordings: how the time and memory of learning grow, and how fast and in
how much memory a day is searched.

Generated uncut recordings of ten actions at 30 frames per second; 108,000 frames are an hour. Every
fit runs in a process of its own, on all cores, and memory is measured without the recordings
themselves. A day, 2.6 million frames, is that hour over and over, as one recording on one core.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from typing import Any

import numpy as np

from bench_parts._timing import SOURCE, Settings, compared, run_program
from bench_parts.memory import peak_mb
from bench_parts.stream import _resident

SIZES, QUICK = (27_000, 54_000, 108_000), (6_000, 12_000)
_DAY = 24 * 108_000
_PROGRAM = "from bench_parts import spotting_scale; spotting_scale.main()"


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds of processor time and of the clock, memory, and frames per second."""
    sizes = QUICK if settings.quick else SIZES
    found = {}
    for n in settings.progress(sizes, total=len(sizes), desc="fits of long recordings"):
        day = 0 if n < sizes[-1] else (5_000 if settings.quick else _DAY)
        found[f"{n}"] = run_program(_PROGRAM, SOURCE, str(n), str(day))
    last = found[f"{sizes[-1]}"]
    comparisons = {}
    for few, many in itertools.pairwise(sizes):
        a, b = (found[f"{n}"]["fit_cpu_s"] for n in (few, many))
        comparisons[f"spotting_growth_{few}_{many}"] = compared(b, a, b / a, "s")
    gib = last["above_recordings_mb"] * 1e6 / 2**30
    comparisons |= {
        "spotting_hour": compared(last["fit_s"], 120.0, last["fit_s"] / 120, "s"),
        "spotting_memory": compared(gib, 1.0, gib, "GiB"),
        "spotting_rate": compared(last["per_second"], 1.0, last["per_second"], "s"),
        "spotting_day": compared(last["day_mb"], 5.0, last["day_mb"] / 5.0, "MB"),
    }
    return found | {"comparisons": comparisons}


def main() -> None:
    """Fit and search as the arguments say (frames, frames to search), and print what it took."""
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]))))


def run(n_frames: int, searched: int) -> dict[str, Any]:
    """Learn from so many frames, and search so many."""
    from kerneton import make_recognizer
    from kerneton.datasets import make_actions
    from kerneton.datasets.synthetic import ACTIONS
    from kerneton.stream.engine import Engine
    from kerneton.stream.frames import raw_joints

    actions, takes, total = list(ACTIONS)[:10], [], 0
    people = make_actions(actions, n_subjects=10, n_takes=-(-n_frames // 20_000), uncut=True)
    # people in turn, so that few frames have all of them
    ordered = sorted(people, key=lambda take: take.name.rpartition("_")[2])
    for take in ordered:
        if total < n_frames:
            takes.append(take)
            total += take.n_frames
    few = make_actions(actions[:2], n_subjects=2, n_takes=1, uncut=True)
    make_recognizer().fit_spotting(few)  # what is loaded once is not counted
    before, start, cpu = peak_mb(), time.perf_counter(), time.process_time()
    model = make_recognizer(n_jobs=-1).fit_spotting(takes)
    found = {
        "frames": total,
        "actions": sum(len(take.segments) for take in takes),
        "fit_s": time.perf_counter() - start,
        "fit_cpu_s": time.process_time() - cpu,
        "above_recordings_mb": peak_mb() - before,
        "held_out_f1": model.spotter_.held_out_["f1"],
    }
    if searched:
        found |= _search(Engine(model), np.concatenate([raw_joints(t) for t in takes]), searched)
    return found


def _search(engine: Any, joints: np.ndarray, n_frames: int) -> dict[str, float]:
    """Frames per second of processor time, and MB by which memory grows from a tenth to the end."""
    start, grown, alarms = time.process_time(), 0.0, 0
    for first in range(0, n_frames, 1024):
        at = np.arange(first, min(first + 1024, n_frames)) % len(joints)
        alarms += len(engine.push(joints[at]))
        if first <= n_frames // 10:
            grown = _resident()
    alarms += len(engine.close())
    seconds = time.process_time() - start
    return {
        "per_second": n_frames / seconds,
        "day_mb": max(0.004, _resident() - grown),
        "found": alarms,
    }
