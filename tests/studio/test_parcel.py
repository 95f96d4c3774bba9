"""A folder sent as one file: all is there again, and nothing of a stranger's is done."""

from __future__ import annotations

import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from kerneton import load_folder
from kerneton.exceptions import DataError, FormatError, MissingDataError
from kerneton.studio import parcel
from kerneton.studio.library import Library
from kerneton.studio.models import Models
from kerneton.studio.parcel import pack, unpack

WAVE = "wave/s1/s01_wave_t1.npz"


def made(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def below(root: Path) -> set[str]:
    return {p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()}


@pytest.fixture
def sent(folder, tmp_path):
    library = Library(folder)
    library.scan()
    library.annotate(WAVE, note="left hand")
    library.annotate(
        "kick/s1/s01_kick_t1.npz", segments=[{"start": 5, "stop": 30, "label": "swing"}]
    )
    library.remove(["clap/s1/s01_clap_t1.npz"])
    home = folder / "__studio__" / "models" / "2026-01-31_154500"
    home.mkdir(parents=True)
    (home / "model.kern").write_bytes(b"a model")
    (home / "figures.json").write_text('{"labels": {"wave": 3}}')
    Models(library).entitle(home.name, "for the ward")
    pack(library, tmp_path / "moves.zip")
    return library, tmp_path / "moves.zip"


def test_all_is_there_again_and_waits_to_be_taken_over(sent, tmp_path):
    library, file = sent
    (tmp_path / "colleague").mkdir()
    shutil.copy(file, tmp_path / "colleague")
    root = unpack(tmp_path / "colleague" / "moves.zip", tmp_path / "colleague")
    assert root == tmp_path / "colleague" / "moves"
    there = Library(root)
    there.scan()
    assert there.foreign is not None
    with pytest.raises(Exception, match="take it over"):
        there.remove([WAVE])
    there.take_over()
    assert set(there.records) == set(library.records)
    assert there.journal.edits == library.journal.edits
    assert load_folder(root).labels.tolist() == load_folder(library.root).labels.tolist()
    (model,) = Models(there).listing()
    assert (model["title"], Models(there).path(model["name"]).read_bytes()) == (
        "for the ward",
        b"a model",
    )
    names = set(zipfile.ZipFile(file).namelist())
    assert not any("trash" in name or "journal" in name or name.endswith("/id") for name in names)
    assert unpack(file, tmp_path / "colleague").name == "moves_2"  # nothing is overwritten


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../victim.txt", "not a path inside"),
        ("moves/../../victim.txt", "not a path inside"),
        ("/etc/victim.txt", "not a path inside"),
        ("moves//victim.csv", "not a path inside"),
        ("/".join("abcdefghijklmn"), "more than 12 folders"),
    ],
)
def test_paths_that_lead_out_are_refused(tmp_path, name, why):
    (tmp_path / "in").mkdir()
    file = made(tmp_path / "in" / "a.zip", **{name: b"x"})
    with pytest.raises(FormatError, match=why):
        unpack(file, tmp_path / "in")
    assert below(tmp_path) == {"in/a.zip"}
    assert not (tmp_path / "in" / "a").exists()


def test_links_bombs_and_doubles_are_refused(tmp_path, monkeypatch):
    link = zipfile.ZipInfo("wave/link.csv")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(FormatError, match="a link or a device"):
        unpack(tmp_path / "link.zip", tmp_path)
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("wave/a.csv", "1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("wave/a.csv", "2")
    with pytest.raises(FormatError, match="in it twice"):
        unpack(tmp_path / "two.zip", tmp_path)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("wave/a.csv", b"0" * 10_000_000)
    monkeypatch.setattr(parcel, "_MOST_BYTES", 1 << 20)
    with pytest.raises(FormatError, match="when unpacked"):
        unpack(tmp_path / "bomb.zip", tmp_path)
    lied = bytearray((tmp_path / "bomb.zip").read_bytes())
    at = lied.rindex(b"PK\x01\x02") + 24  # the size that the directory states
    lied[at : at + 4] = (1000).to_bytes(4, "little")
    (tmp_path / "lied.zip").write_bytes(lied)
    with pytest.raises(FormatError):
        unpack(tmp_path / "lied.zip", tmp_path)
    assert not [p for p in tmp_path.iterdir() if p.is_dir() and p.name in ("bomb", "lied", "two")]


def test_what_is_no_parcel_is_said(tmp_path, folder):
    (tmp_path / "text.zip").write_text("hello")
    with pytest.raises(FormatError, match="not a whole zip archive"):
        unpack(tmp_path / "text.zip", tmp_path)
    with pytest.raises(MissingDataError, match="no such file"):
        unpack(tmp_path / "none.zip", tmp_path)
    with pytest.raises(FormatError, match="no recordings"):
        unpack(made(tmp_path / "own.zip", **{"__studio__/id": b"0" * 32}), tmp_path)
    empty = Library(tmp_path / "empty")
    empty.scan()
    with pytest.raises(DataError, match="no recordings to send"):
        pack(empty, tmp_path / "e.zip")


def test_the_studio_s_own_files_of_a_stranger_stay_in_the_archive(tmp_path):
    """A journal, a lock, an id, a list of clips, hidden files: none of them is unpacked."""
    bad = {
        "m/wave/ann/a.csv": b"head_x,head_y,head_z\n0,1,2\n0,1,2\n",
        "m/__studio__/journal.jsonl": b"{}",
        "m/__studio__/clips.json": b"{}",
        "m/__studio__/id": b"0" * 32,
        "m/__studio__/lock": b"",
        "m/__studio__/trash/x.csv": b"",
        "m/__studio__/unlabelled/.hidden": b"",
        "m/__studio__/models/2026-01-31_154500/evil.py": b"",
        "m/__studio__/models/2026-01-31_154500/deep/model.kern": b"",
        "m/.git/config": b"",
        "m/__pycache__/x.py": b"",
    }
    assert below(unpack(made(tmp_path / "m.zip", **bad), tmp_path)) == {"wave/ann/a.csv"}


def test_share_gives_the_file_and_the_models_have_names(server, tmp_path):
    status, body, headers = server.ask("/api/export?format=parcel")
    assert status == 200
    assert 'filename="moves.zip"' in headers["content-disposition"]
    (tmp_path / "got.zip").write_bytes(body)
    root = unpack(tmp_path / "got.zip", tmp_path)
    assert below(root) == {
        name for name in below(server.folder) if not name.startswith("__studio__")
    }
    assert server.ask("/api/models/title", {"name": "2020-01-01_000000", "title": "x"})[0] == 404
