"""NumPy files: ``.npy`` with one array, ``.npz`` with the fields of one or many recordings.

Arrays of joints are (T, J, 3), or (T, J, 2) with z = 0, or (T, J, 4) with a confidence, or (N, T,
J, 3) for N recordings of one length. In an ``.npz`` file the arrays are named like the fields of
`SkeletonSequence`: ``joints``, ``confidence``, ``layout``, ``label``, ``subject``, ``name``,
``fps`` and ``segments`` (JSON: [[label, start, stop], ...]); with several recordings, a number is
added: ``joints_0``, ``label_0``. ``layout`` is the name of a known layout, or JSON. In files of
other programs the joints may be named ``keypoints``, ``skeleton``, ``poses``, ``data`` or
``arr_0``. Nothing in such a file is ever executed.
"""

from __future__ import annotations

import json
import lzma
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from kerneton.data.arrays import padding
from kerneton.data.layouts import MEDIAPIPE_33
from kerneton.data.segments import Segment, as_segments
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.wording import many
from kerneton.exceptions import (
    DataError,
    FormatError,
    KernetonError,
    KernetonWarning,
    MissingDataError,
)
from kerneton.files.output import replacing
from kerneton.files.readers._arrays import (
    MAGIC,
    coordinates,
    layout_from_text,
    layout_text,
    read_array,
    trust,
    with_trust,
)
from kerneton.files.readers._keypoints import LOG
from kerneton.files.readers._text import LARGEST, MAX_BYTES, RECORDING, check_regular, shorten
from kerneton.files.readers._values import Budget, file_budget

WRITES = (".npz",)
_JOINTS = (
    "joints",
    "keypoints",
    "keypoint",
    "skeleton",
    "skeletons",
    "poses",
    "pose",
    "data",
    "x",
    "arr",
)
_CONFIDENCE = ("confidence", "confidences", "scores", "score", "keypoint_score", "visibility")
_LABEL, _SUBJECT = ("label", "labels", "y"), ("subject", "subjects")
_FIELDS = {*_JOINTS, *_CONFIDENCE, *_LABEL, *_SUBJECT, "layout", "name", "fps", "segments"}
_NUMBERED = re.compile(r"(\w+)_(\d{1,9})")
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    ValueError,
    RuntimeError,
    struct.error,
)

_ROTATIONS = {"poses", "pose", "pose_body", "body_pose", "smpl_poses", "fullpose", "global_orient"}
_BODY_MODEL = {
    *("trans", "betas", "mocap_framerate", "mocap_frame_rate", "root_orient", "gender", "transl"),
    *("surface_model_type", "smpl_trans", "pose_hand", "global_orient", "dmpls"),
}
_FREEMOCAP = (543, 553)  # body, hands and face of MediaPipe: the first 33 are the body

Fields = dict[str, np.ndarray]


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the file starts as a NumPy array or as a zip archive of arrays."""
    return head.startswith(MAGIC) or (head.startswith(b"PK\x03\x04") and b".npy" in head[:512])


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of the file; every field that `write` stored comes back to the bit.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "walk.npz"
    >>> np.savez(file, keypoints=np.zeros((9, 17, 2)), layout="coco17", label="walk", fps=25)
    >>> read(file)
    [SkeletonSequence(9 frames, 17 joints, coco17, label='walk', name='walk')]
    """
    groups: dict[int | None, Fields] = {}
    check_regular(path)
    budget = file_budget(path)
    for key, value in _arrays(path, budget):
        numbered = _NUMBERED.fullmatch(key)
        if numbered and numbered[1] in _FIELDS:
            groups.setdefault(int(numbered[2]), {})[numbered[1]] = value
        else:
            groups.setdefault(None, {})[key] = value
    numbers = sorted(n for n in groups if n is not None)
    if None in groups and not any(_find(groups[n], _JOINTS) is not None for n in numbers):
        return _recordings(groups[None], path, path.stem, budget)
    recordings = []
    for n in numbers:
        stem = path.stem if len(numbers) == 1 else f"{path.stem}_{n}"
        recordings += _recordings(groups[n], path, stem, budget)
    return recordings


def write(sequences: Sequence[SkeletonSequence], path: Path) -> None:
    """Store every field of every recording, compressed.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "wave.npz"
    >>> write([SkeletonSequence(np.ones((2, 5, 3), np.float32), subject="ann", name="first")], file)
    >>> read(file)[0].subject, sorted(np.load(file))
    ('ann', ['joints', 'name', 'subject'])
    """
    fields: dict[str, Any] = {}
    for i, sequence in enumerate(sequences):
        end = f"_{i}" if len(sequences) > 1 else ""
        fields[f"joints{end}"] = sequence.joints
        fields[f"name{end}"] = sequence.name
        for key in ("confidence", "label", "subject", "fps"):
            if (value := getattr(sequence, key)) is not None:
                fields[f"{key}{end}"] = value
        if sequence.layout is not None:
            fields[f"layout{end}"] = layout_text(sequence.layout)
        if sequence.segments:
            fields[f"segments{end}"] = json.dumps(
                [[s.label, s.start, s.stop] for s in sequence.segments]
            )
    with replacing(path) as temporary:
        np.savez_compressed(temporary, **fields)


