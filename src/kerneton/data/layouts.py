"""The known layouts of sensors, pose estimators, body models and data sets."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from kerneton.data.layout import JointsLike, Layout, sides

__all__ = ["LAYOUTS", "JointsLike", "Layout", "chains", "plain_layout", "sides"]

ARM = ("shoulder", "elbow", "wrist", "hand")
LEG = ("hip", "knee", "ankle", "foot")


def limbs(parts: Sequence[str], order: Sequence[str] = ("left", "right")) -> list[str]:
    """The joints of one side, from the trunk outwards, and then those of the other side.

    >>> limbs(LEG[:2])
    ['left_hip', 'left_knee', 'right_hip', 'right_knee']
    """
    return [f"{side}_{part}" for side in order for part in parts]


def chains(*paths: str) -> list[tuple[str, str]]:
    """Bones along paths of joints; a path with ``*`` is followed on both sides.

    >>> chains("spine neck", "neck *_shoulder")
    [('spine', 'neck'), ('neck', 'left_shoulder'), ('neck', 'right_shoulder')]
    """
    bones: list[tuple[str, str]] = []
    for path in paths:
        for side in ("left", "right") if "*" in path else ("",):
            bones += itertools.pairwise(path.replace("*", side).split())
    return bones


def layout_words(name: str) -> str:
    """The name of a layout in a line that begins with "joints"; for a layout made by a reader, where its names come from."""
    return {"table": "with the names in the table", "named": "with the given names"}.get(name, name)


def layouts_of_columns(width: int) -> str:
    """The layouts that fit a table without header, with x, y, z of each joint, perhaps after a number; else examples.

    >>> layouts_of_columns(46), layouts_of_columns(192)
    ('florence15 or kard15 or openni15 or jhmdb15', 'azure32+azure32')
    """
    sizes = {name: len(layout.joints) for name, layout in LAYOUTS.items()}
    fit = [name for name, size in sizes.items() if width - 3 * size in (0, 1)]
    fit += [f"{name}+{name}" for name, size in sizes.items() if width - 6 * size in (0, 1)]
    return " or ".join(fit) or "openni15 (openni15+openni15 for two bodies)"


def plain_layout(n_joints: int) -> Layout:
    """A layout for recordings that have none: numbered joints, no bones.

    >>> plain_layout(3).joints
    ('joint_0', 'joint_1', 'joint_2')
    """
    return Layout(f"{n_joints} joints", [f"joint_{i}" for i in range(n_joints)])


def loose_joints(layout: Layout) -> list[int]:
    """Joints without a bone; none if the body has no other joint.

    >>> loose_joints(Layout("table", ["head", "neck", "clip"], bones=[("neck", "head")]))
    [2]
    """
    tied = {joint for bone in layout.bones for joint in bone}
    return [joint for body in layout.bodies if len(body) > 1 for joint in body if joint not in tied]


@functools.lru_cache(maxsize=64)
def facing_lines(layout: Layout) -> list[tuple[int, int]]:
    """The pairs (left, right) that show where a body faces: hips and shoulders, or else all joints with sides.

    >>> facing_lines(FLORENCE_15), facing_lines(HAND_21)
    ([(9, 12), (3, 6)], [])
    """
    known = set(layout.joints)
    parts = [part for part in ("hip", "shoulder") if {f"left_{part}", f"right_{part}"} <= known]
    if parts:
        return [(layout.index(f"left_{part}"), layout.index(f"right_{part}")) for part in parts]
    return [(left, int(layout.mirror[left])) for left, side in enumerate(layout.sides) if side < 0]


def can_turn(layout: Layout) -> bool:
    """Whether recordings of this layout can be turned to face the camera: one body with sides, or two bodies.

    >>> can_turn(COCO_17), can_turn(HAND_21)
    (True, False)
    """
    return len(layout.bodies) == len(layout.roots) == 2 or bool(facing_lines(layout))


# The paper prints its DCK joint sets as numbers in the order of Florence3D and describes D and E in words that
# name other joints of the published files. Both are offered: D_words, E_words by description, D, E by number, which
# `Layout` finds by joint names.
_LIMBS_15 = [*limbs(ARM[:3]), *limbs(LEG[:3])]
_FLORENCE_JOINTS = ["head", "neck", "spine", *_LIMBS_15]
FLORENCE_15 = Layout(
    "florence15",
    _FLORENCE_JOINTS,
    chains("spine neck head", "neck *_shoulder *_elbow *_wrist", "spine *_hip *_knee *_ankle"),
    root="spine",
    sets={
        "A": sides("wrist"),
        "B": ("head", *sides("wrist")),
        "C": sides("wrist", "ankle"),
        "D_words": sides("elbow", "wrist", "knee"),
        "E_words": sides("elbow", "wrist", "knee", "ankle"),
        "F": _LIMBS_15,
        "G": ("head", *_LIMBS_15),
        "H": ("head", "neck", *_LIMBS_15),
        "I": _FLORENCE_JOINTS,
        "key": ("head", *sides("elbow", "wrist", "knee", "ankle")),
    },
)


def _kinect20(name: str, joints: Sequence[str]) -> Layout:
    """Kinect for Xbox 360 with Microsoft's SDK, in one of the three orders that published data sets use."""
    bones = chains(
        "hip_center spine shoulder_center head",
        "shoulder_center *_shoulder *_elbow *_wrist *_hand",
        "hip_center *_hip *_knee *_ankle *_foot",
    )
    sets = {
        "A": sides("hand"),
        "D_words": sides("elbow", "hand", "knee"),
        "E_words": sides("elbow", "hand", "knee", "foot"),
        "key": ("head", *sides("elbow", "hand", "knee", "foot")),
    }
    return Layout(name, joints, bones, "hip_center", sets)


