"""The training pickle of PYSKL and MMAction2, read without executing it, and written.

The file is a dict: ``split`` maps names to lists of recordings, ``annotations`` is a list of dicts
with ``frame_dir`` (the name), ``total_frames``, ``label`` (a number) and ``keypoint`` (persons ×
frames × joints × coordinates), for two coordinates also ``keypoint_score`` and ``img_shape``. 2D
coordinates point right and down in the picture: a rotation by 180 degrees makes them point left and
up, with z = 0, as in Kinect's recordings. Files written by Kerneton also contain ``subject``,
``fps``, ``layout`` (the name of a known layout, or names of joints and bones as JSON) and the label
names, which other programs ignore.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from kerneton.data.layouts import COCO_17, KINECT_25, OPENPOSE_25, Layout
from kerneton.data.sequence import Conventions, SkeletonSequence
from kerneton.data.stated import Recordings
from kerneton.exceptions import FormatError
from kerneton.files.output import replacing
from kerneton.files.readers._arrays import coordinates, layout_from_text, layout_text, trust
from kerneton.files.readers._names import unique_names
from kerneton.files.readers._pickle_data import load
from kerneton.files.readers._text import RECORDING, shorten
from kerneton.files.readers._values import Budget, file_budget, valid_rate
from kerneton.files.readers.ntu import subject_and_label

WRITES = (".pkl", ".pickle")
STATES = {"up": None}
_LAYOUTS = {(25, 3): KINECT_25, (17, 2): COCO_17, (25, 2): OPENPOSE_25}  # by joints and coordinates
_STARTS = (b"(dp", b"(lp", b"}q", b"]q", b"}(", b"](", b"(d", b"(l")


def sniff(head: bytes, path: Path) -> bool:
    """Whether the file starts as a pickle; the oldest protocols have no mark, so there the name
    decides.
    """
    if len(head) > 2 and head[0] == 0x80 and head[1] <= 5:
        return True
    return path.suffix.lower() in (".pkl", ".pickle") and head.startswith(_STARTS)


def read(path: Path) -> list[SkeletonSequence]:
    """One recording per person of each annotation; persons of zeros are padding and left out.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "mine.pkl"
    >>> first = SkeletonSequence(np.ones((8, 25, 3)), label="wave", name="first", subject="ann")
    >>> write([first], file)
    >>> read(file)
    [SkeletonSequence(8 frames, 25 joints, kinect25, label='wave', subject='ann', name='first')]
    """
    data = load(path)
    fields = data if isinstance(data, dict) else {"annotations": data}
    annotations, label_names = fields.get("annotations"), fields.get("label_names")
    if not isinstance(annotations, list):
        raise FormatError(
            f"{path}: expected a dict with a list 'annotations', got {type(data).__name__}"
        )
    if not isinstance(label_names, list) or not all(isinstance(name, str) for name in label_names):
        label_names = []
    budget = file_budget(path)  # one array in many annotations must not fill the memory
    sequences: list[SkeletonSequence] = []
    clips = [a for a in annotations if isinstance(a, dict) and "frame_dir" in a]
    if clips and not any("keypoint" in clip for clip in clips):
        raise FormatError(
            f"{path}: {len(annotations)} annotations without keypoints; such files, for example MMAction2's of "
            "Kinetics, store them in one more file per clip, which is not read"
        )
    for i, annotation in enumerate(annotations):
        where = f"{path}, annotation {i}"
        if not isinstance(annotation, dict) or not isinstance(
            annotation.get("keypoint"), np.ndarray
        ):
            raise FormatError(f"{where}: expected a dict with an array 'keypoint'")
        budget.take(RECORDING + 6 * annotation["keypoint"].nbytes)
        sequences.extend(
            _persons(annotation, label_names, where, budget, default=f"{path.stem}_{i}")
        )
    if not sequences:
        raise FormatError(f"{path}: no annotations")
    flat = not any(s.joints[..., 2].any() for s in sequences)
    return Recordings(sequences, Conventions(up="-y" if flat else "y", stated=("up",)))


def write(sequences: Sequence[SkeletonSequence], path: Path) -> None:
    """Write recordings as annotations, one person each, in one split ``all``; missing joints are
    zeros with score 0.

    Labels are numbered in alphabetical order. Recordings whose z is zero throughout are written
    with two coordinates, and with the smallest picture that contains the joints.
    """
    names = unique_names(sequences)
    labels = sorted({s.label for s in sequences if s.label is not None})
    annotations = []
    for name, sequence in zip(names, sequences, strict=True):
        annotation = {"frame_dir": name, "total_frames": sequence.n_frames} | _arrays(sequence)
        annotation["label"] = -1 if sequence.label is None else labels.index(sequence.label)
        for field in ("subject", "fps"):
            if (value := getattr(sequence, field)) is not None:
                annotation[field] = float(value) if field == "fps" else value
        if sequence.layout is not None:
            annotation["layout"] = layout_text(sequence.layout)
        annotations.append(annotation)
    with replacing(path) as temporary, temporary.open("wb") as file:
        dump({"split": {"all": names}, "annotations": annotations, "label_names": labels}, file)


def dump(data: Any, file: IO[bytes]) -> None:
    """Pickle plain containers and arrays so that every Python 3 and every NumPy can load them."""
    _Pickler(file, protocol=3).dump(data)


class _Pickler(pickle.Pickler):
    """Arrays as calls of ``numpy.ndarray``: NumPy 2 pickles them with names that NumPy 1 does not
    know.
    """

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, np.ndarray):
            return NotImplemented
        array = np.asarray(obj, obj.dtype.newbyteorder("<"), order="C")
        return np.ndarray, (array.shape, array.dtype.str, bytearray(array.tobytes()))


def _persons(
    annotation: dict[Any, Any], label_names: list[str], where: str, budget: Budget, default: str
) -> list[SkeletonSequence]:
    keypoint = annotation["keypoint"]
    joints = coordinates(
        keypoint if keypoint.ndim == 4 else keypoint[None], where, budget
    )  # (M, T, V, 3)
    score = annotation.get("keypoint_score")
    confidence = None
    if isinstance(score, np.ndarray):
        confidence = trust(
            score if keypoint.ndim == 4 else score[None], joints.shape[:-1], where, budget
        )
    if keypoint.shape[-1] == 2:
        joints[..., :2] = 0.0 - joints[..., :2]
    name = annotation.get("frame_dir")
    name = name if isinstance(name, str) and name else default
    subject, named_label = subject_and_label(name)
    label = annotation.get("label")
    if isinstance(label, int) and label >= 0:
        label = label_names[label] if label < len(label_names) else str(label)
    subject = annotation.get("subject") if isinstance(annotation.get("subject"), str) else subject
    real = [m for m in range(len(joints)) if joints[m].any()] or [0]
    label = label if isinstance(label, str) else named_label
    fps, layout = valid_rate(annotation.get("fps")), _layout(annotation, keypoint.shape, where)
    people = []
    for m in real:
        trusted = None if confidence is None else confidence[m]
        person = SkeletonSequence(np.array(joints[m]), trusted, layout=layout, label=label, fps=fps)
        own_name = name if len(real) == 1 else f"{name}_body{m + 1}"
        people.append(person.replace(subject=subject, name=own_name))
    return people


def _layout(annotation: dict[Any, Any], shape: tuple[int, ...], where: str) -> Layout | None:
    known = annotation.get("layout")
    if not isinstance(known, str):
        return _LAYOUTS.get((shape[-2], shape[-1]))
    layout = layout_from_text(known, where)
    if len(layout.joints) != shape[-2]:
        raise FormatError(f"{where}: {shape[-2]} joints with layout {shorten(known)!r}")
    return layout


def _arrays(sequence: SkeletonSequence) -> dict[str, Any]:
    missing = np.isnan(sequence.joints).any(-1)
    joints = np.where(missing[..., None], 0, sequence.joints)
    score = np.ones(missing.shape) if sequence.confidence is None else sequence.confidence
    fields: dict[str, Any] = {}
    if not joints[..., 2].any():
        joints = 0.0 - joints[..., :2]
        width, height = (max(1, math.ceil(v) + 1) for v in joints.max((0, 1)).tolist())
        fields = {"img_shape": (height, width), "original_shape": (height, width)}
    return fields | {
        "keypoint": joints[None].astype(np.float32),
        "keypoint_score": np.where(missing, 0, score)[None].astype(np.float32),
    }
