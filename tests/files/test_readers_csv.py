"""Tables: the headers people write, wide and long, with and without names, and errors that name the
cell.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import long_csv, motion, sequence, split_bodies, wide_csv

from kerneton.data.bodies import pair
from kerneton.data.layouts import COCO_17, KINECT_20, KINECT_25, MEDIAPIPE_33, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import FormatError, ParameterError
from kerneton.files import readers
from kerneton.files.readers import csv_table
from kerneton.files.readers._names import joint_names, layout_of_names
from kerneton.files.readers.csv_table import parse_header


def put(tmp_path, content, name="take.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_one(tmp_path, content, name="take.csv", **options):
    (take,) = csv_table.read(put(tmp_path, content, name), **options)
    return take


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
def test_wide_with_any_delimiter(tmp_path, delimiter):
    take = read_one(tmp_path, wide_csv(delimiter))
    assert take.layout is KINECT_20
    assert take.fps == 30
    assert take.confidence is None
    assert_allclose(take.joints, motion())


@pytest.mark.parametrize(
    "columns",
    [
        ["left_wrist_x", "left_wrist_y", "left_wrist_z"],
        ["left_wrist.x", "left_wrist.y", "left_wrist.z"],
        ["left_wrist:X", "left_wrist:Y", "left_wrist:Z"],
        ["left wrist x", "left wrist y", "left wrist z"],
        ["LeftWristX", "LeftWristY", "LeftWristZ"],
        ["LWrist_X", "LWrist_Y", "LWrist_Z"],
        ["WristLeft_x", "WristLeft_y", "WristLeft_z"],
        ["WristLeft (x)", "WristLeft (y)", "WristLeft (z)"],
        ["x_left_wrist", "y_left_wrist", "z_left_wrist"],
        ["left_wrist_position_x", "left_wrist_position_y", "left_wrist_position_z"],
        ['"left_wrist_x"', '"left_wrist_y"', '"left_wrist_z"'],
        ["left_wrist_z", "left_wrist_x", "left_wrist_y"],
    ],
)
def test_headers_people_write(tmp_path, columns):
    take = read_one(tmp_path, ",".join(columns) + "\n1.5,2.5,3.5\n")
    assert take.layout.joints == ("left_wrist",)
    expected = [2.5, 3.5, 1.5] if columns[0].endswith("_z") else [1.5, 2.5, 3.5]
    assert_allclose(take.joints[0, 0], expected)


def test_kinect_export_gets_its_layout_whatever_the_order(tmp_path):
    names = {"hip_center": "SpineBase", "spine": "SpineMid", "shoulder_center": "SpineShoulder"}
    order = np.random.default_rng(0).permutation(25)
    theirs = []
    for i in order:
        side, _, part = KINECT_25.joints[i].rpartition(
            "left_" if "left" in KINECT_25.joints[i] else "right_"
        )
        word = "".join(w.title() for w in part.split("_"))
        side = {"left": "Left", "right": "Right"}.get(KINECT_25.joints[i].split("_")[0], "")
        theirs.append(names.get(KINECT_25.joints[i], word + side))
    joints = motion(4, 25)[:, order]
    rows = [",".join(map(str, row)) for row in joints.reshape(4, -1)]
    take = read_one(
        tmp_path, "\n".join([",".join(f"{n}_{a}" for n in theirs for a in "XYZ"), *rows])
    )
    assert take.layout.joints == tuple(KINECT_25.joints[i] for i in order)
    assert len(take.layout.bones) == 24
    mapped = csv_table.read(tmp_path / "take.csv", layout=KINECT_25)[0]
    assert mapped.layout is KINECT_25
    assert_allclose(mapped.joints, motion(4, 25))


def test_subsets_and_strangers_get_a_layout_of_their_own(tmp_path):
    take = read_one(tmp_path, "neck_x,neck_y,neck_z,head_x,head_y,head_z\n" + "1,2,3,4,5,6\n")
    assert take.layout.name == "table"
    assert [(take.layout.joints[a], take.layout.joints[b]) for a, b in take.layout.bones] == [
        ("neck", "head")
    ]
    other = read_one(tmp_path, "tail_x,tail_y,tail_z,head_x,head_y,head_z\n" + "1,2,3,4,5,6\n")
    assert other.layout.joints == ("tail", "head")


def test_confidence_columns_and_missing_cells(tmp_path):
    content = "head_x,head_y,head_z,head_conf,neck_x,neck_y,neck_z\n1,2,3,0.5,4,5,6\n,2,3,0.7,NaN,n/a,null\n"
    take = read_one(tmp_path, content)
    assert_allclose(take.confidence, [[0.5, 1.0], [0.0, 0.0]])
    assert np.isnan(take.joints[1]).all()
    assert_allclose(take.joints[0, 1], [4, 5, 6])


def test_two_coordinates(tmp_path):
    take = read_one(
        tmp_path, "head_x,head_y,head_score,neck_x,neck_y,neck_score\n1,2,0.5,3,4,0.9\n"
    )
    assert_allclose(take.joints[0], [[1, 2, 0], [3, 4, 0]])
    assert_allclose(take.confidence[0], [0.5, 0.9])


def test_label_subject_recording_and_other_columns(tmp_path):
    content = """recording,label,subject,mood,frame,head_x,head_y,head_z
