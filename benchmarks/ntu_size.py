"""A generated data set of the size and shape of NTU RGB+D, as PYSKL's pickle, for `kerneton
evaluate ntu60`.

    python benchmarks/ntu_size.py FOLDER [--share 0.1]
    kerneton evaluate ntu60 --data-home FOLDER --protocol xsub --scratch FOLDER/scratch

56,880 recordings (times the share) of 60 classes by 40 people before three cameras, 25 joints, 30
to 150 frames, a second body in the last ten classes and some others, a fifth in all. Each class is
a sum of slow waves of a few joints, each person has an own size, speed and amplitude. Accuracy on
them says nothing about NTU RGB+D.
"""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path

import numpy as np

from kerneton import make_actions
from kerneton.data.layouts import KINECT_20, KINECT_25
from kerneton.prepare.poses import turn

N_CLASSES, N_PEOPLE, N_CAMERAS = 60, 40, 3
N_RECORDINGS = 56_880


def standing() -> np.ndarray:
    """A body at rest, (25, 3) in metres around the hips."""
    recording = make_actions(["wave"], n_subjects=1, n_takes=1, noise=0, dropout=0)[0]
    pose = recording.joints[0]
    here = {joint: pose[i] for i, joint in enumerate(KINECT_20.joints)}
    here["neck"] = (here["shoulder_center"] + here["head"]) / 2
    for side in ("left", "right"):
        here[f"{side}_hand_tip"] = here[f"{side}_hand"] + [0, -0.06, 0]
        here[f"{side}_thumb"] = here[f"{side}_hand"] + [0, -0.02, -0.05]
    return np.stack([here[joint] for joint in KINECT_25.joints]) - here["hip_center"]


def motion(action: int, person: int, take: int, pose: np.ndarray) -> np.ndarray:
    """One recording of an action by a person, (frames, 25, 3)."""
    kind, who = np.random.default_rng([1, action]), np.random.default_rng([2, person])
    chance = np.random.default_rng([3, action, person, take])
    n_frames = int(np.clip(chance.lognormal(4.3, 0.35), 30, 150))
    size, pace, amplitude = who.uniform(0.85, 1.15), who.lognormal(0, 0.15), who.lognormal(0, 0.15)
    time = np.linspace(0, 1, n_frames)[:, None, None] ** chance.uniform(0.8, 1.25) * pace
    moving = (kind.uniform(size=(1, 25, 1)) < 0.3) * kind.uniform(0.05, 0.4, (1, 25, 3))
    waves = np.sin(
        2 * np.pi * kind.uniform(0.5, 2.5, (1, 25, 3)) * time + kind.uniform(0, 6, (1, 25, 3))
    )
    path = kind.normal(0, 0.3, 3) * [1, 0, 1] * time
    noise = chance.normal(0, 0.01, (n_frames, 25, 3))
    return size * (pose + amplitude * moving * waves) + path + noise


def annotations(share: float):
    """Annotations of the pickle, one after the other."""
    pose = standing()
    for i in range(round(N_RECORDINGS * share)):
        action = i % N_CLASSES
        person = (i // N_CLASSES) % N_PEOPLE
        take = i // (N_CLASSES * N_PEOPLE)
        camera = take % N_CAMERAS
        bodies = [motion(action, person, take, pose)]
        if action >= 48:  # a fifth
            other = motion(action, (person + 1) % N_PEOPLE, take, pose)[: len(bodies[0])]
            other = np.pad(other, ((0, len(bodies[0]) - len(other)), (0, 0), (0, 0)), mode="edge")
            bodies.append(turn(other, np.pi) + [0, 0, -1.2])
        keypoint = np.stack(
            [turn(body, np.deg2rad(45.0 * (camera - 1))) + [0, 0, 3.0] for body in bodies]
        )
        name = f"S{take // 6 + 1:03d}C{camera + 1:03d}P{person + 1:03d}R{take % 6 // 3 + 1:03d}A{action + 1:03d}"
        yield {
            "frame_dir": name,
            "label": action,
            "total_frames": keypoint.shape[1],
            "keypoint": keypoint.astype(np.float16),
        }


def main() -> None:
    """Write the pickle."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the 56,880 recordings (default: all)"
    )
    asked = parser.parse_args()
    (asked.folder / "ntu60").mkdir(parents=True, exist_ok=True)
    made = list(annotations(asked.share))
    content = {"split": {"all": [a["frame_dir"] for a in made]}, "annotations": made}
    path = asked.folder / "ntu60" / "ntu60_3danno.pkl"
    with path.open("wb") as file:
        pickle.dump(content, file, protocol=4)
    print(f"{path}: {len(made)} recordings, {path.stat().st_size / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
