"""COCO keypoints: annotation files and the lists that estimators write."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kerneton.data.layouts import COCO_17
from kerneton.exceptions import FormatError
from kerneton.files import readers
from kerneton.files.readers import coco


@pytest.fixture
def track():
    """(T, 17, 3): x, y, score."""
    rng = np.random.default_rng(0)
    points = rng.uniform(100, 500, size=(17, 2)) + np.cumsum(rng.normal(size=(11, 1, 2)), axis=0)
    return np.concatenate([points, rng.uniform(0.5, 1, size=(11, 17, 1))], axis=2)


def expected(track):
    return np.stack([-track[..., 0], -track[..., 1], 0 * track[..., 0]], axis=-1)


def flat(points):
    return np.asarray(points).ravel().tolist()


def results(track, **more):
    return [
        {"image_id": t, "category_id": 1, "keypoints": flat(p), "score": 0.9, **more}
        for t, p in enumerate(track)
    ]


def annotations(track, *, first_id=100):
    """Images listed backwards, so that only their names give the order."""
    n = len(track)
    images = [
        {"id": first_id + t, "file_name": f"frame_{t}.jpg", "width": 640, "height": 480}
        for t in range(n)
    ]
    return {
        "info": {},
        "images": images[::-1],
        "annotations": [
            {"id": t, "image_id": first_id + t, "num_keypoints": 17, "keypoints": flat(p)}
            for t, p in enumerate(track)
        ],
        "categories": [{"id": 1, "name": "person", "keypoints": list(COCO_17.joints)}],
    }


def write(tmp_path, document):
    path = tmp_path / "wave.json"
    path.write_text(json.dumps(document))
    return path


FORMS = {
    "results": results,
    "annotations": annotations,
    "names": lambda t: [dict(r, image_id=f"{i + 3}.jpg") for i, r in enumerate(results(t))],
    "mmpose": lambda t: {
        "meta_info": {},
        "instance_info": [
            {
                "frame_id": i,
                "instances": [
                    {"keypoints": p[:, :2].tolist(), "keypoint_scores": p[:, 2].tolist()}
                ],
            }
            for i, p in enumerate(t)
        ],
    },
    "ultralytics": lambda t: [
        [
            {
                "name": "person",
                "keypoints": {"x": flat(p[:, 0]), "y": flat(p[:, 1]), "visible": flat(p[:, 2])},
            }
        ]
        for p in t
    ],
    "nested": lambda t: [{"frame": i, "keypoints": p.tolist()} for i, p in enumerate(t)],
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(tmp_path, track, form, caplog):
    path = write(tmp_path, FORMS[form](track))
    assert readers.detect_format(path) == "coco"
    with caplog.at_level(logging.INFO, "kerneton.files.readers"):
        (recording,) = readers.read(path)
    assert recording.layout is COCO_17
    assert recording.name == "wave"
    assert_allclose(recording.joints, expected(track))
    assert_allclose(recording.confidence, track[..., 2])
    assert "z is zero" in caplog.text


@pytest.mark.parametrize("values", [(0, 1, 2), (1, 2), (0, 2)])
def test_visibility_becomes_confidence(tmp_path, track, values):
    track[..., 2] = np.resize(values, (11, 17))
    (recording,) = coco.read(write(tmp_path, annotations(track)))
    assert_allclose(recording.confidence, track[..., 2] / 2)
    assert_array_equal(np.isnan(recording.joints).any(axis=2), track[..., 2] == 0)


def test_scores_above_one_are_clipped(tmp_path, track):
    track[0, 0, 2] = 1.7
    (recording,) = coco.read(write(tmp_path, results(track)))
    assert recording.confidence[0, 0] == 1


def test_keypoints_without_scores_are_trusted(tmp_path, track):
    (recording,) = coco.read(
        write(tmp_path, [{"frame": t, "keypoints": p[:, :2].tolist()} for t, p in enumerate(track)])
    )
    assert_array_equal(recording.confidence, np.ones((11, 17)))


def test_small_gaps_are_missing_frames_and_large_ones_are_not_time(tmp_path, track):
    items = results(track)
    (recording,) = coco.read(write(tmp_path, items[:4] + items[6:]))
    assert recording.n_frames == 11
    assert_array_equal(np.flatnonzero(np.isnan(recording.joints).all(axis=(1, 2))), [4, 5])
    items[-1]["image_id"] = 10**9
    (recording,) = coco.read(write(tmp_path, items))
    assert recording.n_frames == 11


def test_images_without_annotations_are_missing_frames(tmp_path, track):
    document = annotations(track)
    del document["annotations"][5]
    (recording,) = coco.read(write(tmp_path, document))
    assert_array_equal(np.flatnonzero(np.isnan(recording.joints).all(axis=(1, 2))), [5])


def test_one_person_by_track_or_by_nearness(tmp_path, track):
    other = track + [300, 0, 0]
    other[..., 2] *= 0.5
    (recording,) = coco.read(write(tmp_path, results(other) + results(track)))
    assert_allclose(recording.joints, expected(track))
    (recording,) = coco.read(
        write(tmp_path, results(other, track_id=7) + results(track, track_id=9))
    )
    assert_allclose(recording.joints, expected(track))
    (recording,) = coco.read(write(tmp_path, results(other, idx=7) + results(track[:3], idx=9)))
    assert_allclose(recording.joints, expected(other))


def test_a_recording_a_video(tmp_path, track):
    document = annotations(track)
    for image in document["images"]:
        image["video_id"] = "a" if image["id"] < 104 else "b"
    a, b = sorted(coco.read(write(tmp_path, document)), key=lambda s: s.name)
    assert (a.name, b.name) == ("wave-a", "wave-b")
    assert_allclose(a.joints, expected(track)[:4])
    assert_allclose(b.joints, expected(track)[4:])


def test_names_that_the_file_declares(tmp_path, track):
    document = annotations(track[:, :3])
    document["categories"][0]["keypoints"] = ["head", "left_shoulder", "left_elbow"]
    (recording,) = coco.read(write(tmp_path, document))
    assert recording.layout.joints == ("head", "left_shoulder", "left_elbow")
    assert recording.layout.bones == ((1, 2),)


def test_longer_skeletons_that_begin_with_cocos(tmp_path, track):
    halpe = np.concatenate([track, track[:, :9]], axis=1)
    (recording,) = coco.read(write(tmp_path, results(halpe)))
    assert_allclose(recording.joints, expected(track))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "expected a list of results"),
        ({"keypoints": 3}, "result 0: expected 17 x 3 keypoints"),
        (
            [{"keypoints": [1] * 50}],
            r"result 0: expected 17 x 3 keypoints, got an array of shape \(50,\)",
        ),
        ([{"keypoints": [1] * 48}], "expected 17 keypoints per person, got 16"),
        ([{"keypoints": ["a"] * 51}], "result 0: expected a list of numbers"),
        ([{"keypoints": [1e300] * 51}], "implausibly large for a recording"),
        ([{"keypoints": [0] * 51}], "no person in any of them"),
        ([[]], "no person in any of its frames"),
        ([{"frame": 1}], "result 0: expected a list of people"),
        ([[{"box": 1}]], "result 0: a person without keypoints"),
        (
            [{"keypoints": [1] * 51, "keypoint_scores": [1, 2]}],
            r"17 keypoints, scores of shape \(2,\)",
        ),
        ({"annotations": []}, "0 annotations, none with keypoints"),
        ({"annotations": 4}, "expected a list of annotations"),
        ({"annotations": [{"image_id": 4}]}, "annotation 0: no image has the id '4'"),
        ({"images": [3], "annotations": []}, "expected a list of images"),
    ],
)
def test_errors(tmp_path, document, message):
    with pytest.raises(FormatError, match=message):
        coco.read(write(tmp_path, document))


def test_sniff_is_by_content():
    assert coco.sniff(b'{"images": [{"file_name": "a"', Path("a.txt"))
    assert not coco.sniff(b'"keypoints"', Path("a.json"))
    assert not coco.sniff(b'{"people": []}', Path("a.json"))
