"""What NTU RGB+D and NTU RGB+D 120 share: recordings from .skeleton files or from PYSKL's
pickle.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kerneton.data.bodies import pair
from kerneton.data.layouts import KINECT_25, sides
from kerneton.data.notes import logger
from kerneton.data.parameters import check_choice
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence, missing_joints
from kerneton.datasets._home import Source, find_home
from kerneton.exceptions import FormatError, MissingDataError
from kerneton.files.readers import ntu, pyskl

log = logger(__name__)

NAME = re.compile(r"S(\d{3})C(\d{3})P(\d{3})R(\d{3})A(\d{3})")
_FPS = 30.0
_APART = 1.0  # metres, of the stand-in for a second person
_SHOWN = 3  # recordings that are named in a warning


def load_ntu(
    source: Source,
    name: str,
    pickle: str,
    n_labels: int,
    data_home: str | os.PathLike[str] | None,
    people: int,
) -> SkeletonDataset:
    """Recordings of either collection; see `kerneton.datasets.load_ntu60`."""
    check_choice("people", people, [1, 2])
    home = find_home(data_home)
    folder = (home or Path("DATA_HOME")) / source.folder
    if home is not None and (folder / pickle).is_file():
        found, left_out = _from_pickle(folder / pickle), list[str]()
    else:
        files = sorted(folder.rglob("*.skeleton")) if home is not None and folder.is_dir() else []
        if not files:
            if home is not None and folder.is_dir():
                where = f"neither {pickle} nor .skeleton files in {folder}"
                raise MissingDataError(f"{source.title}: {where}. Download {source.download}")
            source.locate(data_home, [pickle])
        left_out = []
        found = _from_files(files, _damaged(folder), left_out)
    sequences = [_recording(bodies, people) for bodies in found]
    wrong = [s.name for s in sequences if int(str(s.label)[1:]) > n_labels]
    if wrong:
        more = f"{len(wrong)} recordings of actions above A{n_labels:03d}, the first is {wrong[0]}"
        raise FormatError(f"{folder}: {more}; they belong to NTU RGB+D 120")
    if left_out:
        some = ", ".join(left_out[:_SHOWN]) + (" ..." if len(left_out) > _SHOWN else "")
        log.warning("%s: %d recordings are left out: %s", source.title, len(left_out), some)
    return SkeletonDataset(sequences, name=name, left_out=left_out)


def _damaged(folder: Path) -> set[str]:
    """Names in the publisher's lists of recordings with missing skeletons, where such lists are."""
    lists = [path for path in folder.rglob("*.txt") if "missing" in path.name.lower()]
    return {
        name for path in lists for name in re.findall(NAME.pattern.replace("(", "(?:"), _text(path))
    }


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{path}: expected a list of names such as S001C002P005R002A008"
        ) from error


def _from_files(
    files: list[Path], damaged: set[str], left_out: list[str]
) -> Iterator[list[SkeletonSequence]]:
    """The bodies of each file, in single precision; damaged and empty files are left out."""
    for path in files:
        if NAME.fullmatch(path.stem) is None:
            raise FormatError(f"{path}: expected a name such as S001C002P003R002A013.skeleton")
        if path.stem in damaged:
            left_out.append(f"{path.stem}: listed by the publisher as damaged")
            continue
        try:
            bodies = ntu.read(path)
        except FormatError as error:
            if "no body in any" not in str(error):
                raise
            left_out.append(f"{path.stem}: no body in any frame")
            continue
        yield [_single(body) for body in bodies]


def _from_pickle(path: Path) -> Iterator[list[SkeletonSequence]]:
    """The bodies of each annotation."""
    people: dict[str, list[SkeletonSequence]] = {}
    for body in pyskl.read(path):
        if (match := NAME.match(body.name)) is None:
            raise FormatError(
                f"{path}: expected names such as S001C002P003R002A013, got {body.name!r}"
            )
        people.setdefault(match[0], []).append(_single(body))
    for name in sorted(people):
        bodies = people.pop(name)  # freed as soon as the recording is made
        yield [pair(*_longest(bodies))] if len(bodies) > 1 else bodies


def _single(body: SkeletonSequence) -> SkeletonSequence:
    """Single precision and no confidences: half of the memory."""
    return body.replace(joints=body.joints.astype(np.float32), confidence=None)


def _longest(bodies: list[SkeletonSequence]) -> list[SkeletonSequence]:
    """The two bodies that are there for most frames."""
    seen = [-int((~missing_joints(body).all(axis=1)).sum()) for body in bodies]
    return [bodies[i] for i in sorted(sorted(range(len(bodies)), key=seen.__getitem__)[:2])]


def _recording(bodies: list[SkeletonSequence], people: int) -> SkeletonSequence:
    """One recording of one or two people from the bodies of a file."""
    match = NAME.match(bodies[0].name)
    assert match is not None
    facts = {"name": match[0], "subject": f"P{match[3]}", "label": f"A{match[5]}", "fps": _FPS}
    two = next((body for body in bodies if body.n_joints == 2 * len(KINECT_25.joints)), None)
    if two is None:
        lone = max(bodies, key=_motion)
        return (lone if people == 1 else pair(lone, _partner(lone))).replace(**facts)
    if people == 2:
        return two.replace(**facts)
    n = len(KINECT_25.joints)
    halves = [
        two.replace(joints=two.joints[:, part], layout=KINECT_25)
        for part in (slice(n), slice(n, None))
    ]
    return max(halves, key=_motion).replace(**facts)


def _motion(body: SkeletonSequence) -> float:
    """How much a body moves: the summed variance of its coordinates over the frames in which it is
    seen.
    """
    there = body.joints[~missing_joints(body).any(axis=1)]
    return float(there.var(axis=0, dtype=np.float64).sum()) if len(there) else 0.0


def _partner(lone: SkeletonSequence) -> SkeletonSequence:
    """A stand-in for a second person: the same body, half a turn about a place before the first.

    It adds no information, and the line between both points where the first person faces.
    """
    seen = lone.joints[~missing_joints(lone).any(axis=1)]
    pose = (
        seen.mean(axis=0, dtype=np.float64) if len(seen) else np.zeros((len(KINECT_25.joints), 3))
    )
    ahead = np.zeros(3)
    for left, right in (KINECT_25.indices(sides(part)) for part in ("hip", "shoulder")):
        across = (pose[right] - pose[left]) * [1, 0, 1]
        way = across / max(float(np.linalg.norm(across)), 1e-9)
        ahead += [way[2], 0.0, -way[0]]  # to the camera for who faces it
    ahead *= _APART / max(float(np.linalg.norm(ahead)), 1e-9)
    root = pose[0] * [1, 0, 1]
    placed = (lone.joints - root) * [-1, 1, -1] + root + ahead
    return lone.replace(joints=placed.astype(lone.joints.dtype))
