"""Text with one joint per row: ``x y z``, or ``x y z confidence`` as in MSR-Action3D, with or
without the joint's name before them.

In rows with names (``HEAD 0.1 0.2 0.3``), a frame begins where a name comes again. In rows without
names, a frame has as many rows as there are joints, so the joints must be known: give a layout
(``--layout kinect20``, or the name of every joint in order, ``--layout NAME,NAME,...``). A layout
that the motion contradicts is refused. Without a layout, rows of four numbers are MSR-Action3D's
twenty joints in metres, if the motion between the frames, the lines between them or the name of the
file say so. Numbers are separated by spaces, commas, semicolons or tabs; blank lines, a header (``x
y z``) and lines between the frames with one or two whole numbers, with one number, or with words
such as ``frame 3`` are ignored, and so are numbers of frames before the coordinates. A frame of
zeros is a lost frame and gets zero confidence. In rows without confidence, a joint that is at the
origin in some but not all frames gets zero confidence there. A joint with -9999 or the like in all
coordinates is missing.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kerneton.data.layouts import LAYOUTS, MSR_20, Layout
from kerneton.data.mapping import map_layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._frame_size import frame_size, is_frame_size, other_size, slip
from kerneton.files.readers._names import joint_names, layout_of_names
from kerneton.files.readers._text import (
    MAX_JOINTS,
    are_numbers,
    at_origin,
    decode,
    lines,
    parse,
    shorten,
    table,
)
from kerneton.files.readers._values import check_room

NAMES_JOINTS, TAKES = False, ("layout",)
# The tracker marks inferred joints with 0, which would mean missing here; they get the smallest
# other confidence.
INFERRED = 0.01
_ROWS = 5  # number of rows at the start of a file that are used to recognise it
_MARK = re.compile(
    r"[#\[]*(frame|time|timestamp|skeleton|pose)s?(no|number|id)?[-_#:=\d\].]*", re.IGNORECASE
)
_HEADER = re.compile(
    r"((frame|joint|name|joint_name) )?x y z( (c|conf|confidence|score|w))?", re.IGNORECASE
)
_MSR_NAME = re.compile(r"a\d+_s\d+_e\d+")
_NEARLY = 1.25  # times the smallest change of lengths: layouts that fit about as well


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the first rows are three numbers each, or four each, perhaps with a name, except rows
    between frames.
    """
    rows: list[tuple[str, list[str]]] = []
    for line in decode(head).splitlines()[:80]:
        words = _words(line)
        if words and not _between(words, header=not rows):
            rows.append(_row(words))
    rows = rows[:_ROWS]
    named = {bool(name) for name, _ in rows}
    return len(named) == 1 and any(
        all(are_numbers(own, width) for _, own in rows) for width in (3, 4)
    )


def read(path: Path, *, layout: Layout | None = None) -> list[SkeletonSequence]:
    """The one recording of the file.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a01_s01_e01_skeleton3D.txt"
    >>> _ = file.write_text("0.1 1.2 2.5 1.0\\n" * 40)
    >>> read(file)
    [SkeletonSequence(2 frames, 20 joints, msr20, name='a01_s01_e01_skeleton3D')]
    >>> _ = file.write_text("HEAD 0 1.7 2\\nNECK 0 1.5 2\\n" * 3)
    >>> read(file)[0].layout.joints, read(file)[0].n_frames
    (('head', 'neck'), 3)
    """
    at, names = array("q"), list[str]()
    rows = table(path, (3, 4), "x y z, or x y z confidence", _rows(path, at, names))
    if names:
        return [_named_rows(path, _without_fills(rows, path), names, layout)]
    runs = _runs(np.frombuffer(at, np.int64))
    if rows.shape[1] == 4 and (counted := _numbered(rows[:, 0])) is not None:
        rows, runs = np.ascontiguousarray(rows[:, 1:]), counted
    rows = _without_fills(rows, path)
    if layout is None:
        size = _usual(runs) or frame_size(rows[:, :3])
        if rows.shape[1] == 3 or (size != 20 and not (size is None and _MSR_NAME.match(path.stem))):
            raise FormatError(f"{path}: {_ask(rows, size)}")
        layout = MSR_20
    _check_frames(path, rows, runs, np.frombuffer(at, np.int64), layout)
    values = rows.reshape(-1, len(layout.joints), rows.shape[1])
    return [_sequence(values, layout, path)]


