from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from conftest import toy_sequence
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from kerneton import make_actions
from kerneton.data.bodies import pair
from kerneton.data.layouts import FLORENCE_15, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, MissingExtraError, ParameterError
from kerneton.prepare.poses import turn
from kerneton.report.animation import Canvas
from kerneton.report.body import COLOURS
from kerneton.report.explanation import Explanation, Part
from kerneton.report.page._motion import Motion
from kerneton.report.pictures import (
    _arrange,
    on_the_spot,
    plot_confusion,
    plot_skeleton,
    plot_sweep,
)
from kerneton.report.scene import Scene, camera, ground, with_bones


def drawn(figure):
    """Fails on any warning of matplotlib's, such as a layout that does not fit."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getbuffer().nbytes


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_confusion_numbers():
    counts = [[9, 1, 0], [3, 6, 1], [0, 0, 0]]
    labels = ["drink", "phone", "never"]
    assert words(plot_confusion(counts, labels)) == ["90", "10", "30", "60", "10"]
    assert words(plot_confusion(counts, labels, normalize=False)) == ["9", "1", "3", "6", "1"]


def test_confusion_titles_and_axes():
    figure = plot_confusion([[1, 0], [0, 1]], ["a", "b"], title="perfect")
    ax = figure.axes[0]
    assert ax.get_title(loc="left") == "perfect"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["a", "b"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted (% of the row)", "true")
    assert drawn(figure) > 1000


@pytest.mark.parametrize(("n", "bars"), [(30, 1), (31, 2)])
def test_large_confusion_has_a_colour_bar_for_numbers(n, bars):
    figure = plot_confusion(np.eye(n, dtype=int), [f"a{i}" for i in range(n)])
    assert len(figure.axes) == bars
    assert bool(words(figure)) == (bars == 1)
    assert drawn(figure) > 1000


def test_confusion_of_the_wrong_shape():
    with pytest.raises(
        ParameterError, match=r"2 labels need a confusion matrix of shape \(2, 2\), got \(2, 3\)"
    ):
        plot_confusion(np.zeros((2, 3)), ["a", "b"])


def test_given_axis_is_used():
    ax = Figure().subplots()
    assert plot_confusion([[1]], ["a"], ax=ax) is ax.figure
    assert plot_sweep([1, 2], {"SCK": [3, 4]}, ax=ax) is ax.figure


@pytest.mark.parametrize("n_poses", [1, 3, 8])
def test_skeleton_poses(n_poses):
    sequence = toy_sequence("wave", 1, 0)
    figure = plot_skeleton(sequence, n_poses=n_poses, title="a title")
    assert len(words(figure)) == n_poses
    assert words(figure)[0] == "0.0 s"
    assert figure.axes[0].get_title(loc="left") == "wave, subject s1"
    assert drawn(figure) > 1000


def test_skeleton_of_fewer_frames_than_poses():
    sequence = toy_sequence("wave", 1, 0)
    short = sequence.replace(joints=sequence.joints[:2], fps=None)
    assert words(plot_skeleton(short)) == ["frame 0", "frame 1"]


def test_skeletons_below_each_other():
    figure = plot_skeleton([toy_sequence(k, 1, 0) for k in ("bow", "clap")])
    assert [ax.get_title(loc="left") for ax in figure.axes] == [
        "bow, subject s1",
        "clap, subject s1",
    ]
    assert drawn(figure) > 1000


def test_missing_frames_and_joints_are_not_drawn():
    sequence = toy_sequence("wave", 1, 0)
    joints = sequence.joints.copy()
    confidence = np.ones(joints.shape[:2])
    joints[0] = 0  # a missing frame
    joints[1] = np.nan  # another
    joints[2, 3] = np.nan
    confidence[3, 4] = 0
    figure = plot_skeleton(
        sequence.replace(joints=joints, confidence=confidence, fps=None), n_poses=3
    )
    assert words(figure) == ["frame 2", "frame 5", "frame 8"]
    assert drawn(figure) > 1000
    with pytest.raises(DataError, match="'wave-1-0' has no measured joint"):
        plot_skeleton(sequence.replace(joints=np.zeros_like(joints)))


def test_skeleton_without_layout_or_bones():
    points = np.random.default_rng(0).normal(size=(5, 4, 3))
    bare = Layout("bare", ["left_hand", "right_hand", "head", "nose"])
    one_bone = Layout("one", ["left_hand", "right_hand", "head", "nose"], bones=[("head", "nose")])
    for layout in (None, bare, one_bone):
        assert drawn(plot_skeleton(SkeletonSequence(points, layout=layout))) > 1000


def test_single_point_can_be_drawn():
    assert drawn(plot_skeleton(SkeletonSequence(np.ones((1, 1, 3))))) > 1000


def test_sides_have_their_colours():
    pose = np.random.default_rng(0).normal(size=(1, 15, 3))
    lines = plot_skeleton(SkeletonSequence(pose, layout=FLORENCE_15), n_poses=1).axes[0].lines
    solid = [line for line in lines if line.get_linewidth() == 2 and line.get_linestyle() == "-"]
    assert len(solid) == len(FLORENCE_15.bones)
    assert len({line.get_color() for line in solid}) == 3


@pytest.mark.parametrize("kind", ["deep", "turned", "flat"])
def test_all_pictures_have_one_camera(kind):
    """Rows of poses, sheets and films, and the page's players show the same body from the same
    side.
    """
    (body,) = make_actions(["wave"], n_subjects=1, n_takes=1, dropout=0)
    if kind == "turned":
        body = body.replace(joints=turn(body.joints, 2.0))
    if kind == "flat":
        body = body.replace(joints=body.joints * [1, 1, 0])
    axes = camera(body)
    assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) > 0  # nothing is mirrored
    sheet = Scene.of(body).plane[..., :2]
    _, row = on_the_spot(body)
    motion = Motion.of(body)
    player = motion.view(0) * [1, -1]
    for t, other in ((0, player), (0, row[0]), (-1, row[-1])):
        shape, same = (x - x.mean(axis=0) for x in (sheet[t], other))
        size = np.linalg.norm(same) / np.linalg.norm(shape)
        assert_allclose(same, size * shape, atol=2 * size * 0.01)  # players have whole numbers
    names = body.layout.joints
    left, right = names.index("left_shoulder"), names.index("right_shoulder")
    assert sheet[:, left, 0].mean() > sheet[:, right, 0].mean()  # seen from the front


@pytest.mark.parametrize("angle", [0.0, 0.8, 1.6, 2.4])
def test_two_bodies_stand_side_by_side(angle):
    """However the line between them runs, neither hides the other, and nobody changes places with a
    turn of the camera.
    """
    (ann,) = make_actions(["wave"], n_subjects=1, n_takes=1, dropout=0)
    both = pair(
        ann,
        ann.replace(
            joints=turn(ann.joints - ann.joints.mean((0, 1)), np.pi)
            + ann.joints.mean((0, 1))
            + [1.5, 0, 0]
        ),
    )
    both = both.replace(joints=turn(both.joints, angle))
    plane = Scene.of(both).plane
    centres = [np.nanmean(plane[:, list(body), 0]) for body in both.layout.bodies]
    assert abs(centres[1] - centres[0]) > 1.2
    figure = plot_skeleton(both, n_poses=2)
    assert {text.get_text() for text in figure.texts} == {"left", "right"}
    assert Motion.of(both).body.heads == [both.layout.index("head_1"), both.layout.index("head_2")]
    assert drawn(figure) > 1000


def two_people(apart=1.0):
    """Two people side by side, the second of whom is missing in the first half."""
    (ann,) = make_actions(["wave"], n_subjects=1, n_takes=1, dropout=0)
    bob = np.array(ann.joints + [apart, 0, 0])
    bob[: len(bob) // 2] = np.nan
    return pair(ann.replace(confidence=None), ann.replace(joints=bob, confidence=None))


def test_two_bodies_carry_their_numbers_in_every_picture(tmp_path):
    both = two_people()
    (row,) = plot_skeleton(both, n_poses=4).axes
    assert [t.get_text() for t in row.texts if t.get_text() in "12"] == list("111212")[: 2 + 4]
    figure = Figure()
    canvas = Canvas(figure.add_subplot(), Scene.of(both), letters=9)
    for t, shown in ((0, [True, False]), (-1, [True, True])):
        canvas.show(t)
        assert [text.get_visible() for text, _ in canvas.numbers] == shown
        heights = [
            np.nanmax(canvas.scene.plane[t, joints, 1])
            for _, joints in canvas.numbers[: sum(shown)]
        ]
        assert all(
            h < text.get_position()[1]
            for h, (text, _) in zip(heights, canvas.numbers, strict=False)
        )
    stage = Motion.of(both).stage()
    assert [number for number, _ in stage["numbers"]] == ["1", "2"]
    trunks = [
        [both.layout.joints[j] for j in joints] for joints in Motion.of(both).to_dict()["bodies"]
    ]
    assert all({f"head_{n}", f"spine_{n}"} <= {*trunk} for n, trunk in enumerate(trunks, start=1))
    # a raised hand moves no number
    assert not any("hand" in joint for trunk in trunks for joint in trunk)
    one = make_actions(["wave"], n_subjects=1, n_takes=1)[0]
    assert Motion.of(one).stage()["numbers"] == []


def contributions(recording):
    """By frame and by joint alone: the same everywhere."""
    shape = recording.n_frames, recording.n_joints
    return np.full(shape, 0.05 / shape[0]), np.full(shape[1], 0.05)


@pytest.mark.parametrize("apart", [0.4, 1.0, 2.5])
def test_pairs_do_not_run_into_each_other(apart):
    """Each pose of a pair stands left of the next, in rows of poses and in explanations."""
    both = two_people(apart)
    row = _arrange(both, 6)
    wide = np.nanmax(row.plane[..., 0]) - np.nanmin(row.plane[..., 0])
    assert np.diff(row.places).min() > 1.05 * wide
    why = Explanation(both, "wave", None, 1.0, 0.0, (), *contributions(both))
    figure = why.plot()
    figure.canvas.draw()
    (poses,) = [ax for ax in figure.axes if sum(t.get_text() == "1" for t in ax.texts) > 1]
    first, second = ([t.xy[0] for t in poses.texts if t.get_text() == number] for number in "12")
    apart = abs(second[-1] - first[-1])  # within a pair
    assert all(step > 1.2 * apart for step in np.diff(first))


def test_words_of_an_explanation_are_not_crossed_by_its_line():
    one = toy_sequence("wave", 1, 0)
    a, b, c = one.layout.joints[:3]
    parts = (Part("cue", "pair", (a, b), 0.2), Part("cue", "pair", (b, c), -0.1))
    why = Explanation(one, "wave", None, 1.0, -0.5, parts, *contributions(one))
    figure = why.plot()
    figure.canvas.draw()
    (words,) = [
        t for ax in figure.axes for t in ax.texts if t.get_text().startswith("strongest pairs")
    ]
    line = words.axes.lines[0]
    left, right = words.get_window_extent().intervalx
    assert left < line.get_transform().transform((0, 0))[0] < right, (
        "the line must pass the words to test this"
    )
    assert words.get_zorder() > line.get_zorder()
    assert words.get_bbox_patch().get_facecolor()[:3] == (1, 1, 1)
    assert any("▲" in ax.get_title(loc="left") for ax in figure.axes)


def test_sides_are_told_in_a_legend():
    figure = plot_skeleton(toy_sequence("wave", 1, 0))
    assert {text.get_text(): text.get_color() for text in figure.texts} == {
        "left": COLOURS["left"],
        "right": COLOURS["right"],
    }
    bare = plot_skeleton(SkeletonSequence(np.random.default_rng(0).normal(size=(2, 4, 3))))
    assert bare.texts == []


def test_n_poses_must_be_positive():
    with pytest.raises(ParameterError, match="n_poses must be a positive whole number, got 0"):
        plot_skeleton(toy_sequence("wave", 1, 0), n_poses=0)


def test_sweep_of_numbers():
    figure = plot_sweep(
        [0.1, 1.0, 10.0],
        {"SCK": [80, 90, 85], "DCK": [70, 75, 80]},
        spread={"SCK": [1, 2, 3]},
        reference={"the paper": 92.98},
        xlabel="σ",
        title="sweep",
        log=True,
    )
    ax = figure.axes[0]
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["the paper", "SCK", "DCK"]
    assert_allclose(ax.containers[0].lines[0].get_ydata(), [80, 90, 85])
    assert ax.containers[0].has_yerr
    assert not ax.containers[1].has_yerr
    assert drawn(figure) > 1000


def test_sweep_of_words():
    ax = plot_sweep(["A", "B"], {"DCK": [70, 80]}).axes[0]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["A", "B"]
    assert ax.get_legend() is None
    assert ax.containers[0].lines[0].get_linestyle() == "None"


def test_sweep_of_unequal_lengths():
    with pytest.raises(ParameterError, match="curve 'SCK' has 1 points for 2 values"):
        plot_sweep([1, 2], {"SCK": [3]})


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plot_confusion([[1]], ["a"]),
        lambda: plot_skeleton(toy_sequence("wave", 1, 0)),
        lambda: plot_sweep([1], {"SCK": [2]}),
    ],
)
def test_without_matplotlib(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        MissingExtraError, match=r"Plotting needs matplotlib: pip install 'kerneton\[plot\]'"
    ):
        draw()


def test_what_has_no_feet_floats_above_the_floor_and_gets_bones():
    t = np.linspace(0, 1, 12)[:, None]
    palm = np.hstack([0 * t, t, 0 * t])
    hand = np.stack([palm, palm + [0.1, 0, 0], palm + [0.2, 0, 0.05]], axis=1)
    recording = SkeletonSequence(hand, layout=Layout("mine", ["p0", "p1", "p2"]))
    scene = Scene.of(recording)
    assert len(scene.sequence.layout.bones) == 2
    assert ground(hand, recording.layout) == 0.0
    assert ground(hand, None) == pytest.approx(0.5)
    named = recording.replace(
        layout=Layout("mine", ["head", "left_foot", "right_foot"], [(0, 1), (0, 2)])
    )
    assert ground(hand, named.layout) == pytest.approx(0.5)
    assert with_bones([named])[0] is named
