"""Tables with columns separated by commas, semicolons, tabs or spaces, with or without a header.

Wide tables have one row per frame and columns such as ``left_wrist_x``, ``left_wrist.y``, ``LeftWristZ``, ``head_pos_x``, ``head_px``; long tables have one row per
joint and columns ``frame, joint, x, y, z``. Both may have columns for confidences, ``time`` (from which the frame rate is computed), ``label``, ``subject`` and
``recording``, which distinguishes the recordings of one file. If the label changes within a recording, it becomes a long recording with segments; frames with an
empty label belong to no segment. Two bodies become a pair (`kerneton.pair`): columns with the same joints and two different words (``head_1_x``, ``P2_head_x``,
``anna.head.x``; at least five joints if no name is known), or rows of the same frames with two values in a column ``person``, ``body``, ``skeleton`` or
``track_id``. More bodies in columns are refused. Without z, z = 0. Empty cells are missing joints, and so are joints with -9999 or similar in all coordinates, and
joints at the origin in some but not all frames if there are no confidences. Rotations and velocities of joints (``hip_rot_x``) are left out. Times may be dates and
clock times; if they skip a quarter of a second or more, frames of missing joints are inserted, with a warning (not if several bodies have rows). A last row that is cut off is left out, with a
warning. Names of joints and x, y, z may be in two rows, as in files of pandas and DeepLabCut. A table without header needs a layout, or names for its columns.
"""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import BY_JOINTS, VOCABULARY, Layout, layouts_of_columns
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._csv_header import (
    Columns,
    find_header,
    parse_header,
    parse_layout,
    rename,
    seconds,
)
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

WRITES = (".csv", ".tsv")
NAMES_JOINTS, TAKES = True, ("layout", "columns")
_NUMBERED = re.compile(r"((joint|keypoint|landmark|marker|point|kp|j)[_ ]?)?\d+", re.IGNORECASE)


@dataclass
class _Recording:
    rows: array = field(default_factory=lambda: array("d"))  # x y z confidence of each joint of each row
    frames: dict[str, int] = field(default_factory=dict)  # long tables: positions of frames and joints
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
    path: Path, *, layout: Layout | None = None, columns: Sequence[str] | Mapping[str, str] | None = None
) -> list[SkeletonSequence]:
    """The recordings of a table; joint names are put into the package's vocabulary.

    ``layout`` states the columns of a table without header; in a table with joint names, it selects and orders
    joints. ``columns`` names all columns, or renames some: ``{"LW_X": "left_wrist_x"}``.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.csv"
    >>> _ = file.write_text("time;head.x;head.y;head.z\\n0;0;1,7;2\\n0,04;0;1,6;2\\n")
    >>> (nod,) = read(file)
    >>> nod.joints[:, 0, 1].tolist(), nod.fps, nod.layout.joints
    ([1.7, 1.6], 25.0, ('head',))
    """
    table = rows(path)
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
        raise FormatError(
            f"{where}: {len(first)} columns without a header; state what they are: "
            f"--layout {layouts_of_columns(len(first))}, or all names with --columns"
        )
    recordings: dict[tuple[str, str], _Recording] = {}  # by name and body
    used, budget = 0, None
    if not meaning.roles.keys().isdisjoint(("recording", "body")):  # may need far more memory than its text
        from kerneton.files.readers._values import file_budget

        budget = file_budget(path)
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
    for one in recordings.values() if len(recordings) > len({name for name, _ in recordings}) else ():
        one.alone = False  # a body that is away while another is there makes no gap
    made = {
        key: _sequence(one, meaning, layout, path, key[0], named=named) for key, one in recordings.items()
    }
    if "body" not in meaning.roles:
        return list(made.values())
    from kerneton.files.readers._csv_bodies import frames_of, joined_bodies

    frames = {key: frames_of(recording, sort=bool(meaning.point)) for key, recording in recordings.items()}
    return list(joined_bodies(made, frames, meaning.cells[meaning.roles["body"]].strip("\"' "), path))


def _take(
    cells: list[str], meaning: Columns, recordings: dict[tuple[str, str], _Recording], path: Path, line: int
) -> int:
    """Add one row to its recording; returns the memory it needs, in numbers."""
    if len(cells) == meaning.width + 1 and not cells[-1].strip():
        cells = cells[:-1]
    if len(cells) != meaning.width:
        raise FormatError(f"{path}, line {line}: expected {meaning.width} columns, got {len(cells)}")
    roles = meaning.roles
    name, body = (cells[roles[role]].strip(" \t") if role in roles else "" for role in ("recording", "body"))
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
    if ("body" in roles or meaning.point) and (at := roles.get("frame", roles.get("time", -1))) >= 0:
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
        values = [float(cells[place]) if place >= 0 else default for place, default in meaning.places]
        if max(values) <= LARGEST and min(values) >= -LARGEST:  # false where NaN hides a comparison
            return values
    except ValueError:
        pass
    return [number(cells, place, path, line) if place >= 0 else default for place, default in meaning.places]


def _sequence(
    recording: _Recording, meaning: Columns, layout: Layout | None, path: Path, name: str, *, named: bool
) -> SkeletonSequence:
    label_at, times = np.frombuffer(recording.label_at, np.int32), np.frombuffer(recording.times)
    if meaning.point:
        from kerneton.files.readers._csv_bodies import gather

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
    fps, steps = _fps(recording.times), np.diff(times)
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

        say("17 joints without names: --layout coco17 if these are COCO keypoints")
    if named and not numbered and (known := BY_JOINTS.get(tuple(raw))) is None:
        from kerneton.files.readers._names import joint_names, layout_of_names

        known = layout_of_names("table", joint_names(raw, paired=order is not None), raw)
    if known is not None and len(known.joints) != len(raw):
        problem = f"{len(raw)} joints do not fit layout {known.name!r}, which has {len(known.joints)}"
        raise FormatError(f"{path}: {problem}")
    segments: Any = ()
    if len(recording.labels) > 1:  # a label per frame
        from kerneton.data.segments import segments_from_frames

        segments = segments_from_frames(np.array(list(recording.labels), dtype=object)[label_at].tolist())
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


def _fps(times: array) -> float | None:
    """Frames per second from times in seconds, or in a smaller unit that makes it 1 to 1000."""
    known = np.unique(np.frombuffer(times)) if len(times) else np.empty(0)
    steps = np.diff(known[np.isfinite(known)])
    step = float(np.median(steps)) if len(steps) else 0.0
    if step <= 1e-6:
        return None
    regular = steps[(steps > 0.5 * step) & (steps < 1.5 * step)]  # without gaps
    mean = float(regular.mean()) if len(regular) else step
    doubt = float(np.ptp(regular) / regular.sum()) if len(regular) else 0.0  # of times with few digits
    for unit in (1.0, 1e-3, 1e-6, 1e-9):
        rate = round(1.0 / (mean * unit), 6)
        if 1.0 <= rate <= 1000.0:
            if abs(rate - round(rate)) <= doubt * rate:
                return float(round(rate))
            return round(rate, 2) if abs(rate - round(rate, 2)) < 2e-4 * rate else rate
    return None


def write(path: Path, sequences: Sequence[SkeletonSequence]) -> None:
    """Write recordings as one wide table; see `kerneton.files.readers._csv_write`."""
    from kerneton.files.readers._csv_write import write_table

    write_table(path, sequences)
