"""Live streams: number of bodies per core, growth of time and memory, and false alarms.

A spotter of ten generated actions with the default recogniser. Frames are those of a long generated
recording, over and over. For memory a day passes, 2.6 million frames: the recording once an hour,
and a person who crouches without moving for the rest, which is processed frame by frame but gives
few candidates, so that a day takes a quarter of an hour. False alarms are counted in an hour of
rests and unknown motions of people who were not seen in training, one per hour being asked for.
"""

from __future__ import annotations

import gc
import os
import time
from typing import Any

import numpy as np

from bench_parts._timing import Settings, compared
from kerneton.datasets import make_actions
from kerneton.datasets.synthetic import ACTIONS, make_background
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
    spotter = make_recognizer(progress=settings.progress).fit_spotting(
        takes[:n_subjects], false_alarms_per_hour=1.0
    )
    joints = raw_joints(takes[n_subjects])
    seconds = 10 if settings.quick else 60
    per_frame = _seconds(spotter.stream(delay_s=_DELAY), joints, round(seconds * FPS)) / (
        seconds * FPS
    )
    first, last = _growth(
        spotter, joints, 40 if settings.quick else _HOUR, 10 if settings.quick else 60
    )
    alarms = _false_alarms(spotter, 60 if settings.quick else _HOUR)
    grown = _memory(spotter, joints, 60 if settings.quick else _DAY)
    return {
        "ms_per_frame": 1000 * per_frame,
        "memory_growth_mb": grown,
        "false_alarms": alarms,
        "comparisons": {
            "stream_8_bodies": compared(
                BODIES * per_frame, 1 / FPS, 1 / (FPS * BODIES * per_frame), "s"
            ),
            "stream_last_vs_first": compared(last, first, last / first, "s"),
            "stream_memory": compared(grown, 5.0, grown / 5.0, "MB"),
            "stream_false_alarms": compared(alarms, 3, alarms / 3, "per hour"),
        },
    }


def _seconds(stream: LiveStream, joints: np.ndarray, n_frames: int, begin: int = 0) -> float:
    start = time.process_time()
    for t in range(begin, begin + n_frames):
        stream.push(joints[t % len(joints)], t / FPS)
    return time.process_time() - start


def _growth(
    spotter: Recognizer, joints: np.ndarray, seconds: int, window: int
) -> tuple[float, float]:
    """Processor time of the first and of the last ``window`` seconds of a stream; whole rounds of
    the recording.
    """
    stream = spotter.stream(delay_s=_DELAY)
    rounds = max(1, round(window * FPS / len(joints)))
    n = rounds * len(joints)
    total = max(2, round(seconds * FPS / n))
    _seconds(stream, joints, n)  # the first frames compile
    first = _seconds(stream, joints, n, n)
    _seconds(stream, joints, n * (total - 2), 2 * n)
    return first, _seconds(stream, joints, n, n * total)


def _memory(spotter: Recognizer, joints: np.ndarray, seconds: int) -> float:
    """MB by which resident memory grows from a twentieth of the stream to its end."""
    crouched = np.nan_to_num(joints[0]) * [1.0, 0.4, 1.0]
    hour = np.concatenate(
        [joints, np.broadcast_to(crouched, (round(_HOUR * FPS) - len(joints), *crouched.shape))]
    )
    stream = spotter.stream(delay_s=_DELAY)
    n = round(seconds * FPS)
    _seconds(stream, hour, n // 20)
    before = _resident()
    _seconds(stream, hour, n - n // 20, n // 20)
    return max(0.004, _resident() - before)  # memory is counted in pages


def _false_alarms(spotter: Recognizer, seconds: int) -> int:
    """Number of actions found in recordings without actions."""
    people = max(1, seconds // 360)
    quiet = make_background(seconds, n_subjects=people, random_state=1000)
    return sum(len(spotter.spot(recording)) for recording in quiet)


def _resident() -> float:
    gc.collect()
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return float("nan")
