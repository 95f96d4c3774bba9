"""Small recognisers of every kind that can be explained, calibrated and saved."""

from __future__ import annotations

from kerneton import DCK, SCK, Branch, CenterNormalize, LinearSVM, Preprocess, Recognizer

ARMS = ["left_shoulder", "right_shoulder", "left_wrist", "right_wrist", "head"]


def branch(kernel, **options):
    return Branch(Preprocess(), kernel, CenterNormalize(), **options)


def sck(**options):
    return SCK(**{"order": 2, "n_pivots_joint": 3, "n_pivots_time": 3, **options})


def dck(**options):
    return DCK(**{"joints": ARMS, "n_pivots_joint": 3, "n_pivots_time": 3, **options})


def union(*kernels, weights=None, **options):
    weights = weights or [1.0] * len(kernels)
    branches = [
        (f"cue {i}", branch(kernel, weight=weight))
        for i, (kernel, weight) in enumerate(zip(kernels, weights, strict=True))
    ]
    return Recognizer(branches, machine=LinearSVM(C=10), **options)


def single(kernel, **options):
    return Recognizer([("kernel", branch(kernel))], machine=LinearSVM(C=10), **options)


MODELS = {
    "sck": lambda **o: single(sck(), **o),
    "sck, order 3": lambda **o: single(sck(order=3, joints="key"), **o),
    "sck, mirrored": lambda **o: single(sck(mirror=True), **o),
    "sck, partly mirrored": lambda **o: single(sck(mirror="partly"), **o),
    "sck, pairs": lambda **o: single(sck(joints=ARMS, pairs=True), **o),
    "sck, mirrored pairs, weighted": lambda **o: single(
        sck(joints=ARMS, pairs=True, mirror=True, weighting="alignment"), **o
    ),
    "dck": lambda **o: single(dck(), **o),
    "dck, mirrored": lambda **o: single(dck(mirror=True), **o),
    "dck, weighted, different joints": lambda **o: single(
        dck(weighting="alignment", same_joint=False), **o
    ),
    "both": lambda **o: union(sck(signals=("position", "velocity"), joint_weight=0.3), dck(), **o),
    "both, weighed": lambda **o: union(sck(mirror=True), dck(), weights=[0.5, 2.0], **o),
    "not centred": lambda **o: Recognizer([("kernel", Branch(Preprocess(), sck()))], **o),
}
