"""How the joints of a recording differ from those expected, in words."""

from __future__ import annotations

import difflib

from kerneton.data.layouts import Layout
from kerneton.data.validation import few


def layout_difference(found: Layout, expected: Layout) -> str | None:
    """How the joints of one layout differ from those of another; None if they are the same.

    A joint with a similar name is reported as a misspelling. Joints are named as their files name them.

    >>> layout_difference(Layout("table", ["head", "rigth_hand"]), Layout("table", ["head", "right_hand"]))
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
    here, there = ({j: known.written.get(j, j) for j in known.joints} for known in (found, expected))
    for joint in extra:
        near = difflib.get_close_matches(joint, missing, n=1, cutoff=0.75)
        if near and len(extra) == len(missing) <= 3:
            others = "" if len(extra) == 1 else f" (and {len(extra) - 1} more)"
            return f"has a joint {here[joint]!r} where {there[near[0]]!r} is expected: misspelt?{others}"
    differences = [f"lacks {few([there[joint] for joint in missing])}"] * bool(missing)
    differences += [f"has {few([here[joint] for joint in extra])} in addition"] * bool(extra)
    layouts = f", with layout {found.name!r} where {expected.name!r} was expected"
    return " and ".join(differences) + (layouts if found.name != expected.name else "")
