"""Files dropped on the page: staged below ``__studio__/incoming``, read, and taken in where they belong."""

from __future__ import annotations

import contextlib
import math
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from kerneton.data.layouts import LAYOUTS, MEDIAPIPE_33
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import KernetonError, MissingDataError, ParameterError
from kerneton.files.folder import Entry, listed_entries
from kerneton.files.readers import detect_format, write
from kerneton.studio import places
from kerneton.studio.library import Library

MAX_FILE = 512 << 20  # bytes of one upload
MAX_BATCH = 4 << 30  # bytes of all uploads of one drop
_BATCH = re.compile(r"[0-9a-z]{8,32}")
_DEEPEST = 10
_NEEDS_OTHERS = ("amc",)  # formats that cannot be read without a second file beside them


def staging_place(library: Library, batch: str, path: str) -> Path:
    """Where an upload is staged; the path is cleaned part by part and stays below the batch's folder."""
    parts = [part for part in PurePosixPath(path.replace("\\", "/")).parts if part not in ("/", ".", "..")]
    if not parts or len(parts) > _DEEPEST:
        raise ParameterError(f"upload {path[:80]!r}: expected a file name with at most {_DEEPEST} folders")
    return batch_folder(library, batch).joinpath(*(places.safe_name(part) for part in parts))


def batch_folder(library: Library, batch: str) -> Path:
    """The folder of one drop."""
    if not _BATCH.fullmatch(batch):
        raise ParameterError(f"batch {batch[:40]!r}: expected 8 to 32 digits and small letters")
    return library.root / places.INCOMING / batch


def take_in(
    library: Library, batch: str, *, label: str | None = None, subject: str | None = None
) -> dict[str, Any]:
    """Read what was staged and move it to its places; files that cannot be read are named, with the reason.

    Labels and subjects come from folders (``LABEL/SUBJECT/FILE``; a single folder around everything does not count),
    then from the files themselves, then from ``label`` and ``subject``.
    """
    label, subject = places.check_name(label, "label"), places.check_name(subject, "subject")
    folder = batch_folder(library, batch)
    if not folder.is_dir():
        raise ParameterError(f"batch {batch!r}: nothing was uploaded")
    top = _without_wrapper(folder)
    staged: list[tuple[str, str]] = []
    broken: list[str] = []
    for entry in _entries(top):
        try:
            sequences = library.files.read(entry.path)
        except KernetonError as error:
            broken.append(str(error).replace(f"{folder}/", ""))
            continue
        several = len(sequences) > 1 or detect_format(entry.path) in _NEEDS_OTHERS
        for number, sequence in enumerate(sequences):
            own = {field: getattr(sequence, field) for field in ("label", "subject")}
            mixed = {field: len({getattr(s, field) for s in sequences}) > 1 for field in own}
            facts = {
                "label": (own["label"] if mixed["label"] else entry.label or own["label"]) or label,
                "subject": (own["subject"] if mixed["subject"] else entry.subject or own["subject"])
                or subject,
            }
            clean = {key: None if value is None else places.safe_name(value) for key, value in facts.items()}
            source = entry.path
            if several:
                stem = places.safe_name(PurePosixPath(sequence.name).name or entry.path.stem)
                source = folder / "__parts__" / str(number) / f"{entry.path.stem}-{stem}.npz"
                if stem.startswith(entry.path.stem):
                    source = source.with_name(f"{stem}.npz")
                write(source, [sequence.replace(**clean)])
            target = places.place(clean["label"], clean["subject"], source.name)
            staged.append((source.relative_to(library.root).as_posix(), target))
    ids = library.add(staged)
    if not any(path.is_file() for path in folder.rglob("*")):
        shutil.rmtree(folder, ignore_errors=True)
    return {"added": ids, "broken": broken}


def _entries(top: Path) -> Iterator[Entry]:
    with contextlib.suppress(
        MissingDataError
    ):  # files that an index names and nobody sent: each is named by itself
        yield from listed_entries(top)


def _without_wrapper(folder: Path) -> Path:
    """A lone folder around folders of files is the data set's name, not a label."""
    if (folder / "index.csv").is_file():
        return folder
    inside = [path for path in folder.iterdir() if not path.name.startswith((".", "__"))]
    if len(inside) == 1 and inside[0].is_dir() and detect_format(inside[0]) is None:
        below = [path for path in inside[0].iterdir() if not path.name.startswith((".", "__"))]
        if below and any(path.is_dir() or path.name == "index.csv" for path in below):
            return inside[0]
    return folder


def recorded(library: Library, told: dict[str, Any]) -> str:
    """Keep a recording that the page made, from a camera or a video; its id.

    ``joints`` is a list of frames of [x, y, z, confidence] per joint in MediaPipe's coordinates (x to the right of the
    picture, y down, z away) in metres; ``times`` are seconds, made even by linear interpolation.
    """
    sequence = from_camera(told)
    label, subject = (places.check_name(told.get(key), key) for key in ("label", "subject"))
    name = places.safe_name(str(told.get("name") or "recording"))
    folder = library.root / places.INCOMING / "recorded"
    with library.lock:
        path = places.free_place(
            f"{places.INCOMING}/recorded/{name}.npz", lambda p: (library.root / p).exists()
        )
        folder.mkdir(parents=True, exist_ok=True)
        write(library.root / path, [sequence.replace(label=label, subject=subject, name=name)])
        return library.add([(path, places.place(label, subject, f"{name}.npz"))], "record")[0]


def from_camera(told: dict[str, Any]) -> SkeletonSequence:
    """Frames of a camera at uneven times as a recording at an even rate.

    >>> frame = [[0.1, -0.5, 0.2, 1.0]] * 33
    >>> from_camera({"joints": [frame, frame, frame], "times": [0, 0.04, 0.1]})
    SkeletonSequence(3 frames, 33 joints, mediapipe33)
    """
    try:
        frames = np.asarray(told["joints"], dtype=np.float64)
        times = np.asarray(told["times"], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError("a recording needs joints, (frames, joints, 4) numbers, and times") from error
    if frames.ndim != 3 or frames.shape[2] != 4 or not 2 <= len(frames) <= 200_000 or frames.shape[1] > 500:
        raise ParameterError(
            f"expected joints of shape (frames, joints, 4) with two frames or more, got {frames.shape}"
        )
    if times.shape != (len(frames),) or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ParameterError("times must be one number per frame, and must rise")
    layout = LAYOUTS.get(str(told.get("layout", MEDIAPIPE_33.name)))
    if layout is None or len(layout.joints) != frames.shape[1]:
        raise ParameterError(f"no layout {told.get('layout')!r} with {frames.shape[1]} joints")
    rate = float(np.clip(round((len(times) - 1) / (times[-1] - times[0])), 5, 60))
    even = times[0] + np.arange(max(2, math.floor((times[-1] - times[0]) * rate + 1e-9) + 1)) / rate
    flat = frames.reshape(len(frames), -1)
    resampled = np.stack([np.interp(even, times, column) for column in flat.T], axis=1)
    frames = resampled.reshape(len(even), *frames.shape[1:])
    joints = (frames[..., :3] * [-1.0, -1.0, 1.0]).astype(np.float32)
    return SkeletonSequence(
        joints, confidence=np.clip(frames[..., 3], 0, 1).astype(np.float32), layout=layout, fps=rate
    )
