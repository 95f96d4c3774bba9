"""What a skeleton is: joint names, bones, root, sides and named joint sets of each sensor."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from kerneton.data import layout_tables as tables
from kerneton.data.layout_tables import ARM, LEG, chain, limb, sides
from kerneton.data.skeleton_tree import MOST_KEY_JOINTS, key_joints, ordered_bones, other_side, tree_roots
from kerneton.exceptions import ParameterError

JointsLike = str | int | Iterable[str | int] | None


def _common(*parts: str) -> tuple[tuple[str, ...], ...]:
    hands = tuple({"wrist": "hand", "ankle": "foot"}.get(part, part) for part in parts)
    return sides(*parts), sides(*hands)


# Joint sets that every layout with these joints has; hands and feet where there are no wrists and ankles.
_COMMON_SETS = {
    "D": _common("shoulder", "wrist", "knee"),
    "E": _common("shoulder", "wrist", "knee", "ankle"),
}


@dataclass(frozen=True, init=False)
class Layout:
    """Joint names in file order, bones as (parent, child), the root, and named joint sets.

    Names follow one vocabulary (``left_wrist``, ``hip_center``, ...), so that sides, and the common joints of
    two layouts, are found by name; left and right are also found in names of others (``LWrist``, ``hand.R``). Bones
    may come in any order and direction. They are kept parents first, away from the root. What is not given follows from
    the bones: the root, and the set "key", ends of chains and the joints before them. Joints of several bodies
    are the sets "body 1", "body 2", see `pair`.

    >>> arms = Layout("arms", ["left_shoulder", "left_elbow", "right_shoulder", "right_elbow"],
    ...               bones=[("left_shoulder", "left_elbow"), ("right_shoulder", "right_elbow")],
    ...               sets={"elbows": ["left_elbow", "right_elbow"]})
    >>> arms.indices("elbows"), arms.indices(["left_shoulder", 3]), arms.mirror.tolist()
    ((1, 3), (0, 3), [2, 3, 0, 1])
    >>> finger = Layout("finger", ["tip", "middle", "palm"], bones=[("middle", "tip"), ("palm", "middle")])
    >>> finger.bones, finger.root, finger.sets["key"]
    (((2, 1), (1, 0)), 2, (0, 1))
    """

    name: str
    joints: tuple[str, ...]
    bones: tuple[tuple[int, int], ...]
    root: int | None
    sets: dict[str, tuple[int, ...]] = field(hash=False)

    def __init__(
        self,
        name: str,
        joints: Iterable[str],
        bones: Iterable[tuple[str | int, str | int]] = (),
        root: str | int | None = None,
        sets: Mapping[str, JointsLike] | None = None,
    ) -> None:
        keep = object.__setattr__  # the documented way to fill a frozen dataclass
        keep(self, "name", name)
        keep(self, "joints", tuple(joints))
        twice = sorted(joint for joint, count in Counter(self.joints).items() if count > 1)
        if twice:
            raise ParameterError(f"layout {name!r} names {', '.join(twice)} more than once")
        keep(self, "root", None if root is None else self.index(root))
        keep(self, "sets", {})
        ordered, circle = ordered_bones([(self.index(a), self.index(b)) for a, b in bones], self.root)
        if ordered is None or circle is not None:
            ends = " and ".join(self.joints[joint] for joint in circle or ())
            raise ParameterError(f"layout {name!r}: the bone between {ends} closes a loop")
        keep(self, "bones", ordered)
        keep(self, "sets", {key: self.indices(value) for key, value in (sets or {}).items()})
        if self.root is None and len(self.bodies) == 1 and len(self.roots) == 1:
            keep(self, "root", self.roots[0])
        self._derive_sets()

    def _derive_sets(self) -> None:
        """Sets that this layout does not name: key joints from the bones, D and E by names, E else the key joints."""
        present = set(self.joints)
        for key, choices in _COMMON_SETS.items():
            found = next((names for names in choices if set(names) <= present), None)
            if key not in self.sets and found is not None:
                self.sets[key] = self.indices(found)
        if "key" not in self.sets and self.bones:
            self.sets["key"] = key_joints(self.bones, self.mirror.tolist())
        elif "key" not in self.sets and len(self.joints) <= MOST_KEY_JOINTS:
            self.sets["key"] = tuple(range(len(self.joints)))
        if "E" not in self.sets and "key" in self.sets:
            self.sets["E"] = self.sets["key"]

    def index(self, joint: str | int) -> int:
        """The position of a joint given by name or by position."""
        if isinstance(joint, str):
            if joint in self.joints:
                return self.joints.index(joint)
            raise ParameterError(
                f"layout {self.name!r} has no joint {joint!r}; it has {', '.join(self.joints)}"
            )
        if not 0 <= joint < len(self.joints):
            raise ParameterError(f"layout {self.name!r} has joints 0 to {len(self.joints) - 1}, got {joint}")
        return int(joint)

    def indices(self, joints: JointsLike) -> tuple[int, ...]:
        """Positions of all joints (None), of a named set, of one joint, or of a list of joints."""
        if joints is None:
            return tuple(range(len(self.joints)))
        if isinstance(joints, str):
            if joints in self.sets:
                return self.sets[joints]
            if joints not in self.joints:
                raise ParameterError(
                    f"layout {self.name!r} has no joint or joint set {joints!r}; "
                    f"sets: {', '.join(self.sets) or 'none'}; joints: {', '.join(self.joints)}"
                )
            return (self.index(joints),)
        if isinstance(joints, (int, np.integer)):
            return (self.index(int(joints)),)
        chosen = tuple(self.index(j if isinstance(j, str) else int(j)) for j in joints)
        if len(set(chosen)) != len(chosen):
            raise ParameterError(f"layout {self.name!r}: a joint is listed twice in {list(chosen)}")
        return chosen

    @property
    def mirror(self) -> np.ndarray:
        """(J,) the joint on the other side; a joint without a side is its own mirror image."""
        return np.asarray(
            [joint if twin is None else twin[0] for joint, twin in enumerate(_twins(self.joints))]
        )

    @property
    def sides(self) -> np.ndarray:
        """(J,) -1 for joints on the left, 1 for those on the right, 0 for joints without a side."""
        return np.asarray([0 if twin is None else twin[1] for twin in _twins(self.joints)])

    @property
    def bodies(self) -> tuple[tuple[int, ...], ...]:
        """Joints of each body: the sets "body 1", "body 2" and so on; one body of all joints where there are none."""
        numbers = itertools.takewhile(lambda n: f"body {n}" in self.sets, itertools.count(1))
        return tuple(self.sets[f"body {n}"] for n in numbers) or (tuple(range(len(self.joints))),)

    @property
    def roots(self) -> tuple[int, ...]:
        """Where each body hangs: the root, or the first joints of the largest trees of bones; empty without bones."""
        if self.root is not None:
            return (self.root,)
        sizes, bodies = tree_roots(self.bones), self.bodies
        found: list[int] = []
        for body in bodies:
            own = {root: size for root, size in sizes.items() if root in body}
            largest = [root for root, size in own.items() if size == max(own.values())]
            found += largest[:1] if len(bodies) > 1 else largest
        return tuple(found)

    @property
    def parents(self) -> np.ndarray:
        """(J,) the joint at the near end of each joint's bone; -1 where there is none."""
        parents = np.full(len(self.joints), -1)
        for parent, child in self.bones:
            parents[child] = parent
        return parents


