"""Poses of real films: estimated, kept, read, told apart; with the networks that ``kerneton pose
--get`` fetches.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from films_made import VIDEOS, part_of

import kerneton
from kerneton.cli import main
from kerneton.exceptions import DataError, FormatError, MissingDataError, ParameterError
from kerneton.video import models, poses
from kerneton.video.estimator import LEAST_CONFIDENCE, PoseEstimator, PoseOptions

av = pytest.importorskip("av", reason="PyAV is not installed: pip install 'kerneton[video]'")
pytest.importorskip(
    "ai_edge_litert", reason="LiteRT is not installed: pip install 'kerneton[video]'"
)
if set(PoseOptions().models + PoseOptions("hands").models) - set(models.found_models()):
    pytest.skip("the networks were not fetched: kerneton pose --get", allow_module_level=True)
if not (VIDEOS / "help.mkv").exists():
    pytest.skip("KERNETON_DATA has no videos/help.mkv", allow_module_level=True)
UPPER = slice(0, 25)  # the legs are outside of these pictures


def test_a_film_is_a_recording(clip):
    (wave,) = kerneton.read(clip)
    assert wave.layout.name == "mediapipe33"
    assert (wave.n_frames, wave.fps, wave.name) == (15, 30, "help")
    at = wave.layout.index
    hips = (wave.joints[:, at("left_hip")] + wave.joints[:, at("right_hip")]) / 2
    assert np.abs(hips).max() < 0.05  # metres from the middle of the hips
    head = wave.joints[:, at("nose")]
    assert ((head[:, 1] > 0.4) & (head[:, 1] < 0.8)).all()
    # faces the camera, x points to the left
    assert (wave.joints[:, at("left_shoulder"), 0] < -0.1).all()
    assert (wave.joints[:, at("right_shoulder"), 0] > 0.1).all()
    assert (head[:, 2] < hips[:, 2] - 0.05).all()  # the nose is nearer to the camera
    assert np.isnan(wave.joints[:, at("left_ankle")]).all()  # outside of the picture
    assert (wave.confidence[:, at("left_ankle")] == 0).all()
    seen = wave.confidence > 0
    assert (wave.confidence[seen] >= LEAST_CONFIDENCE).all()


def test_mirrored_people_are_mirrored(tmp_path):
    options = PoseOptions(smooth=False)
    one = poses.film_poses(part_of(VIDEOS / "bird.mkv", tmp_path / "a.mp4", 20, 26), options)
    other = poses.film_poses(
        part_of(VIDEOS / "bird.mkv", tmp_path / "b.mp4", 20, 26, mirror=True), options
    )
    twin = PoseOptions().layout.mirror
    mirrored = other.joints[0][:, twin] * [-1, 1, 1]
    assert np.nanmedian(np.linalg.norm(mirrored - one.joints[0], axis=2)[:, UPPER]) < 0.07


def test_poses_are_kept_and_belong_to_the_content(clip, monkeypatch):
    (first,) = kerneton.read(clip)
    kept = list((models.cache_home() / "poses").iterdir())
    assert len(kept) == 1
    monkeypatch.setattr(poses, "_estimate", None)  # nothing is estimated any more
    moved = clip.rename(clip.with_name("moved.mp4"))
    (again,) = kerneton.read(moved)
    assert np.array_equal(first.joints, again.joints, equal_nan=True)
    monkeypatch.undo()


def test_a_damaged_file_of_the_cache_is_made_again(clip, tmp_path):
    options = PoseOptions(pose_cache=str(tmp_path / "own"))
    (first,) = kerneton.read(clip, poses=options)
    (kept,) = (tmp_path / "own").iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    (again,) = kerneton.read(clip, poses=options)
    assert np.array_equal(first.joints, again.joints, equal_nan=True)
    # nothing half-written
    assert [path.name for path in (tmp_path / "own").iterdir()] == [kept.name]
    assert kept.stat().st_size > 100


def test_a_cache_that_cannot_be_written_costs_a_warning_alone(clip, tmp_path):
    (tmp_path / "blocked").write_text("")
    with pytest.warns(UserWarning, match="poses cannot be kept in .*blocked"):
        (found,) = kerneton.read(clip, poses=PoseOptions(pose_cache=str(tmp_path / "blocked")))
    assert found.n_frames == 15


def test_absent_frames_stay_absent(tmp_path):
    film = part_of(VIDEOS / "help.mkv", tmp_path / "late.mp4", 20, 36, blank=(0, 1, 2, 3, 9, 10))
    (found,) = kerneton.read(film)
    nobody = np.isnan(found.joints).all(axis=(1, 2))
    assert found.n_frames == 16
    assert np.flatnonzero(nobody).tolist() == [0, 1, 2, 3, 9, 10]
    assert (found.confidence[nobody] == 0).all()


def test_a_film_without_a_person_is_an_error(tmp_path, monkeypatch):
    film = part_of(VIDEOS / "help.mkv", tmp_path / "grey.mp4", 0, 8, blank=range(8))
    with pytest.raises(FormatError, match="no person was found in the 8 pictures of this film"):
        kerneton.read(film)
    with pytest.raises(FormatError, match="no hand was found in the 8 pictures"):
        kerneton.read(film, poses=PoseOptions("hands"))
    monkeypatch.setattr(poses, "_estimate", None)  # it is known, and not estimated again
    with pytest.raises(FormatError, match="no person was found in the 8 pictures of this film"):
        kerneton.read(film)


def test_hands(tmp_path):
    film = part_of(VIDEOS / "please.mkv", tmp_path / "please.mp4", 20, 36)
    (found,) = kerneton.read(film, poses=PoseOptions("hands"))
    assert found.layout.name == "hands42"
    at = found.layout.index
    left, right = found.joints[:, at("left_wrist")], found.joints[:, at("right_wrist")]
    both = ~np.isnan(left[:, 0]) & ~np.isnan(right[:, 0])
    assert both.sum() > 8
    assert (left[both, 0] < right[both, 0]).all()
    palm = found.joints[:, at("left_middle_mcp")] - left
    assert 0.05 < np.nanmedian(np.linalg.norm(palm, axis=1)) < 0.12  # metres


def test_hands_are_those_of_the_body(tmp_path):
    film = part_of(VIDEOS / "please.mkv", tmp_path / "please.mp4", 20, 30)
    body = poses.film_poses(film, PoseOptions(smooth=False))
    hands = poses.film_poses(film, PoseOptions("hands", smooth=False))
    for side, wrist in enumerate((15, 16)):
        apart = hands.places[0, :, 21 * side] - body.places[0, :, wrist]
        assert np.nanmedian(np.linalg.norm(apart, axis=1)) < 40  # pixels of 640


def test_an_estimator_takes_pictures_one_by_one(clip):
    with poses.Film(clip) as film:
        pictures = list(film.pictures())[:4]
    estimator = PoseEstimator()
    seen = [estimator.push(pixels, time) for pixels, time in pictures]
    assert [[person.number for person in people] for people in seen] == [[0]] * 4
    rgb = PoseEstimator().push(pictures[0].pixels[..., :3], 0.0)
    assert np.array_equal(rgb[0].joints, seen[0][0].joints, equal_nan=True)
    with pytest.raises(DataError, match="times of pictures must grow"):
        estimator.push(pictures[0].pixels, 0.0)
    with pytest.raises(DataError, match="expected a picture"):
        PoseEstimator().push(np.zeros((4, 4)), 0.0)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"pose": "feet"}, "pose must be one of body, hands"),
        ({"pose_model": "big"}, "pose_model must be one of lite, full, heavy"),
        ({"people": 0}, "people must be a whole number from 1"),
        ({"people": 99}, "at most 8"),
        ({"pose": "hands", "people": 2}, "hands of one person"),
    ],
)
def test_wrong_options(options, told):
    with pytest.raises(ParameterError, match=told):
        PoseOptions(**options)


@pytest.fixture
def signs(tmp_path):
    """Two signs of two people, who are one person and her mirror image, twice each."""
    for sign in ("milk", "thanks"):
        for who, mirror in (("ann", False), ("bob", True)):
            folder = tmp_path / "signs" / sign / who
            folder.mkdir(parents=True)
            part_of(VIDEOS / f"{sign}.mkv", folder / "1.mp4", 4, 44, mirror=mirror)
            part_of(
                VIDEOS / f"{sign}.mkv",
                folder / "2.mp4",
                8,
                48,
                mirror=mirror,
                crop=(30, 20, 580, 440),
            )
    return tmp_path / "signs"


def test_a_folder_of_films_becomes_a_model(signs, tmp_path, capsys):
    model = str(tmp_path / "signs.kern")
    assert main(["fit", str(signs), "-o", model, "--pose-model", "lite"]) == 0
    told = capsys.readouterr()
    assert "8 recordings, 2 labels, 2 subjects" in told.out
    assert "left_knee" in told.err  # left out, for no film shows it
    capsys.readouterr()
    assert main(["predict", model, str(VIDEOS / "milk.mkv"), "--json", "-", "-q"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["label"] == "milk"
    assert main(["info", str(signs / "milk" / "ann" / "1.mp4")]) == 0
    assert "film, 1 recording" in capsys.readouterr().out


def test_every_command_takes_a_film(signs, tmp_path, capsys):
    """What `fit`, `predict` and `info` do, others do with the same films."""
    one, model = str(signs / "milk" / "ann" / "1.mp4"), str(tmp_path / "signs.kern")
    lite = ["--pose-model", "lite"]
    (tmp_path / "cuts.csv").write_text("start,stop,label\n0,20,up\n20,38,down\n")
    for words in (
        ["fit", str(signs), "-o", model, *lite],
        ["evaluate", str(signs), *lite, "--html", str(tmp_path / "page.html")],
        ["explain", model, one],
        ["show", one, "-o", str(tmp_path / "one.gif"), *lite],
        ["convert", one, str(tmp_path / "one.npz"), *lite],
        ["cut", one, "--segments", str(tmp_path / "cuts.csv"), "-o", str(tmp_path / "cut"), *lite],
        ["pose", str(signs), *lite],
    ):
        assert main(words) == 0, words
    capsys.readouterr()
    assert main(["spot", model, one]) == 1  # it was trained on single actions
    assert "kerneton fit --spot" in capsys.readouterr().err
    (whole,) = kerneton.read(tmp_path / "one.npz")
    parts = kerneton.load_folder(tmp_path / "cut")
    assert sorted(parts.labels) == ["down", "up"]
    assert sum(part.n_frames for part in parts) == 38 <= whole.n_frames
    assert "data:image" not in (tmp_path / "page.html").read_text()  # no picture of anybody


def joined(target, *parts):
    """Films of one size one after the other, as if somebody had cut them together."""
    with av.open(str(target), "w") as out:
        stream = None
        for part in parts:
            with av.open(str(part)) as film:
                for frame in film.decode(video=0):
                    if stream is None:
                        stream = out.add_stream("mpeg4", rate=30)
                        stream.width, stream.height = frame.width, frame.height
                        stream.pix_fmt, stream.bit_rate = "yuv420p", 4_000_000
                    pixels = frame.to_ndarray(format="rgb24")
                    out.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        out.mux(stream.encode(None))
    return target


def test_a_cut_is_a_warning_with_the_remedy(tmp_path, capsys):
    left = part_of(VIDEOS / "help.mkv", tmp_path / "l.mp4", 0, 10, crop=(0, 0, 400, 480))
    right = part_of(VIDEOS / "help.mkv", tmp_path / "r.mp4", 30, 40, crop=(240, 0, 400, 480))
    film = joined(tmp_path / "cut.mp4", left, right)
    assert main(["info", str(film)]) == 0
    assert "jumps once: is it one and the same?" in capsys.readouterr().out


def test_low_rates_and_seldom_seen_people_are_warnings(tmp_path, capsys):
    film = part_of(VIDEOS / "help.mkv", tmp_path / "a.mp4", 20, 36, blank=range(9))
    assert main(["info", str(film)]) == 0
    assert "a person seen in only 44% of the pictures" in capsys.readouterr().out


def test_films_beside_their_joints_are_not_read_again(tmp_path):
    film = part_of(VIDEOS / "help.mkv", tmp_path / "wave.mp4", 20, 26)
    kerneton.write(kerneton.read(film), tmp_path / "wave.npz")
    assert [s.name for s in kerneton.load_folder(tmp_path)] == ["wave"]


def test_missing_networks_are_one_error_that_names_the_command(clip, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(models, "models_folder", lambda: tmp_path / "nothing")
    with pytest.raises(MissingDataError, match="kerneton pose --get"):
        kerneton.read(clip)
    assert main(["info", str(clip)]) == 1
    assert "kerneton pose --get" in capsys.readouterr().err


def test_a_network_of_another_version_is_refused(clip, tmp_path, monkeypatch):
    folder = tmp_path / "others"
    folder.mkdir()
    for name, path in models.found_models().items():
        (folder / f"{name}.tflite").write_bytes(path.read_bytes())
    (folder / "pose_landmark_full.tflite").write_bytes(b"other")
    monkeypatch.setattr(models, "models_folder", lambda: folder)
    with pytest.raises(DataError, match=r"damaged, or of another version .* kerneton pose --get"):
        kerneton.read(clip)


def test_networks_come_from_a_file_and_are_known_by_their_checksum(tmp_path, monkeypatch, capsys):
    original = models.found_models()["pose_landmark_full"]
    monkeypatch.setattr(models, "models_folder", lambda: tmp_path / "new")
    (tmp_path / "any-name.tflite").write_bytes(original.read_bytes())
    assert main(["pose", "--get", str(tmp_path / "any-name.tflite")]) == 0
    assert list(models.found_models()) == ["pose_landmark_full"]
    (tmp_path / "wrong.tflite").write_bytes(b"wrong")
    assert main(["pose", "--get", str(tmp_path / "wrong.tflite")]) == 1
    assert "contains no network of a known version" in capsys.readouterr().err
