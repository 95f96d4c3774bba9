"""Are probabilities calibrated, and unknown actions noticed? With KERNETON_DATA:

    python benchmarks/trust.py [PRESET ...]              UTD-MHAD, odd subjects train, even ones are tested
    python benchmarks/trust.py --draws [DATA SET ...]    four data sets, five draws of half of the people each
    python benchmarks/trust.py --by-lot [PRESET ...]     Florence3D and UTKinect, labels drawn by lot

Calibration: expected calibration error of the probabilities. Unknown actions: some of the classes are left out of the training,
five seeded draws; area under the ROC curve of the score, and what the threshold for 5 % false alarms refuses, of known actions
of people not seen in training and of unknown ones. Labels drawn by lot: the accuracy that `kerneton fit` prints must be chance.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.metrics import roc_auc_score

from kerneton import load_dataset, make_recognizer
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
    print(f"{preset}: area under the ROC curve {np.mean(areas):.3f}, mean of {n_draws} draws", flush=True)


LEFT_OUT = {"florence3d": 1, "utkinect": 1, "msr_action3d": 2, "utd_mhad": 3}  # classes of a draw


def draws(names: list[str], n_draws: int = 5) -> None:
    """False alarms and detection on the other half of the people, draw by draw and pooled."""
    known, found = [], []
    for name in names:
        data = [s.replace(joints=s.joints.astype(np.float32)) for s in load_dataset(name)]
        people, labels = sorted({s.subject for s in data}), sorted({s.label for s in data})
        for seed in range(n_draws):
            rng = np.random.default_rng(seed)
            half = set(rng.choice(people, len(people) // 2, replace=False))
            gone = set(rng.choice(labels, LEFT_OUT[name], replace=False))
            model, _ = fit("default", [s for s in data if s.subject in half and s.label not in gone])
            test = [s for s in data if s.subject not in half]
            strange, refused = np.array([s.label in gone for s in test]), model.is_unknown(test)
            low, high = (100 * model.calibration_.held_out_[f"false_alarm_{end}"] for end in ("low", "high"))
            known.append((refused[~strange].sum(), (~strange).sum()))
            found.append(refused[strange].mean())
            print(
                f"{name}, draw {seed}: refused {refused[~strange].mean():.1%} of {known[-1][1]} known (foreseen {low:.1f} to "
                f"{high:.1f}), {found[-1]:.1%} of {strange.sum()} unknown",
                flush=True,
            )
    wrong, n = np.sum(known, axis=0)
    print(f"pooled: refused {wrong / n:.1%} of {n} known; of unknown {np.mean(found):.1%}, mean of draws")


def by_lot(presets: list[str], n_draws: int = 4) -> None:
    """The accuracy on held-out people, as chosen and as printed, where nothing can be learnt."""
    for name in ("florence3d", "utkinect"):
        data = [s.replace(joints=s.joints.astype(np.float32)) for s in load_dataset(name)]
        labels = np.array([s.label for s in data])
        for preset in presets:
            told = []
            for seed in range(n_draws):
                lot = np.random.default_rng(seed).permutation(labels)
                model, _ = fit(preset, [s.replace(label=c) for s, c in zip(data, lot, strict=True)])
                told.append([model.calibration_.held_out_[k] for k in ("accuracy", "accuracy_nested")])
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
