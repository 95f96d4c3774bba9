"""Segments of long recordings, and the files with these segments for the command line."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, FormatError, KernetonError, ParameterError
from kerneton.studio import folders
from kerneton.studio.place import Place, parts_of
from kerneton.studio.recording_info import RecordingInfo

LIST = f"{folders.STUDIO}/clips.json"
_CLIP = re.compile(r"@[0-9]+-[0-9]+\.npz\Z")
_MOST = 10_000  # segments of a recording
Edits = dict[str, dict[str, Any]]


def check_segments(segments: Any, n_frames: int, where: str) -> list[dict[str, Any]]:
    """Segments in the order of time, checked: frames from ``start`` up to ``stop``, which is not
    included.

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


def stored_segments(info: RecordingInfo) -> list[dict[str, Any]]:
    """Segments that a file of another program holds, as the page has them."""
    return [
        {"start": start, "stop": min(stop, info.n_frames), "label": folders.safe_name(label)}
        for start, stop, label in info.segments
        if start < info.n_frames
    ]


def are_segments(value: Any) -> bool:
    """Whether a stored value is a list of segments, with labels that earlier versions allowed,
    too.
    """
    return (
        isinstance(value, list)
        and len(value) <= _MOST
        and all(
            isinstance(s, dict)
            and set(s) == {"start", "stop", "label"}
            and type(s["start"]) is type(s["stop"]) is int
            and 0 <= s["start"] < s["stop"] < 1 << 31
            and (s["label"] is None or _is_label(s["label"]))
            for s in value
        )
    )


def _is_label(text: Any) -> bool:
    try:
        return len(parts_of(text)) == 1 and folders.is_listed(text) and len(text.encode()) < 256
    except (KernetonError, UnicodeError):
        return False


def clip_paths(edits: Edits) -> dict[str, tuple[str, dict[str, Any]]]:
    """The files of all segments that have a label: their path, with the recording and the segment.

    >>> source = "__studio__/unlabelled/ann/day.csv"
    >>> list(clip_paths({source: {"segments": [{"start": 5, "stop": 40, "label": "bow"}]}}))
    ['bow/ann/day@5-40.npz']
    """
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    stems: dict[
        tuple[str | None, str], str
    ] = {}  # of two recordings with one name, the second keeps its ending
    for source in sorted(edits):
        if not (segments := edits[source].get("segments")):
            continue
        path = PurePosixPath(source)
        inside = path.relative_to(folders.UNLABELLED) if _is_unlabelled(source) else path
        subject = inside.parts[0] if len(inside.parts) > 1 else None
        stem = path.stem if stems.setdefault((subject, path.stem), source) == source else path.name
        for segment in segments:
            if segment["label"] is not None:
                name = f"{folders.shortened(stem)}@{segment['start']}-{segment['stop']}.npz"
                found[folders.path_of(segment["label"], subject, name)] = (source, segment)
    return found


def _is_unlabelled(source: str) -> bool:
    return source.startswith(f"{folders.UNLABELLED}/")


def source_of(id: str, edits: Edits) -> str | None:
    """The recording that a file is a segment of."""
    return clip_paths(edits)[id][0] if "@" in id and id in clip_paths(edits) else None


def relabel(ids: Iterable[str], label: str | None, edits: Edits) -> list[dict[str, list[Any]]]:
    """The steps that give segments another label, or remove them from their recordings."""
    changed: dict[str, list[dict[str, Any]]] = defaultdict(list)
    clips = clip_paths(edits)
    for id in ids:
        source, segment = clips[id]
        changed[source].append(segment)
    steps: list[dict[str, list[Any]]] = []
    for source, some in changed.items():
        old = edits[source]["segments"]
        new = [
            {**s, "label": label} if s in some else s
            for s in old
            if label is not None or s not in some
        ]
        steps.append({"edit": [source, "segments", old, new]})
    return steps


