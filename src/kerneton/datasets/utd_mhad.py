"""UTD-MHAD: twenty-seven actions, eight subjects, four takes, twenty joints."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np

from kerneton.data.layouts import UTD_20
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets._home import Source
from kerneton.exceptions import FormatError

SOURCE = Source(
    title="UTD-MHAD",
    publisher="C. Chen, R. Jafari and N. Kehtarnavaz, University of Texas at Dallas "
    '("UTD Multimodal Human Action Dataset", personal.utdallas.edu/~kehtar/UTD-MHAD.html)',
    download="the skeleton data (Skeleton.zip)",
    folder="utd_mhad/Skeleton",
)
ACTIONS = (
    *(
        "swipe left",
        "swipe right",
        "wave",
        "clap",
        "throw",
        "arms cross",
        "basketball shoot",
        "draw X",
    ),
    *(
        "draw circle clockwise",
        "draw circle counter-clockwise",
        "draw triangle",
        "bowling",
        "boxing",
    ),
    *("baseball swing", "tennis swing", "arm curl", "tennis serve", "push", "knock", "catch"),
    *("pickup and throw", "jog", "walk", "sit to stand", "stand to sit", "lunge", "squat"),
)
N_SUBJECTS, N_TAKES, FPS = 8, 4, 30.0
_ABSENT = ((8, 1, 4), (23, 6, 4), (27, 8, 4))  # never published


def load_utd_mhad(data_home: str | os.PathLike[str] | None = None) -> SkeletonDataset:
    """Read UTD-MHAD: 861 recordings of 41 to 125 frames, 27 actions, 8 subjects, 30 frames per
    second.

    ``data_home``, by default KERNETON_DATA, contains files such as
    ``utd_mhad/Skeleton/a1_s1_t1_skeleton.mat``. C. Chen, R. Jafari, N. Kehtarnavaz, "UTD-MHAD: A
    Multimodal Dataset for Human Action Recognition Utilizing a Depth Camera and a Wearable Inertial
    Sensor", ICIP 2015.

    >>> load_utd_mhad("/data")  # doctest: +SKIP
    SkeletonDataset(utd_mhad: 861 recordings, 27 labels, 8 subjects)
    """
    grid = itertools.product(*(range(1, n + 1) for n in (len(ACTIONS), N_SUBJECTS, N_TAKES)))
    takes = [take for take in grid if take not in _ABSENT]
    paths = SOURCE.locate(data_home, ["a{}_s{}_t{}_skeleton.mat".format(*take) for take in takes])
    sequences = []
    for path, (action, subject, _) in zip(paths, takes, strict=True):
        recording = SkeletonSequence(_read(path), layout=UTD_20, fps=FPS)
        name = path.stem.removesuffix("_skeleton")
        sequences.append(
            recording.replace(label=ACTIONS[action - 1], subject=str(subject), name=name)
        )
    return SkeletonDataset(sequences, name="utd_mhad")


def _read(path: Path) -> np.ndarray:
    """(T, 20, 3) from the published (20, 3, T)."""
    from scipy.io import loadmat  # slow to import, and only this data set needs it

    try:
        content = loadmat(path, variable_names=["d_skel"])
    except Exception as error:  # SciPy raises errors of a dozen kinds on damaged files
        raise FormatError(f"{path}: not a readable MATLAB file ({error})") from error
    if "d_skel" not in content:
        raise FormatError(f"{path}: the MATLAB file has no variable d_skel")
    joints = np.asarray(content["d_skel"])
    # MATLAB drops the axis of a single frame
    joints = joints[:, :, None] if joints.ndim == 2 else joints
    shape = (len(UTD_20.joints), 3)
    if joints.ndim != 3 or joints.shape[:2] != shape or joints.dtype.kind not in "fiu":
        raise FormatError(
            f"{path}: expected d_skel of numbers, {shape[0]} x {shape[1]} x frames, "
            f"got {joints.dtype} {' x '.join(map(str, joints.shape))}"
        )
    return np.ascontiguousarray(joints.transpose(2, 0, 1), dtype=np.float64)
