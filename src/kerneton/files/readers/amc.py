"""AMC motion capture with an ASF skeleton in the same folder (Acclaim; the CMU archive and HDM05).

The skeleton is the ``.asf`` file with the same name, or the one whose name is the beginning of the
recording's (``07.asf`` for ``07_02.amc``), or the only one in the folder. The matrices C of a bone,
from its axis, and M, from the values of the frame, are products of rotations about fixed axes, the
first letter of the axis order first: C = R_z R_y R_x for XYZ. With p the parent, d the rest
direction and l the length,

    A_b = A_p C_b M_b C_b⁻¹,    x_b = x_p + A_b l_b d_b,

so a joint is the far end of its bone and is named accordingly: the end of ``lfemur`` is the left
knee. Positions become metres according to the units of the CMU archive, 0.0254 / length; if the
unit of length is 1, which is ambiguous, it is estimated from the size of the skeleton. AMC files do
not state their frame rate (CMU and HDM05: 120).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kerneton.data.layouts import HDM_31, Layout
from kerneton.data.sequence import Conventions, SkeletonSequence
from kerneton.data.stated import Recordings
from kerneton.data.units import UNITS
from kerneton.exceptions import FormatError, MissingDataError
from kerneton.files.readers._kinematics import forward_kinematics, rest_size, rotations
from kerneton.files.readers._names import joint_names
from kerneton.files.readers._text import MAX_JOINTS, read_head, shorten
from kerneton.files.readers._values import check_room, number, read_lines

# Bones of ASF files (HDM05, CMU), by the joint at their far end, as in
# `kerneton.data.layouts.HDM_31`.
_SIDED = {
    **{"shoulder": ("clavicle",), "elbow": ("humerus",), "forearm": ("radius",)},
    **{"hip": ("hipjoint",), "knee": ("femur",), "ankle": ("tibia",)},
}
_CENTRAL = {
    **{"hip_center": ("root",), "spine": ("lowerback",)},
    **{"shoulder_center": ("thorax",), "neck": ("lowerneck",)},
}
ENDS = (_SIDED, _CENTRAL)

Line = tuple[int, list[str]]


@dataclass
class Bone:
    """A bone: direction and length at rest, the axes it turns about, and their order."""

    name: str
    direction: np.ndarray = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0
    axis: np.ndarray = field(default_factory=lambda: np.zeros(3))  # radians about x, y, z
    order: str = "xyz"  # the rotation about the first letter's axis comes first
    dof: tuple[str, ...] = ()  # "rx" and the like, in the order of the AMC file's numbers
    parent: int = -1


@dataclass
class Skeleton:
    """Bones, the root first and parents before children, and the units of the file."""

    bones: list[Bone]
    degrees: bool
    length: float  # the unit of length, in inches divided by this


def read_asf(path: Path) -> Skeleton:
    """Parse an ASF file."""
    sections = _sections(path)
    units = {words[0].lower(): (i, words[1:]) for i, words in sections.get("units", []) if words}
    angle = " ".join(units.get("angle", (0, ["deg"]))[1]).lower()
    if angle not in ("deg", "degrees", "rad", "radians"):
        raise FormatError(
            f"{path}: expected the unit of angles, deg or rad, got {shorten(angle)!r}"
        )
    length = 1.0
    if "length" in units:
        i, words = units["length"]
        length = number(words[0] if words else "", f"{path}, line {i}")
    if not 1e-6 < length < 1e6:
        raise FormatError(f"{path}: a unit of length of {length:g}")
    bones = [_root(path, sections.get("root", [])), *_bones(path, sections.get("bonedata", []))]
    if len(bones) > MAX_JOINTS:
        raise FormatError(f"{path}: more than {MAX_JOINTS} bones")
    degrees = angle.startswith("deg")
    for bone in bones:
        bone.axis = np.deg2rad(bone.axis) if degrees else bone.axis
    return Skeleton(_linked(path, bones, sections.get("hierarchy", [])), degrees, length)


def _sections(path: Path) -> dict[str, list[Line]]:
    sections: dict[str, list[Line]] = {}
    current: list[Line] = []
    for i, line in enumerate(read_lines(path), start=1):
        words = line.partition("#")[0].split()
        if words and words[0].startswith(":"):
            current = sections.setdefault(words[0][1:].lower(), [])
            words = words[1:]
        if words:
            current.append((i, words))
    if missing := [name for name in ("root", "bonedata", "hierarchy") if name not in sections]:
        raise FormatError(f"{path}: not an ASF skeleton, it lacks :{', :'.join(missing)}")
    return sections


def _root(path: Path, lines: list[Line]) -> Bone:
    bone = Bone("root", dof=("tx", "ty", "tz", "rx", "ry", "rz"))
    for i, (key, *words) in lines:
        where = f"{path}, line {i}"
        if key.lower() == "order":
            bone.dof = tuple(word.lower() for word in words)
            known = set(bone.dof) <= {"tx", "ty", "tz", "rx", "ry", "rz"}
            if not known or len(set(bone.dof)) != len(bone.dof):
                got = shorten(" ".join(words))
                raise FormatError(
                    f"{where}: expected an order such as TX TY TZ RX RY RZ, got {got!r}"
                )
        elif key.lower() == "axis":
            bone.order = _order(words[0] if words else "", where)
        elif key.lower() == "position":
            bone.direction, bone.length = _three(words, where), 1.0
        elif key.lower() == "orientation":
            bone.axis = _three(words, where)
    return bone


def _bones(path: Path, lines: list[Line]) -> Iterator[Bone]:
    bone: Bone | None = None
    for i, (key, *words) in lines:
        where, key = f"{path}, line {i}", key.lower()
        if key == "begin":
            bone = Bone("")
        elif bone is None:
            raise FormatError(f"{where}: expected begin, got {shorten(key)!r}")
        elif key == "end":
            if not bone.name:
                raise FormatError(f"{where}: the bone that ends here has no name")
            yield bone
            bone = None
        elif key == "name" and words:
            bone.name = words[0]
        elif key == "direction":
            bone.direction = _three(words, where)
        elif key == "length":
            bone.length = number(words[0] if words else "", where)
        elif key == "axis":
            bone.axis = _three(words[:3], where)
            bone.order = _order(words[3] if len(words) > 3 else "", where)
        elif key == "dof":
            bone.dof = tuple(word.lower() for word in words)
            if not set(bone.dof) <= {"rx", "ry", "rz"} or len(set(bone.dof)) != len(bone.dof):
                raise FormatError(
                    f"{where}: expected rotations rx, ry, rz, got {shorten(' '.join(words))!r}"
                )


def _linked(path: Path, bones: list[Bone], lines: list[Line]) -> list[Bone]:
    """The bones that the hierarchy reaches from the root, parents before children."""
    by_name = {bone.name.lower(): bone for bone in bones}
    if len(by_name) != len(bones):
        raise FormatError(f"{path}: two bones have the same name")
    children: dict[str, list[str]] = {}
    for i, words in lines:
        names = [word.lower() for word in words]
        if len(names) == 1 and names[0] in ("begin", "end"):
            continue
        if unknown := [word for word in names if word not in by_name]:
            raise FormatError(f"{path}, line {i}: no bone is named {shorten(unknown[0])!r}")
        children.setdefault(names[0], []).extend(names[1:])
    ordered: list[Bone] = []
    placed: set[str] = set()
    to_do = [("root", -1)]
    while to_do:
        name, parent = to_do.pop()
        if name in placed:
            raise FormatError(f"{path}: bone {shorten(name)!r} has two parents")
        placed.add(name)
        by_name[name].parent = parent
        ordered.append(by_name[name])
        to_do += [(child, len(ordered) - 1) for child in reversed(children.get(name, []))]
    return ordered


def _three(words: list[str], where: str) -> np.ndarray:
    if len(words) != 3:
        raise FormatError(f"{where}: expected three numbers, got {len(words)}")
    return np.array([number(word, where) for word in words])


def _order(word: str, where: str) -> str:
    if sorted(word.lower()) != ["x", "y", "z"]:
        raise FormatError(f"{where}: expected an order of axes such as XYZ, got {shorten(word)!r}")
    return word.lower()


NAMES_JOINTS, STATES = True, {"unit": None, "up": None}


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the file starts, after comments, with a declaration of AMC or ASF."""
    return _opens(head, b":FULLY-SPECIFIED", b":DEGREES", b":RADIANS") or _opens(
        head, b":VERSION", b":NAME"
    )


