"""Layouts from names: a known one, one for the joints that a file names, one with joints renamed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, FormatError, KernetonError, ParameterError
from kerneton.files.readers._names import joint_names, marker_layout, two_bodies
from kerneton.files.readers._text import MAX_JOINTS, shorten


def named_layout(layout: Layout | str | None) -> Layout | None:
    """A layout by its name, two of them with + between for two bodies, or by its joints with commas between them.

    >>> named_layout("florence15").name, named_layout("Head,LeftHand,RightHand").joints
    ('florence15', ('head', 'left_wrist', 'right_wrist'))
    >>> named_layout("openni15+openni15").roots
    (2, 17)
    """
    if not isinstance(layout, str):
        return layout
    if layout in LAYOUTS:
        return LAYOUTS[layout]
    parts = layout.split("+")
    if len(parts) == 2 and all(part in LAYOUTS for part in parts):
        from kerneton.data.bodies import pair_layout

        return pair_layout(*(LAYOUTS[part] for part in parts))
    if "," in layout:
        return layout_of_names("named", joint_names([word.strip() for word in layout.split(",")]))
    near = difflib.get_close_matches(layout, LAYOUTS, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise ParameterError(
        f"no layout {layout!r}{hint}; known layouts are {', '.join(LAYOUTS)}; join two with + for two bodies, "
        "or give joint names separated by commas"
    )


def layout_text(layout: Layout) -> str:
    """A layout as text for a file: its name where it is known, else JSON.

    >>> layout_text(LAYOUTS["kinect20"]), json.loads(layout_text(Layout("two", ["a", "b"])))["joints"]
    ('kinect20', ['a', 'b'])
    """
    if LAYOUTS.get(layout.name) == layout:
        return layout.name
    fields = ("name", "joints", "bones", "root", "sets")
    return json.dumps({field: getattr(layout, field) for field in fields})


def layout_from_text(text: str, where: str) -> Layout:
    """The layout that `layout_text` wrote."""
    if text in LAYOUTS:
        return LAYOUTS[text]
    try:
        fields = json.loads(text)
        if len(fields["joints"]) > MAX_JOINTS or len(fields["bones"]) > MAX_JOINTS:
            raise FormatError(f"a layout of {len(fields['joints'])} joints")
        bones = [(int(a), int(b)) for a, b in fields["bones"]]
        root = None if fields["root"] is None else int(fields["root"])
        sets = {str(key): [int(j) for j in joints] for key, joints in fields["sets"].items()}
        return Layout(str(fields["name"]), [str(joint) for joint in fields["joints"]], bones, root, sets)
    except KernetonError as error:
        raise FormatError(f"{where}: {error}") from error
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise FormatError(
            f"{where}: unknown layout {shorten(text)!r}; known layouts are {', '.join(LAYOUTS)}"
        ) from error


def layout_of_names(name: str, joints: Sequence[str]) -> Layout:
    """A known layout with these joints, its bones where the order differs or some joints lack, or a new one.

    >>> layout_of_names("table", ["head", "neck", "clip"]).bones
    ((1, 0),)
    """
    if (bodies := two_bodies(joints)) is not None:
        from kerneton.data.bodies import pair_layout

        return pair_layout(*(layout_of_names(name, body) for body in bodies))
    whole = [layout for layout in LAYOUTS.values() if layout.joints == tuple(joints)]
    if whole:
        return whole[0]
    holders = [layout for layout in LAYOUTS.values() if set(joints) <= set(layout.joints)]
    if not holders:
        return marker_layout(name, list(joints))
    from kerneton.data.mapping import sub_layout

    return sub_layout(min(holders, key=lambda layout: len(layout.joints)), joints, name=name)


class Renaming(dict[str, str]):
    """New names of joints by old ones, which remembers the old ones that were met."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__(names)
        self.met: set[str] = set()


def rename_joints(sequence: SkeletonSequence, names: Mapping[str, str]) -> SkeletonSequence:
    """A recording with some joints renamed; names that it does not have are passed over.

    >>> import numpy as np
    >>> odd = SkeletonSequence(np.ones((1, 2, 3)), layout=Layout("table", ["head", "rigth_hand"]))
    >>> rename_joints(odd, {"RigthHand": "right_hand"}).layout.joints
    ('head', 'right_hand')
    """
    if sequence.layout is None:
        return sequence
    wanted = {}
    for old, new in names.items():
        found = set(spellings(old)) & set(sequence.layout.joints)
        wanted.update(dict.fromkeys(found, new))
        if found and isinstance(names, Renaming):
            names.met.add(old)
    joints = [wanted.get(joint, joint) for joint in sequence.layout.joints]
    if joints == list(sequence.layout.joints):
        return sequence
    if len(set(joints)) < len(joints):
        twice = next(joint for joint in joints if joints.count(joint) > 1)
        raise DataError(f"recording {sequence.name!r}: after renaming, two joints are named {twice!r}")
    layout = layout_of_names(sequence.layout.name, joints)
    if not layout.bones and sequence.layout.bones:
        was = sequence.layout
        layout = Layout(was.name, joints, was.bones, was.root)
    return sequence.replace(layout=layout)


def spellings(joint: str) -> tuple[str, ...]:
    """How a joint that a user names may stand in a recording: as given, and as Kerneton spells it.

    >>> spellings("RigthHand")
    ('RigthHand', 'rigth_hand')
    """
    return (joint, *(joint_names([joint]) if joint else ()))
