"""The default recogniser compared with an older checkout of the source, and with MultiRocketHydra.

``--before`` names a checkout (a folder with ``src/kerneton``). Its fit on two cores (``n_jobs=2``,
BLAS on one thread) and its prediction of one recording on one core are measured in turns with ours,
in separate processes, on the same recordings: UTD-MHAD's odd subjects, or generated ones where that
data set is missing. A warm-up comes first, so that compiling is not counted. Wall time and
processor time are both kept: on a busy machine the latter varies less.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench_parts import msr
from bench_parts._timing import SOURCE, Settings, compared, run_program
from kerneton.exceptions import ParameterError
from kerneton.recognize.presets import make_recognizer

BEFORE = {"fit_vs_before": "fit", "predict_one_vs_before": "predict_one"}
MSR = "msr_default_vs_multirockethydra"

# Runs in both checkouts, so it uses only what both have.
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
one_core = make_recognizer(calibrate=False).fit(few, few.labels, groups=few.subjects)
one = [test.select([i]) for i in range(min(60, len(test)))]
one_core.predict(one[0])
fit = timed(lambda: make_recognizer(n_jobs=2, calibrate=False).fit(train, train.labels, groups=train.subjects))
predict_one = np.median([timed(lambda: one_core.predict(x)) for x in one], axis=0).tolist()
print(json.dumps({"fit": fit, "predict_one": predict_one, "n": len(train)}))
"""


def measure(settings: Settings) -> dict[str, Any]:
    """Seconds of ours and of theirs; ratios are null where the checkout, MSR-Action3D or aeon is
    missing.
    """
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
        ours, theirs = (
            found["msr_default"][name]["seconds"] for name in ("default", "multirockethydra")
        )
        lines[MSR] = compared(ours, theirs, ours / theirs, "s")
    return found | {"comparisons": lines}


def _against(checkout: Path, settings: Settings) -> dict[str, Any]:
    """Medians (ours, theirs) of wall seconds and of processor seconds."""
    if not (checkout / "src" / "kerneton").is_dir():
        raise ParameterError(
            f"--before names {checkout}, which has no src/kerneton: it must be a checkout"
        )
    arguments = ("quick" if settings.quick else "", str(settings.data_home or ""))
    sources = (SOURCE, checkout / "src")
    repeats = 1 if settings.quick else min(settings.repeats, 3)
    runs: list[list[dict[str, Any]]] = [[], []]
    for _ in settings.progress(
        range(repeats), total=repeats, desc="compared with the checkout before"
    ):
        for side, source in zip(runs, sources, strict=True):
            side.append(run_program(_COMPARED, source, *arguments))
    found: dict[str, Any] = {"n": runs[0][0]["n"], "repeats": repeats}
    for key in BEFORE.values():
        medians = np.median([[one[key] for one in side] for side in runs], axis=1)
        found[key] = {"clock": medians[:, 0].tolist(), "cpu": medians[:, 1].tolist()}
    return found


def _msr(settings: Settings) -> dict[str, Any] | None:
    """The default recogniser and MultiRocketHydra on all of MSR-Action3D; see `msr`."""
    split = msr.load_split(settings, every=8)
    make = msr.aeon_classifiers().get("multirockethydra")
    if split is None or make is None:
        return None
    models = {
        "default": (lambda: make_recognizer(n_jobs=msr.N_CORES, calibrate=False), *split),
        "multirockethydra": (make, *msr.as_arrays(*split)),
    }
    order = list(models) * (1 if settings.quick else min(settings.repeats, 3))
    with threadpool_limits(msr.N_CORES):
        return msr.compare(models, *split, order, settings, "compared with MultiRocketHydra")
