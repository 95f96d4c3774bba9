"""A process that changes a folder is killed at any moment: nothing is lost, nothing is double.

``python tests/studio_kills.py 481`` kills 481 times; the suite kills some times. Every process
opens the folder as the last one left it, completes what that one had begun, and makes changes
(labels, segments, notes, names, trims, removals, drops, undo) until it is killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

from kerneton.data.layouts import KINECT_20
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import KernetonError
from kerneton.files.readers import read, write
from kerneton.studio.clips import clip_paths
from kerneton.studio.library import Library
from kerneton.studio.uploads import staging_path, take_in

_LABELS = ["wave", "clap", "bow"]
_LONGEST = 0.12  # seconds before a kill


def made(root: Path) -> None:
    """Nine recordings, each with frames of its own."""
    for k in range(9):
        path = root / _LABELS[k % 3] / f"s{k // 3}" / f"take {k}.npz"
        write([_take(k)], path)


def _take(k: int) -> SkeletonSequence:
    rng = np.random.default_rng(k)
    return SkeletonSequence(
        rng.normal(size=(40, 20, 3)).astype("f4"), layout=KINECT_20, fps=30, name=f"take {k}"
    )


def change(library: Library, rng: random.Random) -> None:
    """One change of a kind that the page offers."""
    ids = sorted(library.records)
    some = rng.sample(ids, min(len(ids), rng.randint(1, 4)))
    kind = rng.randrange(9)
    with contextlib.suppress(KernetonError):
        if kind == 0 and some:
            library.assign(some, label=rng.choice([*_LABELS, None]))
        elif kind == 1 and some:
            cuts = sorted(rng.sample(range(0, 20), 4))
            both = [
                {"start": cuts[i], "stop": cuts[i + 1], "label": rng.choice([*_LABELS, None])}
                for i in (0, 2)
            ]
            library.annotate(some[0], segments=both[: rng.randint(0, 2)])
        elif kind == 2 and some:
            library.annotate(some[0], note=f"note {rng.random()}")
        elif kind == 3 and some:
            library.rename("label", rng.choice(_LABELS), rng.choice([*_LABELS, "nod"]))
        elif kind == 4 and some:
            library.trim(some[0], 1, library.record(some[0]).info.n_frames)
        elif kind == 5 and some:
            library.remove(some[:1])
        elif kind == 6:
            batch = f"batch{rng.randrange(10**6):06d}"
            take = _take(rng.randrange(10**6))
            name = f"{rng.choice(_LABELS)}/s1/{take.name} {rng.randrange(10**6)}.npz"
            library.place.write_recordings(staging_path(library, batch, name), [take])
            take_in(library, batch)
        elif kind == 7:
            library.redo()
        else:
            library.undo()
    if rng.random() < 0.3:
        library.journal.sync()


def work(root: Path, seed: int, ready: int) -> None:
    """Open the folder and change it until this process is killed."""
    library, rng = Library(root), random.Random(seed)
    library.scan()
    os.write(ready, b"x")
    while True:
        change(library, rng)


def killed(root: Path, seed: int) -> None:
    """One process that works on the folder, and its death."""
    rng = random.Random(seed + 1)
    heard, ready = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(root, seed, ready)
        except BaseException:
            traceback.print_exc()
        os._exit(7)
    os.close(ready)
    if rng.random() < 0.8:  # some die while they open the folder
        os.read(heard, 1)
    os.close(heard)
    time.sleep(rng.uniform(0, _LONGEST))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"kill {seed}: the process ended by itself"


def contents(paths: list[Path]) -> Counter[str]:
    """How often there is a recording with these frames."""
    found = Counter[str]()
    for path in paths:
        for sequence in read(path):
            found[hashlib.sha256(np.ascontiguousarray(sequence.joints).tobytes()).hexdigest()] += 1
    return found


def check(root: Path, originals: Counter[str]) -> None:
    """What must hold of a folder that somebody killed: opened again, it is whole."""
    library = Library(root)
    assert library.foreign is None, library.foreign
    library.scan()
    assert library.fault is None, library.fault
    assert library.broken == {}, library.broken
    clips = set(clip_paths(library.journal.edits))
    files = [
        path
        for path in root.rglob("*.npz")
        if "incoming" not in path.parts and not path.name.startswith(".")
    ]
    cut = {path.relative_to(root).as_posix() for path in files if "@" in path.name}
    listed = {path for path in cut if not path.startswith("__studio__/")}
    live = {path for path, (source, _) in clip_paths(library.journal.edits).items()
            if library.place.is_file(source) and source.startswith("__studio__/unlabelled")}  # fmt: skip
    assert listed == live, f"segments {sorted(listed ^ live)[:3]} of {len(clips)}"
    whole = contents([path for path in files if "@" not in path.name])
    assert not originals - whole, "a recording is lost"
    double = {key: n for key, n in whole.items() if key in originals and n > originals[key]}
    assert not double, "a recording is there twice"
    fresh = Library(root)
    fresh.scan()
    assert fresh.records == library.records
    assert fresh.journal.edits == library.journal.edits


def kill(times: range, folder: Path, every: int = 10) -> int:
    """Kill so often; a new folder after every ten kills. The number of changes that were made."""
    done, root = 0, folder / "none"
    originals = contents([])
    for seed in times:
        if not root.exists() or seed % every == 0:
            root = folder / f"moves{seed}"
            made(root)
            originals = contents(sorted(root.rglob("*.npz")))
            Library(root)  # ours from now on
        killed(root, seed)
        try:
            check(root, originals)
        except Exception as error:
            raise AssertionError(f"kill {seed} of {root}: {error}") from error
        journal = root / "__studio__" / "journal.jsonl"
        done += len(journal.read_bytes().splitlines()) if journal.exists() else 0
    return done


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        lines = kill(range(first, first + int(sys.argv[1])), Path(name))
        print(
            f"{sys.argv[1]} kills; the journals have {lines} lines in all; nothing lost or double"
        )
