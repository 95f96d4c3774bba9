"""SBU-Kinect-Interaction: eight interactions of two persons, seven people in 21 ordered pairs."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from kerneton.data.bodies import pair
from kerneton.data.layouts import OPENNI_15
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets._home import Source
from kerneton.exceptions import FormatError

SOURCE = Source(
    title="SBU-Kinect-Interaction",
    publisher='Stony Brook University ("Two-person Interaction Detection", K. Yun)',
    download="the clean version of all 21 sets",
    folder="sbu",
)
ACTIONS = (
    "approaching",
    "departing",
    "kicking",
    "pushing",
    "shaking hands",
    "hugging",
    "exchanging",
    "punching",
)
PAIRS = (
    *("s01s02", "s01s03", "s01s07", "s02s01", "s02s03", "s02s06", "s02s07", "s03s02", "s03s04", "s03s05"),
    *("s03s06", "s04s02", "s04s03", "s04s06", "s05s02", "s05s03", "s06s02", "s06s03", "s06s04"),
    *("s07s01", "s07s03"),
)
# The five folds that published results are the mean of, by pairs.
FOLDS = (
    ("s01s02", "s03s04", "s05s02", "s06s04"),
    ("s02s03", "s02s07", "s03s05", "s05s03"),
    ("s01s03", "s01s07", "s07s01", "s07s03"),
    ("s02s01", "s02s06", "s03s02", "s03s06"),
    ("s04s02", "s04s03", "s04s06", "s06s02", "s06s03"),
)
N_SEQUENCES = 282
_PLACE = re.compile(r"(s\d\ds\d\d)/(\d\d)/(\d{3})/skeleton_pos\.txt")


def load_sbu(data_home: str | os.PathLike[str] | None = None) -> SkeletonDataset:
    """Read SBU-Kinect-Interaction: 282 recordings of 10 to 46 frames, each of two persons (`pair`).

    The published numbers, relative to the image, become metres. The subject is the ordered pair, such as "s01s02".
    K. Yun et al., "Two-person Interaction Detection Using Body-Pose Features and Multiple Instance Learning",
    CVPR Workshops 2012.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``sbu/s01s02/01/001/skeleton_pos.txt`` and the others; by default KERNETON_DATA.

    Examples
    --------
    >>> load_sbu("/data")  # doctest: +SKIP
    SkeletonDataset(sbu: 282 recordings, 8 labels, 21 subjects)
    """
    (first,) = SOURCE.locate(data_home, [f"{PAIRS[0]}/01/001/skeleton_pos.txt"])
    folder = first.parents[3]
    found = sorted(folder.glob("s*/*/*/skeleton_pos.txt"))
    places = [(path, _PLACE.fullmatch(path.relative_to(folder).as_posix())) for path in found]
    good = [(path, place) for path, place in places if place and 1 <= int(place[2]) <= len(ACTIONS)]
    missing = sorted(set(PAIRS) - {place[1] for _, place in good})
    if len(good) != N_SEQUENCES or missing:
        lacks = f"; pairs without any: {', '.join(missing)}" if missing else ""
        raise FormatError(f"{folder}: expected {N_SEQUENCES} recordings, got {len(good)}{lacks}")
    sequences = []
    for path, place in good:
        both = _read(path)
        people = [
            SkeletonSequence(body, layout=OPENNI_15, label=ACTIONS[int(place[2]) - 1])
            for body in np.split(both, 2, axis=1)
        ]
        sequences.append(pair(*people).replace(subject=place[1], name="_".join(place.groups())))
    tested = [np.isin([str(s.subject) for s in sequences], fold) for fold in FOLDS]
    splits = [(np.flatnonzero(~test), np.flatnonzero(test)) for test in tested]
    return SkeletonDataset(sequences, name="sbu", splits=splits)


def _read(path: Path) -> np.ndarray:
    """Both persons in metres, (T, 30, 3)."""
    width = 1 + 3 * 2 * len(OPENNI_15.joints)
    try:
        table = np.loadtxt(path, delimiter=",", comments=None, ndmin=2, encoding="utf-8")
    except (ValueError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: expected rows of {width} numbers separated by commas") from error
    if not len(table) or table.shape[1] != width:
        raise FormatError(f"{path}: expected rows of {width} numbers, got shape {table.shape}")
    x, y, z = np.moveaxis(table[:, 1:].reshape(len(table), -1, 3), 2, 0)
    return np.stack([1280 - 2560 * x, 960 - 1920 * y, z * 10000 / 7.8125], axis=2) / 1000
