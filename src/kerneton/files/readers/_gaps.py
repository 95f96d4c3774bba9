"""Missing parts of a recording: frames, found from its times, and joints with -9999 instead of
coordinates.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from kerneton.exceptions import KernetonWarning

_LEAST = 0.25  # seconds; shorter gaps are lost frames as every sensor has them
_FILLS = (-999.0, -9999.0, 9999.0, -99999.0, 99999.0, -999999.0, 999999.0, -1e6, 1e6)


def gap_rows(times: np.ndarray, fps: float, path: Path) -> np.ndarray | None:
    """The row of each frame, -1 in gaps of a quarter of a second or more; None if there is none. A
    warning says where they are.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     gap_rows(np.array([0, 100, 200, 600, 700]), 10.0, Path("wave.csv")).tolist()
    [0, 1, 2, -1, -1, -1, 3, 4]
    >>> print(told[0].message)
    wave.csv: 0.3 s are missing after 0.20 s (3 frames): their joints count as missing
    """
    steps = np.diff(times)
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    if usual <= 0:
        return None
    lost = np.where(np.isfinite(steps), np.clip(np.round(steps / usual) - 1, 0, 1e9), 0).astype(
        np.int64
    )
    lost[(lost < 2) | (lost < _LEAST * fps)] = 0
    places = np.flatnonzero(lost)
    if not len(places):
        return None
    at = (times[places[0]] - times[0]) / usual / fps
    told = f"{lost[places[0]] / fps:.1f} s are missing after {at:.2f} s ({lost[places[0]]} frames)"
    told += f", and {len(places) - 1} more such gaps" if len(places) > 1 else ""
    if lost.sum() > len(times):
        warnings.warn(
            f"{path}: {told}: too much to fill, so the frames follow each other without a gap",
            KernetonWarning,
            stacklevel=2,
        )
        return None
    warnings.warn(f"{path}: {told}: their joints count as missing", KernetonWarning, stacklevel=2)
    rows = np.full(len(times) + int(lost.sum()), -1)
    rows[np.arange(len(times)) + np.concatenate(([0], np.cumsum(lost)))] = np.arange(len(times))
    return rows


def with_gaps(
    values: np.ndarray, label_at: np.ndarray, times: np.ndarray, fps: float, path: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Values (T, J, 4) and the label of each row, if any, with frames of missing joints where times
    have gaps.
    """
    if (rows := gap_rows(times, fps, path)) is None:
        return values, label_at
    labels = label_at[np.maximum.accumulate(rows)] if len(label_at) else label_at
    return np.where((rows < 0)[:, None, None], np.nan, values[rows]), labels


def without_fills(points: np.ndarray, path: Path) -> np.ndarray:
    """Points (..., 3), NaN where all coordinates are a number that marks missing values; a warning
    says how many.

    Drawings have z = 0 there.

    >>> import warnings
    >>> points = np.array([[-9999.0, -9999, -9999], [1, -9999, 2]])
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     without_fills(points, Path("wave.csv")).tolist()
    [[nan, nan, nan], [1.0, -9999.0, 2.0]]
    >>> print(told[0].message)
    wave.csv: a joint is at -9999 in all coordinates 1 time: it counts as missing there
    """
    x, y, z = np.moveaxis(points, -1, 0)
    gone = np.isin(x, _FILLS) & (x == y) & ((z == x) | (z == 0))
    if not gone.any():
        return points
    fills, count = ", ".join(f"{fill:.0f}" for fill in np.unique(x[gone])), int(gone.sum())
    times = "1 time: it counts" if count == 1 else f"{count} times: they count"
    who = "a joint is" if count == 1 else "joints are"
    warnings.warn(
        f"{path}: {who} at {fills} in all coordinates {times} as missing there",
        KernetonWarning,
        stacklevel=2,
    )
    return np.where(gone[..., None], np.nan, points)


def is_cut_off(path: Path, line: int) -> bool:
    """Whether the last line has no end, as where a program stopped while it wrote; warns that its
    row is left out.
    """
    with path.open("rb") as file:
        file.seek(-2, 2)
        cut = not file.read().rstrip(b"\0").endswith((b"\n", b"\r"))
    if cut:
        warnings.warn(
            f"{path}, line {line}: the file ends inside this row: it is left out",
            KernetonWarning,
            stacklevel=2,
        )
    return cut
