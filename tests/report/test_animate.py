"""Moving pictures and contact sheets: what is seen, from where, for how long."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton.data.bodies import pair_layout
from kerneton.data.layouts import COCO_17, KINECT_20, OPENPOSE_25, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, MissingExtraError, ParameterError
from kerneton.report.animation import animate, contact_sheet
from kerneton.report.body import Body
from kerneton.report.scene import Scene, facing

pytest.importorskip("matplotlib")
Image = pytest.importorskip("PIL.Image")

LEFT, RIGHT = (0xD9, 0x5F, 0x02), (0x1F, 0x6F, 0xB4)


def standing(n_frames=6, **fields):
    """A body in metres that faces the camera (-z), its right hand going up."""
    pose = {"hip_center": (0, 1), "spine": (0, 1.2), "shoulder_center": (0, 1.5), "head": (0, 1.7)}
    arm, leg = ("shoulder", "elbow", "wrist", "hand"), ("hip", "knee", "ankle", "foot")
    for side, sign in (("left", -1), ("right", 1)):
        pose |= {
            f"{side}_{part}": (sign * (0.2 + 0.1 * i), 1.45 - 0.2 * i) for i, part in enumerate(arm)
        }
        pose |= {f"{side}_{part}": (sign * 0.1, 0.9 - 0.3 * i) for i, part in enumerate(leg)}
    joints = np.array([[*pose[name], 2.0] for name in KINECT_20.joints])[None].repeat(
        n_frames, axis=0
    )
    # toes forward
    joints[:, [KINECT_20.index("left_foot"), KINECT_20.index("right_foot")], 2] -= 0.2
    joints[:, KINECT_20.index("right_hand"), 1] += np.linspace(0, 1, n_frames)
    fields = {
        "layout": KINECT_20,
        "label": "wave",
        "subject": "ann",
        "name": "take 1",
        "fps": 20.0,
    } | fields
    return SkeletonSequence(joints, **fields)


def turned(sequence, angle):
    c, s = np.cos(angle), np.sin(angle)
    return sequence.replace(joints=sequence.joints @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]).T)


def pixels(picture, colour):
    """Rows and columns of the pixels of a colour."""
    return np.argwhere(
        (np.abs(np.asarray(picture.convert("RGB")).astype(int) - colour) < 12).all(axis=2)
    )


def open_frames(path):
    with Image.open(path) as picture:
        frames, durations = [], []
        for i in range(picture.n_frames):
            picture.seek(i)
            frames.append(picture.convert("RGB"))
            durations.append(picture.info["duration"])
    return frames, durations


@pytest.mark.parametrize("angle", [0.0, 0.7, np.pi / 2, np.pi, 4.0])
def test_the_camera_stands_in_front_however_the_body_is_turned(angle):
    body = standing()
    assert_allclose(facing(body), [0, 0, -1], atol=1e-12)
    around = turned(body, angle)
    assert_allclose(facing(around) @ facing(body), np.cos(angle), atol=1e-12)
    assert_allclose(Scene.of(around).plane, Scene.of(turned(body, 0.0)).plane, atol=1e-9)


def test_left_is_on_the_right_of_the_picture_and_the_head_above():
    scene = Scene.of(standing())
    plane = {name: scene.plane[0, i] for i, name in enumerate(KINECT_20.joints)}
    assert plane["left_hand"][0] > plane["head"][0] > plane["right_hand"][0]
    assert plane["head"][1] > plane["hip_center"][1] > plane["left_foot"][1]
    # nearer to a camera that stands a little above
    assert plane["head"][2] > plane["left_ankle"][2]


def test_projection_is_a_rotation():
    scene, body = Scene.of(standing()), standing()
    flat = np.linalg.norm(np.diff(scene.plane[0], axis=0), axis=1)
    assert_allclose(flat, np.linalg.norm(np.diff(body.joints[0], axis=0), axis=1))


def test_the_floor_is_where_the_feet_stand():
    scene = Scene.of(standing())
    foot = scene.plane[0, [KINECT_20.index("left_foot"), KINECT_20.index("right_foot")]]
    assert scene.floor[..., 1].min() < foot[:, 1].min()
    assert scene.floor[..., 1].max() > foot[:, 1].max()
    assert len(scene.floor) > 4


def test_flat_recordings_are_seen_from_straight_ahead():
    body = standing()
    flat = body.replace(joints=body.joints * [400, 400, 0])
    scene = Scene.of(flat)
    assert_allclose(scene.plane[..., 0], -flat.joints[..., 0], atol=1e-9)
    assert_allclose(scene.plane[..., 1], flat.joints[..., 1], atol=1e-9)
    assert len(scene.floor) == 1


def test_stray_points_do_not_shrink_the_rest():
    body = standing(200)
    joints = body.joints.copy()
    joints[7, 3] = 500
    wide = Scene.of(body.replace(joints=joints))
    usual = Scene.of(body)
    assert (wide.high - wide.low).max() < 2 * (usual.high - usual.low).max()


def test_without_sides_the_camera_stays():
    names = [f"m{i}" for i in range(20)]
    assert_allclose(facing(standing(layout=Layout("m", names))), [0, 0, -1])
    assert_allclose(facing(standing(layout=None)), [0, 0, -1])
    across = Layout("eyes", ["left_eye", "right_eye"])
    assert_allclose(facing(SkeletonSequence([[[0, 0, 1], [0, 0, 0]]], layout=across)), [-1, 0, 0])


def test_contact_sheet_shows_both_sides_in_their_colours(tmp_path):
    path = contact_sheet(standing(), tmp_path / "deep" / "sheet.png", 3)
    with Image.open(path) as picture:
        left, right = pixels(picture, LEFT), pixels(picture, RIGHT)
        assert min(len(left), len(right)) > 100
        assert picture.width > picture.height
    assert [p.name for p in path.parent.iterdir()] == ["sheet.png"]


def test_contact_sheet_sizes_and_formats(tmp_path):
    for n in (1, 5, 20):
        with Image.open(contact_sheet(standing(30), tmp_path / f"{n}.png", n)) as picture:
            assert picture.width >= 360
    text = contact_sheet(standing(), tmp_path / "a.svg", title="high & low").read_text()
    assert "<svg" in text
    with pytest.raises(ParameterError, match=r"cannot write '\.docx'"):
        contact_sheet(standing(), tmp_path / "a.docx")
    with pytest.raises(ParameterError, match="n_frames must be a positive whole number"):
        contact_sheet(standing(), tmp_path / "a.png", 0)


def test_contact_sheet_skips_missing_frames(tmp_path):
    body = standing(9)
    joints = body.joints.copy()
    joints[4] = 0  # how Kinect data sets store a frame without a body
    confidence = np.ones((9, 20))
    confidence[8] = 0
    gaps = body.replace(joints=joints, confidence=confidence)
    scene = Scene.of(gaps)
    assert np.isnan(scene.plane[[4, 8]]).all()
    assert scene.clock(4) == "0.20 s, missing"
    assert scene.clock(3) == "0.15 s"
    assert Scene.of(standing(fps=None)).clock(3) == "frame 3"
    sizes = []
    for sequence in (gaps, body):
        with Image.open(contact_sheet(sequence, tmp_path / "a.png", 9)) as picture:
            sizes.append(picture.height)
    assert 1.5 * sizes[0] < sizes[1]  # seven poses need one row, nine need two


def test_gif_plays_at_the_recordings_speed(tmp_path):
    frames, durations = open_frames(animate(standing(12, fps=15.0), tmp_path / "a.gif"))
    assert len(frames) == 12
    assert sum(durations) == 800
    assert set(durations) == {60, 70}
    for frame in (frames[0], frames[-1]):
        assert frame.getpixel((2, frame.height // 2)) == (255, 255, 255)
        assert min(len(pixels(frame, LEFT)), len(pixels(frame, RIGHT))) > 100
    hand = [
        pixels(frame.crop((0, 50, *frame.size)), RIGHT)[:, 0].min()
        for frame in (frames[0], frames[-1])
    ]
    assert hand[1] < hand[0] - 10  # the right hand went up


@pytest.mark.parametrize(
    ("fps", "given", "n", "total"),
    [(120.0, None, 8, 240), (30.0, None, 30, 1000), (None, 10.0, 30, 3000)],
)
def test_gif_frames_are_chosen_by_time(tmp_path, fps, given, n, total):
    frames, durations = open_frames(animate(standing(30, fps=fps), tmp_path / "a.gif", fps=given))
    assert len(frames) == n
    assert abs(sum(durations) - total) <= 40


def test_long_recordings_are_thinned(tmp_path):
    frames, durations = open_frames(
        animate(standing(50, fps=25.0), tmp_path / "a.gif", max_frames=10)
    )
    assert len(frames) == 10
    assert sum(durations) == 2000


def test_layouts_without_head_and_recordings_without_layout(tmp_path):
    """Bones in three colours where there are sides, dots where there are no bones."""
    rng = np.random.default_rng(0)
    still = rng.normal(size=(1, 17, 3)).repeat(2, axis=0)
    coco, _ = open_frames(
        animate(SkeletonSequence(still, layout=COCO_17), tmp_path / "a.gif", title="")
    )
    assert min(len(pixels(coco[0], LEFT)), len(pixels(coco[0], RIGHT))) > 100
    for name, n_joints in (("b.gif", 5), ("c.gif", 1)):
        bare = SkeletonSequence(rng.normal(size=(2, n_joints, 3)) + 3)
        frames, _ = open_frames(animate(bare, tmp_path / name, title=""))
        assert len(frames) == 2
        dots = pixels(
            frames[0].crop((0, 60, frames[0].width, frames[0].height - 40)), (0x44, 0x44, 0x44)
        )
        assert len(dots) >= 4 * n_joints
        assert len(pixels(frames[0], LEFT)) == len(pixels(frames[0], RIGHT)) == 0


def test_errors(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match=r"cannot write '\.avi'; choose \.gif or \.mp4"):
        animate(standing(), tmp_path / "a.avi")
    with pytest.raises(DataError, match="'take 1' has no measured joint"):
        animate(standing(confidence=np.zeros((6, 20))), tmp_path / "a.gif")
    with pytest.raises(ParameterError, match="fps"):
        animate(standing(), tmp_path / "a.gif", fps=0)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"\.mp4 needs the program ffmpeg"):
        animate(standing(), tmp_path / "a.mp4")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_mp4(tmp_path):
    path = animate(standing(10), tmp_path / "a.mp4")
    assert path.read_bytes()[4:8] == b"ftyp"
    decoded = subprocess.run(
        ["ffmpeg", "-i", str(path), "-f", "null", "-"], capture_output=True, text=True, check=True
    ).stderr
    assert "frame=   10" in decoded


def test_shoulders_and_hips_without_a_trunk_are_joined_in_pictures_alone():
    two = pair_layout(COCO_17, COCO_17)
    assert len(Body(two, 34).lines) == len(two.bones) + 4
    assert Body(two, 34).side((5, 6)) == "middle"
    assert Body(OPENPOSE_25, 25).lines == OPENPOSE_25.bones
