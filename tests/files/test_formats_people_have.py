"""The formats people have: each is read, or refused with the sentence that helps.

None may end in "unknown format", or in an absurd proposal of columns.
"""

from __future__ import annotations

import gzip
import io
import os
import pickle

import numpy as np
import published
import pytest
from numpy.testing import assert_allclose

import kerneton
from kerneton.exceptions import DataError, FormatError, KernetonWarning
from kerneton.files import readers

PERSON = len(published.MARKERS)


def npy(array):
    memory = io.BytesIO()
    np.save(memory, array)
    return memory.getvalue()


def npz(**arrays):
    memory = io.BytesIO()
    np.savez(memory, **arrays)
    return memory.getvalue()


# name of the file, content, format, joints, recordings
READ = [
    ("motive.csv", published.motive, "mocap_tables", PERSON, 1),
    ("nexus.csv", published.nexus, "mocap_tables", PERSON, 1),
    ("qualisys.tsv", published.qualisys, "mocap_tables", PERSON, 1),
    ("visual3d.txt", published.visual3d, "mocap_tables", PERSON, 1),
    ("pos_global.sto", published.body_kinematics, "opensim", PERSON, 1),
    ("markers.sto", published.vec3_sto, "opensim", PERSON, 1),
    ("walk.mvnx", published.mvnx, "mvnx", 23, 1),
    ("azure.json", published.azure_kinect, "body_json", 32, 2),
    ("zed34.json", published.zed, "body_json", 34, 1),
    ("zed18.json", lambda: published.zed(18), "body_json", 18, 1),
    ("zed38.json", lambda: published.zed(38), "body_json", 38, 1),
    ("arkit.json", published.arkit, "body_json", 16, 1),
    ("arkit_rows.json", lambda: published.arkit("rows"), "body_json", 16, 1),
    ("arkit_flat.json", lambda: published.arkit("flat"), "body_json", 16, 1),
    ("vision.json", published.vision_pro, "body_json", 16, 1),
    ("mice.csv", published.deeplabcut_csv, "deeplabcut", 6, 1),
    ("many.csv", lambda: published.deeplabcut_csv(("a", "b", "c")), "deeplabcut", 3, 3),
    ("mouse.h5", published.deeplabcut_h5, "hdf5", 3, 1),
    ("mice.h5", lambda: published.deeplabcut_h5(("a", "b")), "hdf5", 6, 1),
    ("sleap.h5", published.sleap, "hdf5", 6, 1),
    ("sleap1.h5", lambda: published.sleap(1), "hdf5", 3, 1),
    ("movement.nc", published.movement, "hdf5", 3, 1),
    ("raise.glb", published.gltf, "gltf", 3, 1),
    ("raise.gltf", lambda: published.gltf(binary=False), "gltf", 3, 1),
    ("nod.parquet", lambda: published.arrow(".parquet"), "columnar", PERSON, 1),
    ("nod.feather", lambda: published.arrow(".feather"), "columnar", PERSON, 1),
    ("nod.mat", lambda: published.mat(joints=published.person()), "mat", PERSON, 1),
    ("utd.mat", lambda: published.mat(d_skel=np.ones((20, 3, 45))), "mat", 20, 1),
    ("nod.jsonl", published.jsonl, "jsonl", PERSON, 1),
    ("nod.csv.gz", lambda: gzip.compress(published.wide_table()), "gzip_file", PERSON, 1),
    ("nod.mvnx.gz", lambda: gzip.compress(published.mvnx()), "gzip_file", 23, 1),
    (
        "all.zip",
        lambda: published.zipped(
            a_dot_csv=published.wide_table(), b_dot_csv=published.wide_table()
        ),
        "zip_file",
        PERSON,
        2,
    ),
    ("freemocap.npy", lambda: npy(np.ones((9, 553, 3))), "npz", 33, 1),
    ("xyzc.npy", lambda: npy(np.ones((9, 20, 4)) * [1, 2, 3, 0.5]), "npz", 20, 1),
    (
        "st_gcn.npy",
        lambda: npy(np.random.default_rng(0).normal(size=(2, 3, 9, 25, 1))),
        "npz",
        25,
        2,
    ),
]


