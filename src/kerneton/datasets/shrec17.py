"""SHREC'17: fourteen hand gestures, each with one finger or the whole hand, 28 people."""

from __future__ import annotations

import os

import numpy as np

from kerneton.data.parameters import check_choice
from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets._gestures import label_of, read_gesture, whole_numbers
from kerneton.datasets._home import Source
from kerneton.exceptions import FormatError

SOURCE = Source(
    title="SHREC'17 Track, 3D hand gestures",
    publisher="IMT Lille Douai (www-rech.telecom-lille.fr/shrec2017-hand)",
    download="HandGestureDataset_SHREC2017",
    folder="shrec17",
)
LISTS = ("train_gestures.txt", "test_gestures.txt")
# gesture, finger, subject, trial; two labels and the number of frames follow
_COLUMNS = (14, 2, 28, 10)


def load_shrec17(
    data_home: str | os.PathLike[str] | None = None, *, gestures: int = 14
) -> SkeletonDataset:
    """Read SHREC'17: 2,800 recordings of one hand, with 14 or 28 labels.

    ``data_home``, by default KERNETON_DATA, contains ``shrec17/train_gestures.txt``,
    ``shrec17/test_gestures.txt`` and files such as
    ``shrec17/gesture_1/finger_1/subject_1/essai_1/skeletons_world.txt``. The published split (1,960
    and 840) is that of the lists. Q. De Smedt et al., "SHREC'17 Track: 3D Hand Gesture Recognition
    Using a Depth and Skeletal Dataset", 3DOR 2017.

    >>> load_shrec17("/data", gestures=28)  # doctest: +SKIP
    SkeletonDataset(shrec17: 2800 recordings, 28 labels, 28 subjects)
    """
    check_choice("gestures", gestures, [14, 28])
    sides = [whole_numbers(path, 7, _COLUMNS) for path in SOURCE.locate(data_home, LISTS)]
    rows = np.concatenate(sides)
    if len(np.unique(rows[:, :4], axis=0)) != len(rows) or not all(len(side) for side in sides):
        raise FormatError(
            f"{' and '.join(LISTS)} of SHREC'17: empty, or a recording is listed twice"
        )
    names = [f"gesture_{g}/finger_{f}/subject_{s}/essai_{e}" for g, f, s, e in rows[:, :4].tolist()]
    paths = SOURCE.locate(data_home, [f"{name}/skeletons_world.txt" for name in names])
    sequences = []
    for path, name, (gesture, finger, subject) in zip(
        paths, names, rows[:, :3].tolist(), strict=True
    ):
        label = label_of(gesture, finger, gestures)
        facts = {"label": label, "subject": str(subject), "name": name.replace("/", "_")}
        sequences.append(read_gesture(path).replace(**facts))
    split = np.arange(len(sides[0])), np.arange(len(sides[0]), len(rows))
    return SkeletonDataset(sequences, name="shrec17", splits=[split])
