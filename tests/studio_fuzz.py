"""Strangers' folders: ``__studio__`` damaged in every way, opened, searched, taken over, changed,
undone.

Whatever is in it, nothing outside of the folder is touched, and no recording inside is lost.
``python tests/studio_fuzz.py 10000`` tries ten thousand folders; the suite tries some of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from kerneton.data.layouts import KINECT_20
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import KernetonError
from kerneton.files.readers import write
from kerneton.studio import origin
from kerneton.studio.library import Library
from kerneton.studio.models import Models
from kerneton.studio.parcel import pack
from kerneton.studio.place import Place
from kerneton.studio.uploads import staging_path, take_in

LONG = "__studio__/unlabelled/ann/day.npz"
_PATHS = [
    "../victim/thesis.npz", "../victim", "../victim/empty/x", "{victim}/thesis.npz", "{victim}/empty/x", "wave/../../victim/thesis.npz",
    "/etc/passwd", "", ".", "..", "/", "a\0b", "wave", "wave/ann/1.npz", "wave/bob/2.npz", "wave//1.npz", "./wave/ann/1.npz", LONG, "x" * 300,
    "link/thesis.npz", "link", "__studio__", "__studio__/journal.jsonl", "__studio__/id", "__studio__/trash/old.npz", "wave/ann/1.npz/x",
    "\ud800.npz", "wave\u2028x/ann/1.npz", "C:\\victim", "..\\victim\\thesis.npz", "index.csv", "bow/ann/day@2-5.npz", "new/deep/er/x.npz",
]  # fmt: skip
_VALUES = [
    None,
    True,
    0,
    -1,
    1,
    2**63,
    1e308,
    float("nan"),
    "",
    "x",
    [],
    {},
    [[]],
    "../victim",
    {"a": 1},
    ["x"],
    "y" * 5000,
]
_NAMES = ["journal.jsonl", "edits.json", "clips.json", "clips.txt", "lock", "id", "incoming", "unlabelled", "trash", "originals", "models", "set-aside", "index.csv"]  # fmt: skip


def template(at: Path) -> None:
    """A folder that the studio made, with notes, segments, a clip, moves and a model; and a victim
    beside it.
    """
    joints = np.random.default_rng(0).normal(size=(8, 20, 3)) + [0, 1, 2]
    root = at / "moves"
    for number, path in enumerate(("wave/ann/1.npz", "wave/bob/2.npz", "kick/ann/3.npz", LONG)):
        write([SkeletonSequence(joints + number, layout=KINECT_20, fps=30)], root / path)
    library = Library(root)
    library.take_over()
    library.annotate(LONG, segments=[{"start": 2, "stop": 5, "label": "bow"}], note="long")
    library.annotate(
        library.assign(["wave/ann/1.npz"], label="greet")["wave/ann/1.npz"], note="good"
    )
    library.undo()
    library.remove(["kick/ann/3.npz"])
    library.journal.sync()
    model = root / "__studio__" / "models" / "2026-01-31_154500"
    model.mkdir(parents=True)
    (model / "model.kern").write_bytes(b"model")
    figures = {
        "labels": {"wave": 2},
        "frames": 8,
        "fps": 30.0,
        "date": "2026-01-31",
        "recordings": 2,
    }
    (model / "figures.json").write_text(json.dumps(figures))
    (at / "victim" / "empty").mkdir(parents=True)
    write([SkeletonSequence(joints + 9, layout=KINECT_20, fps=30)], at / "victim" / "thesis.npz")
    (at / "victim" / "notes.txt").write_text("keep")


def damage(root: Path, rng: random.Random) -> None:
    """One to four damages to a folder's ``__studio__``."""
    home, victim = root / "__studio__", str(root.parent / "victim")
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(
            ["json", "json", "json", "link", "link", "bytes", "line", "index", "clip"]
        )
        name = rng.choice(_NAMES)
        if kind == "json":
            file = home / rng.choice(["journal.jsonl", "edits.json", "clips.json", "models/2026-01-31_154500/figures.json"])  # fmt: skip
            _damage_json(file, rng, victim)
        elif kind == "link":
            _replace_by_link(root, home, name, rng, victim)
        elif kind == "bytes":
            file = home / name
            if file.is_file() and not file.is_symlink() and (data := bytearray(file.read_bytes())):
                data[rng.randrange(len(data))] = rng.randrange(256)
                file.write_bytes(data[: rng.choice([len(data), rng.randrange(len(data) + 1)])])
        elif kind == "line":
            path = [rng.choice(_PATHS).replace("{victim}", victim) for _ in range(2)]
            steps = rng.choice(
                [[{"move": path}], [{"move": [path[0], "wave/ann/1.npz"]}, {"move": path}]]
            )
            steps += [
                {"edit": [path[1], "segments", None, [{"start": 0, "stop": 3, "label": path[0]}]]}
            ]
            _add(home / "journal.jsonl", rng.choice([{"n": 6}, {"n": 1}, {}]) | {"do": {"what": "x", "steps": steps}})  # fmt: skip
        elif kind == "index":
            rows = [f"{rng.choice(_PATHS)},{rng.choice(_PATHS)},ann".replace("{victim}", victim) for _ in range(3)]  # fmt: skip
            _put(root / "index.csv", "\n".join(["file,label,subject", *rows, ""]))
        else:
            text = [rng.choice(_PATHS).replace("{victim}", victim) for _ in range(3)]
            _put(home / "clips.txt", "\n".join(text))
            _put(home / "clips.json", json.dumps(text))


