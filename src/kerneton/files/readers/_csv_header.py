"""What the columns of a table mean: coordinates of all joints, or of one joint per row, labels and so on."""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from kerneton.data.layouts import Layout
from kerneton.exceptions import FormatError
from kerneton.files.readers._text import MAX_JOINTS, number, parse, shorten

_CONFIDENCE = "confidence|conf|c|score|visibility|vis|v|likelihood|presence|probability"
ROLES = {
    "frame": {"frame", "frame_id", "frame_number", "frame_no", "frameid", "framenumber", "frame_index"},
    "time": {
        *("time", "timestamp", "t", "seconds", "sec", "ms"),
        *(
            f"{word}_{unit}"
            for word in ("time", "timestamp")
            for unit in ("s", "ms", "us", "ns", "sec", "seconds")
        ),
    },
    "joint": {"joint", "joint_name", "jointname", "landmark", "keypoint", "marker", "bodypart", "joint_id"},
    "label": {"label", "action", "activity", "class", "gesture"},
    "subject": {"subject", "actor", "participant", "subject_id", "user"},
    "body": {
        *("person", "person_id", "body", "body_id", "skeleton", "skeleton_id", "track", "track_id"),
        *("tracking_id", "player"),
    },
    "recording": {"recording", "sequence", "clip", "video", "take", "trial", "sample"},
}
_AFTER = re.compile(rf"(.+?)[_.:/\s-]+\(?([xyz]|{_CONFIDENCE})\)?", re.IGNORECASE)
_CAMEL = re.compile(r"(.*[a-z0-9])([XYZ])")
_BEFORE = re.compile(rf"([xyz]|{_CONFIDENCE})[_.:/\s-]*(\d+)|([xyz])[_.:/\s-]+(.+)", re.IGNORECASE)
_UNIT = re.compile(
    r"(?<=[xyz])\s*([\[(][^\])]{1,12}[\])]|[ _](mm|cm|m|px))$", re.IGNORECASE
)  # head_x (mm), head_x_mm
_NO_PLACE = re.compile(  # hip_rot_x, HipRotationX: a joint has other coordinates as well
    r".*([_.:/\s-]((?i:rot|rotation|orientation|quat|quaternion|euler|vel|velocity|acc|acceleration))|"
    r"[a-z0-9](Rot|Rotation|Orientation|Quat|Quaternion|Euler|Vel|Velocity|Acc|Acceleration))"
)
_WORDS = "pos|position|loc|location|coord|coordinate|trans|translation|translate"
_PLACE = re.compile(rf"[_.:/\s-]*({_WORDS})$", re.IGNORECASE)
_LOOSE = (  # other ways to write head_x: head[x], head_px, head_x_pos, head_translate_x, pos_x_head, pos_x
    (re.compile(r"[_.:/\s-]*[\[(]([xyz])[\])]$", re.IGNORECASE), r"_\1"),
    (re.compile(r"(?<=[_.:/\s-])[pt]([xyz])$", re.IGNORECASE), r"\1"),
    (re.compile(rf"(?<=[_.:/\s-])([xyz])[_.:/\s-]({_WORDS})$", re.IGNORECASE), r"\1"),
    (re.compile(rf"[_.:/\s-]({_WORDS})[_.:/\s-]?([xyz])$", re.IGNORECASE), r"_\2"),
    (re.compile(rf"^({_WORDS}|[pt])[_.:/\s-]*([xyz])(?![a-z])", re.IGNORECASE), r"\2"),
)
_CLOCK = re.compile(
    r"(?:(\d{4})-(\d\d)-(\d\d)[T ]+)?(\d{1,2}):(\d\d):(\d\d(?:[.,]\d+)?)(?:Z|[+-]\d\d:?\d\d)?"
)
_MAX_NAME, _MAX_COLUMNS, _MAX_HEADER_ROWS = 200, 20_000, 4
_AXES = ("x", "y", "z", "c")


