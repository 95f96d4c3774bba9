"""Seeded damage to model files: whatever comes, `load` gives a model that works or a
`ModelFileError`, and soon.

Bytes are damaged anywhere; and members are damaged with all checksums put right, as one would who
means harm.
"""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
from fuzz import mutate

from kerneton.exceptions import KernetonError, ModelFileError
from kerneton.recognize.model_reader import load

_VALUES = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        7,
        1000,
        10**6,
        10**9,
        2**63,
        0.0,
        -0.5,
        0.5,
        1e-300,
        1e300,
    ),
    *(
        "",
        "x",
        "position",
        "bone",
        "velocity",
        "head",
        "E",
        "slices",
        "alignment",
        "frame",
        "reference",
        "os.system",
    ),
    *(
        [],
        [0],
        [1, 2, 3],
        ["head"],
        {},
        {"array": 0, "dtype": "float32"},
        {"array": -1},
        {"array": 99},
        {"items": [[1, 2]]},
        {"layout": 0},
        {"labels": ["a", "b"], "dtype": "<U1"},
        {"object": {"class": "SCK", "parameters": {}, "state": None}},
    ),
    *(
        "Recognizer",
        "Branch",
        "SCK",
        "DCK",
        "LinearSVM",
        "Calibration",
        "Search",
        "eval",
        "builtins",
    ),
]


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def seal(parts: dict[str, bytes]) -> bytes:
    """An archive of the members with checksums that are right."""
    parts = {name: data for name, data in parts.items() if name != "SHA256SUMS"}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in parts.items())
    parts["SHA256SUMS"] = sums.encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return out.getvalue()


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def places(value, path=()):
    """Where values are in nested JSON."""
    yield path
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def change_json(data: bytes, rng: random.Random) -> bytes:
    header = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        path = rng.choice([p for p in places(header) if p and p[0] in ("model", "layouts")])
        inner = header
        for key in path[:-1]:
            inner = inner[key]
        how = rng.random()
        if how < 0.6:
            inner[path[-1]] = rng.choice(_VALUES)
        elif how < 0.75:
            del inner[path[-1]]
        elif isinstance(inner[path[-1]], (int, float)) and how < 0.9:
            inner[path[-1]] = inner[path[-1]] * rng.choice((-1, 2, 0.5, 100)) + rng.choice((0, 1))
        else:
            other = rng.choice([p for p in places(header) if p])
            found = header
            for key in other:
                found = found[key]
            inner[path[-1]] = json.loads(json.dumps(found))
    return json.dumps(header).encode()


def change_array(data: bytes, rng: random.Random) -> bytes:
    array = np.load(io.BytesIO(data)).copy()
    array = array.astype(max(array.dtype, np.dtype("f4")))  # wide enough for what follows
    how = rng.randrange(8)
    if how == 0:
        array.flat[rng.randrange(array.size)] = rng.choice((np.nan, np.inf, -np.inf, -1e30, 1e30))
    elif how == 1:
        array = array[..., : rng.randrange(array.shape[-1] + 1)]
    elif how == 2:
        array = np.concatenate([array, array], axis=-1)
    elif how == 3:
        array = array.astype(
            rng.choice(("float16", "int32", "complex64", "U3", "float64", "float32"))
        )
    elif how == 4:
        array = array.reshape(-1) if array.ndim > 1 else array[None]
    elif how == 5:
        array = array * rng.choice((-1, 0, 1e20))
    elif how == 6:
        array = array.T
    else:
        return mutate(data, rng)
    return npy(array)


def damage(content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return mutate(content, rng)
    parts = members(content)
    names = list(parts)
    how = rng.random()
    if how < 0.6:
        parts["model.json"] = change_json(parts["model.json"], rng)
    elif how < 0.9:
        name = rng.choice([n for n in names if n.startswith("arrays/")])
        parts[name] = change_array(parts[name], rng)
    elif how < 0.95:
        del parts[rng.choice(names)]
    else:
        name = rng.choice(names)
        parts[
            rng.choice(("../" + name, "/etc/passwd", name.upper(), "arrays/9999.npy", "x.pkl"))
        ] = parts[name]
    return seal(parts)


def try_files(contents: list[bytes], recordings: list, folder: Path, n: int, seed: int) -> Counter:
    """Damage files ``n`` times; how many still worked, how many were refused. Anything else is an
    error.
    """
    rng, found = random.Random(seed), Counter()
    file = folder / "damaged.kern"
    for i in range(n):
        file.write_bytes(damage(contents[i % len(contents)], rng))
        try:
            model = load(file)
        except ModelFileError as error:
            found[
                "refused" if str(file) in str(error) else "refused without saying which file"
            ] += 1
        else:
            try:
                with np.errstate(all="ignore"):
                    labels = model.predict(recordings)
                assert len(labels) == len(recordings)
                found["works"] += 1
            except KernetonError:  # a sound model for other recordings
                found["works elsewhere"] += 1
    return found
