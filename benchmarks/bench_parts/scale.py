"""The default recogniser with growing numbers of recordings, compared with others (`before`): each
fit in its own process, BLAS on one thread."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from bench_parts import before
from bench_parts._timing import SOURCE, Settings, compared
from kerneton.data.layouts import KINECT_20, Layout
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence

N_CLASSES, N_SUBJECTS = 20, 20
SIZES = (1000, 2000, 3000, 4000)  # the ratio is that of the last to the second
QUICK = (40, 60, 80)
GROWTH = "fit_growth_2000_4000"

_GROWING = """
import json, sys, time, resource
from kerneton import make_recognizer
from bench_parts.scale import labelled
few = labelled(40)
make_recognizer(calibrate=False).fit(few, few.labels)
data = labelled(int(sys.argv[1]))
start, cpu = time.perf_counter(), time.process_time()
make_recognizer(calibrate=False).fit(data, data.labels)
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
print(json.dumps({"fit_s": seconds, "cpu_s": cpu, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds and memory of fits; ratios to half the recordings and to the checkout
    ``settings.before``.
    """
    sizes = QUICK if settings.quick else SIZES
    repeats = min(settings.repeats, 3)
    here = SOURCE
    growth: dict[str, Any] = {}
    rounds = [size for _ in range(repeats) for size in sizes]
    for size in settings.progress(rounds, total=len(rounds), desc="fits of more recordings"):
        growth.setdefault(str(size), []).append(before.run_program(_GROWING, here, str(size)))
    found: dict[str, Any] = {
        "growth": {
            n: {key: statistics.median(r[key] for r in runs) for key in runs[0]}
            for n, runs in growth.items()
        }
    }
    few, many = (found["growth"][str(size)]["fit_s"] for size in (sizes[1], sizes[-1]))
    beside = before.measure(settings)
    lines = {GROWTH: compared(many, few, many / few, "s"), **beside.pop("comparisons")}
    return found | beside | {"comparisons": lines}


def labelled(
    n: int,
    seed: int = 0,
    *,
    classes: int = N_CLASSES,
    people: int = N_SUBJECTS,
    layout: Layout = KINECT_20,
    longest: int = 80,
) -> SkeletonDataset:
    """Recordings of 20 classes by 20 people, of 40 to 80 frames: every class swings its joints in
    its own way.

    >>> data = labelled(40)
    >>> len(data), len(set(data.labels)), data[0].joints.dtype
    (40, 20, dtype('float32'))
    """
    rng = np.random.default_rng(seed)
    n_joints = len(layout.joints)
    body = rng.uniform(-0.6, 0.6, size=(n_joints, 3))
    swing = rng.normal(scale=0.15, size=(classes, 2, n_joints, 3))
    person = rng.normal(scale=0.05, size=(people, n_joints, 3))
    made = []
    for i in range(n):
        action, subject = i % classes, i // classes % people
        time = np.linspace(0, 1, int(rng.integers(40, longest + 1)))[:, None, None]
        turns = rng.uniform(0.8, 1.2) * 2 * np.pi * time + rng.uniform(0, 0.5)
        x = (
            body
            + person[subject]
            + swing[action, 0] * np.sin(turns)
            + swing[action, 1] * np.sin(2 * turns)
        )
        x = x + rng.normal(scale=0.01, size=x.shape)
        made.append(
            SkeletonSequence(
                x.astype(np.float32),
                layout=layout,
                label=f"class {action}",
                subject=f"person {subject}",
                fps=30,
            )
        )
    return SkeletonDataset(made, name="generated classes")
