"""Alternatives: time series classifiers on resampled coordinates, with the same protocols.

    python benchmarks/rockets.py [florence3d utkinect msr_wang msr_li utd_mhad]

Accuracy of MultiRocketHydra and MiniRocket (aeon) on poses resampled to 40 frames, hip-centred, of
equal size, with and without being turned to the front, compared with `kerneton reproduce beyond`.
Needs `pip install 'kerneton[bench]'` and the recordings (KERNETON_DATA).
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from aeon.classification.convolution_based import MiniRocketClassifier, MultiRocketHydraClassifier

from kerneton import Preprocess, load_dataset
from kerneton.datasets.protocols import get_protocol
from kerneton.paper.presets import TASKS
from kerneton.report.intervals import of_splits
from kerneton.report.tables import aligned

N_FRAMES = 40
MODELS = {"MultiRocketHydra": MultiRocketHydraClassifier, "MiniRocket": MiniRocketClassifier}


def accuracy(model: type, data, protocol: str | None, facing: str | None) -> str:
    """Mean over the splits of a protocol, with its 95 % interval over the tested subjects."""
    right, tested = [], []
    for train, test in get_protocol(protocol, data).split(data, data.labels, data.subjects):
        poses = Preprocess(bones="size", facing=facing, n_frames=N_FRAMES).fit(data.select(train))
        X, Z = (
            np.stack([s.joints.reshape(N_FRAMES, -1).T for s in poses.transform(data.select(part))])
            for part in (train, test)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of others
            found = model(n_jobs=2, random_state=0).fit(X, data.labels[train]).predict(Z)
        right.append(found == data.labels[test])
        tested.append(test)
    mean = float(np.mean([np.mean(r) for r in right]))
    known = of_splits(np.concatenate(tested), np.concatenate(right), data.subjects, mean)
    return f"{100 * mean:.2f} ({known})"


def main() -> None:
    """Measure, print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    tasks = parser.parse_args().tasks
    data = {task: load_dataset(TASKS[task][0]) for task in tasks}
    rows = [["accuracy %", *tasks]]
    for name, model in MODELS.items():
        for facing, told in ((None, ""), ("sequence", ", to the front")):
            values = [accuracy(model, data[task], TASKS[task][1], facing) for task in tasks]
            rows.append([name + told, *values])
            print(aligned([rows[0], rows[-1]]), flush=True)
    print("\n" + aligned(rows))


if __name__ == "__main__":
    main()
