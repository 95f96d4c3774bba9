"""DHG-14/28: fourteen hand gestures, each with one finger or the whole hand, 20 people."""

from __future__ import annotations

import os

from kerneton.data.parameters import check_choice
from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets._gestures import label_of, read_gesture, whole_numbers
from kerneton.datasets._home import Source
from kerneton.exceptions import FormatError

SOURCE = Source(
    title="DHG-14/28",
    publisher="IMT Lille Douai (www-rech.telecom-lille.fr/DHGdataset)",
    download="the skeletons of DHG2016 and informations_troncage_sequences.txt",
    folder="dhg14",
)
CUTS = "informations_troncage_sequences.txt"
_COLUMNS = (14, 2, 20, 5)  # gesture, finger, subject, trial; the first and the last frame follow


def load_dhg14(
    data_home: str | os.PathLike[str] | None = None, *, gestures: int = 14
) -> SkeletonDataset:
    """Read DHG-14/28: 2,800 recordings of one hand, with 14 or 28 labels, cut to the gesture.

    ``data_home``, by default KERNETON_DATA, contains ``dhg14/informations_troncage_sequences.txt``
    with the first and the last frame of every gesture, and files such as
    ``dhg14/gesture_1/finger_1/subject_1/essai_1/skeleton_world.txt``. The published protocol leaves
    one of the twenty people out. Q. De Smedt, H. Wannous, J.-P. Vandeborre, "Skeleton-Based Dynamic
    Hand Gesture Recognition", CVPR Workshops 2016.

    >>> load_dhg14("/data", gestures=28)  # doctest: +SKIP
    SkeletonDataset(dhg14: 2800 recordings, 28 labels, 20 subjects)
    """
    check_choice("gestures", gestures, [14, 28])
    (cuts,) = SOURCE.locate(data_home, [CUTS])
    rows = whole_numbers(cuts, 6, _COLUMNS).tolist()
    names = [f"gesture_{g}/finger_{f}/subject_{s}/essai_{e}" for g, f, s, e, *_ in rows]
    if not rows or len(set(names)) != len(names):
        raise FormatError(f"{cuts}: empty, or a recording is listed twice")
    paths = SOURCE.locate(data_home, [f"{name}/skeleton_world.txt" for name in names])
    sequences = []
    for path, name, (gesture, finger, subject, _, first, last) in zip(
        paths, names, rows, strict=True
    ):
        whole = read_gesture(path)
        # counted from 0; some lists end after the last frame
        if not first < last <= whole.n_frames:
            cut = f"{cuts.name} cuts it from {first} to {last}"
            raise FormatError(f"{path}: {whole.n_frames} frames, but {cut}")
        facts = {"label": label_of(gesture, finger, gestures), "subject": str(subject)}
        part = whole.replace(
            joints=whole.joints[first : last + 1], name=name.replace("/", "_"), **facts
        )
        sequences.append(part)
    return SkeletonDataset(sequences, name="dhg14")
