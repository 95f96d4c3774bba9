"""Steps that the compiled power normalisations share: reading a group of problems, scaling it, powers."""

from __future__ import annotations

import math

import numpy as np

from kerneton.kernels.compiled.exponents import exp2_whole, exponent, mantissa
from kerneton.kernels.compiled.simd import LANES, absolute, any_lane, full, jit, load, rint, store, where

EPS = float(np.finfo(np.float64).eps)
_ATANH = tuple(2 / math.log(2) / k for k in range(23, 0, -2))  # log2((1+s)/(1-s)) / s in powers of s²
_EXP = tuple(math.log(2) ** k / math.factorial(k) for k in range(13, -1, -1))  # 2^x


@jit
def exp2(x):
    """2^x within the range of float64, with an error of about 1e-15."""
    whole = rint(x)
    rest = x - whole
    series = full(_EXP[0])
    for k in range(1, len(_EXP)):
        series = series * rest + _EXP[k]
    return series * exp2_whole(whole)


@jit
def exp2_single(x, zero):
    """2^x of float32 vectors for -126 ≤ x ≤ 127, with an error of about 1e-7; ``zero`` is a float32 vector of zeros."""
    whole = rint(x)
    rest = x - whole
    series = zero + _EXP[6]
    for k in range(7, len(_EXP)):
        series = series * rest + _EXP[k]
    return series * exp2_whole(whole)


@jit
def positive_power(x, power):
    """x^power of positive normal numbers, with an error of about 1e-15."""
    m, e = mantissa(x), exponent(x)
    upper = m > 1.4142135623730951
    m = where(upper, m * 0.5, m)
    e = where(upper, e + 1.0, e)
    s = (m - 1.0) / (m + 1.0)
    square = s * s
    series = full(_ATANH[0])
    for k in range(1, len(_ATANH)):
        series = series * square + _ATANH[k]
    return exp2((series * s + e) * power)


@jit
def sum_of_squares(S, n_vectors):
    """Σ x² of every lane."""
    total = full(0.0)
    for k in range(n_vectors):
        x = load(S, k)
        total = total + x * x
    return total


@jit
def least_square(own):
    """The smallest sum of squares for which products in the precision of a buffer keep all digits."""
    return 1e-200 if own.itemsize == 8 else 1e-50


@jit
def is_tame(total, least):
    """Whether no lane with this sum of squares can overflow or underflow when squared, is zero or is NaN."""
    return not any_lane(~((total > least) & (total < 1e200)))


@jit
def tame(S, n_vectors, total, least):
    """Scale the lanes that are not `is_tame` by 2^-shift to entries near 1; lanes with NaN or infinity become zero.

    Other lanes do not change, so that no result depends on neighbouring lanes. Returns the shift, and a vector that is NaN for lanes with
    NaN or infinity and zero otherwise.
    """
    top, poison = full(0.0), full(0.0)
    for k in range(n_vectors):
        x = load(S, k)
        top = where(absolute(x) > top, absolute(x), top)
        poison = poison + x * 0.0
    sound = absolute(poison) <= 0.0
    usable = sound & (top > 0.0)
    shift = exponent(where(usable, top, full(1.0)))
    shift = where(shift > 1000.0, full(1000.0), where(shift < -1000.0, full(-1000.0), shift))
    shift = where((total > least) & (total < 1e200), full(0.0), shift)
    factor = exp2_whole(-shift)
    for k in range(n_vectors):
        store(S, k, where(usable, load(S, k) * factor, full(0.0)))
    return shift, poison


@jit
def part(buffer, first, count):
    """The vectors of a buffer from a position on."""
    return buffer[first * LANES : (first + count) * LANES]


def groups_of(A):
    """A batch in groups of `LANES` for the kernels: the number of whole groups, read in place, and a copy of the rest.

    The last group is always copied, since kernels read past the end of what they need. (B, size) → int, flat copy.
    """
    n_batch, size = A.shape
    n_groups = (n_batch - 1) // LANES
    rest = np.zeros((LANES + 1) * size + LANES, A.dtype)
    rest[: (n_batch - n_groups * LANES) * size] = A[n_groups * LANES :].ravel()
    return n_groups, rest