KINECT_20 = _kinect20(
    "kinect20", ["hip_center", "spine", "shoulder_center", "head", *limbs(ARM), *limbs(LEG)]
)
UTD_20 = _kinect20("utd20", ["head", "shoulder_center", "spine", "hip_center", *limbs(ARM), *limbs(LEG)])
MSR_20 = _kinect20(
    "msr20",
    [*sides("shoulder"), "shoulder_center", "spine", *sides("hip"), "hip_center"]
    + [*sides("elbow", "wrist", "hand", "knee", "ankle", "foot"), "head"],
)


def _sensor(name: str, root: str, joints: Sequence[str], *paths: str) -> Layout:
    """A layout whose key joints are head, elbows, hands, knees and feet, or the joints nearest to them."""
    hand = "hand" if "left_hand" in joints else "wrist"
    foot = "foot" if "left_foot" in joints else "ankle"
    head = "head" if "head" in joints else "nose"
    return Layout(name, joints, chains(*paths), root, {"key": (head, *sides("elbow", hand, "knee", foot))})


# Kinect for Xbox One; NTU RGB+D numbers the same order from 1.
KINECT_25 = _sensor(
    "kinect25",
    "hip_center",
    ["hip_center", "spine", "neck", "head", *limbs(ARM), *limbs(LEG), "shoulder_center"]
    + limbs(("hand_tip", "thumb")),
    "hip_center spine shoulder_center neck head",
    "shoulder_center *_shoulder *_elbow *_wrist *_hand *_hand_tip",
    "*_wrist *_thumb",
    "hip_center *_hip *_knee *_ankle *_foot",
)
AZURE_32 = _sensor(
    "azure32",
    "hip_center",
    ["hip_center", "spine", "chest", "neck", *limbs(("collar", *ARM, "hand_tip", "thumb")), *limbs(LEG)]
    + ["head", "nose", *limbs(("eye", "ear"))],
    "hip_center spine chest neck head nose",
    "head *_eye",
    "head *_ear",
    "chest *_collar *_shoulder *_elbow *_wrist *_hand *_hand_tip",
    "*_wrist *_thumb",
    "hip_center *_hip *_knee *_ankle *_foot",
)
# No joint lies on the axis of the trunk: the root is the nose, which favours neither side.
COCO_17 = _sensor(
    "coco17",
    "nose",
    ["nose", *sides("eye", "ear", "shoulder", "elbow", "wrist", "hip", "knee", "ankle")],
    "nose *_eye *_ear",
    "nose *_shoulder *_elbow *_wrist",
    "*_shoulder *_hip *_knee *_ankle",
)
MEDIAPIPE_33 = _sensor(
    "mediapipe33",
    "nose",
    ["nose", *limbs(("eye_inner", "eye", "eye_outer"))]
    + [*sides("ear", "mouth", "shoulder", "elbow", "wrist", "pinky", "index", "thumb")]
    + [*sides("hip", "knee", "ankle", "heel", "foot_index")],
    "nose *_eye_inner *_eye *_eye_outer *_ear",
    "nose *_mouth",
    "nose *_shoulder *_elbow *_wrist *_pinky",
    "*_wrist *_index",
    "*_wrist *_thumb",
    "*_shoulder *_hip *_knee *_ankle *_heel",
    "*_ankle *_foot_index",
)
_RIGHT_FIRST = ("right", "left")
OPENPOSE_25 = _sensor(
    "openpose25",
    "hip_center",
    ["nose", "neck", *limbs(ARM[:3], _RIGHT_FIRST), "hip_center", *limbs(LEG[:3], _RIGHT_FIRST)]
    + ["right_eye", "left_eye", "right_ear", "left_ear", *limbs(("big_toe", "small_toe", "heel"))],
    "hip_center neck nose",
    "nose *_eye *_ear",
    "neck *_shoulder *_elbow *_wrist",
    "hip_center *_hip *_knee *_ankle *_heel",
    "*_ankle *_big_toe *_small_toe",
)
# The fifteen joints of OpenNI in the orders of KARD and of SBU; its torso is the spine of other layouts.
_OPENNI_ARM, _OPENNI_LEG = ("shoulder", "elbow", "hand"), ("hip", "knee", "foot")
_OPENNI_PATHS = ("spine neck head", "neck *_shoulder *_elbow *_hand", "spine *_hip *_knee *_foot")
KARD_15 = _sensor(
    "kard15",
    "spine",
    ["head", "neck", *limbs(_OPENNI_ARM, _RIGHT_FIRST), "spine", *limbs(_OPENNI_LEG, _RIGHT_FIRST)],
    *_OPENNI_PATHS,
)
OPENNI_15 = _sensor(
    "openni15", "spine", ["head", "neck", "spine", *limbs(_OPENNI_ARM), *limbs(_OPENNI_LEG)], *_OPENNI_PATHS
)
# The puppets of JHMDB; its belly is the spine of other layouts, its face their head.
JHMDB_15 = _sensor(
    "jhmdb15",
    "spine",
    ["neck", "spine", "head"]
    + [
        f"{side}_{part}"
        for part in ("shoulder", "hip", "elbow", "knee", "wrist", "ankle")
        for side in _RIGHT_FIRST
    ],
    "spine neck head",
    "neck *_shoulder *_elbow *_wrist",
    "spine *_hip *_knee *_ankle",
)
SMPL_24 = _sensor(
    "smpl24",
    "hip_center",
    ["hip_center", *sides("hip"), "spine_lower", *sides("knee"), "spine", *sides("ankle"), "chest"]
    + [*sides("foot"), "neck", *sides("collar"), "head", *sides(*ARM)],
    "hip_center spine_lower spine chest neck head",
    "chest *_collar *_shoulder *_elbow *_wrist *_hand",
    "hip_center *_hip *_knee *_ankle *_foot",
)
# HDM05 and the CMU archive name bones; here each joint is the far end of its bone. The forearm is two bones
# there, radius and wrist; hand and thumb start at the end of the second, so that is the wrist.
HDM_31 = _sensor(
    "hdm31",
    "hip_center",
    ["hip_center", *limbs((*LEG, "toes"))]
    + ["spine", "upperback", "shoulder_center", "neck", "upperneck", "head"]
    + limbs(("shoulder", "elbow", "forearm", "wrist", "hand", "fingers", "thumb")),
    "hip_center *_hip *_knee *_ankle *_foot *_toes",
    "hip_center spine upperback shoulder_center neck upperneck head",
    "shoulder_center *_shoulder *_elbow *_forearm *_wrist *_hand *_fingers",
    "*_wrist *_thumb",
)


