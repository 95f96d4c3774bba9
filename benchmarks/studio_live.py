"""Live labels on recordings of people and actions that were not trained: what Studio would show.

``python benchmarks/studio_live.py --data-home DATA`` trains as Studio does on four actions of
UTD-MHAD by half of the people, and plays clips of the other half: the trained actions, and ten
others.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import Counter
from typing import Any

from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets import load_utd_mhad
from kerneton.recognize.presets import make_recognizer
from kerneton.studio.live import Watcher, replayed
from kerneton.studio.trainer import fit_model

TRAINED = ("wave", "clapHands", "throw", "squat")
OTHERS = 10  # actions that are not trained
_CHUNK = 3  # frames between two answers


def play(watcher: Watcher, sequence: Any) -> dict[str, Any]:
    """What is shown for a clip, and for a second of standing still after it."""
    frames, layout = replayed(sequence)
    last, pose = frames[-1]
    frames += [(last + i / 30, pose) for i in range(1, 61)]
    shown: dict[str, Any] = {"segments": [], "sure": 0, "contradicted": 0, "named": 0, "answers": 0}
    for i in range(0, len(frames), _CHUNK):
        told = watcher.answer(frames[i : i + _CHUNK], layout, why=False)
        shown["segments"] += [s["label"] for s in told["segments"]]
        if "label" in told:
            shown["answers"] += 1
            shown["named"] += not told["unknown"]
            shown["sure"] += bool(told["sure"])
            if told["sure"] and told["ranked"]:
                shown["contradicted"] += told["ranked"][0][0] != told["label"]
    return shown


def main() -> None:
    """Train, play, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-home", default=os.environ.get("KERNETON_DATA"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    data = load_utd_mhad(data_home=args.data_home)
    for s in list(data)[:1]:
        print(f"labels such as {s.label!r}, subjects such as {s.subject!r}")
    people = sorted({str(s.subject) for s in data})
    unseen = set(people[1::2])
    names = sorted({str(s.label) for s in data} - set(TRAINED))[:OTHERS]
    train = [s for s in data if s.label in TRAINED and s.subject not in unseen]
    train = SkeletonDataset(s.replace(joints=s.joints.astype("float32")) for s in train)
    model = fit_model(train, [])
    model = model.with_spotter(make_recognizer().fit_spotting(train))
    lengths = sorted(s.n_frames for s in train)
    figures = {"frames": lengths[len(lengths) // 2], "fps": train[0].fps}
    test = [s for s in data if s.subject in unseen]
    for title, some in (
        ("trained actions, unseen people", [s for s in test if s.label in TRAINED]),
        ("untrained actions, unseen people", [s for s in test if s.label in names][::2][:80]),
    ):
        counts: Counter[str] = Counter()
        for s in some:
            shown = play(Watcher(model, figures), s)
            counts["clips"] += 1
            counts["with a final segment"] += bool(shown["segments"])
            counts["with the right one"] += s.label in shown["segments"]
            counts["answers"] += shown["answers"]
            counts["answers with a label"] += shown["named"]
            counts["sure answers"] += shown["sure"]
            counts["sure answers whose first bar is another label"] += shown["contradicted"]
        print(f"{title}: " + ", ".join(f"{n} {what}" for what, n in counts.items()))


if __name__ == "__main__":
    main()
