"""The default recogniser beside an older checkout of the source, and beside MultiRocketHydra.

``--before`` names a checkout (a folder with ``src/kerneton``). Its fit on two cores (``n_jobs=2``, BLAS on one thread) and its answer to one
recording on one core are measured in turns with ours, in processes of their own, on the same recordings: UTD-MHAD's odd
subjects, generated ones where these are not at hand. Everybody is warmed up, so that nobody compiles on the clock. Beside the
clock, the processor's time of each is kept: on a busy machine it is the steadier of the two.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kerneton.datasets import load_msr_action3d
from kerneton.datasets.protocols import get_protocol
from kerneton.exceptions import DataError, MissingDataError, ParameterError
from kerneton.experiments.bench import msr
from kerneton.experiments.bench._timing import Settings, compared
from kerneton.recognize.presets import make_recognizer

BEFORE = {"fit_vs_before": "fit", "predict_one_vs_before": "predict_one"}
MSR = "msr_default_vs_multirockethydra"
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

def timed(work):
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu

few = train.select(np.arange(0, len(train), 3))
one_core = make_recognizer().fit(few, few.labels, groups=few.subjects)
one = [test.select([i]) for i in range(min(60, len(test)))]
one_core.predict(one[0])
fit = timed(lambda: make_recognizer(n_jobs=2).fit(train, train.labels, groups=train.subjects))
predict_one = np.median([timed(lambda: one_core.predict(x)) for x in one], axis=0).tolist()
print(json.dumps({"fit": fit, "predict_one": predict_one, "n": len(train)}))
"""


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds of ours and of theirs; ratios are null where no checkout is named, or MSR-Action3D or aeon are not here."""
    lines: dict[str, Any] = {**dict.fromkeys(BEFORE), MSR: None}
    found: dict[str, Any] = {}
    if settings.before is None:
        found["note"] = "to compare with an older version, name a checkout of it with --before"
    else:
        found["before"] = _against(Path(settings.before), settings)
        for line, key in BEFORE.items():
            clock, cpu = found["before"][key]["clock"], found["before"][key]["cpu"]
            lines[line] = compared(clock[0], clock[1], clock[1] / clock[0], "s") | {
                "cpu_ratio": cpu[1] / cpu[0]
            }
    found["msr_default"] = _msr(settings)
    if found["msr_default"] is not None:
        ours, theirs = (found["msr_default"][name]["seconds"] for name in ("default", "multirockethydra"))
        lines[MSR] = compared(ours, theirs, ours / theirs, "s")
    return found | {"comparisons": lines}


def _against(checkout: Path, settings: Settings) -> dict[str, Any]:
    """Medians (ours, theirs) of seconds by the clock and of the processor."""
    if not (checkout / "src" / "kerneton").is_dir():
        raise ParameterError(f"--before names {checkout}, which has no src/kerneton: it must be a checkout")
    arguments = ("quick" if settings.quick else "", str(settings.data_home or ""))
    sources = (Path(__file__).resolve().parents[3], checkout / "src")
    repeats = 1 if settings.quick else min(settings.repeats, 3)
    runs: list[list[dict[str, Any]]] = [[], []]
    for _ in settings.progress(range(repeats), total=repeats, desc="beside the checkout before"):
        for side, source in zip(runs, sources, strict=True):
            side.append(run_program(_COMPARED, source, *arguments))
    found: dict[str, Any] = {"n": runs[0][0]["n"], "repeats": repeats}
    for key in BEFORE.values():
        medians = np.median([[one[key] for one in side] for side in runs], axis=1)
        found[key] = {"clock": medians[:, 0].tolist(), "cpu": medians[:, 1].tolist()}
    return found


def run_program(program: str, source: Path, *arguments: str) -> dict[str, Any]:
    """What a program prints as JSON, run in a process of its own with the package of this source folder."""
    environment = os.environ | _ONE_THREAD | {"PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise DataError(f"a fit with the source in {source} failed: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def _msr(settings: Settings) -> dict[str, Any] | None:
    """All of MSR-Action3D, Wang's split, from loaded recordings to test predictions, by the default recogniser; see `msr`."""
    try:
        data = load_msr_action3d(settings.data_home)
    except MissingDataError:
        return None
    name = "multirockethydra"
    if name not in (others := msr.aeon_classifiers()):
        return None
    (train, test), *_ = get_protocol("wang", data).split(data, data.labels, data.subjects)
    if settings.quick:
        train, test = train[::8], test[::8]
    known, unknown = data.select(train), data.select(test)
    models: dict[str, tuple[Callable[[], Any], Any, Any]] = {
        "default": (lambda: make_recognizer(n_jobs=msr.N_CORES), known, unknown),
        name: (others[name], *msr.as_arrays(known, unknown)),
    }
    runs: dict[str, list[dict[str, Any]]] = {key: [] for key in models}
    repeats = 1 if settings.quick else min(settings.repeats, 3)
    with threadpool_limits(msr.N_CORES):
        for make, given, asked in models.values():
            few = np.arange(0, len(known), 4)
            some = given.select(few) if given is known else given[few]
            msr.fit_predict(make, some, known.labels[few], asked[:2])
        for _ in settings.progress(range(repeats), total=repeats, desc="beside MultiRocketHydra"):
            for key, (make, given, asked) in models.items():
                runs[key].append(msr.fit_predict(make, given, known.labels, asked))
    return {
        key: {
            "seconds": statistics.median(r["fit_s"] + r["predict_s"] for r in side),
            "accuracy": float(np.mean(side[0]["labels"] == unknown.labels)),
        }
        for key, side in runs.items()
    }
