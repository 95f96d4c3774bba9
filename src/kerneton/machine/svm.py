"""A linear support vector machine, one class against the rest, for few examples with many
features.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kerneton.data.parameters import check_choice, check_in, check_positive, check_width
from kerneton.exceptions import DataError, ModelFileError, OutdatedWarning, ParameterError
from kerneton.machine.blocks import in_memory
from kerneton.machine.products import combine, gram
from kerneton.machine.scaling import ready
from kerneton.machine.solver import chosen_codes, one_vs_rest, penalised_gram, solve_gram
from kerneton.machine.truncated_newton import solve_blocks
from kerneton.parallel.threads import one_blas_thread

GRAM_EXAMPLES = 3000  # up to which the problem is solved on a Gram matrix
_BLOCK = 1024  # examples per block of a pass
_OF_GRADIENT = 0.01  # tolerance of gradients, relative to those at zero, for one of margins
_LARGEST = 1e100  # of C and class weights, so that their product does not overflow


class LinearSVM(ClassifierMixin, BaseEstimator):
    """Linear SVM, one class against the rest, with the solution of scikit-learn's ``LinearSVC``.

    Each class minimises ``½‖w‖² + ½v² + C Σ_i s_i max(0, 1 - y_i (w·x_i + ρv))²``, ρ the
    ``intercept_scaling``; the intercept is ρv. Up to 3,000 examples are solved exactly on their
    Gram matrix, more by passes over the features; both by a Newton method. Features (n, d) keep
    their precision and are never copied as a whole.

    Parameters
    ----------
    C : inverse strength of the regulariser.
    fit_intercept, intercept_scaling : as in ``LinearSVC``; the intercept is regularised, less so
        the larger the scaling.
    class_weight : None, "balanced" or a dict from label to a factor of C.
    within_class_penalty : penalty on directions in which examples of one class differ, relative to
        their mean spread: ``wᵀ(I + penalty S / t)w`` instead of ``‖w‖²``, with S the within-class
        scatter and t its trace per example. Such differences are mostly those between people.
    tol : largest error of a margin, whose scale is 1.
    max_iter : limit of Newton steps for one value of C.
    loss : deprecated since 0.3.0, the squared hinge is the only loss.

    Attributes
    ----------
    coef_, intercept_ : (n_classes, n_features) and (n_classes,), one row for two classes; the dtype
        of X.
    classes_ : the labels, sorted.
    n_iter_ : Newton steps of the slowest class.

    >>> X = np.array([[0.0, 1.0], [0.2, 0.9], [1.0, 0.0], [0.9, 0.1], [-1.0, -1.0], [-0.9, -0.8]])
    >>> y = ["wave", "wave", "bow", "bow", "clap", "clap"]
    >>> model = LinearSVM().fit(X, y)
    >>> model.predict([[0.8, 0.3], [0.1, 2.0]])
    array(['bow', 'wave'], dtype='<U4')
    >>> [m.C for m in model.fit_path(X, y, [0.1, 1, 10])]
    [0.1, 1, 10]
    """

    coef_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray
    n_iter_: int
    n_features_in_: int

    def __init__(
        self,
        C: float = 10.0,
        *,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: Any = None,
        within_class_penalty: float = 0.0,
        tol: float = 1e-6,
        max_iter: int = 1000,
        loss: str | None = None,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.within_class_penalty = within_class_penalty
        self.tol = tol
        self.max_iter = max_iter
        self.loss = loss

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVM:
        self._fit([self], X, y, sample_weight)
        return self

    def fit_path(
        self, X: Any, y: Any, Cs: Sequence[float], sample_weight: Any = None
    ) -> list[LinearSVM]:
        """One fitted classifier for each value of C, all from one Gram matrix; this one is not
        changed.
        """
        models = [clone(self).set_params(C=C) for C in Cs]
        if models:
            models[0]._fit(models, X, y, sample_weight)
        return models

    @one_blas_thread()
    def decision_function(self, X: Any) -> np.ndarray:
        """Signed scores (n, n_classes), or (n,) for two classes, positive for ``classes_[1]``."""
        check_is_fitted(self)
        X = X if ready(self, X) else _validated(self, X, reset=False)
        scores = gram(X, self.coef_.astype(X.dtype, copy=False)) + self.intercept_
        scores = scores.astype(X.dtype, copy=False)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        return self.labels_of(self.decision_function(X))

    def labels_of(self, scores: np.ndarray) -> np.ndarray:
        """The labels (n,) that follow from decision values."""
        return self.classes_[chosen_codes(scores)]

    @one_blas_thread()
    def _fit(self, models: list[LinearSVM], X: Any, y: Any, sample_weight: Any) -> None:
        """Fit several classifiers that differ only in C; the first one checks the input."""
        self._check_parameters([m.C for m in models])
        if self.loss is not None:
            warnings.warn(
                "LinearSVM(loss=) is deprecated: the squared hinge is the only loss",
                OutdatedWarning,
                stacklevel=4,
            )
        if y is None:
            raise DataError("LinearSVM requires y to be passed, but the target y is None")
        X, y = _validated(self, X, y)
        classes, codes = _classes(y)
        if len(classes) < 2:
            raise DataError(f"LinearSVM needs at least two classes, got one class: {classes[0]!r}")
        if sample_weight is not None:
            sample_weight = _check_weights(sample_weight, len(codes))
        solutions = solve(
            X,
            codes,
            [m.C for m in models],
            penalty=self.within_class_penalty,
            scaling=float(self.intercept_scaling) ** 2 if self.fit_intercept else 0.0,
            weights=class_weights(codes, len(classes), self._factors(classes), sample_weight),
            tol=self.tol,
            max_iter=self.max_iter,
        )
        for model, found in zip(models, solutions, strict=True):
            model.classes_, model.n_iter_ = classes, found.n_iter
            model.coef_ = np.ascontiguousarray(found.coef, dtype=X.dtype)
            model.intercept_ = np.ascontiguousarray(found.intercept, dtype=X.dtype)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(self, name):
                    setattr(model, name, getattr(self, name))
        slow = [m.C for m, found in zip(models, solutions, strict=True) if not found.converged]
        if slow:
            warnings.warn(
                f"LinearSVM did not converge in {self.max_iter} Newton steps for C = {slow}; "
                "raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )

    def get_state(self) -> dict[str, Any]:
        """The learned values, for a file."""
        return {
            "classes": self.classes_,
            "coef": self.coef_,
            "intercept": self.intercept_,
            "n_iter": self.n_iter_,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what ``get_state`` returned; values that do not fit are refused."""
        self._check_parameters([self.C])
        self.classes_, self.coef_, self.intercept_ = (
            state["classes"],
            state["coef"],
            state["intercept"],
        )
        k = len(self.classes_)
        rows = 1 if k == 2 else k
        if self.coef_.ndim != 2 or len(self.coef_) != rows or self.intercept_.shape != (rows,):
            raise ModelFileError(f"weights of shape {self.coef_.shape} for {k} labels")
        self.n_features_in_, self.n_iter_ = self.coef_.shape[1], int(state["n_iter"])

    def _factors(self, classes: np.ndarray) -> Any:
        if not isinstance(self.class_weight, dict):
            return self.class_weight
        unknown = [label for label in self.class_weight if label not in classes]
        if unknown:
            raise ParameterError(f"class_weight names {unknown}, the labels are {classes.tolist()}")
        for label, factor in self.class_weight.items():
            check_in(f"class_weight of {label!r}", factor, 0, _LARGEST)
        return [self.class_weight.get(label, 1.0) for label in classes.tolist()]

    def _check_parameters(self, Cs: list[float]) -> None:
        for C in Cs:
            check_positive("C", C)
            check_in("C", C, 0, _LARGEST)
        if self.loss == "hinge":
            raise ParameterError(
                "loss='hinge' was removed in Kerneton 0.3.0: scikit-learn's LinearSVC(loss='hinge') has it, "
                "and a recogniser takes it as its machine"
            )
        check_choice("loss", self.loss, [None, "squared_hinge"])
        check_width("intercept_scaling", self.intercept_scaling)
        check_in("within_class_penalty", self.within_class_penalty, 0, 1e6)
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter, integer=True)
        if self.class_weight is not None and not isinstance(self.class_weight, dict):
            check_choice("class_weight", self.class_weight, [None, "balanced"])


