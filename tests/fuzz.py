"""Seeded damage to recordings' files: whatever comes, readers give sequences or a `KernetonError`,
and soon.
"""

from __future__ import annotations

import gzip
import importlib
import io
import random
import re
import shutil
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from samples import SAMPLES, Sample

from kerneton.data.layouts import FLORENCE_15, KINECT_20, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import KernetonError
from kerneton.files import readers

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_NUMBERS = [
    b"0",
    b"-1",
    b"1",
    b"2",
    b"nan",
    b"inf",
    b"-inf",
    b"1e308",
    b"1e-320",
    b"99999999999999999999",
]
_NUMBERS += [
    b"2147483647",
    b"4294967296",
    b"1000000000",
    b"",
    b"x",
    b"1_0",
    b"1e999",
    b"0x10",
    b"9" * 5000,
]
_BYTES = [
    b"\0",
    b"\xff",
    b"\xff" * 4,
    b"\xff\xff\xff\x7f",
    b"\0\0\0\x80",
    b"\xff" * 8,
    b"\xff" * 7 + b"\x7f",
]
_TEXTS = [
    b"\n",
    b"\r\n\r\n",
    b",",
    b";",
    b"\t",
    b'"',
    b"'",
    b"{",
    b"}",
    b"[" * 3000,
    b"(" * 500,
    b"\xef\xbb\xbf",
]
_TEXTS += [
    b"\xff\xfe",
    b"NaN",
    b"null",
    b"true",
    b"-",
    b"\\",
    b"\\x",
    "é\ud7ff".encode(),
    b" " * 2000,
    b"#",
]


@dataclass
class Outcome:
    """How many files were read, how many refused."""

    n_read: int = 0
    n_refused: int = 0
    failures: list[str] = field(default_factory=list)


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Some bytes damaged in one to four ways."""
    if content[:2] == b"PK" and rng.random() < 0.7:
        content = _mutate_member(content, rng)
        if rng.random() < 0.8:
            return content
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.7:
        return gzip.compress(mutate(gzip.decompress(content), rng), mtime=0)
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        rng.choice(_DAMAGES)(data, rng)
    return bytes(data)


def _mutate_member(content: bytes, rng: random.Random) -> bytes:
    """Damage inside a zip archive, packed anew so that its checksums hold."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(list(members))
    members[name] = mutate(members[name], rng)
    if rng.random() < 0.2:
        members[rng.choice(list(members))] = members.pop(name)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return out.getvalue()


def _span(data: bytearray, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 2, 4, 8, 64, 512, 4096)))


def _flip(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _replace(data: bytearray, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 1, 4, 32))):
        if data:
            data[rng.randrange(min(len(data), rng.choice((64, 1024, 1 << 30))))] = rng.randrange(
                256
            )


def _truncate(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _delete(data: bytearray, rng: random.Random) -> None:
    start, end = _span(data, rng)
    del data[start:end]


def _insert(data: bytearray, rng: random.Random) -> None:
    new = rng.choice((*_BYTES, *_TEXTS, *_NUMBERS, rng.randbytes(rng.choice((1, 8, 100)))))
    start, _ = _span(data, rng)
    data[start:start] = new


def _overwrite(data: bytearray, rng: random.Random) -> None:
    new = rng.choice(_BYTES)
    start = rng.randrange(min(len(data), rng.choice((128, 1024, 1 << 30))) + 1)
    data[start : start + len(new)] = new


def _duplicate(data: bytearray, rng: random.Random) -> None:
    start, end = _span(data, rng)
    data[end:end] = data[start:end] * rng.choice((1, 1, 2, 20))


def _swap(data: bytearray, rng: random.Random) -> None:
    (a, b), (c, d) = sorted((_span(data, rng), _span(data, rng)))
    if b <= c:
        data[a:d] = data[c:d] + data[b:c] + data[a:b]


def _number(data: bytearray, rng: random.Random) -> None:
    """Another number for one of the file's, often one of the first: those are counts."""
    found = list(_NUMBER.finditer(bytes(data[: rng.choice((400, 1 << 16))])))
    if found:
        match = rng.choice(found)
        data[match.start() : match.end()] = rng.choice(_NUMBERS)


def _line(data: bytearray, rng: random.Random) -> None:
    """A line repeated, dropped or moved."""
    lines = bytes(data).split(b"\n")
    line = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.choice((0, 1, 2))):
        lines.insert(rng.randrange(len(lines) + 1), line)
    data[:] = b"\n".join(lines)


_DAMAGES = (
    *(
        _flip,
        _replace,
        _truncate,
        _delete,
        _insert,
        _overwrite,
        _duplicate,
        _swap,
        _number,
        _number,
        _line,
    ),
)


def damaged(sample: Sample, rng: random.Random) -> Sample:
    """The sample with one of its files damaged."""
    name = rng.choice(sorted(sample.files))
    return Sample(sample.files | {name: mutate(sample.files[name], rng)}, sample.target)


def _options(module: ModuleType, rng: random.Random) -> dict[str, Layout]:
    """Now and then a layout, for formats that are read with one."""
    if "layout" not in getattr(module, "TAKES", ()) or rng.random() < 0.6:
        return {}
    return {"layout": rng.choice((KINECT_20, FLORENCE_15))}


def fuzz(format: str, n: int, folder: Path, *, seed: int = 0, start: int = 0) -> Outcome:
    """Read ``n`` damaged files of a format, half by the dispatch, half by the format's own reader.

    Each case depends on the seed and its own number alone, so that a failure can be run again.
    """
    module = importlib.import_module(f"kerneton.files.readers.{format}")
    outcome = Outcome()
    for case in range(start, start + n):
        rng = random.Random(f"{format} {seed} {case}")
        place = folder / f"case_{case}"
        path = damaged(rng.choice(SAMPLES[format])(), rng).place(place)
        try:
            options = _options(module, rng)
            sequences = (readers.read if rng.random() < 0.5 else module.read)(path, **options)
            if not sequences or not all(isinstance(s, SkeletonSequence) for s in sequences):
                raise AssertionError(f"gave {sequences!r:.100}")
            outcome.n_read += 1
        except KernetonError as error:
            str(error).encode()  # every message can be printed
            outcome.n_refused += 1
        except Exception as error:
            outcome.failures.append(
                f"{format} seed {seed} case {case}: {type(error).__name__}: {error!s:.200}"
            )
        shutil.rmtree(place)
    return outcome