def _without_fills(rows: np.ndarray, path: Path) -> np.ndarray:
    if not (np.abs(rows[:, 0]) >= 999).any():
        return rows
    from kerneton.files.readers._gaps import without_fills

    return np.concatenate([without_fills(rows[:, :3], path), rows[:, 3:]], axis=1)


def _sequence(values: np.ndarray, layout: Layout, path: Path) -> SkeletonSequence:
    """A recording from values (T, J, 3), or (T, J, 4) with confidences."""
    joints = np.ascontiguousarray(values[..., :3])
    confidence = None
    if values.shape[2] == 4:
        confidence = np.clip(values[..., 3], INFERRED, 1.0)
        confidence[(joints == 0).all(axis=(1, 2))] = 0.0
        confidence[np.isnan(joints).any(axis=2)] = 0.0
    else:
        gone = at_origin(joints)
        confidence = (~gone).astype(float) if gone.any() else None
    return SkeletonSequence(joints, confidence, layout=layout, name=path.stem)


def _named_rows(
    path: Path, rows: np.ndarray, names: list[str], layout: Layout | None
) -> SkeletonSequence:
    """The recording of rows that each name their joint: a frame begins where a name comes again."""
    places: dict[str, int] = {}
    frames, joints = np.empty(len(names), np.int64), np.empty(len(names), np.int64)
    frame, seen = 0, set[str]()
    for i, name in enumerate(names):
        if name in seen:
            frame, seen = frame + 1, set()
        seen.add(name)
        frames[i], joints[i] = frame, places.setdefault(name, len(places))
    if len(places) > MAX_JOINTS:
        raise FormatError(f"{path}: more than {MAX_JOINTS} joints")
    check_room(path, frame + 1, len(places), 4)
    values = np.full((frame + 1, len(places), rows.shape[1]), np.nan)
    values[..., 3:] = 0
    values[frames, joints] = rows
    known = layout_of_names("named", joint_names(list(places)))
    sequence = _sequence(values, known, path)
    return sequence if layout is None else map_layout(sequence, layout)


