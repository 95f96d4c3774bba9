"""HDF5 files of animal pose estimation: SLEAP's analysis files, DeepLabCut's tables, movement's
netCDF.

**SLEAP**: ``File > Export Analysis HDF5``, with ``tracks``, ``node_names`` and ``track_names``;
projects (``.slp``) are not read. **DeepLabCut**: ``.h5`` of one animal or several, as pandas writes
it. **movement**: ``.nc`` with ``position`` and ``keypoints``. Every animal is a recording, and its
subject; two animals that share half of the frames become a pair. Coordinates stay as they are,
pixels with y down as a rule; z = 0. Needs ``kerneton[formats]``; nothing in such a file is ever
executed.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, KernetonError, import_extra
from kerneton.files.readers._animals import animal_recordings, table_of_animals
from kerneton.files.readers._pickle_data import loads
from kerneton.files.readers._text import MAX_JOINTS, check_regular, shorten
from kerneton.files.readers._values import Budget, check_values, file_budget, valid_rate

NAMES_JOINTS = True
_SLEAP = ("tracks", "node_names")
_MOVEMENT = ("position", "keypoints")


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the file is HDF5; what it contains is seen when it is read."""
    return head.startswith(b"\x89HDF\r\n\x1a\n")


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of a file, one per animal or a pair."""
    h5py = import_extra("h5py", extra="formats", purpose="reading HDF5")
    check_regular(path)
    budget = file_budget(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with h5py.File(path, "r") as file:
                names = set(file)
                if names >= set(_SLEAP):
                    return _sleap(file, path, budget)
                if names >= set(_MOVEMENT):
                    return _movement(file, path, budget)
                for name in names:
                    if isinstance(group := file[name], h5py.Group) and "table" in group:
                        return _deeplabcut(group["table"], path, budget)
                found = shorten(", ".join(sorted(map(str, names))) or "nothing", 80)
    except KernetonError:
        raise
    except Exception as error:  # of the HDF5 library, of many kinds
        raise FormatError(f"{path}: damaged: {shorten(str(error), 80)}") from error
    if path.suffix.lower() == ".slp" or "instances" in names:
        raise FormatError(
            f"{path}: a project of SLEAP; export it with File > Export Analysis HDF5, or "
            "sleap-convert --format analysis, and read that file"
        )
    raise FormatError(
        f"{path}: HDF5 with {found}, but neither SLEAP's analysis (tracks, node_names) nor a table of "
        "DeepLabCut nor movement's (position, keypoints); write the joints as .npz from Python"
    )


def _array(dataset: Any, where: str, budget: Budget) -> np.ndarray:
    """A dataset of numbers, whose size is checked before it is read."""
    if dataset.dtype.kind not in "fiu" or dataset.size > 1 << 28:
        raise FormatError(f"{where}: expected numbers, got {dataset.dtype} of {dataset.shape}")
    budget.take(2 * dataset.size * 8)
    values = np.asarray(dataset[()], dtype=np.float64)
    check_values(where, values, "coordinates")
    return values


def _words(dataset: Any, where: str, budget: Budget) -> list[str]:
    if dataset.size > MAX_JOINTS:
        raise FormatError(f"{where}: {dataset.size} names; at most {MAX_JOINTS} are read")
    budget.take(200 * dataset.size)
    words = np.asarray(dataset[()]).ravel().tolist()
    return [
        word.decode("utf-8", "replace") if isinstance(word, bytes) else str(word) for word in words
    ]


def _sleap(file: Any, path: Path, budget: Budget) -> list[SkeletonSequence]:
    """tracks (animals, 2, nodes, frames)."""
    points = _array(file["tracks"], f"{path}, tracks", budget)
    names = _words(file["node_names"], f"{path}, node_names", budget)
    if points.ndim != 4 or points.shape[2] != len(names) or points.shape[1] not in (2, 3):
        raise FormatError(f"{path}: tracks of shape {points.shape} do not fit {len(names)} nodes")
    animals = points.transpose(0, 3, 2, 1)
    trust = None
    if "point_scores" in file:
        scores = _array(file["point_scores"], f"{path}, point_scores", budget)
        if scores.shape == (len(points), len(names), points.shape[3]):
            trust = scores.transpose(0, 2, 1)
    tracks = (
        _words(file["track_names"], f"{path}, track_names", budget) if "track_names" in file else []
    )
    return animal_recordings(path, names, animals, trust, tracks)


def _movement(file: Any, path: Path, budget: Budget) -> list[SkeletonSequence]:
    """position (time, space, keypoints, individuals) of xarray's netCDF."""
    points = _array(file["position"], f"{path}, position", budget)
    names = _words(file["keypoints"], f"{path}, keypoints", budget)
    if points.ndim == 3:
        points = points[..., None]
    if points.ndim != 4 or points.shape[2] != len(names) or points.shape[1] not in (2, 3):
        raise FormatError(
            f"{path}: position of shape {points.shape} does not fit {len(names)} keypoints"
        )
    tracks = (
        _words(file["individuals"], f"{path}, individuals", budget) if "individuals" in file else []
    )
    trust = None
    if "confidence" in file:
        scores = _array(file["confidence"], f"{path}, confidence", budget)
        scores = scores[..., None] if scores.ndim == 2 else scores
        if scores.shape == (len(points), len(names), points.shape[3]):
            trust = scores.transpose(2, 0, 1)
    fps = np.asarray(file.attrs.get("fps", 0)).ravel()
    rate = valid_rate(float(fps[0])) if fps.size == 1 and fps.dtype.kind in "fiu" else None
    return animal_recordings(path, names, points.transpose(3, 0, 2, 1), trust, tracks, rate)


def _deeplabcut(table: Any, path: Path, budget: Budget) -> list[SkeletonSequence]:
    """A table of pandas whose columns are (scorer, animal if several, part, x or y or
    likelihood).
    """
    blocks = [name for name in table.dtype.names or () if name.startswith("values_block_")]
    if len(blocks) != 1:
        raise FormatError(
            f"{path}: a table with {len(blocks)} blocks of numbers, not of DeepLabCut"
        )
    shape = (table.shape[0], *table.dtype[blocks[0]].shape)
    if len(shape) != 2:
        raise FormatError(f"{path}: a table of shape {shape}, not of DeepLabCut")
    budget.take(4 * 8 * int(np.prod(shape)))
    values = np.asarray(table[blocks[0]], dtype=np.float64).reshape(shape)
    check_values(path, values, "coordinates")
    kind = table.attrs.get(f"{blocks[0]}_kind")
    columns = loads(bytes(kind), str(path)) if isinstance(kind, (bytes, np.bytes_)) else None
    if not isinstance(columns, list) or len(columns) != shape[1]:
        raise FormatError(f"{path}: no names of columns such as DeepLabCut writes")
    place: dict[tuple[str, str, str], int] = {}
    for i, column in enumerate(columns):
        words = [str(word) for word in column] if isinstance(column, tuple) else []
        if len(words) not in (3, 4) or words[-1] not in ("x", "y", "z", "likelihood"):
            raise FormatError(
                f"{path}: column {i + 1} is {shorten(str(column))}, not of DeepLabCut"
            )
        place["" if len(words) == 3 else words[1], words[-2], words[-1]] = i
    return table_of_animals(path, place, values)