def _opens(head: bytes, *words: bytes) -> bool:
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines()[:100]:
        word = line.strip().upper()
        if word and not word.startswith(b"#"):
            return word.split()[0] in words
    return False


def read(path: Path) -> list[SkeletonSequence]:
    """The one recording of an AMC file."""
    if _opens(read_head(path, 1 << 14), b":VERSION", b":NAME"):
        motions = sorted(
            file.name for file in path.parent.glob("*") if file.suffix.lower() == ".amc"
        )
        there = f"; its folder contains {shorten(', '.join(motions), 120)}" if motions else ""
        raise FormatError(
            f"{path}: an ASF skeleton, which contains no motion: give its AMC file{there}"
        )
    skeleton = read_asf(find_skeleton(path))
    bones, (values, rate) = skeleton.bones, _values(path, skeleton)
    parents = [bone.parent for bone in bones]
    positions = forward_kinematics(
        parents, lambda frames: moves(bones, values[frames]), len(values)
    )
    unit, stated = _unit(skeleton), skeleton.length != 1
    positions *= UNITS[unit] / skeleton.length
    names = joint_names([bone.name for bone in bones], ends=ENDS)
    layout = HDM_31
    if tuple(names) != HDM_31.joints:
        links = [(parent, i) for i, parent in enumerate(parents) if parent >= 0]
        layout = Layout(f"amc{len(names)}", names, bones=links, root=0)
    sequence = SkeletonSequence(positions, layout=layout, name=path.stem, fps=rate)
    return Recordings(
        [sequence], Conventions(unit, "y", stated=("unit", "up") if stated else ("up",))
    )


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
    """Shift (T, 3) of the far end and rotation (T, 3, 3) of each bone from values (T, C), angles in
    radians.

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
            yield (
                rest + np.stack([given.get(name, zero) for name in ("tx", "ty", "tz")], axis=1),
                rotation,
            )


def _values(path: Path, skeleton: Skeleton) -> tuple[np.ndarray, float | None]:
    """Values (T, C) with angles in radians, NaN where a frame leaves a bone out, and the frame
    rate.
    """
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
    size = rest_size(
        [bone.parent for bone in bones], [bone.length * bone.direction for bone in bones]
    )
    return "mm" if size > 500 else "cm" if size > 100 else "in" if size > 10 else "m"
