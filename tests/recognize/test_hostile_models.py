"""Model files with right checksums and wrong content: refused with a `ModelFileError` that names
the file, or harmless.
"""

from __future__ import annotations

import io
import json
import os
import tracemalloc
import zipfile

import numpy as np
import pytest
from model_fuzz import members, npy, seal

import kerneton
from kerneton import make_actions, make_recognizer
from kerneton.cli import main
from kerneton.exceptions import KernetonError, ModelFileError

LONE = "\ud800"  # half of a character: cannot be printed or written as UTF-8
VALUES = {
    "null": None,
    "number": 5,
    "text": "x",
    "list": [],
    "object": {},
    "nested list": [[1, [2]], {"a": [None]}],
    "surrogate": LONE,
    "surrogates": [LONE, LONE, LONE],
    "escapes": ["\x1b[2J", "b", "c"],
    "huge float": 1e308,
    "object of odd things": {
        "labels": 5,
        "frames": "x",
        "subjects": {},
        "date": [],
        "kerneton": None,
        "name": 3,
    },
    "object of lists": {
        k: [] for k in ("labels", "frames", "subjects", "date", "kerneton", "recordings", "name")
    },
    "object of surrogates": dict.fromkeys(
        ("labels", "frames", "subjects", "date", "kerneton", "name"), LONE
    ),
    "deep counts": {
        "labels": {"wave": "many", LONE: -1},
        "frames": {"min": None, "max": "x", "median": []},
    },
}
PLACES = ("training", "written_by", "labels", "layouts")
CASES = [f"{place}: {kind}" for place in PLACES for kind in VALUES]


@pytest.fixture(scope="module")
def actions():
    return make_actions(["wave", "clap", "bow"], n_subjects=2, n_takes=1)


@pytest.fixture(scope="module")
def model(actions, tmp_path_factory):
    """The parts of a small model's file."""
    fitted = make_recognizer("paper", kernel="sck").fit(actions, actions.labels)
    file = tmp_path_factory.mktemp("models") / "sound.kern"
    if hasattr(fitted, "save"):
        fitted.save(file, data=actions)
    else:
        kerneton.save(fitted, file, data=actions)
    return members(file.read_bytes())


def changed(model, path, change):
    """A file with a changed header and right checksums."""
    header = json.loads(model["model.json"])
    change(header)
    path.write_bytes(seal({**model, "model.json": json.dumps(header).encode()}))
    return path


def attempt(path, recordings, capsys):
    """Load, predict, describe, by the library and by the commands; anything but a clear error is
    raised.
    """
    try:
        loaded = kerneton.load(path)
    except ModelFileError as error:
        said = str(error)
        assert str(path) in said
        said.encode()
    else:
        assert len(loaded.predict(recordings)) == len(recordings)
        repr(loaded)
    recording = path.with_name("one.npz")
    kerneton.write(recordings[:1], recording)
    for command in (
        ["info", str(path)],
        ["predict", str(path), str(recording), "--json", "-"],
        ["explain", str(path), str(recording)],
    ):
        assert main(command) in (0, 1)
    said = capsys.readouterr()
    (said.out + said.err).encode()
    assert "\x1b" not in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("case", CASES)
def test_odd_json(case, model, actions, tmp_path, capsys):
    place, kind = case.split(": ")

    def change(header):
        header[place] = VALUES[kind]

    attempt(changed(model, tmp_path / "odd.kern", change), list(actions), capsys)


@pytest.mark.parametrize(
    "place", ["no training", "no written_by", "no labels", "no layouts", "no model"]
)
def test_missing_parts(place, model, actions, tmp_path, capsys):
    path = changed(model, tmp_path / "odd.kern", lambda header: header.pop(place.split()[1]))
    attempt(path, list(actions), capsys)


NUMBERS = {
    "digits": "1" + "0" * 5000,
    "infinite": "1e999",
    "not a number": "NaN",
    "negative zero": "-0",
}


@pytest.mark.parametrize("kind", list(NUMBERS))
def test_numbers_that_json_allows(kind, model, actions, tmp_path, capsys):
    text = model["model.json"].decode()
    for key in ("n_joints", "max_iter", "tol", "root", "median"):
        start = text.find(f'"{key}":')
        if start < 0:
            continue
        start += len(key) + 3
        end = min(i for i in (text.find(c, start) for c in ",}\n") if i > 0)
        path = tmp_path / f"{key}.kern"
        path.write_bytes(
            seal({**model, "model.json": (text[:start] + NUMBERS[kind] + text[end:]).encode()})
        )
        attempt(path, list(actions), capsys)


