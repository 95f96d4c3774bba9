"""Where people or palms are in a picture: a network that answers for two thousand anchors, and what
it means.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from kerneton.video.models import Network
from kerneton.video.regions import Region, crop

LEAST_SCORE = 0.5
_SAME = 0.3  # overlap of boxes that are one thing


class Detection(NamedTuple):
    """A box (x0, y0, x1, y1) and (K, 2) key points in pixels, and how sure the network is."""

    box: np.ndarray
    points: np.ndarray
    score: float


class Detector:
    """Finds what a network was trained for; ``strides`` are the steps of its anchors in pixels of
    its input.

    ``lowest`` is the value of a black pixel: 0 or -1.
    """

    def __init__(self, network: Network, strides: tuple[int, ...], lowest: float) -> None:
        self.network, self.lowest = network, lowest
        self.anchors = anchors(network.side, strides)

    def find(self, picture: np.ndarray, region: Region) -> list[Detection]:
        """What is in a region of a picture, (height, width, 4) uint8; the surest comes first."""
        cut = crop(picture, region, self.network.side, black=True)
        if self.lowest:
            cut = cut * np.float32(1 - self.lowest) + np.float32(self.lowest)
        values, raw = self.network(cut)
        scores = expit(raw[:, 0])
        chosen = np.flatnonzero(scores >= LEAST_SCORE)
        chosen = chosen[np.argsort(-scores[chosen], kind="stable")]
        found = []
        for box, points, score in merged(
            *decoded(values[chosen], self.anchors[chosen], self.network.side), scores[chosen]
        ):
            corners = region.places(box.reshape(2, 2)).ravel()
            found.append(Detection(corners, region.places(points), score))
        return found


def anchors(side: int, strides: tuple[int, ...]) -> np.ndarray:
    """(A, 2) middles of the anchors, from 0 to 1: two in each cell of each grid, grids of one
    stride together.

    >>> anchors(224, (8, 16, 32, 32, 32)).shape
    (2254, 2)
    """
    grids = []
    for stride in dict.fromkeys(strides):
        n = -(-side // stride)
        cell = (np.arange(n) + 0.5) / n
        grid = np.stack(np.meshgrid(cell, cell), axis=-1).reshape(-1, 2)
        grids.append(np.repeat(grid, 2 * strides.count(stride), axis=0))
    return np.concatenate(grids)


def decoded(values: np.ndarray, around: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Boxes (N, 4) and key points (N, K, 2) from offsets in pixels of the input to their
    anchors.
    """
    middle = values[:, :2] / side + around
    half = values[:, 2:4] / side / 2
    points = (
        values[:, 4:].reshape(len(values), values.shape[1] // 2 - 2, 2) / side + around[:, None]
    )
    return np.concatenate([middle - half, middle + half], axis=1), points


def merged(
    boxes: np.ndarray, points: np.ndarray, scores: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Boxes that overlap the best of them, averaged with their scores as weights; the best comes
    first.
    """
    left = np.arange(len(boxes))
    found = []
    while len(left):
        same = overlaps(boxes[left[0]], boxes[left]) > _SAME
        same[0] = True
        group = left[same]
        weights = scores[group] / scores[group].sum()
        box, keys = weights @ boxes[group], np.tensordot(weights, points[group], 1)
        found.append((box, keys, float(scores[left[0]])))
        left = left[~same]
    return found


def overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(N,) intersection over union of a box with others (N, 4).

    >>> overlaps(np.array([0, 0, 2, 2]), np.array([[1, 0, 3, 2], [5, 5, 6, 6]])).round(3).tolist()
    [0.333, 0.0]
    """
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    both = np.prod(np.clip(high - low, 0, None), axis=1)
    areas = np.prod(others[:, 2:] - others[:, :2], axis=1) + np.prod(box[2:] - box[:2])
    return both / np.maximum(areas - both, 1e-12)
