"""Hands: 21 landmarks in the picture and in metres, left or right, from the region of a hand."""

from __future__ import annotations

import math

import numpy as np

from kerneton.video.bodies import Found
from kerneton.video.detection import Detection, Detector
from kerneton.video.models import Network
from kerneton.video.regions import Region, crop, turn, upright_angle

N_LANDMARKS = 21
# Wrist, thumb and the first two joints of each finger: they move least inside a hand.
_STEADY = np.array([0, 1, 2, 3, 5, 6, 9, 10, 13, 14, 17, 18])
_WRIST, _INDEX, _MIDDLE, _RING = 0, 5, 9, 13


def palm_detector(network: Network) -> Detector:
    """Finds palms."""
    return Detector(network, (8, 16, 16, 16), lowest=0.0)


def region_of(detection: Detection) -> Region:
    """The region of a hand from its palm: key points 0 and 2 are the wrist and the root of the
    middle finger.
    """
    angle = upright_angle(detection.points[0], detection.points[2])
    low, high = detection.box[:2], detection.box[2:]
    return _grown((low + high) / 2, high - low, angle, margin=2.6, ahead=0.5)


def _grown(
    middle: np.ndarray, sides: np.ndarray, angle: float, *, margin: float, ahead: float
) -> Region:
    """The square around a turned rectangle, moved by a share of its height toward the fingers and
    enlarged.
    """
    x, y = middle + sides[1] * ahead * np.array([math.sin(angle), -math.cos(angle)])
    return Region(float(x), float(y), float(sides.max()) * margin, angle)


def find_hand(network: Network, picture: np.ndarray, region: Region) -> Found:
    """The landmarks of the hand in a region of a picture."""
    values, presence, right, metres = network(crop(picture, region, network.side))
    inside = values.reshape(N_LANDMARKS, 3) / network.side
    places = np.column_stack([region.places(inside[:, :2]), inside[:, 2] * region.size])
    metres = metres.reshape(N_LANDMARKS, 3).astype(float)
    metres[:, :2] = metres[:, :2] @ turn(region.angle).T
    sure = float(presence.ravel()[0])
    confidence = np.full(N_LANDMARKS, sure)
    return Found(places, metres, confidence, sure, _following(places), float(right.ravel()[0]))


def _following(places: np.ndarray) -> Region:
    """Where the hand is looked for in the next picture: around its steady landmarks, upright along
    the fingers.
    """
    roots = ((places[_INDEX] + places[_RING]) / 2 + places[_MIDDLE]) / 2
    angle = upright_angle(places[_WRIST, :2], roots[:2])
    steady = places[_STEADY, :2]
    middle = (steady.min(axis=0) + steady.max(axis=0)) / 2
    turned = (steady - middle) @ turn(angle)  # inverse turn
    low, high = turned.min(axis=0), turned.max(axis=0)
    middle = middle + turn(angle) @ ((low + high) / 2)
    return _grown(middle, high - low, angle, margin=2.0, ahead=0.1)
