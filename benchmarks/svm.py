"""LinearSVM against scikit-learn's LinearSVC on features shaped like SCK + DCK: fit, predict, model selection.

Features are positive and nearly parallel, as those of SCK and DCK are, then centred and scaled to unit norm. Times are
medians of repeats, in processor seconds so that a busy machine does not count; LinearSVC runs with its own defaults.

    OMP_NUM_THREADS=1 python benchmarks/svm.py --json svm.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from kerneton import CenterNormalize, LinearSVM
from kerneton._gram import gram
from kerneton._svm_folds import fold_decisions

LOSSES = ("squared_hinge", "hinge")
CS = [0.1, 1.0, 10.0, 100.0, 1000.0]


def make_features(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Positive features around a common mean: classes, sub-clusters and noise of falling size, float32."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    factors = rng.standard_normal((n, 40)).astype(np.float32) * (np.arange(1, 41) ** -0.7).astype(np.float32)
    factors[:, :n_classes] += np.eye(n_classes, dtype=np.float32)[y] * 0.6
    X = factors @ rng.standard_normal((40, d), dtype=np.float32)
    X += 0.3 * rng.standard_normal((n, d), dtype=np.float32)
    mean = rng.gamma(2.0, 1.0, d).astype(np.float32)
    return np.abs(mean * (1 + 0.1 * X)), y


def timed(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        answer = function()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds), answer


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
            fit_s, fitted = timed(lambda model=model: model.fit(X_train, y_train), times)
            predict_s, labels = timed(lambda fitted=fitted: fitted.predict(X_test), repeats)
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
    n: int, n_features: int, n_classes: int, C: float, repeats: int, device: str, losses: tuple[str, ...]
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
    result: dict[str, Any] = {"device": device}
    result["center_normalize_s"], train = wall(lambda: scale_there.transform(there[:n]))
    test = scale_there.transform(there[n:])
    result["gram_s"], K = wall(lambda: gram(there[:n]))
    result["path_of_5_C_s"], _ = wall(lambda: LinearSVM().fit_path(train, y[:n], CS))
    folds = list(StratifiedKFold(5).split(np.zeros((n, 1)), y[:n]))
    result["5_folds_of_5_C_s"], _ = wall(lambda: fold_decisions(K, y[:n], folds, CS))
    for loss in losses:
        model = LinearSVM(C, loss=loss).fit(scale.transform(X[:n]), y[:n])
        fit_s, fitted = wall(lambda loss=loss: LinearSVM(C, loss=loss).fit(train, y[:n]))
        predict_s, labels = wall(lambda fitted=fitted: fitted.predict(test))
        result[f"linear_svm_{loss}"] = {"fit_s": fit_s, "predict_s": predict_s}
        difference = abs(fitted.coef_.cpu().numpy() - model.coef_).max() / abs(model.coef_).max()
        result[f"weights_differ_by_{loss}"] = float(difference)
        result[f"same_labels_{loss}"] = float(np.mean(labels == model.predict(scale.transform(X[n:]))))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=284, help="training sequences; as many again are predicted")
    parser.add_argument("--features", type=int, default=57_400)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--C", type=float, default=10.0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=LOSSES[:1])
    parser.add_argument("--device", help="time torch on this device (cpu, cuda) instead of LinearSVC")
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    sizes = options.n, options.features, options.classes, options.C, options.repeats
    if options.device:
        result = on_device(*sizes, options.device, tuple(options.losses))
    else:
        result = compare(*sizes, tuple(options.losses))
    for key, value in result.items():
        shown = f"{value:.4g}" if isinstance(value, float) else value
        if isinstance(value, dict):
            shown = "  ".join(f"{name} {figure:.4g}" for name, figure in value.items())
        print(f"{key:36s} {shown}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()
