"""MSR, Florence, UTKinect and NTU text: golden values, the data sets' own quirks, errors that name
the line.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import florence_text, motion, msr_text, ntu_text, split_bodies, utkinect_text

from kerneton.data.checks import check_sequences
from kerneton.data.layouts import FLORENCE_15, KINECT_20, KINECT_25, MSR_20
from kerneton.datasets import load_dataset
from kerneton.exceptions import DataError, FormatError, MissingDataError, ParameterError
from kerneton.files import readers
from kerneton.files.folder import load_folder
from kerneton.files.readers import florence_text as florence
from kerneton.files.readers import joint_rows as msr
from kerneton.files.readers import ntu
from kerneton.files.readers import utkinect_text as utkinect
from kerneton.files.readers._text import MAX_LINE, lines, table


def put(tmp_path, content, name="take.txt"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_msr(tmp_path):
    (wave,) = readers.read(put(tmp_path, msr_text(), "a01_s01_e01_skeleton3D.txt"))
    assert wave.layout is MSR_20
    assert wave.name == "a01_s01_e01_skeleton3D"
    assert wave.label is wave.subject is wave.fps is None
    assert_allclose(wave.joints, motion(), atol=1e-6)
    assert_allclose(wave.confidence, 1.0)


def test_msr_inferred_joints_keep_a_little_trust_and_lost_frames_none(tmp_path):
    inferred = "0.1 1.2 2.5 0.0\n" * 20
    lost = "0 0 0 0\n" * 20
    (take,) = msr.read(put(tmp_path, inferred + lost + "0.1 1.2 2.5 3.0\n" * 20, "a01_s01_e01.txt"))
    assert_allclose(take.confidence[:, 0], [msr.INFERRED, 0.0, 1.0])


def test_msr_errors(tmp_path):
    with pytest.raises(
        FormatError,
        match=r"a01_s01_e01.txt: 41 rows are not a multiple of the 20 joints of layout 'msr20'",
    ):
        msr.read(put(tmp_path, "0.1 1.2 2.5 1\n" * 41, "a01_s01_e01.txt"))
    with pytest.raises(FormatError, match=r"take.txt, line 3: expected 4 numbers .*, got 3 words"):
        msr.read(put(tmp_path, "1 2 3 1\n1 2 3 1\n1 2 3\n"))
    with pytest.raises(
        FormatError, match=r"take.txt, line 2, column 3: expected a number, got 'three'"
    ):
        msr.read(put(tmp_path, "1 2 3 1\n1 2 three 1\n"))
    with pytest.raises(FormatError, match=r"line 1, column 2: '1e31' is too large"):
        msr.read(put(tmp_path, "1 1e31 3 1\n"))
    with pytest.raises(FormatError, match=r"column 1: '-inf' is too large"):
        msr.read(put(tmp_path, "-inf 1 3 1\n"))
    with pytest.raises(FormatError, match="no numbers"):
        msr.read(put(tmp_path, "\n\n"))


def test_florence(tmp_path):
    first, second = readers.read(put(tmp_path, florence_text((4, 4, 4, 9, 9)), "florence.txt"))
    assert (first.label, first.subject, first.name, first.n_frames) == ("7", "7", "florence_4", 3)
    assert (second.label, second.subject, second.name, second.n_frames) == (
        "7",
        "12",
        "florence_9",
        2,
    )
    assert first.layout is FLORENCE_15
    assert_allclose(np.concatenate([first.joints, second.joints]), motion(5, 15), atol=1e-6)


def test_florence_errors(tmp_path):
    row = " ".join(["1.5"] * 45)
    with pytest.raises(FormatError, match="row 2: video 1 changes its actor or action"):
        florence.read(put(tmp_path, f"1 1 1 {row}\n1 2 1 {row}\n"))
    with pytest.raises(
        FormatError, match=r"row 2: video, actor and action must be whole numbers, got \[1.0, nan"
    ):
        florence.read(put(tmp_path, f"1 1 1 {row}\n1 nan 1 {row}\n"))
    with pytest.raises(FormatError, match=r"row 1: video, actor and action must be whole numbers"):
        florence.read(put(tmp_path, f"1e25 1 1 {row}\n"))


def test_utkinect_keeps_the_first_of_a_frame_that_comes_twice(tmp_path):
    (take,) = readers.read(put(tmp_path, utkinect_text((190, 192, 192, 195)), "joints_s01_e01.txt"))
    assert take.layout is KINECT_20
    assert take.label is None
    assert_allclose(take.joints, motion(4)[[0, 1, 3]], atol=1e-6)


def test_utkinect_errors(tmp_path):
    with pytest.raises(
        FormatError, match=r"line 2: expected 61 numbers \(frame and 20 x y z\), got 60"
    ):
        utkinect.read(put(tmp_path, "1 " * 61 + "\n" + "1 " * 60 + "\n"))


def test_ntu_bodies_and_gaps(tmp_path):
    path = put(tmp_path, ntu_text(((1,), (1, 2), (2,), (1, 2))), "two.skeleton")
    one, two = readers.read(path, layout="kinect25")  # else, half of the frames having both, a pair
    assert (one.name, two.name) == ("two_body1", "two_body2")
    assert one.layout is KINECT_25
    assert one.fps == 30
    assert (one.n_frames, two.n_frames) == (4, 3)
    assert_allclose(one.joints[[0, 1, 3]], motion(4, 25)[[0, 1, 3]] + 1, atol=1e-6)
    assert np.isnan(one.joints[2]).all()
    assert_allclose(one.confidence.max(1), [1, 1, 0, 1])
    assert_allclose(two.joints, motion(4, 25)[1:] + 2, atol=1e-6)


def test_ntu_two_persons_are_one_recording(tmp_path):
    path = put(tmp_path, ntu_text(((1,), (1, 2), (2, 3), (1, 2))), "S001C002P003R002A058.skeleton")
    (both,) = ntu.read(path)  # together in two of four frames
    assert (both.n_frames, both.n_joints, both.label, both.subject) == (4, 50, "A058", "P003")
    assert (both.name, both.fps) == ("S001C002P003R002A058", 30)
    one, two = split_bodies(both)
    seen = [(body.confidence > 0).all(axis=1).tolist() for body in (one, two)]
    assert seen == [[True, True, False, True], [False, True, True, True]]
    alone = ntu.read(path, layout=KINECT_25)
    assert len(alone) == 3
    np.testing.assert_array_equal(one.joints, alone[0].joints)
    np.testing.assert_array_equal(two.joints[1:], alone[1].joints)
    less = put(tmp_path, ntu_text(((1,), (1, 2), (2, 3), (1, 2), (2,))), "less.skeleton")
    assert len(ntu.read(less)) == 3  # together in two of five frames


def test_a_folder_of_ntu_files_gives_pairs_where_two_are_seen_together(tmp_path):
    put(tmp_path, ntu_text(((1,), (1, 2), (2,), (1, 2))), "S001C002P003R002A058.skeleton")
    put(tmp_path, ntu_text(((1, 2), (1, 2), (2,), (2, 3))), "S001C002P004R002A058.skeleton")
    data = load_folder(tmp_path)
    assert [(s.layout.name, s.label, s.subject) for s in data] == [
        ("kinect25+kinect25", "A058", "P003"),
        ("kinect25+kinect25", "A058", "P004"),
    ]
    assert [s.layout.name for s in load_folder(tmp_path, layout="kinect25")] == ["kinect25"] * 5
    put(tmp_path, ntu_text(((1,),)), "S001C002P005R002A001.skeleton")
    told = r"'S001C002P005R002A001' has 1 body \('kinect25'\), expected 2 bodies \('kinect25\+kinect25'\)"
    with pytest.raises(DataError, match=told):
        check_sequences(load_folder(tmp_path))
    with pytest.raises(ParameterError, match="25 joints per body, layout 'kinect20' has 20"):
        load_folder(tmp_path / "S001C002P005R002A001.skeleton", layout="kinect20")


@pytest.mark.parametrize(
    ("state", "confidence"), [(" 2", 1.0), (" 1", 0.5), (" 0", 0.0), ("", 1.0)]
)
def test_ntu_tracking_states(tmp_path, state, confidence):
    (body,) = ntu.read(put(tmp_path, ntu_text(((1,),) * 3, state), "S001C002P003R002A013.skeleton"))
    assert_allclose(body.confidence, confidence)
    assert (body.label, body.subject, body.name) == ("A013", "P003", "S001C002P003R002A013")


def test_ntu_other_names_say_nothing(tmp_path):
    (body,) = ntu.read(put(tmp_path, ntu_text(((1,),)), "wave.skeleton"))
    assert body.label is body.subject is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2\n1\n", "3\n1\n", "ends where the number of bodies in frame 2 is expected"),
        ("2\n1\n", "2\n2\n", "frame 0: expected 25 joints, got 1|the number of joints"),
        ("2\n1\n", "1\n1\n", "continues after its 1 frames"),
        ("2\n1\n", "-2\n1\n", "line 1: expected the number of frames, got '-2'"),
        ("2\n1\n", "2.5\n1\n", "line 1: expected the number of frames, got '2.5'"),
        ("2\n1\n", "99999999999999999999\n1\n", "expected the number of frames"),
        ("\n25\n", "\n24\n", "frame 0: expected 25 joints, got 24"),
        (" -0.1 2\n", " -0.1 3\n", "tracking state must be 0, 1 or 2, got 3"),
        (" -0.1 2\n", " -0.1 2 7\n", "expected 11 or 12 numbers per joint, got 13"),
        (" 277.4 ", " x ", "column 4: expected a number, got 'x'"),
    ],
)
def test_ntu_errors(tmp_path, old, new, message):
    text = ntu_text(((1,), (1,))).decode()
    assert old in text
    with pytest.raises(FormatError, match=message):
        ntu.read(put(tmp_path, text.replace(old, new, 1)))


def test_ntu_without_bodies_and_with_one_twice(tmp_path):
    with pytest.raises(FormatError, match="no body in any of 3 frames"):
        ntu.read(put(tmp_path, "3\n0\n0\n0\n"))
    with pytest.raises(FormatError, match="is in frame 0 twice"):
        ntu.read(put(tmp_path, ntu_text(((1, 1),))))


def test_ntu_bodies_far_apart_do_not_fill_the_memory(tmp_path):
    many = tuple(
        range(1, 41)
    )  # seen in the first and the last frame: 40 bodies of 20,000 frames each
    text = ntu_text((many, *[()] * 20_000, many))
    with pytest.raises(FormatError, match=r"800080 frames of 25 joints need 457 MiB; at most"):
        ntu.read(put(tmp_path, text))


def test_text_in_other_encodings_and_line_ends(tmp_path):
    expected = readers.read(put(tmp_path, msr_text()))[0].joints
    text = msr_text().decode()
    for content in (
        text.replace("\n", "\r\n").encode(),
        text.replace("\n", "\r").encode(),
        text.encode("utf-8-sig"),
        text.encode("utf-16"),
        text.replace(" ", "\t").encode(),
        text.replace("\n", "\n\n").encode(),
    ):
        assert_array_equal(readers.read(put(tmp_path, content))[0].joints, expected)


def test_limits_of_lines_and_tables(tmp_path, monkeypatch):
    with pytest.raises(FormatError, match=f"line 2: longer than {MAX_LINE} characters"):
        list(lines(put(tmp_path, "1 2\n" + "1" * (MAX_LINE + 10))))
    monkeypatch.setattr("kerneton.files.readers._text.MAX_BYTES", 1000)
    with pytest.raises(FormatError, match="line 63: more than 0 MiB of numbers"):
        table(put(tmp_path, "1 2\n" * 100), [2], "x y")
    with pytest.raises(MissingDataError, match="no such file"):
        list(lines(tmp_path / "none"))


def test_sniffing_tells_rows_apart():
    row = b" ".join([b"1"] * 48) + b"\n"
    assert florence.sniff(row * 2, None)
    assert not florence.sniff(row.replace(b"1 1 1", b"1 1 1.5", 1), None)
    assert utkinect.sniff(b" ".join([b"1"] * 61), None)
    assert msr.sniff(b"1 2 3 4\n" * 30, None)
    assert not msr.sniff(b"1 2 3 4\n1 2 3\n", None)
    assert not msr.sniff(b"", None)
    assert ntu.sniff(b"103\n1\n7205", None)
    assert not ntu.sniff(b"103\n", None)


# The real recordings, against the data sets' own loaders.


def test_florence_file_agrees_with_the_loader(data_home):
    expected = load_dataset("florence3d", data_home=data_home)
    got = readers.read(data_home / "florence3d" / "Florence_dataset_WorldCoordinates.txt")
    assert len(got) == len(expected) == 215
    for mine, theirs in zip(got, expected, strict=True):
        assert mine.subject == theirs.subject
        assert_allclose(mine.joints, theirs.joints)


def test_msr_files_agree_with_the_loader(data_home):
    for expected in load_dataset("msr_action3d", data_home=data_home).select(range(0, 557, 50)):
        folder = data_home / "msr_action3d" / "MSRAction3DSkeletonReal3D"
        (got,) = readers.read(folder / f"{expected.name}_skeleton3D.txt")
        assert_array_equal(got.joints, expected.joints)
        assert_allclose(got.confidence, expected.confidence)


def test_utkinect_files_are_recognised(data_home):
    paths = sorted((data_home / "utkinect" / "joints").glob("joints_*.txt"))
    assert len(paths) == 20
    assert {readers.detect_format(path) for path in paths} == {"utkinect_text"}
    (take,) = readers.read(paths[0])
    assert take.n_joints == 20
