"""Time of the paper's features, training and test on one core."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import FeatureUnion, Pipeline
from threadpoolctl import threadpool_limits

from kerneton.data.progress import Progress, silent
from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets import load_msr_action3d
from kerneton.files.output import AnyPath, write_text
from kerneton.machine.scaling import CenterNormalize
from kerneton.machine.svm import LinearSVM
from kerneton.paper import printed as printed
from kerneton.paper.choice import Task
from kerneton.paper.cues import dck_family, sck_family
from kerneton.paper.markdown import to_markdown
from kerneton.paper.stopwatch import timed

N_ALONE = 50  # recordings that are timed one by one
_cpu = partial(timed, clock=time.process_time)  # other work on the machine does not count


def timing(
    *,
    data_home: AnyPath | None = None,
    output: AnyPath | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Seconds per sequence for SCK and DCK, and minutes for all of MSR-Action3D, on one core, next
    to the paper's.

    A sequence is timed alone, from raw joints to features, the median over some of them; all of
    MSR-Action3D is features of all 557 by both kernels, training on 284 and recognising 273.
    ``output`` receives ``timing.md``.

    >>> timing(data_home="/data")["timing"]["sck"]["paper_seconds"]  # doctest: +SKIP
    0.2
    """
    task = Task.of(load_msr_action3d(data_home), "wang")
    result = {"timing": measure(task, progress or silent)}
    if output is not None:
        write_text(Path(output) / "timing.md", to_markdown(result) + "\n")
    return result


def measure(task: Task, progress: Progress = silent) -> dict[str, Any]:
    """Times on the recordings of a task, training and testing on its first split."""
    result: dict[str, Any] = {}
    encoders = {kernel: _encoder(kernel, task.data) for kernel in printed.SECONDS}
    with threadpool_limits(1):
        for kernel, seconds in printed.SECONDS.items():
            result[kernel] = {
                "seconds": _alone(encoders[kernel], task.data, progress, kernel),
                "paper_seconds": seconds,
            }
        known, unknown = (task.data.select(side) for side in task.splits[0])
        branches = [
            (k, Pipeline([*e.steps, ("scale", CenterNormalize())])) for k, e in encoders.items()
        ]
        union, machine = FeatureUnion(branches), LinearSVM(C=10)
        stages = {}
        stages["features_of_training"], features = _cpu(partial(union.fit_transform, known))
        stages["training"], _ = _cpu(partial(machine.fit, features, known.labels))
        stages["features_of_test"], others = _cpu(partial(union.transform, unknown))
        stages["recognition"], guessed = _cpu(partial(machine.predict, others))
    result["msr_action3d"] = {
        "minutes": sum(stages.values()) / 60,
        "paper_minutes": printed.MINUTES,
        "stages_seconds": stages,
        "sequences": len(known) + len(unknown),
        "accuracy": float(np.mean(guessed == unknown.labels)),
    }
    return result


def _encoder(kernel: str, data: SkeletonDataset) -> Pipeline:
    """The kernel of the tables in the setting nearest to the paper's words, on one core, fitted and
    warmed up.
    """
    family = sck_family(data[0].n_joints) if kernel == "sck" else dck_family("E")
    encoder, _ = next(family.encoders())
    encoder.set_params(kernel__n_jobs=None).fit(data)
    encoder.transform([data[0]])  # compiles the kernels
    return encoder


def _alone(encoder: Pipeline, data: SkeletonDataset, progress: Progress, kernel: str) -> float:
    """Median seconds from one raw recording to its features."""
    some = np.linspace(0, len(data) - 1, min(N_ALONE, len(data))).astype(int).tolist()
    numbers = progress(some, total=len(some), desc=f"{kernel.upper()} alone")
    return float(np.median([_cpu(partial(encoder.transform, [data[i]]))[0] for i in numbers]))
