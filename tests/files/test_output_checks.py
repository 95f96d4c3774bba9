from __future__ import annotations

import os
import shutil

import pytest

from kerneton.exceptions import MissingExtraError, ParameterError
from kerneton.files import output
from kerneton.files.output import check_outputs, write_text


def test_what_can_be_written_passes(tmp_path):
    check_outputs(
        [tmp_path / "new" / "deep" / "a.json", tmp_path / "b.csv", "-", "/dev/null", "/dev/stdout"]
    )
    check_outputs([], folders=[tmp_path, tmp_path / "new"])
    assert not (tmp_path / "new").exists()


def test_every_problem_is_told(tmp_path):
    (tmp_path / "in.csv").write_text("x")
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.csv")
    bad = [tmp_path, tmp_path / "link.csv", tmp_path / "in.csv" / "a.json", tmp_path / ("n" * 300)]
    with pytest.raises(ParameterError) as caught:
        check_outputs(bad, inputs=[tmp_path / "in.csv"], folders=[tmp_path / "in.csv"])
    told = str(caught.value)
    for words in (
        "a folder; name a file",
        "would overwrite an input file",
        "is not a folder",
        "longer than",
        "not a folder; name",
    ):
        assert words in told


def test_one_file_for_two_results(tmp_path):
    with pytest.raises(ParameterError, match="given for two outputs"):
        check_outputs([tmp_path / "a", tmp_path / "a"])


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may write anywhere"
)
def test_folders_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ParameterError, match="cannot be written to"):
            check_outputs([tmp_path / "a"])
    finally:
        tmp_path.chmod(0o700)


def test_a_full_disk_and_a_missing_library(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10))
        with pytest.raises(ParameterError, match="no space left"):
            check_outputs([tmp_path / "a"])
    monkeypatch.setattr(output, "find_spec", lambda _: None)
    check_outputs([tmp_path / "a.json"])
    with pytest.raises(MissingExtraError, match=r"kerneton\[plot\]"):
        check_outputs([], pictures=[tmp_path / "a"])


def test_outputs_do_not_become_recordings_of_what_is_read(tmp_path):
    (tmp_path / "data").mkdir()
    check_outputs(
        [tmp_path / "data" / "model.kern", tmp_path / "all.npz"], inputs=[tmp_path / "data"]
    )
    for name in (
        "all.npz",
        "deep/labels.csv",
        "report.json",
        "a.c3d",
        "a.asf",
        "a.skeleton",
        "long.eaf",
    ):
        with pytest.raises(ParameterError, match="would be read as a recording of"):
            check_outputs([tmp_path / "data" / name], inputs=[tmp_path / "data"])
    with pytest.raises(ParameterError, match="would be read as recordings of"):
        check_outputs([], folders=[tmp_path / "data" / "new"], inputs=[tmp_path / "data"])


def test_names_with_a_nul(tmp_path):
    """No system has such files; from a shell they cannot come."""
    name = str(tmp_path / "a\0b.csv")
    with pytest.raises(ParameterError, match="no possible name"):
        check_outputs([name, name], inputs=[tmp_path])
    with pytest.raises(ParameterError, match="no possible name"):
        check_outputs([], folders=[name], inputs=[tmp_path])
    with pytest.raises(OSError, match="no possible name"):
        write_text(name, "x")