one,wave,ann,good,0,1,2,3
two,bow,"Smith, Bob",bad,0,4,5,6
one,wave,ann,good,1,7,8,9
"""
    one, two = csv_table.read(put(tmp_path, content))
    assert (one.name, one.label, one.subject, one.n_frames) == ("one", "wave", "ann", 2)
    assert (two.name, two.label, two.subject, two.n_frames) == ("two", "bow", "Smith, Bob", 1)
    with pytest.raises(
        FormatError, match=r"line 3: subject changes from 'ann' to 'bob'; use a column 'recording'"
    ):
        read_one(tmp_path, "subject,head_x,head_y,head_z\nann,1,2,3\nbob,1,2,3\n")


@pytest.mark.parametrize(
    ("times", "fps"),
    [
        (["0", "0.04", "0.08"], 25.0),
        (["0", "40", "80"], 25.0),
        (["1700000000000", "1700000000040", "1700000000080"], 25.0),
        (["0", "40000", "80000"], 25.0),
        (["0", "0.0333333", "0.0666667"], 30.0),
        (["0", "0", "0"], None),
        (["", "", ""], None),
        (["0", "", "0.04"], 25.0),
        (["0", "0.033", "0.067", "0.1", "0.133"], 30.0),  # to the millisecond
        (["0", "33", "67", "100", "133", "167", "500", "533"], 30.0),  # with a gap
        (["0", "0.0333667", "0.0667333", "0.1001", "0.1334667"], 29.97),
        (["0", "0.07", "0.13", "0.2", "0.27"], 15.0),
        (["0", "0.04", "0.08", "-1e30", "0.12", "0.16", "0.2"], 25.0),  # damaged
    ],
)
@pytest.mark.filterwarnings("ignore:.* s are missing after")
def test_frame_rate_from_times(tmp_path, times, fps):
    take = read_one(
        tmp_path, "\n".join(["time,head_x,head_y,head_z", *(f"{t},1,2,3" for t in times)])
    )
    assert take.fps == (None if fps is None else pytest.approx(fps, rel=1e-4))


@pytest.mark.parametrize("torso", ["torso", "spine"])
def test_other_spellings_of_the_trunk_do_not_lose_the_bones_of_hands_and_feet(torso):
    names = ["head", "neck", torso]
    names += [
        f"{s}_{j}"
        for s in ("left", "right")
        for j in ("shoulder", "elbow", "hand", "hip", "knee", "foot")
    ]
    layout = layout_of_names("table", joint_names(names))
    assert len(layout.bones) == 14
    assert "spine" in layout.joints
    layout = layout_of_names("table", joint_names([*names, "clip"]))
    assert len(layout.bones) == 14


def test_custom_names_beside_ours_are_kept():
    names = ["left_lamp", "left_foot", "head"]
    assert joint_names(names) == names


def test_decimal_commas_comments_and_trailing_delimiters(tmp_path):
    content = "# made by hand\nhead_x;head_y;head_z\n1,5;2,5;-3,5;\n# more\n1;2;3\n"
    assert_allclose(read_one(tmp_path, content).joints[:, 0], [[1.5, 2.5, -3.5], [1, 2, 3]])


def test_long(tmp_path):
    take = read_one(tmp_path, long_csv())
    assert take.layout is KINECT_20
    assert_allclose(take.joints, motion(4))
    assert_allclose(take.confidence, 0.9)


def test_long_in_any_order_with_gaps_and_numbers(tmp_path):
    content = "Frame;Joint;X;Y\n10;1;1;2\n9;0;3;4\n10;0;5;6\n"
    take = read_one(tmp_path, content)
    assert take.layout is None
    assert_allclose(take.joints[0], [[np.nan] * 3, [3, 4, 0]])
    assert_allclose(take.joints[1], [[1, 2, 0], [5, 6, 0]])
    named = read_one(tmp_path, content, layout=Layout("pair", ["head", "neck"]))
    assert named.layout.joints == ("head", "neck")
    times = read_one(tmp_path, "time,joint,x,y,z\n0,head,1,2,3\n0.5,head,4,5,6\n1.0,head,4,5,6\n")
    assert (times.n_frames, times.fps) == (3, 2.0)


def test_numbered_columns_take_the_layout(tmp_path):
    header = ",".join(f"{a}{i}" for i in range(33) for a in "xyzv")
    content = header + "\n" + ",".join(["0.5"] * 132) + "\n"
    take = read_one(tmp_path, content)
    assert take.layout is None
    assert_allclose(take.confidence, 0.5)
    assert read_one(tmp_path, content, layout=MEDIAPIPE_33).layout is MEDIAPIPE_33
    with pytest.raises(FormatError, match="33 joints do not fit layout 'coco17'"):
        read_one(tmp_path, content, layout=COCO_17)


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("per_joint", [2, 3, 4])
def test_no_header_with_a_layout(tmp_path, per_joint, extra):
    values = np.concatenate([motion(5, 17), np.full((5, 17, 1), 0.5)], -1)
    if per_joint < 4:
        values = values[..., :per_joint]
    rows = [[*[t] * extra, *row] for t, row in enumerate(values.reshape(5, -1))]
    take = read_one(tmp_path, "\n".join(",".join(map(str, row)) for row in rows), layout=COCO_17)
    assert take.layout is COCO_17
    assert take.n_frames == 5
    assert_allclose(take.joints[..., :2], values[..., :2])
    assert_allclose(take.joints[..., 2], values[..., 2] if per_joint > 2 else 0)
    assert (take.confidence is None) == (per_joint < 4)


def test_no_header_with_names(tmp_path):
    names = ["time", "head_x", "head_y", "head_z"]
    take = read_one(tmp_path, "0,1,2,3\n0.1,4,5,6\n", columns=names)
    assert take.layout.joints == ("head",)
    assert (take.n_frames, take.fps) == (2, 10.0)
    replaced = read_one(tmp_path, "t,a,b,c\n0,1,2,3\n0.1,4,5,6\n", columns=names)
    assert_array_equal(replaced.joints, take.joints)


def test_columns_renamed(tmp_path):
    content = "who,HX,HY,HZ\nann,1,2,3\n"
    renamed = {"who": "subject", "HX": "head_x", "HY": "head_y", "HZ": "head_z"}
    take = readers.read(put(tmp_path, content), columns=renamed)[0]
    assert (take.subject, take.layout.joints) == ("ann", ("head",))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_last_row_that_is_cut_off_is_left_out(tmp_path, encoding):
    whole = "time;head_x;head_y;head_z\r\n0;1,5;2;3\r\n0,1;4;5;6\r\n"
    path = tmp_path / "take.csv"
    path.write_text(whole + "0,2;7", encoding, newline="")
    with pytest.warns(
        UserWarning, match=r"take.csv, line 4: the file ends inside this row: it is left out"
    ):
        (take,) = readers.read(path)
    path.write_text(whole, encoding, newline="")
    assert_array_equal(take.joints, readers.read(path)[0].joints)
    path.write_text(whole + "0,2;7\r\n", encoding, newline="")
    with pytest.raises(FormatError, match=r"line 4: expected 4 columns, got 2"):
        readers.read(path)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("head_x,head_y,head_z\n1,2,x\n", {}, r"take.csv, line 2, column 3: expected a number, got 'x'"),
        ("head_x,head_y,head_z\n1,2,1e31\n", {}, r"line 2, column 3: '1e31' is too large"),
        ("head_x,head_y,head_z\n1,2,3\n\n1,2\n", {}, r"take.csv, line 4: expected 3 columns, got 2"),
        ("head_x,head_y,head_z\n", {}, "a header and no rows"),
        ("", {}, "no rows"),
        ("# only a comment\n", {}, "no rows"),
        ("a,b,c\n1,2,3\n", {}, "line 1: no columns like left_wrist_x, .*; found a, b, c; say which columns .*: columns={'a': 'head_x', 'b': 'head_y', 'c': 'head_z'}"),
        ("head_x,head_z,neck_x,neck_y,neck_z\n1,2,3,4,5\n", {}, "joint 'head' has no y"),
        ("head_x,head_y,neck_x,neck_y,neck_z\n1,2,3,4,5\n", {}, "joint 'head' has no z"),
        ("head_x,head_y,head_z,head_x\n1,2,3,4\n", {}, "columns 1 and 4 are both 'head_x'"),
        ("1,2,3\n4,5,6\n", {}, "line 1: 3 columns without a header; state what they are: layout="),
        (",".join("1" * 76) + "\n", {}, "state what they are: layout='kinect25' or 'openpose25', or all names"),
        ("1,2,3\n", {"layout": COCO_17}, "3 columns do not fit the 17 joints of layout 'coco17': expected 34, 51"),
        ("1,2,3\n", {"columns": {"a": "head_x"}}, "columns without a header cannot be renamed"),
        ("1,2,3\n", {"columns": ["head_x"]}, "1 columns are named, the file has 3"),
        ("a,b,c\n1,2,3\n", {"columns": {"d": "head_x"}}, "no column 'd'; found a, b, c"),
        ("joint,x,y,z\nhead,1,2,3\n", {}, "one joint per row, but no column 'frame' or 'time'"),
        ("frame,joint,x,y\n7,head,1,2\n7,head,3,4\n", {}, "joint 'head' occurs 2 times in frame 7"),
        ('head_x,head_y,head_z\n1,2,"3\n', {}, "line 2: a quotation mark that is never closed"),
        (",".join(["x"] * 30_000) + "\n", {}, "30000 columns; at most 20000"),
        (",".join(f"j{i}_x" for i in range(1001)), {}, "1001 joints; at most 1000"),
        ("frame,joint,x,y\n" + "".join(f"0,j{i},1,2\n" for i in range(1002)), {}, "more than 1000 joints"),
        ("_" * 100_000 + "x,b,c\n1,2,3\n", {}, "no columns like"),
    ],
)  # fmt: skip
def test_errors_name_file_line_and_column(tmp_path, content, options, message):
    with pytest.raises(FormatError, match=rf"take.csv.*({message})|{message}"):
        read_one(tmp_path, content, **options)


def test_memory_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_table, "MAX_BYTES", 10_000)
    with pytest.raises(FormatError, match="more than 0 MiB of numbers"):
        read_one(tmp_path, "head_x,head_y,head_z\n" + "1,2,3\n" * 100)
    with pytest.raises(FormatError, match="more than 0 MiB"):
        read_one(
            tmp_path,
            "recording,head_x,head_y,head_z\n" + "".join(f"{i},1,2,3\n" for i in range(30)),
        )


def test_a_table_costs_no_more_than_its_size_allows(tmp_path):
    corner = "frame,joint,x,y\n" + "".join(f"{i},j{i % 999},1,2\n" for i in range(5000))
    with pytest.raises(
        FormatError, match=r"5000 frames of 999 joints need 114 MiB, too much for a file of \d+"
    ):
        read_one(tmp_path, corner)


def test_written_tables_come_back(tmp_path):
    joints = motion(5, 20)
    joints[1, 2] = np.nan
    confidence = np.random.default_rng(0).uniform(size=(5, 20))
    confidence[1, 2] = 0
    first = SkeletonSequence(joints, confidence, KINECT_20, 'wave, "big"', "ann", "one", 29.97)
    for name in ("a.csv", "a.tsv"):
        readers.write([first, first.replace(name="two", label="bow")], tmp_path / name)
        one, two = readers.read(tmp_path / name)
        assert_array_equal(one.joints, joints)
        assert_array_equal(one.confidence, confidence)
        assert (one.layout, one.label, one.subject, one.name) == (
            KINECT_20,
            first.label,
            "ann",
            "one",
        )
        assert one.fps == pytest.approx(29.97)
        assert (two.label, two.name) == ("bow", "two")


def test_written_tables_without_names_or_rate(tmp_path):
    readers.write([sequence(None, fps=None, label=None, subject=None)], tmp_path / "a.csv")
    (back,) = readers.read(tmp_path / "a.csv")
    assert back.layout is back.fps is back.label is back.subject is None
    assert_array_equal(back.joints, motion())
    assert (
        (tmp_path / "a.csv").read_text().startswith("frame,joint_0_x,joint_0_y,joint_0_z,joint_1_x")
    )
    with pytest.raises(ParameterError, match="different joints than the first"):
        readers.write([sequence(), sequence(COCO_17)], tmp_path / "a.csv")


def test_sniffing(tmp_path):
    assert csv_table.sniff(b"head_x head_y head_z\n1 2 3", tmp_path / "a.txt")
    assert csv_table.sniff(b"1;2;3\n", tmp_path / "a.txt")
    assert not csv_table.sniff(b"Dear all,\nhello", tmp_path / "a.txt")
    assert not csv_table.sniff(b"a,b,c\n1,2,3", tmp_path / "a.txt")
    assert csv_table.sniff(b"a,b,c\n1,2,3", tmp_path / "a.csv")
    assert not csv_table.sniff(b"\0\1,2", tmp_path / "a.csv")
    assert csv_table.sniff("head_x,head_y\n".encode("utf-16"), tmp_path / "a.csv")


def test_words_that_only_look_like_coordinates():
    columns = parse_header(
        ["index", "max", "head_x", "head_y", "left_wrist_rx", "velocity"], "t.csv"
    )
    assert columns.joints == {"head": [2, 3, -1, -1]}


@pytest.mark.parametrize(
    "names", ["{joint}_{n}_{axis}", "P{n}_{joint}_{axis}", "person{n}.{joint}.{axis}"]
)
def test_two_bodies_of_one_table_are_a_pair(tmp_path, names):
    joints = ["head", "left_hand", "right_hand"]
    header = [names.format(joint=j, n=n, axis=axis) for n in "12" for j in joints for axis in "xyz"]
    file = tmp_path / "push.csv"
    file.write_text(
        ",".join(header) + "\n" + "\n".join(",".join(map(str, range(t, t + 18))) for t in range(4))
    )
    (both,) = readers.read(file)
    assert [len(body) for body in both.layout.bodies] == [3, 3]
    assert both.layout.joints == tuple(f"{joint}_{n}" for n in "12" for joint in joints)
    assert both.joints[1, 3].tolist() == [10, 11, 12]


def test_a_pair_comes_back_from_a_table(tmp_path):
    rng = np.random.default_rng(0)
    ann, bob = (
        SkeletonSequence(rng.normal(size=(5, 20, 3)), layout=KINECT_20, fps=30) for _ in range(2)
    )
    readers.write([pair(ann, bob)], tmp_path / "pair.csv")
    (both,) = readers.read(tmp_path / "pair.csv")
    assert both.layout == pair(ann, bob).layout
    assert_allclose(split_bodies(both)[1].joints, bob.joints)


def test_knuckles_are_not_bodies(tmp_path):
    names = ["thumb_1", "index_1", "thumb_2", "index_2"]
    file = tmp_path / "grab.csv"
    file.write_text(
        ",".join(f"{name}_{axis}" for name in names for axis in "xyz")
        + "\n"
        + ",".join("0" * 12)
        + "\n"
    )
    (hand,) = readers.read(file)
    assert len(hand.layout.bodies) == 1
