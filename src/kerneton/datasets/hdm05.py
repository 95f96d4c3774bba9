"""HDM05: motion capture of five people, cut into about 130 classes, 31 joints."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from kerneton.data.layouts import HDM_31
from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets._home import Source, find_home
from kerneton.exceptions import FormatError
from kerneton.files.readers import amc

SOURCE = Source(
    title="HDM05",
    publisher="the University of Bonn (resources.mpi-inf.mpg.de/HDM05)",
    download="the cut motions as AMC with the ASF skeletons of the five people",
    folder="hdm05",
)
_NAME = re.compile(r"HDM_(bd|bk|dg|mm|tr)_(.+)_(\d{3})_(\d+)")
_SPLITS = 10


def load_hdm05(data_home: str | os.PathLike[str] | None = None) -> SkeletonDataset:
    """Read HDM05's cut motions: about 2,340 recordings of 130 classes by five people, 120 frames
    per second.

    ``data_home``, by default KERNETON_DATA, contains files such as ``HDM_bd_clap5Reps_001_120.amc``
    anywhere in ``hdm05``, each with the ``HDM_bd.asf`` of its person in the same folder. Published
    results are means over ten random halves of every class, which are not listed anywhere:
    ``splits`` are ten halves drawn with a fixed seed. To test on other people, use the protocol
    "leave-one-subject-out". M. Müller et al., "Documentation Mocap Database HDM05", 2007.

    >>> load_hdm05("/data")  # doctest: +SKIP
    SkeletonDataset(hdm05: 2337 recordings, 130 labels, 5 subjects)
    """
    home = find_home(data_home)
    folder = (home or Path("DATA_HOME")) / SOURCE.folder
    files = (
        sorted(p for p in folder.rglob("*") if p.suffix.lower() == ".amc")
        if home is not None
        else []
    )
    if not files:
        SOURCE.locate(data_home, ["HDM_bd_clap5Reps_001_120.amc"])
    sequences = []
    for path in files:
        match = _NAME.fullmatch(path.stem)
        if match is None:
            raise FormatError(f"{path}: expected a name such as HDM_bd_clap5Reps_001_120.amc")
        (found,) = amc.read(path)
        if found.layout is None or found.layout.joints != HDM_31.joints:
            raise FormatError(
                f"{path}: its ASF skeleton is not HDM05's, whose {len(HDM_31.joints)} joints are known"
            )
        joints = found.joints.astype(np.float32)
        facts = {"label": match[2], "subject": match[1], "name": path.stem, "fps": float(match[4])}
        sequences.append(found.replace(joints=joints, **facts))
    labels = np.asarray([s.label for s in sequences])
    return SkeletonDataset(
        sequences, name="hdm05", splits=[_halves(labels, k) for k in range(_SPLITS)]
    )


def _halves(labels: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Half of every class, at least one recording, to train on; the others to test."""
    rng = np.random.default_rng(seed)
    train = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        own = rng.permutation(np.flatnonzero(labels == label))
        train[own[: max(1, len(own) // 2)]] = True
    return np.flatnonzero(train), np.flatnonzero(~train)
