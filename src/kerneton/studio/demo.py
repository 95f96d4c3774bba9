"""Generated actions for the first steps: no camera, no files."""

from __future__ import annotations

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.files.readers import write
from kerneton.studio import places
from kerneton.studio.library import Library

ACTIONS = ("wave", "clap", "kick")
_PEOPLE = ("ann", "bob", "cleo", "dan", "eve")
_NEW = "finn"


def add_demo(library: Library) -> list[str]:
    """Five clips each of three actions by five people, and by a sixth three unlabelled clips and one long take."""
    from kerneton.datasets import make_actions

    data = list(make_actions(ACTIONS, n_subjects=len(_PEOPLE) + 1, n_takes=2))
    staged, folder = [], f"{places.INCOMING}/demo"
    by_new: list[SkeletonSequence] = []
    for sequence in data:
        number = int(sequence.subject or 1) - 1
        take = sequence.name.rpartition("_t")[2]
        if number == len(_PEOPLE):
            by_new.append(sequence)
        elif take == "1":
            name = f"{sequence.label}-{_PEOPLE[number]}.npz"
            one = sequence.replace(subject=_PEOPLE[number], name=name.removesuffix(".npz"))
            write(library.root / folder / name, [one])
            staged.append((f"{folder}/{name}", places.place(one.label, one.subject, name)))
    for number, sequence in enumerate(s for s in by_new if s.name.endswith("_t1")):
        name = f"clip-{number + 1}.npz"
        write(
            library.root / folder / name,
            [sequence.replace(label=None, subject=_NEW, name=f"clip-{number + 1}")],
        )
        staged.append((f"{folder}/{name}", places.place(None, _NEW, name)))
    write(library.root / folder / "long-take.npz", [_joined(by_new)])
    staged.append((f"{folder}/long-take.npz", places.place(None, _NEW, "long-take.npz")))
    return library.add(staged, "generated actions")


def _joined(sequences: list[SkeletonSequence]) -> SkeletonSequence:
    """One after another, a second of moving from the last pose to the next in between."""
    parts: list[np.ndarray] = []
    for sequence in sequences:
        joints = _without_gaps(np.asarray(sequence.joints))
        if parts:
            share = np.linspace(0, 1, 30)[1:-1, None, None]
            share = share * share * (3 - 2 * share)
            parts.append(parts[-1][-1] * (1 - share) + joints[0] * share)
        parts.append(joints)
    first = sequences[0]
    joined = np.concatenate(parts).astype(np.float32)
    return SkeletonSequence(joined, layout=first.layout, subject=_NEW, name="long-take", fps=first.fps)


def _without_gaps(joints: np.ndarray) -> np.ndarray:
    out = joints.copy()
    frames = np.arange(len(joints))
    for j in range(joints.shape[1]):
        seen = np.isfinite(joints[:, j]).all(axis=1)
        if seen.any():
            for k in range(3):
                out[:, j, k] = np.interp(frames, frames[seen], joints[seen, j, k])
    return out
