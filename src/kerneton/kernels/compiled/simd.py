"""SIMD vectors as Numba values: the same scalar code runs on `LANES` problems at a time.

Numba vectorises only loops that it recognises; the small eigensolvers always need vectors, and values that stay in registers from one step
to the next. So a vector is a type here, with arithmetic, comparison, choice by a
mask, and loads and stores on flat aligned buffers, where position i means the i-th vector. A *block* is a few
neighbouring vectors handled as one value, to keep the arithmetic units busy. LLVM splits both into the registers of the processor.
"""

# ruff: noqa: ARG001, ARG005 (Numba prescribes the arguments)
from __future__ import annotations

import operator

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, lower_builtin, models, register_jitable, register_model, type_callable

# Twice the width of a register in float64, so that two chains of dependent operations hide each other's latency.
LANES = 16 if binding.get_host_cpu_features().get("avx512f") else 8
COLUMNS = {"float32": 4, "float64": 2}  # vectors in a block
ROW = 16  # vectors in a row
_CACHE_LINE = 64  # bytes

_F64, _F32, _I64, _I32 = ir.DoubleType(), ir.FloatType(), ir.IntType(64), ir.IntType(32)
_FLAGS = ("contract", "nsz")  # a·b + c may be fused; NaN and infinity keep their meaning

# For parts of kernels, which have no machine code of their own; called from Python, they run as Python.
jit = register_jitable(nogil=True, error_model="numpy")


class Vec(types.Type):
    """Numba's type of a vector."""

    def __init__(self, name, element, lanes):
        super().__init__(name=f"Vec({name} x {lanes})")
        self.element, self.lanes = element, lanes
        self.llvm = ir.VectorType(element, lanes)


@register_model(Vec)
class _VecModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, fe_type.llvm)


_DOUBLES, _MASK = Vec("float64", _F64, LANES), Vec("mask", ir.IntType(1), LANES)
_VECTORS = {"float64": _DOUBLES, "float32": Vec("float32", _F32, LANES)}
_BLOCKS = {k: Vec(f"block of {k}", v.element, LANES * COLUMNS[k]) for k, v in _VECTORS.items()}


_ROWS = {k: Vec(f"row of {k}", v.element, LANES * ROW) for k, v in _VECTORS.items()}


def aligned(n_vectors, dtype):
    """A flat uninitialised buffer of some vectors that starts on a cache line."""
    itemsize = np.dtype(dtype).itemsize
    raw = np.empty(n_vectors * LANES + _CACHE_LINE // itemsize, dtype)
    start = -raw.ctypes.data % _CACHE_LINE // itemsize
    return raw[start : start + n_vectors * LANES]


# --- arithmetic -------------------------------------------------------------------------------------------


def _is_vector(kind):
    """Whether a type of Numba is one of `Vec`."""
    return hasattr(kind, "lanes")


def _repeat(builder, x, times):
    """A vector repeated, end to end."""
    lanes = x.type.count
    order = ir.Constant(ir.VectorType(_I32, lanes * times), [k % lanes for k in range(lanes * times)])
    return builder.shuffle_vector(x, x, order)


def _spread(builder, x, lanes):
    """A scalar in every lane."""
    one = ir.Constant(ir.VectorType(x.type, 1), ir.Undefined)
    return _repeat(builder, builder.insert_element(one, x, ir.Constant(_I32, 0)), lanes)


def _define(op, emit, result=None):
    """An operator on two vectors, or on a vector and a float."""

    @type_callable(op)
    def typed(context):
        def typer(a, b):
            if _is_vector(a) and (a == b or isinstance(b, types.Float)):
                return result or a
            if _is_vector(b) and isinstance(a, types.Float):
                return result or b
            return None

        return typer

    def lower(context, builder, sig, args):
        vec = next(t for t in sig.args if _is_vector(t))
        scalar = types.float64 if vec.element is _F64 else types.float32
        x, y = (
            a if _is_vector(t) else _spread(builder, context.cast(builder, a, t, scalar), vec.lanes)
            for t, a in zip(sig.args, args, strict=True)
        )
        return emit(builder, x, y)

    for kinds in ((Vec, Vec), (Vec, types.Float), (types.Float, Vec)):
        lower_builtin(op, *kinds)(lower)


def _define_unary(op, emit):
    @type_callable(op)
    def typed(context):
        return lambda a: a if _is_vector(a) else None

    lower_builtin(op, Vec)(lambda context, builder, sig, args: emit(builder, args[0]))


_define(operator.add, lambda b, x, y: b.fadd(x, y, flags=_FLAGS))
_define(operator.sub, lambda b, x, y: b.fsub(x, y, flags=_FLAGS))
_define(operator.mul, lambda b, x, y: b.fmul(x, y, flags=_FLAGS))
_define(operator.truediv, lambda b, x, y: b.fdiv(x, y, flags=_FLAGS))
_define(operator.lt, lambda b, x, y: b.fcmp_ordered("<", x, y), _MASK)
_define(operator.le, lambda b, x, y: b.fcmp_ordered("<=", x, y), _MASK)
_define(operator.gt, lambda b, x, y: b.fcmp_ordered(">", x, y), _MASK)
_define(operator.and_, lambda b, x, y: b.and_(x, y))
_define(operator.or_, lambda b, x, y: b.or_(x, y))
_define_unary(operator.neg, lambda b, x: b.fneg(x))
_define_unary(operator.invert, lambda b, x: b.not_(x))


def _llvm_function(builder, name, vec, args):
    name = f"llvm.{name}.v{vec.lanes}{'f64' if vec.element is _F64 else 'f32'}"
    kind = ir.FunctionType(vec.llvm, [vec.llvm] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def _function(name):
    @intrinsic
    def function(typingctx, x):
        return x(x), lambda context, builder, sig, args: _llvm_function(builder, name, x, args)

    return function


sqrt, absolute, rint = _function("sqrt"), _function("fabs"), _function("rint")


@intrinsic
def copysign(typingctx, x, y):
    """The size of x with the sign of y."""
    return x(x, y), lambda context, builder, sig, args: _llvm_function(builder, "copysign", x, args)


@intrinsic
def where(typingctx, mask, x, y):
    """x where the mask is set, else y."""
    return x(mask, x, y), lambda context, builder, sig, args: builder.select(*args)


@intrinsic
def any_lane(typingctx, mask):
    """Whether the mask is set anywhere."""

    def emit(context, builder, sig, args):
        bits = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(mask), emit


@intrinsic
def full(typingctx, x):
    """A float64 in every lane."""
    return _DOUBLES(types.float64), lambda context, builder, sig, args: _spread(builder, args[0], LANES)


@intrinsic
def like(typingctx, buffer, x):
    """A vector in the precision of a buffer."""
    vec = _VECTORS[buffer.dtype.name]

    def emit(context, builder, sig, args):
        if vec.element == x.element:
            return args[1]
        return (builder.fptrunc if vec.element is _F32 else builder.fpext)(args[1], vec.llvm)

    return vec(buffer, x), emit


# --- memory -----------------------------------------------------------------------------------------------


def _pointer(context, builder, array_type, array, offset, vec):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), vec.llvm.as_pointer())


