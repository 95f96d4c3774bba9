"""Tables with columns separated by commas, semicolons, tabs or spaces, with or without a header.

Wide tables have one row per frame and columns such as ``left_wrist_x``, ``left_wrist.y``,
``LeftWristZ``, ``head_pos_x``, ``head_px``; long tables have one row per joint and columns ``frame,
joint, x, y, z``. Both may have columns for confidences, ``time`` (from which the frame rate is
computed), ``label``, ``subject`` and ``recording``, which distinguishes the recordings of one file.
If the label changes within a recording, it becomes a long recording with segments; frames with an
empty label belong to no segment. Two bodies become a pair (`kerneton.pair`): columns with the same
joints and two different words (``head_1_x``, ``P2_head_x``, ``anna.head.x``; at least five joints
if no name is known), or rows of the same frames with two values in a column ``person``, ``body``,
``skeleton`` or ``track_id``. More bodies in columns are refused. Without z, z = 0. Empty cells are
missing joints, and so are joints with -9999 or similar in all coordinates, and joints at the origin
in some but not all frames if there are no confidences. Rotations and velocities of joints
(``hip_rot_x``) are left out. Times may be dates and clock times; if they skip a quarter of a second
or more, frames of missing joints are inserted, with a warning (not if several bodies have rows). A
last row that is cut off is left out, with a warning. Names of joints and x, y, z may be in two
rows, as in files of pandas and DeepLabCut. A table without header needs a layout, or names for its
columns.
"""

from __future__ import annotations

import csv
import datetime
import difflib
import itertools
import re
import warnings
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.bodies import pair
from kerneton.data.layouts import BY_JOINTS, VOCABULARY, Layout, layouts_of_columns, plain_layout
from kerneton.data.segments import frame_labels
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, ParameterError, import_extra
from kerneton.files.output import replacing
from kerneton.files.readers._names import unique_names
from kerneton.files.readers._people import say
from kerneton.files.readers._text import (
    LARGEST,
    MAX_BYTES,
    MAX_JOINTS,
    RECORDING,
    at_origin,
    first_row,
    number,
    parse,
    rows,
    shorten,
)

