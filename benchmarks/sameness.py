"""Largest differences between results that should be equal.

    python benchmarks/sameness.py [--frames 60] [--before CHECKOUT] [--json FILE]

Each kernel encodes the same recordings in two ways, which the row names; the columns are the
largest differences between features, relative to the largest feature. The last column is the limit
of the row, larger for power 0.3; the exit status is 1 if a limit is exceeded. Powers turn rounding
errors ε into ε^power, so limits for float32 are far above its rounding. ``--before`` names a
checkout of another version: models that it fits and saves are loaded here, and decision values are
compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from kerneton import DCK, SCK, Branch, Preprocess, Recognizer, load, make_actions
from kerneton.exceptions import KernetonError
from kerneton.kernels.engine import find_gpu
from kerneton.report.tables import aligned

JOINTS = (3, 6, 10, 14, 18)
KERNELS: dict[str, Any] = {
    "SCK order 2": SCK(order=2),
    "SCK": SCK(),
    "DCK": DCK(joints=JOINTS),
    "DCK window": DCK(joints=JOINTS, sigma_span=5.0),
    "DCK power 0.3": DCK(joints=JOINTS, power=0.3),
}
MODELS = "--models"  # how the program calls itself
Features = dict[str, np.ndarray]


def recordings(n_frames: int, dtype: Any) -> list[Any]:
    """A few generated actions of different lengths, cut to so many frames; values that float32 can
    hold.
    """
    data = Preprocess().fit_transform(
        make_actions(["wave", "clap", "kick"], n_subjects=3, n_takes=1)
    )
    lengths = [max(2, n_frames - 7 * i) for i in range(len(data))]
    cut = [s.joints[:n].astype(np.float64) for s, n in zip(data, lengths, strict=True)]
    return [(x - x.mean((0, 1))).astype(np.float32).astype(dtype) for x in cut]


def features(X: list[Any], **options: Any) -> Features:
    """Features of every kernel with other options."""
    found = {}
    for name, kernel in KERNELS.items():
        own = {k: v for k, v in options.items() if k in kernel.get_params()}
        found[name] = type(kernel)(**{**kernel.get_params(), **own}).fit_transform(X)
    return found


def fit_models(folder: Path, X: list[Any]) -> None:
    """A saved model of each kernel, and its decision values."""
    values = {}
    for name, kernel in KERNELS.items():
        model = Recognizer([("only", Branch(None, kernel))]).fit(X, np.arange(len(X)) % 3)
        model.save(folder / f"{name}.kern")
        values[name] = model.decision_function(X)
    np.savez(folder / "values.npz", **values)


def other_version(checkout: Path, n_frames: int, X: list[Any]) -> tuple[Features, Features]:
    """Decision values of models fitted by another version, from this version and from that one."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, MODELS, folder, "--frames", str(n_frames)]
        path = str(checkout.resolve() / "src")
        subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": path})
        found = {name: load(Path(folder, f"{name}.kern")).decision_function(X) for name in KERNELS}
        with np.load(Path(folder, "values.npz")) as held:
            return found, {name: held[name] for name in KERNELS}


def table(n_frames: int, before: Path | None = None) -> list[dict[str, Any]]:
    """One row per comparison: its name, the largest difference of each kernel, the limit."""
    X, single = recordings(n_frames, np.float64), recordings(n_frames, np.float32)
    plain = features(X)
    rows = []

    def compare(
        name: str,
        bar: float,
        found: Features,
        low_power: float | None = None,
        expected: Features = plain,
    ) -> None:
        gaps = {k: gap(found[k], expected[k]) for k in KERNELS if k in found}
        bars = {k: low_power if low_power and "0.3" in k else bar for k in gaps}
        rows.append(
            {
                "comparison": name,
                "differences": gaps,
                "bars": bars,
                "kept": all(gaps[k] <= bars[k] for k in gaps),
            }
        )

    for size in (1, 7, 64):
        compare(f"batches of {size} and of 32", 1e-12, features(X, batch_size=size))
    compare("1 thread and 8", 1e-12, features(X, n_jobs=8))
    compare("float32 and float64", 1e-4, features(single))
    try:
        find_gpu("cuda")
    except KernetonError:
        pass  # no GPU here
    else:
        compare("CPU and GPU, float64", 2e-5, features(X, device="cuda"), 1e-4)
        compare("CPU float64 and GPU float32", 1e-3, features(single, device="cuda"))
    if before:
        found, expected = other_version(before, n_frames, X)
        compare("models of the version before", 1e-5, found, 1e-4, expected)
    return rows


def gap(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference, relative to the largest feature."""
    return float(np.abs(np.float64(found) - expected).max() / np.abs(expected).max())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--frames", type=int, default=60, help="frames of the longest recording")
    parser.add_argument("--json", type=Path, help="write the table to this file as well")
    parser.add_argument(
        "--before", type=Path, help="a checkout of the version before, whose models are loaded"
    )
    parser.add_argument(MODELS, type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.models:
        fit_models(args.models, recordings(args.frames, np.float64))
        return 0
    rows = table(args.frames, args.before)
    shown = [["largest difference between", *KERNELS, "limit", ""]]
    for row in rows:
        cells = [
            f"{row['differences'][k]:.0e}" if k in row["differences"] else "-" for k in KERNELS
        ]
        shown.append(
            [
                row["comparison"],
                *cells,
                " or ".join(f"{bar:.0e}" for bar in sorted(set(row["bars"].values()))),
                "kept" if row["kept"] else "BROKEN",
            ]
        )
    print(aligned(shown))
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0 if all(row["kept"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
