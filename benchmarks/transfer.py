"""From one sensor to another: train on the actions of one data set, test on the same actions of
another.

    python benchmarks/transfer.py [--json FILE]

Four data sets, twelve directions, the actions that both have. Recordings of the other sensor go
through the layout mapping, as in `kerneton predict` ("adapted"), and features are also centred on
them, as in `kerneton predict --new-sensor` ("centred"). Needs the recordings (KERNETON_DATA).
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path

import numpy as np

from kerneton import load_dataset, make_recognizer, map_layout

try:
    from kerneton.report.intervals import interval
except ImportError:  # an earlier version

    def interval(right, subjects):  # noqa: ARG001
        return "not known"


# What each data set calls an action, all of its names for it.
ACTIONS = {
    "florence3d": {
        "wave": "wave",
        "clap": "clap",
        "sit down": "sit down",
        "stand up": "stand up",
        "bend": "bow",
    },
    "utkinect": {
        "wave": "wave hands",
        "clap": "clap hands",
        "sit down": "sit down",
        "stand up": "stand up",
        "throw": "throw",
        "walk": "walk",
        "pick up": "pick up",
    },
    "msr_action3d": {
        "wave": "high arm wave, two hand wave",
        "clap": "hand clap",
        "bend": "bend",
        "throw": "high throw",
        "pick up": "pickup and throw",
    },
    "utd_mhad": {
        "wave": "wave",
        "clap": "clap",
        "sit down": "stand to sit",
        "stand up": "sit to stand",
        "throw": "throw",
        "walk": "walk",
        "pick up": "pickup and throw",
    },
}


def common(name: str, other: str, data: dict) -> tuple[list, np.ndarray]:
    """Recordings of the actions that both have, and what these are called here."""
    shared = sorted(set(ACTIONS[name]) & set(ACTIONS[other]))
    called = {theirs: ours for ours in shared for theirs in ACTIONS[name][ours].split(", ")}
    chosen = [s for s in data[name] if s.label in called]
    return chosen, np.array([called[s.label] for s in chosen])


def direction(source: str, target: str, data: dict) -> dict:
    """Accuracy of a recogniser that was trained on the source."""
    train, labels = common(source, target, data)
    test, truth = common(target, source, data)
    train = [s.replace(joints=s.joints.astype(np.float32), label=None) for s in train]
    test = [s.replace(joints=s.joints.astype(np.float32), label=None) for s in test]
    model = make_recognizer(n_jobs=1, calibrate=False).fit(
        train, labels, groups=[s.subject for s in train]
    )
    earlier = not hasattr(model, "adapt")  # before there was a Recognizer
    given = [map_layout(s, train[0].layout) for s in test] if earlier else model.adapt(test)
    right = {"adapted": model.predict(given) == truth}
    if not earlier:
        from kerneton.recognize.sensors import centred_on

        right["centred"] = centred_on(model, given).predict(given) == truth
    subjects = [s.subject for s in test]
    return {
        "from": source,
        "to": target,
        "actions": sorted(set(labels)),
        "n": len(test),
        "accuracy": {how: float(r.mean()) for how, r in right.items()},
        "interval": {how: str(interval(r, subjects)) for how, r in right.items()},
        "recall": {c: float(right["adapted"][truth == c].mean()) for c in sorted(set(labels))},
    }


def main() -> None:
    """Measure every direction and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    args = parser.parse_args()
    data = {name: load_dataset(name) for name in ACTIONS}
    rows = []
    for source, target in itertools.permutations(ACTIONS, 2):
        row = direction(source, target, data)
        rows.append(row)
        told = "; ".join(
            f"{how} {100 * a:.1f} ({row['interval'][how]})" for how, a in row["accuracy"].items()
        )
        recall = ", ".join(f"{c} {100 * v:.0f}" for c, v in row["recall"].items())
        print(f"{source} -> {target}: {told}; {recall}", flush=True)
    for how in rows[0]["accuracy"]:
        print(f"mean, {how}: {100 * np.mean([row['accuracy'][how] for row in rows]):.1f}")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
