"""What is drawn of a body, the same in all pictures: bones, sides and their colours, heads, loose
joints, ends of limbs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from kerneton.data.layouts import Layout
from kerneton.data.sequence import SkeletonSequence

# Blue and orange are distinct for colour-blind readers and in print.
COLOURS = {"left": "#d95f02", "right": "#1f6fb4", "middle": "#444444"}
_TRACED = 10  # ends of limbs whose paths are drawn


def part(joint: str) -> str:
    """A joint's name without the number of its body.

    >>> part("left_hip"), part("head_2")
    ('left_hip', 'head')
    """
    return re.sub(r"_\d+$", "", joint)


def spaced(joint: str) -> str:
    """A joint's name as words.

    >>> spaced("left_hip")
    'left hip'
    """
    return joint.replace("_", " ")


@dataclass(frozen=True)
class Body:
    """What is drawn of recordings with a layout, or with this number of joints without one.

    >>> from kerneton.data.layouts import KINECT_20
    >>> body = Body(KINECT_20, 20)
    >>> [KINECT_20.joints[j] for j in body.ends], body.loose, Body(None, 3).loose
    (['left_hand', 'right_hand', 'left_foot', 'right_foot'], [], [0, 1, 2])
    """

    layout: Layout | None
    n_joints: int

    @classmethod
    def of(cls, sequence: SkeletonSequence) -> Body:
        return cls(sequence.layout, sequence.n_joints)

    @property
    def bones(self) -> tuple[tuple[int, int], ...]:
        return () if self.layout is None else self.layout.bones

    @cached_property
    def lines(self) -> tuple[tuple[int, int], ...]:
        """Bones, and lines from left to right shoulders and hips that no joint of the trunk
        connects; only drawn.

        >>> from kerneton.data.layouts import COCO_17, KINECT_20
        >>> (
        ...     Body(COCO_17, 17).lines[len(COCO_17.bones) :],
        ...     Body(KINECT_20, 20).lines == KINECT_20.bones,
        ... )
        (((5, 6), (11, 12)), True)
        """
        if self.layout is None:
            return ()
        joints, above, mirror = (
            self.layout.joints,
            self.layout.parents.tolist(),
            self.layout.mirror.tolist(),
        )
        pairs = [
            (j, mirror[j])
            for j, joint in enumerate(joints)
            if part(joint) in ("left_shoulder", "left_hip")
        ]
        held = [{above[a], above[b]} for a, b in pairs]
        apart = [
            len(over) > 1 or any(j >= 0 and part(joints[j]) == "nose" for j in over)
            for over in held
        ]
        return (
            *self.bones,
            *(
                pair
                for pair, open_ in zip(pairs, apart, strict=True)
                if open_ and pair[0] != pair[1]
            ),
        )

    def side(self, line: tuple[int, int]) -> str:
        """The side of a line: that of its far end, and the middle from left to right."""
        a, b = (self.sides[joint] for joint in line)
        return "middle" if {a, b} == {"left", "right"} else b

    @cached_property
    def sides(self) -> list[str]:
        """The side of each joint, also of one without a partner on the other side; a bone has that
        of its far end.
        """
        if self.layout is None:
            return ["middle"] * self.n_joints
        named = (joint.partition("_")[0] for joint in self.layout.joints)
        sides = [("left", "middle", "right")[side + 1] for side in self.layout.sides.tolist()]
        return [
            word if word in ("left", "right") else side
            for word, side in zip(named, sides, strict=True)
        ]

    @property
    def sided(self) -> bool:
        """Whether anything drawn belongs to a side, so that a legend is needed."""
        return any(self.sides[child] != "middle" for _, child in self.bones)

    @cached_property
    def heads(self) -> list[int]:
        names = () if self.layout is None else self.layout.joints
        return [j for j, name in enumerate(names) if part(name) == "head"]

    @property
    def loose(self) -> list[int]:
        """Joints without bones, shown as dots."""
        tied = {joint for bone in self.bones for joint in bone} | set(self.heads)
        return [j for j in range(self.n_joints) if j not in tied]

    @property
    def ends(self) -> list[int]:
        """Ends of limbs, whose paths are drawn: left and right ones where there are any."""
        parents = {parent for parent, _ in self.bones}
        tips = [
            child for _, child in self.bones if child not in parents and child not in self.heads
        ]
        limbs = [j for j in tips if self.sides[j] != "middle"]
        return (limbs or tips)[:_TRACED]

    @property
    def numbered(self) -> list[tuple[str, list[int]]]:
        """Where there are several bodies, the number of each, to be written above it, and the
        joints of its head and trunk.

        >>> from kerneton.data.layouts import KINECT_20, Layout
        >>> two = Layout("two", ["head_1", "head_2"], sets={"body 1": [0], "body 2": [1]})
        >>> Body(two, 2).numbered, Body(KINECT_20, 20).numbered
        ([('1', [0]), ('2', [1])], [])
        """
        bodies = () if self.layout is None else self.layout.bodies
        trunks = [
            [joint for joint in body if self.sides[joint] == "middle"] or list(body)
            for body in bodies
        ]
        return [(str(i), trunk) for i, trunk in enumerate(trunks, start=1) if len(bodies) > 1]

    def colour(self, line: tuple[int, int]) -> str:
        return COLOURS[self.side(line)]
