"""Joints that a recording never contains, such as ears that a camera does not see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from kerneton.data.checks import joint_name
from kerneton.data.layouts import Layout
from kerneton.data.mapping import sub_layout
from kerneton.data.sequence import SkeletonSequence, missing_joints
from kerneton.data.wording import few, many


def never_seen(sequence: SkeletonSequence) -> list[str]:
    """The joints that are missing in every frame; none for a recording without any pose.

    >>> never_seen(SkeletonSequence(np.ones((4, 2, 3)) * [[1], [np.nan]]))
    ['joint 1']
    """
    never = missing_joints(sequence).all(axis=0)
    return [] if never.all() else [joint_name(sequence, int(j)) for j in np.flatnonzero(never)]


def never_seen_warnings(sequences: Iterable[SkeletonSequence]) -> list[str]:
    """One line about joints that recordings never contain, if there are any.

    >>> never_seen_warnings([SkeletonSequence(np.ones((4, 2, 3)) * [[1], [np.nan]])])
    ['joints that recordings never contain: joint 1 (1 recording)']
    """
    counts = Counter(joint for sequence in sequences for joint in never_seen(sequence))
    told = few([f"{joint} ({many(n, 'recording')})" for joint, n in counts.most_common()])
    return [f"joints that recordings never contain: {told}"] * bool(counts)


def in_pairs(layout: Layout, joints: Iterable[str]) -> list[str]:
    """Joints and the same joints of the other side and of the other person, in the order of the
    layout.

    >>> from kerneton.data.layouts import COCO_17
    >>> in_pairs(COCO_17, ["right_ear", "nose"])
    ['nose', 'left_ear', 'right_ear']
    """
    chosen = {layout.index(joint) for joint in joints}
    chosen |= {int(layout.mirror[joint]) for joint in chosen}
    if len(layout.bodies) == 2 and len(layout.bodies[0]) == len(layout.bodies[1]):
        twins = list(zip(*layout.bodies, strict=True))
        chosen |= {joint for pair in twins if chosen & set(pair) for joint in pair}
    return [layout.joints[joint] for joint in sorted(chosen)]


def without_joints(
    sequences: Sequence[SkeletonSequence], joints: Iterable[str]
) -> list[SkeletonSequence]:
    """Recordings of one layout without some of its joints.

    >>> from kerneton.data.layouts import COCO_17
    >>> filmed = SkeletonSequence(np.ones((4, 17, 3)), layout=COCO_17)
    >>> without_joints([filmed], ["left_ear", "right_ear"])
    [SkeletonSequence(4 frames, 15 joints, coco17/15)]
    """
    made: dict[Layout, Layout] = {}
    dropped, kept = set(joints), []
    for sequence in sequences:
        assert sequence.layout is not None
        chosen = [i for i, joint in enumerate(sequence.layout.joints) if joint not in dropped]
        if sequence.layout not in made:
            first = sequence.layout.name.partition("/")[0]
            made[sequence.layout] = sub_layout(
                sequence.layout, chosen, name=f"{first}/{len(chosen)}"
            )
        confidence = None if sequence.confidence is None else sequence.confidence[:, chosen]
        kept.append(
            sequence.replace(
                joints=sequence.joints[:, chosen],
                confidence=confidence,
                layout=made[sequence.layout],
            )
        )
    return kept