@pytest.mark.parametrize(
    ("name", "make", "form", "joints", "n"), READ, ids=[row[0] for row in READ]
)
def test_read(name, make, form, joints, n, tmp_path):
    path = tmp_path / name
    path.write_bytes(make())
    assert readers.detect_format(path) == form
    found = kerneton.read(path)
    assert [s.n_joints for s in found] == [joints] * n
    assert all(np.isfinite(s.joints).any() for s in found)


REFUSED = [
    ("ik.mot", published.inverse_kinematics, "joint angles .*Body Kinematics"),
    (
        "angles.csv",
        lambda: b"time,pelvis_tilt,hip_flexion_r\n0,1,2\n1,2,3\n",
        "are angles, rotations",
    ),
    (
        "imu.csv",
        lambda: b"time,acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z\n0,1,2,3,4,5,6\n",
        "acc_x, acc_y, acc_z, gyro_x are angles, rotations or readings of inertial sensors",
    ),
    ("v3d.txt", lambda: published.visual3d("LINK_MODEL_BASED"), "no position; export TARGET"),
    (
        "turn.mvnx",
        lambda: published.mvnx(positions=False),
        "no positions of segments; export from Xsens",
    ),
    (
        "amass.npz",
        lambda: npz(poses=np.zeros((9, 156)), trans=np.zeros((9, 3)), mocap_framerate=60.0),
        r"rotations of a body model \(SMPL, AMASS\), not positions",
    ),
    (
        "smplx.npz",
        lambda: npz(poses=np.zeros((9, 55, 3)), betas=np.zeros(10), trans=np.zeros((9, 3))),
        "not positions of joints",
    ),
    (
        "turns.npy",
        lambda: npy(np.tile([0.5, 0.5, 0.5, 0.5], (9, 20, 1))),
        r"rotations \(quaternions\), not positions",
    ),
    ("both.mat", lambda: published.mat(a=np.ones((20, 3, 25))), "cannot tell frames from joints"),
    ("none.mat", lambda: published.mat(a=np.ones(5)), r"no array of joints \(T, J, 3\), found a"),
    (
        "frame_1.txt",
        lambda: published.yolo_label(1),
        "a recording is a folder with such a file per frame",
    ),
    ("take.fbx", lambda: b"Kaydara FBX Binary  \0", "an FBX file; export it as BVH"),
    ("take.bag", lambda: b"#ROSBAG V2.0\n", "a ROS recording; .*examples/converters/from_ros.py"),
    ("take.mcap", lambda: b"\x89MCAP0\r\n", "a ROS recording; .*examples/converters/from_ros.py"),
    ("take.7z", lambda: b"7z\xbc\xaf\x27\x1c", "an archive; unpack it first"),
]


