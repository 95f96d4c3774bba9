"""Two persons, 2D and hands: the default recogniser beside classifiers of time series, in one run.

    python benchmarks/skeletons.py [sbu jhmdb sfinge3d] [--only-ours] [--json FILE]

Accuracy under the published splits: SBU-Kinect-Interaction, five folds by pairs of persons; JHMDB's 2D poses, three splits;
SFINGE 3D, three folds by take (take modulo 3), with the built-in layout, with names that say nothing, and without bones.
All choices are made inside the training recordings. MiniRocket and MultiRocketHydra (aeon) see poses resampled to 40
frames, centred and of equal size. Needs `pip install 'kerneton[bench]'` and the recordings (KERNETON_DATA).
"""

from __future__ import annotations

import argparse
import json
import warnings

import numpy as np

from kerneton import Layout, Preprocess, SkeletonDataset, load_dataset, make_recognizer
from kerneton.datasets.jhmdb import jhmdb_splits
from kerneton.datasets.sbu import FOLDS
from kerneton.datasets.sfinge3d import take
from kerneton.report.tables import aligned

N_FRAMES = 40
Splits = list[tuple[np.ndarray, np.ndarray]]


def sbu() -> tuple[dict[str, SkeletonDataset], Splits]:
    """Folds by pairs of persons; inside the training pairs, pairs are held out."""
    data = load_dataset("sbu")
    inside = [np.isin(data.subjects, fold) for fold in FOLDS]
    return {"": data}, [(np.flatnonzero(~test), np.flatnonzero(test)) for test in inside]


def jhmdb() -> tuple[dict[str, SkeletonDataset], Splits]:
    """The three published splits; there are no subjects, so inside the training clips, clips are held out."""
    return {"": load_dataset("jhmdb")}, jhmdb_splits()


def sfinge3d() -> tuple[dict[str, SkeletonDataset], Splits]:
    """Folds by take, with the layout, with meaningless names, and without bones."""
    data = load_dataset("sfinge3d")
    names = [f"p{i}" for i in range(len(data.layout.joints))]
    bones = [(names[b], names[a]) for a, b in reversed(data.layout.bones)]
    layouts = {", own names": Layout("mine", names, bones), ", no bones": Layout("points", names)}
    kinds = {"": data} | {
        told: SkeletonDataset([s.replace(layout=layout) for s in data], name="sfinge3d")
        for told, layout in layouts.items()
    }
    takes = np.asarray([take(s.name) for s in data])
    folds = [takes % 3 == k for k in range(3)]
    return kinds, [(np.flatnonzero(~test), np.flatnonzero(test)) for test in folds]


TASKS = {"sbu": sbu, "jhmdb": jhmdb, "sfinge3d": sfinge3d}


def ours(data: SkeletonDataset, splits: Splits) -> list[float]:
    """Accuracy of the default recogniser on each split."""
    found = []
    for train, test in splits:
        model = make_recognizer().fit(data.select(train), data.labels[train])
        right = float(np.mean(model.predict(data.select(test)) == data.labels[test]))
        print(f"  {model.variant_}: {right:.2%}", flush=True)
        found.append(right)
    return found


def rocket(name: str, data: SkeletonDataset, splits: Splits) -> list[float]:
    """Accuracy of one of aeon's classifiers on each split."""
    from aeon.classification import convolution_based

    found = []
    for train, test in splits:
        poses = Preprocess(bones="size", n_frames=N_FRAMES).fit(data.select(train))
        X, Z = (
            np.stack([s.joints.reshape(N_FRAMES, -1).T for s in poses.transform(data.select(part))])
            for part in (train, test)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of others
            model = getattr(convolution_based, f"{name}Classifier")(n_jobs=2, random_state=0)
            found.append(float(np.mean(model.fit(X, data.labels[train]).predict(Z) == data.labels[test])))
    return found


def main() -> None:
    """Measure, print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", default=list(TASKS), help=", ".join(TASKS))
    parser.add_argument("--only-ours", action="store_true", help="leave aeon's classifiers out")
    parser.add_argument("--json", help="write accuracies per split to this file")
    asked = parser.parse_args()
    rows, found = [["accuracy %", "mean", "splits"]], {}
    for task in asked.tasks:
        kinds, splits = TASKS[task]()
        runs = {f"{task}{told}, kerneton": ours(data, splits) for told, data in kinds.items()}
        if not asked.only_ours:
            names = ("MiniRocket", "MultiRocketHydra")
            runs |= {f"{task}, {name}": rocket(name, kinds[""], splits) for name in names}
        for run, values in runs.items():
            rows.append([run, f"{100 * np.mean(values):.2f}", " ".join(f"{100 * v:.1f}" for v in values)])
        found |= runs
    print("\n" + aligned(rows))
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
