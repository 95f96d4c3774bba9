"""AMC motion capture with an ASF skeleton in the same folder (Acclaim; the CMU archive and HDM05).

The skeleton is the ``.asf`` file with the same name, or the one whose name is the beginning of the recording's (``07.asf`` for
``07_02.amc``), or the only one in the folder. The matrices C of a bone, from its axis, and M, from the values of the frame, are
products of rotations about fixed axes, the first letter of the axis order first: C = R_z R_y R_x for XYZ. With p the
parent, d the rest direction and l the length,

    A_b = A_p C_b M_b C_b⁻¹,    x_b = x_p + A_b l_b d_b,

so a joint is the far end of its bone and is named accordingly: the end of ``lfemur`` is the left knee. Positions
become metres according to the units of the CMU archive, 0.0254 / length; if the unit of length is 1, which is ambiguous, it
is estimated from the size of the skeleton. AMC files do not state their frame rate (CMU and HDM05: 120).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kerneton.data.layouts import HDM_31, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, MissingDataError
from kerneton.files.readers._asf import Bone, Skeleton, read_asf
from kerneton.files.readers._kinematics import rotations
from kerneton.files.readers._names import joint_names
from kerneton.files.readers._text import shorten
from kerneton.files.readers._values import check_room, number, read_head, read_lines

NAMES_JOINTS, STATES = True, ("unit", "up")
_BLOCK = 2048  # frames whose rotations are held at once


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the file opens, after comments, with one of AMC's declarations, or with ASF's."""
    return _opens(head, b":FULLY-SPECIFIED", b":DEGREES", b":RADIANS") or _opens(head, b":VERSION", b":NAME")


def _opens(head: bytes, *words: bytes) -> bool:
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines()[:100]:
        word = line.strip().upper()
        if word and not word.startswith(b"#"):
            return word.split()[0] in words
    return False


def read(path: Path, *, skeleton: Path | None = None, scale: float | None = None) -> list[SkeletonSequence]:
    """The one recording of an AMC file; ``scale`` is the length of its unit in metres."""
    path = Path(path)
    if _opens(read_head(path, 1 << 14), b":VERSION", b":NAME"):
        motions = sorted(file.name for file in path.parent.glob("*") if file.suffix.lower() == ".amc")
        there = f"; its folder contains {shorten(', '.join(motions), 120)}" if motions else ""
        raise FormatError(f"{path}: an ASF skeleton, which contains no motion: give its AMC file{there}")
    bones = read_asf(Path(skeleton) if skeleton is not None else find_skeleton(path))
    values, rate = _values(path, bones)
    positions = forward_kinematics(bones.bones, values)
    positions *= _unit(bones) if scale is None else scale
    names = joint_names([bone.name for bone in bones.bones], ends=True)
    layout = HDM_31
    if tuple(names) != HDM_31.joints:
        links = [(bone.parent, i) for i, bone in enumerate(bones.bones) if bone.parent >= 0]
        layout = Layout(f"amc{len(names)}", names, bones=links, root=0)
    return [SkeletonSequence(positions, layout=layout, name=path.stem, fps=rate)]


def find_skeleton(path: Path) -> Path:
    """The ASF file that belongs to an AMC file."""
    try:
        here = sorted(p for p in path.parent.iterdir() if p.suffix.lower() == ".asf")
    except OSError as error:
        raise MissingDataError(f"{path.parent}: cannot be read: {error.strerror}") from error
    named = [p for p in here if path.stem.lower().startswith(p.stem.lower())]
    if named:
        return max(named, key=lambda p: len(p.stem))
    if len(here) == 1:
        return here[0]
    found = f"several: {', '.join(p.name for p in here[:5])}" if here else "none"
    raise MissingDataError(
        f"{path}: needs its ASF skeleton in the same folder, {path.stem}.asf or the only one there; found {found}"
    )


def forward_kinematics(bones: list[Bone], values: np.ndarray) -> np.ndarray:
    """Positions (T, J, 3) of the far ends from values (T, C), angles in radians, columns in the bones' order.

    >>> bones = [Bone("root", dof=("tx", "rz")), Bone("rod", np.array([0.0, 1, 0]), 2.0, dof=("rz",), parent=0)]
    >>> forward_kinematics(bones, np.array([[5.0, 0.0, np.pi / 2]])).round(6) + 0
    array([[[5., 0., 0.], [3., 0., 0.]]])
    """
    positions = np.empty((len(values), len(bones), 3))
    for start in range(0, len(values), _BLOCK):
        _place(bones, values[start : start + _BLOCK], positions[start : start + _BLOCK])
    return positions