def plain_layout(n_joints: int) -> Layout:
    """A layout for recordings that have none: joints by number, no bones.

    >>> plain_layout(3).joints
    ('joint_0', 'joint_1', 'joint_2')
    """
    return Layout(f"{n_joints} joints", [f"joint_{i}" for i in range(n_joints)])


@functools.lru_cache(maxsize=64)
def _twins(joints: tuple[str, ...]) -> list[tuple[int, int] | None]:
    """The joint on the other side and this one's side, of each joint; None for joints without a side."""
    position = {joint: i for i, joint in enumerate(joints)}
    return [
        next(
            ((position[other], side) for other, side in other_side(joint, position) if other in position),
            None,
        )
        for joint in joints
    ]


# The paper prints its DCK joint sets as numbers in Florence3D's order and describes D and E in words that
# name other joints of the published files. Both are offered: D, E by number, D_words, E_words by description.
_FLORENCE_JOINTS = (
    ["head", "neck", "spine"]
    + limb("left", ARM[:3])
    + limb("right", ARM[:3])
    + limb("left", LEG[:3])
    + limb("right", LEG[:3])
)
_LIMBS_15 = _FLORENCE_JOINTS[3:]

FLORENCE_15 = Layout(
    "florence15",
    _FLORENCE_JOINTS,
    bones=(
        *chain("spine", "neck", "head"),
        *(bone for side in ("left", "right") for bone in chain("neck", *limb(side, ARM[:3]))),
        *(bone for side in ("left", "right") for bone in chain("spine", *limb(side, LEG[:3]))),
    ),
    root="spine",
    sets={
        "A": sides("wrist"),
        "B": ("head", *sides("wrist")),
        "C": sides("wrist", "ankle"),
        "D": sides("shoulder", "wrist", "knee"),
        "D_words": sides("elbow", "wrist", "knee"),
        "E": sides("shoulder", "wrist", "knee", "ankle"),
        "E_words": sides("elbow", "wrist", "knee", "ankle"),
        "F": _LIMBS_15,
        "G": ("head", *_LIMBS_15),
        "H": ("head", "neck", *_LIMBS_15),
        "I": _FLORENCE_JOINTS,
        "key": ("head", *sides("elbow", "wrist", "knee", "ankle")),
    },
)

