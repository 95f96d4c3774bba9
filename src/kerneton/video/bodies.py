"""Bodies: 33 landmarks in the picture and in metres, from the region of a person."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from kerneton.video.detection import Detection, Detector
from kerneton.video.models import Network
from kerneton.video.regions import Region, crop, turn, upright_angle
from kerneton.video.smoothing import OneEuro

N_LANDMARKS = 33
_ALL = 39  # with six helpers, two of which say where the region of the next picture lies
_MIDDLE, _EDGE = 33, 34
_MARGIN = 1.25
_WINDOW = np.arange(-3, 4)  # of a heat map around the place that the network gives
_LEAST_HEAT = 0.5


class Found(NamedTuple):
    """What a network sees in a region; ``presence`` says whether it sees anything that it knows."""

    places: np.ndarray  # (J, 3) pixels of the picture; the third is depth in the same unit
    metres: np.ndarray  # (J, 3) x to the right, y down, z away from the camera
    confidence: np.ndarray  # (J,)
    presence: float
    following: Region  # where to look in the next picture
    right: float = 0.0  # of hands: how sure the network is that it is a right one


def body_detector(network: Network) -> Detector:
    """Finds people by their faces."""
    return Detector(network, (8, 16, 32, 32, 32), lowest=-1.0)


def region_of(detection: Detection) -> Region:
    """The region of a detected person: the first key point is the middle of the hips, the second
    gives size and angle.
    """
    return _around(detection.points[0], detection.points[1])


class SteadyRegion:
    """The region of the next picture, smoothed more than the landmarks are: it holds still while
    the body does, as MediaPipe's.
    """

    def __init__(self) -> None:
        self._smooth = OneEuro(slowest=0.01, steepness=10.0)

    def __call__(self, region: Region, time: float) -> Region:
        """The smoothed region at a time in seconds."""
        half = region.size / _MARGIN / 2
        middle = np.array([region.x, region.y])
        edge = middle + turn(region.angle) @ [0.0, -half]
        middle, edge = self._smooth(np.stack([middle, edge]), time, unit=2 * half)
        return _around(middle, edge)


def _around(middle: np.ndarray, edge: np.ndarray) -> Region:
    size = 2 * _MARGIN * float(np.hypot(*(edge - middle)))
    return Region(float(middle[0]), float(middle[1]), size, upright_angle(middle, edge))


def find_body(network: Network, picture: np.ndarray, region: Region) -> Found:
    """The landmarks of the person in a region of a picture."""
    values, presence, heat, metres = network(crop(picture, region, network.side))
    landmarks = values.reshape(_ALL, 5)
    inside = landmarks[:, :3] / network.side
    inside[:, :2] = refined(inside[:, :2], heat)
    places = np.column_stack([region.places(inside[:, :2]), inside[:, 2] * region.size])
    metres = metres.reshape(_ALL, 3)[:N_LANDMARKS].astype(float)
    metres[:, :2] = metres[:, :2] @ turn(region.angle).T
    visible = expit(landmarks[:N_LANDMARKS, 3])
    following = _around(places[_MIDDLE, :2], places[_EDGE, :2])
    return Found(places[:N_LANDMARKS], metres, visible, float(presence.ravel()[0]), following)


def refined(inside: np.ndarray, heat: np.ndarray) -> np.ndarray:
    """(N, 2) places from 0 to 1, moved to the middle of the heat around them where it is hot
    enough.

    ``heat`` is (height, width, N), before the logistic function.
    """
    height, width, n = heat.shape
    cells = (inside * [width, height]).astype(int)
    columns, rows = (cells[:, i, None] + _WINDOW for i in (0, 1))  # (N, 7)
    known = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[
        :, None, :
    ]
    rows, columns = np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)
    around = heat[rows[:, :, None], columns[:, None, :], np.arange(n)[:, None, None]]
    weights = np.where(known, expit(around), 0.0)
    total = weights.sum(axis=(1, 2))
    middle = np.stack(
        [
            np.einsum("nrc,nc->n", weights, columns) / np.maximum(total, 1e-9) / width,
            np.einsum("nrc,nr->n", weights, rows) / np.maximum(total, 1e-9) / height,
        ],
        axis=1,
    )
    hot = weights.max(axis=(1, 2)) >= _LEAST_HEAT
    hot &= ((cells >= 0) & (cells < [width, height])).all(axis=1)
    return np.where(hot[:, None], middle, inside)
