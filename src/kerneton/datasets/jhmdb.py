"""JHMDB: actions in clips from films and videos, 2D poses of fifteen joints."""

from __future__ import annotations

import json
import os

import numpy as np

from kerneton.data.layouts import JHMDB_15
from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets._home import Source
from kerneton.exceptions import FormatError
from kerneton.files.readers import read

SOURCE = Source(
    title="JHMDB, 2D poses",
    publisher="Max Planck Institute for Intelligent Systems, in the form that DD-Net uses",
    download="the joint positions and splits as jhmdb_2d.npz and splits.json",
    folder="jhmdb",
)
FILE, SPLITS = "jhmdb_2d.npz", "splits.json"
N_SEQUENCES = 609


def load_jhmdb(data_home: str | os.PathLike[str] | None = None) -> SkeletonDataset:
    """Read JHMDB's 2D poses: 609 recordings of 15 to 40 frames, 14 of its 21 actions, z zero
    throughout.

    ``data_home``, by default KERNETON_DATA, contains ``jhmdb/jhmdb_2d.npz`` and
    ``jhmdb/splits.json``. Positions are relative to the picture; y, which points down in the files,
    points up here. There are no subjects; the attribute ``splits`` of the result has the published
    splits. H. Jhuang et al., "Towards Understanding Action Recognition", ICCV 2013.

    >>> load_jhmdb("/data")  # doctest: +SKIP
    SkeletonDataset(jhmdb: 609 recordings, 14 labels, 1 subjects)
    """
    (path,) = SOURCE.locate(data_home, [FILE])
    up = np.asarray([1, -1, 1], dtype=np.float32)
    found = [s.replace(joints=s.joints * up, layout=JHMDB_15) for s in read(path)]
    if len(found) != N_SEQUENCES:
        raise FormatError(f"{path}: expected {N_SEQUENCES} recordings, got {len(found)}")
    return SkeletonDataset(found, name="jhmdb", splits=jhmdb_splits(data_home))


def jhmdb_splits(
    data_home: str | os.PathLike[str] | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The three published splits as positions (train, test) in the result of `load_jhmdb`."""
    (path,) = SOURCE.locate(data_home, [SPLITS])
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        splits = [
            (np.asarray(table[f"train_{k}"], dtype=int), np.asarray(table[f"test_{k}"], dtype=int))
            for k in (1, 2, 3)
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(
            f"{path}: expected lists of positions train_1, test_1 to train_3, test_3"
        ) from error
    for train, test in splits:
        both = np.concatenate([train, test])
        if len(np.unique(both)) != len(both) or both.min() < 0 or both.max() >= N_SEQUENCES:
            raise FormatError(
                f"{path}: positions are repeated or beyond the {N_SEQUENCES} recordings"
            )
    return splits