@dataclass
class Columns:
    """Positions of columns; -1 is a column that is not there."""

    width: int
    roles: dict[str, int] = field(default_factory=dict)
    joints: dict[str, list[int]] = field(default_factory=dict)  # wide: x, y, z, confidence of each joint
    point: list[int] = field(default_factory=list)  # long: x, y, z, confidence of the row's joint
    cells: Sequence[str] = field(default=(), repr=False)  # the header

    @cached_property
    def places(self) -> list[tuple[int, float]]:
        """Column and default of every value that a row gives; no z is 0, no confidence is 1."""
        groups = [self.point] if self.point else list(self.joints.values())
        return [pair for group in groups for pair in zip(group, (0.0, 0.0, 0.0, 1.0), strict=True)]


def parse_header(cells: Sequence[str], where: str) -> Columns:
    """The meaning of a header row.

    >>> parse_header(["frame", "head_x", "head_y", "head_z"], "nod.csv")
    Columns(width=4, roles={'frame': 0}, joints={'head': [1, 2, 3, -1]}, point=[])
    >>> parse_header(["frame", "joint", "x", "y", "z"], "nod.csv").point
    [2, 3, 4, -1]
    """
    if len(cells) > _MAX_COLUMNS:
        raise FormatError(f"{where}: {len(cells)} columns; at most {_MAX_COLUMNS} are read")
    columns = _columns(cells, where)
    if not columns.joints and not columns.point:  # only then, since head_px may occur with head_x
        columns = _columns(_loosened(cells), where)
        columns.cells = cells  # as the file writes them
    if not columns.point:
        _check_joints(columns, where, cells)
    return columns


def _columns(cells: Sequence[str], where: str) -> Columns:
    columns = Columns(len(cells), cells=cells)
    bare = [-1, -1, -1, -1]
    for i, cell in enumerate(cells):
        name = _UNIT.sub("", cell.strip().strip("\"'").strip())
        plain = re.sub(r"[\s()\[\]-]+", "_", name.lower()).strip("_")
        role = next((role for role, names in ROLES.items() if plain in names), None)
        axis = _axis(plain)
        if role is not None and role not in columns.roles:
            columns.roles[role] = i
        elif axis is not None and bare[axis] < 0:
            bare[axis] = i
        elif (found := _joint_axis(name)) is not None:
            joint, axis = found
            places = columns.joints.setdefault(joint, [-1, -1, -1, -1])
            if places[axis] >= 0:
                both = f"columns {places[axis] + 1} and {i + 1}"
                raise FormatError(f"{where}: {both} are both {shorten(name)!r}")
            places[axis] = i
    if "joint" in columns.roles and bare[0] >= 0 and bare[1] >= 0:
        if "frame" not in columns.roles and "time" not in columns.roles:
            raise FormatError(f"{where}: one joint per row, but no column 'frame' or 'time'")
        columns.joints, columns.point = {}, bare
        return columns
    columns.joints = {joint: places for joint, places in columns.joints.items() if max(places[:3]) >= 0}
    return columns


def _loosened(cells: Sequence[str]) -> list[str]:
    """Names of columns that are written in other ways, as they are usually written.

    >>> _loosened(["head_px", "Neck Position (y)", "hipz", "HIPX", "hipy", "pos_x", "head_rx"])
    ['head_x', 'Neck_y', 'hip_z', 'HIP_x', 'hip_y', 'x', 'head_rx']
    """
    numbered = (
        re.sub(r"^([xyzXYZ])[\[(](\d+)[\])]$", r"\1_\2", cell.strip().strip("\"'").strip()) for cell in cells
    )
    names = [_UNIT.sub("", name) for name in numbered]
    every = {name.lower() for name in names}
    out = []
    for name in names:
        usual = name
        for pattern, better in (
            _LOOSE if len(name) <= _MAX_NAME else ()
        ):  # patterns take squares of the length
            usual = pattern.sub(better, usual)
        stem, axis = name[:-1], name[-1:].lower()
        whole = axis in ("x", "y", "z") and {stem.lower() + "x", stem.lower() + "y"} <= every  # headx, heady
        if usual == name and whole and re.search(r"[^\W_][^\W_]$", stem):
            usual = f"{stem}_{axis}"
        out.append(usual)
    return out


