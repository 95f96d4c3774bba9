"""Bones from names of joints: each is connected to its nearest ancestor in the recording."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.data.mapping import sub_layout
from kerneton.files.readers._hands import finger_part, five_chains
from kerneton.files.readers._names import layout_of_names
from kerneton.files.readers._people import two_bodies

# From the pelvis up. A joint of the trunk is connected to the next lower one; others are listed
# with their parents.
_TRUNK = (
    "hip_center",
    "spine_lower",
    "spine",
    "chest",
    "upperback",
    "shoulder_center",
    "neck",
    "upperneck",
)
_DOWN = _TRUNK[::-1]
_BACK = ("c7", "t10")  # markers on the spine, if the joints of the trunk are missing
_ARM = ("wrist", "forearm", "elbow", "shoulder")
_LEG = ("ankle", "knee", "hip")
_PARENTS: dict[str, tuple[str, ...]] = {
    **{joint: _DOWN[i + 1 :] for i, joint in enumerate(_DOWN)},
    "head": (*_DOWN, *_BACK),
    "head_top_end": ("head",),
    "jaw": ("head",),
    "nose": ("head", "upperneck", "neck", "shoulder_center"),
    "eye_inner": ("nose", "head"),
    "eye": ("eye_inner", "head", "nose", "neck"),
    "eye_smplhf": ("head",),
    "eye_outer": ("eye", "head", "nose"),
    "ear": ("eye_outer", "head", "eye", "nose", "neck"),
    "mouth": ("nose", "head"),
    "collar": (
        "shoulder_center",
        "chest",
        "upperback",
        "neck",
        "spine",
        "spine_lower",
        "hip_center",
        "c7",
    ),
    "shoulder": ("collar", "shoulder_center", "neck", *_DOWN[3:], "c7", "clav", "nose"),
    "elbow": ("shoulder", "collar"),
    "forearm": _ARM[2:],
    "wrist": _ARM[1:],
    "hand": _ARM,
    **dict.fromkeys(("hand_tip", "fingers", "finger_base"), ("hand", *_ARM)),
    **dict.fromkeys(("thumb", "index", "middle", "ring", "pinky"), (*_ARM[:1], "hand", *_ARM[1:])),
    "hip_joint": _TRUNK,
    "hip": ("hip_joint", *_TRUNK, "shoulder", "nose"),
    "knee": ("hip", "asi", "psi", "hip_center"),
    "ankle": _LEG[1:],
    **dict.fromkeys(("heel", "hee"), _LEG),
    **dict.fromkeys(("foot", "foot_index"), (_LEG[0], "heel", *_LEG[1:])),
    **dict.fromkeys(("toes", "big_toe"), ("foot", *_LEG)),
    "toe_end": ("toes", "foot", *_LEG),
    "small_toe": ("big_toe", "foot", *_LEG),
    # Plug-in Gait's other markers.
    "bhd": ("head", *_DOWN, "c7"),
    "fhd": ("bhd", "head"),
    "t10": ("c7",),
    "clav": ("shoulder_center", "neck", "c7"),
    "strn": ("clav", "chest", "c7"),
    "rbak": _BACK[::-1],
    "upa": ("shoulder",),
    "frm": ("elbow",),
    "wra": ("wrist", "elbow"),
    "wrb": ("wra", "wrist", "elbow"),
    "fin": ("hand", "wra", "wrist", "wrb", "elbow"),
    "sacr": _BACK[::-1],
    "psi": ("sacr", "hip_center", *_BACK[::-1]),
    "asi": ("psi", "sacr", "hip_center"),
    "thi": ("hip", "asi"),
    "tib": ("knee",),
}
_SIDE = re.compile(r"(left_|right_|)(.+)")
_COUNTED = re.compile(rf"({'|'.join((*_TRUNK, 'back', 'abdomen'))})_?(\d)")  # chest, chest2, chest3


def other_layout(name: str, joints: Sequence[str]) -> Layout:
    """A layout of joints in no known order: two bodies, part of a known layout whose bones skip no
    joint, or `named_bones`.

    >>> other_layout("table", ["neck", "head", "left_shoulder", "clip"]).bones
    ((0, 1), (0, 2))
    """
    counted = all(joint.endswith(("_1", "_2")) for joint in joints)
    if (bodies := two_bodies(joints, known=not counted)) is not None:
        from kerneton.data.bodies import pair_layout

        return pair_layout(*(layout_of_names(name, body) for body in bodies))
    fitting = []
    for layout in LAYOUTS.values():
        if set(joints) <= set(layout.joints):
            part = sub_layout(layout, joints, name=name)
            whole, own = (
                {(one.joints[a], one.joints[b]) for a, b in one.bones} for one in (layout, part)
            )
            if own <= whole and len(own) == len(joints) - 1:
                fitting.append((len(layout.joints), part))
    return min(fitting, key=lambda found: found[0])[1] if fitting else named_bones(name, joints)


def named_bones(name: str, joints: Sequence[str]) -> Layout:
    """A layout of joints in any order, with bones between those whose names are known.

    >>> layout = named_bones("trc", ["left_elbow", "left_shoulder", "left_wrist", "clip"])
    >>> [(layout.joints[a], layout.joints[b]) for a, b in layout.bones]
    [('left_shoulder', 'left_elbow'), ('left_elbow', 'left_wrist')]
    """
    if (hand := five_chains(joints)) is not None:
        base, fingers = hand
        rays = [bone for finger in fingers.values() for bone in itertools.pairwise([base, *finger])]
        return Layout(name, joints, bones=rays, root=base)
    rows = _rows(joints)
    last = {
        row[0]: row[-1] for row in rows.values()
    }  # joints connected to a chest are connected to the last one
    before = {b: a for row in rows.values() for a, b in itertools.pairwise(row)}
    bones = []
    for joint in joints:
        above = (last.get(parent, parent) for parent in _above(joint) if parent in joints)
        parent = before.get(joint) or next(above, None)
        if parent is not None:
            bones.append((parent, joint))
    return Layout(name, joints, bones=bones, root="hip_center" if "hip_center" in joints else None)


def _above(joint: str) -> Iterator[str]:
    """Possible parents of a joint, the nearest first: on its own side, or on neither."""
    side, part = _SIDE.fullmatch(joint).groups()  # type: ignore[union-attr]
    counted, finger = _COUNTED.fullmatch(part), finger_part(part)
    parents = _PARENTS.get(counted[1] if counted else part, ())
    for parent in ("wrist", "hand", "palm", "hand_root", *_ARM[1:]) if finger else parents:
        yield from dict.fromkeys((side + parent, parent))


def _rows(joints: Sequence[str]) -> dict[tuple[str, str], list[str]]:
    """Joints of one finger, and numbered joints of the trunk, each in its order."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for joint in joints:
        side, part = _SIDE.fullmatch(joint).groups()  # type: ignore[union-attr]
        if (finger := finger_part(part)) is not None:
            found[side, finger[0]].append((finger[1], joint))
        elif not side and part in _PARENTS:
            found["", part].append((0, joint))
        elif not side and (counted := _COUNTED.fullmatch(part)):
            found["", counted[1]].append((int(counted[2]), joint))
    return {key: [joint for _, joint in sorted(row)] for key, row in found.items()}
