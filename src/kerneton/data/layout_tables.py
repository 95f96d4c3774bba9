"""Joint orders and bones of sensors, estimators and body models, as plain names."""

from __future__ import annotations

import itertools

ARM = ("shoulder", "elbow", "wrist", "hand")
LEG = ("hip", "knee", "ankle", "foot")

Bones = tuple[tuple[str, str], ...]


def limb(side: str, parts: tuple[str, ...]) -> list[str]:
    """One side's joints, from the trunk outward.

    >>> limb("left", LEG)
    ['left_hip', 'left_knee', 'left_ankle', 'left_foot']
    """
    return [f"{side}_{part}" for part in parts]


def sides(*parts: str) -> tuple[str, ...]:
    """Left and right of each part.

    >>> sides("wrist", "knee")
    ('left_wrist', 'right_wrist', 'left_knee', 'right_knee')
    """
    return tuple(f"{side}_{part}" for part in parts for side in ("left", "right"))


def chain(*joints: str) -> list[tuple[str, str]]:
    """Bones from each joint to the next.

    >>> chain("spine", "neck", "head")
    [('spine', 'neck'), ('neck', 'head')]
    """
    return list(itertools.pairwise(joints))


def chains(*paths: str) -> Bones:
    """Bones along paths of joints; a path that names ``*`` is walked on both sides.

    >>> chains("spine neck", "neck *_shoulder")
    (('spine', 'neck'), ('neck', 'left_shoulder'), ('neck', 'right_shoulder'))
    """
    bones: list[tuple[str, str]] = []
    for path in paths:
        for side in ("left", "right") if "*" in path else ("",):
            bones += chain(*path.replace("*", side).split())
    return tuple(bones)


# Kinect for Xbox One; NTU RGB+D numbers the same order from 1.
KINECT25_JOINTS = (
    ["hip_center", "spine", "neck", "head"]
    + limb("left", ARM)
    + limb("right", ARM)
    + limb("left", LEG)
    + limb("right", LEG)
    + ["shoulder_center", "left_hand_tip", "left_thumb", "right_hand_tip", "right_thumb"]
)
KINECT25_BONES = chains(
    "hip_center spine shoulder_center neck head",
    "shoulder_center *_shoulder *_elbow *_wrist *_hand *_hand_tip",
    "*_wrist *_thumb",
    "hip_center *_hip *_knee *_ankle *_foot",
)

_AZURE_ARM = ("collar", *ARM, "hand_tip", "thumb")
AZURE32_JOINTS = (
    ["hip_center", "spine", "chest", "neck"]
    + limb("left", _AZURE_ARM)
    + limb("right", _AZURE_ARM)
    + limb("left", LEG)
    + limb("right", LEG)
    + ["head", "nose", "left_eye", "left_ear", "right_eye", "right_ear"]
)
AZURE32_BONES = chains(
    "hip_center spine chest neck head nose",
    "head *_eye",
    "head *_ear",
    "chest *_collar *_shoulder *_elbow *_wrist *_hand *_hand_tip",
    "*_wrist *_thumb",
    "hip_center *_hip *_knee *_ankle *_foot",
)

COCO17_JOINTS = ["nose", *sides("eye", "ear", "shoulder", "elbow", "wrist", "hip", "knee", "ankle")]
# No joint lies on the trunk's axis: the tree hangs from the nose, which favours neither side.
COCO17_BONES = chains(
    "nose *_eye *_ear",
    "nose *_shoulder *_elbow *_wrist",
    "*_shoulder *_hip *_knee *_ankle",
)

MEDIAPIPE33_JOINTS = (
    ["nose"]
    + limb("left", ("eye_inner", "eye", "eye_outer"))
    + limb("right", ("eye_inner", "eye", "eye_outer"))
    + [*sides("ear", "mouth", "shoulder", "elbow", "wrist", "pinky", "index", "thumb")]
    + [*sides("hip", "knee", "ankle", "heel", "foot_index")]
)
MEDIAPIPE33_BONES = chains(
    "nose *_eye_inner *_eye *_eye_outer *_ear",
    "nose *_mouth",
    "nose *_shoulder *_elbow *_wrist *_pinky",
    "*_wrist *_index",
    "*_wrist *_thumb",
    "*_shoulder *_hip *_knee *_ankle *_heel",
    "*_ankle *_foot_index",
)

OPENPOSE25_JOINTS = (
    ["nose", "neck"]
    + limb("right", ARM[:3])
    + limb("left", ARM[:3])
    + ["hip_center"]
    + limb("right", LEG[:3])
    + limb("left", LEG[:3])
    + ["right_eye", "left_eye", "right_ear", "left_ear"]
    + limb("left", ("big_toe", "small_toe", "heel"))
    + limb("right", ("big_toe", "small_toe", "heel"))
)
OPENPOSE25_BONES = chains(
    "hip_center neck nose",
    "nose *_eye *_ear",
    "neck *_shoulder *_elbow *_wrist",
    "hip_center *_hip *_knee *_ankle *_heel",
    "*_ankle *_big_toe *_small_toe",
)

