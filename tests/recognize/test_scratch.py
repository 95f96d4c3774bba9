"""Features of many recordings on a disk: what belongs to which fit, what is damaged, what does not fit, what is left over."""

from __future__ import annotations

import numpy as np
import pytest

from kerneton.exceptions import DataError
from kerneton.recognize import packed


def a_block(rows=5, columns=1200, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


@pytest.mark.parametrize("halved", [False, True])
def test_any_change_of_a_block_is_found(tmp_path, halved):
    path = tmp_path / "000000.block"
    packed.write_packed(path, packed.pack(a_block(), halved=halved))
    whole = path.read_bytes()
    np.testing.assert_allclose(packed.read_packed(path).features(), a_block(), atol=1e-3)
    places = [*range(40), *np.linspace(40, len(whole) - 1, 60, dtype=int)]
    for place in places:  # the first ones are the types of numbers and their rows and columns
        for bit in (1, 128):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            with pytest.raises(DataError, match=r"000000\.block: the block was changed after it was written"):
                packed.read_packed(path)
    for damaged in (b"", whole[:20], whole[:-1], whole + b"0", bytes(len(whole))):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="was changed after"):
            packed.read_packed(path)


def test_rows_of_a_block_that_are_exchanged_or_fewer_are_found(tmp_path):
    path, X = tmp_path / "000000.block", a_block()
    packed.write_packed(path, packed.pack(X, halved=False))
    whole = path.read_bytes()
    row = X.itemsize * X.shape[1]
    start = whole.index(b"\n") + 1
    first, second = whole[start : start + row], whole[start + row : start + 2 * row]
    path.write_bytes(whole[:start] + second + first + whole[start + 2 * row :])
    with pytest.raises(DataError, match="was changed after"):
        packed.read_packed(path)
    path.write_bytes(whole.replace(b" 5 1200\n", b" 3 2000\n"))
    with pytest.raises(DataError, match="was changed after"):
        packed.read_packed(path)


def test_blocks_that_are_exchanged_are_found(tmp_path):
    one, two, other = tmp_path / "a" / "1.block", tmp_path / "a" / "2.block", tmp_path / "b" / "1.block"
    for i, path in enumerate((one, two, other)):
        path.parent.mkdir(exist_ok=True)
        packed.write_packed(path, packed.pack(a_block(seed=i)))
    for path in (two, other):
        content = one.read_bytes(), path.read_bytes()
        for a, b in ((one, path), (path, one)):
            a.write_bytes(content[a is one])
            with pytest.raises(DataError, match=f"{a.parent.name}/{a.name}: the block was changed"):
                packed.read_packed(a)
            a.write_bytes(content[a is not one])
            packed.read_packed(a)
