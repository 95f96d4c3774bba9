"""Few examples: accuracy on new people with 1, 2, 3, 5 and 10 examples per class.

    python benchmarks/few.py [DATA SET ...] [--draws 3] [--tests 100] [--json FILE] [--plot FILE]

In each draw, half of the people give the examples, and up to ``--tests`` recordings of the others
are tested. The default recogniser is compared with MiniRocket (aeon) and the nearest neighbour
under dynamic time warping, on hip-centred poses of equal size. Needs `pip install
'kerneton[bench]'` and the recordings (KERNETON_DATA).
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from aeon.classification.convolution_based import MiniRocketClassifier
from numba import njit

from kerneton import Preprocess, load_dataset, make_recognizer
from kerneton.report.intervals import interval

DATA = ("florence3d", "utkinect", "msr_action3d", "utd_mhad")
EXAMPLES = (1, 2, 3, 5, 10)
N_FRAMES, WINDOW = 40, 8  # frames that poses are resampled to, and how far warping may go


@njit(fastmath=True)
def warping_distances(X, Z):
    """Squared distances under dynamic time warping, (n_Z, n_X), of series (n, T, d)."""
    T, out = X.shape[1], np.empty((len(Z), len(X)))
    for i in range(len(Z)):
        for j in range(len(X)):
            D = np.full((T + 1, T + 1), np.inf)
            D[0, 0] = 0.0
            for a in range(T):
                for b in range(max(0, a - WINDOW), min(T, a + WINDOW + 1)):
                    cost = 0.0
                    for c in range(X.shape[2]):
                        cost += (Z[i, a, c] - X[j, b, c]) ** 2
                    D[a + 1, b + 1] = cost + min(D[a, b], D[a, b + 1], D[a + 1, b])
            out[i, j] = D[T, T]
    return out


def kerneton(train, labels, test):
    return make_recognizer(n_jobs=1, calibrate=False).fit(train, labels).predict(test)


def poses(train, test):
    """Series (n, T, d) of both, turned to the front, of equal size."""
    prepare = Preprocess(bones="size", facing="sequence", n_frames=N_FRAMES).fit(train)
    return (
        np.stack([s.joints.reshape(N_FRAMES, -1) for s in prepare.transform(part)]).astype(
            np.float32
        )
        for part in (train, test)
    )


def minirocket(train, labels, test):
    X, Z = poses(train, test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of others
        model = MiniRocketClassifier(random_state=0).fit(X.transpose(0, 2, 1), labels)
        return model.predict(Z.transpose(0, 2, 1))


def nearest(train, labels, test):
    X, Z = poses(train, test)
    return labels[warping_distances(X, Z).argmin(axis=1)]


MODELS = {"kerneton": kerneton, "MiniRocket": minirocket, "1-NN DTW": nearest}


def draw(data, n_examples, n_tests, seed):
    """Examples of half of the people, as many a class, and tests of the others."""
    rng = np.random.default_rng(seed)
    people = np.unique(data.subjects)
    known = np.isin(data.subjects, rng.choice(people, len(people) // 2, replace=False))
    order = rng.permutation(len(data))
    train = [
        i
        for c in np.unique(data.labels)
        for i in order[(known & (data.labels == c))[order]][:n_examples]
    ]
    return train, order[~known[order]][:n_tests]


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="*", default=list(DATA))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--tests", type=int, default=100)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    args = parser.parse_args()
    loaded = {name: load_dataset(name) for name in args.data}
    tested: dict = {}
    for seed in range(args.draws):
        for name, data in loaded.items():
            for n in EXAMPLES:
                train, test = draw(data, n, args.tests, seed)
                known, unknown = (
                    [data[i].replace(joints=data[i].joints.astype(np.float32)) for i in part]
                    for part in (train, test)
                )
                for model, predict in MODELS.items():
                    try:
                        right = predict(known, data.labels[train], unknown) == data.labels[test]
                    except Exception as error:  # too few examples for this one: said, and left out
                        print(f"{name}, {n} examples, {model}: {error}", flush=True)
                        continue
                    cell = tested.setdefault(name, {}).setdefault(model, {}).setdefault(n, [[], []])
                    cell[0] += right.tolist()
                    cell[1] += data.subjects[test].tolist()
                told = ", ".join(
                    f"{model} {100 * np.mean(cells[n][0]):.1f} ({interval(*cells[n])})"
                    for model, cells in tested[name].items()
                    if n in cells
                )
                print(f"draw {seed}, {name}, {n} examples: {told}", flush=True)
        table = {
            d: {m: {n: _cell(*c) for n, c in cs.items()} for m, cs in ms.items()}
            for d, ms in tested.items()
        }
        if args.json:
            args.json.write_text(json.dumps(table, indent=1))
        if args.plot:
            plot(table, args.plot)


def _cell(right, subjects):
    known_to = interval(right, subjects)
    return {
        "accuracy": float(np.mean(right)),
        "low": known_to.low,
        "high": known_to.high,
        "n": len(right),
    }


def plot(table, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3), layout="constrained")
    axes = figure.subplots(1, len(table), sharey=True, squeeze=False)[0]
    for ax, (name, models) in zip(axes, table.items(), strict=True):
        for model, cells in models.items():
            at = list(cells)
            ax.plot(at, [100 * cells[n]["accuracy"] for n in at], "o-", label=model)
            ax.fill_between(
                at,
                [100 * cells[n]["low"] for n in at],
                [100 * cells[n]["high"] for n in at],
                alpha=0.15,
            )
        ax.set(
            title=name,
            xscale="log",
            xticks=EXAMPLES,
            xticklabels=EXAMPLES,
            xlabel="examples a class",
        )
        ax.minorticks_off()
    axes[0].set_ylabel("accuracy, % (people not seen)")
    axes[0].legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
