"""BVH motion capture: a hierarchy of joints and rows of channel values, from which positions are
computed.

The rotation of a joint is the product of its rotation channels in the order of the file, angles in
degrees: with ``CHANNELS 3 Zrotation Xrotation Yrotation``, R = R_z R_x R_y. A position channel of
any joint replaces the same component of OFFSET. With p the parent,

    A_j = A_p R_j,    x_j = x_p + A_p t_j,    x_root = t_root.

Known joint names are translated to the package's joint names (see `kerneton.files.readers._names`).
An end site is named after its joint, such as ``head_end``, but the end of the wrist is the hand,
and the end of the ankle the foot. The format states neither unit nor vertical axis:
`kerneton.load_folder` and the commands detect them from the bodies. Otherwise y is assumed to point
up, and a rest pose wider or higher than 500 to be in millimetres, than 10 in centimetres, else in
metres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kerneton.data.layouts import Layout, sides
from kerneton.data.sequence import Conventions, SkeletonSequence
from kerneton.data.stated import Recordings
from kerneton.data.units import UNITS
from kerneton.exceptions import FormatError, ParameterError
from kerneton.files.output import write_text
from kerneton.files.readers._kinematics import forward_kinematics, rest_size, rotations
from kerneton.files.readers._names import joint_names
from kerneton.files.readers._text import MAX_JOINTS, shorten
from kerneton.files.readers._values import (
    check_room,
    check_values,
    number,
    number_block,
    read_lines,
    whole_number,
)

WRITES = (".bvh",)
NAMES_JOINTS, STATES = True, {"unit": None, "up": None}
_CHANNELS = {
    f"{axis}{kind}": (kind, i) for i, axis in enumerate("xyz") for kind in ("position", "rotation")
}
_TIPS = dict(zip(sides("wrist", "ankle"), sides("hand", "foot"), strict=True))
_METRES = 10  # a rest pose larger than this is not in metres


@dataclass
class Joint:
    """A joint of the hierarchy: its rest offset from the parent and its channels, ("rotation",
    axis) each.
    """

    name: str
    parent: int  # -1 for a root
    offset: np.ndarray = field(default_factory=lambda: np.zeros(3))
    channels: list[tuple[str, int]] = field(default_factory=list)
    end: bool = False


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the file starts with the word HIERARCHY."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:9].upper() == b"HIERARCHY"


def read(path: Path) -> list[SkeletonSequence]:
    """The one recording of a BVH file; the tips of heads, hands and feet are joints as well.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.bvh"
    >>> _ = file.write_text('''HIERARCHY
    ... ROOT Hips { OFFSET 0 0 0 CHANNELS 3 Xposition Yposition Zposition
    ...   JOINT LeftUpLeg { OFFSET 0.1 0 0 CHANNELS 1 Xrotation
    ...     End Site { OFFSET 0 -1 0 } } }
    ... MOTION
    ... Frames: 2
    ... Frame Time: 0.04
    ... 0 1 0  0
    ... 0 1 0  90''')
    >>> (recording,) = read(file)
    >>> recording.layout.joints, recording.fps
    (('hip_center', 'left_hip', 'left_hip_end'), 25.0)
    >>> recording.joints[1].round(6) + 0
    array([[ 0. , 1. ,  0. ], [ 0.1, 1. ,  0. ], [ 0.1, 1. , -1. ]])
    """
    lines = read_lines(path)
    motion = next((i for i, line in enumerate(lines) if line.strip().upper() == "MOTION"), None)
    if motion is None:
        raise FormatError(f"{path}: no line MOTION, so no frames")
    joints = _hierarchy(path, lines[:motion])
    values, fps = _motion(path, lines, motion, sum(len(joint.channels) for joint in joints))
    check_room(path, len(values), len(joints))
    parents = [joint.parent for joint in joints]
    positions = forward_kinematics(
        parents, lambda frames: moves(joints, values[frames]), len(values)
    )
    size = rest_size(parents, [joint.offset for joint in joints])
    unit = "mm" if size > 500 else "cm" if size > _METRES else "m"
    positions *= UNITS[unit]
    sequence = SkeletonSequence(positions, layout=_layout(joints), name=path.stem, fps=fps)
    return Recordings([sequence], Conventions(unit, "y"))


def moves(joints: list[Joint], values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Shift (T, 3) and rotation (T, 3, 3) of each joint from channel values (T, C), angles in
    degrees.
    """
    columns = iter(values.T)
    for joint in joints:
        shift = np.broadcast_to(joint.offset, (len(values), 3)).copy()
        rotation = np.broadcast_to(np.eye(3), (len(values), 3, 3))
        for kind, axis in joint.channels:
            column = next(columns)
            if kind == "position":
                shift[:, axis] = column
            else:
                rotation = rotation @ rotations(axis, np.deg2rad(column))
        yield shift, rotation


