"""DeepLabCut's CSV of several animals: rows for scorer, individuals, bodyparts and coordinates.

Every animal is a recording, and its subject; two animals that share half of the frames become a
pair. A CSV of one animal is read as a [table](#csv-table), an ``.h5`` as [HDF5](#hdf5), to the same
recording. Coordinates stay as they are, pixels with y down as a rule; z = 0.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._animals import table_of_animals
from kerneton.files.readers._text import MAX_BYTES, decode, number, parse, rows, shorten

NAMES_JOINTS = True
_HEADER = ("scorer", "individuals", "bodyparts", "coords")


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether the first cells of the first rows are those that DeepLabCut writes."""
    lines = decode(head).splitlines()[:4]
    return tuple(line.partition(",")[0].strip('" ').lower() for line in lines) == _HEADER


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of a table, one per animal or a pair.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pups.csv"
    >>> _ = file.write_text('''scorer,dlc,dlc,dlc,dlc
    ... individuals,a,a,b,b
    ... bodyparts,snout,snout,snout,snout
    ... coords,x,y,x,y
    ... 0,1,2,3,4
    ... 1,1,2,,
    ... 2,1,2,3,4''')
    >>> read(file)
    [SkeletonSequence(3 frames, 2 joints, animal+animal, subject='a+b', name='pups')]
    """
    table = rows(path)
    header = list(itertools.islice(table, len(_HEADER)))
    if len(header) < len(_HEADER) or len({len(cells) for _, cells in header}) > 1:
        raise FormatError(f"{path}: expected four rows of header of the same length")
    width = len(header[0][1])
    place: dict[tuple[str, str, str], int] = {}
    for i, (animal, part, axis) in enumerate(zip(*(cells for _, cells in header[1:]), strict=True)):
        if i and axis.strip() in ("x", "y", "z", "likelihood"):
            place[animal.strip(), part.strip(), axis.strip()] = i
    if not place:
        raise FormatError(f"{path}: no columns x and y below the names of the parts")
    values: list[list[float]] = []
    for line, cells in table:
        if len(cells) != width:
            raise FormatError(f"{path}, line {line}: expected {width} columns, got {len(cells)}")
        if parse(cells[0]) is None and not values:
            raise FormatError(f"{path}, line {line}: expected a frame, got {shorten(cells[0])!r}")
        values.append([np.nan, *(number(cells, i, path, line) for i in range(1, width))])
        if 32 * width * len(values) > MAX_BYTES:
            raise FormatError(f"{path}, line {line}: more than {MAX_BYTES >> 20} MiB of numbers")
    if not values:
        raise FormatError(f"{path}: a header and no rows")
    return table_of_animals(path, place, np.array(values))
