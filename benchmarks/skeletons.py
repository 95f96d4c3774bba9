"""Two persons, 2D and hands: the default recogniser and time series classifiers in one run.

    python benchmarks/skeletons.py [sbu jhmdb sfinge3d held] [--only-ours] [--json FILE]

Accuracy under the published splits: SBU-Kinect-Interaction, five folds by pairs of persons; JHMDB's
2D poses, three splits; SFINGE 3D, three folds by take (take modulo 3), with the built-in layout,
with meaningless joint names, and without bones. "held" is SFINGE 3D with the sensor held otherwise:
trained on takes 1 to 9 and tested on 10 to 18, and the other way round, every test recording as it
is, and turned by 20 and 30 degrees about its own random axis. All choices are made inside the
training recordings. MiniRocket and MultiRocketHydra (aeon) see poses resampled to 40 frames,
centred and of equal size. Their kernels are random: the mean of five seeds is shown, and the lowest
and the highest. Kerneton has no random numbers. Needs `pip install 'kerneton[bench]'` and the
recordings (KERNETON_DATA).
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterable

import numpy as np

from kerneton import Layout, Preprocess, SkeletonDataset, load_dataset, make_recognizer
from kerneton.report.intervals import of_splits
from kerneton.report.tables import aligned

N_FRAMES = 40
N_SEEDS = 5
Splits = Iterable[tuple[np.ndarray, np.ndarray]]


def sfinge3d(data: SkeletonDataset) -> dict[str, SkeletonDataset]:
    """The hands with their layout, with meaningless names, and without bones."""
    names = [f"p{i}" for i in range(len(data.layout.joints))]
    bones = [(names[b], names[a]) for a, b in reversed(data.layout.bones)]
    layouts = {", own names": Layout("mine", names, bones), ", no bones": Layout("points", names)}
    return {"": data} | {
        told: SkeletonDataset([s.replace(layout=layout) for s in data], name="sfinge3d")
        for told, layout in layouts.items()
    }


def held(data: SkeletonDataset) -> dict[str, list[float]]:
    """Accuracies of both halves of the takes by the angle at which the sensor is held."""
    takes = np.array([int(s.name[-2:]) for s in data])
    found: dict[str, list[float]] = {}
    for known in (takes <= 9, takes > 9):
        model = make_recognizer(calibrate=False).fit(
            data.select(np.flatnonzero(known)), data.labels[known]
        )
        tests, labels = list(data.select(np.flatnonzero(~known))), data.labels[~known]
        for angle in (0, 20, 30):
            rng = np.random.default_rng(0)
            turned = [
                s.replace(joints=s.joints @ rotation(rng, np.deg2rad(angle)).T) for s in tests
            ]
            found.setdefault(f"held, {angle} degrees", []).append(
                float((model.predict(turned) == labels).mean())
            )
        print(f"  {model.variant_}", flush=True)
    return found


def rotation(rng: np.random.Generator, angle: float) -> np.ndarray:
    """A rotation by an angle about a random axis, (3, 3)."""
    x, y, z = (axis := rng.normal(size=3)) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


TASKS = ("sbu", "jhmdb", "sfinge3d", "held")


def ours(data: SkeletonDataset, splits: Splits) -> list[np.ndarray]:
    """Which test recordings of each split the default recogniser gets right."""
    found = []
    for train, test in splits:
        model = make_recognizer(calibrate=False).fit(data.select(train), data.labels[train])
        right = model.predict(data.select(test)) == data.labels[test]
        print(f"  {model.variant_}: {right.mean():.2%}", flush=True)
        found.append(right)
    return found


def rocket(name: str, data: SkeletonDataset, splits: Splits) -> list[np.ndarray]:
    """Which test recordings of each split one of aeon's classifiers gets right: (seeds,
    recordings).
    """
    from aeon.classification import convolution_based

    classifier = getattr(convolution_based, f"{name}Classifier")
    found = []
    for train, test in splits:
        poses = Preprocess(bones="size", n_frames=N_FRAMES).fit(data.select(train))
        X, Z = (
            np.stack([s.joints.reshape(N_FRAMES, -1).T for s in poses.transform(data.select(part))])
            for part in (train, test)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of others
            models = [classifier(n_jobs=2, random_state=seed) for seed in range(N_SEEDS)]
            predicted = [model.fit(X, data.labels[train]).predict(Z) for model in models]
        found.append(np.stack(predicted) == data.labels[test])
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
    rows, found = [["accuracy %", "mean", "95 % interval", "seeds", "splits"]], {}
    for task in asked.tasks:
        if task == "held":
            for name, values in held(load_dataset("sfinge3d")).items():
                shown = " ".join(f"{100 * v:.1f}" for v in values)
                rows.append([name, f"{100 * np.mean(values):.2f}", "", "", shown])
                found[name] = {"splits": values}
            continue
        data = load_dataset(task)
        kinds, splits = (sfinge3d(data) if task == "sfinge3d" else {"": data}), data.splits
        runs = {f"{task}{told}, kerneton": ours(data, splits) for told, data in kinds.items()}
        if not asked.only_ours:
            names = ("MiniRocket", "MultiRocketHydra")
            runs |= {f"{task}, {name}": rocket(name, kinds[""], splits) for name in names}
        tested = np.concatenate([test for _, test in splits])
        people = data.subjects if task == "sbu" else None  # of the others nobody says who it was
        for run, right in runs.items():
            values = [float(r.mean()) for r in right]
            by_seed = np.mean([np.atleast_2d(r).mean(1) for r in right], 0)
            shares = np.concatenate([np.atleast_2d(r).mean(0) for r in right])
            known = of_splits(tested, shares, people, float(np.mean(values)))
            shown = " ".join(f"{100 * v:.1f}" for v in values)
            seeds = (
                ""
                if len(by_seed) == 1
                else f"{100 * by_seed.min():.2f} to {100 * by_seed.max():.2f}"
            )
            rows.append([run, f"{100 * np.mean(values):.2f}", str(known), seeds, shown])
            found[run] = {
                "splits": values,
                "low": known.low,
                "high": known.high,
                "seeds": by_seed.tolist(),
            }
    print("\n" + aligned(rows))
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
