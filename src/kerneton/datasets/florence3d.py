"""Florence3D-Actions: nine everyday actions, ten subjects, fifteen joints."""

from __future__ import annotations

import os

from kerneton.data.sequence import SkeletonDataset
from kerneton.datasets._home import Source
from kerneton.exceptions import FormatError
from kerneton.files.readers import florence_text

SOURCE = Source(
    title="Florence3D-Actions",
    publisher='MICC, University of Florence ("Florence 3D actions dataset", www.micc.unifi.it)',
    download="Florence_dataset_WorldCoordinates.txt",
    folder="florence3d",
)
FILE = "Florence_dataset_WorldCoordinates.txt"
ACTIONS = (
    *("wave", "drink from a bottle", "answer phone", "clap", "tight lace"),
    *("sit down", "stand up", "read watch", "bow"),
)
N_SEQUENCES, N_FRAMES = 215, 4016


def load_florence3d(data_home: str | os.PathLike[str] | None = None) -> SkeletonDataset:
    """Read Florence3D-Actions: 215 recordings of 8 to 35 frames, 9 actions, 10 subjects.

    ``data_home``, by default KERNETON_DATA, contains
    ``florence3d/Florence_dataset_WorldCoordinates.txt``. The published millimetres become metres.
    Many actions are done with either hand. The frame rate is not published. L. Seidenari et al.,
    "Recognizing Actions from Depth Cameras as Weakly Aligned Multi-Part Bag-of-Poses", HAU3D 2013.

    >>> load_florence3d("/data")  # doctest: +SKIP
    SkeletonDataset(florence3d: 215 recordings, 9 labels, 10 subjects)
    """
    (path,) = SOURCE.locate(data_home, [FILE])
    videos = florence_text.read(path)
    n_frames = sum(video.n_frames for video in videos)
    if (len(videos), n_frames) != (N_SEQUENCES, N_FRAMES):
        raise FormatError(
            f"{path}: expected {N_SEQUENCES} videos with {N_FRAMES} frames, "
            f"got {len(videos)} with {n_frames}; the file is cut off or altered"
        )
    sequences = []
    for video in videos:
        number, action = int(video.name.rpartition("_")[2]), int(video.label or 0)
        if not 1 <= action <= len(ACTIONS):
            raise FormatError(
                f"{path}: video {number} has action {action}, expected 1 to {len(ACTIONS)}"
            )
        sequences.append(video.replace(label=ACTIONS[action - 1], name=f"video_{number:03d}"))
    return SkeletonDataset(sequences, name="florence3d")
