"""Files dropped on the page: staged below ``__studio__/incoming``, read, and moved to their labels'
folders.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from kerneton.data.layouts import MEDIAPIPE_33
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import KernetonError, MissingDataError, ParameterError
from kerneton.files.folder import Entry, listed_entries
from kerneton.files.readers import FORMATS, detect_format
from kerneton.studio import folders
from kerneton.studio.clips import stored_segments
from kerneton.studio.library import Library
from kerneton.studio.live import interpolated, layout_of
from kerneton.studio.recording_info import info_of

MAX_FILE = 512 << 20  # bytes of one upload
MAX_BATCH = 4 << 30  # bytes of all uploads of one drop
_BATCH = re.compile(r"[0-9a-z]{8,32}")
_DEEPEST = 10
_RECORDED = "recorded"
_LATEST = 1e12  # seconds
_MOST_BETWEEN = 10  # frames of a recording for each pose that was seen
_MOST_JOINTS = 4_000_000  # joints in all frames of a recording: 67 minutes of a camera
_NEEDS_OTHERS = ("amc",)  # formats that need a second file in the same folder


def staging_path(library: Library, batch: str, path: str) -> str:
    """Path below the folder at which an upload is staged: cleaned part by part, so that it stays
    below the batch's folder.
    """
    parts = [
        part
        for part in PurePosixPath(path.replace("\\", "/")).parts
        if part not in ("/", ".", "..")
    ]
    if not parts or len(parts) > _DEEPEST:
        raise ParameterError(
            f"upload {path[:80]!r}: expected a file name with at most {_DEEPEST} folders"
        )
    library.check_ours()
    return "/".join([batch_folder(batch), *(folders.safe_name(part) for part in parts)])


def batch_folder(batch: str) -> str:
    """The folder of one drop."""
    if not _BATCH.fullmatch(batch):
        raise ParameterError(f"batch {batch[:40]!r}: expected 8 to 32 digits and small letters")
    return f"{folders.INCOMING}/{batch}"


def take_in(
    library: Library, batch: str, *, label: str | None = None, subject: str | None = None
) -> dict[str, Any]:
    """Read the staged files and move them to their folders; files that cannot be read are named,
    with the reason.

    Labels and subjects come from folders (``LABEL/SUBJECT/FILE``; a single folder around everything
    does not count), then from the files themselves, then from ``label`` and ``subject``.
    """
    label, subject = folders.check_name(label, "label"), folders.check_name(subject, "subject")
    library.check_ours()
    place, inside = library.place, batch_folder(batch)
    if not place.is_folder(inside):
        raise ParameterError(f"batch {batch!r}: nothing was uploaded")
    folder = place.root / inside
    top = _without_wrapper(folder)
    staged: list[tuple[str, str]] = []
    segments: dict[str, list[dict[str, Any]]] = {}
    broken: list[str] = []
    library.files.estimate(path.relative_to(place.root).as_posix() for path in _films(folder))
    for position, entry in enumerate(_entries(top)):
        try:
            if not folders.is_inside(folder, entry.path):  # a line of an index
                raise MissingDataError(f"{entry.path.name}: not among the files that were sent")
            sequences = library.files.read(entry.path)
        except KernetonError as error:
            broken.append(str(error).replace(f"{folder}/", ""))
            continue
        # of a film, the joints alone are kept
        written = len(sequences) > 1 or detect_format(entry.path) in (*_NEEDS_OTHERS, "film")
        names = folders.named("", sequences, entry.label or None, entry.subject or None)
        for number, (sequence, (_, own_label, own_subject)) in enumerate(
            zip(sequences, names, strict=True)
        ):
            found = {"label": own_label or label, "subject": own_subject or subject}
            clean = {
                key: folders.safe_name(value) if value else None for key, value in found.items()
            }
            source = entry.path.relative_to(place.root).as_posix()
            if written:
                stem = folders.safe_name(PurePosixPath(sequence.name).name or entry.path.stem)
                name = stem if stem.startswith(entry.path.stem) else f"{entry.path.stem}-{stem}"
                source = f"{inside}/__parts__/{position}-{number}/{name}.npz"
                place.write_recordings(source, [sequence.replace(**clean)])
            if sequence.segments:
                segments[source] = stored_segments(info_of(sequence))
            label_there = None if sequence.segments else clean["label"]
            name = PurePosixPath(source).name
            staged.append((source, folders.path_of(label_there, clean["subject"], name)))
    ids = library.add(staged, segments=segments)
    for film in _films(folder):
        place.remove(film.relative_to(place.root).as_posix())
    if not any(path.is_file() for path in folder.rglob("*")):
        place.remove_folder(inside)
    return {"added": ids, "broken": broken}


def _films(folder: Path) -> list[Path]:
    suffixes = FORMATS["film"].suffixes
    return [path for path in folder.rglob("*") if path.suffix.lower() in suffixes]


def _entries(top: Path) -> Iterator[Entry]:
    with contextlib.suppress(MissingDataError):  # an index may name files that were not sent
        yield from listed_entries(top)


def _without_wrapper(folder: Path) -> Path:
    """A single folder around folders of files is the name of the data set, not a label."""
    inside = _visible(folder)
    if len(inside) != 1 or not inside[0].is_dir() or detect_format(inside[0]) is not None:
        return folder
    below = _visible(inside[0])
    return inside[0] if any(path.is_dir() or path.name == "index.csv" for path in below) else folder


def _visible(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith((".", "__"))]


def clean(library: Library) -> None:
    """Remove what uploads left that never came to their end; recordings of a camera, which are
    nowhere else, go to the list.
    """
    place, needed = library.place, library.journal.moved_paths()
    rescued: list[tuple[str, str]] = []
    for batch in place.names(folders.INCOMING):
        inside = f"{folders.INCOMING}/{batch}"
        for path in sorted((place.root / inside).rglob("*"), reverse=True):
            name = path.relative_to(place.root).as_posix()
            if name in needed or not place.is_file(name):
                continue
            if batch == _RECORDED and path.suffix == ".npz":
                rescued.append((name, folders.path_of(None, None, path.name)))
            else:
                place.remove(name)
                place.remove_empty_above(name)
    if rescued:
        library.add(rescued, "record")


def recorded(library: Library, message: dict[str, Any]) -> str:
    """Keep a recording that the page made from a camera; returns its id.

    ``joints`` is a list of frames of [x, y, z, confidence] per joint in metres, null where a joint
    was not seen; ``times`` are in seconds. Frames are interpolated linearly to an even rate.
    """
    sequence = from_camera(message)
    label, subject = (folders.check_name(message.get(key), key) for key in ("label", "subject"))
    name = folders.safe_name(str(message.get("name") or "recording"))
    with library.lock:
        wanted = f"{folders.INCOMING}/{_RECORDED}/{name}.npz"
        library.check_ours()
        path = folders.free_path(wanted, library.place.is_taken)
        library.place.write_recordings(
            path, [sequence.replace(label=label, subject=subject, name=name)]
        )
        return library.add([(path, folders.path_of(label, subject, f"{name}.npz"))], "record")[0]


def from_camera(message: dict[str, Any]) -> SkeletonSequence:
    """Frames of a camera at uneven times as a recording at an even rate.

    >>> frame = [[0.1, 0.5, 0.2, 1.0]] * 33
    >>> from_camera({"joints": [frame, frame, frame], "times": [0, 0.04, 0.1]})
    SkeletonSequence(3 frames, 33 joints, mediapipe33)
    """
    try:
        frames, times = (np.asarray(message[key], dtype=np.float64) for key in ("joints", "times"))
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError(
            "a recording needs joints, (frames, joints, 4) numbers, and times"
        ) from error
    if (
        frames.ndim != 3
        or frames.shape[2] != 4
        or not 2 <= len(frames) <= 200_000
        or frames.shape[1] > 500
    ):
        raise ParameterError(
            f"expected joints of shape (frames, joints, 4) with two frames or more, got {frames.shape}"
        )
    known = times.shape == (len(frames),) and (np.abs(times) < _LATEST).all()  # False for NaN
    if not known or (np.diff(times) <= 0).any():
        raise ParameterError("times must be one number per frame, and must rise")
    layout = layout_of(message.get("layout", MEDIAPIPE_33.name), frames.shape[1])
    # Never more frames than were seen: a slow estimator is warned of, not hidden by interpolation.
    rate = float(np.clip(round((len(times) - 1) / (times[-1] - times[0])), 1, 60))
    n_frames = max(2, math.floor((times[-1] - times[0]) * rate + 1e-9) + 1)
    if n_frames > _MOST_BETWEEN * len(frames) or n_frames * frames.shape[1] > _MOST_JOINTS:
        raise ParameterError(
            f"{len(frames)} poses in {times[-1] - times[0]:g} s are no recording: expected at least one every "
            f"{_MOST_BETWEEN / rate:g} s, and at most {_MOST_JOINTS // frames.shape[1]} frames in all"
        )
    even = times[0] + np.arange(n_frames) / rate
    return interpolated(times, frames, even).replace(layout=layout, fps=rate)
