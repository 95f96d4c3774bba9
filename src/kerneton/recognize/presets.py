"""Ready-made recognisers: recordings in, labels out, every part a plain scikit-learn step."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import FeatureUnion, Pipeline

from kerneton.data.progress import Progress
from kerneton.data.validation import check_choice
from kerneton.exceptions import ParameterError
from kerneton.kernels.dck import DCK
from kerneton.kernels.sck import SCK
from kerneton.machine.normalize import CenterNormalize
from kerneton.machine.svm import LinearSVM
from kerneton.prepare.preprocess import Preprocess
from kerneton.recognize.cues import STANDARD_C, STANDARD_SCATTER, standard_cues, variants
from kerneton.recognize.search import KernelSearch

PRESETS = ("fast", "default", "auto", "paper")
_FIXED_VIEW_MUST_GAIN = 0.02  # accuracy on held-out subjects that gives up freedom of view


def make_recognizer(
    preset: str | None = None,
    *,
    kernel: str | None = None,
    view: str = "auto",
    mirror: str | bool = "auto",
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """A recogniser that fits on (recordings, labels) and predicts labels.

    Parameters
    ----------
    preset : {"fast", "default", "auto", "paper"}, optional
        "fast", which is what you get without asking, is one sum of five joint-weighted kernels with matrices.
        "default" is the same sum with third-order tensors, as the paper has them, about ten times larger and slower.
        "auto", with matrices again, tries sums that leave one of the five out and weaker and stronger penalties of scatter,
        and lets the ten best speak together. These three are `KernelSearch` objects: give ``fit`` the subjects as
        ``groups``, and mirroring, view and sums are chosen on held-out subjects. "paper", which ``kernel`` implies, is the
        method of Koniusz, Cherian and Porikli (2016), a plain pipeline.
    kernel : {"sck", "dck", "sck+dck"}, optional
        Which of the paper's kernels to use, for ``preset="paper"``; both by default.
    view : {"auto", "free", "fixed"}
        "free" turns every recording to the front, so that people may stand anywhere; "fixed" uses the camera's frame.
        "auto" is "free" unless the training subjects show that this costs more than two points.
    mirror : {"auto", True, False}
        Whether an action and its mirror image are one; "auto" asks the training subjects.
    n_jobs : int, optional
        Threads.
    progress : callable, optional
        Called like ``tqdm.tqdm``.

    Examples
    --------
    >>> from kerneton import make_actions
    >>> data = make_actions(["wave", "clap", "kick"], n_subjects=4, n_takes=2)
    >>> model = make_recognizer().fit(data[:18], data.labels[:18], groups=data.subjects[:18])
    >>> model.predict(data[18:]).shape
    (6,)
    """
    if preset is None:
        preset = "fast" if kernel is None else "paper"
    check_choice("preset", preset, PRESETS)
    if kernel is not None:
        check_choice("kernel", kernel, ["sck", "dck", "sck+dck"])
    if kernel is not None and preset != "paper":
        raise ParameterError(
            f"kernel={kernel!r} goes with preset='paper'; {preset!r} chooses its kernels itself"
        )
    check_choice("view", view, ["auto", "free", "fixed"])
    check_choice("mirror", mirror, ["auto", True, False])
    if preset == "paper":
        return _paper(kernel or "sck+dck", n_jobs)
    chosen = variants(view, mirror)
    return KernelSearch(
        standard_cues(order=3 if preset == "default" else 2, n_jobs=n_jobs),
        sums="leave-out" if preset == "auto" else "all",
        scout={"kernel__order": 2},
        variants=chosen,
        handicaps={
            name: _FIXED_VIEW_MUST_GAIN for name in chosen if view == "auto" and name.startswith("fixed")
        },
        Cs=(STANDARD_C,),  # C from 1 to 100 moves accuracy less than the noise of a choice on few subjects
        scatters=[STANDARD_SCATTER * factor for factor in ((1 / 3, 1, 3) if preset == "auto" else (1,))],
        average=10 if preset == "auto" else 1,
        progress=progress,
    )


def _paper(kernel: str, n_jobs: int | None) -> Pipeline:
    branches = {"sck": _paper_sck(n_jobs), "dck": _paper_dck(n_jobs)}
    svm = ("svm", LinearSVM(C=10))
    if kernel in branches:
        return Pipeline([*branches[kernel], svm])
    # One after the other: it is the kernels that use threads.
    union = FeatureUnion([(name, Pipeline(steps)) for name, steps in branches.items()], n_jobs=1)
    return Pipeline([("features", union), svm])


def _paper_sck(n_jobs: int | None) -> list[tuple[str, Any]]:
    """SCK as printed: σ₂ 0.6, σ₃ 0.5, Z₂ 5, Z₃ 6, γ 0.36; hip-centred, equal bones."""
    return [
        ("preprocess", Preprocess()),
        ("sck", SCK(joint_weight=0.3, entries="upper", n_jobs=n_jobs)),
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
