"""Loaders of NTU, NW-UCLA, HDM05, SHREC'17 and DHG on small files in the published forms."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from samples import AMC, ASF, split_bodies
from sklearn.dummy import DummyClassifier
from walks import walk

from kerneton import evaluate, load_dataset, make_recognizer
from kerneton.data.layouts import HDM_31, KINECT_20, KINECT_25
from kerneton.datasets._gestures import HAND_22, whole_numbers
from kerneton.datasets.protocols import XSUB, CrossSetup, CrossSubject, CrossView, get_protocol
from kerneton.exceptions import DataError, FormatError, MissingDataError, ParameterError
from kerneton.files.readers.amc import ENDS

UPRIGHT = walk(6, 25, seed=3) + [0, 0, 3]


def skeleton_file(path, *bodies):
    """A file of NTU: the bodies are (frames, joints), frames numbered from 0."""
    n = 1 + max((max(frames) for frames, _ in bodies), default=0)
    lines = [str(n)]
    for t in range(n):
        here = [
            (i, joints[frames.index(t)]) for i, (frames, joints) in enumerate(bodies) if t in frames
        ]
        lines.append(str(len(here)))
        for i, pose in here:
            lines += [f"{72057 + i} 0 1 1 1 1 0 0.02 0.1 2", "25"]
            lines += [" ".join(f"{v:.6f}" for v in joint) + " 0" * 8 + " 2" for joint in pose]
    path.write_text("\n".join(lines) + "\n")


def one(frames=6, seed=0):
    return list(range(frames)), UPRIGHT[:frames] + 0.01 * seed


@pytest.fixture
def ntu_home(tmp_path):
    folder = tmp_path / "ntu60" / "nturgb+d_skeletons"
    folder.mkdir(parents=True)
    for subject in (1, 2, 3):
        for action in (1, 60):
            skeleton_file(
                folder / f"S001C{subject:03d}P{subject:03d}R001A{action:03d}.skeleton", one()
            )
    skeleton_file(
        folder / "S001C002P001R002A060.skeleton", one(), (list(range(6)), UPRIGHT + [1.0, 0, 0])
    )
    skeleton_file(folder / "S002C003P003R001A001.skeleton")  # nobody
    (folder / "S002C002P001R001A001.skeleton").write_text("damaged")
    listed = tmp_path / "ntu60" / "NTU_RGBD_samples_with_missing_skeletons.txt"
    listed.write_text("Samples:\nS002C002P001R001A001\n")
    return tmp_path


def test_ntu_from_its_files(ntu_home, caplog):
    data = load_dataset("ntu60", ntu_home)
    assert len(data) == 7
    assert data.name == "ntu60"
    assert [reason.split(": ")[1] for reason in data.left_out] == [
        "listed by the publisher as damaged",
        "no body in any frame",
    ]
    assert "2 recordings are left out: S002C002P001R001A001" in caplog.text
    assert {s.layout.name for s in data} == {"kinect25+kinect25"}
    assert {s.joints.dtype for s in data} == {np.dtype(np.float32)}
    assert (data[0].label, data[0].subject, data[0].name) == (
        "A001",
        "P001",
        "S001C001P001R001A001",
    )
    two = data[[s.name for s in data].index("S001C002P001R002A060")]
    first, second = split_bodies(two)
    assert_allclose(second.joints - first.joints, np.ones((6, 25, 1)) * [1, 0, 0], atol=1e-5)
    single = load_dataset("ntu60", ntu_home, people=1)
    assert {s.layout for s in single} == {KINECT_25}
    assert [s.name for s in single] == [s.name for s in data]


def test_who_is_alone_looks_at_a_copy(ntu_home):
    from kerneton.prepare.poses import facing

    body = UPRIGHT[:1] + 0.01 * (UPRIGHT - UPRIGHT[:1])  # hardly moves
    path = next(ntu_home.rglob("S001C001P001R001A001.skeleton"))
    skeleton_file(path, (list(range(6)), body))
    lone = load_dataset("ntu60", ntu_home)[0]
    first, partner = split_bodies(lone)
    assert_allclose(first.joints, body, atol=1e-5)
    assert_allclose(partner.joints[..., 1], first.joints[..., 1], atol=1e-5)
    assert_allclose(
        np.diff(partner.joints, axis=0)[..., 0], -np.diff(first.joints, axis=0)[..., 0], atol=1e-5
    )
    middle = [np.mean(b.joints[:, 0], axis=0) for b in (first, partner)]
    assert np.linalg.norm(middle[1] - middle[0]) == pytest.approx(1, abs=1e-5)
    apart = float(facing(lone.joints, lone.layout))  # by the line between both
    assert apart == pytest.approx(float(facing(first.joints, KINECT_25)), abs=0.05)


def test_ntu_from_the_pickle(ntu_home):
    plain = {s.name: s for s in load_dataset("ntu60", ntu_home)}
    annotations = []
    for name, recording in plain.items():
        bodies = split_bodies(recording)
        there = bodies if name.endswith("R002A060") else bodies[:1]
        keypoint = np.stack([body.joints for body in there]).astype(np.float16)
        label = int(name[-3:]) - 1
        annotations.append(
            {"frame_dir": name, "label": label, "total_frames": 6, "keypoint": keypoint}
        )
    content = {"split": {"xsub_train": []}, "annotations": annotations}
    (ntu_home / "ntu60" / "ntu60_3danno.pkl").write_bytes(pickle.dumps(content))
    data = load_dataset("ntu60", ntu_home)
    assert [s.name for s in data] == sorted(plain)
    for s in data:
        assert (s.label, s.subject) == (plain[s.name].label, plain[s.name].subject)
        assert_allclose(s.joints, plain[s.name].joints, atol=0.02)
    annotations[0]["frame_dir"] = "mine"
    (ntu_home / "ntu60" / "ntu60_3danno.pkl").write_bytes(pickle.dumps(content))
    with pytest.raises(
        FormatError, match="expected names such as S001C002P003R002A013, got 'mine'"
    ):
        load_dataset("ntu60", ntu_home)


def test_ntu_that_is_not_there(tmp_path):
    with pytest.raises(MissingDataError, match=r"NTU RGB\+D: no folder .*ntu60"):
        load_dataset("ntu60", tmp_path)
    (tmp_path / "ntu60").mkdir()
    with pytest.raises(MissingDataError, match=r"neither ntu60_3danno\.pkl nor \.skeleton files"):
        load_dataset("ntu60", tmp_path)
    skeleton_file(tmp_path / "ntu60" / "S001C001P001R001A061.skeleton", one())
    with pytest.raises(FormatError, match=r"1 recordings of actions above A060.*NTU RGB\+D 120"):
        load_dataset("ntu60", tmp_path)
    with pytest.raises(ParameterError, match="people must be one of 1, 2"):
        load_dataset("ntu60", tmp_path, people=3)
    (tmp_path / "ntu120").mkdir()
    skeleton_file(tmp_path / "ntu120" / "S018C001P050R001A120.skeleton", one())
    (recording,) = load_dataset("ntu120", tmp_path)
    assert (recording.label, recording.subject) == ("A120", "P050")
    (tmp_path / "ntu120" / "mine.skeleton").write_text("")
    with pytest.raises(
        FormatError, match=r"expected a name such as S001C002P003R002A013\.skeleton"
    ):
        load_dataset("ntu120", tmp_path)


def test_protocols_of_ntu(ntu_home):
    assert (len(XSUB), sum(subject <= 40 for subject in XSUB)) == (53, 20)
    data = load_dataset("ntu60", ntu_home)
    assert get_protocol(None, data) == CrossSubject()
    ((train, test),) = get_protocol("xsub", data).split(data)
    assert {data[i].subject for i in train} == {"P001", "P002"}
    assert {data[i].subject for i in test} == {"P003"}
    ((train, test),) = CrossView().split(data)
    assert {s.name[4:8] for s in data.select(test)} == {"C001"}
    assert {s.name[4:8] for s in data.select(train)} == {"C002", "C003"}
    even = [s.replace(name=s.name.replace("S001", "S002")) for s in data[:3]]
    ((train, test),) = CrossSetup(allow_unseen=True).split([*even, *data[3:]])
    assert (train.tolist(), test.tolist()) == ([0, 1, 2], [3, 4, 5, 6])
    with pytest.raises(DataError, match="protocol 'xset' leaves nothing to test"):
        list(CrossSetup().split(even))
    with pytest.raises(DataError, match="protocol 'xview' finds the camera in names"):
        list(CrossView().split([s.replace(name="mine") for s in data]))
    report = evaluate(make_recognizer(view="free", mirror=False), data)
    assert [len(split.true) for split in report.splits] == [2]
    with pytest.raises(ParameterError, match="scratch is for recognisers, got DummyClassifier"):
        evaluate(DummyClassifier(), data, scratch=ntu_home / "scratch")


@pytest.fixture
def ucla_home(tmp_path):
    folder = tmp_path / "nw_ucla" / "all_sqe"
    folder.mkdir(parents=True)
    for subject, camera in ((1, 1), (1, 2), (2, 3)):
        content = {"file_name": "x", "skeletons": walk(5, 20).tolist(), "label": 11}
        (folder / f"a11_s{subject:02d}_e00_v{camera:02d}.json").write_text(json.dumps(content))
    return tmp_path


def test_nw_ucla(ucla_home):
    data = load_dataset("nw_ucla", ucla_home)
    assert [(s.label, s.subject) for s in data] == [("throw", "1"), ("throw", "1"), ("throw", "2")]
    assert data.layout == KINECT_20
    assert_allclose(data[0].joints, walk(5, 20), atol=1e-6)
    ((train, test),) = get_protocol(None, data).split(data)
    assert (train.tolist(), test.tolist()) == ([0, 1], [2])
    path = ucla_home / "nw_ucla" / "all_sqe" / "a11_s01_e00_v01.json"
    for content in (
        "[",
        "{}",
        '{"skeletons": [[1, 2], [3]]}',
        '{"skeletons": [[["x"]]]}',
        "[" * 10**5,
    ):
        path.write_text(content)
        with pytest.raises(FormatError, match=r"a11_s01_e00_v01\.json: expected JSON with lists"):
            load_dataset("nw_ucla", ucla_home)
    path.write_text('{"skeletons": [[[1, 2, 3]]]}')
    with pytest.raises(FormatError, match="expected frames x 20 x 3 numbers, got 1 x 1 x 3"):
        load_dataset("nw_ucla", ucla_home)
    path.rename(path.with_name("a07_s01_e00_v01.json"))
    with pytest.raises(FormatError, match=r"expected a name such as a01_s01_e00_v01\.json"):
        load_dataset("nw_ucla", ucla_home)
    with pytest.raises(MissingDataError, match="Northwestern-UCLA"):
        load_dataset("nw_ucla", ucla_home / "elsewhere")


def gesture_files(folder, rows, file):
    for g, f, s, e, *_ in rows:
        place = folder / f"gesture_{g}/finger_{f}/subject_{s}/essai_{e}"
        place.mkdir(parents=True)
        np.savetxt(place / file, walk(8, 22, seed=g + f + s + e).reshape(8, -1), fmt="%.6f")


def test_shrec17(tmp_path):
    folder = tmp_path / "shrec17"
    train = [(1, 1, 1, 1, 1, 1, 8), (14, 2, 3, 1, 14, 28, 8), (14, 2, 4, 2, 14, 28, 8)]
    test = [(1, 1, 28, 5, 1, 1, 8)]
    gesture_files(folder, train + test, "skeletons_world.txt")
    for name, rows in (("train", train), ("test", test)):
        (folder / f"{name}_gestures.txt").write_text(
            "".join(" ".join(map(str, r)) + "\n" for r in rows)
        )
    data = load_dataset("shrec17", tmp_path)
    assert [s.label for s in data] == ["grab", "shake", "shake", "grab"]
    assert [s.label for s in load_dataset("shrec17", tmp_path, gestures=28)][
        1
    ] == "shake, whole hand"
    assert data[3].subject == "28"
    assert data.layout == HAND_22
    assert_allclose(data[0].joints, walk(8, 22, seed=4), atol=1e-6)
    ((train_at, test_at),) = get_protocol(None, data).split(data)
    assert_array_equal(np.concatenate([train_at, test_at]), range(4))
    with pytest.raises(ParameterError, match="gestures must be one of 14, 28"):
        load_dataset("shrec17", tmp_path, gestures=13)
    (folder / "gesture_1/finger_1/subject_1/essai_1/skeletons_world.txt").unlink()
    with pytest.raises(MissingDataError, match="1 of 4 files are not in"):
        load_dataset("shrec17", tmp_path)
    (folder / "test_gestures.txt").write_text("1 1 29 5 1 1 8\n")
    with pytest.raises(FormatError, match=r"test_gestures\.txt, line 1: expected 7 whole numbers"):
        load_dataset("shrec17", tmp_path)
    (folder / "test_gestures.txt").write_text("1 1 1 1 1 1 8\n")
    with pytest.raises(FormatError, match="listed twice"):
        load_dataset("shrec17", tmp_path)


@pytest.mark.parametrize("seed", range(20))
def test_lists_of_anything(tmp_path, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path / "list.txt"
    words = [b"1", b"14", b" ", b"\n", b"\xff", b"-1", b"1e3", b"9" * 5000, "\u0663".encode()]
    path.write_bytes(b"".join(words[i] for i in rng.integers(0, len(words), 40)))
    try:
        rows = whole_numbers(path, 6, (14, 2, 20, 5))
    except FormatError as error:
        assert "list.txt, line " in str(error)  # noqa: PT017
    else:
        assert rows.shape[1] == 6


def test_dhg14(tmp_path):
    folder = tmp_path / "dhg14"
    rows = [(2, 1, 1, 1, 2, 5), (2, 2, 20, 5, 0, 7), (3, 2, 20, 5, 1, 8)]
    gesture_files(folder, rows, "skeleton_world.txt")
    cuts = folder / "informations_troncage_sequences.txt"
    cuts.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    data = load_dataset("dhg14", tmp_path, gestures=28)
    assert [s.label for s in data] == ["tap, one finger", "tap, whole hand", "expand, whole hand"]
    assert [s.n_frames for s in data] == [4, 8, 7]
    assert_allclose(data[0].joints, walk(8, 22, seed=5)[2:6], atol=1e-6)
    assert get_protocol(None, data).name == "leave-one-subject-out"
    cuts.write_text("2 1 1 1 2 9\n")
    with pytest.raises(FormatError, match=r"8 frames, but .* cuts it from 2 to 9"):
        load_dataset("dhg14", tmp_path)
    cuts.write_text("2 1 1 1 two 9\n")
    with pytest.raises(FormatError, match="line 1: expected 6 whole numbers"):
        load_dataset("dhg14", tmp_path)


def test_halves_of_hdm05():
    from kerneton.datasets.hdm05 import _halves

    labels = np.array(["a"] * 5 + ["b"] * 4 + ["c"])
    train, test = _halves(labels, 0)
    assert_array_equal(np.sort(np.concatenate([train, test])), range(10))
    assert sorted(labels[train].tolist()) == ["a", "a", "b", "b", "c"]
    assert not np.array_equal(train, _halves(labels, 1)[0])


def test_hdm05_names(tmp_path):
    folder = tmp_path / "hdm05"
    folder.mkdir()
    with pytest.raises(MissingDataError, match="HDM05"):
        load_dataset("hdm05", tmp_path)
    (folder / "mine.amc").write_text(":DEGREES\n")
    with pytest.raises(FormatError, match=r"expected a name such as HDM_bd_clap5Reps_001_120\.amc"):
        load_dataset("hdm05", tmp_path)
    assert len(HDM_31.joints) == 31


def hdm_asf():
    """The skeleton of HDM05 with every bone a tenth long: its bones by the joint at their far
    end.
    """
    ends = {joint: bones[0] for part in ENDS for joint, bones in part.items()}
    names = {joint: bone_of(joint, ends) for joint in HDM_31.joints}
    parts = [":version 1.10", ":name HDM", ":units", "  mass 1.0", "  length 1.0", "  angle deg"]
    parts += [
        ":root",
        "  order TX TY TZ RX RY RZ",
        "  axis XYZ",
        "  position 0 0 0",
        "  orientation 0 0 0",
    ]
    parts += [":bonedata"]
    for i, (_, child) in enumerate(HDM_31.bones, 1):
        joint = HDM_31.joints[child]
        parts += ["  begin", f"    id {i}", f"    name {names[joint]}", "    direction 0 1 0"]
        parts += ["    length 4", "    axis 0 0 0 XYZ", "  end"]
    parts += [":hierarchy", "  begin"]
    for a, b in HDM_31.bones:
        parent = "root" if HDM_31.joints[a] == "hip_center" else names[HDM_31.joints[a]]
        parts.append(f"    {parent} {names[HDM_31.joints[b]]}")
    return "\n".join([*parts, "  end", ""])


def bone_of(joint, ends):
    """The bone that ends in a joint; those of the sides begin with l or r."""
    side, _, part = joint.partition("_")
    return side[0] + ends.get(part, part) if side in ("left", "right") else ends.get(joint, joint)


def test_hdm05(tmp_path):
    folder = tmp_path / "hdm05" / "clap5Reps"
    folder.mkdir(parents=True)
    amc = "#!OML:ASF\n:FULLY-SPECIFIED\n:DEGREES\n" + "".join(
        f"{t}\nroot {t} 2 3 0 0 0\n" for t in (1, 2, 3)
    )
    for subject in ("bd", "mm"):
        (folder / f"HDM_{subject}.asf").write_text(hdm_asf())
        for take in (1, 2):
            (folder / f"HDM_{subject}_clap5Reps_{take:03d}_120.amc").write_text(amc)
    data = load_dataset("hdm05", tmp_path)
    assert [(s.label, s.subject, s.fps) for s in data][1:3] == [
        ("clap5Reps", "bd", 120),
        ("clap5Reps", "mm", 120),
    ]
    assert data.layout.joints == HDM_31.joints
    steps = np.diff(data[0].joints, axis=0)
    assert_allclose(steps, steps[0, 0] * np.ones((2, 31, 1)), atol=1e-5)
    assert len(data.splits) == 10
    (folder / "HDM_bd.asf").write_text(ASF)
    (folder / "HDM_bd_clap5Reps_001_120.amc").write_text(AMC)
    with pytest.raises(
        FormatError, match="its ASF skeleton is not HDM05's, whose 31 joints are known"
    ):
        load_dataset("hdm05", tmp_path)
