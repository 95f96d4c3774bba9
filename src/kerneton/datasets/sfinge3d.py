"""SFINGE 3D: thirteen gestures of one hand, twenty joints."""

from __future__ import annotations

import os
import re

import numpy as np

from kerneton.data.layouts import HAND_20
from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets._home import Source
from kerneton.exceptions import FormatError
from kerneton.files.readers import read

SOURCE = Source(
    title="SFINGE 3D",
    publisher="University of Verona (Caputo et al. 2020)",
    download="the gestures of takes 1 to 18 as sfinge3d_takes_01_18.npz",
    folder="hands",
)
FILE = "sfinge3d_takes_01_18.npz"
FPS = 20.0
N_SEQUENCES = 234
_NAME = re.compile(r"g\d\d_t(\d\d)")


def load_sfinge3d(data_home: str | os.PathLike[str] | None = None) -> SkeletonDataset:
    """Read SFINGE 3D: 234 recordings of a hand, 13 gestures in 18 takes; the subjects are not
    published.

    ``data_home``, by default KERNETON_DATA, contains ``hands/sfinge3d_takes_01_18.npz``. Names end
    in the take, such as "g01_t18"; the ``splits`` are three folds, the take modulo 3. F. M. Caputo
    et al., "SFINGE 3D: A novel benchmark for online detection and recognition of heterogeneous hand
    gestures from 3D fingers' trajectories", Computers & Graphics 2020.

    >>> load_sfinge3d("/data")  # doctest: +SKIP
    SkeletonDataset(sfinge3d: 234 recordings, 13 labels, 1 subjects)
    """
    (path,) = SOURCE.locate(data_home, [FILE])
    found = [s.replace(layout=HAND_20, fps=FPS) for s in read(path)]
    takes = [int(match[1]) for s in found if (match := _NAME.fullmatch(s.name))]
    if not len(found) == len(takes) == N_SEQUENCES:
        raise FormatError(
            f"{path}: expected {N_SEQUENCES} recordings with names such as 'g01_t18', "
            f"got {len(found)}, {len(takes)} of them with such names"
        )
    fold = np.asarray(takes) % 3
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    return SkeletonDataset(found, name="sfinge3d", splits=splits)
