"""Films: the poses of the people, or of the hands of one, in each picture.

The poses are estimated once (`kerneton.video`) and kept in a cache folder. The label and subject of
a film come from its folders. Frames in which nobody is seen have no joints.
"""

from __future__ import annotations

from pathlib import Path

from kerneton.data.sequence import SkeletonSequence
from kerneton.files.readers._text import check_regular
from kerneton.video.estimator import PoseOptions
from kerneton.video.films import is_film
from kerneton.video.poses import recordings

NAMES_JOINTS = True
STATES = {"unit": "m", "up": "y"}
TAKES = ("poses",)


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether a file begins as films do."""
    return is_film(head)


def read(path: Path, poses: PoseOptions | None = None) -> list[SkeletonSequence]:
    """The people in a film as recordings."""
    check_regular(path)
    return recordings(path, poses or PoseOptions())
