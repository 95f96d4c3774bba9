"""LinearSVM compared with scikit-learn's LinearSVC on features like those of SCK + DCK: fit,
predict, model selection.

Features are positive and nearly parallel, as those of SCK and DCK are, then centred and scaled to
unit norm. Times are processor seconds, so that other work on the machine does not count; LinearSVC
runs with its defaults.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from bench_parts._timing import Settings, compared
from kerneton.machine.folds import held_out_scores
from kerneton.machine.products import gram
from kerneton.machine.scaling import CenterNormalize, center_normalize_gram
from kerneton.machine.svm import LinearSVM
from kerneton.paper.stopwatch import timed

CS = [0.1, 1.0, 10.0, 100.0, 1000.0]
MSR_SHAPE = (284, 57_400, 20)  # training sequences, features and classes of MSR-Action3D


def measure(settings: Settings) -> dict[str, Any]:
    """Fits on as many sequences as MSR-Action3D has for training; a quick run takes fewer with
    fewer features.
    """
    shape = (60, 4_000, 10) if settings.quick else MSR_SHAPE
    found = compare(*shape, repeats=min(settings.repeats, 5))
    ours, theirs = (
        found[f"{name}_squared_hinge"]["fit_s"] for name in ("linear_svm", "linear_svc")
    )
    found["comparisons"] = {"linear_svm_vs_linear_svc": compared(ours, theirs, theirs / ours, "s")}
    return found


def make_features(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Positive features around a common mean: classes, sub-clusters and noise of falling size,
    float32.

    >>> X, y = make_features(6, 50, 3)
    >>> X.shape, y.tolist()
    ((6, 50), [0, 1, 2, 0, 1, 2])
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    factors = rng.standard_normal((n, 40)).astype(np.float32) * (np.arange(1, 41) ** -0.7).astype(
        np.float32
    )
    factors[:, :n_classes] += np.eye(n_classes, dtype=np.float32)[y] * 0.6
    X = factors @ rng.standard_normal((40, d), dtype=np.float32)
    X += 0.3 * rng.standard_normal((n, d), dtype=np.float32)
    mean = rng.gamma(2.0, 1.0, d).astype(np.float32)
    return np.abs(mean * (1 + 0.1 * X)), y


Timer = Callable[[Callable[[], Any]], tuple[float, Any]]  # seconds of a call, and its result


def median_timed(
    call: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.process_time
) -> tuple[float, Any]:
    """Median seconds of some calls, by default of the processor, and the last result."""
    seconds = []
    for _ in range(repeats):
        one, result = timed(call, clock)
        seconds.append(one)
    return max(statistics.median(seconds), 1e-9), result


def stages(timer: Timer, X: Any, y: np.ndarray, n: int) -> tuple[dict[str, float], Any, Any]:
    """Seconds from n training sequences to the scores of all folds; training and test features,
    scaled.
    """
    scale = CenterNormalize().fit(X[:n])
    folds = list(StratifiedKFold(5).split(np.zeros((n, 1)), y[:n]))
    seconds: dict[str, float] = {}
    seconds["center_normalize_s"], train = timer(lambda: scale.transform(X[:n]))
    seconds["gram_s"], K = timer(lambda: gram(X[:n]))
    seconds["path_of_5_C_s"], _ = timer(lambda: LinearSVM().fit_path(train, y[:n], CS))
    seconds["5_folds_of_5_C_s"], _ = timer(lambda: fold_decisions(K, y[:n], folds, CS))
    return seconds, train, scale.transform(X[n:])


def compare(
    n: int,
    n_features: int,
    n_classes: int,
    C: float = 10.0,
    repeats: int = 5,
) -> dict[str, Any]:
    """Fit on n sequences, predict n others; ratios are LinearSVC's time divided by ours."""
    X, y = make_features(2 * n, n_features, n_classes)
    timer, once = partial(median_timed, repeats=repeats), partial(median_timed, repeats=1)
    seconds, train, test = stages(timer, X, y, n)
    result: dict[str, Any] = {"shape": [n, n_features, n_classes], "C": C, **seconds}
    ours, theirs = LinearSVM(C), LinearSVC(C=C, dual=True, random_state=0)
    # LinearSVC is fitted once: it takes half a minute and is not close.
    for name, model, fit_timer in (("linear_svm", ours, timer), ("linear_svc", theirs, once)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit_s, _ = fit_timer(partial(model.fit, train, y[:n]))
        predict_s, labels = timer(partial(model.predict, test))
        accuracy = float(np.mean(labels == y[n:]))
        result[f"{name}_squared_hinge"] = {
            "fit_s": fit_s,
            "predict_s": predict_s,
            "accuracy": accuracy,
        }
    for stage in ("fit", "predict"):
        slow, fast = (
            result[f"{name}_squared_hinge"][f"{stage}_s"] for name in ("linear_svc", "linear_svm")
        )
        result[f"{stage}_vs_linear_svc_squared_hinge"] = slow / fast
    result["weights_differ_by_squared_hinge"] = _difference(ours.coef_, theirs.coef_)
    return result


def _difference(weights: np.ndarray, expected: np.ndarray) -> float:
    return float(abs(weights - expected).max() / abs(expected).max())


def fold_decisions(
    K: Any,
    codes: Any,
    folds: Iterable[tuple[Any, Any]],
    Cs: Sequence[float],
    *,
    center: bool = True,
    norm: bool = True,
    intercept_scaling: float = 1.0,
    **options: Any,
) -> list[Any]:
    """Decision values of every fold's held-out rows for every C, from one Gram matrix of raw
    features.

    Each fold is centred and normalised on its own training side. The answer is one array (n_C,
    n_held_out, k) per fold; options go to `held_out_scores`.

    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [0.1, 1.0], [1.0, 0.1]])
    >>> [
    ...     D.argmax(-1).tolist()
    ...     for D in fold_decisions(X @ X.T, [0, 1, 0, 1], [([0, 1], [2, 3])], [1.0, 10.0])
    ... ]
    [[[0, 1], [0, 1]]]
    """
    codes = np.asarray(codes)
    options |= {"scaling": intercept_scaling**2}
    answers = []
    for train, test in folds:
        inside, across = center_normalize_gram(K, train, test, center=center, norm=norm)
        answers.append(
            held_out_scores(
                inside, across, codes[np.asarray(train)], int(codes.max()) + 1, Cs, **options
            )
        )
    return answers