def _validated(estimator: BaseEstimator, X: Any, *y: Any, **options: Any) -> Any:
    """scikit-learn's checks of a table of features, as `DataError`."""
    if isinstance(X, Iterator):
        raise DataError(
            f"expected features of shape (n, d), got a {type(X).__name__}; make an array of it"
        )
    try:
        return validate_data(estimator, X, *y, dtype=[np.float64, np.float32], **options)
    except ValueError as error:
        raise DataError(" ".join(str(error).split())) from error


def _classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels, sorted, and the position of each row's label among them."""
    try:
        check_classification_targets(y)
        return np.unique(y, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in y})
        raise DataError(
            f"labels must be of one kind to be sorted, got {' and '.join(kinds)}"
        ) from error
    except ValueError as error:
        raise DataError(" ".join(str(error).split())) from error


def _check_weights(sample_weight: Any, n: int) -> np.ndarray:
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape not in ((), (n,)):
        raise DataError(
            f"expected one sample weight for each of {n} rows, got shape {weights.shape}"
        )
    weights = np.broadcast_to(weights, (n,))
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise DataError(
            "sample weights must be finite, zero or positive and not all zero, "
            f"got {weights.min():g} to {weights.max():g}"
        )
    return weights


class Solution(NamedTuple):
    """Weights (n_rows, d) and intercepts (n_rows,) of one value of C."""

    coef: np.ndarray
    intercept: np.ndarray
    n_iter: int
    converged: bool


