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

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kerneton.data.layouts import HDM_31, Layout
from kerneton.data.sequence import Conventions, SkeletonSequence
from kerneton.data.stated import Recordings
from kerneton.data.units import UNITS
from kerneton.exceptions import FormatError, MissingDataError
from kerneton.files.readers._asf import ENDS, Bone, Skeleton, read_asf
from kerneton.files.readers._kinematics import forward_kinematics, rest_size, rotations
from kerneton.files.readers._names import joint_names
from kerneton.files.readers._text import read_head, shorten
from kerneton.files.readers._values import check_room, number, read_lines

NAMES_JOINTS, STATES = True, {"unit": None, "up": None}


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the file starts, after comments, with a declaration of AMC or ASF."""
    return _opens(head, b":FULLY-SPECIFIED", b":DEGREES", b":RADIANS") or _opens(head, b":VERSION", b":NAME")


def _opens(head: bytes, *words: bytes) -> bool:
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines()[:100]:
        word = line.strip().upper()
        if word and not word.startswith(b"#"):
            return word.split()[0] in words
    return False


def read(path: Path) -> list[SkeletonSequence]:
    """The one recording of an AMC file."""
    if _opens(read_head(path, 1 << 14), b":VERSION", b":NAME"):
        motions = sorted(file.name for file in path.parent.glob("*") if file.suffix.lower() == ".amc")
        there = f"; its folder contains {shorten(', '.join(motions), 120)}" if motions else ""
        raise FormatError(f"{path}: an ASF skeleton, which contains no motion: give its AMC file{there}")
    skeleton = read_asf(find_skeleton(path))
    bones, (values, rate) = skeleton.bones, _values(path, skeleton)
    parents = [bone.parent for bone in bones]
    positions = forward_kinematics(parents, lambda frames: moves(bones, values[frames]), len(values))
    unit, stated = _unit(skeleton), skeleton.length != 1
    positions *= UNITS[unit] / skeleton.length
    names = joint_names([bone.name for bone in bones], ends=ENDS)
    layout = HDM_31
    if tuple(names) != HDM_31.joints:
        links = [(parent, i) for i, parent in enumerate(parents) if parent >= 0]
        layout = Layout(f"amc{len(names)}", names, bones=links, root=0)
    sequence = SkeletonSequence(positions, layout=layout, name=path.stem, fps=rate)
    return Recordings([sequence], Conventions(unit, "y", stated=("unit", "up") if stated else ("up",)))


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
    wanted = f"its ASF skeleton in the same folder, {path.stem}.asf or the only one there"
    raise MissingDataError(f"{path}: needs {wanted}; found {found}")


def moves(bones: list[Bone], values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Shift (T, 3) of the far end and rotation (T, 3, 3) of each bone from values (T, C), angles in radians.

    >>> bone = Bone("rod", np.array([0.0, 1, 0]), 2.0, dof=("rz",), parent=0)
    >>> [(shift, _)] = moves([bone], np.array([[np.pi / 2]]))
    >>> shift.round(6) + 0
    array([[-2.,  0.,  0.]])
    """
    columns = iter(values.T)
    for bone in bones:
        given = {name: next(columns) for name in bone.dof}
        axis = np.eye(3)
        rotation = np.broadcast_to(np.eye(3), (len(values), 3, 3))
        for letter in bone.order:
            a = "xyz".index(letter)
            axis = rotations(a, np.array([bone.axis[a]]))[0] @ axis
            if f"r{letter}" in given:
                rotation = rotations(a, given[f"r{letter}"]) @ rotation
        rotation = axis @ rotation @ axis.T
        rest = bone.length * bone.direction
        if bone.parent >= 0:
            yield rotation @ rest, rotation
        else:
            zero = np.zeros(len(values))
            yield rest + np.stack([given.get(name, zero) for name in ("tx", "ty", "tz")], axis=1), rotation


def _values(path: Path, skeleton: Skeleton) -> tuple[np.ndarray, float | None]:
    """Values (T, C) with angles in radians, NaN where a frame leaves a bone out, and the frame rate."""
    columns: dict[str, slice] = {}
    dof: list[str] = []  # of each column
    for bone in skeleton.bones:
        columns[bone.name.lower()] = slice(len(dof), len(dof) + len(bone.dof))
        dof += bone.dof
    width = len(dof)
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
                f"{where}: expected a frame number or a bone of the skeleton, got {shorten(key)!r}"
            )
        else:
            place = columns[key]
            expected = f"{place.stop - place.start} degrees of freedom"
            if len(words) - 1 != place.stop - place.start:
                raise FormatError(
                    f"{where}: bone {shorten(key)!r} has {expected}, got {len(words) - 1} numbers"
                )
            values[t, place] = [number(word, where) for word in words[1:]]
            used[place] = True
    values[:, ~used] = 0.0  # bones that never occur in the recording stay in the rest pose
    angles = [column for column, name in enumerate(dof) if name[0] == "r"]
    if degrees:
        values[:, angles] = np.deg2rad(values[:, angles])
    return values, rate if rate and rate > 0 else None


def _unit(skeleton: Skeleton) -> str:
    if skeleton.length != 1:
        return "in"
    bones = skeleton.bones
    size = rest_size([bone.parent for bone in bones], [bone.length * bone.direction for bone in bones])
    return "mm" if size > 500 else "cm" if size > 100 else "in" if size > 10 else "m"
