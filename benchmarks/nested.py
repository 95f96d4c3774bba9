"""Ideas for the default recogniser, compared only on held-out training subjects, pooled over eight
tasks.

    python benchmarks/nested.py [TASK ...] [--only IDEA ...] [--test IDEA] [--json FILE]

In the training side of every published split, each subject is held out in turn. View and mirroring
are those that the default chooses there; then its sum of cues is compared with that of each idea.
Only ``--test`` uses test subjects, to measure the default and one idea. Needs the recordings
(KERNETON_DATA).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import limbs
import numpy as np
from scipy.ndimage import gaussian_filter1d
from sklearn.base import clone

from kerneton import SkeletonDataset, load_dataset, make_recognizer
from kerneton.datasets.protocols import get_protocol
from kerneton.kernels import signals
from kerneton.machine.folds import BlockGrams, held_out_scores, subject_folds
from kerneton.paper.presets import TASKS as PUBLISHED
from kerneton.prepare.preprocess import skeleton_kind
from kerneton.recognize.branch import Branch
from kerneton.recognize.encoder import Encoder
from kerneton.recognize.other_skeletons import suited
from kerneton.recognize.presets import STANDARD_C, STANDARD_PENALTY
from kerneton.recognize.search import with_parameters

TASKS = (*PUBLISHED, "sbu", "jhmdb", "sfinge3d")
IDEAS = ("slow joints", "slow cue", "hands and head", "cut short")
LIMBS = ("active limbs", "equal limbs", "competing limbs", "borrowed arm")
KEPT = 0.7  # of a recording, in copies that are cut short


def slow(frames):
    """Change over the derivative of a Gaussian three frames wide, (N, J, 3)."""
    each = zip(frames.split(frames.joints), frames.rates, strict=True)
    return np.concatenate(
        [
            gaussian_filter1d(x - x[:1], 3.0, axis=0, order=1, mode="nearest") * rate
            for x, rate in each
        ]
    )


signals.SIGNALS["slow"] = signals.Signal(slow, scaled=True, linear=True)


def load(task: str) -> tuple[SkeletonDataset, list]:
    """Recordings in single precision and published splits of a task."""
    name, protocol = PUBLISHED[task][:2] if task in PUBLISHED else (task, None)
    data = load_dataset(name)
    small = SkeletonDataset(
        [s.replace(joints=s.joints.astype(np.float32)) for s in data], name=name
    )
    if task not in PUBLISHED:
        return small, list(data.splits)
    return small, list(get_protocol(protocol, data).split(data, data.labels, data.subjects))


def ideas(cues: dict[str, Branch], layout) -> Iterator[tuple[str, dict[str, Branch]]]:
    """The cues of each idea; other ideas change the recordings or inner products, not the cues."""
    yield "default", cues
    if "joints" in cues:
        kernel = clone(cues["joints"].kernel).set_params(signals=("position", "slow"))
        changed = clone(cues["joints"]).set_params(kernel=kernel)
        yield "slow joints", {**cues, "joints": changed}
        yield "slow cue", {**cues, "slow": changed}
    ends = [
        j
        for j in ("head", "left_hand", "right_hand", "left_wrist", "right_wrist")
        if j in layout.joints
    ]
    ends = [j for j in ends if not (j.endswith("wrist") and j.replace("wrist", "hand") in ends)]
    if "pairs" in cues and len(ends) == 3:
        fine = {"sigma_joint": (0.25, 0.7), "n_pivots_joint": (9, 4), "joints": tuple(ends)}
        yield "hands and head", {**cues, "ends": with_parameters(cues["pairs"], _kernel(fine))}
    yield "cut short", cues
    for idea in LIMBS if limbs.limbs(layout) else ():
        yield idea, cues


def _kernel(parameters: dict) -> dict:
    return {f"kernel__{name}": value for name, value in parameters.items()}


def cut(sequence):
    """The first part of a recording."""
    n = max(2, round(KEPT * sequence.n_frames))
    confidence = None if sequence.confidence is None else sequence.confidence[:n]
    return sequence.replace(joints=sequence.joints[:n], confidence=confidence)


class Side:
    """The training recordings of a split, with copies of them and, for ``--test``, its test
    recordings.
    """

    def __init__(self, data: SkeletonDataset, train: np.ndarray, test: np.ndarray | None) -> None:
        known = list(data.select(train))
        self.n, self.codes = len(known), np.unique(data.labels[train], return_inverse=True)[1]
        self.people = [s.subject for s in known]
        folds_of = self.people if all(p is not None for p in self.people) else None
        self.folds = subject_folds(self.codes, folds_of)
        model = make_recognizer(calibrate=False)
        branches, search, kind = dict(model.branches), model.search, skeleton_kind(known)
        if kind.differs:
            branches, search = suited(branches, search, kind)
        self.encoder, self.known, self.layout = Encoder(known, 1), known, data.layout
        found = search.run(branches, self.encoder.trials(self.codes, self.folds))
        self.variant, self.cues = found.variant, found.branches
        self.tests = [] if test is None else list(data.select(test))
        self.truth = (
            None
            if test is None
            else np.searchsorted(np.unique(data.labels[train]), data.labels[test])
        )
        self.copies: dict[str, list] = {
            "cut short": [(cut(s), i, set()) for i, s in enumerate(known)]
        }
        self._grams: dict[tuple[str, str], tuple[BlockGrams, object]] = {}

    def copies_of(self, idea: str) -> list:
        """Additional training copies, with the positions of their recordings and of those they
        borrow from.
        """
        if idea == "borrowed arm" and idea not in self.copies:
            self.copies[idea] = limbs.borrowed(self.known, self.people)
        return self.copies.get(idea, [])

    def grams(self, name: str, cue: Branch, idea: str) -> tuple[BlockGrams, object]:
        """Inner products of everything with the training recordings and their copies, and the
        kernel.
        """
        key = name, idea if idea in ("cut short", "borrowed arm", "active limbs") else ""
        if key not in self._grams:
            plain = clone(cue).set_params(kernel__weighting=None, scale=None)
            mirror = cue.kernel.mirror
            if key[1] == "active limbs":
                plain.set_params(kernel__mirror=False)
            fitted = self.encoder.encoded(plain)
            kernel, features = fitted.kernel, fitted.features
            others = [*(copy for copy, *_ in self.copies_of(idea)), *self.tests]
            poses = fitted.preprocess.transform(others) if others else []
            if others:
                features = np.concatenate([features, kernel.transform(poses)])
            if key[1] == "active limbs":
                features = limbs.active(
                    [*fitted.preprocess.transform(self.known), *poses], kernel, features
                )
                if mirror:
                    kernel, features = kernel.mirrored(features, mirror)
            self._grams[key] = BlockGrams.of(features, kernel.block_sizes_, weighted=True), kernel
        return self._grams[key]

    def forget(self, idea: str) -> None:
        """Free what only this idea needs."""
        for key in [key for key in self._grams if key[1] == idea]:
            del self._grams[key]

    def right(self, idea: str, cues: dict[str, Branch]) -> tuple[int, int, float]:
        """Number of correct and of all held-out training recordings, and the mean deficit of the
        true class.
        """
        right, soft = 0, []
        for train, valid in self.folds:
            scores = self._scores(idea, cues, train, valid)
            right += int((scores.argmax(axis=1) == self.codes[valid]).sum())
            p = np.exp(2 * (scores - scores.max(axis=1, keepdims=True)))
            soft += (1 - p[np.arange(len(valid)), self.codes[valid]] / p.sum(axis=1)).tolist()
        return right, self.n, float(np.mean(soft))

    def tested(self, idea: str, cues: dict[str, Branch]) -> float:
        """Accuracy on the test recordings."""
        rows = np.arange(len(self.tests)) + self.n + len(self.copies_of(idea))
        return float(
            np.mean(self._scores(idea, cues, np.arange(self.n), rows).argmax(axis=1) == self.truth)
        )

    def _scores(
        self, idea: str, cues: dict[str, Branch], train: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        copies = self.copies_of(idea)
        more = np.array([self.codes[i] for _, i, _ in copies], dtype=int)
        codes = np.concatenate([self.codes, more, np.zeros(len(self.tests), dtype=int)])
        used, there = {}, set(train.tolist())
        for place, (_, i, lenders) in enumerate(copies, self.n):
            if i in there and lenders <= there:
                used.setdefault(i, place)  # one copy per recording, none of held-out ones
        train = np.concatenate([train, np.array(sorted(used.values()), dtype=int)])
        parts = []
        for name, cue in cues.items():
            slower = "slow" in cue.kernel.signals
            grams, kernel = self.grams(f"slow {name}" if slower else name, cue, idea)
            if idea in ("equal limbs", "competing limbs"):
                blocks = limbs.blocks_of(kernel, self.layout)
                compete = idea == "competing limbs"
                parts.append(limbs.each_by_itself(grams, blocks, compete, codes, train, rows))
            else:
                parts.append(grams.fold(codes, train, rows))
        inside, across = (sum(part[side] for part in parts) / len(parts) for side in (0, 1))
        options = {"penalty": STANDARD_PENALTY}
        (scores,) = held_out_scores(
            inside, across, codes[train], int(self.codes.max()) + 1, [STANDARD_C], **options
        )
        return scores


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", default=list(TASKS))
    every = (*IDEAS, *LIMBS)
    parser.add_argument(
        "--only", nargs="+", choices=every, default=every, help="ideas besides the default"
    )
    parser.add_argument(
        "--test", choices=every, help="measure this idea and the default on the test subjects"
    )
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found: dict[str, dict] = {}
    for task in asked.tasks:
        data, splits = load(task)
        counts: dict[str, list] = {}
        for train, test in splits:
            side = Side(data, train, test if asked.test else None)
            wanted = ("default", asked.test) if asked.test else ("default", *asked.only)
            for idea, cues in ideas(side.cues, side.layout):
                if idea in wanted:
                    row = (
                        (side.tested(idea, cues), 1, 0.0) if asked.test else side.right(idea, cues)
                    )
                    counts.setdefault(idea, []).append(row)
                    side.forget(idea)
        found[task] = {
            idea: (
                float(np.mean([r / n for r, n, _ in rows])),
                float(np.mean([s for *_, s in rows])),
            )
            for idea, rows in counts.items()
        }
        shown = [f"{idea} {100 * a:.2f} ({100 * s:.2f})" for idea, (a, s) in found[task].items()]
        print(f"{task}: {'; '.join(shown)}", flush=True)
    for idea in ("default", *([asked.test] if asked.test else asked.only)):
        rows = [part.get(idea, part["default"]) for part in found.values()]
        print(
            f"mean, {idea}: {100 * np.mean([a for a, _ in rows]):.2f} ({100 * np.mean([s for _, s in rows]):.2f})"
        )
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
