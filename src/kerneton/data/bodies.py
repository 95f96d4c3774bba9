"""Two bodies in one recording."""

from __future__ import annotations

import numpy as np

from kerneton.data.layouts import Layout, plain_layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError


def pair(first: SkeletonSequence, second: SkeletonSequence) -> SkeletonSequence:
    """One recording of two persons, hands or objects that were recorded together.

    Joints of the first come before those of the second and are named ``left_hand_1``,
    ``left_hand_2``; ``bodies`` of the layout lists the joints of each. Label, frame rate and name
    are those of the first, the subject is both. Recognisers then use each body and the distances
    between the two.

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
        rates = f"{first.fps:g} and {second.fps:g}"
        raise DataError(f"both recordings of a pair need the same frame rate, got {rates}")
    confidence = None
    if first.confidence is not None or second.confidence is not None:
        trust = [
            np.ones(s.joints.shape[:2]) if s.confidence is None else s.confidence
            for s in (first, second)
        ]
        confidence = np.concatenate(trust, axis=1)
    subjects = dict.fromkeys(s.subject for s in (first, second) if s.subject is not None)
    return first.replace(
        joints=np.concatenate([first.joints, second.joints], axis=1),
        confidence=confidence,
        layout=pair_layout(*(s.layout or plain_layout(s.n_joints) for s in (first, second))),
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
    joints = [
        f"{joint}_{n}" for n, layout in enumerate((first, second), 1) for joint in layout.joints
    ]
    bones = [*first.bones, *((a + shift, b + shift) for a, b in second.bones)]
    sets: dict[str, list[int]] = {
        "body 1": list(range(shift)),
        "body 2": list(range(shift, len(joints))),
    }
    for key in first.sets:
        if key in second.sets:
            sets[key] = [*first.sets[key], *(joint + shift for joint in second.sets[key])]
    return Layout(f"{first.name}+{second.name}", joints, bones, sets=sets)