def find_header(
    table: Iterator[tuple[int, list[str]]], first: tuple[int, list[str]], path: Path
) -> tuple[int, Columns]:
    """The line of the header and its meaning; ``first`` is the first row of a table, which contains words.

    Names of joints and x, y, z may stand in two rows, with other words above, as pandas and DeepLabCut write them.

    >>> rows = iter([(2, ["", "x", "y"]), (3, ["0", "1.5", "2"])])
    >>> find_header(rows, (1, ["frame", "nose", ""]), Path("nod.csv"))[1].joints, next(rows)
    ({'nose': [1, 2, -1, -1]}, (3, ['0', '1.5', '2']))
    """
    line, above = first
    try:
        return line, parse_header(above, f"{path}, line {line}")
    except FormatError:
        for _ in range(_MAX_HEADER_ROWS - 1):
            line, cells = next(table, (line, []))
            axes = [_axis(cell.strip()) is not None for cell in cells]
            if len(cells) == len(above) and sum(axes) >= 2:
                header, name = [], ""
                for own, cell, axis in zip(above, cells, axes, strict=True):
                    name = own if own.strip() else name  # pandas and spreadsheets leave repeated names blank
                    header.append(f"{name}_{cell.strip()}" if axis else cell or own)
                return line, parse_header(header, f"{path}, line {line}")
            if all(parse(cell) is not None for cell in cells):
                break
            above = cells
        raise


def _axis(word: str) -> int | None:
    word = word.lower()
    if word in ("x", "y", "z"):
        return "xyz".index(word)
    return 3 if word in _CONFIDENCE.split("|") else None


def _joint_axis(name: str) -> tuple[str, int] | None:
    """The joint and the axis in the name of a column, like left_wrist_x, LeftWristX, head.y, x_12 or v12."""
    if len(name) > _MAX_NAME:
        return None
    found = _BEFORE.fullmatch(name)
    if found:
        axis, joint = (found[1], found[2]) if found[1] else (found[3], found[4])
    elif found := _AFTER.fullmatch(name) or _CAMEL.fullmatch(name):
        joint, axis = found[1], found[2]
    else:
        return None
    index = _axis(axis)
    if _NO_PLACE.fullmatch(joint):
        return None
    joint = _PLACE.sub("", joint)
    return None if index is None or not joint else (joint, index)


def _check_joints(columns: Columns, where: str, cells: Sequence[str]) -> None:
    if not columns.joints:
        raise FormatError(
            f"{where}: no columns like left_wrist_x, left_wrist_y, left_wrist_z, nor frame, joint, x, y, z; "
            f"found {shorten(', '.join(cells), 120)}; {_example(columns, cells)}"
        )
    if len(columns.joints) > MAX_JOINTS:
        raise FormatError(f"{where}: {len(columns.joints)} joints; at most {MAX_JOINTS} are read")
    flat = all(places[2] < 0 for places in columns.joints.values())
    for joint, places in columns.joints.items():
        missing = [axis for axis, place in zip(_AXES[: 2 if flat else 3], places, strict=False) if place < 0]
        if missing:
            others = {cells[i] for own in columns.joints.values() if -1 in own[:2] for i in own[:3] if i >= 0}
            some = cells[max(places[:3])]
            near = difflib.get_close_matches(some[:-1] + missing[0], others - {some}, n=1, cutoff=0.8)
            hint = (
                f"; is it the column {shorten(near[0])!r}? --columns OLD=NEW renames a column" if near else ""
            )
            raise FormatError(f"{where}: joint {shorten(joint)!r} has no {' and no '.join(missing)}{hint}")