def _arrays(path: Path, budget: Budget) -> Iterator[tuple[str, np.ndarray]]:
    """Names and arrays of an archive, or the one array of an ``.npy`` as ``joints``."""
    try:
        with path.open("rb") as file:
            is_array = file.read(6) == MAGIC
            file.seek(0)
            if is_array:
                yield "joints", read_array(file, path.stat().st_size, str(path))
            else:
                yield from _members(file, path, budget)
    except OSError as error:
        raise MissingDataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _members(file: IO[bytes], path: Path, budget: Budget) -> Iterator[tuple[str, np.ndarray]]:
    try:
        with zipfile.ZipFile(file) as archive:
            infos = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            check_no_rotations(infos, path)
            # Unknown fields are not read, unless the joints have an unknown name.
            chosen = {key: info for key, info in infos.items() if _base(key) in _FIELDS}
            if not any(_base(key) in _JOINTS for key in chosen):
                chosen = infos
            size = sum(info.file_size for info in chosen.values())
            if size > MAX_BYTES:
                raise FormatError(
                    f"{path}: unpacks to {size >> 20} MiB; at most {MAX_BYTES >> 20} are read"
                )
            budget.take(2 * size)
            for key, info in chosen.items():
                where = f"{path}, {shorten(info.filename)}"
                with archive.open(info) as member:
                    array = read_array(member, info.file_size, where)
                    if member.read(1):  # reading to the end also checks the archive's checksum
                        raise FormatError(f"{where}: more bytes than the array needs")
                    yield key, array
    except KernetonError:
        raise
    except _DAMAGED as error:
        raise FormatError(f"{path}: damaged archive: {shorten(str(error), 80)}") from error


def check_no_rotations(names: Iterable[str], path: Path) -> None:
    """Refuse the parameters of a body model (AMASS, SMPL-X), whose ``poses`` are rotations.

    >>> check_no_rotations(["poses", "trans", "betas", "mocap_framerate"], Path("walk.npz"))
    Traceback (most recent call last):
    ...
    kerneton.exceptions.FormatError: walk.npz: rotations of a body model (SMPL, AMASS), not ...
    """
    known = set(names)
    if known & _ROTATIONS and known & _BODY_MODEL and not known & {"joints", "keypoints", "Jtr"}:
        raise FormatError(
            f"{path}: rotations of a body model (SMPL, AMASS), not positions of joints: compute "
            "these with the model (package smplx: body_model(...).joints), and save the array "
            "'joints' of shape (T, 24, 3) with layout 'smpl24'"
        )


def _base(key: str) -> str:
    numbered = _NUMBERED.fullmatch(key)
    return numbered[1] if numbered else key


def _find(fields: Fields, keys: Sequence[str]) -> np.ndarray | None:
    return next((fields[key] for key in keys if key in fields), None)


