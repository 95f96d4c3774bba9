"""The best that the printed method can reach: every setting of the tables' grids on the test
subjects. This is not a result.

For each cell the printed accuracy, ours (chosen inside the training subjects), and over all
settings the median, the best single setting kept for all splits, and the best of each split. The
last three are looked up among accuracies on test subjects.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from paper_readings.readings import READINGS, Reading
from paper_readings.strips import SEEN, draw_strips, to_markdown

from kerneton.data.progress import Progress, silent
from kerneton.datasets import load_florence3d, load_msr_action3d, load_utkinect
from kerneton.exceptions import ParameterError
from kerneton.files.output import write_text
from kerneton.paper import printed as printed
from kerneton.paper.choice import Grams, Setting, Task, choose
from kerneton.paper.cues import Factor
from kerneton.paper.tables import SHARE, _family

DATA = ("florence3d", "utkinect", "msr_action3d")
# pairs of settings and weights of the sum that a reading uses; the tables' settings use all
N_SUMS = 100


def oracle(
    *,
    data_home: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    only: Sequence[str] | None = None,
    readings: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Every setting of the tables on the test subjects, a strip per cell; values chosen on test
    subjects are not results.

    ``only`` names data sets, ``readings`` some of `READINGS` ("printed" by default, "all" for all,
    "done" for those that ``cache`` holds). ``cache`` is a folder that stores finished parts, a file
    per data set and reading, so that a stopped run can resume. ``output`` receives ``oracle.md``,
    ``oracle.png`` and, with several readings, ``readings.png``. Accuracies are fractions.

    >>> found = oracle(data_home="/data", only=["utkinect"], cache="done")  # doctest: +SKIP
    >>> found["oracle"]["cells"][0]["paper"]  # doctest: +SKIP
    0.9608
    """
    names = list(only or DATA)
    kept_only = cache is not None and "done" in (readings or ())
    whole = kept_only or "all" in (readings or ())
    chosen = list(READINGS) if whole else list(readings or ["printed"])
    strange = [n for n in names if n not in DATA] + [r for r in chosen if r not in READINGS]
    if strange:
        raise ParameterError(
            f"{', '.join(strange)}: expected data sets {', '.join(DATA)} and readings {', '.join(READINGS)}"
        )
    cells: list[dict[str, Any]] = []
    for name in names:
        task: Task | None = None
        known: dict[Any, Strip] = {}  # strips that differ only in the choice of C
        for key in chosen:
            if name not in READINGS[key].data:
                continue
            file = None if cache is None else Path(cache) / f"{name}-{key}.json"
            if file is not None and file.exists():
                cells += json.loads(file.read_text(encoding="utf-8"))
                continue
            if kept_only:
                continue
            task = task or _task(name, data_home)
            found = _measure(name, key, task, known, progress or silent)
            if file is not None:
                write_text(file, json.dumps(found, indent=1) + "\n")
            cells += found
    result = {"oracle": {"note": SEEN, "cells": cells}}
    if output is not None:
        write_text(Path(output) / "oracle.md", to_markdown(cells) + "\n")
        draw_strips(cells, Path(output))
    return result


def _task(name: str, data_home: Any) -> Task:
    if name != "msr_action3d":
        return Task.of((load_florence3d if name == "florence3d" else load_utkinect)(data_home))
    data = load_msr_action3d(data_home)
    return Task(data, Task.of(data, "wang").splits + Task.of(data, "li").splits)


def _measure(
    name: str, key: str, task: Task, known: dict[Any, Strip], progress: Progress
) -> list[dict[str, Any]]:
    """All cells of a data set under one reading; the smaller joint set of Florence3D with the
    tables' settings alone.
    """
    reading = READINGS[key]
    task = reading.task(task)
    tables = {"": name} if name != "msr_action3d" else {"wang": "wang", "li": "li"}
    parts = {"": slice(None), "wang": slice(1), "li": slice(1, None)}
    cells: list[dict[str, Any]] = []
    strips: dict[str, Strip] = {}
    for kernel in printed.TABLES[next(iter(tables.values()))]:
        if kernel == "dck_d" and key != "printed":
            continue
        title = f"{name}, {READINGS[key].title}, {kernel.upper()}"
        if kernel == "sck+dck":
            strip = _sums(
                [strips["sck"], list(strips.values())[-1]], task, reading, progress, title
            )
        else:
            found = known.get((kernel, reading.Cs)) if reading.choice != "cautious" else None
            strip = (
                found.rechosen(task, reading.choice)
                if found
                else _alone(kernel, task, reading, progress, title)
            )
            strips[kernel] = known[kernel, reading.Cs] = strip
        for protocol, table in tables.items():
            if kernel in reading.kernels or kernel[:3] in reading.kernels or kernel == "sck+dck":
                cell = {"data": f"{name} {protocol}".strip(), "kernel": kernel, "reading": key}
                paper = printed.TABLES[table][kernel][0]
                cells.append({**cell, "paper": paper, **strip.cell(parts[protocol], task.Cs)})
    return cells


