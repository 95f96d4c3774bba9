"""What a skeleton is: joint names, bones, root, sides and named joint sets of each sensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from kerneton.data import layout_tables as tables
from kerneton.data.layout_tables import ARM, LEG, chain, limb, sides
from kerneton.exceptions import ParameterError

JointsLike = str | int | Iterable[str | int] | None


# Joint sets that every layout with these joints has.
_COMMON_SETS = {
    "D": tuple(f"{side}_{part}" for part in ("shoulder", "wrist", "knee") for side in ("left", "right")),
    "E": tuple(
        f"{side}_{part}" for part in ("shoulder", "wrist", "knee", "ankle") for side in ("left", "right")
    ),
}


@dataclass(frozen=True, init=False)
class Layout:
    """Joint names in file order, bones as (parent, child), the root, and named joint sets.

    Names follow one vocabulary (``left_wrist``, ``hip_center``, ...), so that sides, and the common joints of
    two layouts, are found by name. Bones run away from the root and are listed parents first.

    >>> arms = Layout("arms", ["left_shoulder", "left_elbow", "right_shoulder", "right_elbow"],
    ...               bones=[("left_shoulder", "left_elbow"), ("right_shoulder", "right_elbow")],
    ...               sets={"elbows": ["left_elbow", "right_elbow"]})
    >>> arms.indices("elbows"), arms.indices(["left_shoulder", 3]), arms.mirror.tolist()
    ((1, 3), (0, 3), [2, 3, 0, 1])
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
        keep(self, "bones", tuple((self.index(a), self.index(b)) for a, b in bones))
        self._check_bones()
        keep(self, "sets", {})
        wanted = dict(sets or {})
        for key, common in _COMMON_SETS.items():
            if key not in wanted and set(common) <= set(self.joints):
                wanted[key] = common
        keep(self, "sets", {key: self.indices(value) for key, value in wanted.items()})

    def _check_bones(self) -> None:
        seen: set[int] = set() if self.root is None else {self.root}
        to_come = Counter(child for _, child in self.bones)
        for parent, child in self.bones:
            if child in seen:
                raise ParameterError(f"layout {self.name!r}: {self.joints[child]} is the end of two bones")
            if to_come[parent]:
                raise ParameterError(
                    f"layout {self.name!r}: the bone to {self.joints[child]} comes before its parent's"
                )
            seen.add(child)
            to_come[child] -= 1

    def index(self, joint: str | int) -> int:
        """The position of a joint given by name or by position."""
        if isinstance(joint, str):
            if joint in self.joints:
                return self.joints.index(joint)
            raise ParameterError(
                f"layout {self.name!r} has no joint {joint!r}; it has {', '.join(self.joints)}"
            )
        if not 0 <= joint < len(self.joints):
            raise ParameterError(
                f"layout {self.name!r} has joints 0 to {len(self.joints) - 1}, asked for {joint}"
            )
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
            raise ParameterError(f"layout {self.name!r}: a joint is chosen twice in {list(chosen)}")
        return chosen

    @property
    def mirror(self) -> np.ndarray:
        """(J,) the joint on the other side; a joint without a side is its own mirror image."""
        other = list(range(len(self.joints)))
        for i, joint in enumerate(self.joints):
            side, _, rest = joint.partition("_")
            twin = {"left": "right", "right": "left"}.get(side, "") + "_" + rest
            if twin in self.joints:
                other[i] = self.joints.index(twin)
        return np.asarray(other)

    @property
    def parents(self) -> np.ndarray:
        """(J,) the joint at the near end of each joint's bone; -1 where there is none."""
        parents = np.full(len(self.joints), -1)
        for parent, child in self.bones:
            parents[child] = parent
        return parents


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
SMPL_24 = _sensor("smpl24", tables.SMPL24_JOINTS, tables.SMPL24_BONES, "hip_center")
HDM_31 = _sensor("hdm31", tables.HDM31_JOINTS, tables.HDM31_BONES, "hip_center")

LAYOUTS = {
    layout.name: layout
    for layout in (
        *(FLORENCE_15, KINECT_20, MSR_20, UTD_20, KINECT_25, AZURE_32),
        *(MEDIAPIPE_33, COCO_17, OPENPOSE_25, KARD_15, SMPL_24, HDM_31),
    )
}
