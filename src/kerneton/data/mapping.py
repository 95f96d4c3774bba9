"""From one layout to another by joint names, so that a model can be used with another sensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kerneton.data.layouts import JointsLike, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ParameterError

# Substitutes for a joint that a layout lacks: the first entry whose joints all exist, or their mean
# if there are several. ``*`` is either side. All are within about ten centimetres on an adult body.
ALIASES: dict[str, tuple[tuple[str, ...], ...]] = {
    "head": (("left_ear", "right_ear"), ("nose",)),
    "nose": (("head",),),
    "neck": (("shoulder_center",), ("left_shoulder", "right_shoulder")),
    "shoulder_center": (("neck",), ("left_shoulder", "right_shoulder")),
    "chest": (("upperback",), ("spine", "shoulder_center"), ("spine", "neck")),
    "spine": (
        ("chest", "hip_center"),
        ("neck", "hip_center"),
        ("left_shoulder", "right_shoulder", "left_hip", "right_hip"),
    ),
    "spine_lower": (("spine", "hip_center"),),
    "hip_center": (("left_hip", "right_hip"),),
    "*_collar": (("shoulder_center", "*_shoulder"), ("neck", "*_shoulder")),
    "*_hand": (("*_index", "*_pinky"), ("*_wrist",)),
    "*_wrist": (("*_hand",),),
    "*_hand_tip": (("*_fingers",), ("*_index",)),
    "*_foot": (("*_foot_index",), ("*_big_toe",), ("*_toes",), ("*_ankle",)),
    "*_ankle": (("*_foot",),),
    "*_toes": (("*_foot_index",), ("*_big_toe",)),
    "*_foot_index": (("*_big_toe",), ("*_toes",)),
    "*_big_toe": (("*_foot_index",), ("*_toes",)),
}


def map_layout(
    sequence: SkeletonSequence, layout: Layout, *, needed: JointsLike = None, aliases: bool = True
) -> SkeletonSequence:
    """The same recording with the joints of another layout, found by name.

    A joint that the recording lacks is taken from `ALIASES`: the neck where the shoulder centre is
    wanted, the middle of the hips for the hip centre. The confidence of a mean is that of its
    weakest joint.

    Parameters
    ----------
    sequence : SkeletonSequence
        A recording whose layout is known.
    layout : Layout
        The joints wanted, and their order.
    needed : joints, optional
        Joints of ``layout`` that are required, as in `Layout.indices`; the others may be missing
        and are then NaN with zero confidence. By default all are required.
    aliases : bool, default=True
        Whether substitutes are allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from kerneton.data.layouts import COCO_17, FLORENCE_15
    >>> filmed = SkeletonSequence(np.random.default_rng(0).normal(size=(9, 17, 3)), layout=COCO_17)
    >>> map_layout(filmed, FLORENCE_15)
    SkeletonSequence(9 frames, 15 joints, florence15)
    """
    who = f"recording {sequence.name!r}" if sequence.name else "the recording"
    if sequence.layout is None:
        raise ParameterError(f"{who} has no layout that names its joints")
    if sequence.layout.joints == layout.joints:
        return sequence.replace(layout=layout)
    sources = source_joints(sequence.layout, layout, aliases=aliases)
    must = set(layout.indices(needed))
    missing = [joint for i, joint in enumerate(layout.joints) if i in must and not sources[i]]
    if missing:
        raise DataError(f"{who} {_lacking(sequence.layout, layout, missing)}")
    T, J = sequence.n_frames, len(layout.joints)
    joints = np.full((T, J, 3), np.nan, dtype=sequence.joints.dtype)
    confidence = np.zeros((T, J), dtype=sequence.joints.dtype)
    for i, source in enumerate(sources):
        if source:
            joints[:, i] = sequence.joints[:, source].mean(axis=1)
            confidence[:, i] = 1.0
            if sequence.confidence is not None:
                confidence[:, i] = sequence.confidence[:, source].min(axis=1)
    trusted = sequence.confidence is None and all(sources)
    return sequence.replace(
        joints=joints, confidence=None if trusted else confidence, layout=layout
    )


def _lacking(found: Layout, wanted: Layout, missing: list[str]) -> str:
    """The joints of a recording that are not in the layout, named as in its file, for an error
    about missing joints.
    """
    from kerneton.data.differences import as_partner, near_name
    from kerneton.data.layouts import LAYOUTS
    from kerneton.data.wording import few

    known = {
        joint for layout in LAYOUTS.values() for joint in layout.joints
    }  # these are no misspellings
    here = {joint: found.written.get(joint, joint) for joint in found.joints}
    extra = [joint for joint in found.joints if joint not in wanted.joints and joint not in known]
    named = {joint: as_partner(joint, found) for joint in missing}
    for joint in missing if len(missing) <= 3 else ():
        if near := near_name(
            (joint, named[joint]), {name: j for j in extra for name in (j, here[j])}
        ):
            name, right = here[near], named[joint]
            others = f" (and {len(missing) - 1} more missing)" * (len(missing) > 1)
            told = f"has a joint {name!r} where {right!r} is expected: misspelt?{others}"
            return f"{told} rename={{{name!r}: {right!r}}} corrects it"
    names = (f" with layout {found.name!r}", f" of layout {wanted.name!r}") * (
        found.name != wanted.name
    )
    own, other = names or ("", "")
    return (
        f"{own} lacks {few(list(named.values()))}{other}; it has {few(list(here.values()))}".strip()
    )


def source_joints(source: Layout, target: Layout, *, aliases: bool = True) -> list[list[int]]:
    """For each joint of ``target`` the joints of ``source`` whose mean it is; empty if there are
    none.

    >>> from kerneton.data.layouts import COCO_17
    >>> source_joints(COCO_17, Layout("few", ["nose", "hip_center", "left_hand", "clip"]))
    [[0], [11, 12], [9], []]
    >>> hands = Layout("pair", ["left_hand_1", "left_hand_2"])
    >>> source_joints(hands, Layout("pair", ["left_wrist_2"]))
    [[1]]
    """
    position = {joint: i for i, joint in enumerate(source.joints)}
    sources = []
    for joint in target.joints:
        present = (names for names in _candidates(joint, aliases) if position.keys() >= set(names))
        sources.append([position[name] for name in next(present, ())])
    return sources


def _candidates(joint: str, aliases: bool) -> Iterable[tuple[str, ...]]:
    yield (joint,)
    if aliases:
        yield from ALIASES.get(joint, ())
        part, _, number = joint.rpartition("_")
        if number in ("1", "2"):  # of two bodies
            yield from (
                tuple(f"{name}_{number}" for name in names) for names in _candidates(part, aliases)
            )
        side, _, part = joint.partition("_")
        if side in ("left", "right"):
            for names in ALIASES.get(f"*_{part}", ()):
                yield tuple(name.replace("*", side) for name in names)


def sub_layout(layout: Layout, joints: JointsLike, *, name: str | None = None) -> Layout:
    """A layout of some joints; the parent of a joint is its nearest ancestor that is kept.

    >>> from kerneton.data.layouts import FLORENCE_15
    >>> ends = sub_layout(FLORENCE_15, ["spine", "head", "left_wrist"], name="ends")
    >>> [(ends.joints[a], ends.joints[b]) for a, b in ends.bones]
    [('spine', 'head'), ('spine', 'left_wrist')]
    """
    kept = layout.indices(joints)
    names = [layout.joints[i] for i in kept]
    parents = layout.parents
    bones = []
    for child in (child for _, child in layout.bones if child in kept):
        parent = parents[child]
        while parent >= 0 and parent not in kept:
            parent = parents[parent]
        if parent >= 0:
            bones.append((layout.joints[parent], layout.joints[child]))
    root = None if layout.root is None or layout.root not in kept else layout.joints[layout.root]
    sets = {
        key: [layout.joints[i] for i in chosen if i in kept]
        for key, chosen in layout.sets.items()
        if set(chosen) <= set(kept) or (key.startswith("body ") and set(chosen) & set(kept))
    }
    return Layout(name or f"{layout.name}/{len(names)}", names, bones, root, sets)


def adapted(
    sequence: SkeletonSequence, layout: Layout | None, n_joints: int, dtype: Any
) -> SkeletonSequence:
    """A recording with the joints of a layout, in a given precision.

    A recording with another layout is mapped by joint names; one without a layout, but with the
    right number of joints, is assumed to have this one.

    >>> from kerneton.data.layouts import KINECT_20, KINECT_25
    >>> adapted(SkeletonSequence(np.ones((9, 25, 3)), layout=KINECT_25), KINECT_20, 20, np.float32)
    SkeletonSequence(9 frames, 20 joints, kinect20)
    """
    if layout is not None and sequence.layout is None and sequence.n_joints == n_joints:
        sequence = sequence.replace(layout=layout)
    elif layout is not None and sequence.layout != layout:
        sequence = map_layout(sequence, layout)
    if sequence.joints.dtype == dtype:
        return sequence
    return sequence.replace(joints=sequence.joints.astype(dtype, copy=False))


def lay_out(sequence: SkeletonSequence, layout: Layout, *, named: bool) -> SkeletonSequence:
    """A recording with a layout that the user states: mapped by names if its file names joints,
    else with this layout.

    >>> from kerneton.data.layouts import COCO_17
    >>> lay_out(SkeletonSequence(np.ones((9, 17, 3))), COCO_17, named=False)
    SkeletonSequence(9 frames, 17 joints, coco17)
    """
    if named:
        return map_layout(sequence, layout)
    if sequence.n_joints != len(layout.joints):
        stated = f"layout {layout.name!r} has {len(layout.joints)}"
        raise ParameterError(
            f"recording {sequence.name!r} has {sequence.n_joints} joints, {stated}"
        )
    return sequence.replace(layout=layout)
