"""Florence3D-Actions: nine everyday actions, ten subjects, fifteen joints."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from kerneton.data.layouts import FLORENCE_15
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets._home import Source, read_table
from kerneton.exceptions import FormatError

SOURCE = Source(
    title="Florence3D-Actions",
    publisher='MICC, University of Florence ("Florence 3D actions dataset", www.micc.unifi.it)',
    download="Florence_dataset_WorldCoordinates.txt",
    folder="florence3d",
)
FILE = "Florence_dataset_WorldCoordinates.txt"
ACTIONS = (
    "wave",
    "drink from a bottle",
    "answer phone",
    "clap",
    "tight lace",
    "sit down",
    "stand up",
    "read watch",
    "bow",
)
N_SEQUENCES, N_FRAMES = 215, 4016


def load_florence3d(data_home: str | os.PathLike[str] | None = None) -> SkeletonDataset:
    """Read Florence3D-Actions: 215 recordings of 8 to 35 frames, 9 actions, 10 subjects.

    The published millimetres become metres. Many actions are done with either hand. The frame rate is not
    published. L. Seidenari et al., "Recognizing Actions from Depth Cameras as Weakly Aligned Multi-Part
    Bag-of-Poses", HAU3D 2013.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``florence3d/Florence_dataset_WorldCoordinates.txt``; by default KERNETON_DATA.

    Examples
    --------
    >>> load_florence3d("/data")  # doctest: +SKIP
    SkeletonDataset(florence3d: 215 recordings, 9 labels, 10 subjects)
    """
    (path,) = SOURCE.locate(data_home, [FILE])
    table = read_table(path, 3 + 3 * len(FLORENCE_15.joints))
    ids = _check_ids(table[:, :3], path)
    starts = np.flatnonzero(np.diff(ids[:, 0], prepend=-1))
    joints = table[:, 3:].reshape(len(table), -1, 3) / 1000.0
    sequences = [
        SkeletonSequence(
            frames,
            layout=FLORENCE_15,
            label=ACTIONS[action - 1],
            subject=str(actor),
            name=f"video_{video:03d}",
        )
        for frames, (video, actor, action) in zip(np.split(joints, starts[1:]), ids[starts], strict=True)
    ]
    return SkeletonDataset(sequences, name="florence3d")


def _check_ids(ids: np.ndarray, path: Path) -> np.ndarray:
    """(frames, 3) whole numbers: video, actor, action; one actor and one action a video, none cut off."""
    whole = ids.astype(np.int64)
    bad = (whole != ids).any(1) | (whole < 1).any(1) | (whole[:, 2] > len(ACTIONS))
    if bad.any():
        row = int(np.argmax(bad))
        raise FormatError(
            f"{path}, line {row + 1}: expected a video, an actor and an action from 1 to {len(ACTIONS)}, "
            f"got {ids[row].tolist()}"
        )
    mixed = (np.diff(whole[:, 0]) == 0) & (np.diff(whole[:, 1:], axis=0) != 0).any(1)
    if mixed.any():
        row = int(np.argmax(mixed)) + 1
        raise FormatError(f"{path}, line {row + 1}: video {whole[row, 0]} changes its actor or action")
    n_videos = len(np.unique(whole[:, 0]))
    if (n_videos, len(whole)) != (N_SEQUENCES, N_FRAMES):
        raise FormatError(
            f"{path}: expected {N_SEQUENCES} videos with {N_FRAMES} frames, "
            f"got {n_videos} with {len(whole)}; the file is cut off or altered"
        )
    return whole