def _rows(path: Path, at: array, names: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Line and numbers of each row; ``at`` and ``names`` get the lines and the names before the
    numbers, if there are any.
    """
    for line, text in lines(path):
        words = _words(text)
        if not words or _between(words, header=not at):
            continue
        name, own = _row(words)
        if bool(name) != bool(names) and at:
            there = (
                "has no name before its numbers"
                if names
                else f"begins with the name {shorten(name)!r}"
            )
            raise FormatError(f"{path}, line {line}: this row {there}, unlike the rows before it")
        at.append(line)
        if name:
            names.append(name)
        yield line, own


def _words(text: str) -> list[str]:
    return text.replace(",", " ").replace(";", " ").split()


def _row(words: list[str]) -> tuple[str, list[str]]:
    """The name before the numbers of a row, empty if there is none, and the numbers.

    >>> _row(["12", "Left", "Hand:", "0.1", "1", "2"]), _row(["0.1", "1", "2"])
    (('Left_Hand', ['0.1', '1', '2']), ('', ['0.1', '1', '2']))
    """
    last = max((i for i, word in enumerate(words) if parse(word) is None), default=-1)
    if last < 0 or len(words) - last - 1 not in (3, 4):
        return "", words
    first = 1 if last > 0 and words[0].isdigit() else 0  # the number of the frame
    name = "_".join(words[first : last + 1]).strip(":\"'")
    return (name, words[last + 1 :]) if name else ("", words)


def _between(words: list[str], *, header: bool) -> bool:
    """Whether a line is between frames: counts, a time, a comment, words such as ``frame 3``; or a
    header above them.
    """
    if words[0].startswith("#") and parse(words[0]) is None:  # not #N/A
        return True
    if header and _HEADER.fullmatch(" ".join(words)):
        return True
    if _MARK.fullmatch(words[0]):
        return len(words) < 4
    whole = all(word.isascii() and word.isdigit() for word in words)
    return (len(words) <= 2 and whole) or (len(words) == 1 and parse(words[0]) is not None)


def _runs(steps: np.ndarray) -> np.ndarray:
    """Lengths of the runs of rows without a line between them."""
    starts = np.flatnonzero(np.diff(steps, prepend=steps[0] - 2) > 1)
    return np.diff(starts, append=len(steps))


def _numbered(column: np.ndarray) -> np.ndarray | None:
    """Rows with each number of a column that increases from frame to frame: the number or time of
    the frame.

    >>> _numbered(np.array([7.0, 7, 8, 8])), _numbered(np.array([0.1, 0.3, 0.2, 0.1]))
    (array([2, 2]), None)
    """
    steps = np.diff(column)
    if not (steps >= 0).all() or not steps.any():
        return None
    runs = np.diff(np.flatnonzero(np.concatenate(([True], steps > 0, [True]))))
    return runs if _usual(runs) is not None else None


def _usual(runs: np.ndarray) -> int | None:
    """The length of most runs; None if they do not agree, or are single rows."""
    (size, count), *_ = Counter(runs.tolist()).most_common(1)
    return size if len(runs) > 1 and size > 1 and 2 * count > len(runs) else None


def _check_frames(
    path: Path, rows: np.ndarray, runs: np.ndarray, at: np.ndarray, layout: Layout
) -> None:
    """Refuse rows that are not whole frames; the error says where a row is missing, if this is
    known.
    """
    size, usual, ends, points = len(layout.joints), _usual(runs), np.cumsum(runs), rows[:, :3]
    of_layout = f"the {size} joints of layout {layout.name!r}"
    fits = is_frame_size(size, points)
    if usual is None and not fits and (seen := other_size(size, points)):
        raise FormatError(f"{path}: not {of_layout}: {_ask(rows, seen)}")
    if usual is not None and usual % size:
        raise FormatError(f"{path}: the frames have {usual} rows each, which are not {of_layout}")
    odd = np.flatnonzero(ends % size) if usual is not None else np.empty(0, np.int64)
    if len(rows) % size == 0 and len(odd) < 2:  # one may be a blank line inside a frame
        return
    place = ""
    if len(odd):
        first, last = at[ends[odd[0]] - runs[odd[0]]], at[ends[odd[0]] - 1]
        place = f"; the frame in lines {first} to {last} has {runs[odd[0]]}"
    elif (row := slip(points, size)) is not None:
        place = f"; a row seems to be missing, or one too many, near line {at[row]}"
    elif fits:
        place = f"; the last frame has {len(rows) % size}"
    raise FormatError(f"{path}: {len(rows)} rows are not a multiple of {of_layout}{place}")


def _ask(rows: np.ndarray, size: int | None) -> str:
    """The error about rows whose joints are not known."""
    what = f"{len(rows)} rows of {'x y z' if rows.shape[1] == 3 else 'x y z confidence'}, one joint per row"
    if size is None:
        what += "; state the joints of a frame, such as layout='openni15'"
    else:
        first, others = (
            [f"layout={name!r}" for name in names] for names in _fitting(rows[:, :3], size)
        )
        what += f", apparently {size} joints in a frame; state which: {' or '.join(first)}"
        if others:
            what += f" (their bones keep their lengths best), less likely {' or '.join(others)}"
        what += " (then look at it with kerneton show)" if first else ""
    return f"{what.removesuffix(': ')}, or the name of every joint in order, layout='NAME,NAME,...'"


def _fitting(points: np.ndarray, size: int) -> tuple[list[str], list[str]]:
    """The layouts of ``size`` joints whose bones have nearly the most constant lengths l(t) in
    points (N, 3), and the others.

    The change of a layout is the mean over its bones of std(l)/mean(l). Sensors change bones too,
    so none is excluded.
    """
    poses = points[: len(points) // size * size].reshape(-1, size, 3)
    poses = poses[np.isfinite(poses).all(axis=(1, 2)) & (poses != 0).any(axis=2).all(axis=1)]
    change = {}
    for name, layout in LAYOUTS.items():
        if len(layout.joints) == size:
            parents, children = np.array(layout.bones).T
            lengths = np.linalg.norm(poses[:, children] - poses[:, parents], axis=2)
            change[name] = (
                float((lengths.std(axis=0) / (lengths.mean(axis=0) + 1e-9)).mean())
                if len(poses)
                else 0.0
            )
    least = min(change.values(), default=0.0)
    first = [name for name in change if change[name] <= _NEARLY * least]
    return first, [name for name in change if name not in first]
