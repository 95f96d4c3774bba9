"""What follows from a skeleton's bones and names: parents before children, roots, key joints, left and right."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Collection, Iterator, Sequence

Bone = tuple[int, int]

MOST_KEY_JOINTS = 12  # 66 pairs: what a recogniser can look at without slowing down
_SIDES = (("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT"))


def ordered_bones(bones: Sequence[Bone], root: int | None) -> tuple[tuple[Bone, ...] | None, Bone | None]:
    """Bones as (parent, child), parents first; bones in good order stay as they are.

    Returns the bones and None, or None and the bone that closes a loop. Without a root, directions are kept
    where all run outwards, all turned where they run inwards; else they run outwards from the middle of each tree.

    >>> ordered_bones([(1, 2), (0, 1)], None)
    (((0, 1), (1, 2)), None)
    >>> ordered_bones([(2, 1), (3, 1)], None)
    (((1, 2), (1, 3)), None)
    >>> ordered_bones([(0, 1), (1, 2), (2, 0)], None)
    (None, (2, 0))
    """
    if _in_order(bones, root):
        return tuple(bones), None
    neighbours: dict[int, list[int]] = {}
    group: dict[int, int] = {}

    def find(joint: int) -> int:
        while group.setdefault(joint, joint) != joint:
            group[joint] = joint = group[group[joint]]
        return joint

    for a, b in bones:
        if find(a) == find(b):
            return None, (a, b)
        group[find(a)] = find(b)
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    starts = [] if root is None else [root]
    for turned in (bones, [(b, a) for a, b in bones]):
        children = [child for _, child in turned]
        if len(set(children)) == len(children) and root not in children:
            starts += [parent for parent, _ in turned if parent not in set(children)]
            break
    out: list[Bone] = []
    seen: set[int] = set()
    for joint in itertools.chain(dict.fromkeys(starts), neighbours):
        if joint in seen:
            continue
        start = joint if joint in starts else _middle(joint, neighbours)
        seen.add(start)
        reached = [start]
        for parent in reached:  # grows while it is walked
            for child in neighbours.get(parent, []):
                if child not in seen:
                    seen.add(child)
                    reached.append(child)
                    out.append((parent, child))
    return tuple(out), None


def _in_order(bones: Sequence[Bone], root: int | None) -> bool:
    children = {child for _, child in bones}
    seen: set[int] = set() if root is None else {root}
    for parent, child in bones:
        if child in seen or (parent in children and parent not in seen):
            return False
        seen.add(child)
    return len(children) == len(bones)


def _middle(joint: int, neighbours: dict[int, list[int]]) -> int:
    """The middle of the longest path of a tree."""

    def farthest(start: int) -> list[int]:
        came = {start: start}
        order = [start]
        for here in order:
            for there in neighbours[here]:
                if there not in came:
                    came[there] = here
                    order.append(there)
        path = [order[-1]]
        while path[-1] != start:
            path.append(came[path[-1]])
        return path

    path = farthest(farthest(joint)[0])
    return path[len(path) // 2]


def tree_roots(bones: Sequence[Bone]) -> dict[int, int]:
    """The first joint of every tree and how many joints the tree has; bones come parents first.

    >>> tree_roots([(0, 1), (1, 2), (5, 4)])
    {0: 3, 5: 2}
    """
    root_of: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for parent, child in bones:
        root = root_of.setdefault(parent, parent)
        sizes.setdefault(root, 1)
        root_of[child] = root
        sizes[root] += 1
    return sizes


def key_joints(bones: Sequence[Bone], mirror: Sequence[int]) -> tuple[int, ...]:
    """Ends of chains and the joints before them, at most twelve, with every joint its mirror image.

    Where there are more, ends that are far from the root come first, one for each joint before them.

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
        if len(chosen | more) <= MOST_KEY_JOINTS:
            chosen |= more
    return tuple(sorted(chosen))


_LETTERS = [c for c in string.ascii_letters if c not in "lLrR"]


def other_side(name: str, names: Collection[str] = ()) -> Iterator[tuple[str, int]]:
    """Names that the joint on the other side may have, each with the side of this one: -1 left, 1 right.

    Where joints ``names`` are lettered through, l and r are letters like the others.

    >>> next(other_side("left_knee")), next(other_side("LWrist")), next(other_side("hand.R"))
    (('right_knee', -1), ('RWrist', -1), ('hand.L', 1))
    >>> list(other_side("p_l", ["p_k", "p_l", "p_r"]))
    []
    """
    for left, right in _SIDES:
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