@pytest.mark.parametrize("name", ["a\0b.kern", "x" * 5000, "y" * 300 + ".kern"])
def test_names_that_no_file_can_have(name, tmp_path):
    with pytest.raises(KernetonError):
        kerneton.load(os.path.join(tmp_path, name))


def test_steps_that_share_one_array(model, tmp_path):
    """A file of n bytes unpacks to a few n, however often its steps name the same array."""
    path, largest = tmp_path / "sharing.kern", 0.0
    for copies in (10, 60, 250, 1000):
        header = json.loads(model["model.json"])
        assert repeated(header["model"], copies), (
            "no list of objects with arrays: find another way to repeat one"
        )
        path.write_bytes(seal({**model, "model.json": json.dumps(header).encode()}))
        tracemalloc.start()
        try:
            kerneton.load(path)
        except ModelFileError:
            pass
        finally:
            largest = max(largest, tracemalloc.get_traced_memory()[1] / path.stat().st_size)
            tracemalloc.stop()
    assert largest < 8, f"{largest:.1f} times the size of the file"


def test_how_training_files_were_read_is_text(model, actions, tmp_path, capsys):
    def change(header):
        header["training"]["conventions"] = {"reading": {"columns": "x\x1b[2J,y"}}

    attempt(changed(model, tmp_path / "odd.kern", change), list(actions), capsys)


def test_labels_without_nul(model, tmp_path):
    new = {"labels": ["a\0b", "b", "c"], "dtype": "<U3"}
    path = changed(
        model, tmp_path / "nul.kern", lambda header: placed(header["model"], "classes", new)
    )
    with pytest.raises(ModelFileError, match="labels that are not text"):
        kerneton.load(path)


def repeated(value, copies):
    """Repeat the items of the first list whose items name arrays; whether there was one."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, list):
        named = [
            item
            for item in value
            if isinstance(item, list) and len(item) == 2 and '"mean"' in json.dumps(item)
        ]
        named += [
            item for item in value if isinstance(item, dict) and '"array"' in json.dumps(item)
        ]
        if named:
            item = named[0]
            at = value.index(item)
            if isinstance(item, dict):
                value[at:at] = [item] * copies
            else:
                value[at:at] = [[f"{item[0]}{i}", item[1]] for i in range(copies)]
            return True
    return any(repeated(item, copies) for item in inner)


def test_arrays_that_say_they_are_larger(model, tmp_path):
    """The header of an array promises more than the file holds."""
    name = next(n for n in model if n.startswith("arrays/"))
    content = npy(np.zeros(4))
    huge = content.replace(b"(4,), ", b"(4000000000000,), ", 1)
    path = tmp_path / "huge.kern"
    path.write_bytes(seal({**model, name: huge}))
    with pytest.raises(ModelFileError, match=r"huge\.kern"):
        kerneton.load(path)


def test_an_archive_that_unpacks_without_end(model, tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in model.items():
            archive.writestr(name, part if name != "model.json" else b" " * 200_000_000 + part)
    path = tmp_path / "bomb.kern"
    path.write_bytes(out.getvalue())
    with pytest.raises(ModelFileError, match=r"bomb\.kern"):
        kerneton.load(path)


def placed(value, key, new):
    """Put a new value under a key wherever it occurs."""
    for name, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if name == key:
            value[name] = new
        elif isinstance(inner, (dict, list)):
            placed(inner, key, new)


@pytest.mark.parametrize(
    ("key", "new", "said"),
    [
        (
            "classes",
            {"labels": ["a" * 20_000, *map(str, range(50_000))], "dtype": "<U20000"},
            "too many",
        ),
        ("n_pivots_joint", 40, "more features than the file has numbers"),
    ],
)
def test_small_files_that_would_need_gigabytes(key, new, said, model, tmp_path):
    """One long label gives its room to all; tensors grow with the third power of the pivots."""
    path = changed(model, tmp_path / "large.kern", lambda header: placed(header["model"], key, new))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=said):
            kerneton.load(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