def _words(lines: list[str]) -> Iterator[tuple[str, int]]:
    for i, line in enumerate(lines, start=1):
        for word in line.replace("{", " { ").replace("}", " } ").split():
            yield word, i


def _hierarchy(path: Path, lines: list[str]) -> list[Joint]:
    words = _words(lines)
    joints: list[Joint] = []
    open_joints: list[int] = []  # from the root to the joint whose braces are open
    line = 1

    def take(what: str) -> str:
        nonlocal line
        try:
            word, line = next(words)
        except StopIteration:
            raise FormatError(
                f"{path}, line {line}: the hierarchy ends where {what} is expected"
            ) from None
        return word

    def where() -> str:
        return f"{path}, line {line}"

    if take("HIERARCHY").upper() != "HIERARCHY":
        raise FormatError(f"{where()}: expected HIERARCHY")
    for word, at in words:
        line, key = at, word.upper()
        if key in ("ROOT", "JOINT", "END"):
            name = " ".join(iter(lambda: take("{"), "{"))
            _check_place(where(), key, name, open_joints, joints)
            joints.append(Joint(name, open_joints[-1] if open_joints else -1, end=key == "END"))
            open_joints.append(len(joints) - 1)
        elif key == "}" and open_joints:
            open_joints.pop()
        elif key == "OFFSET" and open_joints:
            joints[open_joints[-1]].offset = np.array(
                [number(take("an offset"), where()) for _ in range(3)]
            )
        elif key == "CHANNELS" and open_joints:
            joints[open_joints[-1]].channels = _channels(take, where)
        else:
            raise FormatError(
                f"{where()}: expected a joint, OFFSET, CHANNELS or }}, got {shorten(word)!r}"
            )
    if open_joints:
        raise FormatError(
            f"{where()}: joint {shorten(joints[open_joints[-1]].name)!r} is never closed by }}"
        )
    if not joints:
        raise FormatError(f"{where()}: the hierarchy contains no joint")
    return joints


def _check_place(
    where: str, key: str, name: str, open_joints: list[int], joints: list[Joint]
) -> None:
    if (key == "ROOT") == bool(open_joints):
        place = "inside" if open_joints else "outside"
        raise FormatError(f"{where}: {key} {shorten(name)!r} is {place} a joint")
    if open_joints and joints[open_joints[-1]].end:
        raise FormatError(f"{where}: {key} {shorten(name)!r} is inside an end site")
    if len(joints) == MAX_JOINTS:
        raise FormatError(f"{where}: more than {MAX_JOINTS} joints")


def _channels(take: Callable[[str], str], where: Callable[[], str]) -> list[tuple[str, int]]:
    count = whole_number(take("the number of channels"), where(), "number of channels")
    if count > 6:
        raise FormatError(f"{where()}: a joint has at most 6 channels, this one {count}")
    channels = []
    for _ in range(count):
        word = take("a channel")
        if word.lower() not in _CHANNELS:
            raise FormatError(
                f"{where()}: expected a channel such as Xrotation, got {shorten(word)!r}"
            )
        channels.append(_CHANNELS[word.lower()])
    return channels


def _motion(
    path: Path, lines: list[str], motion: int, n_channels: int
) -> tuple[np.ndarray, float | None]:
    """Channel values (T, C) and the frame rate."""
    n_frames = step = None
    at = motion + 1
    while at < len(lines) and (n_frames is None or step is None):
        key, _, value = lines[at].strip().partition(":")
        where, key = f"{path}, line {at + 1}", "".join(key.split()).lower()
        if key == "frames":
            n_frames = whole_number(value.strip(), where, "number of frames")
        elif key == "frametime":
            step = number(value.strip(), where)
        elif key:
            got = shorten(lines[at].strip())
            raise FormatError(f"{where}: expected 'Frames:' and 'Frame Time:', got {got!r}")
        at += 1
    if n_frames is None or step is None:
        raise FormatError(
            f"{path}: MOTION lacks {'Frames:' if n_frames is None else 'Frame Time:'}"
        )
    if n_frames == 0 or n_channels == 0:
        raise FormatError(
            f"{path}: {n_frames} frames of {n_channels} channels: the file contains no motion"
        )
    values = number_block(path, lines[at:], at + 1)
    if len(values) != n_frames * n_channels:
        expected = f"{n_frames} frames of {n_channels} channels are {n_frames * n_channels} numbers"
        raise FormatError(f"{path}: {expected}, the file contains {len(values)}")
    check_values(path, values, "channels")
    return values.reshape(n_frames, n_channels), 1 / step if step > 1e-6 else None


