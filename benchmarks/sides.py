"""People of either hand: mirrored, not mirrored, or both, on generated actions whose sides are
known.

    python benchmarks/sides.py [--seeds N]

Nine labels: five actions with one hand, done by everybody with the preferred hand, and two done
with the left and with the right hand as the label says. Half of the training people are
left-handed, all of the test people are. Every choice is made inside the training people. Printed
are the accuracies of the recogniser that is never mirrored, always mirrored, and as it chooses.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools

import numpy as np

from kerneton import SkeletonDataset, SkeletonSequence, make_recognizer
from kerneton.data.layouts import KINECT_20
from kerneton.datasets.synthetic import ACTIONS, make_style, make_subject, play, sense
from kerneton.report.tables import aligned

ONE_HAND = ("drink", "answer phone", "throw", "draw circle", "draw X")
SIDED = ("wave", "punch")
_HANDS = [KINECT_20.index(f"{side}_hand") for side in ("left", "right")]


def people_of_either_hand(
    n_train: int = 4, n_test: int = 4, n_takes: int = 2, seed: int = 0
) -> tuple[SkeletonDataset, SkeletonDataset]:
    """Training recordings, every second person left-handed, and test recordings, everybody
    left-handed.
    """
    sides: tuple[list[SkeletonSequence], list[SkeletonSequence]] = ([], [])
    known = [action for action in SIDED if action in ACTIONS]
    jobs = [(action, None) for action in ONE_HAND if action in ACTIONS]
    jobs += [(action, side) for action in known for side in ("left", "right")]
    for person in range(n_train + n_test):
        subject = make_subject(np.random.default_rng([seed, person]))
        left = person >= n_train or person % 2 == 1
        for (action, side), take in itertools.product(jobs, range(n_takes)):
            hand = side or ("left" if left else "right")
            recording = _with_hand(action, hand, subject, [seed, person], take)
            label = action if side is None else f"{action}, {side}"
            sides[person >= n_train].append(recording.replace(label=label, subject=str(person)))
    train, test = (SkeletonDataset(found, name="sides") for found in sides)
    return train, test


def _with_hand(action, hand, subject, seed, take) -> SkeletonSequence:
    """A recording of an action whose moving hand is the given one."""
    number = 1 + list(ACTIONS).index(action)
    # one of the two is done with the other hand, as happens now and then
    for left_handed in (False, True):
        chance = np.random.default_rng([*seed, number, take, hand == "left"])
        person = dataclasses.replace(subject, left_handed=left_handed)
        style = make_style([*seed, number], person, chance)
        joints, _, _ = play(*ACTIONS[action], person, style, 30.0)
        path = np.linalg.norm(np.diff(joints[:, _HANDS], axis=0), axis=2).sum(axis=0)
        if ("left", "right")[int(path.argmax())] == hand:
            break
    return sense(joints, 0.01, 0.01, 30.0, chance)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args()
    rows = [["accuracy %", "mean", "lowest", "chosen"]]
    found: dict[str, list[tuple[float, str]]] = {}
    for seed in range(asked.seeds):
        train, test = people_of_either_hand(seed=seed)
        for name, mirror in (("not mirrored", False), ("mirrored", True), ("chosen", "auto")):
            model = make_recognizer(mirror=mirror, calibrate=False).fit(train, train.labels)
            right = float((model.predict(test) == test.labels).mean())
            found.setdefault(name, []).append((right, model.variant_))
    for name, runs in found.items():
        values = [right for right, _ in runs]
        chosen = "; ".join(
            f"{v} {sum(w == v for _, w in runs)}" for v in sorted({v for _, v in runs})
        )
        rows.append([name, f"{100 * np.mean(values):.2f}", f"{100 * min(values):.2f}", chosen])
    print(aligned(rows))


if __name__ == "__main__":
    main()