def _put(file: Path, text: str) -> None:
    if not file.is_symlink() and file.parent.is_dir():
        file.write_bytes(text.encode("utf-8", "surrogatepass"))


def _add(file: Path, line: object) -> None:
    if file.is_file() and not file.is_symlink():
        with file.open("ab") as out:
            out.write(json.dumps(line).encode() + b"\n")


def _damage_json(file: Path, rng: random.Random, victim: str) -> None:
    if not file.is_file() or file.is_symlink():
        return
    try:
        lines = [json.loads(line) for line in file.read_bytes().splitlines()] if "jsonl" in file.name else [json.loads(file.read_bytes())]  # fmt: skip
    except ValueError:
        return
    if lines:
        i = rng.randrange(len(lines))
        lines[i] = _changed(lines[i], rng, victim)
        _put(file, "\n".join(json.dumps(line) for line in lines) + "\n")


def _changed(value: object, rng: random.Random, victim: str) -> object:
    """The value with one leaf, or one name of an object, replaced."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.3:
            return {
                rng.choice(_PATHS).replace("{victim}", victim) if k == key else k: v
                for k, v in value.items()
            }
        return value | {key: _changed(value[key], rng, victim)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        i = rng.randrange(len(value))
        return [*value[:i], _changed(value[i], rng, victim), *value[i + 1 :]]
    return rng.choice([rng.choice(_PATHS).replace("{victim}", victim), rng.choice(_VALUES)])


def _replace_by_link(root: Path, home: Path, name: str, rng: random.Random, victim: str) -> None:
    """A link to the victim where the studio has its own files and folders; what was there is kept
    beside it.
    """
    place = rng.choice([home / name, home / name, home / "models" / "2026-01-31_154500" / "model.kern", root / "greet", root / "bow", root / "link", home / "unlabelled" / "ann" / "x.npz", home])  # fmt: skip
    if place.is_symlink() or any(parent.is_symlink() for parent in place.parents):
        return
    if place.exists():
        place.rename(place.with_name(f"was-{place.name}"))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(
        rng.choice(
            [victim, f"{victim}/thesis.npz", f"{victim}/new", f"{victim}/empty", "wave", "."]
        )
    )


def use(root: Path, rng: random.Random) -> str:
    """Open a folder and do what a user does; what became of it."""
    ours = rng.random() < 0.5
    if ours:  # as if a stranger had changed it after it was made here
        try:
            origin.adopt(Place(root))
        except (KernetonError, OSError):
            ours = False
    try:
        library = Library(root)
    except KernetonError:
        return "refused"
    library.scan()
    state = "ours" if library.foreign is None else "taken over"
    if not ours:
        for change in (library.undo, library.redo, lambda: library.remove(list(library.records))):
            with contextlib.suppress(KernetonError):
                change()
    if library.foreign is not None:
        library.take_over()
    changes = [
        library.undo, library.undo, library.redo, lambda: library.assign(list(library.records)[:3], label="greet"),
        lambda: library.annotate(LONG, segments=[{"start": 1, "stop": 4, "label": "bow"}]), library.journal.sync, library.undo,
        lambda: Models(library).listing(), lambda: Models(library).figures(), lambda: Models(library).choose("2026-01-31_154500"),
        lambda: Models(library).entitle("2026-01-31_154500", "mine"), lambda: library.rename("label", "wave", "greet"),
        lambda: library.rename("subject", "ann", "bob"), lambda: library.trim(next(iter(library.records), ""), 1, 3), library.undo,
        lambda: pack(library, root.parent / "sent.zip"), (root.parent / "sent.zip").unlink,
        lambda: Models(library).remove("2026-01-31_154500"), lambda: library.remove(list(library.records)[:1]), library.undo, library.scan,
        lambda: library.place.write(staging_path(library, "batch0001", "a/b.csv"), b"head_x,head_y,head_z\n0,1,2\n0,1,2\n"),
        lambda: take_in(library, "batch0001", label="nod"), library.undo, library.undo, library.undo, library.redo,
    ]  # fmt: skip
    for change in changes:
        with contextlib.suppress(KernetonError, OSError):
            change()
    Library(root).scan()
    return state


def tree(at: Path) -> list[tuple[str, ...]]:
    """Every name below a folder, with the content of files and the target of links."""
    found = []
    for folder, folders, files in os.walk(at):
        for name in sorted(folders + files):
            path = Path(folder, name)
            if path.is_symlink():
                found.append((str(path), "link", os.readlink(path)))
            elif path.is_file():
                found.append((str(path), "file", hashlib.sha256(path.read_bytes()).hexdigest()))
            else:
                found.append((str(path), "folder"))
    return sorted(found)


def recordings(root: Path) -> Counter[str]:
    """How often there is a recording of each content; files of segments are made again, they do not
    count.
    """
    files = (
        p for p in root.rglob("*.npz") if p.is_file() and not p.is_symlink() and "@" not in p.name
    )
    return Counter(hashlib.sha256(p.read_bytes()).hexdigest() for p in files)


def try_folders(seeds: range, work: Path) -> Counter[str]:
    """Try these folders; an AssertionError names the first one that did harm."""
    model, outcomes = work / "template", Counter[str]()
    template(model)
    for seed in seeds:
        at = work / str(seed)
        shutil.copytree(model, at, symlinks=True)
        rng = random.Random(seed)
        damage(at / "moves", rng)
        outside, inside = tree(at / "victim"), recordings(at / "moves")
        beside = sorted(p.name for p in at.iterdir())
        try:
            outcomes[use(at / "moves", rng)] += 1
        except Exception as error:
            raise AssertionError(f"folder {seed}: {type(error).__name__}: {error}") from error
        assert tree(at / "victim") == outside, f"folder {seed}: something outside has changed"
        assert sorted(p.name for p in at.iterdir()) == beside, (
            f"folder {seed}: something outside is new"
        )
        lost = inside - recordings(at / "moves")
        assert not lost, f"folder {seed}: {sum(lost.values())} recordings are lost"
        shutil.rmtree(at)
    return outcomes


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = os.environ["LOCALAPPDATA"] = f"{folder}/state"
        first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
        print(dict(try_folders(range(first, first + int(sys.argv[1])), Path(folder))))
