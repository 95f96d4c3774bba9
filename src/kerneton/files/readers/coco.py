"""COCO keypoints: annotation files, and the result lists of pose estimators.

The reader accepts annotation files (``images``, ``annotations``), lists of results with
``image_id`` and ``keypoints`` (detectron, AlphaPose), MMPose's ``instance_info``, and one list of
detections per frame (Ultralytics). The keypoints are **two-dimensional**: x and y are pixels and
**z is zero**; they are rotated so that x points left and y up. Of skeletons with more keypoints
that begin with COCO's 17 (Halpe, whole body), those 17 are kept; 14 keypoints are CrowdPose's;
other keypoint names in an annotation file define a new layout. Visibility 0, 1, 2 becomes
confidence 0, 0.5, 1; scores are kept. Frames are ordered by the numbers of the pictures. One person
is kept: the track with the highest confidence if there are ``track_id``s, else the most confident
person, tracked through the frames. Annotation files with ``video_id`` give one recording per video.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import ARM, COCO_17, LEG, Layout, sides
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError
from kerneton.files.readers._bones import named_bones
from kerneton.files.readers._keypoints import (
    COPIES,
    LOG,
    follow,
    frame_rate,
    is_json,
    load_json,
    natural_order,
    number_array,
    picture_sequence,
)
from kerneton.files.readers._names import joint_names
from kerneton.files.readers._text import MAX_JOINTS, shorten
from kerneton.files.readers._values import check_room

STATES = {"up": "-y"}
_BEGIN_WITH_COCO = {
    26,
    133,
    136,
}  # numbers of keypoints of Halpe, COCO whole body, Halpe whole body
_FRAME_KEYS = ("image_id", "frame_id", "frame", "image", "image_name", "file_name")
_TRACK_KEYS = ("track_id", "person_id", "idx")

CROWDPOSE_14 = named_bones("crowdpose14", [*sides(*ARM[:3], *LEG[:3]), "head", "neck"])

Found = tuple[Any, Any, np.ndarray]  # frame, track, keypoints (J, 4)


def sniff(head: bytes, path: Path) -> bool:  # noqa: ARG001
    """Whether a JSON file contains keypoints or instances, or lists images before them."""
    listed = b'"images"' in head and b'"file_name"' in head
    return is_json(head) and (b'"keypoints"' in head or b'"instance_info"' in head or listed)


def read(path: Path) -> list[SkeletonSequence]:
    """The recordings of a COCO file, one per video; z is zero."""
    document = load_json(path)
    if isinstance(document, dict) and "annotations" in document:
        videos, layout = _annotations(path, document), _declared(path, document)
    else:
        found = list(_results(path, document))
        if not found:
            raise FormatError(f"{path}: no person in any of its frames")
        videos, layout = {"": _in_order(found)}, COCO_17
        if {len(points) for *_, points in found} == {len(CROWDPOSE_14.joints)}:
            layout = CROWDPOSE_14
    LOG.info("%s: COCO keypoints are two-dimensional, z is zero", path)
    sequences = []
    for video, (n_frames, found) in videos.items():
        keypoints = _one_person(path, n_frames, found, layout)
        name = path.stem if len(videos) == 1 else f"{path.stem}-{video}"
        sequences.append(
            picture_sequence(path, keypoints, layout, name=name, fps=frame_rate(document))
        )
    return sequences


def _annotations(path: Path, document: dict[str, Any]) -> dict[str, tuple[int, list[Found]]]:
    """Number of frames and what was found in them, for each video."""
    place: dict[Any, tuple[str, int]] = {}  # video and frame of an image
    by_video: dict[str, list[dict[str, Any]]] = {}
    for image in _objects(path, document.get("images", []), "images"):
        by_video.setdefault(str(image.get("video_id", image.get("vid_id", ""))), []).append(image)
    for video, members in by_video.items():
        members.sort(
            key=lambda i: natural_order(str(i.get("frame_id", i.get("file_name", i.get("id")))))
        )
        place.update((_key(image.get("id")), (video, t)) for t, image in enumerate(members))
    found: dict[str, list[Found]] = {}
    for n, annotation in enumerate(_objects(path, document["annotations"], "annotations")):
        where = f"{path}, annotation {n}"
        key = _key(annotation.get("image_id"))
        if key not in place:
            raise FormatError(
                f"{where}: no image has the id {shorten(str(annotation.get('image_id')))!r}"
            )
        if "keypoints" in annotation:
            video, t = place[key]
            found.setdefault(video, []).append(
                (t, _track(annotation), _keypoints(annotation, where))
            )
    if not found:
        raise FormatError(
            f"{path}: {len(document['annotations'])} annotations, none with keypoints"
        )
    return {video: (len(by_video[video]), members) for video, members in found.items()}


def _results(path: Path, document: Any) -> Iterator[Found]:
    if isinstance(document, dict):
        lists = (document[k] for k in ("instance_info", "frames", "results") if k in document)
        document = next(lists, [document])
    if not isinstance(document, list) or not document:
        raise FormatError(f"{path}: expected a list of results")
    for n, item in enumerate(document):
        where = f"{path}, result {n}"
        people, frame = item, n
        if isinstance(item, dict):
            frame = next((item[k] for k in _FRAME_KEYS if k in item), n)
            people = next(
                (item[k] for k in ("instances", "predictions", "people") if k in item), None
            )
            people = [item] if "keypoints" in item else people
        for person in _objects(where, people, "people"):
            if "keypoints" not in person:
                raise FormatError(f"{where}: a person without keypoints")
            yield frame, _track(person), _keypoints(person, where)


def _in_order(found: list[Found]) -> tuple[int, list[Found]]:
    """Frames counted from zero, by the last number of their name; small gaps are frames without
    people.
    """
    names = sorted({_key(frame) for frame, _, _ in found}, key=natural_order)
    numbers = [re.findall(r"[0-9]{1,15}", name) for name in names]
    counts = [int(number[-1]) for number in numbers if number]
    place = {name: t for t, name in enumerate(names)}
    if counts and len(set(counts)) == len(names) and counts[-1] - counts[0] < 2 * len(names):
        place = {name: count - counts[0] for name, count in zip(names, counts, strict=True)}
    return max(place.values(), default=-1) + 1, [
        (place[_key(f)], track, k) for f, track, k in found
    ]


def _key(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _track(person: dict[str, Any]) -> Any:
    value = next((person[k] for k in _TRACK_KEYS if k in person), None)
    return value if isinstance(value, (int, float, str)) and value not in (-1, "") else None


def _objects(where: Path | str, value: Any, what: str) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise FormatError(f"{where}: expected a list of {what}")
    return value


def _keypoints(person: dict[str, Any], where: str) -> np.ndarray:
    """Keypoints (J, 4): x, y, zero, confidence."""
    value = person["keypoints"]
    if isinstance(value, dict):  # Ultralytics stores x, y and visible separately
        columns = [
            value.get("x", []),
            value.get("y", []),
            value.get("visible", value.get("conf", [])),
        ]
        points = number_array([column for column in columns if column], where).T
    else:
        points = number_array(value, where)
    if points.ndim == 1 and points.size % 3 == 0:
        points = points.reshape(-1, 3)
    if points.ndim != 2 or points.shape[1] not in (2, 3) or not 0 < len(points) <= MAX_JOINTS:
        raise FormatError(
            f"{where}: expected 17 x 3 keypoints, got an array of shape {points.shape}"
        )
    scores = person.get("keypoint_scores", person.get("keypoints_scores"))
    if scores is not None:
        given = number_array(scores, where)
        if given.shape != (len(points),):
            raise FormatError(f"{where}: {len(points)} keypoints, scores of shape {given.shape}")
        points = np.column_stack([points[:, :2], given])
    elif points.shape[1] == 2:
        points = np.column_stack([points, np.ones(len(points))])
    return np.insert(points, 2, 0.0, axis=1)


def _declared(path: Path, document: dict[str, Any]) -> Layout:
    """COCO's layout, or one of the keypoint names that the first category lists."""
    categories = document.get("categories")
    first = categories[0] if isinstance(categories, list) and categories else None
    names = first.get("keypoints") if isinstance(first, dict) else None
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        return COCO_17
    if len(names) > MAX_JOINTS:
        raise FormatError(f"{path}: more than {MAX_JOINTS} keypoints")
    joints = joint_names(names)
    if tuple(joints[:17]) == COCO_17.joints:
        return COCO_17
    return named_bones(f"coco{len(joints)}", joints)


def _one_person(path: Path, n_frames: int, found: list[Found], layout: Layout) -> np.ndarray:
    """Keypoints (T, J, 4) of the person who is seen best."""
    size = len(layout.joints)
    check_room(path, n_frames, size, COPIES)
    people: list[list[np.ndarray]] = [[] for _ in range(n_frames)]
    scores = np.concatenate([points[:, 3] for _, _, points in found])
    visibility = bool(np.isin(scores, (0, 1, 2)).all() and (scores == 2).any())
    for frame, _, points in _best_track(found):
        if len(points) != size and not (layout is COCO_17 and len(points) in _BEGIN_WITH_COCO):
            raise FormatError(f"{path}: expected {size} keypoints per person, got {len(points)}")
        people[frame].append(points[:size] / [1, 1, 1, 2] if visibility else points[:size])
    return follow(people, size)


def _best_track(found: list[Found]) -> Iterable[Found]:
    scores: dict[Any, float] = {}
    for _, track, points in found:
        if track is not None:
            scores[track] = scores.get(track, 0.0) + float(np.nansum(points[:, 3]))
    if not scores:
        return found
    best = max(scores, key=lambda track: scores[track])
    return [item for item in found if item[1] == best]
