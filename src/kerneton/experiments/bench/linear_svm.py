"""LinearSVM against scikit-learn's LinearSVC on features shaped like SCK + DCK: fit, predict, model selection.

Features are positive and nearly parallel, as those of SCK and DCK are, then centred and scaled to unit norm. Times are
processor seconds, so that a busy machine does not count; LinearSVC runs with its own defaults.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from kerneton.experiments.bench._timing import Settings, compared
from kerneton.machine.folds import fold_decisions
from kerneton.machine.gram import gram
from kerneton.machine.normalize import CenterNormalize
from kerneton.machine.svm import LinearSVM

LOSSES = ("squared_hinge", "hinge")
CS = [0.1, 1.0, 10.0, 100.0, 1000.0]
MSR_SHAPE = (284, 57_400, 20)  # training sequences, features and classes of MSR-Action3D


def measure(settings: Settings) -> dict[str, Any]:
    """Fits on as many recordings as MSR-Action3D has for training; quick: on fewer and narrower ones."""
    shape = (60, 4_000, 10) if settings.quick else MSR_SHAPE
    found = compare(*shape, repeats=min(settings.repeats, 5))
    ours, theirs = (found[f"{name}_squared_hinge"]["fit_s"] for name in ("linear_svm", "linear_svc"))
    found["comparisons"] = {"linear_svm_vs_linear_svc": compared(ours, theirs, theirs / ours, "s")}
    return found


def make_features(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Positive features around a common mean: classes, sub-clusters and noise of falling size, float32.

    >>> X, y = make_features(6, 50, 3)
    >>> X.shape, y.tolist()
    ((6, 50), [0, 1, 2, 0, 1, 2])
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    factors = rng.standard_normal((n, 40)).astype(np.float32) * (np.arange(1, 41) ** -0.7).astype(np.float32)
    factors[:, :n_classes] += np.eye(n_classes, dtype=np.float32)[y] * 0.6
    X = factors @ rng.standard_normal((40, d), dtype=np.float32)
    X += 0.3 * rng.standard_normal((n, d), dtype=np.float32)
    mean = rng.gamma(2.0, 1.0, d).astype(np.float32)
    return np.abs(mean * (1 + 0.1 * X)), y


def timed(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median processor seconds, and what the function returned."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        answer = function()
        seconds.append(time.process_time() - start)
    return max(statistics.median(seconds), 1e-9), answer


def compare(
    n: int,
    n_features: int,
    n_classes: int,
    C: float = 10.0,
    repeats: int = 5,
    losses: tuple[str, ...] = LOSSES[:1],
) -> dict[str, Any]:
    """Fit on n sequences, predict n others; ratios are LinearSVC's time over ours."""
    X, y = make_features(2 * n, n_features, n_classes)
    scale = CenterNormalize().fit(X[:n])
    seconds_scale, X_train = timed(lambda: scale.transform(X[:n]), repeats)
    X_test, y_train, y_test = scale.transform(X[n:]), y[:n], y[n:]
    seconds_gram, K = timed(lambda: gram(X[:n]), repeats)
    seconds_path, _ = timed(lambda: LinearSVM().fit_path(X_train, y_train, CS), repeats)
    folds = list(StratifiedKFold(5).split(np.zeros((n, 1)), y_train))
    seconds_folds, _ = timed(lambda: fold_decisions(K, y_train, folds, CS), repeats)
    result: dict[str, Any] = {
        "shape": [n, n_features, n_classes],
        "C": C,
        "center_normalize_s": seconds_scale,
        "gram_s": seconds_gram,
        "path_of_5_C_s": seconds_path,
        "5_folds_of_5_C_s": seconds_folds,
    }
    for loss in losses:
        models = {
            "linear_svm": (LinearSVM(C, loss=loss), repeats),
            # One run: it takes half a minute and is not close.
            "linear_svc": (LinearSVC(C=C, loss=loss, dual=True, random_state=0), 1),
        }
        for name, (model, times) in models.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                fit_s, fitted = timed(lambda model=model: model.fit(X_train, y_train), times)  # type: ignore[misc]
            predict_s, labels = timed(lambda fitted=fitted: fitted.predict(X_test), repeats)  # type: ignore[misc]
            accuracy = float(np.mean(labels == y_test))
            result[f"{name}_{loss}"] = {"fit_s": fit_s, "predict_s": predict_s, "accuracy": accuracy}
        ours, theirs = result[f"linear_svm_{loss}"], result[f"linear_svc_{loss}"]
        result[f"fit_vs_linear_svc_{loss}"] = theirs["fit_s"] / ours["fit_s"]
        result[f"predict_vs_linear_svc_{loss}"] = theirs["predict_s"] / ours["predict_s"]
        weights = [model.coef_ for model, _ in models.values()]
        result[f"weights_differ_by_{loss}"] = float(
            abs(weights[0] - weights[1]).max() / abs(weights[1]).max()
        )
    return result


def on_device(
    n: int,
    n_features: int,
    n_classes: int,
    C: float,
    repeats: int,
    device: str,
    losses: tuple[str, ...] = LOSSES[:1],
) -> dict[str, Any]:
    """The same features in torch on a device: wall seconds, and how far the answers are from NumPy's."""
    import torch

    def wall(function: Callable[[], Any]) -> tuple[float, Any]:
        answer, seconds = function(), []
        for _ in range(repeats):
            start = time.perf_counter()
            answer = function()
            if device.startswith("cuda"):
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds), answer

    X, y = make_features(2 * n, n_features, n_classes)
    scale = CenterNormalize().fit(X[:n])
    there = torch.as_tensor(X, device=device)
    scale_there = CenterNormalize().fit(there[:n])
    result: dict[str, Any] = {"device": device, "shape": [n, n_features, n_classes]}
    result["center_normalize_s"], train = wall(lambda: scale_there.transform(there[:n]))
    test = scale_there.transform(there[n:])
    result["gram_s"], K = wall(lambda: gram(there[:n]))
    result["path_of_5_C_s"], _ = wall(lambda: LinearSVM().fit_path(train, y[:n], CS))
    folds = list(StratifiedKFold(5).split(np.zeros((n, 1)), y[:n]))
    result["5_folds_of_5_C_s"], _ = wall(lambda: fold_decisions(K, y[:n], folds, CS))
    for loss in losses:
        model = LinearSVM(C, loss=loss).fit(scale.transform(X[:n]), y[:n])
        fit_s, fitted = wall(lambda loss=loss: LinearSVM(C, loss=loss).fit(train, y[:n]))  # type: ignore[misc]
        predict_s, labels = wall(lambda fitted=fitted: fitted.predict(test))  # type: ignore[misc]
        result[f"linear_svm_{loss}"] = {"fit_s": fit_s, "predict_s": predict_s}
        difference = abs(fitted.coef_.cpu().numpy() - model.coef_).max() / abs(model.coef_).max()
        result[f"weights_differ_by_{loss}"] = float(difference)
        result[f"same_labels_{loss}"] = float(np.mean(labels == model.predict(scale.transform(X[n:]))))
    return result