def sync(
    place: Place, edits: Edits, load: Callable[[str], list[SkeletonSequence]]
) -> tuple[set[str], dict[str, str]]:
    """Write missing files of segments, remove files whose segment is gone; the files that changed,
    and those that could not be written.

    A list beside the edits names the studio's own files. No other file is overwritten, and one
    of them that somebody has replaced is moved to the trash where the studio would remove it.
    """
    ours = read_list(place)
    wanted = {
        path: clip
        for path, clip in clip_paths(edits).items()
        if _is_unlabelled(clip[0]) and place.is_file(clip[0])
    }
    missing = {
        path
        for path, (source, _) in wanted.items()
        if path not in ours or ours[path].source != source or not place.is_file(path)
    }
    if set(ours) == set(wanted) and not missing:
        return set(), {}
    others = {path for path in missing if path not in ours and not _is_free(place, path)}
    gone = set(ours) - set(wanted)
    kept = dict(ours)
    begun = {path: File(wanted[path][0]) for path in missing - others}
    _write_list(place, kept | begun)  # ours, also if the process ends now
    broken: dict[str, str] = {}
    for target in sorted(missing):
        source, segment = wanted[target]
        names = {"label": segment["label"], "name": PurePosixPath(target).stem}
        try:
            cut = load(source)[0].cut(segment["start"], segment["stop"], **names)
            if target not in others:
                place.write_recordings(target, [cut])
            elif not place.is_file(target) or not _is_same(load(target), cut):
                broken[target] = (
                    f"{target}: a segment of {source} belongs here, but there is another file"
                )
                continue
            kept[target] = _file(place, target, source)
        except (KernetonError, OSError) as error:
            broken[target] = f"{target}: this segment cannot be cut: {error}"
    for path in sorted(gone):
        try:
            if place.is_file(path):
                if ours[path] in (File(ours[path].source), _file(place, path, ours[path].source)):
                    place.remove(path)
                else:
                    wish = f"{folders.TRASH}/{PurePosixPath(path).name}"
                    place.move(path, folders.free_path(wish, place.is_taken))
            place.remove_empty_above(path)
            del kept[path]
        except (KernetonError, OSError) as error:
            broken[path] = f"{path}: the file of a segment that is gone stays: {error}"
    _write_list(place, kept)
    return gone | missing, broken


class File(NamedTuple):
    """What the studio knows of a file that it has written: the recording that it is cut from, its
    size and its time.
    """

    source: str
    size: int = -1  # of a file that is being written
    time: int = -1


def _file(place: Place, path: str, source: str) -> File:
    found = place.status(path)
    return File(source) if found is None else File(source, found.st_size, found.st_mtime_ns)


def _is_free(place: Place, path: str) -> bool:
    try:
        return not place.is_taken(path)
    except (KernetonError, OSError):  # a link on the way
        return False


def _is_same(found: list[SkeletonSequence], cut: SkeletonSequence) -> bool:
    """Whether a file holds exactly this segment, as after a copy of the folder."""
    same_size = len(found) == 1 and found[0].joints.shape == cut.joints.shape
    return same_size and np.allclose(found[0].joints, cut.joints, atol=1e-6, equal_nan=True)


def read_list(place: Place) -> dict[str, File]:
    """Files of segments that the studio has written: never any that it would not write."""
    data = place.read(LIST)
    if data is None:
        return {}
    try:
        listed = json.loads(data)
        if not isinstance(listed, dict):
            raise DataError("expected an object")
        if not all(_is_clip(path) for path in listed):
            raise DataError("a path that no segment can have")
        if not all(
            isinstance(s, list) and [type(n) for n in s] == [str, int, int] for s in listed.values()
        ):
            raise DataError("expected source, size and time of each file")
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{LIST}: not the list of files of segments: {error}") from error
    return {path: File(*facts) for path, facts in listed.items()}


def _write_list(place: Place, listed: dict[str, File]) -> None:
    place.write(LIST, json.dumps(listed, indent=0, sort_keys=True).encode() + b"\n")


def _is_clip(path: object) -> bool:
    """Whether a path is one that `clip_paths` can give."""
    parts = parts_of(path)
    return (
        2 <= len(parts) <= 3
        and _CLIP.search(parts[-1]) is not None
        and folders.is_listed("/".join(parts))
    )
