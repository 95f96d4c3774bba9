"""How the joints of a recording differ from those expected, in words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.data.wording import few


def layout_difference(found: Layout, expected: Layout) -> str | None:
    """How the joints of one layout differ from those of another; None if they are the same.

    A joint with a similar name is reported as a misspelling. Joints are named as their files name
    them.

    >>> found, expected = (Layout("table", ["head", hand]) for hand in ("rigth_hand", "right_hand"))
    >>> layout_difference(found, expected)
    "has a joint 'rigth_hand' where 'right_hand' is expected: misspelt?"
    """
    if found.joints == expected.joints:
        return None
    counts = [len(layout.bodies) for layout in (found, expected)]
    if counts[0] != counts[1]:
        bodies = [f"{n} {'body' if n == 1 else 'bodies'}" for n in counts]
        return f"has {bodies[0]} ({found.name!r}), expected {bodies[1]} ({expected.name!r})"
    extra = [joint for joint in found.joints if joint not in expected.joints]
    missing = [joint for joint in expected.joints if joint not in found.joints]
    if not extra and not missing:
        names = f"layout {found.name!r}, expected {expected.name!r}"
        return f"has the same {len(found.joints)} joints in another order ({names})"
    here, there = (
        {j: known.written.get(j, j) for j in known.joints} for known in (found, expected)
    )
    # If LeftArm is misspelt, LeftShoulder is read as the shoulder: two joints differ, but only one
    # in the file.
    in_files = [[j for j in a if a[j] not in b.values()] for a, b in ((here, there), (there, here))]
    if 0 < sum(map(len, in_files)) <= len(extra) + len(missing):
        extra, missing = in_files
    for joint in extra:
        near = near_name((joint, here[joint]), {name: j for j in missing for name in (j, there[j])})
        renamed = (
            near is not None and here[joint] == there[near]
        )  # the file has the name, the user gave another
        if near and not renamed and len(extra) == len(missing) <= 3:
            others = "" if len(extra) == 1 else f" (and {len(extra) - 1} more)"
            return (
                f"has a joint {here[joint]!r} where {there[near]!r} is expected: misspelt?{others}"
            )
    differences = [f"lacks {few([there[joint] for joint in missing])}"] * bool(missing)
    differences += [f"has {few([here[joint] for joint in extra])} in addition"] * bool(extra)
    layouts = f", with layout {found.name!r} where {expected.name!r} was expected"
    known = found.name != expected.name and {found.name, expected.name} <= LAYOUTS.keys()
    return " and ".join(differences) + (layouts if known else "")


def near_name(names: Iterable[str], known: Mapping[str, str]) -> str | None:
    """The value of the known name that is most similar to one of these, or has nearly the same
    words in another order; None if none is.

    >>> near_name(("rigth_hand", "RigthHand"), {"right_wrist": "a", "RightHand": "b"})
    'b'
    >>> near_name(["HandRigth"], {"right_hand": "a", "left_hand": "b"})
    'a'
    """
    names = list(names)
    ordered = {_ordered(name): one for name, one in known.items()}
    for words, there in ((names, known), (map(_ordered, names), ordered)):
        near = (difflib.get_close_matches(name, there, n=1, cutoff=0.75) for name in words)
        if (one := next((there[found[0]] for found in near if found), None)) is not None:
            return one
    return None


def _ordered(name: str) -> str:
    """The words of a name in one order: those of HandRight and of right_hand are the same."""
    return "_".join(
        sorted(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name), key=str.lower)
    ).lower()


def as_partner(joint: str, layout: Layout) -> str:
    """A joint's name in the style of a layout's file: like its partner on the other side.

    >>> layout = Layout("table", ["left_wrist"])
    >>> layout.written.update(left_wrist="LeftHand")
    >>> as_partner("right_wrist", layout), as_partner("head", layout)
    ('RightHand', 'head')
    """
    for side, other in (("left", "right"), ("right", "left")):
        name = (
            layout.written.get(joint.replace(side, other, 1), "") if joint.startswith(side) else ""
        )
        for word in (str.lower, str.title, str.upper):
            if word(other) in name:
                return name.replace(word(other), word(side))
    return joint


def misspelt_side(layout: Layout) -> str | None:
    """A joint without a partner, if a similar name may be the misspelt partner; None if there is
    none.

    Names of Kerneton's own layouts are not misspelt, nor are those that differ in a number: toe_1,
    toe_2.

    >>> misspelt_side(Layout("table", ["left_elbow", "rigth_elbow", "left_toe_1", "right_toe_2"]))
    "'left_elbow' has no partner on the other side: is 'rigth_elbow' misspelt?"
    """
    known = {joint for own in LAYOUTS.values() for joint in own.joints}
    other = {"left": "right", "right": "left"}
    twins = {
        j: f"{other[side]}_{part}"
        for j in layout.joints
        for side, _, part in [j.partition("_")]
        if side in other
    }
    alone = [joint for joint, twin in twins.items() if twin not in layout.joints]
    strange = [
        j
        for j in layout.joints
        if (j in alone or j not in twins) and re.sub(r"_[12]$", "", j) not in known
    ]
    written = {_ordered(layout.written.get(j, j)): j for j in strange}
    for joint in alone:
        twin = twins[joint]
        near_ones = difflib.get_close_matches(twin, strange, n=3, cutoff=0.85)
        near_ones += [
            written[j] for j in difflib.get_close_matches(_ordered(twin), written, n=3, cutoff=0.85)
        ]
        for near in near_ones:
            if _bare(near) != _bare(twin) and near != joint:
                here, there = (layout.written.get(j, j) for j in (joint, near))
                return f"{here!r} has no partner on the other side: is {there!r} misspelt?"
    return None


def _bare(joint: str) -> str:
    """A name without its number or letter: toe_1 and toe_2, marker_a and marker_b."""
    return re.sub(r"\d+|_[a-z]$", "", joint)
