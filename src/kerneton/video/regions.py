"""Square regions of a picture, turned to any angle, and the pixels inside them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Region:
    """A square of a picture: its middle and side in pixels, turned clockwise by ``angle``
    (radians).

    >>> Region(100.0, 50.0, 20.0).places(np.array([[0.0, 0.0], [0.5, 0.5]]))
    array([[ 90.,  40.],
           [100.,  50.]])
    """

    x: float
    y: float
    size: float
    angle: float = 0.0

    def places(self, inside: np.ndarray) -> np.ndarray:
        """(..., 2) pixels of the picture, for (..., 2) places in the region from 0 to 1."""
        return (inside - 0.5) @ (self.size * turn(self.angle)).T + [self.x, self.y]

    def overlap(self, other: Region) -> float:
        """Intersection over union with another region, both taken as upright.

        >>> Region(0, 0, 2).overlap(Region(1, 0, 2))
        0.3333333333333333
        """
        sides = [
            max(
                0.0,
                min(a + self.size / 2, b + other.size / 2)
                - max(a - self.size / 2, b - other.size / 2),
            )
            for a, b in ((self.x, other.x), (self.y, other.y))
        ]
        both = sides[0] * sides[1]
        return both / max(self.size**2 + other.size**2 - both, 1e-9)


def turn(angle: float) -> np.ndarray:
    """(2, 2) the matrix that turns clockwise in a picture, whose y points down."""
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[cos, -sin], [sin, cos]])


def upright_angle(start: np.ndarray, end: np.ndarray) -> float:
    """The angle of a region in which the line from ``start`` to ``end`` points upward, in (-pi,
    pi].

    >>> upright_angle(np.array([0.0, 9.0]), np.array([0.0, 1.0]))
    0.0
    """
    x, y = end - start
    angle = math.pi / 2 - math.atan2(-y, x)
    return angle - 2 * math.pi * math.ceil((angle - math.pi) / (2 * math.pi))


def whole(picture: np.ndarray) -> Region:
    """The smallest square around a picture."""
    height, width = picture.shape[:2]
    return Region(width / 2, height / 2, float(max(width, height)))


def squares(picture: np.ndarray) -> list[Region]:
    """Squares as high as a wide picture, or as wide as a high one, that overlap by half at least.

    >>> [(part.x, part.y, part.size) for part in squares(np.zeros((100, 160, 4), np.uint8))]
    [(50.0, 50.0, 100.0), (80.0, 50.0, 100.0), (110.0, 50.0, 100.0)]
    """
    height, width = picture.shape[:2]
    short, long = sorted((height, width))
    n = math.ceil(2 * (long - short) / short) + 1
    middles = [float(m) for m in np.linspace(short / 2, long - short / 2, n)]
    half = short / 2
    return [
        Region(m, half, float(short)) if width > height else Region(half, m, float(short))
        for m in middles
    ]


def crop(picture: np.ndarray, region: Region, side: int, *, black: bool = False) -> np.ndarray:
    """(side, side, 3) float32 in [0, 1]: the pixels of a region, interpolated linearly.

    ``picture`` is (height, width, 4) uint8, red, green, blue and anything. Outside of it pixels are
    black, or those of the nearest edge. Pixel (i, j) of the region is interpolated at ``corner +
    (i, j) size / side``.

    >>> picture = np.full((4, 6, 4), 51, np.uint8)
    >>> crop(picture, Region(3.0, 2.0, 4.0), 2)[0, 0].round(6)
    array([0.2, 0.2, 0.2], dtype=float32)
    """
    height, width = picture.shape[:2]
    pixels, row = _flat(picture)
    corner = region.places(np.zeros(2))
    (a, b), (c, d) = region.size / side * turn(region.angle)
    steps = np.arange(side)
    # 8 bits after the point: weights are whole numbers that add up to 256, so that two colours fit
    # in a word
    x = np.add.outer(np.rint((corner[0] + b * steps) * 256), a * 256 * steps).astype(np.int32)
    y = np.add.outer(np.rint((corner[1] + d * steps) * 256), c * 256 * steps).astype(np.int32)
    left, top, right_share, low_share = (
        x >> 8,
        y >> 8,
        (x & 255).view(np.uint32),
        (y & 255).view(np.uint32),
    )
    both = (right_share * low_share + 128) >> 8
    corners = (
        (0, 0, 256 + both - right_share - low_share),
        (0, 1, right_share - both),
        (1, 0, low_share - both),
        (1, 1, both),
    )
    even = np.zeros((side, side), np.uint32)
    odd = np.zeros((side, side), np.uint32)
    rows = [np.clip(top + down, 0, height - 1) * row for down in (0, 1)]
    columns = [np.clip(left + across, 0, width - 1) for across in (0, 1)]
    for down, across, weight in corners:
        found = pixels[rows[down] + columns[across]]
        if black:
            inside = (left + across >= 0) & (left + across < width)
            inside &= (top + down >= 0) & (top + down < height)
            weight = weight * inside
        even += (found & 0xFF00FF) * weight  # red and blue
        odd += ((found >> 8) & 0xFF) * weight  # green
    cut = np.empty((side, side, 3), np.float32)
    scale = np.float32(1 / (255 * 256))
    np.multiply(even & 0xFFFF, scale, out=cut[..., 0])
    np.multiply(odd, scale, out=cut[..., 1])
    np.multiply(even >> 16, scale, out=cut[..., 2])
    return cut


def _flat(picture: np.ndarray) -> tuple[np.ndarray, int]:
    """The pixels of a picture one after the other, as words, and how many lie between two rows.

    Decoders leave room after each row: such pictures are not copied.
    """
    if picture.strides[1:] != (4, 1) or picture.strides[0] % 4 or picture.strides[0] < 0:
        picture = np.ascontiguousarray(picture)
    height, width = picture.shape[:2]
    row = picture.strides[0] // 4
    words = picture.view(np.uint32)[..., 0]
    last = (height - 1) * row + width
    return np.lib.stride_tricks.as_strided(words, (last,), (4,), writeable=False), row
