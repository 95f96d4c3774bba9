"""Are probabilities calibrated, and unknown actions noticed? With KERNETON_DATA:

    python benchmarks/trust.py [PRESET ...]            UTD-MHAD, odd subjects train, even ones test
    python benchmarks/trust.py --draws [DATA SET ...]  four data sets, five draws of half the people
    python benchmarks/trust.py --by-lot [PRESET ...]   Florence3D and UTKinect, labels drawn by lot

Calibration: expected calibration error of the probabilities. Unknown actions: some of the classes
are left out of the training, five seeded draws; area under the ROC curve of the score, and what the
threshold for 5 % false alarms refuses, of known actions of people not seen in training and of
unknown ones; ``--draws`` also says what the rule of before (the 95 % quantile of the doubts of all
held-out recordings) refuses, and what it finds if its quantile is moved to the same rate of false
alarms. Labels drawn by lot: the accuracy that `kerneton fit` prints must be chance.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from unittest import mock

import numpy as np
from scipy.special import logit
from sklearn.metrics import roc_auc_score

from kerneton import load_dataset, make_recognizer
from kerneton.recognize import calibration
from kerneton.recognize.calibration import learn_threshold
from kerneton.report.intervals import expected_calibration_error


def fit(preset, recordings):
    start = time.perf_counter()
    model = make_recognizer(None if preset == "default" else preset, calibrate=True)
    model.fit(recordings, [s.label for s in recordings])
    return model, time.perf_counter() - start


def measure(preset: str, train: list, test: list, n_draws: int = 5) -> None:
    labels = np.array([s.label for s in test])
    model, seconds = fit(preset, train)
    proba = model.predict_proba(test)
    accuracy = (model.classes_[proba.argmax(axis=1)] == labels).mean()
    error = expected_calibration_error(proba, labels, model.classes_)
    print(
        f"{preset}: accuracy {accuracy:.1%}, calibration error {error:.3f}, fitted in {seconds:.0f} s",
        flush=True,
    )
    areas = []
    for seed in range(n_draws):
        gone = np.random.default_rng(seed).choice(sorted(set(labels)), 3, replace=False)
        model, _ = fit(preset, [s for s in train if s.label not in gone])
        strange, scores = np.isin(labels, gone), model.unknown_score(test)
        refused = scores > model.calibration_.threshold_
        areas.append(roc_auc_score(strange, scores))
        print(
            f"  without {', '.join(gone)}: area {areas[-1]:.3f}, refused {refused[~strange].mean():.1%} of known "
            f"and {refused[strange].mean():.1%} of unknown recordings",
            flush=True,
        )
    print(
        f"{preset}: area under the ROC curve {np.mean(areas):.3f}, mean of {n_draws} draws",
        flush=True,
    )


LEFT_OUT = {"florence3d": 1, "utkinect": 1, "msr_action3d": 2, "utd_mhad": 3}  # classes of a draw


def drawn(people, labels, n_gone: int, seed: int) -> tuple[set, set]:
    """Half of the people, who train, and the classes that are left out."""
    rng = np.random.default_rng(seed)
    half = set(rng.choice(sorted(set(people)), len(set(people)) // 2, replace=False))
    return half, set(rng.choice(sorted(set(labels)), n_gone, replace=False))


@dataclass(frozen=True)
class Draw:
    """Doubts (log-odds of being unknown) of held-out training recordings and of the tests, and the
    threshold that was learned.
    """

    doubts: np.ndarray
    tested: np.ndarray
    strange: np.ndarray
    threshold: float

    def refused(self, threshold: float) -> tuple[int, int, float]:
        """Known tests that are refused, all known tests, and the share of unknown ones that is
        refused.
        """
        above = self.tested > threshold
        return above[~self.strange].sum(), (~self.strange).sum(), above[self.strange].mean()


def draw(data: list, name: str, seed: int) -> Draw:
    """Fit on half of the people without some classes, test on the others."""
    half, gone = drawn([s.subject for s in data], [s.label for s in data], LEFT_OUT[name], seed)
    given: list[np.ndarray] = []

    def watched(doubts, people, rate):
        given.append(doubts)
        return learn_threshold(doubts, people, rate)

    with mock.patch.object(calibration, "learn_threshold", watched):
        model, _ = fit("default", [s for s in data if s.subject in half and s.label not in gone])
    test = [s for s in data if s.subject not in half]
    found = Draw(
        given[0],  # of all people; the others are without one, for the interval that fit prints
        logit(model.unknown_score(test)),
        np.array([s.label in gone for s in test]),
        float(logit(model.calibration_.threshold_)),
    )
    low, high = (
        100 * model.calibration_.held_out_[f"false_alarm_{end}"] for end in ("low", "high")
    )
    wrong, n, noticed = found.refused(found.threshold)
    print(
        f"{name}, draw {seed}: refused {wrong / n:.1%} of {n} known (foreseen {low:.1f} to {high:.1f}), "
        f"{noticed:.1%} of {found.strange.sum()} unknown",
        flush=True,
    )
    return found


def pooled(found: list[Draw], share: float | None = None) -> tuple[float, float, float]:
    """Refused known of all draws, the largest share of one, and unknown that are refused, mean of
    draws.

    By the thresholds that were learned, or by the rule of before: a quantile of the doubts of all
    held-out recordings.
    """
    rows = [
        one.refused(one.threshold if share is None else np.quantile(one.doubts, share))
        for one in found
    ]
    wrong, n, noticed = np.transpose(rows)
    return wrong.sum() / n.sum(), (wrong / n).max(), noticed.mean()


def draws(names: list[str], n_draws: int = 5) -> None:
    """False alarms and detection on the other half of the people, draw by draw and pooled; before
    and now at equal rates.
    """
    found: dict[str, list[Draw]] = {}
    for name in names:
        data = [s.replace(joints=s.joints.astype(np.float32)) for s in load_dataset(name)]
        found[name] = [draw(data, name, seed) for seed in range(n_draws)]
    every = {**found, "all": [one for some in found.values() for one in some]}
    shares = 1 - np.geomspace(0.001, 0.3, 1000)
    for name, some in every.items():
        n = sum((~one.strange).sum() for one in some)
        area = np.mean([roc_auc_score(one.strange, one.tested) for one in some])
        rate, worst, noticed = pooled(some)
        print(
            f"{name}, {n} known: refused {rate:.1%}, {worst:.1%} in the worst draw, {noticed:.1%} of the unknown; "
            f"area under the ROC curve {area:.3f}"
        )
        same = shares[np.argmin([abs(pooled(some, share)[0] - rate) for share in shares])]
        for told, share in (("before", 0.95), ("before, moved to this rate", same)):
            rate, worst, noticed = pooled(some, share)
            print(
                f"  {told}, quantile {share:.3f}: {rate:.1%}, {worst:.1%}, {noticed:.1%}",
                flush=True,
            )


def by_lot(presets: list[str], n_draws: int = 4) -> None:
    """The accuracy on held-out people, as chosen and as printed, where nothing can be learned."""
    for name in ("florence3d", "utkinect"):
        data = [s.replace(joints=s.joints.astype(np.float32)) for s in load_dataset(name)]
        labels = np.array([s.label for s in data])
        for preset in presets:
            told = []
            for seed in range(n_draws):
                lot = np.random.default_rng(seed).permutation(labels)
                model, _ = fit(preset, [s.replace(label=c) for s, c in zip(data, lot, strict=True)])
                told.append(
                    [model.calibration_.held_out_[k] for k in ("accuracy", "accuracy_nested")]
                )
            chosen, nested = np.mean(told, axis=0)
            print(
                f"{name}, {preset}, by lot: {nested:.1%} ({chosen:.1%} by the same choice for all)",
                flush=True,
            )


def main() -> None:
    if sys.argv[1:2] == ["--by-lot"]:
        by_lot(sys.argv[2:] or ["default", "auto"])
        return
    if sys.argv[1:2] == ["--draws"]:
        draws(sys.argv[2:] or list(LEFT_OUT))
        return
    data = load_dataset("utd_mhad")
    data = [s.replace(joints=s.joints.astype(np.float32)) for s in data]
    train, test = ([s for s in data if int(s.subject) % 2 == odd] for odd in (1, 0))
    for preset in sys.argv[1:] or ["default", "paper"]:
        measure(preset, train, test)


if __name__ == "__main__":
    main()
