"""The one-euro filter: it holds still what is still, and follows at once what moves fast.

G. Casiez, N. Roussel and D. Vogel, "1 € Filter", CHI 2012. The parameters are MediaPipe's for
coordinates in metres; speeds are those of the values before smoothing, as there.
"""

from __future__ import annotations

import math

import numpy as np

_OF_SPEED = 1.0  # cut-off frequency of the speed itself, Hz


class OneEuro:
    """Smooths coordinates that arrive one frame after the other.

    Parameters
    ----------
    slowest : float
        Cut-off frequency at rest, Hz.
    steepness : float
        By how many Hz it grows with each unit of length per second.

    Examples
    --------
    >>> smooth = OneEuro()
    >>> [
    ...     round(float(smooth(np.array([x]), t / 30)[0]), 2)
    ...     for t, x in enumerate((0.0, 0.01, 0.0, 1.0, 1.0))
    ... ]
    [0.0, 0.0, 0.0, 0.98, 1.0]
    """

    def __init__(self, slowest: float = 0.1, steepness: float = 40.0) -> None:
        self.slowest, self.steepness = slowest, steepness
        self._time = -math.inf
        self._last = self._value = self._speed = np.zeros(0)

    def __call__(self, value: np.ndarray, time: float, unit: float = 1.0) -> np.ndarray:
        """The smoothed coordinates at ``time``, in seconds; the first are returned as they are.

        ``unit`` is the unit of length, in that of the coordinates.
        """
        step = time - self._time
        if not math.isfinite(step) or step <= 0:
            self._value, self._speed = value, np.zeros_like(value)
        else:
            speed = (value - self._last) / step / unit
            self._speed = self._speed + _share(step, _OF_SPEED) * (speed - self._speed)
            cutoff = self.slowest + self.steepness * np.abs(self._speed)
            self._value = self._value + _share(step, cutoff) * (value - self._value)
        self._time, self._last = time, value
        return self._value


def _share(step: float, cutoff: float | np.ndarray) -> np.ndarray:
    """How much a new value counts in a low-pass filter of first order."""
    turned = 2 * math.pi * step * np.asarray(cutoff)
    return turned / (turned + 1)