def _place(bones: list[Bone], values: np.ndarray, positions: np.ndarray) -> None:
    turns: dict[int, np.ndarray] = {}
    column = 0
    for i, bone in enumerate(bones):
        for old in [k for k in turns if k > bone.parent]:
            del turns[old]  # bones are ordered depth first
        moves = {name: values[:, column + k] for k, name in enumerate(bone.dof)}
        column += len(bone.dof)
        axis = np.eye(3)
        for letter in bone.order:
            a = "xyz".index(letter)
            axis = rotations(a, np.array([bone.axis[a]]))[0] @ axis
        turn = np.broadcast_to(np.eye(3), (len(values), 3, 3))
        for letter in bone.order:
            if f"r{letter}" in moves:
                turn = rotations("xyz".index(letter), moves[f"r{letter}"]) @ turn
        turn = axis @ turn @ axis.T
        rest = bone.length * bone.direction
        if bone.parent < 0:
            positions[:, i] = rest
            for a, letter in enumerate("xyz"):
                positions[:, i, a] += moves.get(f"t{letter}", 0.0)
        else:
            turn = turns[bone.parent] @ turn
            positions[:, i] = positions[:, bone.parent] + turn @ rest
        turns[i] = turn


def _values(path: Path, skeleton: Skeleton) -> tuple[np.ndarray, float | None]:
    """Values (T, C) with angles in radians, NaN where a frame leaves a bone out, and the frame rate."""
    columns: dict[str, slice] = {}
    for bone in skeleton.bones:
        start = columns[next(reversed(columns))].stop if columns else 0
        columns[bone.name.lower()] = slice(start, start + len(bone.dof))
    width = columns[next(reversed(columns))].stop
    lines = [line.partition("#")[0].split() for line in read_lines(path)]
    n_frames = sum(len(words) == 1 and words[0].isdigit() for words in lines)
    if n_frames == 0:
        raise FormatError(f"{path}: no line with the number of a frame")
    check_room(path, n_frames, max(width // 3 + 1, len(skeleton.bones)))
    values = np.full((n_frames, width), np.nan)
    used = np.zeros(width, dtype=bool)
    t, degrees, rate = -1, skeleton.degrees, None
    for i, words in enumerate(lines, start=1):
        if not words:
            continue
        where, key = f"{path}, line {i}", words[0].lower()
        if key.startswith(":"):
            degrees = {":degrees": True, ":radians": False}.get(key, degrees)
            if key == ":samples-per-second" and len(words) == 2:
                rate = number(words[1], where)
        elif len(words) == 1 and key.isdigit():
            t += 1
        elif t < 0 or key not in columns:
            raise FormatError(
                f"{where}: expected a frame's number or a bone of the skeleton, got {shorten(key)!r}"
            )
        else:
            place = columns[key]
            if len(words) - 1 != place.stop - place.start:
                raise FormatError(
                    f"{where}: bone {shorten(key)!r} has {place.stop - place.start} degrees of freedom, got {len(words) - 1} numbers"
                )
            values[t, place] = [number(word, where) for word in words[1:]]
            used[place] = True
    values[:, ~used] = 0.0  # bones that the recording never mentions rest
    angles = [
        c
        for bone in skeleton.bones
        for c, d in zip(_range(columns, bone), bone.dof, strict=True)
        if d[0] == "r"
    ]
    if degrees:
        values[:, angles] = np.deg2rad(values[:, angles])
    return values, rate if rate and rate > 0 else None


def _range(columns: dict[str, slice], bone: Bone) -> range:
    place = columns[bone.name.lower()]
    return range(place.start, place.stop)


def _unit(skeleton: Skeleton) -> float:
    if skeleton.length != 1:
        return 0.0254 / skeleton.length
    rest = np.zeros((len(skeleton.bones), 3))
    for i, bone in enumerate(skeleton.bones):
        if bone.parent >= 0:
            rest[i] = rest[bone.parent] + bone.length * bone.direction
    size = np.ptp(rest, axis=0).max()
    return 0.001 if size > 500 else 0.01 if size > 100 else 0.0254 if size > 10 else 1.0
