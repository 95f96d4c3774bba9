"""Readers and model files under a fuzzer that looks at coverage: ``make fuzz SECONDS=3600``.

With atheris (libFuzzer) files that reach new code are kept in a corpus and changed further, by the
damages that ``fuzz`` and ``model_fuzz`` know: numbers, lines, members of archives with their
checksums put right. Without atheris the same damages are made at random. What is not a recording, a
model or a `KernetonError` stops the run; the file lies beside the corpus. A run begins with whole
files and with what earlier runs found worth keeping: ``fuzz_corpus.zip``, which ``--keep`` writes
from a corpus.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib
import os
import random
import sys
import tempfile
import time
import zipfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

try:
    import atheris
except ImportError:
    atheris = None

with nullcontext() if atheris is None else atheris.instrument_imports(include=["kerneton"]):
    from kerneton.exceptions import KernetonError
    from kerneton.files.readers import formats, read
    from kerneton.recognize.model_reader import load

    # readers are imported when first used, which would be too late to be looked at
    for name in formats():
        importlib.import_module(f"kerneton.files.readers.{name}")

import numpy as np
from fuzz import mutate
from model_fuzz import damage
from samples import SAMPLES
from walks import people

import kerneton
from kerneton import make_recognizer

MODEL = ".kern"
KEPT = Path(__file__).with_name("fuzz_corpus.zip")
SMALL = 4000  # bytes of a file that is kept


@functools.cache
def suffixes() -> list[str]:
    """What a file's first byte chooses: how its name ends."""
    names = {
        Path(name).suffix for makes in SAMPLES.values() for make in makes for name in make().files
    }
    return [MODEL, *sorted(names)]


def seeds(folder: Path) -> dict[str, bytes]:
    """Whole files of every format and a model, each with the byte that chooses its suffix."""
    known, found = suffixes(), {}
    for format in formats():
        for i, make in enumerate(SAMPLES.get(format, ())):
            for name, content in make().files.items():
                found[f"{format}-{i}-{name}"] = bytes([known.index(Path(name).suffix)]) + content
    recordings = people((6, 8, 7, 9))
    model, file = make_recognizer("paper").fit(recordings, list("aabb")), folder / "seed.kern"
    if hasattr(model, "save"):
        model.save(file)
    else:
        from kerneton import save

        save(model, file)
    found["model.kern"] = bytes([0]) + file.read_bytes()
    if KEPT.exists():
        with zipfile.ZipFile(KEPT) as archive:
            found.update({name: archive.read(name) for name in archive.namelist()})
    return found


def keep(corpus: Path, trial: Trial) -> None:
    """Write small files of a corpus that reach lines of the package which those before them do not,
    into `KEPT`.
    """
    package, reached, kept = str(Path(kerneton.__file__).parent), set(), []

    def trace(frame: Any, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(package):
            return None
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    for file in sorted(corpus.iterdir(), key=lambda f: (f.stat().st_size, f.name)):
        if file.stat().st_size <= SMALL:
            lines: set[tuple[str, int]] = set()
            sys.settrace(trace)
            try:
                trial(file.read_bytes())
            finally:
                sys.settrace(None)
            if not lines <= reached:
                reached |= lines
                kept.append(file)
    with zipfile.ZipFile(KEPT, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in kept:
            content = file.read_bytes()
            archive.writestr(zipfile.ZipInfo(hashlib.sha1(content).hexdigest()[:12]), content)
    print(f"{len(kept)} files of {len(list(corpus.iterdir()))} reach {len(reached)} lines")


class Trial:
    """Give bytes to what reads them; anything but an answer or a `KernetonError` is raised."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.suffixes = folder, suffixes()

    def __call__(self, data: bytes) -> None:
        if not data:
            return
        suffix = self.suffixes[data[0] % len(self.suffixes)]
        path = self.folder / f"case{suffix}"
        path.write_bytes(data[1:])
        try:
            with np.errstate(all="ignore"):
                load(path) if suffix == MODEL else read(path)
        except KernetonError as error:
            str(error).encode()  # every message can be printed


def changed(data: bytes, limit: int, seed: int) -> bytes:
    """One more damage, of the kind that suits the file."""
    rng = random.Random(seed)
    if not data:
        return bytes([rng.randrange(256)])
    content, is_model = data[1:], suffixes()[data[0] % len(suffixes())] == MODEL
    for change in (damage, mutate) if is_model else (mutate,):
        try:
            return (data[:1] + change(content, rng))[:limit]
        except Exception:  # no longer an archive that can be taken apart
            continue
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def main() -> None:
    """Run for so many seconds."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--corpus", type=Path, default=Path(".fuzz"))
    parser.add_argument(
        "--keep", action="store_true", help=f"write what is worth keeping to {KEPT.name}, and end"
    )
    args = parser.parse_args()
    args.corpus.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        whole = seeds(Path(home))
        for name, content in whole.items():
            (args.corpus / name.replace("/", "_")).write_bytes(content)
        trial = Trial(Path(home))
        if args.keep:
            keep(args.corpus, trial)
            return
        if atheris is None:
            print(
                "atheris is not installed: damage at random, not led by coverage", file=sys.stderr
            )
            at_random(trial, list(whole.values()), args.seconds, args.corpus)
            return
        options = [
            f"-max_total_time={args.seconds}",
            "-timeout=20",
            "-rss_limit_mb=3000",
            "-max_len=1000000",
        ]
        prefix = f"-artifact_prefix={args.corpus}{os.sep}failed-"
        command = [sys.argv[0], *options, prefix, "-print_final_stats=1", str(args.corpus)]
        atheris.Setup(command, trial, custom_mutator=changed)
        atheris.Fuzz()


def at_random(trial: Trial, whole: list[bytes], seconds: int, corpus: Path) -> None:
    """Damage after damage until the time is over."""
    end, n = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data = changed(random.Random(n).choice(whole), 1_000_000, n)
        try:
            trial(data)
        except Exception:
            (corpus / f"failed-{n}").write_bytes(data)
            raise
        n += 1
    print(f"{n} files, each read or refused")


if __name__ == "__main__":
    main()