def _hand(name: str, base: str, thumb: str, finger: str) -> Layout:
    """A hand whose fingers start at one joint."""
    digits = {"thumb": thumb, **dict.fromkeys(("index", "middle", "ring", "pinky"), finger)}
    rays = [[f"{digit}_{part}" for part in parts.split()] for digit, parts in digits.items()]
    joints = [base, *itertools.chain(*rays)]
    return Layout(name, joints, chains(*(" ".join([base, *ray]) for ray in rays)), base)


HAND_21 = _hand("hand21", "wrist", "cmc mcp ip tip", "mcp pip dip tip")  # MediaPipe
HAND_20 = _hand("hand20", "palm", "a b end", "a b c end")  # Leap Motion, as it is published

LAYOUTS = {
    layout.name: layout
    for layout in (
        *(FLORENCE_15, KINECT_20, MSR_20, UTD_20, KINECT_25, AZURE_32),
        *(MEDIAPIPE_33, COCO_17, OPENPOSE_25, KARD_15, SMPL_24, HDM_31),
        *(OPENNI_15, JHMDB_15, HAND_21, HAND_20),
    )
}
BY_JOINTS = {layout.joints: layout for layout in LAYOUTS.values()}
VOCABULARY = {joint for joints in BY_JOINTS for joint in joints}

# Joints that show unit and axes of a body (`kerneton.data.units`).
HIGH = ("head", "nose", "neck", "left_shoulder", "right_shoulder", "left_fhd", "right_fhd", "c7")
HIPS = ("hip_center", *sides("hip"))
LOW = sides("ankle", "foot", "heel", "hee", "big_toe", "toes", "foot_index")
# The vector from the second joint to the first points forward on a standing body. Knees are not used: in Kinect recordings
# of standing people, they are in front of hips and ankles in a quarter to five sixths of the recordings, depending on the set.
_FEET = "foot_index heel", "big_toe heel", "foot ankle", "toes ankle", "big_toe ankle"
FORWARD = (
    *(tuple(f"{side}_{part}" for part in pair.split()) for side in ("left", "right") for pair in _FEET),
    *(("nose", ear) for ear in sides("ear")),
)
SIDES = tuple(sides(part) for part in ("hip", "shoulder", "eye", "ear"))
