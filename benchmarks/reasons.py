"""Are explanations faithful? ``python benchmarks/reasons.py [--data FOLDER] [--json FILE]``.

1. On generated actions of one arm, one leg, or both arms or legs, of which it is known which joints
   move and when, while the other limbs rest or are busy with something else: how much of the
   positive contribution lies on the joints that move, and how much inside the time in which they
   do. Of joints as the command prints them, and of single frames of joints.
2. On published recordings, parts of a body (a joint during a twelfth of the recording) are put to
   rest, the one with the largest contribution first: how fast does the decision value fall? And how
   fast does it rise if a body at rest is given back its parts in that order? Compared with a random
   order, and with the order of occlusion, which tries each part alone. Areas are means over the
   curve, of the decision value; for deletion less is better, for insertion more.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from kerneton import SkeletonDataset, explain, load_dataset, make_recognizer
from kerneton.datasets._body import ARM_AT_REST, Motion, keys, pose
from kerneton.datasets.synthetic import _sway, make_subject, sense

FPS = 30.0
MOVING = {"hand": ("elbow", "wrist", "hand"), "foot": ("knee", "ankle", "foot")}
WINDOWS = 12
STEPS = np.array([0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0])


def wave(phase, chance):
    held = np.array([0.3, 0.5, 0.3])
    swing = keys(phase, [0.14, 0.24, 0.76, 0.86], [0, 1, 1, 0])
    swing = swing * np.sin(2 * np.pi * chance.integers(2, 4) * phase)
    way = keys(phase, [0, 0.22, 0.8, 1], [ARM_AT_REST, held, held, ARM_AT_REST])
    return way + 0.25 * swing[:, None] * [1, -0.25, 0]


def push(phase, _chance):
    near, far = [-0.1, -0.1, 0.35], [-0.15, 0, 0.95]
    way = [ARM_AT_REST, near, far, near, far, ARM_AT_REST]
    return keys(phase, [0, 0.2, 0.4, 0.55, 0.75, 1], way)


def circle(phase, _chance):
    angle = 4 * np.pi * np.clip((phase - 0.2) / 0.6, 0, 1)
    way = np.stack([np.sin(angle), np.cos(angle), 0 * angle], axis=1)
    shown = keys(phase, [0, 0.2, 0.8, 1], [0, 1, 1, 0])[:, None]
    return ARM_AT_REST + shown * ([-0.1, 0.05, 0.6] + 0.3 * way - ARM_AT_REST)


def raise_up(phase, _chance):
    high = [0.15, 0.95, 0.1]
    return keys(phase, [0, 0.4, 0.6, 1], [ARM_AT_REST, high, high, ARM_AT_REST])


def kick(phase, _chance):
    way = [[0, 0, 0], [0, 0.18, -0.3], [-0.05, 0.32, 0.62], [0, 0.1, 0.1], [0, 0, 0]]
    return keys(phase, [0, 0.3, 0.52, 0.75, 1], way)


def lift_knee(phase, _chance):
    way = [[0, 0, 0], [0, 0.4, 0.15], [0, 0.4, 0.15], [0, 0.05, 0], [0, 0, 0]]
    return keys(phase, [0, 0.3, 0.5, 0.8, 1], way)


def step_aside(phase, _chance):
    way = [[0, 0, 0], [0.5, 0.15, 0], [0.1, 0.05, 0], [0.5, 0.15, 0], [0, 0, 0]]
    return keys(phase, [0, 0.25, 0.5, 0.75, 1], way)


# The end of the limb, on how many sides, and its path from rest and back.
ACTIONS = {
    "wave": ("hand", 1, wave),
    "push": ("hand", 1, push),
    "draw a circle": ("hand", 1, circle),
    "kick": ("foot", 1, kick),
    "lift a knee": ("foot", 1, lift_knee),
    "step aside": ("foot", 1, step_aside),
    "raise both arms": ("hand", 2, raise_up),
    "push with both": ("hand", 2, push),
    "march": ("foot", 2, lift_knee),
}


def limbs(n_subjects, n_takes, busy, seed=0):
    """Recordings, and of each the joints that move and the frames in which they do."""
    recordings, truth = [], []
    for s in range(n_subjects):
        subject = make_subject(np.random.default_rng([seed, s]))
        for k, (label, (end, n_sides, path)) in enumerate(ACTIONS.items()):
            for take in range(n_takes):
                chance = np.random.default_rng([seed, s, k, take])
                seconds, (before, after) = chance.uniform(1.4, 2.4), chance.uniform(0.4, 1.2, 2)
                n_frames = int((seconds + before + after) * FPS)
                clock = np.arange(n_frames) / FPS
                phase = np.clip((clock - before) / seconds, 0, 1)
                motion = Motion(n_frames)
                sides = ["left", "right"][:: 1 if chance.uniform() < 0.5 else -1][:n_sides]
                for n, side in enumerate(sides):
                    turn = np.clip(2 * phase - n, 0, 1) if label == "march" else phase
                    move(motion, end, side, path(turn, chance), chance.normal(1, 0.08))
                if chance.uniform() < busy:
                    distract(motion, {(end, side) for side in sides}, clock / clock[-1], chance)
                _sway(motion, clock, subject, chance)
                joints = turned(pose(subject.body, motion), subject.facing + chance.normal(0, 0.1))
                recording = sense(joints + subject.place, 0.01, 0.0, FPS, chance)
                name = f"s{s + 1}_{label}_t{take + 1}".replace(" ", "_")
                recordings.append(recording.replace(label=label, subject=str(s + 1), name=name))
                moving = {f"{side}_{joint}" for side in sides for joint in MOVING[end]}
                inside = slice(int(before * FPS), int((before + seconds) * FPS) + 1)
                truth.append((moving, inside))
    return SkeletonDataset(recordings, name="limbs"), truth


def move(motion, end, side, path, amplitude):
    rest = ARM_AT_REST if end == "hand" else np.zeros(3)
    limb = motion.hands if end == "hand" else motion.feet
    limb[side] = rest + amplitude * (path - rest)


def distract(motion, used, phase, chance):
    """A limb that does not act goes to random places, during all of the recording."""
    free = [(e, s) for e in ("hand", "foot") for s in ("left", "right") if (e, s) not in used]
    end, side = free[chance.integers(len(free))]
    n = int(chance.integers(2, 5))
    rest = ARM_AT_REST if end == "hand" else np.zeros(3)
    low, high = (
        ([-0.3, -0.9, -0.2], [0.6, 0.5, 0.7])
        if end == "hand"
        else ([-0.1, 0, -0.25], [0.15, 0.15, 0.25])
    )
    places = chance.uniform(low, high, (n, 3))
    path = keys(phase, [0, *np.linspace(0.1, 0.9, n), 1], [rest, *places, rest])
    move(motion, end, side, path, 1.0)


def turned(joints, yaw):
    c, s = np.cos(yaw), np.sin(yaw)
    return joints @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]).T


def known_motion(n_subjects, n_takes, busy, seed):
    """Shares of the positive contribution on what moves: of joints, of cells, and in time."""
    data, truth = limbs(n_subjects, n_takes, busy, seed)
    is_new = np.array([int(s) > 0.6 * n_subjects for s in data.subjects])
    known = data.select(np.flatnonzero(~is_new))
    model = make_recognizer(calibrate=False).fit(known, known.labels)
    rows = []
    for i in np.flatnonzero(is_new):
        why, (moving, inside) = explain(model, data[i], data[i].label), truth[i]
        columns = [why.joint_names.index(joint) for joint in moving]
        joints = np.clip(list(why.joints.values()), 0, None)
        cells = np.clip(why.by_frame, 0, None)
        rows.append(
            {
                "joints": joints[columns].sum() / joints.sum(),
                "frames of joints": cells[:, columns].sum() / cells.sum(),
                "inside the time": cells[inside].sum() / cells.sum(),
            }
        )
    right = np.mean(model.predict(data.select(np.flatnonzero(is_new))) == data.labels[is_new])
    shares = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    return {"recordings": len(rows), "accuracy": float(right), **shares}


def at_rest(recording, mask):
    """A recording in which joints (T, J) are put to their mean place beside the root."""
    root = recording.joints[:, [recording.layout.root]]
    still = (recording.joints - root).mean(axis=0) + root
    return recording.replace(joints=np.where(mask[..., None], still, recording.joints))


def curves(model, recording, label, chance):
    """Areas under the curves of deletion and insertion, for three orders of the same parts."""
    column = list(model.classes_).index(label)
    shape = recording.joints.shape[:2]
    windows = np.minimum(np.arange(shape[0]) * WINDOWS // shape[0], WINDOWS - 1)
    part = windows[:, None] * shape[1] + np.arange(shape[1])
    present = np.unique(part)
    why = explain(model, recording, label)
    said = np.bincount(part.ravel(), why.by_frame.ravel(), WINDOWS * shape[1])[present]

    def values(masks):
        scores = model.decision_function([at_rest(recording, mask) for mask in masks])
        return scores[:, column]

    alone = values([np.zeros(shape, bool), *(part == p for p in present)])
    orders = {
        "contributions": np.argsort(-said, kind="stable"),
        "occlusion": np.argsort(alone[1:], kind="stable"),
        "random": chance.permutation(len(present)),
    }
    counts = np.unique(np.rint(STEPS * len(present)).astype(int))
    share = counts / len(present)
    areas = {}
    for name, order in orders.items():
        ranked = present[order]
        gone = values([np.isin(part, ranked[:n]) for n in counts])
        back = values([~np.isin(part, ranked[:n]) for n in counts])
        areas[name] = [float(np.trapezoid(curve, share)) for curve in (gone, back)]
    return areas


def published(name, folder, n_recordings):
    """Mean areas on recordings of people the model does not know."""
    data = load_dataset(name, folder)
    people = {s: k for k, s in enumerate(sorted(set(data.subjects)))}
    odd = np.array([people[s] % 2 == 1 for s in data.subjects])
    known, new = (data.select(np.flatnonzero(side)) for side in (odd, ~odd))
    model = make_recognizer(calibrate=False).fit(known, known.labels)
    chance = np.random.default_rng(0)
    chosen = np.linspace(0, len(new) - 1, min(n_recordings, len(new))).round().astype(int)
    rows = []
    for i in chosen:
        (label,) = model.predict([new[i]])
        if label == new[i].label:
            rows.append(curves(model, new[i], label, chance))
    areas = {order: np.mean([row[order] for row in rows], axis=0) for order in rows[0]}
    better = {
        other: [
            float(np.mean([row["contributions"][0] < row[other][0] for row in rows])),
            float(np.mean([row["contributions"][1] > row[other][1] for row in rows])),
        ]
        for other in ("occlusion", "random")
    }
    return {
        "recordings": len(rows),
        **{order: {"deletion": a[0], "insertion": a[1]} for order, a in areas.items()},
        "better than": {o: {"deletion": b[0], "insertion": b[1]} for o, b in better.items()},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", help="folder of the published data sets (default: $KERNETON_DATA)"
    )
    parser.add_argument("--sets", nargs="*", default=["florence3d", "utkinect"])
    parser.add_argument("--recordings", type=int, default=40, help="of each published set")
    parser.add_argument("--subjects", type=int, default=20, help="of generated actions")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    found = {}
    print(f"{'generated actions':28} recordings  joints  frames of joints  inside the time")
    for title, busy, seed in (
        ("others rest", 0.0, 1),
        ("others rest or busy", 0.5, 3),
        ("others busy", 1.0, 2),
    ):
        row = found[title] = known_motion(args.subjects, 2, busy, seed)
        shares = (
            f"{100 * row[k]:5.1f} %" for k in ("joints", "frames of joints", "inside the time")
        )
        print(f"{title:28} {row['recordings']:10}  " + "       ".join(shares), flush=True)
    for name in args.sets:
        row = found[name] = published(name, args.data, args.recordings)
        print(f"\n{name}, {row['recordings']} recordings      deletion  insertion")
        for order in ("contributions", "occlusion", "random"):
            areas = row[order]
            print(f"  {order:26} {areas['deletion']:+8.3f}  {areas['insertion']:+8.3f}", flush=True)
        for other, share in row["better than"].items():
            text = (
                f"{100 * share['deletion']:.0f} %, {100 * share['insertion']:.0f} % of recordings"
            )
            print(f"  better than {other}: {text}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
