"""Charts: positions of everything in a picture, in pixels if there is room. `charts.html` draws
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kerneton.data.wording import many
from kerneton.report.intervals import Bin

_NUMBERED = 40  # classes up to which cells carry numbers
_LETTER = 6.6  # units that a letter of a label takes


def confusion(
    matrix: np.ndarray, labels: Sequence[str], links: Mapping[tuple[str, str], str]
) -> dict[str, Any]:
    """A confusion matrix: counts in cells, coloured by their share of the row; ``links`` are
    addresses by pair.
    """
    n = len(labels)
    side = 40 if n <= 14 else 30 if n <= _NUMBERED else 18
    names = [label if len(label) <= 22 else label[:21] + "…" for label in labels]
    room = 16 + _LETTER * max(len(name) for name in names)
    left, top = round(room + 20), round(0.75 * room + 34)
    support = np.maximum(matrix.sum(axis=1), 1)
    cells = []
    for i, j in np.argwhere(matrix).tolist():
        share, right = float(matrix[i, j] / support[i]), i == j
        # rare mistakes would be almost white on a linear scale
        weight = share if right else share**0.5
        what = f"{labels[i]} recognised" if right else f"{labels[i]} taken for {labels[j]}"
        cells.append(
            {
                "x": left + j * side,
                "y": top + i * side,
                "count": int(matrix[i, j]),
                "kind": "right" if right else "wrong",
                "opacity": round(weight, 2),
                "strong": weight > 0.68,
                "title": f"{what}: {matrix[i, j]} of {support[i]} ({100 * share:.1f}\xa0%)",
                "link": links.get((labels[i], labels[j])),
            }
        )
    return {
        "width": round(left + n * side + 0.75 * room),
        "height": top + n * side + 4,
        "left": left,
        "top": top,
        "side": side,
        "names": list(zip(names, labels, strict=True)),
        "numbered": n <= _NUMBERED,
        "cells": cells,
        "right": int(np.trace(matrix)),
        "tests": int(matrix.sum()),
    }


def spread(
    values: Sequence[float], names: Sequence[str], mean: float, between: tuple[float, float]
) -> dict[str, Any]:
    """Accuracies of splits on a line, with their mean and its confidence interval."""
    low = min(max(0.0, float(np.floor(10 * min(*values, between[0])) / 10)), 0.9)
    left, width, radius = 20.0, 440.0, 5.5

    def place(value: float) -> float:
        return round(left + (value - low) / (1 - low) * width, 1)

    stack: Counter[int] = Counter()
    dots = []
    for name, value in sorted(zip(names, values, strict=True), key=lambda pair: pair[1]):
        column = round(place(value) / (1.5 * radius))
        dots.append((place(value), stack[column], name, value))
        stack[column] += 1
    step = min(2 * radius + 1, 110 / max(stack.values()))
    base = 24 + step * (max(stack.values()) - 1) + radius
    tick = 0.2 if low < 0.5 else 0.1 if low < 0.8 else 0.05
    return {
        "width": round(left + width + 20),
        "height": round(base + 32),
        "base": round(base, 1),
        "dots": [(x, round(base - level * step, 1), name, value) for x, level, name, value in dots],
        "titled": len(dots) <= 300,
        "band": (place(max(between[0], low)), place(between[1])),
        "mean": place(mean),
        "rule": (left, left + width),
        "ticks": [(place(t), round(100 * t)) for t in np.arange(1.0, low - 1e-9, -tick).tolist()],
        "extremes": (min(values), max(values)),
    }


def reliability(bins: Sequence[Bin]) -> dict[str, Any]:
    """Reliability diagram: accuracy over probability; the size of a dot is the number of
    recordings.
    """
    left, top, size, below = 46, 10, 270, 54
    most, base = max(each.count for each in bins), top + size + below
    return {
        "left": left,
        "top": top,
        "size": size,
        "base": base,
        "most": most,
        "highest": below - 12,
        "ticks": [
            (left + t * size // 4, top + size - t * size // 4, 25 * t) for t in range(5)
        ],
        "bins": [
            {
                "x": round(left + each.confidence * size, 1),
                "ideal": round(top + (1 - each.confidence) * size, 1),
                "y": round(top + (1 - each.accuracy) * size, 1),
                "r": round(4 + 6 * (each.count / most) ** 0.5, 1),
                "low": round(left + each.low * size + 1, 1),
                "wide": round((each.high - each.low) * size - 2, 1),
                "tall": round((below - 12) * each.count / most, 1),
                "title": f"mean probability {100 * each.confidence:.1f}\xa0%, correct {100 * each.accuracy:.1f}\xa0%, {many(each.count, 'test')}",
            }
            for each in bins
        ],
    }  # fmt: skip


def lengths(frames: Sequence[int]) -> dict[str, Any]:
    """Histogram of the lengths of recordings, in frames."""
    n_bins = int(np.clip(np.sqrt(len(frames)), 6, 24))
    counts, edges = np.histogram(frames, bins=min(n_bins, max(frames) - min(frames) + 1))
    left, width, tall = 46, 400, 90
    step = width / len(counts)
    heights = np.round(tall * counts / counts.max(), 1).tolist()
    return {
        "left": left,
        "right": left + width,
        "tall": tall,
        "most": int(counts.max()),
        "step": round(max(step - 2, 1.0), 1),
        "bars": [
            (
                round(left + i * step + 1, 1),
                height,
                f"{int(np.ceil(a))} to {int(b)} frames: {count}",
            )
            for i, (height, count, a, b) in enumerate(
                zip(heights, counts, edges[:-1], edges[1:], strict=True)
            )
        ],
        "ends": (min(frames), max(frames)),
    }
