"""Time of the presets on UTD-MHAD: training, and predicting recordings together and one at a time.

    python benchmarks/presets.py [--jobs N] [default tensor auto paper]

The data home is taken from KERNETON_DATA. Times of one recording are medians and 95th percentiles
over every fourth test recording, each predicted separately by a model that was used before.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from kerneton import make_recognizer
from kerneton.datasets import load_utd_mhad
from kerneton.datasets.protocols import get_protocol
from kerneton.report.tables import aligned


def main() -> None:
    """Measure, print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("presets", nargs="*", default=["default", "tensor", "auto"])
    parser.add_argument("--jobs", type=int, default=-1, help="threads (default: all cores)")
    args = parser.parse_args()
    data = load_utd_mhad()
    ((train, test),) = get_protocol("odd-even", data).split(data, data.labels, data.subjects)
    known, unknown = data.select(train), list(data.select(test))
    rows = [["preset", "fit s", "together ms", "alone ms", "alone, 95 % ms", "accuracy %"]]
    for preset in args.presets:
        model = make_recognizer(
            None if preset == "default" else preset, n_jobs=args.jobs, calibrate=False
        )
        start = time.perf_counter()
        model.fit(known, known.labels)
        fit = time.perf_counter() - start
        start = time.perf_counter()
        right = np.mean(model.predict(unknown) == data.labels[test])
        together = (time.perf_counter() - start) / len(unknown)
        alone = []
        for recording in unknown[::4]:
            start = time.perf_counter()
            model.predict([recording])
            alone.append(time.perf_counter() - start)
        times = [together, *np.quantile(alone, [0.5, 0.95])]
        rows.append(
            [preset, f"{fit:.0f}", *(f"{1e3 * t:.1f}" for t in times), f"{100 * right:.2f}"]
        )
    print(aligned(rows))


if __name__ == "__main__":
    main()
