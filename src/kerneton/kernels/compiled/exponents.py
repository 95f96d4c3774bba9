"""Mantissa and exponent of floating point numbers, lane by lane."""

# ruff: noqa: ARG001 (Numba prescribes the arguments)
from __future__ import annotations

from llvmlite import ir
from numba.extending import intrinsic

from kerneton.kernels.compiled.simd import _DOUBLES, _F64, _I32, _I64, LANES

_WHOLE = ir.VectorType(_I64, LANES)


def _whole(value):
    return ir.Constant(_WHOLE, [value] * LANES)


@intrinsic
def mantissa(typingctx, x):
    """m in [1, 2) of x = m·2^e, x positive and normal."""

    def emit(context, builder, sig, args):
        bits = builder.and_(builder.bitcast(args[0], _WHOLE), _whole((1 << 52) - 1))
        return builder.bitcast(builder.or_(bits, _whole(1023 << 52)), _DOUBLES.llvm)

    return x(x), emit


@intrinsic
def exponent(typingctx, x):
    """e of x = m·2^e, x positive and normal."""

    def emit(context, builder, sig, args):
        bits = builder.lshr(builder.bitcast(args[0], _WHOLE), _whole(52))
        return builder.sitofp(builder.sub(bits, _whole(1023)), _DOUBLES.llvm)

    return x(x), emit


@intrinsic
def exp2_whole(typingctx, x):
    """2^x of whole numbers -1022 ≤ x ≤ 1023, in float32 -126 ≤ x ≤ 127."""
    element, bias, shift = (_I64, 1023, 52) if x.element is _F64 else (_I32, 127, 23)
    kind = ir.VectorType(element, LANES)

    def emit(context, builder, sig, args):
        bits = builder.add(builder.fptosi(args[0], kind), ir.Constant(kind, [bias] * LANES))
        return builder.bitcast(builder.shl(bits, ir.Constant(kind, [shift] * LANES)), x.llvm)

    return x(x), emit
