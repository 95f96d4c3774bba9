"""ASF skeletons: the bones of an AMC file, with their axes and degrees of freedom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kerneton.exceptions import FormatError
from kerneton.files.readers._text import MAX_JOINTS, shorten
from kerneton.files.readers._values import number, read_lines

# Bones of ASF files (HDM05, CMU), by the joint at their far end, as in `kerneton.data.layouts.HDM_31`.
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
    """A bone: direction and length at rest, the axes it turns about, and the order of its values."""

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
        raise FormatError(f"{path}: expected the unit of angles, deg or rad, got {shorten(angle)!r}")
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
                raise FormatError(f"{where}: expected an order such as TX TY TZ RX RY RZ, got {got!r}")
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
                raise FormatError(f"{where}: expected rotations rx, ry, rz, got {shorten(' '.join(words))!r}")


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
