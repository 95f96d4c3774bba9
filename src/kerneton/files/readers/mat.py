"""MATLAB files (``.mat``) with one array of joints: (T, J, 3), (J, 3, T), or cells of such arrays.

Versions 5 to 7 are read as they are, 7.3 (which is HDF5) needs ``kerneton[formats]``. The array is
the only one with joints, or one named ``joints``, ``skeleton``, ``d_skel`` or similar. Which of its
sides are the coordinates is found by their number, 3 or 2; of the two others, the joints are those
that fit a layout that was given, or the only one of a known size; otherwise the layout is asked
for. ``fps``, ``label`` and ``subject`` may stand beside it. Nothing in such a file is ever
executed.
"""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, KernetonError, import_extra
from kerneton.files.readers._arrays import coordinates
from kerneton.files.readers._text import MAX_JOINTS, shorten
from kerneton.files.readers._values import Budget, file_budget, read_bytes, valid_rate

TAKES = ("layout",)
_JOINTS = (
    *("joints", "skeleton", "skel", "d_skel", "keypoints", "positions", "pos", "poses", "data"),
    *("xyz", "markers", "coords"),
)
_MOST = 100  # variables


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the file says that it is MATLAB's."""
    return head.startswith((b"MATLAB 5.0 MAT-file", b"MATLAB 7.3 MAT-file"))


def read(path: Path, *, layout: Layout | None = None) -> list[SkeletonSequence]:
    """The recordings of a MATLAB file.

    >>> import tempfile, scipy.io
    >>> file = Path(tempfile.mkdtemp()) / "nod.mat"
    >>> scipy.io.savemat(file, {"d_skel": np.ones((20, 3, 45)), "fps": 30.0})
    >>> read(file)
    [SkeletonSequence(45 frames, 20 joints, name='nod')]
    """
    content, budget = read_bytes(path), file_budget(path)
    load = _variables if content.startswith(b"MATLAB 5.0") else _hdf5_variables
    variables = load(content, path, budget)
    arrays = {name: own for name, value in variables.items() if (own := _arrays(value))}
    named = [name for name in arrays if name.lower() in _JOINTS]
    chosen = named[:1] or list(arrays)
    if len(chosen) != 1:
        found = ", ".join(f"{n} {np.shape(v)}" for n, v in list(variables.items())[:8]) or "nothing"
        what = "several arrays may be joints" if chosen else "no array of joints (T, J, 3)"
        raise FormatError(f"{path}: {what}, found {shorten(found, 160)}; save one as 'joints'")
    sequences = []
    several = len(arrays[chosen[0]]) > 1
    facts = _facts(variables)
    for i, array in enumerate(arrays[chosen[0]]):
        where = f"{path}, {chosen[0]}" + f" {i + 1}" * several
        joints = coordinates(_arranged(array, layout, where), where, budget)
        name = f"{path.stem}_{i + 1}" if several else path.stem
        known = layout if layout and len(layout.joints) == joints.shape[1] else None
        sequences.append(SkeletonSequence(joints, layout=known, name=name, **facts))
    return sequences


def _arrays(value: Any) -> list[np.ndarray]:
    """The arrays of joints in a variable: itself, or those in its cells."""
    if not isinstance(value, np.ndarray):
        return []
    if value.dtype == object:
        inner = [np.asarray(cell) for cell in value.ravel()]
        return inner if inner and all(_has_joints(cell) for cell in inner) else []
    return [value] if _has_joints(value) else []


def _has_joints(array: np.ndarray) -> bool:
    return array.ndim == 3 and array.dtype.kind in "fiu" and bool({2, 3} & set(array.shape))


def _arranged(array: np.ndarray, layout: Layout | None, where: str) -> np.ndarray:
    """(T, J, coordinates) from the sides of an array in any order."""
    for n in (3, 2):
        if places := [i for i, side in enumerate(array.shape) if side == n]:
            break
    axis = places[-1]
    sides = [i for i in range(3) if i != axis]
    if layout is not None:
        fit = [i for i in sides if array.shape[i] == len(layout.joints)]
    elif axis == 2:
        fit = [1]  # frames, joints, coordinates: as everywhere
    else:
        sizes = {len(one.joints) for one in LAYOUTS.values()}
        fit = [i for i in sides if array.shape[i] in sizes]
    if len(fit) != 1:
        stated = "" if layout is None else f" of layout {layout.name!r}"
        raise FormatError(
            f"{where}: cannot tell frames from joints{stated} in an array of shape {array.shape}; "
            "state the joints with layout=, or save the array as (frames, joints, coordinates)"
        )
    joints = fit[0]
    (frames,) = (i for i in sides if i != joints)
    if array.shape[joints] > MAX_JOINTS:
        raise FormatError(f"{where}: {array.shape[joints]} joints; at most {MAX_JOINTS} are read")
    return np.transpose(array, (frames, joints, axis))


def _facts(variables: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, value in variables.items():
        array = np.asarray(value)
        if name.lower() in ("fps", "framerate", "frame_rate") and array.size == 1:
            if array.dtype.kind in "fiu" and (rate := valid_rate(float(array.ravel()[0]))):
                facts["fps"] = rate
        elif name.lower() in ("label", "action", "subject") and array.size == 1:
            word = str(array.ravel()[0])
            facts["subject" if name.lower() == "subject" else "label"] = word
    return facts


def _variables(content: bytes, path: Path, budget: Budget) -> dict[str, Any]:
    """The variables of a file of version 5 to 7, whose sizes are checked before they are read."""
    from scipy.io import loadmat, whosmat

    sizes = {"double": 8, "single": 4, "int64": 8, "uint64": 8, "int32": 4, "uint32": 4}
    try:
        listed = whosmat(io.BytesIO(content))
        if len(listed) > _MOST:
            raise FormatError(f"{path}: {len(listed)} variables; at most {_MOST} are read")
        chosen = []
        for name, shape, kind in listed:
            if kind in ("struct", "object", "function", "opaque", "sparse", "unknown"):
                continue
            if any(side < 0 for side in shape):
                raise FormatError(f"{path}: {shorten(name)} has the shape {shape}")
            budget.take(2 * math.prod(shape) * sizes.get(kind, 8 if kind == "cell" else 2))
            chosen.append(name)
        found = loadmat(
            io.BytesIO(content), variable_names=chosen, verify_compressed_data_integrity=True
        )
    except KernetonError:
        raise
    except Exception as error:  # SciPy raises errors of many kinds for damaged files
        raise FormatError(f"{path}: damaged: {shorten(str(error), 80)}") from error
    return {name: value for name, value in found.items() if not name.startswith("__")}


def _hdf5_variables(content: bytes, path: Path, budget: Budget) -> dict[str, Any]:
    """The arrays of a file of version 7.3, whose sides MATLAB writes in reverse order."""
    h5py = import_extra("h5py", extra="formats", purpose="reading MATLAB files of version 7.3")
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            found = {}
            for name in list(file)[:_MOST]:
                item = file.get(name, getlink=False)
                if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu":
                    budget.take(2 * item.size * item.dtype.itemsize)
                    found[name] = item[()].T
    except KernetonError:
        raise
    except Exception as error:  # of the HDF5 library, of many kinds
        raise FormatError(f"{path}: damaged: {shorten(str(error), 80)}") from error
    return found