_CONFIDENCE = "confidence|conf|c|score|visibility|vis|v|likelihood|presence|probability"
_TIMES = ("zeit", "zeitstempel", "tijd", "temps", "tiempo", "tempo")
ROLES = {
    "frame": {
        "frame",
        "frame_id",
        "frame_number",
        "frame_no",
        "frameid",
        "framenumber",
        "frame_index",
        *("bild", "bildnummer", "bild_nr", "frame_nr", "einzelbild"),
    },
    "time": {
        *("time", "timestamp", "t", "seconds", "sec", "ms", *_TIMES),
        *(
            f"{word}_{unit}"
            for word in ("time", "timestamp", *_TIMES)
            for unit in ("s", "ms", "us", "ns", "sec", "seconds")
        ),
    },
    "joint": {
        "joint",
        "joint_name",
        "jointname",
        "landmark",
        "keypoint",
        "marker",
        "bodypart",
        "joint_id",
        "gelenk",
    },
    "label": {"label", "action", "activity", "class", "gesture"},
    "subject": {
        *("subject", "actor", "participant", "subject_id", "user"),
        *("proband", "probandin", "teilnehmer"),
    },
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
# Columns of inertial sensors without a joint: acc_x, gyro_y, linear_acceleration.z.
_SENSOR = re.compile(
    r"(lin|linear|ang|angular|user|raw)?[_.:/\s-]?(acc|accel|acceleration|accelerometer|gyr|gyro|"
    r"gyroscope|mag|magnetometer|magnetic_field|quat|quaternion|rot|rotation|orientation|euler|"
    r"gravity|vel|velocity|omega|imu)[_.:/\s-]?\d*",
    re.IGNORECASE,
)
_ANGLE = re.compile(
    r"(?i).*(flexion|adduction|abduction|rotation|[_ ]tilt|obliquity|angle|quat|euler|pitch|yaw|roll"
    r"|acc[_ .]?[xyz]|gyro?[_ .]?[xyz]).*"
)
_WORDS = "pos|position|loc|location|coord|coordinate|trans|translation|translate"
_PLACE = re.compile(rf"[_.:/\s-]*({_WORDS})$", re.IGNORECASE)
# Other ways to write head_x: head[x], head_px, head_x_pos, head_translate_x, pos_x_head, pos_x.
_LOOSE = (
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
    joints: dict[str, list[int]] = field(
        default_factory=dict
    )  # wide: x, y, z, confidence of each joint
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
    columns.joints = {
        joint: places for joint, places in columns.joints.items() if max(places[:3]) >= 0
    }
    return columns


def _loosened(cells: Sequence[str]) -> list[str]:
    """Names of columns that are written in other ways, as they are usually written.

    >>> _loosened(["head_px", "Neck Position (y)", "hipz", "HIPX", "hipy", "pos_x", "head_rx"])
    ['head_x', 'Neck_y', 'hip_z', 'HIP_x', 'hip_y', 'x', 'head_rx']
    """
    numbered = (
        re.sub(r"^([xyzXYZ])[\[(](\d+)[\])]$", r"\1_\2", cell.strip().strip("\"'").strip())
        for cell in cells
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
        whole = (
            axis in ("x", "y", "z") and {stem.lower() + "x", stem.lower() + "y"} <= every
        )  # headx, heady
        if usual == name and whole and re.search(r"[^\W_][^\W_]$", stem):
            usual = f"{stem}_{axis}"
        out.append(usual)
    return out


def find_header(
    table: Iterator[tuple[int, list[str]]], first: tuple[int, list[str]], path: Path
) -> tuple[int, Columns]:
    """The line of the header and its meaning; ``first`` is the first row of a table, which contains
    words.

    Names of joints and x, y, z may stand in two rows, with other words above, as pandas and
    DeepLabCut write them.

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
                    name = (
                        own if own.strip() else name
                    )  # pandas and spreadsheets leave repeated names blank
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
    """The joint and the axis in the name of a column, like left_wrist_x, LeftWristX, head.y, x_12
    or v12.
    """
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
    if _NO_PLACE.fullmatch(joint) or _SENSOR.fullmatch(joint):
        return None
    joint = _PLACE.sub("", joint)
    return None if index is None or not joint else (joint, index)


def _check_joints(columns: Columns, where: str, cells: Sequence[str]) -> None:
    if not columns.joints and (odd := [cell for cell in cells if _ANGLE.fullmatch(cell.strip())]):
        raise FormatError(
            f"{where}: {shorten(', '.join(odd[:4]), 80)} are angles, rotations or readings of inertial "
            "sensors, and there are no columns like left_wrist_x, left_wrist_y, left_wrist_z: "
            "positions of joints are needed; export these from the program that made the file"
        )
    if not columns.joints:
        raise FormatError(
            f"{where}: no columns like left_wrist_x, left_wrist_y, left_wrist_z, nor frame, joint, x, y, z; "
            f"found {shorten(', '.join(cells), 120)}; {_example(columns, cells)}"
        )
    if len(columns.joints) > MAX_JOINTS:
        raise FormatError(f"{where}: {len(columns.joints)} joints; at most {MAX_JOINTS} are read")
    flat = all(places[2] < 0 for places in columns.joints.values())
    for joint, places in columns.joints.items():
        missing = [
            axis
            for axis, place in zip(_AXES[: 2 if flat else 3], places, strict=False)
            if place < 0
        ]
        if missing:
            others = {
                cells[i]
                for own in columns.joints.values()
                if -1 in own[:2]
                for i in own[:3]
                if i >= 0
            }
            some = cells[max(places[:3])]
            near = difflib.get_close_matches(
                some[:-1] + missing[0], others - {some}, n=1, cutoff=0.8
            )
            hint = (
                f"; is it the column {shorten(near[0])!r}? columns={{'OLD': 'NEW'}} renames a column"
                if near
                else ""
            )
            raise FormatError(
                f"{where}: joint {shorten(joint)!r} has no {' and no '.join(missing)}{hint}"
            )


def _example(columns: Columns, cells: Sequence[str]) -> str:
    """How to name the columns of a table, with columns of this table."""
    names = [
        cell.strip().strip("\"'") for i, cell in enumerate(cells) if i not in columns.roles.values()
    ]
    names = [
        name for name in names if name and parse(name) is None and not {",", "=", "'"} & set(name)
    ]
    if len(names) < 2:
        return (
            "name all columns in their order: "
            "columns=['frame', 'head_x', 'head_y', 'head_z', 'left_hand_x', '...']"
        )
    pairs = {shorten(name): f"head_{axis}" for name, axis in zip(names, "xyz", strict=False)}
    return f"say which columns are which: columns={pairs}"


def parse_layout(width: int, layout: Layout, where: str) -> Columns:
    """The columns of a table without header: the layout's joints in order, perhaps after a frame
    number.

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

    >>> rename(["t", "LWX"], {"LWX": "left_wrist_x"}, "nod.csv")
    ['t', 'left_wrist_x']
    >>> rename(["1", "2"], ["a", "b"], "nod.csv")
    ['a', 'b']
    """
    if isinstance(names, Mapping):
        stripped = [cell.strip().strip("\"'") for cell in cells]
        absent = [
            name for name, new in names.items() if name not in stripped and new not in stripped
        ]
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
            raise FormatError(
                f"{path}, line {line}, column {i + 1}: no such date as {found[0]!r}"
            ) from error
    return ((24 * days + int(found[4])) * 60 + int(found[5])) * 60 + float(
        found[6].replace(",", ".")
    )


WRITES = (".csv", ".tsv")
NAMES_JOINTS, TAKES = True, ("layout", "columns")
_NUMBERED = re.compile(r"((joint|keypoint|landmark|marker|point|kp|j)[_ ]?)?\d+", re.IGNORECASE)


@dataclass
class _Recording:
    rows: array = field(
        default_factory=lambda: array("d")
    )  # x y z confidence of each joint of each row
    frames: dict[str, int] = field(
        default_factory=dict
    )  # long tables: positions of frames and joints
    joints: dict[str, int] = field(default_factory=dict)
    at: array = field(default_factory=lambda: array("q"))  # frame and joint of each row
    times: array = field(default_factory=lambda: array("d"))
    subject: str | None = None
    labels: dict[str, int] = field(default_factory=dict)  # in the order in which they come
    label_at: array = field(default_factory=lambda: array("i"))  # the label of each row
    alone: bool = True  # no recording of the table has several bodies


def sniff(head: bytes, path: Path) -> bool:
    """Whether this is text whose first line has several columns, named or not."""
    if b"\0" in head[:64] and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    cells = first_row(head)
    if path.suffix.lower() in (".csv", ".tsv"):
        return bool(cells)
    if all(parse(cell) is not None for cell in cells):
        return len(cells) >= 2
    try:
        return bool(parse_header(cells, "").width)
    except FormatError:
        return False


def read(
    path: Path,
    *,
    layout: Layout | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
) -> list[SkeletonSequence]:
    """The recordings of a table; joint names are put into the package's vocabulary.

    ``layout`` states the columns of a table without header; in a table with joint names, it selects
    and orders joints. ``columns`` names all columns, or renames some: ``{"LW_X": "left_wrist_x"}``.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.csv"
    >>> _ = file.write_text("time;head.x;head.y;head.z\\n0;0;1,7;2\\n0,04;0;1,6;2\\n")
    >>> (nod,) = read(file)
    >>> nod.joints[:, 0, 1].tolist(), nod.fps, nod.layout.joints
    ([1.7, 1.6], 25.0, ('head',))
    """
    return read_rows(rows(path), path, layout=layout, columns=columns)


def read_rows(
    table: Iterator[tuple[int, list[str]]],
    path: Path,
    *,
    layout: Layout | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
) -> list[SkeletonSequence]:
    """The recordings of a table from its rows, each with its number; ``path`` names it in
    errors.
    """
    if (start := next(table, None)) is None:
        raise FormatError(f"{path}: no rows")
    line, first = start
    where = f"{path}, line {line}"
    bare = all(parse(cell) is not None for cell in first)
    if columns is not None and bare and isinstance(columns, Mapping):
        raise FormatError(f"{where}: columns without a header cannot be renamed; name all of them")
    if columns is not None:
        meaning = parse_header(rename(first, columns, where), where)
    elif not bare:
        line, meaning = find_header(table, start, path)
    elif layout is not None:
        meaning = parse_layout(len(first), layout, where)
        if "frame" in meaning.roles and {".", ","} & set(first[0]):  # no number of a frame
            meaning.roles["time"] = meaning.roles.pop("frame")
    else:
        fit = " or ".join(map(repr, layouts_of_columns(len(first))))
        fit = fit or "'openni15' (layout='openni15+openni15' for two bodies)"
        raise FormatError(
            f"{where}: {len(first)} columns without a header; state what they are: "
            f"layout={fit}, or all names with columns="
        )
    recordings: dict[tuple[str, str], _Recording] = {}  # by name and body
    used, budget = 0, None
    if not meaning.roles.keys().isdisjoint(
        ("recording", "body")
    ):  # may need far more memory than its text
        from kerneton.files.readers._values import file_budget

        budget = file_budget(path) if path.exists() else None  # else a table in memory
    for line, cells in itertools.chain([start] if bare else [], table):
        if recordings and len(cells) < meaning.width and next(table, None) is None:
            from kerneton.files.readers._gaps import is_cut_off

            if is_cut_off(path, line):
                break
        used += (needed := 8 * _take(cells, meaning, recordings, path, line))
        if budget is not None:
            budget.take(needed)
        if used > MAX_BYTES:
            raise FormatError(f"{path}, line {line}: more than {MAX_BYTES >> 20} MiB of numbers")
    if not recordings:
        raise FormatError(f"{path}: a header and no rows")
    named = not (bare and columns is None)
    for one in (
        recordings.values() if len(recordings) > len({name for name, _ in recordings}) else ()
    ):
        one.alone = False  # a body that is away while another is there makes no gap
    made = {
        key: _sequence(one, meaning, layout, path, key[0], named=named)
        for key, one in recordings.items()
    }
    if "body" not in meaning.roles:
        return list(made.values())

    frames = {
        key: frames_of(recording, sort=bool(meaning.point)) for key, recording in recordings.items()
    }
    return list(
        joined_bodies(made, frames, meaning.cells[meaning.roles["body"]].strip("\"' "), path)
    )


def _take(
    cells: list[str],
    meaning: Columns,
    recordings: dict[tuple[str, str], _Recording],
    path: Path,
    line: int,
) -> int:
    """Add one row to its recording; returns the memory it needs, in numbers."""
    if len(cells) == meaning.width + 1 and not cells[-1].strip():
        cells = cells[:-1]
    if len(cells) != meaning.width:
        raise FormatError(
            f"{path}, line {line}: expected {meaning.width} columns, got {len(cells)}"
        )
    roles = meaning.roles
    name, body = (
        cells[roles[role]].strip(" \t") if role in roles else "" for role in ("recording", "body")
    )
    key = name, body
    recording = recordings.get(key)
    used = 16  # memory of a row in addition to its numbers
    if recording is None:
        recording = recordings[key] = _Recording()
        used = RECORDING // 8
    if "subject" in roles:
        value = cells[roles["subject"]].strip(" \t")
        recording.subject = value if recording.subject is None else recording.subject
        if recording.subject != value:
            raise FormatError(
                f"{path}, line {line}: subject changes from {shorten(recording.subject)!r} to "
                f"{shorten(value)!r}; use a column 'recording' to separate recordings, 'person' for two in the same frames"
            )
    if "label" in roles:
        label = cells[roles["label"]].strip(" \t")
        recording.label_at.append(recording.labels.setdefault(label, len(recording.labels)))
    if "time" in roles:
        recording.times.append(seconds(cells, roles["time"], path, line))
    if ("body" in roles or meaning.point) and (
        at := roles.get("frame", roles.get("time", -1))
    ) >= 0:
        frame = recording.frames.setdefault(cells[at].strip(), len(recording.frames))
    if meaning.point:
        joint = cells[roles["joint"]].strip()
        recording.at.append(frame)
        recording.at.append(recording.joints.setdefault(joint, len(recording.joints)))
        if len(recording.joints) > MAX_JOINTS:
            raise FormatError(f"{path}, line {line}: more than {MAX_JOINTS} joints")
    values = _values(cells, meaning, path, line)
    recording.rows.fromlist(values)
    return len(values) + used


def _values(cells: list[str], meaning: Columns, path: Path, line: int) -> list[float]:
    """x y z confidence of every joint of a row."""
    try:
        values = [
            float(cells[place]) if place >= 0 else default for place, default in meaning.places
        ]
        if max(values) <= LARGEST and min(values) >= -LARGEST:  # false where NaN hides a comparison
            return values
    except ValueError:
        pass
    return [
        number(cells, place, path, line) if place >= 0 else default
        for place, default in meaning.places
    ]


def _sequence(
    recording: _Recording,
    meaning: Columns,
    layout: Layout | None,
    path: Path,
    name: str,
    *,
    named: bool,
) -> SkeletonSequence:
    label_at, times = np.frombuffer(recording.label_at, np.int32), np.frombuffer(recording.times)
    if meaning.point:
        raw, values, row_of = gather(recording, path)
        label_at = label_at[row_of] if len(label_at) else label_at
        times = times[row_of] if len(times) else times
        has_confidence = meaning.point[3] >= 0
    else:
        raw = list(meaning.joints)
        values = np.frombuffer(recording.rows).reshape(-1, len(raw), 4)
        has_confidence = any(places[3] >= 0 for places in meaning.joints.values())
    order = None
    if not VOCABULARY.issuperset(raw):
        from kerneton.files.readers._people import together

        if (order := together(raw, values[..., :3], path)) is not None:
            raw, values = [raw[i] for i in order], values[:, order]
    if (np.abs(values[..., 0]) >= 999).any():  # perhaps -9999, for a missing value
        from kerneton.files.readers._gaps import without_fills

        values = np.concatenate([without_fills(values[..., :3], path), values[..., 3:]], axis=-1)
    fps, steps = rate_of(recording.times), np.diff(times)
    if recording.alone and fps and len(steps) > 1 and not steps.max() < 2.5 * np.median(steps):
        from kerneton.files.readers._gaps import with_gaps

        values, label_at = with_gaps(values, label_at, times, fps, path)
    missing = np.isnan(values[..., :3]).any(-1)
    joints = np.where(missing[..., None], np.nan, values[..., :3])
    confidence = None
    if has_confidence:
        confidence = np.where(missing, 0.0, np.nan_to_num(np.clip(values[..., 3], 0, 1)))
    elif len(raw) > 1 and (gone := at_origin(joints)).any():
        confidence = (~gone).astype(float)
    numbered = all(_NUMBERED.fullmatch(joint) for joint in raw)
    known = layout
    if numbered and known is None and len(raw) == 17 and not np.nan_to_num(joints[..., 2]).any():
        from kerneton.files.readers._people import say

        say("17 joints without names: layout='coco17' if these are COCO keypoints")
    if named and not numbered and (known := BY_JOINTS.get(tuple(raw))) is None:
        from kerneton.files.readers._names import joint_names, layout_of_names

        known = layout_of_names("table", joint_names(raw, paired=order is not None), raw)
    if known is not None and len(known.joints) != len(raw):
        problem = (
            f"{len(raw)} joints do not fit layout {known.name!r}, which has {len(known.joints)}"
        )
        raise FormatError(f"{path}: {problem}")
    segments: Any = ()
    if len(recording.labels) > 1:  # a label per frame
        from kerneton.data.segments import segments_from_frames

        segments = segments_from_frames(
            np.array(list(recording.labels), dtype=object)[label_at].tolist()
        )
    sequence = SkeletonSequence(
        joints,
        confidence,
        layout=known,
        label=(next(iter(recording.labels)) or None) if len(recording.labels) == 1 else None,
        subject=recording.subject or None,
        name=name or path.stem,
        fps=fps,
        segments=segments,
    )
    if layout is None or known is layout:
        return sequence
    from kerneton.data.mapping import map_layout

    return map_layout(sequence, layout)


def rate_of(times: array | np.ndarray) -> float | None:
    """Frames per second from times in seconds, or in a smaller unit that makes it 1 to 1000."""
    known = np.unique(np.asarray(times)) if len(times) else np.empty(0)
    steps = np.diff(known[np.isfinite(known)])
    step = float(np.median(steps)) if len(steps) else 0.0
    if step <= 1e-6:
        return None
    regular = steps[(steps > 0.5 * step) & (steps < 1.5 * step)]  # without gaps
    mean = float(regular.mean()) if len(regular) else step
    doubt = (
        float(np.ptp(regular) / regular.sum()) if len(regular) else 0.0
    )  # of times with few digits
    for unit in (1.0, 1e-3, 1e-6, 1e-9):
        rate = round(1.0 / (mean * unit), 6)
        if 1.0 <= rate <= 1000.0:
            if abs(rate - round(rate)) <= doubt * rate:
                return float(round(rate))
            return round(rate, 2) if abs(rate - round(rate, 2)) < 2e-4 * rate else rate
    return None


Key = tuple[str, str]  # of a recording and of a body in it
Body = tuple[SkeletonSequence, list[str]]  # and the frame of each row, as the file writes it


def joined_bodies(
    sequences: dict[Key, SkeletonSequence], frames: dict[Key, list[str]], column: str, path: Path
) -> Iterator[SkeletonSequence]:
    """Each recording as a pair of the two bodies seen longest if they share half of the frames,
    else as one per body.

    Bodies are named as in ``column``, ``frames`` as in the file; a body from a column ``person``
    without a subject is its own subject.

    >>> ann = SkeletonSequence(np.ones((3, 1, 3)), name="nod")
    >>> frames = {("", "ann"): ["0", "1", "2"], ("", "bob"): ["1", "2", "3"]}
    >>> list(joined_bodies(dict.fromkeys(frames, ann), frames, "person", Path("nod.csv")))
    [SkeletonSequence(4 frames, 2 joints, 1 joints+1 joints, subject='ann+bob', name='nod')]
    """
    recordings: dict[str, dict[str, Body]] = {}
    for name, body in sequences:
        recordings.setdefault(name, {})[body] = sequences[name, body], frames[name, body]
    for bodies in recordings.values():
        yield from _joined(bodies, column, path)


def _joined(bodies: dict[str, Body], column: str, path: Path) -> Iterator[SkeletonSequence]:
    if column.strip().lower() == "person":
        bodies = {
            name: (s.replace(subject=s.subject or name or None), at)
            for name, (s, at) in bodies.items()
        }
    for name, (sequence, frames) in bodies.items() if len(bodies) > 1 else ():
        if not frames:
            raise FormatError(
                f"{path}: rows of several values of {column!r}, but no column 'frame' or 'time'"
            )
        if len(frames) != sequence.n_frames:
            raise FormatError(f"{path}: {column} {shorten(name)!r} has several rows in one frame")
    longest = sorted(bodies, key=lambda name: -len(bodies[name][1]))[:2]
    both = [bodies[name] for name in bodies if name in longest]
    shared = set.intersection(*(set(frames) for _, frames in both))
    seen = _ordered({frame for _, frames in bodies.values() for frame in frames})
    if len(both) == 2 and 2 * len(shared) >= len(seen):
        more = f"; {len(bodies) - 2} more were left out" if len(bodies) > 2 else ""
        say(
            f"two values of {column!r} in the same frames were read as two bodies of one recording{more}"
        )
        yield pair(*_alike([_at(seen, *body) for body in both]))
        return
    for name, (sequence, _) in bodies.items():
        yield sequence if len(bodies) == 1 else sequence.replace(name=f"{sequence.name}_{name}")


def _ordered(frames: set[str]) -> list[str]:
    numbers = {frame: parse(frame) for frame in frames}
    return sorted(frames, key=lambda frame: (numbers[frame] is None, numbers[frame] or 0.0, frame))


def _at(seen: Sequence[str], sequence: SkeletonSequence, frames: Sequence[str]) -> SkeletonSequence:
    """A recording with a frame for each of ``seen``; joints are missing in frames that it lacks."""
    place = {frame: i for i, frame in enumerate(seen)}
    at = np.array([place[frame] for frame in frames])
    joints = np.full((len(seen), sequence.n_joints, 3), np.nan)
    confidence = np.zeros(joints.shape[:2])
    joints[at] = sequence.joints
    confidence[at] = 1.0 if sequence.confidence is None else sequence.confidence
    whole = sequence.confidence is None and len(at) == len(seen)
    segments = [(s.label, int(at[s.start]), int(at[s.stop - 1]) + 1) for s in sequence.segments]
    return sequence.replace(
        joints=joints, confidence=None if whole else confidence, segments=segments
    )


def _alike(both: Sequence[SkeletonSequence]) -> list[SkeletonSequence]:
    """Both with the frame rate of the first that has one."""
    fps = next((s.fps for s in both if s.fps is not None), None)
    return [s.replace(fps=fps) for s in both]


def fixed(points: np.ndarray, places: Sequence[Sequence[int]]) -> bool:
    """Whether joints of one name are ends of a bone: as near as the next joint, at one distance, as
    most of them are.

    >>> points = np.random.default_rng(0).normal(size=(9, 5, 3))
    >>> both = [np.hstack([points, other]) for other in (points + 0.1, points[::-1])]
    >>> [fixed(one, [range(5), range(5, 10)]) for one in both]
    [True, False]
    """
    one, two = (points[:: 1 + len(points) // 200, list(own)] for own in places)
    with warnings.catch_warnings():  # joints that are never there
        warnings.simplefilter("ignore", RuntimeWarning)
        apart = np.linalg.norm(one - two, axis=2)
        mean, spread = np.nanmean(apart, axis=0), np.nanstd(apart, axis=0)
        within = np.nanmean(np.linalg.norm(one[:, :, None] - one[:, None], axis=3), axis=0)
    nearest = np.where(np.eye(len(within), dtype=bool), np.inf, within).min(axis=1)
    return bool(np.mean((mean < 1.5 * nearest) & (spread < 0.1 * mean)) > 0.5)


def gather(recording: _Recording, path: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of joints, values (T, J, 4) from rows of one joint each, and a row of each frame, in
    order of frames.
    """
    from kerneton.files.readers._values import check_room

    T, J = len(recording.frames), len(recording.joints)
    check_room(path, T, J, 4)
    at = np.frombuffer(recording.at, np.int64).reshape(-1, 2)
    flat = at[:, 0] * J + at[:, 1]
    cells, counts = np.unique(flat, return_counts=True)
    if len(cells) < len(flat):
        frame, joint = divmod(int(cells[np.argmax(counts)]), J)
        raise FormatError(
            f"{path}: joint {shorten(list(recording.joints)[joint])!r} occurs {counts.max()} times "
            f"in frame {shorten(list(recording.frames)[frame])}"
        )
    values = np.full((T, J, 4), np.nan)
    values[at[:, 0], at[:, 1]] = np.frombuffer(recording.rows).reshape(-1, 4)
    row_of = np.empty(T, np.int64)
    row_of[at[:, 0]] = np.arange(len(at))
    place = [recording.frames[frame] for frame in frames_of(recording, sort=True)]
    return list(recording.joints), values[place], row_of[place]


def frames_of(recording: _Recording, *, sort: bool) -> list[str]:
    """The frames of the rows as the file writes them, in the order of their numbers if all are
    numbers.
    """
    numbers = {frame: parse(frame) for frame in recording.frames}
    if not sort or None in numbers.values():
        return list(numbers)
    return sorted(numbers, key=lambda frame: numbers[frame] or 0.0)


def cell_text(cell: Any) -> str:
    """A value of a table as a cell of text.

    >>> cell_text(1.5), cell_text(float("nan")), cell_text("wave")
    ('1.5', '', 'wave')
    """
    if cell is None or cell != cell:  # NaN, NaT
        return ""
    return repr(float(cell)) if isinstance(cell, float) else str(cell)


def rows_of_frame(frame: Any) -> Iterator[tuple[int, list[str]]]:
    """The header and the rows of a table of pandas, whose index counts if it has a name."""
    if frame.index.name is not None:
        frame = frame.reset_index()
    names = [name if isinstance(name, tuple) else (name,) for name in frame.columns]
    yield 1, ["_".join(str(word) for word in name[-2:] if str(word)) for name in names]
    for line, row in enumerate(frame.itertuples(index=False, name=None), start=2):
        yield line, [cell_text(cell) for cell in row]


def frame_of(sequences: Sequence[SkeletonSequence]) -> Any:
    """Recordings as a table of pandas, with the columns of a ``.csv``."""
    pandas = import_extra("pandas", extra="frame", purpose="a DataFrame")
    header, *rows = table_rows(Path("table"), sequences)
    return pandas.DataFrame(rows, columns=header).replace("", np.nan)


def write(sequences: Sequence[SkeletonSequence], path: Path) -> None:
    """Write recordings as one wide table; with more than one, a column ``recording`` names them.

    Coordinates are written with all their digits. A recording without layout gets numbered joints;
    of two with the same name, the later gets a number. Segments become a label per frame.

    >>> import tempfile
    >>> from kerneton.data.layouts import Layout
    >>> file = Path(tempfile.mkdtemp()) / "nod.csv"
    >>> nod = SkeletonSequence([[[0, 1.5, 2]]], layout=Layout("one", ["head"]), label="nod", fps=25)
    >>> write([nod], file)
    >>> print(file.read_text().strip())
    label,frame,time,head_x,head_y,head_z
    nod,0,0.0,0.0,1.5,2.0
    """
    form: Any = {
        "delimiter": "\t" if path.suffix.lower() == ".tsv" else ",",
        "lineterminator": "\n",
    }
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, **form)
        quoted = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, **form)
        for cells in table_rows(path, sequences):
            # A row that begins with # would be read as a comment, a return as the end of a row.
            odd = "".join(map(str, cells)).lstrip().startswith("#") or any(
                "\r" in cell for cell in cells if isinstance(cell, str)
            )
            (quoted if odd else out).writerow(cells)


def table_rows(path: Path, sequences: Sequence[SkeletonSequence]) -> Iterator[list[Any]]:
    """The header of a wide table and its rows, with ``""`` for what is missing."""
    facts = [
        fact
        for fact in ("label", "subject")
        if any(getattr(s, fact) is not None for s in sequences)
    ]
    if "label" not in facts and any(s.segments for s in sequences):
        facts.insert(0, "label")
    recordings = unique_names(sequences)
    names = _joints(sequences[0])
    timed = any(s.fps is not None for s in sequences)
    trusted = all(s.confidence is None for s in sequences)
    axes = ("x", "y", "z") if trusted else ("x", "y", "z", "confidence")
    several = ["recording"] if len(sequences) > 1 else []
    header = several + facts + ["frame"] + ["time"] * timed
    yield header + [f"{joint}_{axis}" for joint in names for axis in axes]
    for i, sequence in enumerate(sequences):
        if _joints(sequence) != names:
            raise ParameterError(
                f"{path}: {sequence.name or f'recording {i}'} has different joints than the first; "
                "all recordings of a table need the same joints"
            )
        fixed = [recordings[i]] * bool(several)
        fixed += [getattr(sequence, fact) or "" for fact in facts]
        labels = frame_labels(sequence.segments, sequence.n_frames) if sequence.segments else None
        values = sequence.joints
        if not trusted:
            confidence = 1.0 if sequence.confidence is None else sequence.confidence
            confidence = np.broadcast_to(confidence, values.shape[:2])
            values = np.concatenate([values, confidence[..., None]], -1)
        for frame, row in enumerate(values.reshape(len(values), -1)):
            time = [frame / float(sequence.fps) if sequence.fps else ""] * timed
            if labels is not None:
                fixed[len(several)] = labels[frame]
            yield fixed + [frame, *time] + ["" if v != v else v for v in row.tolist()]


def _joints(sequence: SkeletonSequence) -> tuple[str, ...]:
    return (sequence.layout or plain_layout(sequence.n_joints)).joints
