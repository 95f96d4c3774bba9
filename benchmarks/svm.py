"""LinearSVM against scikit-learn's LinearSVC on features shaped like SCK + DCK: fit, predict, model
selection.

    OMP_NUM_THREADS=1 python benchmarks/svm.py --json svm.json

As ``python benchmarks/bench.py --only svm``, with the shape, C and losses to choose; see
`bench_parts.linear_svm`.
"""

from __future__ import annotations

import argparse
import json

from bench_parts.linear_svm import LOSSES, MSR_SHAPE, compare


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--n", type=int, default=MSR_SHAPE[0], help="training sequences; as many are predicted"
    )
    parser.add_argument("--features", type=int, default=MSR_SHAPE[1])
    parser.add_argument("--classes", type=int, default=MSR_SHAPE[2])
    parser.add_argument("--C", type=float, default=10.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=LOSSES[:1])
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    sizes = options.n, options.features, options.classes, options.C, options.repeats
    result = compare(*sizes, tuple(options.losses))
    for key, value in result.items():
        shown = f"{value:.4g}" if isinstance(value, float) else value
        if isinstance(value, dict):
            shown = "  ".join(f"{name} {figure:.4g}" for name, figure in value.items())
        print(f"{key:36s} {shown}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()
