"""UTKinect-Action3D: ten actions in a row, ten subjects, twice each, twenty joints."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from kerneton.data.layouts import KINECT_20
from kerneton.data.parameters import check_choice
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence
from kerneton.datasets._home import Source
from kerneton.exceptions import FormatError
from kerneton.files.readers import utkinect_text

SOURCE = Source(
    title="UTKinect-Action3D",
    publisher='the University of Texas at Austin ("UTKinect-Action3D Dataset", cvrc.ece.utexas.edu)',
    download="the skeleton joint locations (joints) and the action labels",
    folder="utkinect/joints",
)
LABEL_FILES = {"corrected": "actionLabel_modified.txt", "original": "actionLabel.txt"}
ACTIONS = {
    "walk": "walk",
    "sitDown": "sit down",
    "standUp": "stand up",
    "pickUp": "pick up",
    "carry": "carry",
    "throw": "throw",
    "push": "push",
    "pull": "pull",
    "waveHands": "wave hands",
    "clapHands": "clap hands",
}
TAKES = tuple(f"s{subject:02d}_e{take:02d}" for subject in range(1, 11) for take in (1, 2))


def load_utkinect(
    data_home: str | os.PathLike[str] | None = None,
    *,
    labels: str = "corrected",
    uncut: bool = False,
) -> SkeletonDataset:
    """Read UTKinect-Action3D: 199 recordings of 5 to 110 frames, 10 actions, 10 subjects.

    Each published file is one take with ten actions in a row, cut here by the label file. Frame
    numbers increase irregularly, so there is no frame rate; where a frame is given twice, the first
    skeleton is kept. The take s10_e02 has no carry: 199, not 200. L. Xia, C.-C. Chen, J. K.
    Aggarwal, "View Invariant Human Action Recognition Using Histograms of 3D Joints", HAU3D 2012.

    ``data_home``, by default KERNETON_DATA, contains ``utkinect/joints/joints_s01_e01.txt`` and the
    label files. ``labels`` are the boundaries "corrected" in the CVPR 2014 package
    (actionLabel_modified.txt; seven differ), or the "original" ones (actionLabel.txt). ``uncut``
    returns the twenty takes as they were recorded, with their actions as ``segments``, instead of
    the 199 actions.

    >>> load_utkinect("/data")  # doctest: +SKIP
    SkeletonDataset(utkinect: 199 recordings, 10 labels, 10 subjects)
    """
    check_choice("labels", labels, LABEL_FILES)
    files = [LABEL_FILES[labels], *(f"joints_{take}.txt" for take in TAKES)]
    label_path, *paths = SOURCE.locate(data_home, files)
    windows = _read_labels(label_path)
    sequences: list[SkeletonSequence] = []
    for take, path in zip(TAKES, paths, strict=True):
        numbers, joints = utkinect_text.read_frames(path)
        segments = []
        for action, (start, end) in windows[take].items():
            inside = (numbers >= start) & (numbers <= end)
            if not inside.any() or end > numbers[-1]:
                raise FormatError(
                    f"{path}: frames {numbers[0]:.0f} to {numbers[-1]:.0f} do not contain {action}, "
                    f"frames {start} to {end} in {label_path.name}; the file is cut off or altered"
                )
            at = np.flatnonzero(inside)
            segments.append((action, int(at[0]), int(at[-1]) + 1))
        whole = SkeletonSequence(joints, layout=KINECT_20, subject=str(int(take[1:3])), name=take)
        if uncut:
            named = [(ACTIONS[action], start, stop) for action, start, stop in segments]
            sequences.append(whole.replace(segments=named))
        else:
            sequences += [
                whole.cut(start, stop, label=ACTIONS[action], name=f"{take}_{action}")
                for action, start, stop in segments
            ]
    return SkeletonDataset(sequences, name="utkinect")


def _read_labels(path: Path) -> dict[str, dict[str, tuple[int, int]]]:
    """Take → action → (first frame, last frame); actions marked NaN are left out."""
    windows: dict[str, dict[str, tuple[int, int]]] = {}
    take = ""
    for number, line in enumerate(
        path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1
    ):
        action, colon, rest = line.strip().partition(":")
        if not action:
            continue
        if not colon:
            take = action
            if take not in TAKES:
                raise FormatError(
                    f"{path}, line {number}: expected a take such as s01_e01, got {take!r}"
                )
            windows[take] = {}
            continue
        if action not in ACTIONS or not take:
            raise FormatError(
                f"{path}, line {number}: expected an action such as 'walk:', got {line!r}"
            )
        if [word.lower() for word in rest.split()] == ["nan", "nan"]:
            continue
        try:
            start, end = (int(word) for word in rest.split())
        except ValueError:
            raise FormatError(
                f"{path}, line {number}: expected the first and last frame of {action}, got {rest.strip()!r}"
            ) from None
        windows[take][action] = (start, end)
    absent = [take for take in TAKES if take not in windows]
    if absent:
        raise FormatError(
            f"{path}: no labels for {', '.join(absent)}; the file is cut off or altered"
        )
    return windows
