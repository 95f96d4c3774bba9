"""Small recognisers of every kind that can be explained, calibrated and saved."""

from __future__ import annotations

from sklearn.pipeline import FeatureUnion, Pipeline

from kerneton import DCK, SCK, CenterNormalize, LinearSVM, Preprocess

ARMS = ["left_shoulder", "right_shoulder", "left_wrist", "right_wrist", "head"]


def steps(kernel):
    return [("preprocess", Preprocess()), ("kernel", kernel), ("scale", CenterNormalize())]


def sck(**options):
    return SCK(**{"order": 2, "n_pivots_joint": 3, "n_pivots_time": 3, **options})


def dck(**options):
    return DCK(**{"joints": ARMS, "n_pivots_joint": 3, "n_pivots_time": 3, **options})


def union(*kernels, **options):
    branches = [(f"cue {i}", Pipeline(steps(kernel))) for i, kernel in enumerate(kernels)]
    return Pipeline([("features", FeatureUnion(branches, **options)), ("svm", LinearSVM(C=10))])


def single(kernel):
    return Pipeline([*steps(kernel), ("svm", LinearSVM(C=10))])


MODELS = {
    "sck": lambda: single(sck()),
    "sck, order 3": lambda: single(sck(order=3, joints="key")),
    "sck, mirrored": lambda: single(sck(mirror=True)),
    "sck, pairs": lambda: single(sck(joints=ARMS, pairs=True)),
    "sck, mirrored pairs, weighted": lambda: single(
        sck(joints=ARMS, pairs=True, mirror=True, weighting="alignment")
    ),
    "dck": lambda: single(dck()),
    "dck, mirrored": lambda: single(dck(mirror=True)),
    "dck, weighted, different joints": lambda: single(dck(weighting="alignment", same_joint=False)),
    "both": lambda: union(sck(signals=("position", "velocity"), joint_weight=0.3), dck()),
    "both, weighed": lambda: union(sck(mirror=True), dck(), transformer_weights={"cue 0": 0.5, "cue 1": 2.0}),
    "not centred": lambda: Pipeline([*steps(sck())[:2], ("svm", LinearSVM())]),
}
