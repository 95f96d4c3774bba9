"""The default recogniser as recordings grow, and beside an older checkout of the source.

Fits run in processes of their own, BLAS on one thread, in turns. ``before`` names a checkout (a folder with ``src/kerneton``): its fit
and its prediction of one recording are measured on the same recordings, UTD-MHAD's odd subjects where they are at hand.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import KINECT_20, Layout
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.exceptions import DataError, ParameterError
from kerneton.experiments.bench._timing import Settings, compared

N_CLASSES, N_SUBJECTS = 20, 20
SIZES = (2000, 4000)
QUICK = (40, 80)
GROWTH = "fit_growth_2000_4000"
BEFORE = ("fit_vs_before", "predict_one_vs_before")
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

# Runs in either checkout, and so uses only what both have.
_COMPARED = """
import json, sys, time
import numpy as np
from kerneton import make_actions, make_recognizer
from kerneton.datasets import load_utd_mhad
quick, home = sys.argv[1] == "quick", sys.argv[2] or None
try:
    data = load_utd_mhad(home)
except Exception:
    data = make_actions(n_subjects=4, n_takes=2)
subjects = np.asarray([int("".join(c for c in s if c.isdigit()) or 0) for s in data.subjects])
train, test = data.select(np.flatnonzero(subjects % 2 == 1)), data.select(np.flatnonzero(subjects % 2 == 0))
if quick:
    train, test = train.select(np.arange(0, len(train), 4)), test.select(np.arange(2))
one = [test.select([i]) for i in range(min(30, len(test)))]
start = time.perf_counter()
model = make_recognizer().fit(train, train.labels, groups=train.subjects)
fitted = time.perf_counter() - start
model.predict(one[0])
times = []
for recording in one:
    start = time.perf_counter()
    model.predict(recording)
    times.append(time.perf_counter() - start)
print(json.dumps({"fit_s": fitted, "predict_one_s": float(np.median(times)), "n": len(train)}))
"""
_GROWING = """
import json, sys, time, resource
from kerneton import make_recognizer
from kerneton.experiments.bench.scale import labelled
few = labelled(40)
make_recognizer().fit(few, few.labels)
data = labelled(int(sys.argv[1]))
start = time.perf_counter()
make_recognizer().fit(data, data.labels)
seconds = time.perf_counter() - start
print(json.dumps({"fit_s": seconds, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds and memory of fits; ratios to half the recordings and to the checkout ``settings.before``."""
    sizes = QUICK if settings.quick else SIZES
    repeats = min(settings.repeats, 3)
    here = Path(__file__).resolve().parents[3]
    growth: dict[str, Any] = {}
    rounds = [size for _ in range(repeats) for size in sizes]
    for size in settings.progress(rounds, total=len(rounds), desc="fits of more recordings"):
        growth.setdefault(str(size), []).append(run_program(_GROWING, here, str(size)))
    found: dict[str, Any] = {
        "growth": {
            n: {key: statistics.median(r[key] for r in runs) for key in runs[0]} for n, runs in growth.items()
        }
    }
    few, many = (found["growth"][str(size)]["fit_s"] for size in sizes)
    lines: dict[str, Any] = {GROWTH: compared(many, few, many / few, "s"), **dict.fromkeys(BEFORE)}
    if settings.before is not None:
        lines |= _against(Path(settings.before), here, settings, repeats)
    else:
        found["note"] = "to compare with an older version, name a checkout of it with --before"
    return found | {"comparisons": lines}


def _against(before: Path, here: Path, settings: Settings, repeats: int) -> dict[str, Any]:
    old = before / "src"
    if not (old / "kerneton").is_dir():
        raise ParameterError(f"--before names {before}, which has no src/kerneton: it must be a checkout")
    arguments = ("quick" if settings.quick else "", str(settings.data_home or ""))
    ours, theirs = [], []
    for _ in settings.progress(range(repeats), total=repeats, desc="beside the checkout before"):
        ours.append(run_program(_COMPARED, here, *arguments))
        theirs.append(run_program(_COMPARED, old, *arguments))
    lines = {}
    for name, key in zip(BEFORE, ("fit_s", "predict_one_s"), strict=True):
        new, then = (statistics.median(run[key] for run in runs) for runs in (ours, theirs))
        lines[name] = compared(new, then, then / new, "s")
    return lines


def run_program(program: str, source: Path, *arguments: str) -> dict[str, float]:
    """What a program prints, run in a process of its own with the package of this source folder."""
    environment = os.environ | _ONE_THREAD | {"PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise DataError(f"a fit with the source in {source} failed: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def labelled(
    n: int,
    seed: int = 0,
    *,
    classes: int = N_CLASSES,
    people: int = N_SUBJECTS,
    layout: Layout = KINECT_20,
    longest: int = 80,
) -> SkeletonDataset:
    """Recordings of 20 classes by 20 people, of 40 to 80 frames: every class swings its joints in its own way.

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
        x = body + person[subject] + swing[action, 0] * np.sin(turns) + swing[action, 1] * np.sin(2 * turns)
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