_KINECT_BONES = (
    *chain("hip_center", "spine", "shoulder_center", "head"),
    *(bone for side in ("left", "right") for bone in chain("shoulder_center", *limb(side, ARM))),
    *(bone for side in ("left", "right") for bone in chain("hip_center", *limb(side, LEG))),
)
_KINECT_SETS = {
    "A": sides("hand"),
    "D": sides("shoulder", "wrist", "knee"),
    "D_words": sides("elbow", "hand", "knee"),
    "E": sides("shoulder", "wrist", "knee", "ankle"),
    "E_words": sides("elbow", "hand", "knee", "foot"),
    "key": ("head", *sides("elbow", "hand", "knee", "foot")),
}


def _kinect20(name: str, joints: list[str]) -> Layout:
    return Layout(name, joints, bones=_KINECT_BONES, root="hip_center", sets=_KINECT_SETS)


# Kinect for Xbox 360 under Microsoft's SDK, in the three orders that published data sets use.
KINECT_20 = _kinect20(
    "kinect20",
    ["hip_center", "spine", "shoulder_center", "head"]
    + limb("left", ARM)
    + limb("right", ARM)
    + limb("left", LEG)
    + limb("right", LEG),
)
MSR_20 = _kinect20(
    "msr20",
    [*sides("shoulder"), "shoulder_center", "spine", *sides("hip"), "hip_center"]
    + [*sides("elbow", "wrist", "hand", "knee", "ankle", "foot"), "head"],
)
UTD_20 = _kinect20(
    "utd20",
    ["head", "shoulder_center", "spine", "hip_center"]
    + limb("left", ARM)
    + limb("right", ARM)
    + limb("left", LEG)
    + limb("right", LEG),
)


def _sensor(name: str, joints: list[str], bones: tables.Bones, root: str) -> Layout:
    return Layout(name, joints, bones, root, sets={"key": tables.key_joints(joints)})


KINECT_25 = _sensor("kinect25", tables.KINECT25_JOINTS, tables.KINECT25_BONES, "hip_center")
AZURE_32 = _sensor("azure32", tables.AZURE32_JOINTS, tables.AZURE32_BONES, "hip_center")
MEDIAPIPE_33 = _sensor("mediapipe33", tables.MEDIAPIPE33_JOINTS, tables.MEDIAPIPE33_BONES, "nose")
COCO_17 = _sensor("coco17", tables.COCO17_JOINTS, tables.COCO17_BONES, "nose")
OPENPOSE_25 = _sensor("openpose25", tables.OPENPOSE25_JOINTS, tables.OPENPOSE25_BONES, "hip_center")
KARD_15 = _sensor("kard15", tables.KARD15_JOINTS, tables.KARD15_BONES, "spine")
OPENNI_15 = _sensor("openni15", tables.OPENNI15_JOINTS, tables.KARD15_BONES, "spine")
JHMDB_15 = _sensor("jhmdb15", tables.JHMDB15_JOINTS, tables.JHMDB15_BONES, "spine")
SMPL_24 = _sensor("smpl24", tables.SMPL24_JOINTS, tables.SMPL24_BONES, "hip_center")
HDM_31 = _sensor("hdm31", tables.HDM31_JOINTS, tables.HDM31_BONES, "hip_center")
HAND_21 = Layout("hand21", tables.HAND21_JOINTS, tables.HAND21_BONES, "wrist")
HAND_20 = Layout("hand20", tables.HAND20_JOINTS, tables.HAND20_BONES, "palm")

LAYOUTS = {
    layout.name: layout
    for layout in (
        *(FLORENCE_15, KINECT_20, MSR_20, UTD_20, KINECT_25, AZURE_32),
        *(MEDIAPIPE_33, COCO_17, OPENPOSE_25, KARD_15, SMPL_24, HDM_31),
        *(OPENNI_15, JHMDB_15, HAND_21, HAND_20),
    )
}
