"""SBU-Kinect-Interaction: eight interactions of two persons, seven people in 21 ordered pairs."""

from __future__ import annotations

import os
import re

import numpy as np

from kerneton.data.bodies import pair_layout
from kerneton.data.layouts import OPENNI_15
from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets._home import Source
from kerneton.exceptions import FormatError
from kerneton.files.readers import csv_table

SOURCE = Source(
    title="SBU-Kinect-Interaction",
    publisher='Stony Brook University ("Two-person Interaction Detection", K. Yun)',
    download="the clean version of all 21 sets",
    folder="sbu",
)
ACTIONS = (
    *("approaching", "departing", "kicking", "pushing"),
    *("shaking hands", "hugging", "exchanging", "punching"),
)
PAIRS = (
    *(
        "s01s02",
        "s01s03",
        "s01s07",
        "s02s01",
        "s02s03",
        "s02s06",
        "s02s07",
        "s03s02",
        "s03s04",
        "s03s05",
    ),
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

    ``data_home``, by default KERNETON_DATA, contains files such as
    ``sbu/s01s02/01/001/skeleton_pos.txt``. The published numbers, relative to the image, become
    metres. The subject is the ordered pair, such as "s01s02". K. Yun et al., "Two-person
    Interaction Detection Using Body-Pose Features and Multiple Instance Learning", CVPR Workshops
    2012.

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
        lacks = f"; pairs without recordings: {', '.join(missing)}" if missing else ""
        raise FormatError(f"{folder}: expected {N_SEQUENCES} recordings, got {len(good)}{lacks}")
    layout = pair_layout(OPENNI_15, OPENNI_15)
    sequences = []
    for path, place in good:
        (both,) = csv_table.read(path, layout=layout)
        x, y, z = np.moveaxis(both.joints, 2, 0)
        joints = np.stack([1280 - 2560 * x, 960 - 1920 * y, z * 10000 / 7.8125], axis=2) / 1000
        label, name = ACTIONS[int(place[2]) - 1], "_".join(place.groups())
        sequences.append(both.replace(joints=joints, label=label, subject=place[1], name=name))
    tested = [np.isin([str(s.subject) for s in sequences], fold) for fold in FOLDS]
    splits = [(np.flatnonzero(~test), np.flatnonzero(test)) for test in tested]
    return SkeletonDataset(sequences, name="sbu", splits=splits)
