"""One file a format: recordings from the files that sensors, suites and estimators write.

A format is a module with

- ``sniff(head, path) -> bool``: is this file mine? Cheap, by content (``head`` is the first `HEAD` bytes,
  empty for a folder); the name decides only where the content cannot.
- ``read(path) -> list[SkeletonSequence]``: one recording a body, label and subject only where the file names
  them, ``name`` from the file's stem. Broken content raises `FormatError`, never anything else; sizes that a
  header promises are checked before memory is taken; time grows linearly with the file.
- ``write(path, sequences)``, where the format can be written.

Coordinates are right-handed with y up and z away from the camera, so x runs to the picture's left: formats in
picture coordinates, which run right and down, are turned by half. Formats with two coordinates get z = 0.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, MissingDataError, ParameterError

HEAD = 1 << 16  # bytes that decide what a file is


def _formats() -> dict[str, ModuleType]:
    """Readers by name, imported when first needed: signatures come first, rows of bare numbers last."""
    from kerneton.files.readers import (
        amc,
        bvh,
        c3d,
        coco,
        csv_table,
        florence_text,
        mediapipe,
        msr_text,
        npz,
        ntu,
        openpose,
        pyskl,
        trc,
        utkinect_text,
    )

    modules = [npz, c3d, pyskl, bvh, trc, amc, openpose, mediapipe, coco]
    modules += [ntu, florence_text, utkinect_text, msr_text, csv_table]
    return {module.__name__.rpartition(".")[2]: module for module in modules}


_NAMED = {"bvh", "c3d", "trc", "amc", "csv_table"}  # files that name their joints one by one
_WRITERS = {
    ".npz": "npz",
    ".csv": "csv_table",
    ".tsv": "csv_table",
    ".pkl": "pyskl",
    ".pickle": "pyskl",
    ".bvh": "bvh",
    ".trc": "trc",
}


def detect_format(path: str | os.PathLike[str]) -> str | None:
    """The name of a file's or folder's format, by content; None where no reader knows it.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "wave.dat"
    >>> _ = file.write_text("frame,joint,x,y,z\\n0,head,0,1.7,2\\n")
    >>> detect_format(file)
    'csv_table'
    """
    path = Path(path)
    formats = _formats()
    if path.is_dir():
        return "openpose" if formats["openpose"].sniff(b"", path) else None
    head = _head(path)
    return next((name for name, module in formats.items() if module.sniff(head, path)), None)


def read(
    path: str | os.PathLike[str],
    *,
    layout: Layout | str | None = None,
    fps: float | None = None,
    columns: Sequence[str] | Mapping[str, str] | None = None,
) -> list[SkeletonSequence]:
    """Read the recordings in a file (or a folder that is one recording), whatever its format.

    Parameters
    ----------
    path : path
        The file; its content decides what it is, not its name.
    layout : Layout or str, optional
        The joints of a file that does not name them, or names them wrongly; of a file that does name them,
        the joints to keep, in this order.
    fps : float, optional
        Frames a second, in place of what the file says.
    columns : list or mapping, optional
        For tables: names for the columns of a file without header, or new names for some of its columns.

    Returns
    -------
    list of SkeletonSequence
        One a body or, in formats that hold many recordings, one a recording and body.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "nod.csv"
    >>> _ = file.write_text("head_x,head_y,head_z\\n0,1.7,2\\n0,1.6,1.9\\n")
    >>> read(file, fps=30)
    [SkeletonSequence(2 frames, 1 joints, table, name='nod')]
    """
    path = Path(path)
    layout = _layout(layout)
    name = detect_format(path)
    if name is None:
        if path.is_dir():
            raise FormatError(
                f"{path}: a folder, not a recording; kerneton.files.folder.load_folder reads data sets"
            )
        raise FormatError(f"{path}: no reader knows this format; known are {', '.join(_formats())}")
    module = _formats()[name]
    if columns is not None and name != "csv_table":
        raise ParameterError(f"{path}: columns are for tables, this is {name}")
    if name == "csv_table":
        sequences = module.read(path, layout=layout, columns=columns)
    else:
        sequences = module.read(path)
        if layout is not None:
            sequences = [_lay_out(s, layout, named=name in _NAMED) for s in sequences]
    if fps is not None:
        sequences = [s.replace(fps=float(fps)) for s in sequences]
    return sequences


def write(path: str | os.PathLike[str], sequences: Iterable[SkeletonSequence]) -> None:
    """Write recordings in the format that the name's ending asks for.

    ``.npz`` keeps every field of every recording; ``.csv`` (or ``.tsv``) is a wide table; ``.pkl`` is what PYSKL
    and MMAction2 train on; ``.bvh`` and ``.trc`` hold one recording.

    >>> import numpy as np, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "wave.npz"
    >>> write(file, [SkeletonSequence(np.ones((4, 20, 3)), label="wave", fps=30)])
    >>> read(file)
    [SkeletonSequence(4 frames, 20 joints, label='wave', name='wave')]
    """
    path = Path(path)
    sequences = [sequences] if isinstance(sequences, SkeletonSequence) else list(sequences)
    if not sequences:
        raise ParameterError(f"{path}: no recordings to write")
    name = _WRITERS.get(path.suffix.lower())
    if name is None:
        raise ParameterError(f"{path}: cannot write {path.suffix!r}; choose {', '.join(_WRITERS)}")
    _formats()[name].write(path, sequences)


def _lay_out(sequence: SkeletonSequence, layout: Layout, *, named: bool) -> SkeletonSequence:
    if named:
        from kerneton.data.mapping import map_layout

        return map_layout(sequence, layout)
    if sequence.n_joints != len(layout.joints):
        raise ParameterError(
            f"recording {sequence.name!r} has {sequence.n_joints} joints, "
            f"layout {layout.name!r} has {len(layout.joints)}"
        )
    return sequence.replace(layout=layout)


def _layout(layout: Layout | str | None) -> Layout | None:
    if isinstance(layout, str):
        if layout not in LAYOUTS:
            raise ParameterError(f"no layout {layout!r}; there are {', '.join(LAYOUTS)}")
        return LAYOUTS[layout]
    return layout


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except FileNotFoundError as error:
        raise MissingDataError(f"{path}: no such file") from error
    except OSError as error:
        raise MissingDataError(f"{path}: cannot be read: {error.strerror}") from error
