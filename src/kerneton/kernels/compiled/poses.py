"""Poses and signals of concatenated recordings, in one pass per recording, compiled by Numba.

What `kerneton.prepare.Preprocess` does to recordings without gaps (equal size, root at the origin, turned to the front) and
the signals of `kerneton.kernels.signals`, in the frames that `kerneton.kernels.compiled.sck_order2` reads.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from kerneton.kernels.compiled.simd import jit
from kerneton.machine.compiled.cache import cached_jit, source_number

_ROUNDS = 20  # of Weiszfeld's iteration, as in `kerneton.prepare.poses`


@jit
def _middle(values):
    """Median; the values are sorted in place."""
    values.sort()
    n = len(values)
    return 0.5 * (values[(n - 1) // 2] + values[n // 2])


@jit
def _yaw(x, lines):
    """The yaw of a recording (T, J, 3), see `kerneton.prepare.poses.facing`."""
    points = np.zeros((len(x), 2))
    for s in range(len(x)):
        for k in range(len(lines)):
            left, right = lines[k]
            across, away = x[s, right, 0] - x[s, left, 0], x[s, right, 2] - x[s, left, 2]
            length = math.sqrt(across * across + away * away)
            if length > 0:
                points[s, 0] += across / length
                points[s, 1] += away / length
    p = q = 0.0
    for s in range(len(x)):
        p += points[s, 0] / len(x)
        q += points[s, 1] / len(x)
    for _ in range(_ROUNDS):
        a = b = total = 0.0
        for s in range(len(x)):
            u, v = points[s, 0] - p, points[s, 1] - q
            pull = 1 / max(math.sqrt(u * u + v * v), 1e-6)
            a += points[s, 0] * pull
            b += points[s, 1] * pull
            total += pull
        p, q = a / total, b / total
    return math.atan2(-q, p)


@jit
def _place(raw, factor, roots, lines, out):
    """Poses of one recording into the first three columns of ``out``; not turned without ``lines``."""
    T, J = raw.shape[:2]
    x = np.empty((T, J, 3))
    flat = True
    for s in range(T):
        for c in range(3):
            origin = 0.0
            for r in range(len(roots)):
                origin += raw[s, roots[r], c] / len(roots)
            for j in range(J):
                x[s, j, c] = (raw[s, j, c] - origin) * factor
        for j in range(J):
            flat &= x[s, j, 2] == 0
    if len(lines) > 0 and not flat:
        angle = -_yaw(x, lines)
        c, s_ = math.cos(angle), math.sin(angle)
        for s in range(T):
            for j in range(J):
                across, away = x[s, j, 0], x[s, j, 2]
                x[s, j, 0], x[s, j, 2] = c * across + s_ * away, c * away - s_ * across
    for s in range(T):
        for j in range(J):
            for c in range(3):
                out[s, j, c] = x[s, j, c]


@jit
def _derive(out, taps, rate, column):
    """Filter the poses relative to the first one, with repeated ends, into three columns from ``column`` on."""
    T, J = out.shape[:2]
    reach = len(taps) // 2
    for s in range(T):
        for j in range(J):
            for c in range(3):
                total = 0.0
                for k in range(len(taps)):
                    at = min(max(s + k - reach, 0), T - 1)
                    total += taps[k] * (out[at, j, c] - out[0, j, c])
                out[s, j, column + c] = total
                out[s, j, column + c] *= rate


@jit
def _bones(out, parents, column):
    """Unit vectors along the bone that ends in each joint; zero for roots, whose parent is negative."""
    for s in range(len(out)):
        pose = out[s]
        for j in range(len(parents)):
            square = 0.0
            for c in range(3):
                pose[j, column + c] = 0
                if parents[j] >= 0:
                    pose[j, column + c] = pose[j, c] - pose[parents[j], c]
                square += pose[j, column + c] ** 2
            if square > 0:
                for c in range(3):
                    pose[j, column + c] /= math.sqrt(square)


def _compile(sources):
    @cached_jit
    def bone_lengths(raw, starts, ends, first, last, out):
        """Median length of each bone (parent, child) over the frames of recordings first..last-1, (B, n_bones)."""
        if not sources:
            return
        for b in range(first, last):
            x = raw[starts[b] : starts[b + 1]]
            spans = np.empty(len(x))
            for k in range(len(ends)):
                i, j = ends[k]
                for s in range(len(x)):
                    u, v, w = x[s, j, 0] - x[s, i, 0], x[s, j, 1] - x[s, i, 1], x[s, j, 2] - x[s, i, 2]
                    spans[s] = math.sqrt(u * u + v * v + w * w)
                out[b, k] = _middle(spans)

    @cached_jit
    def signals(raw, starts, factors, rates, roots, lines, taps, parents, first, last, out):
        """Poses, velocities, accelerations and bones of recordings first..last-1, side by side in ``out`` (N, J, 12)."""
        if not sources:
            return
        for b in range(first, last):
            here = out[starts[b] : starts[b + 1]]
            _place(raw[starts[b] : starts[b + 1]], factors[b], roots, lines, here)
            for k in range(2):
                _derive(here, taps[k], out.dtype.type(rates[b, k]), 3 + 3 * k)
            _bones(here, parents, 9)

    return bone_lengths, signals


bone_lengths, signals = _compile(source_number(Path(__file__).parent))
