"""Live streams: how many bodies one core keeps up with, and that neither time nor memory grows with the stream.

A spotter of ten generated actions with the default recogniser. Frames are those of a long generated recording, over and
over; for memory, a person who hardly moves, so that a day passes in minutes.
"""

from __future__ import annotations

import gc
import os
import time
from typing import Any

import numpy as np

from kerneton.datasets import make_actions
from kerneton.datasets.synthetic import ACTIONS
from kerneton.experiments.bench._timing import Settings, compared
from kerneton.recognize.presets import make_recognizer
from kerneton.recognize.recognizer import Recognizer
from kerneton.stream.frames import raw_joints
from kerneton.stream.live import LiveStream

BODIES, FPS = 8, 30.0
_DELAY = 0.5
_HOUR, _DAY = 3600, 24 * 3600  # seconds of stream


def measure(settings: Settings) -> dict[str, Any]:
    """Bodies per core, time of the last minute over the first, and growth of memory in MB."""
    n_actions, n_subjects = (3, 2) if settings.quick else (10, 4)
    actions = list(ACTIONS)[:n_actions]
    takes = make_actions(actions, n_subjects=n_subjects + 1, n_takes=1, uncut=True)
    spotter = make_recognizer(progress=settings.progress).fit_spotting(takes[:n_subjects])
    joints = raw_joints(takes[n_subjects])
    seconds = 20 if settings.quick else 60
    per_frame = _seconds(spotter.stream(delay=_DELAY), joints, round(seconds * FPS)) / (seconds * FPS)
    first, last = _growth(spotter, joints, 60 if settings.quick else _HOUR, 10 if settings.quick else 60)
    grown = _memory(spotter, joints, 120 if settings.quick else _DAY)
    return {
        "ms_per_frame": 1000 * per_frame,
        "memory_growth_mb": grown,
        "comparisons": {
            "stream_8_bodies": compared(BODIES * per_frame, 1 / FPS, 1 / (FPS * BODIES * per_frame), "s"),
            "stream_last_vs_first": compared(last, first, last / first, "s"),
            "stream_memory": compared(grown, 5.0, grown / 5.0, "MB"),
        },
    }


def _seconds(stream: LiveStream, joints: np.ndarray, n_frames: int, begin: int = 0) -> float:
    start = time.process_time()
    for t in range(begin, begin + n_frames):
        stream.push(joints[t % len(joints)], t / FPS)
    return time.process_time() - start


def _growth(spotter: Recognizer, joints: np.ndarray, seconds: int, window: int) -> tuple[float, float]:
    """Processor time of the first and of the last ``window`` seconds of a stream; whole rounds of the recording."""
    stream = spotter.stream(delay=_DELAY)
    rounds = max(1, round(window * FPS / len(joints)))
    n = rounds * len(joints)
    total = max(2, round(seconds * FPS / n))
    _seconds(stream, joints, n)  # the first frames compile
    first = _seconds(stream, joints, n, n)
    _seconds(stream, joints, n * (total - 2), 2 * n)
    return first, _seconds(stream, joints, n, n * total)


def _memory(spotter: Recognizer, joints: np.ndarray, seconds: int) -> float:
    """MB by which resident memory grows from a twentieth of the stream to its end."""
    chance = np.random.default_rng(0)
    still = np.nan_to_num(joints[0]) + chance.normal(0, 0.002, (256, *joints[0].shape))
    stream = spotter.stream(delay=_DELAY)
    n = round(seconds * FPS)
    _seconds(stream, still, n // 20)
    before = _resident()
    _seconds(stream, still, n - n // 20, n // 20)
    return max(0.004, _resident() - before)  # a page is the least that can be seen


def _resident() -> float:
    gc.collect()
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return float("nan")
