"""Tables of two bodies: any two words before or after the same joints, or a column that says whose
row it is.
"""

from __future__ import annotations

import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import motion

from kerneton.data.layouts import LAYOUTS
from kerneton.exceptions import FormatError
from kerneton.files import readers
from kerneton.files.readers._people import body_columns, say
from kerneton.report.scene import Scene

OPENNI = LAYOUTS["openni15"].joints
ANN, BOB = motion(6, 15, seed=1), motion(6, 15, seed=2)


def table(tmp_path, header, rows):
    path = tmp_path / "push.csv"
    path.write_text("\n".join([",".join(header), *(",".join(map(str, row)) for row in rows)]))
    return path


@pytest.fixture
def told(caplog):
    say.cache_clear()
    caplog.set_level(logging.WARNING, logger="kerneton")
    return caplog


@pytest.mark.parametrize(
    "name",
    [
        *("{joint}{n}", "{n}_{joint}", "p{n}_{joint}", "skeleton{n}_{joint}", "skeleton_{n}_{joint}", "person{n}.{joint}", "x{n}_{joint}"),
        *("{joint}_{n}", "{joint}_p{n}", "{joint} ({who})", "{letter}_{joint}", "{who}_{joint}", "{who}: {joint}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mixed", [False, True])
def test_two_words_around_the_same_joints_are_two_bodies(tmp_path, told, name, mixed):
    people = ((0, "a", "anna"), (1, "b", "bert"))
    columns = [(joint, *who) for who in people for joint in OPENNI]
    values = np.concatenate([ANN, BOB], axis=1)
    if mixed:
        order = np.arange(30).reshape(2, 15).T.ravel()
        columns, values = [columns[i] for i in order], values[:, order]
    names = [
        name.format(joint=joint, n=n, letter=letter, who=who) for joint, n, letter, who in columns
    ]
    header = [f"{joint}_{axis}" for joint in names for axis in "xyz"]
    (both,) = readers.read(table(tmp_path, header, values.reshape(6, -1)))
    assert both.layout.name == "openni15+openni15"
    assert_allclose(both.joints, np.concatenate([ANN, BOB], axis=1))
    assert len(told.messages) == 1
    assert "read as two bodies of 15 joints each" in told.messages[0]
    readers.read(tmp_path / "push.csv")
    assert len(told.messages) == 1


@pytest.mark.parametrize(
    "names",
    [
        ["left_hand_wrist", "left_hand_tip", "right_hand_wrist", "right_hand_tip"],
        ["l_wrist", "l_hand", "r_wrist", "r_hand"],
        ["LHand_wrist", "LHand_tip", "RHand_wrist", "RHand_tip"],
        ["x_head", "x_neck", "y_head", "y_neck"],
        [
            "head_front",
            "left_hip_front",
            "right_hip_front",
            "head_back",
            "left_hip_back",
            "right_hip_back",
        ],
        [
            "world_head",
            "world_left_hip",
            "world_right_hip",
            "image_head",
            "image_left_hip",
            "image_right_hip",
        ],
        [
            "cam1_head",
            "cam1_left_hip",
            "cam1_right_hip",
            "cam2_head",
            "cam2_left_hip",
            "cam2_right_hip",
        ],
        ["spine_1", "spine_2", "neck_1", "neck_2"],
        ["p1_head", "p1_left_hand", "p1_right_hand", "p2_head", "p2_left_hand", "p2_right_foot"],
        ["a_head", "b_head"],
        ["head", "neck", "left_hand", "right_hand"],
    ],
)
def test_other_words_are_no_persons(names):
    assert body_columns(names) is None


def test_two_hands_of_two_people_are_two_bodies():
    hand = LAYOUTS["hand21"].joints
    assert body_columns([f"{who}_{joint}" for who in ("anna", "bert") for joint in hand]).tags == [
        "anna",
        "bert",
    ]


OWN = ("Kopf", "Hals", "Rumpf", "LHand", "RHand", "LFuss", "RFuss")


def own_names(tmp_path, values, *tags, joints=OWN):
    header = [f"{tag}_{joint}_{axis}" for tag in tags for joint in joints for axis in "xyz"]
    (recording,) = readers.read(table(tmp_path, header, values.reshape(len(values), -1)))
    return recording


def test_two_bodies_whose_joints_have_own_names(tmp_path, told):
    values = np.concatenate([ANN[:, :7], BOB[:, :7] + 1], axis=1)
    both = own_names(tmp_path, values, "a", "b")
    assert [len(body) for body in both.layout.bodies] == [7, 7]
    assert both.layout.joints[7] == "kopf_2"
    assert told.messages == [
        "joints of 'a' and joints of 'b' were read as two bodies of 7 joints each"
    ]
    drawn = Scene.of(both).sequence.layout.bones
    assert len(drawn) == 12
    assert all((a < 7) == (b < 7) for a, b in drawn)
    file = tmp_path / "again.csv"
    readers.write([both], file)
    assert readers.read(file)[0].layout.bodies == both.layout.bodies


@pytest.mark.parametrize(
    "tags",
    [
        ("left", "right"),
        ("front", "back"),
        ("upper", "lower"),
        ("thigh", "shank"),
        ("thumb", "index"),
    ],
)
def test_other_words_before_own_names_are_no_persons(tmp_path, tags):
    values = np.concatenate([ANN[:, :7], BOB[:, :7] + 1], axis=1)
    assert len(own_names(tmp_path, values, *tags).layout.bodies) == 1


def test_joints_that_are_fixed_to_each_other_are_one_body(tmp_path):
    values = np.concatenate([ANN[:, :7], ANN[:, :7] + 0.01], axis=1)
    assert len(own_names(tmp_path, values, "a", "b").layout.bodies) == 1


def long_rows(people, joints=OPENNI):
    for values, who, frames in people:
        for t, frame in enumerate(frames):
            for joint, place in zip(joints, values[t], strict=True):
                yield [frame, frame / 10, who, joint, *place]


@pytest.mark.parametrize("column", ["person", "body", "Skeleton", "track_id"])
@pytest.mark.parametrize("by_frame", [False, True])
def test_long_tables_with_a_column_of_persons(tmp_path, told, column, by_frame):
    rows = list(long_rows([(ANN, "ann", range(6)), (BOB, "bob", range(6))]))
    if by_frame:
        rows.sort(key=lambda row: row[0])
    (both,) = readers.read(table(tmp_path, ["frame", "time", column, "joint", "x", "y", "z"], rows))
    assert both.layout.name == "openni15+openni15"
    assert_allclose(both.joints, np.concatenate([ANN, BOB], axis=1))
    assert (both.fps, both.confidence) == (10, None)
    assert both.subject == ("ann+bob" if column == "person" else None)
    assert both.name == "push"
    assert told.messages == [
        f"two values of {column!r} in the same frames were read as two bodies of one recording"
    ]


@pytest.mark.parametrize("column", ["person", "body_id"])
def test_wide_tables_with_a_column_of_persons(tmp_path, told, column):
    rows = [[t, who, *body[t].ravel()] for t in range(6) for who, body in ((7, ANN), (9, BOB))]
    header = ["frame", column, *(f"{joint}_{axis}" for joint in OPENNI for axis in "xyz")]
    (both,) = readers.read(table(tmp_path, header, rows))
    assert_allclose(both.joints, np.concatenate([ANN, BOB], axis=1))


def test_a_body_that_comes_later_is_missing_before(tmp_path, told):
    people = [(ANN, 1, range(6)), (BOB[2:], 2, range(2, 6)), (BOB[:1], 3, range(1))]
    rows = long_rows(people)
    (both,) = readers.read(
        table(tmp_path, ["frame", "time", "track_id", "joint", "x", "y", "z"], rows)
    )
    assert np.isnan(both.joints[:2, 15:]).all()
    assert_allclose(both.joints[2:, 15:], BOB[2:])
    assert_array_equal(both.confidence[:2, 15:], 0)
    assert_array_equal(both.confidence[:, :15], 1)
    assert told.messages[0].endswith("; 1 more were left out")


@pytest.mark.parametrize("header", [["time", "person"], ["frame", "time", "person"]])
def test_a_body_that_is_away_for_some_time_is_missing_meanwhile(tmp_path, told, header):
    ann, bob = motion(30, 15, seed=1), motion(30, 15, seed=2)
    there = [
        (t, who, body)
        for t in range(30)
        for who, body in (("ann", ann), ("bob", bob))
        if who == "ann" or not 10 <= t < 20
    ]
    rows = [[t, t / 20, who, *body[t].ravel()][-len(header) - 45 :] for t, who, body in there]
    header = [*header, *(f"{joint}_{axis}" for joint in OPENNI for axis in "xyz")]
    (both,) = readers.read(table(tmp_path, header, rows))
    assert (both.n_frames, both.fps) == (30, 20)
    assert_allclose(both.joints[:, :15], ann)
    assert np.isnan(both.joints[10:20, 15:]).all()
    assert_allclose(both.joints[20:, 15:], bob[20:])


def test_people_one_after_the_other_are_recordings_of_their_own(tmp_path):
    rows = list(long_rows([(ANN, "ann", range(6)), (BOB, "bob", range(6, 12))]))
    ann, bob = readers.read(
        table(tmp_path, ["frame", "time", "person", "joint", "x", "y", "z"], rows)
    )
    assert [(s.name, s.subject, len(s.layout.bodies)) for s in (ann, bob)] == [
        ("push_ann", "ann", 1),
        ("push_bob", "bob", 1),
    ]
    assert_allclose(bob.joints, BOB)


def test_one_person_is_the_subject(tmp_path):
    (ann,) = readers.read(
        table(tmp_path, ["person", "head_x", "head_y"], [["ann", 1, 2], ["ann", 1, 3]])
    )
    assert (ann.subject, ann.name, ann.n_frames) == ("ann", "push", 2)


def test_rows_of_two_people_without_frames_are_refused(tmp_path):
    path = table(tmp_path, ["person", "head_x", "head_y"], [["ann", 1, 2], ["bob", 1, 3]])
    with pytest.raises(
        FormatError, match=r"push.csv: rows of several values of 'person', but no column 'frame' or"
    ):
        readers.read(path)


def test_a_person_has_one_row_in_a_frame(tmp_path):
    rows = [[0, "ann", 1, 2], [0, "bob", 1, 2], [0, "ann", 1, 3]]
    with pytest.raises(FormatError, match="person 'ann' has several rows in one frame"):
        readers.read(table(tmp_path, ["frame", "person", "head_x", "head_y"], rows))


def test_two_subjects_say_what_the_column_would_have_to_be_called(tmp_path):
    rows = long_rows([(ANN, "ann", range(6)), (BOB, "bob", range(6))])
    path = table(tmp_path, ["frame", "time", "subject", "joint", "x", "y", "z"], rows)
    with pytest.raises(
        FormatError,
        match=r"subject changes from 'ann' to 'bob'; use .* 'person' for two in the same",
    ):
        readers.read(path)
    (both,) = readers.read(path, columns={"subject": "person"})
    assert len(both.layout.bodies) == 2


@pytest.mark.parametrize("name", ["p{n}_{joint}", "{joint}_{n}", "{who}_{joint}"])
def test_more_than_two_bodies_are_refused(tmp_path, name):
    people = enumerate(("anna", "bert", "carl", "dora"))
    names = [name.format(n=n, who=who, joint=joint) for n, who in people for joint in OPENNI]
    header = [f"{joint}_{axis}" for joint in names for axis in "xyz"]
    path = table(tmp_path, header, np.tile(ANN.reshape(6, -1), 4))
    with pytest.raises(
        FormatError, match=r"push.csv: joints of 4 bodies \(.*\): a recording holds one body or two"
    ):
        readers.read(path)
    assert body_columns(names) is None


def test_clusters_of_markers_are_one_body(tmp_path):
    names = [f"{joint}_{n}" for joint in OPENNI for n in (1, 2, 3)]
    header = [f"{joint}_{axis}" for joint in names for axis in "xyz"]
    (one,) = readers.read(table(tmp_path, header, np.repeat(ANN, 3, axis=1).reshape(6, -1)))
    assert (one.n_joints, len(one.layout.bodies)) == (45, 1)