def _recordings(fields: Fields, path: Path, stem: str, budget: Budget) -> list[SkeletonSequence]:
    joints = _find(fields, _JOINTS)
    if joints is None:
        floats = [value for value in fields.values() if value.dtype.kind == "f"]
        likely = [v for v in floats if v.ndim in (3, 4) and v.shape[-1] in (2, 3, 4)]
        if len(likely) != 1:
            found = shorten(", ".join(fields) or "none", 200)
            raise FormatError(f"{path}: expected an array 'joints', found {found}")
        joints = likely[0]
    confidence = _find(fields, _CONFIDENCE)
    if joints.dtype.kind in "fiu" and joints.size and joints.shape[-1] == 4 and confidence is None:
        joints, confidence = with_trust(joints, str(path))
    if joints.dtype.kind in "fiu" and joints.ndim == 5 and joints.size:
        return _persons(fields, joints, path, stem, budget)
    joints = coordinates(joints, str(path), budget)
    if (whole := joints.shape[-2]) in _FREEMOCAP:
        joints = joints[..., : len(MEDIAPIPE_33.joints), :]
        confidence = None if confidence is None else confidence[..., : len(MEDIAPIPE_33.joints)]
    if confidence is not None:
        confidence = trust(confidence, joints.shape[:-1], str(path), budget)
    n = len(joints) if joints.ndim == 4 else 1
    budget.take(RECORDING * n)
    text = _one_each(fields, ("layout",), 1, path)[0]
    layout = None if text is None else layout_from_text(text, str(path))
    if layout is None and whole in _FREEMOCAP:
        layout = MEDIAPIPE_33
        LOG.info("%s: of %d points of MediaPipe, the 33 of the body are read", path, whole)
    labels, subjects = (_one_each(fields, keys, n, path) for keys in (_LABEL, _SUBJECT))
    names = _one_each(fields, ("name",), n, path)
    fps = _fps(_find(fields, ("fps",)), path)
    segments = [_segments(text, path) for text in _one_each(fields, ("segments",), n, path)]
    if joints.ndim == 3:
        joints, confidence = joints[None], None if confidence is None else confidence[None]
    if layout is not None and len(layout.joints) != joints.shape[2]:
        stated = f"layout {layout.name!r} has {len(layout.joints)} joints"
        raise FormatError(f"{path}: {stated}, the array {joints.shape[2]}")
    recordings, padded = [], 0
    for i in range(n):
        trusted = None if confidence is None else confidence[i]
        recording = SkeletonSequence(
            joints[i], trusted, layout=layout, fps=fps, segments=segments[i]
        )
        seen = padding(recording.joints, recording.confidence)
        if n > 1 and seen != (0, recording.n_frames):  # recordings of one length are often padded
            recording, padded = recording.cut(*seen), padded + 1
        name = names[i] or (stem if n == 1 else f"{stem}_{i}")
        recordings.append(recording.replace(label=labels[i], subject=subjects[i], name=name))
    if padded:
        told = f"{path}: {padded} of {many(n, 'recording')}: frames without any joint at the ends"
        warnings.warn(f"{told} are taken for padding and left out", KernetonWarning, stacklevel=2)
    return recordings


def _persons(
    fields: Fields, joints: np.ndarray, path: Path, stem: str, budget: Budget
) -> list[SkeletonSequence]:
    """The recordings of an array (N, C, T, V, M) as ST-GCN has it, or (N, M, T, V, C)."""
    n = len(joints)
    budget.take(RECORDING * n + 6 * 8 * joints.size)
    labels, subjects = (_one_each(fields, keys, n, path) for keys in (_LABEL, _SUBJECT))
    text = _one_each(fields, ("layout",), 1, path)[0]
    layout = None if text is None else layout_from_text(text, str(path))
    recordings, padded = [], 0
    for i, item in enumerate(joints):
        if not np.isfinite(item).all() or np.abs(item).max() > LARGEST:
            raise FormatError(f"{path}: recording {i} contains infinite or absurd values")
        try:
            recording = SkeletonSequence(item)
            if layout is not None and recording.layout is None:
                recording = recording.replace(layout=layout)
        except DataError as error:
            raise FormatError(f"{path}, recording {i}: {error}") from error
        seen = padding(recording.joints, recording.confidence)
        padded += seen != (0, recording.n_frames)
        recordings.append(
            recording.cut(*seen, label=labels[i], subject=subjects[i], name=f"{stem}_{i}")
        )
    if padded:
        told = f"{path}: {padded} of {many(n, 'recording')}: frames without any joint at the ends"
        warnings.warn(f"{told} are taken for padding and left out", KernetonWarning, stacklevel=2)
    return recordings


def _one_each(fields: Fields, keys: Sequence[str], n: int, path: Path) -> list[str | None]:
    value = _find(fields, keys)
    if value is None:
        return [None] * n
    if value.size not in (1, n):
        raise FormatError(
            f"{path}: {many(value.size, 'value')} of {keys[0]} for {many(n, 'recording')}"
        )
    try:
        items = value.ravel().tolist()
        texts = [
            item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
            for item in items
        ]
    except ValueError as error:
        raise FormatError(f"{path}: {keys[0]} is not text") from error
    texts = [
        text.encode("utf-8", "replace").decode() for text in texts
    ]  # lone surrogates cannot be printed
    return [*texts] if len(texts) == n else [*texts] * n


def _fps(value: np.ndarray | None, path: Path) -> float | None:
    if value is None:
        return None
    if value.size != 1 or value.dtype.kind not in "fiu" or not 0 < float(value.ravel()[0]) < 1e6:
        raise FormatError(f"{path}: fps must be one positive number")
    return float(value.ravel()[0])


def _segments(text: str | None, path: Path) -> tuple[Segment, ...]:
    if text is None:
        return ()
    try:
        return as_segments(json.loads(text))
    except (KernetonError, ValueError, TypeError, RecursionError) as error:
        raise FormatError(
            f"{path}: segments must be JSON, [[label, start, stop], ...]: {error}"
        ) from error
