"""Are probabilities calibrated, and unknown actions noticed? ``python benchmarks/trust.py [PRESET ...]``, with KERNETON_DATA.

UTD-MHAD, odd subjects train, even ones are tested. Calibration: expected calibration error of the probabilities. Unknown
actions: three of the 27 classes are left out of the training, five seeded draws; area under the ROC curve of the
score, and what the threshold for 5 % false alarms refuses.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.metrics import roc_auc_score

from kerneton import load_dataset, make_recognizer
from kerneton.report.reliability import expected_calibration_error


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


def main() -> None:
    data = load_dataset("utd_mhad")
    data = [s.replace(joints=s.joints.astype(np.float32)) for s in data]
    train, test = ([s for s in data if int(s.subject) % 2 == odd] for odd in (1, 0))
    for preset in sys.argv[1:] or ["default", "paper"]:
        measure(preset, train, test)


if __name__ == "__main__":
    main()