# OpenNI's fifteen joints in the orders of KARD and of SBU; its torso is the spine of other layouts.
_OPENNI_ARM, _OPENNI_LEG = ("shoulder", "elbow", "hand"), ("hip", "knee", "foot")
KARD15_JOINTS = (
    ["head", "neck"]
    + limb("right", _OPENNI_ARM)
    + limb("left", _OPENNI_ARM)
    + ["spine"]
    + limb("right", _OPENNI_LEG)
    + limb("left", _OPENNI_LEG)
)
OPENNI15_JOINTS = (
    ["head", "neck", "spine"]
    + limb("left", _OPENNI_ARM)
    + limb("right", _OPENNI_ARM)
    + limb("left", _OPENNI_LEG)
    + limb("right", _OPENNI_LEG)
)
KARD15_BONES = chains("spine neck head", "neck *_shoulder *_elbow *_hand", "spine *_hip *_knee *_foot")

# JHMDB's puppets; its belly is the spine of other layouts, its face their head.
JHMDB15_JOINTS = ["neck", "spine", "head"] + [
    f"{side}_{part}"
    for part in ("shoulder", "hip", "elbow", "knee", "wrist", "ankle")
    for side in ("right", "left")
]
JHMDB15_BONES = chains("spine neck head", "neck *_shoulder *_elbow *_wrist", "spine *_hip *_knee *_ankle")

SMPL24_JOINTS = [
    *("hip_center", "left_hip", "right_hip", "spine_lower", "left_knee", "right_knee"),
    *("spine", "left_ankle", "right_ankle", "chest", "left_foot", "right_foot"),
    *("neck", "left_collar", "right_collar", "head"),
    *sides("shoulder", "elbow", "wrist", "hand"),
]
SMPL24_BONES = chains(
    "hip_center spine_lower spine chest neck head",
    "chest *_collar *_shoulder *_elbow *_wrist *_hand",
    "hip_center *_hip *_knee *_ankle *_foot",
)

# HDM05 and the CMU archive name bones; here each joint is the far end of its bone. The forearm is two bones
# there, radius and wrist; hand and thumb start at the end of the second, so that is the wrist.
_HDM_ARM = ("shoulder", "elbow", "forearm", "wrist", "hand", "fingers", "thumb")
HDM31_JOINTS = (
    ["hip_center"]
    + limb("left", (*LEG, "toes"))
    + limb("right", (*LEG, "toes"))
    + ["spine", "upperback", "shoulder_center", "neck", "upperneck", "head"]
    + limb("left", _HDM_ARM)
    + limb("right", _HDM_ARM)
)
HDM31_BONES = chains(
    "hip_center *_hip *_knee *_ankle *_foot *_toes",
    "hip_center spine upperback shoulder_center neck upperneck head",
    "shoulder_center *_shoulder *_elbow *_forearm *_wrist *_hand *_fingers",
    "*_wrist *_thumb",
)

# MediaPipe's hand, and hands as Leap Motion's are published: the palm, three joints of the thumb, four of each finger.
FINGERS = ("index", "middle", "ring", "pinky")
_FINGERS_21: dict[str, tuple[str, ...]] = {
    "thumb": ("cmc", "mcp", "ip", "tip"),
    **dict.fromkeys(FINGERS, ("mcp", "pip", "dip", "tip")),
}
_FINGERS_20: dict[str, tuple[str, ...]] = {
    "thumb": ("a", "b", "end"),
    **dict.fromkeys(FINGERS, ("a", "b", "c", "end")),
}


def hand(base: str, fingers: dict[str, tuple[str, ...]]) -> tuple[list[str], Bones]:
    """Joints and bones of a hand whose fingers start at one joint.

    >>> hand("palm", {"thumb": ("a", "end")})
    (['palm', 'thumb_a', 'thumb_end'], (('palm', 'thumb_a'), ('thumb_a', 'thumb_end')))
    """
    rays = [[f"{finger}_{part}" for part in parts] for finger, parts in fingers.items()]
    return [base, *itertools.chain(*rays)], tuple(bone for ray in rays for bone in chain(base, *ray))


HAND21_JOINTS, HAND21_BONES = hand("wrist", _FINGERS_21)
HAND20_JOINTS, HAND20_BONES = hand("palm", _FINGERS_20)


def key_joints(joints: list[str]) -> tuple[str, ...]:
    """The nine joints that carry most actions: head, elbows, hands, knees, feet, or their nearest.

    >>> key_joints(COCO17_JOINTS)[:5]
    ('nose', 'left_elbow', 'right_elbow', 'left_wrist', 'right_wrist')
    """
    hand = "hand" if "left_hand" in joints else "wrist"
    foot = "foot" if "left_foot" in joints else "ankle"
    head = "head" if "head" in joints else "nose"
    return (head, *sides("elbow", hand, "knee", foot))