@pytest.mark.parametrize(("name", "make", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused_with_the_sentence_that_helps(name, make, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(make())
    with pytest.raises(FormatError, match=message) as error:
        kerneton.read(path)
    assert "=head_x" not in str(error.value)
    assert "'head_x'" not in str(error.value)


def test_vertebrae_are_no_left_joints(tmp_path):
    (tmp_path / "walk.mvnx").write_bytes(published.mvnx())
    (walk,) = kerneton.read(tmp_path / "walk.mvnx")
    joints = walk.layout.joints
    assert {"l5", "l3", "t12", "t8", "left_shoulder", "left_elbow", "right_hip"} <= set(joints)
    assert walk.layout.sides[joints.index("l5")] == 0
    assert walk.fps == 60
    assert walk.n_frames == published.N_FRAMES  # without the poses of the calibration
    place = np.random.default_rng(0).normal(size=(23, 3)) + 0.02  # z up in the file
    assert_allclose(walk.joints[0], place[:, [0, 2, 1]] * [1, 1, -1], atol=1e-6)


def test_azure_kinect_is_in_metres_with_y_up(tmp_path):
    (tmp_path / "azure.json").write_bytes(published.azure_kinect())
    first, second = kerneton.read(tmp_path / "azure.json")
    head = first.joints[0, first.layout.joints.index("head")]
    assert head[1] == pytest.approx(0.6)
    assert (first.n_frames, second.n_frames, first.fps) == (5, 1, 30)
    assert first.layout.joints[0] == "hip_center"


def test_transforms_in_every_form_give_the_same(tmp_path):
    expected = np.array(list(published.ARKIT.values()))
    for form in ("columns", "rows", "flat"):
        (tmp_path / "arkit.json").write_bytes(published.arkit(form))
        (found,) = kerneton.read(tmp_path / "arkit.json")
        assert_allclose(found.joints[0], expected)
        assert_allclose(found.joints[4], expected + [0, 0, 0.04])
        assert {"left_wrist", "right_knee", "head"} <= set(found.layout.joints)


def test_gltf_computes_positions(tmp_path):
    (tmp_path / "raise.glb").write_bytes(published.gltf())
    (found,) = kerneton.read(tmp_path / "raise.glb")
    hand = found.joints[:, 2]
    assert_allclose(hand[0], [0.8, 1.5, 0], atol=1e-6)
    assert_allclose(hand[-1], [0.2, 2.1, 0], atol=1e-6)
    turn = np.linspace(0, np.pi / 2, published.N_FRAMES)
    assert_allclose(hand[:, 0], 0.2 + 0.6 * np.cos(turn), atol=1e-6)
    assert found.fps == 4


def test_sleap_and_deeplabcut_keep_animals_apart(tmp_path):
    (tmp_path / "mice.h5").write_bytes(published.sleap())
    (pair,) = kerneton.read(tmp_path / "mice.h5")
    assert pair.subject == "mouse0+mouse1"
    assert pair.layout.joints[:3] == ("snout_1", "ear_1", "tail_base_1")
    assert np.isnan(pair.joints[2, 1]).all()
    (tmp_path / "many.csv").write_bytes(published.deeplabcut_csv(("a", "b", "c")))
    many = kerneton.read(tmp_path / "many.csv")
    assert [s.subject for s in many] == ["a", "b", "c"]
    assert many[0].joints[1, 0].tolist() == [101, 111, 0]


def test_yolo_labels_are_one_recording(tmp_path):
    folder = tmp_path / "wave" / "ann" / "film"
    folder.mkdir(parents=True)
    for name, content in published.yolo_files().items():
        (folder / name).write_bytes(content)
    (film,) = kerneton.load_folder(tmp_path)
    assert (film.label, film.subject, film.n_frames, film.n_joints) == ("wave", "ann", 5, 17)
    assert np.isnan(film.joints[2]).all()
    assert (film.joints[0, :, 1] < 0).all()  # y down in the picture


def test_an_archive_is_the_folder_that_was_packed(tmp_path):
    files = {
        f"{label}__{who}__1_dot_csv": published.wide_table()
        for label in ("bow", "nod")
        for who in "ab"
    }
    (tmp_path / "data.zip").write_bytes(published.zipped(**files))
    data = kerneton.load_folder(tmp_path / "data.zip")
    assert data.labels.tolist() == ["bow", "bow", "nod", "nod"]
    assert data.subjects.tolist() == ["a", "b", "a", "b"]
    assert data.name == "data"
    broken = published.zipped(bow__a__1_dot_csv=b"head_x,head_y\n1,x\n", bow__a__2_dot_csv=b"")
    (tmp_path / "broken.zip").write_bytes(broken)
    with pytest.raises(
        DataError, match=r"2 of 2 files cannot be used: .*broken\.zip/bow/a/1\.csv: line 2"
    ):
        kerneton.load_folder(tmp_path / "broken.zip")


def test_archives_stay_in_their_place_and_within_bounds(tmp_path):
    escape = published.zipped(
        **{"____evil_dot_csv": published.wide_table(), "ok_dot_csv": published.wide_table()}
    )
    (tmp_path / "escape.zip").write_bytes(escape.replace(b"//evil.csv", b"../vil.csv"))
    assert len(kerneton.read(tmp_path / "escape.zip")) == 1
    assert not (tmp_path.parent / "vil.csv").exists()
    bomb = gzip.compress(b"head_x,head_y,head_z\n" + b"0,0,0\n" * 40_000_000, 9)
    (tmp_path / "bomb.csv.gz").write_bytes(bomb)
    with pytest.raises(FormatError, match="unpacks to more memory"):
        kerneton.read(tmp_path / "bomb.csv.gz")
    inner = gzip.compress(gzip.compress(published.wide_table()))
    (tmp_path / "twice.csv.gz.gz").write_bytes(inner)
    with pytest.raises(FormatError):
        kerneton.read(tmp_path / "twice.csv.gz.gz")


def test_padded_arrays_in_files_are_trimmed_with_a_warning(tmp_path):
    x = np.zeros((2, 12, 20, 3))
    x[0, :9], x[1, :7] = 1, 2
    (tmp_path / "all.npy").write_bytes(npy(x))
    with pytest.warns(
        KernetonWarning, match="2 of 2 recordings: frames without any joint at the ends"
    ):
        found = kerneton.read(tmp_path / "all.npy")
    assert [s.n_frames for s in found] == [9, 7]


def test_a_table_of_pandas_is_read_like_its_file(tmp_path):
    pandas = pytest.importorskip("pandas")
    (tmp_path / "nod.csv").write_bytes(published.wide_table())
    (table,) = kerneton.read(pandas.read_csv(tmp_path / "nod.csv"), fps=25)
    (file,) = kerneton.read(tmp_path / "nod.csv", fps=25)
    assert_allclose(table.joints, file.joints)
    assert (table.layout.joints, table.fps) == (file.layout.joints, 25)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".feather"])
def test_what_is_written_comes_back(suffix, tmp_path):
    data = kerneton.make_actions(["bow", "wave"], n_subjects=2, n_takes=1)
    kerneton.write(data, tmp_path / f"all{suffix}")
    back = kerneton.read(tmp_path / f"all{suffix}")
    for old, new in zip(data, back, strict=True):
        assert_allclose(new.joints, old.joints, rtol=0)
        assert (new.label, new.subject, new.name, new.fps) == (
            old.label,
            old.subject,
            old.name,
            old.fps,
        )
        assert new.layout.joints == old.layout.joints


def test_messages_of_two_bodies_are_a_pair(tmp_path):
    lines = [
        f'{{"joints": [[0, {t}, 0], null], "time": {t / 10}, "body": "{who}"}}'
        for t in range(9)
        for who in "ab"
    ]
    (tmp_path / "two.jsonl").write_text("\n".join([*lines, '{"joints": [[0, 1']))
    with pytest.warns(UserWarning, match="the file ends inside this row"):
        (pair,) = kerneton.read(tmp_path / "two.jsonl")
    assert (pair.n_joints, pair.fps, pair.n_frames) == (4, 10, 9)


class Evil:
    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_table_of_deeplabcut_runs_no_code(tmp_path):
    """pandas executes the pickle that names the columns; what it asks for is refused here."""
    h5py = pytest.importorskip("h5py")
    (tmp_path / "mouse.h5").write_bytes(published.deeplabcut_h5())
    with h5py.File(tmp_path / "mouse.h5", "a") as file:
        names = pickle.dumps(Evil(tmp_path / "made"), protocol=0)
        file["df_with_missing/table"].attrs["values_block_0_kind"] = np.bytes_(names)
    with pytest.raises(FormatError, match=r"the pickle asks for .*mkdir, which is not data"):
        kerneton.read(tmp_path / "mouse.h5")
    assert not (tmp_path / "made").exists()


def test_a_text_of_parquet_that_stands_in_every_row_is_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    words = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 20_000, pyarrow.int32()), ["x" * 100_000]
    )
    columns = {"label": words, **{f"head_{axis}": [0.0] * 20_000 for axis in "xyz"}}
    parquet.write_table(pyarrow.table(columns), tmp_path / "long.parquet")
    assert (tmp_path / "long.parquet").stat().st_size < 1 << 20  # and 2 GB as text
    with pytest.raises(FormatError, match="column 'label': a text of more than 10000 letters"):
        kerneton.read(tmp_path / "long.parquet")
