"""Renaming of joints."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from kerneton.data.layouts import VOCABULARY, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError
from kerneton.files.readers._names import joint_names, layout_of_names


def rename_joints(
    sequence: SkeletonSequence, names: Mapping[str, str], met: set[str] | None = None
) -> SkeletonSequence:
    """A recording with some joints renamed; names that it does not have are passed over, others are
    added to ``met``.

    Old and new names may be those of the file or of Kerneton.

    >>> import numpy as np
    >>> odd = SkeletonSequence(np.ones((1, 2, 3)), layout=Layout("table", ["head", "rigth_hand"]))
    >>> rename_joints(odd, {"RigthHand": "right_hand"}).layout.joints
    ('head', 'right_hand')
    """
    if sequence.layout is None:
        return sequence
    was = sequence.layout
    written = [was.written.get(joint, joint) for joint in was.joints]
    whole = joint_names(written) == list(was.joints)  # then all names are translated again
    base, given, changed = list(written if whole else was.joints), dict[int, str](), set[int]()
    for old, new in names.items():
        found = {
            i for i, j in enumerate(was.joints) if j in spellings(old) or was.written.get(j) == old
        }
        if new in VOCABULARY:
            given.update(dict.fromkeys(found, new))
        else:  # as if it were in the file
            changed |= found
            base = [new if i in found else joint for i, joint in enumerate(base)]
        if found and met is not None:
            met.add(old)
    named = joint_names(base) if changed else []
    joints = [
        given.get(i) or (named[i] if i in changed or (changed and whole) else joint)
        for i, joint in enumerate(was.joints)
    ]
    if joints == list(was.joints):
        return sequence
    if len(set(joints)) < len(joints):
        twice = next(joint for joint in joints if joints.count(joint) > 1)
        raise DataError(
            f"recording {sequence.name!r}: after renaming, two joints are named {twice!r}"
        )
    layout = layout_of_names(was.name, joints, written)
    if not layout.bones and was.bones:
        layout = Layout(was.name, joints, was.bones, was.root)
    return sequence.replace(layout=layout)


def nearest_joint(name: str, layouts: Iterable[Layout | None]) -> str | None:
    """The joint with the most similar name, as its file writes it.

    >>> nearest_joint("RightHnad", [Layout("table", ["head", "right_hand"])])
    'right_hand'
    """
    written = {
        joint: layout.written.get(joint, joint)
        for layout in layouts
        if layout
        for joint in layout.joints
    }
    near = difflib.get_close_matches(spellings(name)[-1], sorted(written), n=1, cutoff=0.5)
    return written[near[0]] if near else None


def spellings(joint: str) -> tuple[str, ...]:
    """Possible names of a user's joint in a recording: as given, and as Kerneton spells it.

    >>> spellings("RigthHand")
    ('RigthHand', 'rigth_hand')
    """
    return (joint, *(joint_names([joint]) if joint else ()))
