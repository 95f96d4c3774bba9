"""The hinge loss ``C max(0, 1-m)``, by Newton's method on ever harder smoothings of it.

Beside ``U = C`` each has a proximal term, ``s = 1 + D a'``, around the last dual point ``a'``, which leaves the minimiser alone and
lets D shrink until nothing moves; see `kerneton.machine.solver`.
"""

from __future__ import annotations

from typing import Any

from kerneton.machine.arrays import namespace_of
from kerneton.machine.solver import Loss, Point, newton

_HINGE_STEP = 0.3  # how fast the proximal term of the hinge loss fades
_HINGE_FLOOR = 1e-11  # and where it stops, relative to the squared norm of each example


def proximal(
    space: Any, Y: Any, C: float, U: Any, point: Point, a: Any, tol: float, max_iter: int
) -> tuple[Point, Any, int, bool]:
    """Hinge loss: Newton on ever harder smoothings, each centred on the dual point of the last.

    At the end of a stage the margin of a free example is off by ``D |a - a'|``. Once that is within the tolerance
    everywhere, one more stage at the hardest takes the error down to rounding.
    """
    xp = namespace_of(Y)
    a = xp.minimum(a, U)
    stiffness = 1.0 / (C * float(space.inverse.mean()))
    # Much below this, the rounding of a margin would move the dual point from bound to bound.
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
