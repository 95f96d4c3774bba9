"""Which threshold of "none of these" keeps its rate on unseen people? With KERNETON_DATA:

    python benchmarks/threshold.py [--seeds FIRST LAST] [--keep FOLDER]

Draws of half of the people and of a few classes to leave out, as in `trust.py --draws`, but with
other seeds and also with SBU. Features of a data set are computed once, without labels; a draw then
takes seconds, since all of it (search, folds, calibration, tests) is computed from Gram matrices.
Rules are compared by a criterion that was fixed beforehand: at least 3 % of the known actions are
rejected, more than 12 % in at most one draw of 40, and as many unknown ones as possible. ``--keep``
stores the results of draws.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from trust import LEFT_OUT, drawn

from kerneton import load_dataset, make_recognizer
from kerneton.machine.folds import BlockGrams, subject_folds
from kerneton.machine.svm import LinearSVM
from kerneton.parallel.threads import one_blas_thread
from kerneton.prepare.preprocess import skeleton_kind
from kerneton.recognize.branch import Branch, branch_key
from kerneton.recognize.calibration import Held, Machines, hold_out, learn_threshold, learn_weights
from kerneton.recognize.encoder import Encoder, LocalTrials
from kerneton.recognize.other_skeletons import suited
from kerneton.recognize.presets import STANDARD_C
from kerneton.recognize.training import machine_options

SETS = {**LEFT_OUT, "sbu": 1}
# rates of the criterion, and the share of draws that may be above
LOW, HIGH, DRAWS = 0.03, 0.12, 1 / 40

Rule = Callable[[np.ndarray, np.ndarray], float]


class Recordings:
    """A data set whose features and their inner products are computed once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.data = [s.replace(joints=s.joints.astype(np.float32)) for s in load_dataset(name)]
        self.people = np.array([s.subject for s in self.data])
        self.labels = np.array([s.label for s in self.data])
        model = make_recognizer()
        self.branches, self.search = dict(model.branches), model.search
        if (kind := skeleton_kind(self.data)).differs:
            self.branches, self.search = suited(self.branches, self.search, kind)
        self._encoder = Encoder(self.data, 1)
        self._grams: dict = {}

    def grams(self, branch: Branch, rows: np.ndarray, n: int) -> BlockGrams:
        """Inner products of recordings with the first n of them."""
        key = branch_key(branch)
        if key not in self._grams:
            self._grams[key] = self._encoder.grams(branch)
            self._encoder._grams.clear()  # kept here, whatever their size
        whole = self._grams[key]
        blocks = np.stack([block[np.ix_(rows, rows[:n])] for block in whole.blocks])
        return BlockGrams(
            blocks, whole.squares[:, rows], whole.weighted, whole.center, whole.norm, whole.factor
        )

    @one_blas_thread()
    def draw(self, seed: int) -> dict[str, np.ndarray]:
        """What is held out in training, and novelty features of the tests."""
        half, gone = drawn(self.people, self.labels, SETS[self.name], seed)
        here = np.isin(self.people, list(half))
        rows = np.flatnonzero(here & ~np.isin(self.labels, list(gone)))
        n, tests = len(rows), np.flatnonzero(~here)
        rows = np.concatenate([rows, tests])
        classes, codes = np.unique(self.labels[rows[:n]], return_inverse=True)
        people = self.people[rows[:n]]
        folds, known = subject_folds(codes, people), {}

        def grams(branch: Branch) -> BlockGrams:
            key = branch_key(branch)
            if key not in known:
                known[key] = self.grams(branch, rows, n)
            return known[key]

        found = self.search.run(self.branches, LocalTrials(grams, codes, folds))
        shares = [
            (np.array([m.shares.get(name, 0.0) for name in found.branches]), m.C, m.penalty)
            for m in found.mixtures
        ]
        machines = Machines(shares, machine_options(LinearSVM(C=STANDARD_C), classes))
        held = Held([grams(branch) for branch in found.branches.values()], machines, codes, people)
        left = hold_out(held, folds, len(classes))
        _, tested = held.out(np.arange(n), np.arange(n, len(rows)))
        strange = np.isin(self.labels[tests], list(gone))
        return {
            "known": left.known,
            "unknown": left.unknown,
            "people": left.people,
            "tested": tested,
            "strange": strange,
        }


def quantile(share: float) -> Rule:
    """Of the doubts of all recordings, as until 0b491ce."""
    return lambda doubts, _: float(np.quantile(doubts, share))


def reached(top: int, tail: float, margin: float) -> Rule:
    """How far the mean of the largest doubts of each person reaches, at 5 % divided by a margin."""

    def rule(doubts: np.ndarray, people: np.ndarray) -> float:
        own = [doubts[people == name] for name in np.unique(people)]
        own = [x for x in own if len(x) >= 5]
        spread = tail * np.sqrt(np.mean([x.var() for x in own]))
        return float(
            np.mean(
                [np.sort(x)[-top:].mean() - spread * np.log(0.05 / margin * len(x)) for x in own]
            )
        )

    return rule


RULES: dict[str, Rule] = {
    "as it is": lambda doubts, people: learn_threshold(doubts, people, 0.05),
    **{f"quantile {q:.3f}": quantile(q) for q in np.arange(0.94, 0.9901, 0.005)},
    **{
        f"{top} largest, tail {tail}, margin {margin}": reached(top, tail, margin)
        for top in (1, 2, 3)
        for tail in (0.2, 0.3, 0.4, 0.5)
        for margin in (1, 1.5, 2, 2.5, 3, 4, 6, 8)
    },
}


def main() -> None:
    """Draw, compare, choose."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs=2, default=(1000, 1039))
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        rows = {rule: [] for rule in RULES}  # data set, refused known, known, share of unknown
        for name in SETS:
            recordings = None
            for seed in range(asked.seeds[0], asked.seeds[1] + 1):
                file = folder / f"{name}-{seed}.npz"
                if not file.exists():
                    recordings = recordings or Recordings(name)
                    np.savez(file, **recordings.draw(seed))
                found = dict(np.load(file))
                weights = learn_weights(found["known"], found["unknown"])
                doubts, scores = (found[k] @ weights[:2] + weights[2] for k in ("known", "tested"))
                strange = found["strange"]
                for rule, made in RULES.items():
                    refused = scores > made(doubts, found["people"])
                    rows[rule].append(
                        (name, refused[~strange].sum(), (~strange).sum(), refused[strange].mean())
                    )
            print(f"{name}: drawn", flush=True)
    told(rows)


def told(rows: dict[str, list]) -> None:
    """A line per rule, and the one that the criterion chooses."""
    allowed = []
    for rule, found in rows.items():
        names, wrong, n, share = map(np.array, zip(*found, strict=True))
        pooled, above = wrong.sum() / n.sum(), np.mean(wrong / n > HIGH)
        noticed = np.mean([share[names == name].mean() for name in np.unique(names)])
        if pooled >= LOW and above <= DRAWS:
            allowed.append((noticed, rule))
        print(
            f"{rule}: refused {pooled:.1%} of the known, more than {HIGH:.0%} in {above:.1%} of {len(n)} draws "
            f"({(wrong / n).max():.1%} in the worst), {noticed:.1%} of the unknown"
        )
    print(f"chosen: {max(allowed)[1] if allowed else 'none is allowed'}")


if __name__ == "__main__":
    main()
