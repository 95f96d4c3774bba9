"""Treat results below the smallest normal number as zero: on Intel processors each of them takes about a hundred cycles.

Products of rotations and of resolvents decay to thousands of such numbers, which do not affect results. Other processors than x86 have no
such penalty; for them both functions do nothing.
"""

# ruff: noqa: ARG001 (Numba prescribes the arguments)
from __future__ import annotations

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_IS_X86 = binding.get_process_triple().startswith("x86_64")
_FLUSH_TO_ZERO = 1 << 15  # bits of the register MXCSR
_I32 = ir.IntType(32)


def _call(builder, name, place):
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.sse.{name}")
    builder.call(function, [builder.bitcast(place, kind.args[0])])


@intrinsic
def flush(typingctx):
    """Subnormal results are zero from here on; returns the state for `restore`."""

    def emit(context, builder, sig, args):
        if not _IS_X86:
            return ir.Constant(_I32, 0)
        place = cgutils.alloca_once(builder, _I32)
        _call(builder, "stmxcsr", place)
        before = builder.load(place)
        builder.store(builder.or_(before, ir.Constant(_I32, _FLUSH_TO_ZERO)), place)
        _call(builder, "ldmxcsr", place)
        return before

    return types.int32(), emit


@intrinsic
def restore(typingctx, state):
    """Restore the state from before `flush`."""

    def emit(context, builder, sig, args):
        if _IS_X86:
            place = cgutils.alloca_once(builder, _I32)
            builder.store(args[0], place)
            _call(builder, "ldmxcsr", place)
        return context.get_dummy_value()

    return types.void(types.int32), emit
