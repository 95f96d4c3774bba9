"""Two bodies in one recording: put together, and taken apart again."""

from __future__ import annotations

import numpy as np

from kerneton.data.layouts import Layout, plain_layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError


def pair(first: SkeletonSequence, second: SkeletonSequence) -> SkeletonSequence:
    """One recording of two persons, hands or things that were recorded together.

    Joints of the first come before those of the second and are called ``left_hand_1``, ``left_hand_2``; the layout's
    ``bodies`` tells them apart. Label, frame rate and name are those of the first, the subject is both. Recognisers
    then look at each body and at what lies between the two.

    >>> from kerneton import make_actions
    >>> (ann,) = make_actions(["wave"], n_subjects=1, n_takes=1)
    >>> both = pair(ann, ann.replace(joints=ann.joints + [0, 0, 1.5]))
    >>> both.n_joints, both.layout.joints[-1], [len(body) for body in both.layout.bodies]
    (40, 'right_foot_2', [20, 20])
    """
    if first.n_frames != second.n_frames:
        raise DataError(
            f"both recordings of a pair need the same number of frames: {first.name or 'the first'} has {first.n_frames}, "
            f"{second.name or 'the second'} has {second.n_frames}"
        )
    if first.fps != second.fps and None not in (first.fps, second.fps):
        raise DataError(
            f"both recordings of a pair need the same frame rate, got {first.fps:g} and {second.fps:g}"
        )
    confidence = None
    if first.confidence is not None or second.confidence is not None:
        trust = [
            np.ones(s.joints.shape[:2]) if s.confidence is None else s.confidence for s in (first, second)
        ]
        confidence = np.concatenate(trust, axis=1)
    subjects = dict.fromkeys(s.subject for s in (first, second) if s.subject is not None)
    return first.replace(
        joints=np.concatenate([first.joints, second.joints], axis=1),
        confidence=confidence,
        layout=pair_layout(_layout(first), _layout(second)),
        subject="+".join(subjects) or None,
        fps=first.fps or second.fps,
    )


def pair_layout(first: Layout, second: Layout) -> Layout:
    """The layout of two bodies side by side.

    >>> from kerneton.data.layouts import KARD_15
    >>> two = pair_layout(KARD_15, KARD_15)
    >>> two.name, two.joints[0], two.joints[15], two.roots
    ('kard15+kard15', 'head_1', 'head_2', (8, 23))
    """
    shift = len(first.joints)
    joints = [f"{joint}_{n}" for n, layout in enumerate((first, second), 1) for joint in layout.joints]
    bones = [*first.bones, *((a + shift, b + shift) for a, b in second.bones)]
    sets: dict[str, list[int]] = {
        "body 1": list(range(shift)),
        "body 2": list(range(shift, len(joints))),
    }
    for key in first.sets:
        if key in second.sets:
            sets[key] = [*first.sets[key], *(joint + shift for joint in second.sets[key])]
    return Layout(f"{first.name}+{second.name}", joints, bones, sets=sets)


def split_bodies(sequence: SkeletonSequence) -> list[SkeletonSequence]:
    """A recording of each body, with the names that its joints have alone; the recording itself where there is one body.

    >>> from kerneton import make_actions
    >>> (ann,) = make_actions(["wave"], n_subjects=1, n_takes=1)
    >>> [s.layout.joints == ann.layout.joints for s in split_bodies(pair(ann, ann))]
    [True, True]
    """
    layout = sequence.layout
    if layout is None or len(layout.bodies) == 1:
        return [sequence]
    out = []
    for n, body in enumerate(layout.bodies, 1):
        place = {joint: i for i, joint in enumerate(body)}
        own = Layout(
            dict(enumerate(layout.name.split("+"), 1)).get(n, layout.name),
            [layout.joints[joint].removesuffix(f"_{n}") for joint in body],
            [(place[a], place[b]) for a, b in layout.bones if a in place and b in place],
            next((place[root] for root in layout.roots if root in place), None),
            {
                key: [place[joint] for joint in chosen if joint in place]
                for key, chosen in layout.sets.items()
                if not key.startswith("body ")
            },
        )
        confidence = None if sequence.confidence is None else sequence.confidence[:, list(body)]
        out.append(sequence.replace(joints=sequence.joints[:, list(body)], confidence=confidence, layout=own))
    return out


def _layout(sequence: SkeletonSequence) -> Layout:
    return sequence.layout or plain_layout(sequence.n_joints)