@dataclass
class Strip:
    """Accuracy of every setting and C in every split, on test subjects and on held-out training
    subjects.
    """

    grams: Grams | None
    factors: Sequence[Factor]
    settings: list[Setting]
    test: np.ndarray  # (n_settings, n_C, n_splits)
    validation: np.ndarray  # the same
    # setting, position of C and test accuracy of each split
    chosen: list[tuple[Setting, int, float]]
    n_all: int  # number of settings, of which only some may be used

    def rechosen(self, task: Task, choice: str) -> Strip:
        """The same accuracies with another choice of C."""
        chosen = _choose(self.settings, self.factors, self.validation, self.test, task, choice)
        return replace(self, chosen=chosen)

    def cell(self, part: slice, Cs: Sequence[float]) -> dict[str, Any]:
        """Our accuracy, and those chosen on test subjects, over some of the splits."""
        test = self.test[:, :, part].reshape(-1, len(range(self.test.shape[2])[part]))
        means = test.mean(axis=1)
        s, c = divmod(int(means.argmax()), self.test.shape[1])
        return {
            "chosen": float(np.mean([accuracy for *_, accuracy in self.chosen[part]])),
            "settings": len(test),
            "settings_of": self.n_all * self.test.shape[1],
            SEEN: {
                "median": float(np.median(means)),
                "best_setting": float(means.max()),
                "best_setting_is": [*map(str, self.settings[s]), f"C = {Cs[c]:g}"],
                "best_per_split": float(test.max(axis=0).mean()),
                "percentiles": np.round(np.percentile(means, np.arange(101)), 4).tolist(),
            },
        }


def _alone(kernel: str, task: Task, reading: Reading, progress: Progress, title: str) -> Strip:
    family = reading.family(_family(kernel, task), kernel[:3])
    grams = Grams(family, task, progress, f"{title}, features")
    settings = family.settings()
    shape = len(settings), len(task.Cs), len(task.splits)
    test, validation = np.empty(shape), np.empty(shape)
    for s, setting in enumerate(progress(settings, total=len(settings), desc=title)):
        for p, split in enumerate(task.splits):
            parts = [(grams.of(setting, p), 1.0)]
            test[s, :, p] = task.recognized(parts, split).mean(axis=1)
            validation[s, :, p] = task.validation(parts, split)
    chosen = _choose(settings, family.factors, validation, test, task, reading.choice)
    return Strip(grams, family.factors, settings, test, validation, chosen, len(settings))


def _sums(
    strips: Sequence[Strip], task: Task, reading: Reading, progress: Progress, title: str
) -> Strip:
    """Sums of two kernels: chosen as in the tables, and all pairs of settings on test subjects."""
    sck, dck = strips
    assert sck.grams is not None
    assert dck.grams is not None
    shares = [(share,) for share in SHARE.levels]
    shape = len(shares), len(task.Cs), len(task.splits)
    test, validation = np.empty(shape), np.empty(shape)
    for p, split in enumerate(task.splits):
        K, L = sck.grams.of(sck.chosen[p][0], p), dck.grams.of(dck.chosen[p][0], p)
        for s, (share,) in enumerate(shares):
            parts = [(K, share), (L, 1 - share)]
            test[s, :, p] = task.recognized(parts, split).mean(axis=1)
            validation[s, :, p] = task.validation(parts, split)
    chosen = _choose(shares, [SHARE], validation, test, task, reading.choice)
    every = [(a, b, share) for a in sck.settings for b in dck.settings for (share,) in shares]
    n_all = len(every)
    if reading is not READINGS["printed"] and n_all > N_SUMS:
        every = [
            every[i] for i in np.sort(np.random.default_rng(0).choice(n_all, N_SUMS, replace=False))
        ]
    test = np.empty((len(every), len(task.Cs), len(task.splits)))
    for s, (a, b, share) in enumerate(progress(every, total=len(every), desc=title)):
        for p, split in enumerate(task.splits):
            parts = [(sck.grams.of(a, p), share), (dck.grams.of(b, p), 1 - share)]
            test[s, :, p] = task.recognized(parts, split).mean(axis=1)
    return Strip(None, [SHARE], every, test, validation, chosen, n_all)


def _choose(
    settings: Sequence[Setting],
    factors: Sequence[Factor],
    validation: np.ndarray,
    test: np.ndarray,
    task: Task,
    choice: str,
) -> list[tuple[Setting, int, float]]:
    """The setting of every split by held-out training subjects, as the tables choose it, and its
    test accuracy.
    """
    found = []
    n_C = len(task.Cs)
    common = np.arange(n_C)
    if choice == "cell":  # one C for the training subjects of all splits together
        common = np.array([int(validation.mean(axis=(0, 2)).argmax())])
    for p, (train, _) in enumerate(task.splits):
        accuracy: Mapping[Setting, np.ndarray] = {
            setting: validation[s, common, p] for s, setting in enumerate(settings)
        }
        setting, c = choose(accuracy, factors, n=len(train), cautious_C=choice == "cautious")
        found.append(
            (setting, int(common[c]), float(test[list(settings).index(setting), common[c], p]))
        )
    return found