def _example(columns: Columns, cells: Sequence[str]) -> str:
    """How to name the columns of a table on the command line, with columns of this table."""
    names = [cell.strip().strip("\"'") for i, cell in enumerate(cells) if i not in columns.roles.values()]
    names = [name for name in names if name and parse(name) is None and not {",", "=", "'"} & set(name)]
    if len(names) < 2:
        return "name all columns in their order: --columns frame,head_x,head_y,head_z,left_hand_x,..."
    pairs = ",".join(f"{name}=head_{axis}" for name, axis in zip(names, "xyz", strict=False))
    return f"say which columns are which: --columns '{shorten(pairs, 150)}'"


def parse_layout(width: int, layout: Layout, where: str) -> Columns:
    """The columns of a table without header: the layout's joints in order, perhaps after a frame number.

    >>> from kerneton.data.layouts import COCO_17
    >>> parse_layout(35, COCO_17, "nod.csv").joints["nose"]
    [1, 2, -1, -1]
    """
    n_joints = len(layout.joints)
    for per_joint in (3, 4, 2):
        first = width - per_joint * n_joints
        if first in (0, 1):
            starts = range(first, width, per_joint)
            places = [[s + k if k < per_joint else -1 for k in range(4)] for s in starts]
            joints = dict(zip(layout.joints, places, strict=True))
            return Columns(width, {"frame": 0} if first else {}, joints)
    numbers = [f"{width // 3} joints of x, y, z"] if width % 3 < 2 else []
    numbers += [f"{width // 2} joints of x, y"] if width % 2 == 0 else []
    there = f"; the file may have {' or '.join(numbers)}" if numbers else ""
    raise FormatError(
        f"{where}: {width} columns do not fit the {n_joints} joints of layout {layout.name!r}: "
        f"expected {2 * n_joints}, {3 * n_joints} or {4 * n_joints}, or one more for the frame{there}"
    )


def rename(cells: Sequence[str], names: Sequence[str] | Mapping[str, str], where: str) -> list[str]:
    """A header with some columns renamed, or all; files among others may have the new name already.

    >>> rename(["t", "LWX"], {"LWX": "left_wrist_x"}, "nod.csv"), rename(["1", "2"], ["a", "b"], "nod.csv")
    (['t', 'left_wrist_x'], ['a', 'b'])
    """
    if isinstance(names, Mapping):
        stripped = [cell.strip().strip("\"'") for cell in cells]
        absent = [name for name, new in names.items() if name not in stripped and new not in stripped]
        if absent:
            names_absent = ", ".join(map(repr, absent))
            raise FormatError(f"{where}: no column {names_absent}; found {', '.join(stripped)}")
        return [names.get(cell, cell) for cell in stripped]
    if len(names) != len(cells):
        raise FormatError(f"{where}: {len(names)} columns are named, the file has {len(cells)}")
    return list(names)


def seconds(cells: Sequence[str], i: int, path: Path, line: int) -> float:
    """The time in one cell of a row: a number, or a clock time, with or without a date, in seconds.

    >>> seconds(["0", "00:01:30.5"], 1, Path("nod.csv"), 2)
    90.5
    """
    found = _CLOCK.fullmatch(cells[i].strip().strip('"'))
    if found is None:
        return number(cells, i, path, line)
    days = 0
    if found[1]:
        try:
            days = (
                datetime.date(int(found[1]), int(found[2]), int(found[3])).toordinal() % 1000
            )  # keeps digits
        except ValueError as error:
            raise FormatError(f"{path}, line {line}, column {i + 1}: no such date as {found[0]!r}") from error
    return ((24 * days + int(found[4])) * 60 + int(found[5])) * 60 + float(found[6].replace(",", "."))
