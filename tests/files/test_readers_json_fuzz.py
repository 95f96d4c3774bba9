"""JSON that parses but is not what it should be: any value put in any place is read or refused."""

from __future__ import annotations

import copy
import importlib
import json
import random

import numpy as np
import pytest

from kerneton.exceptions import KernetonError

N_CASES = 400
VALUES = [
    None,
    True,
    0,
    -1,
    2,
    1e9,
    1e300,
    float("nan"),
    float("inf"),
    10**30,
    "",
    "x",
    "3",
    "\ud800",
    [],
    [[]],
    {},
]
VALUES += [[1, 2], [None], ["a"], {"x": 1}, {"x": [1], "y": []}, {"0": 1}, [[[[1]]]], "a" * 1000]


def points(n, width):
    return np.random.default_rng(0).uniform(0.2, 0.9, size=(n, width))


def openpose():
    people = [
        {"pose_keypoints_2d": points(25, 3).ravel().tolist(), "pose_keypoints_3d": []}
        for _ in range(2)
    ]
    return [{"version": 1.3, "people": copy.deepcopy(people)} for _ in range(3)]


def mediapipe():
    marks = [
        dict(zip(("x", "y", "z", "visibility"), p, strict=True)) for p in points(33, 4).tolist()
    ]
    frames = [
        {"timestamp": t, "pose_landmarks": [marks], "pose_world_landmarks": [marks]}
        for t in range(3)
    ]
    return copy.deepcopy({"fps": 30, "width": 640, "height": 480, "frames": frames})


def coco():
    pose = points(17, 3).ravel().tolist()
    return copy.deepcopy(
        {
            "images": [
                {"id": t, "file_name": f"{t}.jpg", "video_id": t % 2, "frame_id": t}
                for t in range(3)
            ],
            "annotations": [{"image_id": t, "track_id": 1, "keypoints": pose} for t in range(3)],
            "categories": [{"keypoints": ["nose"] * 17}],
            "fps": 30,
        }
    )


def coco_results():
    nested = {"keypoints": points(17, 2).tolist(), "keypoint_scores": [1.0] * 17, "track_id": 3}
    apart = {"keypoints": {"x": [1.0] * 17, "y": [1.0] * 17, "visible": [1.0] * 17}}
    return copy.deepcopy(
        {"instance_info": [{"frame_id": t, "instances": [nested, apart]} for t in range(3)]}
    )


def places(node):
    """Every (container, key) of a document."""
    for key in node if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], (dict, list)):
            yield from places(node[key])


def spoil(document, rng):
    for _ in range(rng.choice((1, 1, 2, 5))):
        found = list(places(document))
        # containers hold the structure but are outnumbered by numbers
        inner = [
            (node, key)
            for node, key in found
            if isinstance(node[key], (dict, list)) or isinstance(node, dict)
        ]
        node, key = rng.choice(inner if inner and rng.random() < 0.7 else found)
        if rng.random() < 0.2:
            del node[key]
        else:
            node[key] = copy.deepcopy(rng.choice(VALUES))
        if not isinstance(document, (dict, list)) or not document:
            break
    return document


@pytest.mark.parametrize("make", [openpose, mediapipe, coco, coco_results])
def test_any_value_in_any_place(make, tmp_path):
    reader = importlib.import_module(f"kerneton.files.readers.{make.__name__.partition('_')[0]}")
    path = tmp_path / "a.json"
    n_read = 0
    for case in range(N_CASES):
        path.write_text(json.dumps(spoil(make(), random.Random(f"{make.__name__} {case}"))))
        try:
            n_read += bool(reader.read(path))
        except KernetonError as error:
            str(error).encode()
    assert 0 < n_read < N_CASES