def _vector_pointer(context, builder, array_type, array, position, vec):
    offset = builder.mul(position, ir.Constant(_I64, LANES))
    return _pointer(context, builder, array_type, array, offset, vec)


def _itemsize(array_type):
    return array_type.dtype.bitwidth // 8


def _access(array_type):
    """Alignment of a vector in an aligned buffer."""
    return min(_CACHE_LINE, LANES * _itemsize(array_type))


def _loader(kinds, repeated=False):
    @intrinsic
    def load(typingctx, buffer, position):
        vec = kinds[buffer.dtype.name]

        def emit(context, builder, sig, args):
            read = _VECTORS[buffer.dtype.name] if repeated else vec
            pointer = _vector_pointer(context, builder, buffer, *args, read)
            x = builder.load(pointer, align=_access(buffer))
            return _repeat(builder, x, vec.lanes // LANES) if repeated else x

        return vec(buffer, types.int64), emit

    return load


load = _loader(_VECTORS)
load_block = _loader(_BLOCKS)
load_row = _loader(_ROWS)
load_repeated = _loader(_BLOCKS, repeated=True)  # one vector for every column of a block


@intrinsic
def store(typingctx, buffer, position, x):
    """Write a vector or a block."""

    def emit(context, builder, sig, args):
        pointer = _vector_pointer(context, builder, buffer, args[0], args[1], x)
        builder.store(args[2], pointer, align=_access(buffer))

    return types.void(buffer, types.int64, x), emit


@intrinsic
def zero_block(typingctx, buffer):
    """A block of zeros in the precision of a buffer."""
    vec = _BLOCKS[buffer.dtype.name]
    return vec(buffer), lambda context, builder, sig, args: ir.Constant(vec.llvm, [0.0] * vec.lanes)


@intrinsic
def fold(typingctx, x):
    """The sum of a row's vectors."""
    vec = next(v for v in _VECTORS.values() if v.element == x.element)

    def emit(context, builder, sig, args):
        kind = ir.VectorType(_I32, LANES)
        places = [ir.Constant(kind, list(range(k, k + LANES))) for k in range(0, x.lanes, LANES)]
        terms = [builder.shuffle_vector(args[0], args[0], place) for place in places]
        while len(terms) > 1:
            sums = [builder.fadd(a, b, flags=_FLAGS) for a, b in zip(terms[::2], terms[1::2], strict=False)]
            terms = sums + terms[2 * len(sums) :]
        return terms[0]

    return vec(x), emit


@intrinsic
def columns(typingctx, buffer):
    """The number of vectors in a block, a constant for the compiler."""
    count = ir.Constant(_I64, COLUMNS[buffer.dtype.name])
    return types.int64(buffer), lambda context, builder, sig, args: count