def solve(
    X: np.ndarray,
    codes: np.ndarray,
    Cs: Sequence[float],
    *,
    penalty: float = 0.0,
    scaling: float = 1.0,
    weights: np.ndarray | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    gram_examples: int = GRAM_EXAMPLES,
) -> list[Solution]:
    """The classifiers of every C on features (n, d), on a Gram matrix for up to ``gram_examples``.

    ``codes`` are classes 0..k-1, all of which occur; ``scaling`` is the square of the intercept's.

    >>> (found,) = solve(np.array([[2.0], [-2.0], [3.0]]), np.array([1, 0, 1]), [0.5], scaling=0.0)
    >>> found.coef.round(4).tolist()
    [[0.4444]]
    """
    if len(X) > gram_examples:
        return _solve_by_passes(X, codes, Cs, penalty, scaling, weights, tol, max_iter)
    signs, K = one_vs_rest(codes, int(codes.max()) + 1), gram(X)
    duals = None
    if penalty:
        K, duals = penalised_gram(K, codes, penalty)
    path = solve_gram(K + scaling, signs, Cs, weights=weights, tol=tol, max_iter=max_iter)
    beta = path.coef.reshape(-1, len(X))
    coef = combine(beta if duals is None else duals(beta), X).reshape(len(Cs), len(signs), -1)
    intercepts = scaling * path.coef.sum(axis=2)
    ends = path.n_iter.tolist(), path.converged.tolist()
    return [Solution(*found) for found in zip(coef, intercepts, *ends, strict=True)]


def _solve_by_passes(
    X: np.ndarray,
    codes: np.ndarray,
    Cs: Sequence[float],
    penalty: float,
    scaling: float,
    weights: np.ndarray | None,
    tol: float,
    max_iter: int,
) -> list[Solution]:
    """In ascending C, each from the solution before it."""
    blocks = in_memory([X[i : i + _BLOCK] for i in range(0, len(X), _BLOCK)])
    options: dict[str, Any] = {"penalty": penalty, "scaling": scaling, "weights": weights}
    found: dict[int, Solution] = {}
    start = None
    for j in np.argsort(np.asarray(Cs, dtype=float), kind="stable").tolist():
        done = solve_blocks(
            blocks,
            codes,
            float(Cs[j]),
            tol=_OF_GRADIENT * tol,
            max_iter=max_iter,
            start=start,
            **options,
        )
        start = done.coef, done.intercept
        found[j] = Solution(done.coef, done.intercept, done.n_iter, done.converged)
    return [found[j] for j in range(len(Cs))]


def class_weights(
    codes: np.ndarray,
    n_classes: int,
    class_weight: Any = None,
    sample_weight: np.ndarray | None = None,
) -> np.ndarray | None:
    """Factors of C, one row per one-against-rest problem, or None if all are 1.

    ``class_weight`` is None, "balanced" (``n / (n_classes n_c)``) or one number per class. As in
    liblinear, a class's weight counts for its own examples in its own problem; two classes share
    one problem and both weights count.

    >>> class_weights(np.array([0, 0, 1]), 2, "balanced")
    array([[0.75, 0.75, 1.5 ]])
    """
    if class_weight is None and sample_weight is None:
        return None
    sample_weight = np.ones(len(codes)) if sample_weight is None else sample_weight
    if class_weight is None:
        factors = np.ones(n_classes)
    elif isinstance(class_weight, str):
        counts = np.bincount(codes, weights=sample_weight, minlength=n_classes)
        factors = sample_weight.sum() / (n_classes * np.where(counts > 0, counts, 1.0))
    else:
        factors = np.asarray(class_weight, dtype=float)
    if n_classes == 2:
        return (factors[codes] * sample_weight)[None]
    return np.array(
        [np.where(codes == c, factors[c], 1.0) * sample_weight for c in range(n_classes)]
    )
