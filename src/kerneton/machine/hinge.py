"""The hinge loss ``C max(0, 1-m)``, by Newton's method with less and less smoothing.

Besides ``U = C`` each has a proximal term, ``s = 1 + D a'``, around the last dual point ``a'``. It does not change the minimiser, and D
decreases until nothing changes; see `kerneton.machine.solver`.
"""

from __future__ import annotations

from typing import Any

from kerneton.machine.arrays import namespace_of
from kerneton.machine.solver import Loss, Point, newton

_HINGE_STEP = 0.3  # factor by which the proximal term decreases
_HINGE_FLOOR = 1e-11  # its smallest value, relative to the squared norm of each example


def proximal(
    space: Any, Y: Any, C: float, U: Any, point: Point, a: Any, tol: float, max_iter: int
) -> tuple[Point, Any, int, bool]:
    """Hinge loss: Newton's method with less and less smoothing, each stage around the dual point of the one before.

    At the end of a stage the error of the margin of a free example is ``D |a - a'|``. Once all are within the tolerance, one more stage
    with the least smoothing reduces the error to rounding.
    """
    xp = namespace_of(Y)
    a = xp.minimum(a, U)
    stiffness = 1.0 / (C * float(space.inverse.mean()))
    # Much below this, rounding of a margin would move the dual point from one bound to the other.
    floor = max(1e-6 * stiffness, _HINGE_FLOOR)
    n_iter, done, last_stage = 0, False, False
    while n_iter < max_iter and not last_stage:
        last_stage = done
        D = stiffness * space.inverse
        smooth = Loss(Y, 1.0 + D * a, D, U)
        point, steps, settled = newton(space, smooth, point, tol, max_iter - n_iter)
        n_iter += steps
        before, a = a, smooth.dual(point.f)
        limit = tol + float(space.noise(point).max())
        done = done or (settled and bool((D * abs(a - before)).max() <= limit))
        stiffness = floor if done else max(stiffness * _HINGE_STEP, floor)
    return point, a, n_iter, done
