"""The known layouts of sensors, pose estimators, body models and data sets."""

from __future__ import annotations

import difflib
import functools
import itertools
import re
import string
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kerneton.exceptions import ParameterError

Bone = tuple[int, int]
JointsLike = str | int | Iterable[str | int] | None

_MOST_KEY_JOINTS = 12  # 66 pairs: more would slow recognisers down
_LETTERS = [c for c in string.ascii_letters if c not in "lLrR"]


def sides(*parts: str) -> tuple[str, ...]:
    """Left and right of each part.

    >>> sides("wrist", "knee")
    ('left_wrist', 'right_wrist', 'left_knee', 'right_knee')
    """
    return tuple(f"{side}_{part}" for part in parts for side in ("left", "right"))


# Joint sets of every layout with these joints: by wrists and ankles, or else by hands and feet.
_COMMON_SETS = (
    ("D", sides("shoulder", "wrist", "knee")),
    ("D", sides("shoulder", "hand", "knee")),
    ("E", sides("shoulder", "wrist", "knee", "ankle")),
    ("E", sides("shoulder", "hand", "knee", "foot")),
)


@dataclass(frozen=True, init=False)
class Layout:
    """Joint names in file order, bones as (parent, child), the root, and named joint sets.

    Names follow one vocabulary (``left_wrist``, ``hip_center``, ...), so that sides, and the joints
    that two layouts share, are found by name; sides are also found in other spellings (``LWrist``,
    ``hand.R``). Bones may come in any order and direction; they are stored parents first, away from
    the root. What is not given follows from the bones: the root, and the set "key" of chain ends
    and the joints before them. Joints of two bodies are the sets "body 1", "body 2".

    >>> arms = Layout(
    ...     "arms",
    ...     ["left_shoulder", "left_elbow", "right_shoulder", "right_elbow"],
    ...     bones=[("left_shoulder", "left_elbow"), ("right_shoulder", "right_elbow")],
    ...     sets={"elbows": ["left_elbow", "right_elbow"]},
    ... )
    >>> arms.indices("elbows"), arms.indices(["left_shoulder", 3]), arms.mirror.tolist()
    ((1, 3), (0, 3), [2, 3, 0, 1])
    >>> bones = [("middle", "tip"), ("palm", "middle")]
    >>> finger = Layout("finger", ["tip", "middle", "palm"], bones)
    >>> finger.bones, finger.root, finger.sets["key"]
    (((2, 1), (1, 0)), 2, (0, 1))
    """

    name: str
    joints: tuple[str, ...]
    bones: tuple[Bone, ...]
    root: int | None
    sets: dict[str, tuple[int, ...]] = field(hash=False)
    written: dict[str, str] = field(
        init=False, compare=False, repr=False
    )  # how the file names joints

    def __init__(
        self,
        name: str,
        joints: Iterable[str],
        bones: Iterable[tuple[str | int, str | int]] = (),
        root: str | int | None = None,
        sets: Mapping[str, JointsLike] | None = None,
    ) -> None:
        keep = object.__setattr__  # the documented way to fill a frozen dataclass
        for key, value in (("name", name), ("joints", tuple(joints)), ("written", {})):
            keep(self, key, value)
        twice = sorted(joint for joint, count in Counter(self.joints).items() if count > 1)
        if twice:
            raise ParameterError(f"layout {name!r} names {', '.join(twice)} more than once")
        keep(self, "root", None if root is None else self.index(root))
        keep(self, "sets", {})
        ordered, loop = ordered_bones([(self.index(a), self.index(b)) for a, b in bones], self.root)
        if loop is not None:
            ends = " and ".join(self.joints[joint] for joint in loop)
            raise ParameterError(f"layout {name!r}: the bone between {ends} closes a loop")
        keep(self, "bones", ordered)
        keep(self, "sets", {key: self.indices(value) for key, value in (sets or {}).items()})
        if self.root is None and len(self.bodies) == 1 and len(self.roots) == 1:
            keep(self, "root", self.roots[0])
        self._derive_sets()

    def _derive_sets(self) -> None:
        """Sets that are not given: D and E by joint names, key joints from the bones, E else the
        key joints.
        """
        for key, names in _COMMON_SETS:
            if key not in self.sets and set(names) <= set(self.joints):
                self.sets[key] = self.indices(names)
        if "key" not in self.sets and self.bones:
            self.sets["key"] = key_joints(self.bones, self.mirror.tolist())
        elif "key" not in self.sets and len(self.joints) <= _MOST_KEY_JOINTS:
            self.sets["key"] = tuple(range(len(self.joints)))
        if "key" in self.sets:
            self.sets.setdefault("E", self.sets["key"])

    def index(self, joint: str | int) -> int:
        """The position of a joint given by name or by position."""
        if isinstance(joint, str):
            if joint in self.joints:
                return self.joints.index(joint)
            known = ", ".join(self.joints)
            raise ParameterError(f"layout {self.name!r} has no joint {joint!r}; it has {known}")
        if not 0 <= joint < len(self.joints):
            raise ParameterError(
                f"layout {self.name!r} has joints 0 to {len(self.joints) - 1}, got {joint}"
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
        if isinstance(joints, (str, int, np.integer)):
            joints = [joints]
        chosen = tuple(self.index(j if isinstance(j, str) else int(j)) for j in joints)
        if len(set(chosen)) != len(chosen):
            raise ParameterError(f"layout {self.name!r}: a joint is listed twice in {list(chosen)}")
        return chosen

    @property
    def mirror(self) -> np.ndarray:
        """(J,) the joint on the other side; a joint without a side is its own mirror image."""
        return np.asarray([twin for twin, _ in _mirror_table(self.joints)])

    @property
    def sides(self) -> np.ndarray:
        """(J,) -1 for joints on the left, 1 for those on the right, 0 for joints without a side."""
        return np.asarray([side for _, side in _mirror_table(self.joints)])

    @property
    def bodies(self) -> tuple[tuple[int, ...], ...]:
        """Joints of each body: the sets "body 1", "body 2" and so on; one body of all joints where
        there are none.
        """
        numbers = itertools.takewhile(lambda n: f"body {n}" in self.sets, itertools.count(1))
        return tuple(self.sets[f"body {n}"] for n in numbers) or (tuple(range(len(self.joints))),)

    @property
    def roots(self) -> tuple[int, ...]:
        """The root, or the first joint of the largest tree of bones of each body; empty without
        bones.
        """
        if self.root is not None:
            return (self.root,)
        root_of: dict[int, int] = {}
        for parent, child in self.bones:
            root_of[child] = root_of.setdefault(parent, parent)
        sizes, bodies = Counter(root_of.values()), self.bodies
        found: list[int] = []
        for body in bodies:
            own = {root: size for root, size in sizes.items() if root in body}
            largest = [root for root, size in own.items() if size == max(own.values())]
            found += largest[:1] if len(bodies) > 1 else largest
        return tuple(found)

    @property
    def parents(self) -> np.ndarray:
        """(J,) the parent of each joint; -1 where there is none."""
        parents = np.full(len(self.joints), -1)
        for parent, child in self.bones:
            parents[child] = parent
        return parents


@functools.lru_cache(maxsize=64)
def _mirror_table(joints: tuple[str, ...]) -> list[tuple[int, int]]:
    """The mirror image and the side of each joint; (itself, 0) without a side."""
    position = {joint: i for i, joint in enumerate(joints)}
    table = []
    for i, joint in enumerate(joints):
        twins = (
            (position[name], side) for name, side in other_side(joint, position) if name in position
        )
        table.append(next(twins, (i, 0)))
    return table


def other_side(name: str, names: Collection[str] = ()) -> Iterator[tuple[str, int]]:
    """Possible names of the joint on the other side, each with the side of this one: -1 left, 1
    right.

    l and r are ordinary letters if joints in ``names`` are numbered by letters.

    >>> next(other_side("left_knee")), next(other_side("LWrist")), next(other_side("hand.R"))
    (('right_knee', -1), ('RWrist', -1), ('hand.L', 1))
    >>> list(other_side("p_l", ["p_k", "p_l", "p_r"]))
    []
    """
    for left, right in (("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT")):
        if left in name:
            yield name.replace(left, right, 1), -1
        if right in name:
            yield name.replace(right, left, 1), 1
    for pattern in (r"^([lLrR])(?=.)", r"(?<=[_. ])([lLrR])$", r"(?<=[a-z0-9])([LR])$"):
        if found := re.search(pattern, name):
            letter = found[1]
            if found.end() == len(name) and any(
                name[: found.start()] + c in names for c in _LETTERS
            ):
                continue
            swapped = {"l": "r", "r": "l", "L": "R", "R": "L"}[letter]
            yield name[: found.start()] + swapped + name[found.end() :], -1 if letter in "lL" else 1


def ordered_bones(bones: Sequence[Bone], root: int | None) -> tuple[tuple[Bone, ...], Bone | None]:
    """Bones as (parent, child), parents first, and a bone that closes a loop, if any.

    Bones in good order stay as they are. Without a root, directions are kept where all point
    outwards and all reversed where they point inwards; otherwise bones point outwards from the
    middle of each tree.

    >>> ordered_bones([(1, 2), (0, 1)], None)
    (((0, 1), (1, 2)), None)
    >>> ordered_bones([(2, 1), (3, 1)], None)
    (((1, 2), (1, 3)), None)
    >>> ordered_bones([(0, 1), (1, 2), (2, 0)], None)[1]
    (0, 1)
    """
    if _in_order(bones, root):
        return tuple(bones), None
    neighbours: dict[int, list[int]] = {}
    for a, b in bones:
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    starts = [] if root is None else [root]
    for turned in (bones, [(b, a) for a, b in bones]):
        children = {child for _, child in turned}
        if len(children) == len(turned) and root not in children:
            starts += [parent for parent, _ in turned if parent not in children]
            break
    parents: dict[int, int] = {}
    for joint in itertools.chain(starts, neighbours):
        if joint not in parents:
            start = joint if joint in starts else _middle(joint, neighbours)
            parents |= _reached(start, neighbours)
    ordered = tuple((parent, child) for child, parent in parents.items() if parent != child)
    extra = Counter(map(frozenset, bones)) - Counter(map(frozenset, ordered))
    return ordered, next((bone for bone in bones if frozenset(bone) in extra), None)


def _in_order(bones: Sequence[Bone], root: int | None) -> bool:
    children = {child for _, child in bones}
    seen: set[int] = set() if root is None else {root}
    for parent, child in bones:
        if child in seen or (parent in children and parent not in seen):
            return False
        seen.add(child)
    return len(children) == len(bones)


def _reached(start: int, neighbours: Mapping[int, list[int]]) -> dict[int, int]:
    """Joints that are connected to a joint, nearest first, each with the joint before it on the
    way.
    """
    before = {start: start}
    order = [start]
    for here in order:  # grows while it is walked
        for there in neighbours.get(here, []):
            if there not in before:
                before[there] = here
                order.append(there)
    return before


def _middle(joint: int, neighbours: Mapping[int, list[int]]) -> int:
    """The middle of the longest path of a tree."""
    end = list(_reached(joint, neighbours))[-1]
    before = _reached(end, neighbours)
    path = [list(before)[-1]]
    while path[-1] != end:
        path.append(before[path[-1]])
    return path[len(path) // 2]


def key_joints(bones: Sequence[Bone], mirror: Sequence[int]) -> tuple[int, ...]:
    """Chain ends and the joints before them, at most twelve, each with its mirror image.

    If there are more, ends far from the root come first, one for each joint before them.

    >>> key_joints([(0, 1), (1, 2), (2, 3), (1, 4)], range(5))
    (1, 2, 3, 4)
    """
    parent_of = {child: parent for parent, child in bones}
    depth: dict[int, int] = {}
    for parent, child in bones:
        depth[child] = depth.setdefault(parent, 0) + 1
    ends = [child for child in parent_of if child not in {parent for parent, _ in bones}]
    ends.sort(key=lambda joint: -depth[joint])
    first_ends = list({parent_of[end]: end for end in reversed(ends)}.values())[::-1]
    before = [parent_of[end] for end in first_ends]
    chosen: set[int] = set()
    for joint in (*first_ends, *before, *ends):
        more = {joint, int(mirror[joint])}
        if len(chosen | more) <= _MOST_KEY_JOINTS:
            chosen |= more
    return tuple(sorted(chosen))


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
    """The name of a layout in a line that begins with "joints"; for a layout made by a reader,
    where its names come from.
    """
    return {"table": "with the names in the table", "named": "with the given names"}.get(name, name)


def layouts_of_columns(width: int) -> list[str]:
    """The layouts that fit a table without header, with x, y, z of each joint, perhaps after a
    number.

    >>> layouts_of_columns(46), layouts_of_columns(192)
    (['florence15', 'kard15', 'openni15', 'jhmdb15'], ['azure32+azure32'])
    """
    sizes = {name: len(layout.joints) for name, layout in LAYOUTS.items()}
    fit = [name for name, size in sizes.items() if width - 3 * size in (0, 1)]
    return fit + [f"{name}+{name}" for name, size in sizes.items() if width - 6 * size in (0, 1)]


@functools.lru_cache(maxsize=64)
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
    """The pairs (left, right) that show where a body faces: hips and shoulders, or else all joints
    with sides.

    >>> facing_lines(FLORENCE_15), facing_lines(HAND_21)
    ([(9, 12), (3, 6)], [])
    """
    known = set(layout.joints)
    parts = [part for part in ("hip", "shoulder") if {f"left_{part}", f"right_{part}"} <= known]
    if parts:
        return [(layout.index(f"left_{part}"), layout.index(f"right_{part}")) for part in parts]
    return [(left, int(layout.mirror[left])) for left, side in enumerate(layout.sides) if side < 0]


@functools.lru_cache(maxsize=64)
def palm_lines(layout: Layout) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Pairs of joints whose mean differences point along and across a palm.

    Along: the bones of the root. Across: from each of their ends to each that follows. Both are
    empty where the root has fewer than two bones, or joints have sides.

    >>> palm_lines(HAND_21)[0], len(palm_lines(HAND_21)[1])
    ([(0, 1), (0, 5), (0, 9), (0, 13), (0, 17)], 10)
    """
    if len(layout.roots) != 1 or layout.sides.any():
        return [], []
    along = sorted(bone for bone in layout.bones if bone[0] == layout.roots[0])
    if len(along) < 2:
        return [], []
    return along, list(itertools.combinations([end for _, end in along], 2))


def turning(layout: Layout) -> str:
    """What recordings of this layout can be turned by: "yaw", of palms "full", or nothing, "".

    >>> turning(COCO_17), turning(HAND_21), turning(plain_layout(3))
    ('yaw', 'full', '')
    """
    if len(layout.bodies) == len(layout.roots) == 2 or facing_lines(layout):
        return "yaw"
    return "full" if palm_lines(layout)[0] else ""


def can_turn(layout: Layout) -> bool:
    """Whether recordings of this layout can be turned to a frame of their own.

    >>> can_turn(COCO_17), can_turn(HAND_21), can_turn(plain_layout(3))
    (True, True, False)
    """
    return bool(turning(layout))


# The paper prints its DCK joint sets as numbers in the order of Florence3D and describes D and E in
# words that name other joints of the published files. Both are offered: D_words, E_words by
# description, D, E by number, which `Layout` finds by joint names.
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
    """Kinect for Xbox 360 with Microsoft's SDK, in one of the three orders that published data sets
    use.
    """
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
UTD_20 = _kinect20(
    "utd20", ["head", "shoulder_center", "spine", "hip_center", *limbs(ARM), *limbs(LEG)]
)
MSR_20 = _kinect20(
    "msr20",
    [*sides("shoulder"), "shoulder_center", "spine", *sides("hip"), "hip_center"]
    + [*sides("elbow", "wrist", "hand", "knee", "ankle", "foot"), "head"],
)


def _sensor(name: str, root: str, joints: Sequence[str], *paths: str) -> Layout:
    """A layout whose key joints are head, elbows, hands, knees and feet, or the joints nearest to
    them.
    """
    hand = "hand" if "left_hand" in joints else "wrist"
    foot = "foot" if "left_foot" in joints else "ankle"
    head = "head" if "head" in joints else "nose"
    return Layout(
        name, joints, chains(*paths), root, {"key": (head, *sides("elbow", hand, "knee", foot))}
    )


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
    [
        "hip_center",
        "spine",
        "chest",
        "neck",
        *limbs(("collar", *ARM, "hand_tip", "thumb")),
        *limbs(LEG),
    ]
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
# The fifteen joints of OpenNI in the orders of KARD and of SBU; its torso is the spine of other
# layouts.
_OPENNI_ARM, _OPENNI_LEG = ("shoulder", "elbow", "hand"), ("hip", "knee", "foot")
_OPENNI_PATHS = ("spine neck head", "neck *_shoulder *_elbow *_hand", "spine *_hip *_knee *_foot")
KARD_15 = _sensor(
    "kard15",
    "spine",
    ["head", "neck", *limbs(_OPENNI_ARM, _RIGHT_FIRST), "spine", *limbs(_OPENNI_LEG, _RIGHT_FIRST)],
    *_OPENNI_PATHS,
)
OPENNI_15 = _sensor(
    "openni15",
    "spine",
    ["head", "neck", "spine", *limbs(_OPENNI_ARM), *limbs(_OPENNI_LEG)],
    *_OPENNI_PATHS,
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
# HDM05 and the CMU archive name bones; here each joint is the far end of its bone. The forearm is
# two bones there, radius and wrist; hand and thumb start at the end of the second, so that is the
# wrist.
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

_BOTH = [f"{side}_{joint}" for side in ("left", "right") for joint in HAND_21.joints]
HANDS_42 = Layout(  # both hands of a person, from films
    "hands42",
    _BOTH,
    [(_BOTH[a + n], _BOTH[b + n]) for n in (0, 21) for a, b in HAND_21.bones],
)

LAYOUTS = {
    layout.name: layout
    for layout in (
        *(FLORENCE_15, KINECT_20, MSR_20, UTD_20, KINECT_25, AZURE_32),
        *(MEDIAPIPE_33, COCO_17, OPENPOSE_25, KARD_15, SMPL_24, HDM_31),
        *(OPENNI_15, JHMDB_15, HAND_21, HANDS_42, HAND_20),
    )
}


def layout_named(name: str) -> Layout:
    """A known layout, or two of them joined by + for two bodies.

    >>> layout_named("florence15").name, layout_named("openni15+openni15").roots
    ('florence15', (2, 17))
    """
    parts = name.split("+")
    if name in LAYOUTS:
        return LAYOUTS[name]
    if len(parts) == 2 and all(part in LAYOUTS for part in parts):
        from kerneton.data.bodies import pair_layout

        return pair_layout(*(LAYOUTS[part] for part in parts))
    near = difflib.get_close_matches(name, LAYOUTS, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise ParameterError(
        f"no layout {name!r}{hint}; known layouts are {', '.join(LAYOUTS)}; join two with + for two "
        "bodies, or give joint names separated by commas"
    )


BY_JOINTS = {layout.joints: layout for layout in LAYOUTS.values()}
VOCABULARY = {joint for joints in BY_JOINTS for joint in joints}

# Joints that show unit and axes of a body (`kerneton.data.units`).
HIGH = ("head", "nose", "neck", "left_shoulder", "right_shoulder", "left_fhd", "right_fhd", "c7")
HIPS = ("hip_center", *sides("hip"))
LOW = sides("ankle", "foot", "heel", "hee", "big_toe", "toes", "foot_index")
# The vector from the second joint to the first points forward on a standing body. Knees are not
# used: in Kinect recordings of standing people, they are in front of hips and ankles in a quarter
# to five sixths of the recordings, depending on the set.
_FEET = "foot_index heel", "big_toe heel", "foot ankle", "toes ankle", "big_toe ankle"
FORWARD = (
    *(
        tuple(f"{side}_{part}" for part in pair.split())
        for side in ("left", "right")
        for pair in _FEET
    ),
    *(("nose", ear) for ear in sides("ear")),
)
SIDES = tuple(sides(part) for part in ("hip", "shoulder", "eye", "ear"))
