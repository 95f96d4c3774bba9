"""Transpose square blocks while reading and writing: rows of memory to lanes of vectors and back."""

# ruff: noqa: ARG001 (Numba prescribes the arguments)
from __future__ import annotations

import math

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from kerneton.kernels.compiled.simd import (
    _I32,
    _I64,
    _VECTORS,
    LANES,
    _access,
    _itemsize,
    _pointer,
    _vector_pointer,
)


def _transposed(builder, rows):
    """Transpose a square of vectors in log2(LANES) rounds; each interleaves a row with the row half the size further on."""
    n = len(rows)
    kind = ir.VectorType(_I32, n)
    low = ir.Constant(kind, [k // 2 + k % 2 * n for k in range(n)])
    high = ir.Constant(kind, [n // 2 + k // 2 + k % 2 * n for k in range(n)])
    for _ in range(int(math.log2(n))):
        pairs = zip(rows[: n // 2], rows[n // 2 :], strict=True)
        rows = [builder.shuffle_vector(a, b, order) for a, b in pairs for order in (low, high)]
    return rows


@intrinsic
def gather(typingctx, source, offset, stride, buffer, position):
    """Vectors position + k ← lane q from source[offset + q·stride + k], k < LANES."""
    vec, wide = _VECTORS[source.dtype.name], _VECTORS[buffer.dtype.name]

    def emit(context, builder, sig, args):
        data, start, step, target, place = args
        rows = []
        for _ in range(LANES):
            pointer = _pointer(context, builder, source, data, start, vec)
            rows.append(builder.load(pointer, align=_itemsize(source)))
            start = builder.add(start, step)
        for x in _transposed(builder, rows):
            x = x if vec is wide else builder.fpext(x, wide.llvm)
            pointer = _vector_pointer(context, builder, buffer, target, place, wide)
            builder.store(x, pointer, align=_access(buffer))
            place = builder.add(place, ir.Constant(_I64, 1))

    return types.void(source, types.int64, types.int64, buffer, types.int64), emit


@intrinsic
def scatter_rows(typingctx, buffer, table, first, target, offsets):
    """target[offsets[q] + k] ← lane q of vector table[k], first ≤ k < first + LANES."""
    vec = _VECTORS[buffer.dtype.name]

    def emit(context, builder, sig, args):
        data, places, k, out, starts = args
        begin, rows = k, []
        for _ in range(LANES):
            place = builder.load(builder.gep(context.make_array(table)(context, builder, places).data, [k]))
            pointer = _vector_pointer(context, builder, buffer, data, place, vec)
            rows.append(builder.load(pointer, align=_access(buffer)))
            k = builder.add(k, ir.Constant(_I64, 1))
        first_offset = context.make_array(offsets)(context, builder, starts).data
        for q, x in enumerate(_transposed(builder, rows)):
            start = builder.add(builder.load(builder.gep(first_offset, [ir.Constant(_I64, q)])), begin)
            builder.store(x, _pointer(context, builder, target, out, start, vec), align=_itemsize(target))

    return types.void(buffer, table, types.int64, target, offsets), emit


@intrinsic
def scatter(typingctx, buffer, table, first, target, offset, stride):
    """target[offset + q·stride + k] ← lane q of vector table[k], first ≤ k < first + LANES."""
    vec = _VECTORS[buffer.dtype.name]

    def emit(context, builder, sig, args):
        data, places, k, out, start, step = args
        start = builder.add(start, k)
        rows = []
        for _ in range(LANES):
            place = builder.load(builder.gep(context.make_array(table)(context, builder, places).data, [k]))
            pointer = _vector_pointer(context, builder, buffer, data, place, vec)
            rows.append(builder.load(pointer, align=_access(buffer)))
            k = builder.add(k, ir.Constant(_I64, 1))
        for x in _transposed(builder, rows):
            builder.store(x, _pointer(context, builder, target, out, start, vec), align=_itemsize(target))
            start = builder.add(start, step)

    return types.void(buffer, table, types.int64, target, types.int64, types.int64), emit
