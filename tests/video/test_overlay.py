"""Films with skeletons: the film stays, the skeleton is where the person is."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest
from films_made import VIDEOS

import kerneton
from kerneton.cli import main
from kerneton.exceptions import ParameterError
from kerneton.report.overlay import Caption, write_overlay
from kerneton.video import models
from kerneton.video.estimator import PoseOptions
from kerneton.video.films import Film, decoded_picture
from kerneton.video.poses import film_poses

pytest.importorskip("av", reason="PyAV is not installed: pip install 'kerneton[video]'")
pytest.importorskip("PIL", reason="Pillow is not installed")
if set(PoseOptions().models) - set(models.found_models()):
    pytest.skip("the networks were not fetched: kerneton pose --get", allow_module_level=True)
if not (VIDEOS / "help.mkv").exists():
    pytest.skip("KERNETON_DATA has no videos/help.mkv", allow_module_level=True)


def drawn_where(before, after):
    """Which pixels changed by more than the encoder changes them."""
    return np.abs(before[..., :3].astype(int) - after[..., :3]).max(axis=2) > 60


def pictures(path):
    with Film(path) as film:
        return list(film.pictures())


def test_the_skeleton_is_on_the_person(clip, tmp_path):
    path = write_overlay(
        clip, tmp_path / "drawn.mp4", captions={0: Caption("help 97 %", {"left_wrist": 1.0})}
    )
    before, after = pictures(clip), pictures(path)
    assert len(before) == len(after)
    assert np.allclose([p.time for p in before], [p.time for p in after], atol=2e-3)
    poses = film_poses(clip, PoseOptions())
    changed = drawn_where(before[7].pixels, after[7].pixels)
    places = poses.places[0, 7]
    rows, columns = np.nonzero(changed)
    low, high = np.nanmin(places, axis=0), np.nanmax(places, axis=0)
    inside = (columns > low[0] - 40) & (columns < high[0] + 40) & (rows > low[1] - 80)
    assert changed.sum() > 500
    assert inside.mean() > 0.95
    x, y = places[15].round().astype(int)
    red, green, blue = after[7].pixels[y - 3 : y + 4, x - 3 : x + 4, :3].mean(axis=(0, 1))
    assert green > max(red, blue)  # the wrist speaks for the label


def test_the_command_writes_it_or_says_why_not(clip, tmp_path, capsys):
    target = tmp_path / "overlay.mp4"
    assert main(["show", str(clip), "-o", str(target), "--title", "help"]) == 0
    assert len(pictures(target)) == 15
    assert "15 frames of help.mp4" in capsys.readouterr().out
    assert main(["show", str(clip), "-o", str(tmp_path / "a.gif"), "--model", str(clip)]) == 1
    assert "--model needs a film" in capsys.readouterr().err
    with pytest.raises(ParameterError, match=r"written as \.mp4"):
        write_overlay(clip, tmp_path / "a.avi")
    assert not list(tmp_path.glob("*.avi"))


def test_pages_show_films_only_if_asked(clip, tmp_path, toy_model):
    """Labels that nothing in the data explains, so that there are mistakes to play."""
    (recording,) = kerneton.read(clip)
    seen = recording.joints[:, :23]
    layout = kerneton.Layout("upper", recording.layout.joints[:23])
    data = kerneton.SkeletonDataset(
        [
            kerneton.SkeletonSequence(
                seen + 0.01 * k,
                layout=layout,
                label="ab"[(i + s) % 2],
                subject=f"s{s}",
                name=f"{i}-{s}",
                fps=30,
            )
            for k, (i, s) in enumerate((i, s) for i in range(3) for s in range(3))
        ]
    )
    report = kerneton.evaluate(toy_model, data, "leave-one-subject-out")
    assert report.accuracy < 1
    report.to_html(tmp_path / "plain.html", data)
    plain = (tmp_path / "plain.html").read_text()
    assert "data:image" not in plain
    assert "img-src" not in plain
    report.to_html(tmp_path / "films.html", data, films={s.name: clip for s in data})
    page = (tmp_path / "films.html").read_text()
    assert "img-src data:" in page
    pictures = re.findall(r"data:image/jpeg;base64,([A-Za-z0-9+/=]+)", page)
    assert len(pictures) >= 15
    first = decoded_picture(base64.b64decode(pictures[0]))
    assert first.shape[:2] == (180, 240)
