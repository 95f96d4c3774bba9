"""The dispatch: content decides, options reach the readers, and errors say what to do."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from samples import SAMPLES, msr_text, npy_bytes, sequence, wide_csv

from kerneton.data.layouts import COCO_17, FLORENCE_15, KINECT_20, MSR_20, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, FormatError, MissingDataError, ParameterError
from kerneton.files import readers


@pytest.mark.parametrize(
    "format", ["joint_rows", "florence_text", "utkinect_text", "ntu", "npz", "pyskl", "csv_table"]
)
def test_content_decides_not_the_name(tmp_path, format):
    for i, make in enumerate(SAMPLES[format]):
        (content,) = make().files.values()
        if format == "pyskl" and not content.startswith(b"\x80"):
            continue  # the two oldest protocols have no mark of their own
        path = tmp_path / f"{i}.dat"
        path.write_bytes(content)
        assert readers.detect_format(path) == format
        assert readers.read(path)


def test_unknown_content(tmp_path):
    path = tmp_path / "film.txt"
    path.write_bytes(bytes(range(256)))
    assert readers.detect_format(path) is None
    with pytest.raises(
        FormatError, match=r"film.txt: unknown format; known formats are film, npz, zip_file"
    ):
        readers.read(path)
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="an empty file"):
        readers.read(path)


def test_missing_files_and_plain_folders(tmp_path):
    with pytest.raises(MissingDataError, match="no such file"):
        readers.read(tmp_path / "none.csv")
    with pytest.raises(FileNotFoundError):
        readers.read(str(tmp_path / "none.csv"))
    with pytest.raises(FormatError, match="a folder of recordings, not one recording"):
        readers.read(tmp_path)


def test_fps_wins_over_the_file(tmp_path):
    path = tmp_path / "wave.csv"
    path.write_bytes(wide_csv())
    assert readers.read(path)[0].fps == 30
    assert readers.read(path, fps=50)[0].fps == 50


def test_layout_names_numbered_joints(tmp_path):
    path = tmp_path / "wave.npy"
    path.write_bytes(npy_bytes(np.ones((5, 17, 3))))
    assert readers.read(path)[0].layout is None
    assert readers.read(path, layout="coco17")[0].layout is COCO_17
    assert readers.read(path, layout=COCO_17)[0].layout is COCO_17
    with pytest.raises(
        ParameterError, match="recording 'wave' has 17 joints, layout 'kinect20' has 20"
    ):
        readers.read(path, layout="kinect20")
    with pytest.raises(
        ParameterError,
        match=r"no layout 'coco' \(did you mean coco17\?\); known layouts are florence15",
    ):
        readers.read(path, layout="coco")


def test_layout_in_place_of_a_wrong_order(tmp_path):
    path = tmp_path / "wave.txt"
    path.write_bytes(msr_text())
    as_msr, as_kinect = readers.read(path)[0], readers.read(path, layout=KINECT_20)[0]
    assert (as_msr.layout, as_kinect.layout) == (MSR_20, KINECT_20)
    assert_array_equal(as_msr.joints, as_kinect.joints)


def test_layout_chooses_named_joints(tmp_path):
    path = tmp_path / "wave.csv"
    path.write_bytes(wide_csv())
    (wave,) = readers.read(path, layout=FLORENCE_15)
    assert wave.layout is FLORENCE_15
    whole = readers.read(path)[0]
    assert_array_equal(
        wave.joints[:, FLORENCE_15.index("left_wrist")],
        whole.joints[:, KINECT_20.index("left_wrist")],
    )
    with pytest.raises(DataError, match="lacks tail"):
        readers.read(path, layout=Layout("animal", ["head", "tail"]))


def test_columns_are_for_tables(tmp_path):
    path = tmp_path / "wave.txt"
    path.write_bytes(msr_text())
    with pytest.raises(
        ParameterError, match="column names are only for tables, but this is joint_rows"
    ):
        readers.read(path, columns=["x"])


def test_write_by_ending(tmp_path):
    wave = sequence()
    for name in ("wave.npz", "wave.csv", "wave.TSV", "wave.pkl"):
        readers.write([wave], tmp_path / name)
        (back,) = readers.read(tmp_path / name)
        assert (back.label, back.subject, back.fps) == ("wave", "ann", 30)
        np.testing.assert_allclose(back.joints, wave.joints, rtol=1e-6)
    readers.write(wave, tmp_path / "one.npz")  # a single recording will do
    with pytest.raises(
        ParameterError, match=r"cannot write '.docx'; choose .npz, .parquet, .feather, .pkl"
    ):
        readers.write([wave], tmp_path / "wave.docx")
    with pytest.raises(ParameterError, match="no recordings to write"):
        readers.write([], tmp_path / "wave.npz")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "wave.csv"
    readers.write([sequence()], path)
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="different joints than the first"):
        readers.write([sequence(), SkeletonSequence(np.ones((2, 3, 3)))], path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["wave.csv"]
