"""Folders and files in other units and axes, with joints named wrongly, in links that go round in
circles.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose
from samples import florence_text, motion, msr_text

from kerneton.data.layouts import FLORENCE_15, KARD_15, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.units import settle, to_convention, turn_up
from kerneton.datasets.synthetic import make_actions
from kerneton.exceptions import DataError, FormatError, ParameterError
from kerneton.files import readers
from kerneton.files.folder import load_folder
from kerneton.files.summary import describe_axes, summarize
from kerneton.recognize.sensors import kept_conventions


@pytest.fixture(scope="module")
def people():
    return list(make_actions(["wave", "bow"], n_subjects=2, n_takes=1))


def save(folder, recordings, *, ending="csv"):
    for r in recordings:
        place = folder / r.label / r.subject
        place.mkdir(parents=True, exist_ok=True)
        readers.write([r], place / f"take.{ending}")


def strange(recording):
    """Millimetres, z up, left-handed."""
    x, y, z = np.moveaxis(recording.joints, -1, 0)
    return recording.replace(joints=1000 * np.stack([-x, -z, y], axis=-1))


def test_a_folder_in_millimetres_z_up_left_handed(tmp_path, people):
    save(tmp_path, [strange(p) for p in people])
    data = load_folder(tmp_path)
    assert (data.conversion.unit, data.conversion.up, data.conversion.flip) == ("mm", "z", True)
    by_place = {(p.label, p.subject): p for p in people}
    for recording in data:
        assert_allclose(
            recording.joints, by_place[recording.label, recording.subject].joints, atol=1e-9
        )
    told = str(summarize(data))
    assert (
        "note      coordinates were millimetres and became metres (detected from the data" in told
    )
    assert "axes      y up, right-handed; 1.6" in told
    assert data[:1].conversion is data.select([0]).conversion is data.conversion


def test_what_is_said_is_done(tmp_path, people):
    save(tmp_path, people)
    data = load_folder(tmp_path, unit="cm", up="z", flip=True)
    expected = {p.label + p.subject: turn_up(p.joints, "z") * [-0.01, 0.01, 0.01] for p in people}
    for recording in data:
        assert_allclose(recording.joints, expected[recording.label + recording.subject], atol=1e-9)


def test_what_a_format_states_holds_unless_the_user_says_otherwise(tmp_path):
    path = tmp_path / "florence.txt"
    path.write_bytes(florence_text())
    plain = readers.read(path)
    data = load_folder(path)
    assert_allclose(data[0].joints, plain[0].joints)
    assert data.conversion.notes == []
    assert data.conversion.statements == [
        "stated by the files: millimetres and y up (override with unit=, up=)"
    ]
    for other in (readers.read(path, unit="cm", up="z"), load_folder(path, unit="cm", up="z")):
        assert_allclose(other[0].joints, 10 * turn_up(plain[0].joints, "z"))


@pytest.mark.parametrize("ending", ["trc", "bvh"])
def test_axes_and_units_of_trc_and_bvh(tmp_path, people, ending):
    """Neither format says which axis is up, and BVH no unit: bodies show it, and what the user
    states wins.
    """
    path = tmp_path / f"a.{ending}"
    centimetres = people[0].replace(joints=100 * turn_up(people[0].joints, "-z"))  # z is up
    readers.write([centimetres], path)
    if ending == "trc":
        lines = (
            path.read_text()
            .replace("\tUpAxis", "")
            .replace("\tY\n", "\n")
            .replace("\tm\t", "\tcm\t")
        )
        path.write_text(lines)
    data = load_folder(path)
    order = [data.layout.index(joint) for joint in people[0].layout.joints]
    known = np.isfinite(data[0].joints[:, order])  # a bone of a BVH file hangs on those above it
    assert_allclose(data[0].joints[:, order][known], people[0].joints[known], atol=1e-5)
    assert (
        "z was up and became y (detected from the data; override with up=)" in data.conversion.notes
    )
    assert data.conversion.statements == (
        [] if ending == "bvh" else ["stated by the files: centimetres (override with unit=, up=)"]
    )
    for other in (load_folder(path, unit="mm", up="y"), readers.read(path, unit="mm", up="y")):
        assert_allclose(
            other[0].joints[:, order][known], 0.001 * centimetres.joints[known], atol=1e-6
        )


@pytest.mark.parametrize("ending", ["trc", "bvh"])
def test_one_who_lies_is_judged_with_the_others(tmp_path, people, ending):
    """z up, which the files do not state; one of four lies along y. The model keeps the axis that
    the others showed.
    """
    lying = people[0].replace(joints=turn_up(people[0].joints, "-z"))  # along z once y is up
    save(
        tmp_path,
        [p.replace(joints=turn_up(p.joints, "-z")) for p in (lying, *people[1:])],
        ending=ending,
    )
    for path in tmp_path.rglob("*.trc"):
        path.write_text(path.read_text().replace("\tUpAxis", "").replace("\tY\n", "\n"))
    data = load_folder(tmp_path)
    assert data.conversion.notes == [
        "z was up and became y (detected from the data; override with up=)"
    ]
    (first,) = [s for s in data if (s.label, s.subject) == (lying.label, lying.subject)]
    order = [first.layout.index(joint) for joint in lying.layout.joints]
    known = np.isfinite(first.joints[:, order])
    assert_allclose(first.joints[:, order][known], lying.joints[known], atol=1e-5)
    file = tmp_path / lying.label / lying.subject / f"take.{ending}"
    facts, (alone,) = readers.read_as_written(file)
    kept = kept_conventions({"conversion": data.conversion.to_dict()})
    (again,), done = settle([(*facts, alone)], kept=kept)
    assert_allclose(again.joints, first.joints, atol=1e-6)
    assert done.kept == ("up",)
    if ending == "trc":  # what a file states itself comes before
        readers.write([people[0]], file)
        facts, (stated,) = readers.read_as_written(file)
        (same,), done = settle([(*facts, stated)], kept=kept)
        assert (same is stated, done.kept) == (True, ())


def test_what_was_said_of_files_in_training_is_kept(tmp_path, people):
    readers.write([people[0].replace(joints=turn_up(people[0].joints, "-z"))], tmp_path / "a.trc")
    data = load_folder(tmp_path / "a.trc", up="z")
    kept = kept_conventions({"conversion": data.conversion.to_dict()})
    (taken, (recording,)) = readers.read_as_written(tmp_path / "a.trc")
    (again,), done = settle([(*taken, recording)], kept=kept)
    assert_allclose(again.joints, data[0].joints)
    assert done.kept == ("up",)
    (table,), done = settle(
        [("csv_table", None, people[0])], kept=kept
    )  # not of the tables beside them
    assert table is people[0]
    assert (
        kept_conventions({"conversion": load_folder(tmp_path / "a.trc").conversion.to_dict()})
        is None
    )


def test_reading_one_file_guesses_nothing(tmp_path, people):
    readers.write([strange(people[0])], tmp_path / "a.csv")
    (recording,) = readers.read(tmp_path / "a.csv")
    assert_allclose(recording.joints, strange(people[0]).joints)
    (metres,) = readers.read(tmp_path / "a.csv", unit="mm", up="z", flip=True)
    assert_allclose(metres.joints, people[0].joints, atol=1e-9)


@pytest.mark.parametrize("fps", [0, -1, float("nan"), 1e9])
def test_frame_rates_are_positive(tmp_path, people, fps):
    readers.write([people[0]], tmp_path / "a.csv")
    with pytest.raises(ParameterError, match="frames per second must be a positive number"):
        readers.read(tmp_path / "a.csv", fps=fps)


def test_one_file_of_many_recordings_is_a_data_set(tmp_path, people):
    for ending in ("npz", "pkl"):
        readers.write(people, tmp_path / f"all.{ending}")
        data = load_folder(tmp_path / f"all.{ending}")
        assert data.name == "all"
        assert sorted(data.labels) == sorted(p.label for p in people)
        assert sorted(data.subjects) == sorted(p.subject for p in people)


def test_a_misspelt_joint_can_be_renamed(tmp_path, people):
    save(tmp_path, people)
    odd = tmp_path / "wave" / people[0].subject / "take.csv"
    odd.write_text(odd.read_text().replace("right_wrist", "rigth_wrist"))
    warnings = "\n".join(summarize(load_folder(tmp_path)).warnings)
    assert "1 of 4 recordings has different joints" in warnings
    assert "has a joint 'rigth_wrist' where 'right_wrist' is expected: misspelt?" in warnings
    data = load_folder(tmp_path, rename={"rigth_wrist": "right_wrist"})
    assert len({s.layout for s in data}) == 1
    with pytest.raises(
        ParameterError, match=r"no recording has a joint 'rgth_wrst' .*did you mean 'rigth_wrist'"
    ):
        load_folder(tmp_path, rename={"rgth_wrst": "right_wrist"})


def test_renaming_takes_the_spelling_of_the_file(tmp_path):
    (tmp_path / "a.csv").write_text(
        "Head_x,Head_y,Head_z,RigthHand_x,RigthHand_y,RigthHand_z\n1,2,3,4,5,6\n"
    )
    (recording,) = readers.read(tmp_path / "a.csv", rename={"RigthHand": "right_hand"})
    assert recording.layout.joints == ("head", "right_hand")
    with pytest.raises(DataError, match="two joints are named 'head'"):
        readers.read(tmp_path / "a.csv", rename={"RigthHand": "head"})


def test_many_broken_files_are_one_sentence(tmp_path):
    for i in range(7):
        (tmp_path / f"t{i}.csv").write_text(f"head_x,head_y,head_z\n1,2,oops{i}\n")
    with pytest.raises(DataError) as caught:
        load_folder(tmp_path)
    message = str(caught.value)
    assert message.startswith("7 of 7 files cannot be used: ")
    assert message.count("expected a number") == 1
    assert "t0.csv, " in message
    assert message.endswith("t2.csv and 4 more)")


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_links_that_go_round_add_no_recordings(tmp_path, people):
    save(tmp_path, people)
    (tmp_path / "wave" / "again").symlink_to(tmp_path)
    (tmp_path / "bow" / "me").symlink_to(tmp_path / "bow")
    data = load_folder(tmp_path)
    assert len(data) == len(people)
    assert set(data.labels) == {"wave", "bow"}


def rows(joints, end=""):
    return "".join(" ".join(f"{v:.6f}" for v in row) + end + "\n" for row in joints.reshape(-1, 3))


def test_a_joint_per_row_with_a_layout(tmp_path):
    joints = motion(4, 15)
    path = tmp_path / "take.txt"
    path.write_text(rows(joints))
    (recording,) = readers.read(path, layout="kard15")
    assert recording.layout == KARD_15
    assert_allclose(recording.joints, joints, atol=1e-6)
    with pytest.raises(
        FormatError, match="one joint per row, apparently 15 joints in a frame; state which"
    ):
        readers.read(path)
    with pytest.raises(
        FormatError, match=r"60 rows are not a multiple of the 25 joints of layout .kinect25."
    ):
        readers.read(path, layout="kinect25")


@pytest.mark.parametrize(
    "change",
    [lambda t: t.replace(" ", ","), lambda t: "4 15\n" + t, lambda t: t.replace("\n", "\n\n")],
)
def test_joint_rows_as_others_write_them(tmp_path, change):
    joints = motion(4, 15)
    (tmp_path / "take.txt").write_text(change(rows(joints)))
    (recording,) = readers.read(tmp_path / "take.txt", layout="florence15")
    assert_allclose(recording.joints, joints, atol=1e-6)


def test_joint_rows_with_confidence_and_another_layout(tmp_path):
    joints = motion(4, 15)
    joints[2] = 0
    (tmp_path / "take.txt").write_text(rows(joints, " 1.0"))
    (recording,) = readers.read(tmp_path / "take.txt", layout=FLORENCE_15)
    assert recording.confidence[:, 0].tolist() == [1, 1, 0, 1]
    (tmp_path / "msr.txt").write_bytes(msr_text())
    assert readers.read(tmp_path / "msr.txt")[0].layout.name == "msr20"


def test_joints_by_name_in_place_of_a_layout(tmp_path):
    (tmp_path / "take.txt").write_text(rows(motion(5, 3)))
    (recording,) = readers.read(tmp_path / "take.txt", layout="Head, LeftHand, RightHand")
    assert recording.layout.joints == ("head", "left_wrist", "right_wrist")


@pytest.mark.parametrize("n", [15, 16, 20])
def test_tables_without_header_with_a_layout(tmp_path, n):
    """Sixteen joints and no frame number are as many columns as a row of Florence3D."""
    joints = motion(4, n)
    layout = Layout("mine", [f"part{chr(97 + i)}" for i in range(n)])
    numbered = np.column_stack([np.arange(4), joints.reshape(4, -1)])
    for table in (joints.reshape(4, -1), numbered):
        np.savetxt(tmp_path / "t.txt", table, fmt="%.8f")
        (recording,) = readers.read(tmp_path / "t.txt", layout=layout)
        assert recording.layout == layout
        assert_allclose(recording.joints, joints, atol=1e-7)


def test_every_reader_says_what_it_needs():
    """A new reader is its module and its name in FORMATS."""
    for name, module in readers.formats().items():
        assert readers.FORMATS[name].suffixes, name
        assert set(getattr(module, "STATES", {})) <= {"unit", "up"}
        assert set(getattr(module, "TAKES", ())) <= {"layout", "columns", "poses"}
        assert bool(getattr(module, "WRITES", ())) == hasattr(module, "write"), name


def test_a_reader_that_writes_is_asked(tmp_path):
    one = SkeletonSequence(motion(4, 15), layout=FLORENCE_15, fps=25.0, label="wave", name="a")
    for ending in readers.writable():
        readers.write([one], tmp_path / f"a{ending}")
        assert readers.read(tmp_path / f"a{ending}")[0].n_frames == 4


@pytest.mark.parametrize("fps", [30, 29.97, 25, 65.0533, 120])
def test_times_of_few_digits_give_the_frame_rate(tmp_path, fps):
    rows = [f"{t / fps:.5f},0,1,2" for t in range(60)]
    (tmp_path / "a.csv").write_text("\n".join(["time,head_x,head_y,head_z", *rows]))
    assert readers.read(tmp_path / "a.csv")[0].fps == pytest.approx(fps, abs=0.005)
    if fps != 65.0533:
        assert readers.read(tmp_path / "a.csv")[0].fps == fps


def test_folders_of_several_conventions_are_told_apart(tmp_path, people):
    """Half of the recordings in millimetres with z up, half as they should be: each is taken for
    what it is.
    """
    save(tmp_path / "a", people)
    save(tmp_path / "b", [strange(p) for p in people])
    data = load_folder(tmp_path)
    wanted = {(p.label, p.subject): p.joints for p in people}
    for recording in data:
        _, label, subject, _ = (
            recording.name.split("/")
            if recording.name.count("/") == 3
            else ("", *recording.name.split("/")[1:], "")
        )
        assert_allclose(recording.joints, wanted[label, subject], atol=1e-9)
    assert any(
        note.startswith("in 4 recordings coordinates were millimetres")
        for note in data.conversion.notes
    )
    assert data.conversion.count == 4


def test_formats_beside_each_other(tmp_path, people):
    save(tmp_path, [strange(p) for p in people])
    (tmp_path / "wave" / "x").mkdir()
    readers.write([people[0]], tmp_path / "wave" / "x" / "take.trc")
    (trc,) = [s for s in load_folder(tmp_path) if s.subject == "x"]
    order = [trc.layout.index(joint) for joint in people[0].layout.joints]
    assert_allclose(trc.joints[:, order], people[0].joints, atol=1e-6)


def test_letters_that_count_are_no_sides(tmp_path):
    names = [f"Finger{chr(65 + i)}" for i in range(20)]
    (tmp_path / "a.csv").write_text(
        ",".join(f"{n}_{a}" for n in names for a in "xyz") + "\n" + ",".join("1" * 60)
    )
    joints = readers.read(tmp_path / "a.csv")[0].layout.joints
    assert joints == tuple(f"finger_{chr(97 + i)}" for i in range(20))
    (tmp_path / "b.csv").write_text(
        "Hand.L_x,Hand.L_y,Hand.L_z,Hand.R_x,Hand.R_y,Hand.R_z\n1,2,3,4,5,6\n"
    )
    assert readers.read(tmp_path / "b.csv")[0].layout.joints == ("left_wrist", "right_wrist")


def test_many_copies_are_one_warning(people):
    many = [p.replace(name=f"{name}{i}") for i, p in enumerate(people) for name in ("a", "b")]
    told = [
        w for w in summarize(many).warnings if "more than once" in w or "the same recording" in w
    ]
    assert told == ["4 recordings occur more than once: a0, a1, a2 and 1 more"]


def test_two_bodies_in_rows_without_header(tmp_path):
    """As SBU-Kinect-Interaction has them: a number, then both persons, y down."""
    first, second = (
        s.joints * [-1, -1, 1]
        for s in make_actions(["wave", "bow"], n_subjects=1, n_takes=1, dropout=0)
    )
    n = min(len(first), len(second))
    both = np.concatenate([first[:n], second[:n] + [1, 0, 0]], axis=1)
    rows = np.hstack([np.arange(350, 350 + n)[:, None], both.reshape(n, -1)])
    np.savetxt(tmp_path / "pair.txt", rows, delimiter=",", fmt="%.5f")
    data = load_folder(tmp_path, layout="kinect20+kinect20")
    assert data.layout.name == "kinect20+kinect20"
    assert len(data.layout.bodies) == 2
    assert data.conversion.notes == [
        "-y was up and became y (detected from the data; override with up=)"
    ]
    assert data[0].joints[0, 3, 1] > data[0].joints[0, 15, 1]
    with pytest.raises(FormatError, match=r"layout='kinect20\+kinect20' or "):
        load_folder(tmp_path / "pair.txt")


def test_a_joint_at_the_origin_now_and_then_is_lost(tmp_path):
    poses = np.random.default_rng(0).normal(size=(5, 3, 3))
    poses[:, 0] = 0  # the root
    poses[2, 1] = 0
    poses[4] = 0
    np.savetxt(tmp_path / "a.txt", poses.reshape(-1, 3))
    (back,) = readers.read(tmp_path / "a.txt", layout="hip,head,hand")
    expected = np.ones((5, 3))
    expected[2, 1] = expected[4] = 0
    assert_allclose(back.confidence, expected)


def test_what_became_metres_is_of_no_unknown_unit():
    """A giant in inches: its size shows no unit, but the user said which."""
    (wave,) = make_actions(["wave"], n_subjects=1, n_takes=1)
    giant = wave.replace(joints=wave.joints * 12)
    assert "of unknown unit" in describe_axes([giant])
    (same,), done = to_convention([giant.replace(joints=giant.joints / 0.0254)], unit="in")
    assert describe_axes([same], done) == "y up, right-handed; 19.7 m from the feet to the head"
