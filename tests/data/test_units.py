"""Unit, vertical axis and handedness: found in bodies whose coordinates were changed on purpose."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.data.mapping import map_layout, sub_layout
from kerneton.data.sequence import Conventions, SkeletonSequence
from kerneton.data.units import (
    AXES,
    UNITS,
    find_conventions,
    settle,
    to_convention,
    turn_up,
)
from kerneton.datasets.synthetic import make_actions
from kerneton.exceptions import ParameterError
from kerneton.files.summary import describe_axes
from kerneton.recognize.model_file import recording_facts
from kerneton.recognize.sensors import differences, kept_conventions


@pytest.fixture(scope="module")
def people():
    return list(make_actions(["wave", "bow", "kick"], n_subjects=3, n_takes=1))


def changed(recordings, *, factor=1.0, up="y", flip=False):
    """The recordings as a sensor with another convention would have written them."""
    matrix = turn_up(np.eye(3)[None], up)[0]  # row i: where axis i goes
    out = []
    for r in recordings:
        joints = r.joints * ([-1, 1, 1] if flip else [1, 1, 1])
        out.append(r.replace(joints=(joints @ np.linalg.inv(matrix)) * factor))
    return out


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("up", AXES)
@pytest.mark.parametrize("unit", UNITS)
def test_every_convention_is_found_and_undone(people, unit, up, flip):
    strange = changed(people, factor=1 / UNITS[unit], up=up, flip=flip)
    found = find_conventions(strange)
    assert (found.unit, found.up, found.mirrored) == (unit, up, flip)
    back, done = to_convention(strange)
    assert (done.unit, done.up, done.flip, done.said) == (unit, up, flip, ())
    for a, b in zip(people, back, strict=True):
        assert_allclose(a.joints, b.joints, atol=1e-6)
    assert len(done.notes) == (unit != "m") + (up != "y") + flip
    assert 1.2 < done.height < 1.8


def test_what_is_said_wins(people):
    back, done = to_convention(people, unit="cm", up="z", flip=True)
    assert done.said == ("unit", "up", "flip")
    expected = turn_up(people[0].joints, "z") * [-0.01, 0.01, 0.01]
    assert_allclose(back[0].joints, expected, atol=1e-9)
    same, done = to_convention(people, flip=False)
    assert same[0] is people[0]
    assert done.notes == []


def test_one_lying_recording_does_not_turn_the_others(people):
    lying = people[0].replace(joints=turn_up(people[0].joints, "z"), name="asleep")
    back, done = to_convention([lying, *people[1:]])
    assert done.up == "y"
    assert back[0] is lying


def test_flat_unnamed_and_headless_recordings_stay(people):
    flat = [p.replace(joints=p.joints * [300, 300, 0]) for p in people]
    unnamed = [p.replace(layout=None, joints=1000 * p.joints) for p in people]
    rng = np.random.default_rng(0)
    hand = SkeletonSequence(
        80 * rng.normal(size=(9, 2, 3)), layout=Layout("hand", ["palm", "thumb"])
    )
    for recordings in (flat, unnamed, [hand]):
        back, done = to_convention(recordings)
        assert all(a is b for a, b in zip(recordings, back, strict=True))
        assert done.notes == []


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("m", 1), ("cm", 100), ("mm", 1000), ("in", 1 / 0.0254), ("ft", 1 / 0.3048)],
)
def test_upper_bodies_show_unit_and_axes(people, unit, factor):
    upper = [
        sub_layout(
            p.layout, [j for j in p.layout.joints if not j.endswith(("knee", "ankle", "foot"))]
        )
        for p in people
    ]
    some = [map_layout(p, layout) for p, layout in zip(people, upper, strict=True)]
    back, done = to_convention(changed(some, factor=factor, up="z"))
    assert (done.unit, done.up, done.flip, done.height) == (unit, "z", False, None)
    for person, same in zip(some, back, strict=True):
        assert_allclose(same.joints, person.joints, atol=1e-6)


def test_drawings_with_y_down_are_turned_upright(people):
    pixels = [p.replace(joints=p.joints * [-300, -300, 0] + [960, 540, 0]) for p in people]
    back, done = to_convention(pixels)
    assert (done.unit, done.up, done.flip) == (None, "-y", False)
    assert done.notes == ["-y was up and became y (detected from the data; override with up=)"]
    for person, drawing in zip(people, back, strict=True):
        assert_allclose(drawing.joints, person.joints * [300, 300, 0] - [960, 540, 0])
    again, done = to_convention(pixels, up="y")
    assert all(a is b for a, b in zip(pixels, again, strict=True))
    assert done.notes == []


@pytest.mark.parametrize("plane", [[300, -300, 0], [0, 100, 100], [0, 0, 100]])
def test_poses_in_one_plane_stay_wherever_it_lies(people, plane):
    drawn = [p.replace(joints=p.joints * plane + 5) for p in people]
    back, done = to_convention(drawn)
    assert all(a is b for a, b in zip(drawn, back, strict=True))
    assert (done.unit, done.up, done.flip) == (None, None, False)


def test_a_model_keeps_axes_and_the_unit_that_data_do_not_show(people):
    facts = {
        "conversion": to_convention(changed(people, factor=1000, up="z", flip=True))[1].to_dict()
    }
    kept = kept_conventions(facts)
    lying = people[0].replace(
        joints=turn_up(people[0].joints, "z")
    )  # alone it looks upright in another convention
    (strange,) = changed([lying], factor=1000, up="z", flip=True)
    (back,), done = to_convention([strange], kept=kept)
    assert_allclose(back.joints, lying.joints, atol=1e-6)
    assert (done.kept, done.said) == (("up", "flip"), ())
    assert "z was up and became y (as in training; override with up=)" in done.notes
    (hint,) = differences(recording_facts(people), [back], done)
    assert "where z is up: if so, give up='y'" in hint
    assert not hint.endswith("flip")
    (upright,), done = to_convention(changed(people[:1], factor=1000), kept=kept)
    (hint,) = differences(recording_facts(people), [upright], done)
    assert hint.endswith("if so, give up='y' flip=False")
    assert to_convention(changed(people[:1], factor=1000), kept=kept, up="y", flip=False)[
        1
    ].notes == [
        "coordinates were millimetres and became metres (detected from the data; override with unit=)"
    ]
    told = differences(recording_facts(people), [back])
    assert told == ["bodies are aligned with -z, but with y in training: is the axis right (up=)?"]
    unnamed = strange.replace(layout=None)
    assert to_convention([unnamed], kept=kept)[1].unit == "mm"
    assert to_convention([strange], kept=kept, up="y", flip=False)[1].kept == ()
    mirrored = differences(recording_facts(people), changed(people[:3], flip=True))
    assert mirrored == [
        "left and right seem exchanged, but not in training: are the axes left-handed (flip=True)?"
    ]


def test_axes_are_compared_with_those_of_training_for_each_kind_of_recordings(people):
    facts = recording_facts(people)
    kept = Conventions("cm", "z", True)
    usual = changed(people[:2], factor=100, up="z", flip=True)
    down = changed(people[2:4], up="-y")
    same_unit = changed(people[2:4], factor=100, up="-y")
    for others, n in (
        (down, "in 4 recordings "),
        (same_unit, ""),
    ):  # of one unit, they are one kind
        back, done = settle([("csv_table", None, s) for s in [*usual, *others]], kept=kept)
        (hint,) = differences(facts, back, done)
        assert hint.startswith(
            "2 of 4 recordings: bodies lie, or have other axes than the training recordings"
        )
        assert hint.endswith("if so, give up='-y' flip=False to a command with only these")
        notes = [note for note in done.notes if "z was up" in note]
        assert notes == [f"{n}z was up and became y (as in training; override with up=)"]
    one_lies = [people[0].replace(joints=turn_up(people[0].joints, "z")), *people[1:4]]
    back, done = settle(
        [("csv_table", None, s) for s in one_lies], kept=Conventions("m", "y", False)
    )
    assert differences(facts, back, done) == []


def test_exchanged_sides_are_told_also_where_training_bodies_do_not_show_theirs(people):
    without_toes = [map_layout(p, LAYOUTS["openni15"]) for p in people]
    facts = recording_facts(without_toes)
    assert facts["mirrored"] is None
    odd = [("csv_table", None, s) for s in changed(people[:2], flip=True)]
    for flip, end in (
        (False, "right-handed, give flip=True"),
        (True, "left-handed, give flip=False"),
    ):
        found = [("csv_table", None, s) for s in people[:2]] if flip else odd
        back, done = settle(found, kept=Conventions("m", "y", flip))
        (hint,) = differences(facts, back, done)
        assert hint.startswith("axes seem ")
        assert hint.endswith(f"do not show theirs: if those are {end}")
    back, done = settle(odd, flip=True, kept=Conventions("m", "y", False))
    assert differences(facts, back, done) == []


@pytest.mark.parametrize(
    "odd", [None, {"unit": "ell", "up": "y", "flip": False}, {"stated": True}, {"mixed": True}]
)
def test_a_model_file_that_does_not_tell_its_axes(odd):
    assert kept_conventions({"conversion": odd}) is None


def test_single_precision_stays(people):
    single = [
        p.replace(joints=p.joints.astype(np.float32)) for p in changed(people, factor=1000, up="z")
    ]
    back, _ = to_convention(single)
    assert back[0].joints.dtype == np.float32


def test_slanted_bodies_have_no_axis(people):
    turn = np.array([[1, 0, 0], [0, 1, 1], [0, -1, 1]]) / np.sqrt([[1], [2], [2]])
    slanted = [p.replace(joints=p.joints @ turn) for p in people]
    assert find_conventions(slanted).up is None


def test_unknown_words_are_refused(people):
    with pytest.raises(
        ParameterError,
        match="unit must be one of m, cm, mm, in, ft, or a word such as feet, got 'ell'",
    ):
        to_convention(people, unit="ell")
    with pytest.raises(ParameterError, match="the axis that points up must be one of"):
        to_convention(people, up="w")


@pytest.mark.parametrize("name", ["florence3d", "utkinect", "msr_action3d", "utd_mhad"])
def test_published_recordings_are_what_they_say(data_home, name):
    """y up, metres, and nobody with left and right exchanged; Florence3D has no feet that could
    tell.
    """
    from kerneton.datasets import load_dataset

    found = find_conventions(load_dataset(name, data_home))
    assert (found.unit, found.up) == ("m", "y")
    assert found.mirrored is (None if name == "florence3d" else False)


def test_recordings_that_differ_from_training_are_told(people):
    facts = recording_facts(people)
    assert facts["fps"] == 30
    assert differences(facts, people) == []
    odd = [p.replace(fps=None) for p in people[:2]] + [people[2].replace(fps=120)]
    told = differences(facts, [*odd, *people[3:]])
    assert told[0].startswith(
        f"2 of {len(people)} recordings have no frame rate, the training recordings have 30"
    )
    assert told[1].startswith(
        f"1 of {len(people)} recordings differ by more than a factor of two in frame rate"
    )
    (size,) = differences(facts, changed(people[:1], factor=1000))
    assert "is the unit right (unit=)?" in size
    assert differences({}, odd) == []


@pytest.mark.parametrize(
    ("word", "unit"),
    [("feet", "ft"), ("Inches", "in"), ("meters", "m"), ("millimetre", "mm"), ("CM", "cm")],
)
def test_units_may_be_words(people, word, unit):
    assert to_convention(people, unit=word)[1].unit == unit


def test_a_small_child_in_centimetres_is_no_adult_in_inches(people):
    child = [p.replace(joints=p.joints * 60) for p in people]  # 0.89 m from the feet to the head
    assert find_conventions(child).unit == "cm"
    assert find_conventions([p.replace(joints=p.joints / 0.0254) for p in people]).unit == "in"


@pytest.mark.parametrize(("scale", "words"), [(0.3, "fractions of the picture"), (300, "pixels")])
@pytest.mark.parametrize("depth", [0, 1])
def test_coordinates_of_pictures_are_no_metres(people, scale, words, depth):
    """y down from the corner, x to the right; with depth in metres, as SBU has it, or without."""
    drawn = [
        p.replace(joints=p.joints * [-scale, -scale, depth] + [1.5 * scale, 2 * scale, 0])
        for p in people
    ]
    back, done = to_convention(drawn)
    assert (done.unit, done.up, done.height) == (None, None if scale > 1 and depth else "-y", None)
    for recordings in (drawn, back):  # the same before and after they are turned
        assert find_conventions(recordings).picture == words
        assert describe_axes(recordings).endswith(f"{words}, not metres")
    assert to_convention(drawn, kept=Conventions("mm", "-y", False))[1].unit is None
    assert find_conventions(people).picture == ""


def test_a_mirror_is_not_seen_in_bodies_that_lie(people):
    """The user says that z is up although the bodies lie along y: left and right cannot be told
    from that.
    """
    _, done = to_convention(people, up="z")
    assert (done.up, done.flip) == ("z", False)
    facts = {"conversion": to_convention(changed(people, up="z", flip=True))[1].to_dict()}
    upright, done = to_convention(people[:2], up="y", kept=kept_conventions(facts))
    assert (done.up, done.flip) == (
        "y",
        False,
    )  # other axes than in training are not mirrored as those were
    assert upright[0] is people[0]


def test_the_height_is_that_of_the_head(people):
    """Shoulders and neck, which help to find the unit, are not part of it."""
    standing = np.zeros((5, 5, 3))
    standing[:, :, 1] = [1.6, 1.4, 1.3, 1.3, 0.1]
    standing[:3, 2:4, 0] = standing[3:, 2:4, 2] = [0.2, -0.2]  # the body turns
    joints = ["head", "neck", "left_shoulder", "right_shoulder", "left_ankle"]
    whole = SkeletonSequence(standing, layout=Layout("own", joints))
    assert find_conventions([whole]).height == pytest.approx(1.5, abs=1e-4)
    assert (
        describe_axes([whole])
        == "y up, left and right not checked; 1.5 m from the feet to the head"
    )
    without = SkeletonSequence(standing[:, 1:], layout=Layout("own", joints[1:]))
    assert describe_axes([without]).endswith("1.23 m from the feet to about the neck")
    assert differences({"height": 1.35}, [whole]) == []  # as models of older versions have it
