"""Ready-made recognisers: recordings in, labels out, every part a plain scikit-learn step."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import FeatureUnion, Pipeline

from kerneton._validation import check_choice
from kerneton.dck import DCK
from kerneton.normalize import CenterNormalize
from kerneton.preprocess import Preprocess
from kerneton.sck import SCK
from kerneton.svm import LinearSVM


def make_recognizer(preset: str = "paper", *, kernel: str = "sck+dck", n_jobs: int | None = None) -> Any:
    """A recogniser that fits on (recordings, labels) and predicts labels.

    Parameters
    ----------
    preset : {"paper"}
        "paper" is the method of Koniusz, Cherian and Porikli (2016) with their parameters.
    kernel : {"sck", "dck", "sck+dck"}
        Which of the two kernels to use.
    n_jobs : int, optional
        Threads.

    Examples
    --------
    >>> from kerneton import make_actions
    >>> data = make_actions(["wave", "clap"], n_subjects=4, n_takes=2)
    >>> model = make_recognizer("paper", kernel="sck").fit(data[:12], data.labels[:12])
    >>> model.predict(data[12:]).shape
    (4,)
    """
    check_choice("preset", preset, ["paper"])
    check_choice("kernel", kernel, ["sck", "dck", "sck+dck"])
    branches = {"sck": _paper_sck(n_jobs), "dck": _paper_dck(n_jobs)}
    svm = ("svm", LinearSVM(C=10))
    if kernel in branches:
        return Pipeline([*branches[kernel], svm])
    union = FeatureUnion([(name, Pipeline(steps)) for name, steps in branches.items()])
    return Pipeline([("features", union), svm])


def _paper_sck(n_jobs: int | None) -> list[tuple[str, Any]]:
    """SCK as printed: σ₂ 0.6, σ₃ 0.5, Z₂ 5, Z₃ 6, γ 0.36; hip-centred, equal bones."""
    return [
        ("preprocess", Preprocess()),
        ("sck", SCK(joint_weight=0.7, n_jobs=n_jobs)),
        ("scale", CenterNormalize()),
    ]


def _paper_dck(n_jobs: int | None) -> list[tuple[str, Any]]:
    """DCK as printed: set E, Z₂' 5, Z₃' 6, γ 0.85, raw coordinates; the widths are not printed."""
    kernel = DCK(joints="E", sigma_joint=0.3, sigma_time=0.25, sigma_span=3.0, n_jobs=n_jobs)
    return [
        ("preprocess", Preprocess(center=False, bones=None)),
        ("dck", kernel),
        ("scale", CenterNormalize()),
    ]