def _layout(joints: list[Joint]) -> Layout:
    inner = [i for i, joint in enumerate(joints) if not joint.end]
    names = dict(zip(inner, joint_names([joints[i].name for i in inner]), strict=True))
    taken = set(names.values())
    for i, joint in enumerate(joints):
        if joint.end:
            base = _TIPS.get(names[joint.parent], f"{names[joint.parent]}_end")
            base = base if base not in taken else f"{names[joint.parent]}_end"
            n = next(
                n for n in range(1, len(joints) + 2) if f"{base}{n if n > 1 else ''}" not in taken
            )
            names[i] = f"{base}{n if n > 1 else ''}"
            taken.add(names[i])
    bones = [(joint.parent, i) for i, joint in enumerate(joints) if joint.parent >= 0]
    return Layout(f"bvh{len(joints)}", [names[i] for i in range(len(joints))], bones, root=0)


def write(sequences: Sequence[SkeletonSequence], path: Path) -> None:
    """Write one recording, in metres, with three position channels per joint and no rotations.

    Animation programs read it as a skeleton whose bones may stretch; `read` returns the same
    positions. Offsets are the median bones, missing joints are NaN.
    """
    if len(sequences) != 1:
        raise ParameterError(
            f"{path}: a BVH file can contain only one recording, got {len(sequences)}"
        )
    (sequence,) = sequences
    layout = sequence.layout
    if layout is None or layout.root is None or len(layout.bones) != len(layout.joints) - 1:
        raise ParameterError(
            f"{path}: BVH needs bones that connect every joint to one root; write .csv, .trc or .npz"
        )
    parents = layout.parents
    shifts = sequence.joints - np.where((parents >= 0)[:, None], sequence.joints[:, parents], 0)
    order, lines = _declare(layout, _median_bones(shifts))
    rows = shifts[:, order].reshape(sequence.n_frames, -1)
    lines += ["MOTION", f"Frames: {len(rows)}", f"Frame Time: {1 / (sequence.fps or 30):.9g}"]
    lines += [" ".join(f"{value:.9g}" for value in row) for row in rows]
    write_text(path, "\n".join(lines) + "\n")


def _median_bones(shifts: np.ndarray) -> np.ndarray:
    """(J, 3) medians over the frames; zeros if they would not be read as metres."""
    bones = np.zeros(shifts.shape[1:])
    for joint, bone in enumerate(shifts.swapaxes(0, 1)):
        known = bone[~np.isnan(bone).any(axis=1)]
        if len(known):
            bones[joint] = np.median(known, axis=0)
    return bones if np.abs(bones).sum() < _METRES else np.zeros_like(bones)


def _declare(layout: Layout, offsets: np.ndarray) -> tuple[list[int], list[str]]:
    """The joints in the order of the file, and the lines of its hierarchy."""
    children: dict[int, list[int]] = {}
    for parent, child in layout.bones:
        children.setdefault(parent, []).append(child)
    order, lines = [], ["HIERARCHY"]
    to_do = [(layout.root or 0, 0)]
    while to_do:
        joint, depth = to_do.pop()
        tab = "  " * depth
        if joint < 0:
            lines.append(f"{tab}}}")
            continue
        order.append(joint)
        offset = " ".join(f"{value:.9g}" for value in offsets[joint])
        lines += [f"{tab}{'JOINT' if depth else 'ROOT'} {layout.joints[joint]}", f"{tab}{{"]
        lines += [f"{tab}  OFFSET {offset}", f"{tab}  CHANNELS 3 Xposition Yposition Zposition"]
        to_do.append((-1, depth))
        to_do += [(child, depth + 1) for child in reversed(children.get(joint, []))]
    return order, lines
