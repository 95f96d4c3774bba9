"""What a skeleton is: joint names, bones, root, sides and named joint sets."""

from __future__ import annotations

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

    Names follow one vocabulary (``left_wrist``, ``hip_center``, ...), so that sides, and the joints that two layouts
    share, are found by name; sides are also found in other spellings (``LWrist``, ``hand.R``). Bones may come in any
    order and direction; they are stored parents first, away from the root. What is not given follows from the bones: the
    root, and the set "key" of chain ends and the joints before them. Joints of two bodies are the sets "body 1", "body 2".

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
    bones: tuple[Bone, ...]
    root: int | None
    sets: dict[str, tuple[int, ...]] = field(hash=False)
    written: dict[str, str] = field(init=False, compare=False, repr=False)  # how the file names joints

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
        """Sets that are not given: D and E by joint names, key joints from the bones, E else the key joints."""
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
        """Joints of each body: the sets "body 1", "body 2" and so on; one body of all joints where there are none."""
        numbers = itertools.takewhile(lambda n: f"body {n}" in self.sets, itertools.count(1))
        return tuple(self.sets[f"body {n}"] for n in numbers) or (tuple(range(len(self.joints))),)

    @property
    def roots(self) -> tuple[int, ...]:
        """The root, or the first joint of the largest tree of bones of each body; empty without bones."""
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
        twins = ((position[name], side) for name, side in other_side(joint, position) if name in position)
        table.append(next(twins, (i, 0)))
    return table


def other_side(name: str, names: Collection[str] = ()) -> Iterator[tuple[str, int]]:
    """Possible names of the joint on the other side, each with the side of this one: -1 left, 1 right.

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
            if found.end() == len(name) and any(name[: found.start()] + c in names for c in _LETTERS):
                continue
            swapped = {"l": "r", "r": "l", "L": "R", "R": "L"}[letter]
            yield name[: found.start()] + swapped + name[found.end() :], -1 if letter in "lL" else 1


def ordered_bones(bones: Sequence[Bone], root: int | None) -> tuple[tuple[Bone, ...], Bone | None]:
    """Bones as (parent, child), parents first, and a bone that closes a loop, if any.

    Bones in good order stay as they are. Without a root, directions are kept where all point outwards and all
    reversed where they point inwards; otherwise bones point outwards from the middle of each tree.

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
    """Joints that are connected to a joint, nearest first, each with the joint before it on the way."""
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
