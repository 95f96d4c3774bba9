"""Segments of long recordings, from the files that annotation tools write.

Tables: ``label,start,stop`` (frames as in a slice), ``label,first,last`` (both counted in), ``label,start_s,stop_s``
(seconds), each with an optional column ``file``; or a label per frame. ELAN (``.eaf``), Praat (``.TextGrid``), Label
Studio (JSON) and CVAT (XML). Nothing in such a file is ever executed, fetched or expanded.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from kerneton.data.segments import Segment, as_segments
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, FormatError, MissingDataError
from kerneton.files._segment_text import FOLDER_TABLE, MAX_BYTES, Interval, decode, named_after
from kerneton.files.output import write_text


def read_segments(
    path: str | os.PathLike[str], *, fps: float | None = None, tier: str | None = None
) -> dict[str, tuple[Segment, ...]]:
    """Segments by the name of their recording; ``""`` where the file names none.

    Parameters
    ----------
    path : path
        The form is found from the content.
    fps : float, optional
        Frames per second of the recording, for files whose times are seconds.
    tier : str, optional
        Which tier of an ELAN or Praat file; all by default.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "long.segments.csv"
    >>> _ = file.write_text("label,start_s,stop_s\\nwave,1.0,2.5\\nclap,4,5\\n")
    >>> read_segments(file, fps=30)[""]
    (Segment(label='wave', start=30, stop=75), Segment(label='clap', start=120, stop=150))
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise MissingDataError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise FormatError(f"{path}: larger than {MAX_BYTES >> 20} MiB, too large for a file of segments")
    return _to_frames(_intervals(data, path, tier), path, fps)


def _intervals(data: bytes, path: Path, tier: str | None) -> list[Interval]:
    text = decode(data)
    head = text.lstrip()[:256]
    if head.startswith("<"):
        from kerneton.files._segment_xml import cvat_intervals, eaf_intervals, parse_xml

        root = parse_xml(data, path)
        if root.tag == "ANNOTATION_DOCUMENT":
            return eaf_intervals(root, path, tier)
        if root.tag == "annotations":
            return cvat_intervals(root, path)
        raise FormatError(f"{path}: expected an ELAN or CVAT file, got XML with <{root.tag[:40]}>")
    if "ooTextFile" in head:
        from kerneton.files._segment_textgrid import textgrid_intervals

        return textgrid_intervals(text, path, tier)
    if head.startswith(("[", "{")):
        from kerneton.files._segment_json import label_studio_intervals

        return label_studio_intervals(text, path)
    from kerneton.files._segment_tables import table_intervals

    return table_intervals(text, path)


def _to_frames(
    intervals: Iterable[Interval], path: Path, fps: float | None
) -> dict[str, tuple[Segment, ...]]:
    found: dict[str, list[Segment]] = {}
    problems = []
    for item in intervals:
        try:
            if item.seconds:
                if fps is None:
                    raise DataError("its times are seconds: the frame rate is needed (fps=, --fps)")
                segment = Segment.from_seconds(item.label, item.start, item.stop, fps)
            else:
                segment = Segment(item.label, int(item.start), int(item.stop))
        except DataError as error:
            problems.append(f"{item.where}: {error}" if item.where else str(error))
            continue
        found.setdefault(_stem(item.recording), []).append(segment)
    if problems:
        unique = list(
            dict.fromkeys(p.partition(": ")[2] if "frame rate is needed" in p else p for p in problems)
        )
        more = f"; and {len(unique) - 5} more" if len(unique) > 5 else ""
        raise FormatError(f"{path}: {'; '.join(unique[:5])}{more}")
    return {name: as_segments(segments) for name, segments in found.items()}


def with_segments(
    recordings: Sequence[SkeletonSequence],
    path: str | os.PathLike[str],
    *,
    fps: float | None = None,
    tier: str | None = None,
) -> list[SkeletonSequence]:
    """Recordings with the segments of a file, which names them by file name or is about the only one.

    >>> import numpy as np, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "segments.csv"
    >>> _ = file.write_text("file,label,start,stop\\nlong.bvh,wave,10,40\\n")
    >>> with_segments([SkeletonSequence(np.ones((90, 5, 3)), name="long")], file)[0].segments
    (Segment(label='wave', start=10, stop=40),)
    """
    rates = {r.fps for r in recordings if r.fps is not None}
    if fps is None and len(rates) == 1:
        fps = rates.pop()
    found = read_segments(path, fps=fps, tier=tier)
    names = [_stem(r.name) for r in recordings]
    unknown = sorted(name for name in found if name and name not in names)
    if set(found) == {""} and len(recordings) > 1:
        raise DataError(f"{path}: no column names the recording, but there are {len(recordings)} of them")
    if unknown and len(unknown) == len(found) == len(recordings) == 1:
        unknown, found = [], {names[0]: found[unknown[0]]}  # one of each: they belong together
    if unknown:
        raise DataError(f"{path}: segments of {', '.join(unknown[:5])}, which are not among the recordings")
    only = found.get("", ()) if len(recordings) == 1 else ()
    return [
        r.replace(segments=found.get(name) or only or r.segments)
        for r, name in zip(recordings, names, strict=True)
    ]


def segments_beside(path: str | os.PathLike[str]) -> Path | None:
    """The file of segments that lies beside a recording: ``long.segments.csv``, ``long.eaf``, ..., or None.

    >>> segments_beside("/nowhere/long.bvh") is None
    True
    """
    path = Path(path)
    if (beside := named_after(path)) is not None:
        return beside
    table = path.with_name(FOLDER_TABLE)
    if table.is_file() and table != path and _stem(path.name) in read_segment_names(table):
        return table
    return None


def beside_segments(
    recordings: Sequence[SkeletonSequence], path: str | os.PathLike[str]
) -> list[SkeletonSequence]:
    """The recordings of a file, with the segments of the file beside it where they have none themselves.

    Segments are about the file's first recording: annotation tools know one timeline.
    """
    if not recordings or any(r.segments for r in recordings) or (beside := segments_beside(path)) is None:
        return list(recordings)
    first = recordings[0]
    if beside.name.lower() == FOLDER_TABLE:
        found = read_segments(beside, fps=first.fps).get(_stem(Path(path).name), ())
    else:
        found = next(iter(read_segments(beside, fps=first.fps).values()), ())
    return [first.replace(segments=found), *recordings[1:]]


def read_segment_names(path: Path) -> set[str]:
    """The recordings that a table of segments names."""
    from kerneton.files._segment_tables import table_intervals

    with path.open("rb") as file:
        return {_stem(i.recording) for i in table_intervals(decode(file.read(MAX_BYTES)), path)}


def write_segments(path: str | os.PathLike[str], segments: Iterable[Segment]) -> None:
    """Write a table ``label,start,stop`` that `read_segments` reads.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "long.segments.csv"
    >>> write_segments(file, [Segment("wave", 30, 75)])
    >>> read_segments(file)[""]
    (Segment(label='wave', start=30, stop=75),)
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["label", "start", "stop"])
    writer.writerows([s.label, s.start, s.stop] for s in segments)
    write_text(path, out.getvalue())


def _stem(name: str) -> str:
    """A recording's name without folders and without the ending of a file."""
    base = PurePosixPath(name.replace("\\", "/")).name
    head, dot, tail = base.rpartition(".")
    return head if dot and head and 1 <= len(tail) <= 8 and tail.isalnum() and not tail.isdigit() else base
