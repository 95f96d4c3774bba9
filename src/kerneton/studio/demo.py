"""Generated actions for the first steps: no camera, no files."""

from __future__ import annotations

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.prepare.poses import fill_gaps
from kerneton.studio import folders
from kerneton.studio.library import Library

ACTIONS = ("wave", "clap", "kick")
_PEOPLE = ("ann", "bob", "cleo", "dan", "eve")
_NEW = "finn"


def add_demo(library: Library) -> list[str]:
    """One clip of each of three actions by five people, and by a sixth three unlabelled clips and
    one long take.
    """
    from kerneton.datasets import make_actions

    data = make_actions(ACTIONS, n_subjects=len(_PEOPLE) + 1, n_takes=2)
    first_takes = [s for s in data if s.name.endswith("_t1")]
    made = []
    for number, who in enumerate(_PEOPLE, start=1):
        clips = [s for s in first_takes if s.subject == str(number)]
        made += [s.replace(subject=who, name=f"{s.label}-{who}") for s in clips]
    sixth = str(len(_PEOPLE) + 1)
    clips = [s for s in first_takes if s.subject == sixth]
    made += [
        s.replace(label=None, subject=_NEW, name=f"clip-{i}") for i, s in enumerate(clips, start=1)
    ]
    made.append(_joined([s for s in data if s.subject == sixth]))
    library.check_ours()
    staged = []
    for sequence in made:
        path, name = f"{folders.INCOMING}/demo/{sequence.name}.npz", f"{sequence.name}.npz"
        library.place.write_recordings(path, [sequence])
        staged.append((path, folders.path_of(sequence.label, sequence.subject, name)))
    return library.add(staged, "generated actions")


def _joined(sequences: list[SkeletonSequence]) -> SkeletonSequence:
    """All in one recording, with one second between two of them in which the body moves to the next
    pose.
    """
    parts: list[np.ndarray] = []
    for sequence in sequences:
        joints = fill_gaps(sequence.joints, ~np.isfinite(sequence.joints).all(axis=2))
        if parts:
            share = np.linspace(0, 1, 30)[1:-1, None, None]
            share = share * share * (3 - 2 * share)
            parts.append(parts[-1][-1] * (1 - share) + joints[0] * share)
        parts.append(joints)
    first = sequences[0]
    joined = np.concatenate(parts).astype(np.float32)
    return SkeletonSequence(
        joined, layout=first.layout, subject=_NEW, name="long-take", fps=first.fps
    )
