"""Segments of long recordings, and the files with these segments for the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import ParameterError
from kerneton.files.output import write_text
from kerneton.files.readers import write
from kerneton.studio import folders
from kerneton.studio.journal import Step

_MOST = 10_000  # segments of a recording
Edits = dict[str, dict[str, Any]]


def check_segments(segments: Any, n_frames: int, where: str) -> list[dict[str, Any]]:
    """Segments in the order of time, checked: frames from ``start`` up to ``stop``, which is not included.

    >>> check_segments([{"start": 4, "stop": 9, "label": " bow"}], 20, "take")
    [{'start': 4, 'stop': 9, 'label': 'bow'}]
    """
    if not isinstance(segments, list) or len(segments) > _MOST:
        raise ParameterError(f"{where}: expected a list of at most {_MOST} segments")
    checked, problems = [], []
    for number, segment in enumerate(segments, start=1):
        given = segment if isinstance(segment, dict) else {}
        start, stop, label = given.get("start"), given.get("stop"), given.get("label")
        if not (type(start) is int and type(stop) is int and 0 <= start < stop <= n_frames):
            problems.append(f"segment {number}: frames {start} to {stop} of {n_frames}")
            continue
        checked.append({"start": start, "stop": stop, "label": folders.check_name(label, "label")})
    if problems:
        raise ParameterError(f"{where}: " + "; ".join(problems[:5]))
    return sorted(checked, key=lambda s: (s["start"], s["stop"], s["label"] or ""))


def clip_path(source: str, segment: dict[str, Any]) -> str | None:
    """Path of a segment's file; None for a segment without a label.

    >>> clip_path("__studio__/unlabelled/ann/day.csv", {"start": 5, "stop": 40, "label": "bow"})
    'bow/ann/day@5-40.npz'
    """
    if segment["label"] is None:
        return None
    path = PurePosixPath(source)
    inside = path.relative_to(folders.UNLABELLED) if source.startswith(folders.UNLABELLED) else path
    subject = inside.parts[0] if len(inside.parts) > 1 else None
    return folders.path_of(segment["label"], subject, f"{path.stem}@{segment['start']}-{segment['stop']}.npz")


def source_of(id: str, edits: Edits) -> str | None:
    """The recording that a file is a segment of."""
    if "@" not in id:
        return None
    for source, fields in edits.items():
        if any(clip_path(source, segment) == id for segment in fields.get("segments", ())):
            return source
    return None


def relabel(id: str, label: str | None, edits: Edits) -> list[Step]:
    """The step that gives a segment another label, or removes it from its recording."""
    source = source_of(id, edits)
    if source is None:
        return []
    old = edits[source]["segments"]
    new = [{**segment, "label": label} if clip_path(source, segment) == id else segment for segment in old]
    if label is None:
        new = [segment for segment in old if clip_path(source, segment) != id]
    return [{"edit": [source, "segments", old, new]}]


def sync(root: Path, edits: Edits, load: Callable[[str], list[SkeletonSequence]]) -> set[str]:
    """Write missing files of segments, remove files whose segment is gone; returns the files that changed.

    A list next to the edits names the studio's own files, so that no other file is ever removed.
    """
    listing = root / folders.STUDIO / "clips.txt"
    ours = set(listing.read_text(encoding="utf-8").splitlines()) if listing.exists() else set()
    wanted: dict[str, tuple[str, dict[str, Any]]] = {}
    for source, fields in edits.items():
        if (root / source).exists() and source.startswith(folders.UNLABELLED):
            for segment in fields.get("segments", ()):
                if (target := clip_path(source, segment)) is not None:
                    wanted[target] = (source, segment)
    if ours == set(wanted) and all((root / path).exists() for path in wanted):
        return set()
    write_text(listing, "".join(f"{path}\n" for path in sorted(ours | set(wanted))))
    gone = ours - set(wanted)
    missing = {path for path in wanted if path not in ours or not (root / path).exists()}
    for target in missing:
        source, segment = wanted[target]
        names = {"label": segment["label"], "name": PurePosixPath(target).stem}
        write(root / target, [load(source)[0].cut(segment["start"], segment["stop"], **names)])
    for path in gone:
        (root / path).unlink(missing_ok=True)
        folders.remove_empty_folders(root, (root / path).parent)
    write_text(listing, "".join(f"{path}\n" for path in sorted(wanted)))
    return gone | missing
