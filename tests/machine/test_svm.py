import warnings

import numpy as np
import pytest
from bench_parts.linear_svm import fold_decisions
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from kerneton.exceptions import DataError, OutdatedWarning, ParameterError
from kerneton.machine.folds import class_weights, one_vs_rest
from kerneton.machine.products import gram
from kerneton.machine.scaling import CenterNormalize
from kerneton.machine.solver import solve_gram, solve_positive
from kerneton.machine.svm import LinearSVM, solve


@parametrize_with_checks([LinearSVM(), LinearSVM(class_weight="balanced")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def problem(n, d, k, seed=0, dtype=np.float64):
    """Overlapping classes with a few unlike in size."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k) // 2 * 2 % k])
    centres = rng.standard_normal((k, d))
    return (centres[y] + 1.5 * rng.standard_normal((n, d))).astype(dtype), y


def reference(X, y, sample_weight=None, **parameters):
    """LinearSVC run to the end, the duality gap of its dual solver far below our tolerances."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LinearSVC(dual=True, tol=1e-11, max_iter=200_000, random_state=0, **parameters)
        return model.fit(X.astype(float), y, sample_weight)


@pytest.mark.parametrize(("n", "d", "k"), [(30, 80, 2), (40, 90, 5), (80, 12, 2), (90, 14, 4)])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_equals_linear_svc(n, d, k, C):
    X, y = problem(n, d, k)
    ours = LinearSVM(C, tol=1e-10).fit(X, y)
    theirs = reference(X, y, C=C)
    assert ours.coef_.shape == theirs.coef_.shape
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-7)
    assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    assert ours.predict(X).tolist() == theirs.predict(X).tolist()


@pytest.mark.parametrize("shape", [(30, 60), (60, 8)])
@pytest.mark.parametrize(
    "options",
    [
        {"fit_intercept": False},
        {"intercept_scaling": 3.0},
        {"class_weight": "balanced"},
        {"class_weight": {0: 2.0, 2: 0.3}},
    ],
    ids=str,
)
def test_options_equal_linear_svc(shape, options):
    for k in (2, 3):
        X, y = problem(*shape, k, seed=k)
        if k == 2 and isinstance(options.get("class_weight"), dict):
            options = {"class_weight": {1: 0.3}}
        ours = LinearSVM(0.1, tol=1e-10, **options).fit(X, y)
        theirs = reference(X, y, C=0.1, **options)
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
        assert_allclose(
            ours.intercept_, np.broadcast_to(theirs.intercept_, ours.intercept_.shape), atol=1e-7
        )


@pytest.mark.parametrize("shape", [(30, 60), (60, 8)])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_sample_weight(shape, class_weight):
    X, y = problem(*shape, 3)
    weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    weights[:3] = 1
    model = LinearSVM(0.2, tol=1e-10, class_weight=class_weight)
    weighted = model.fit(X, y, weights).coef_
    times = weights.astype(int)
    assert_allclose(weighted, model.fit(X.repeat(times, 0), y.repeat(times)).coef_, atol=1e-8)


@pytest.mark.parametrize("shape", [(40, 300), (300, 40)])
def test_float32(shape):
    X, y = problem(*shape, 4, dtype=np.float32)
    model = LinearSVM(0.1).fit(X, y)
    assert (
        model.coef_.dtype
        == model.intercept_.dtype
        == model.decision_function(X).dtype
        == np.float32
    )
    wide = LinearSVM(0.1).fit(X.astype(float), y)
    assert wide.coef_.dtype == np.float64
    assert_allclose(model.coef_, wide.coef_, atol=2e-6)
    assert_allclose(model.decision_function(X), wide.decision_function(X.astype(float)), atol=2e-5)


@pytest.mark.parametrize("shape", [(40, 90), (90, 12)])
def test_path_equals_separate_fits(shape):
    X, y = problem(*shape, 4)
    Cs = [10.0, 0.01, 1.0, 0.1]
    model = LinearSVM(tol=1e-9)
    path = model.fit_path(X, y, Cs)
    assert not hasattr(model, "coef_")
    assert [m.C for m in path] == Cs
    assert model.fit_path(X, y, []) == []
    for fitted, C in zip(path, Cs, strict=True):
        assert_allclose(fitted.coef_, LinearSVM(C, tol=1e-9).fit(X, y).coef_, atol=1e-7)
        assert fitted.n_features_in_ == shape[1]
        assert fitted.predict(X).shape == (len(X),)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize(("center", "norm"), [(True, True), (False, True), (False, False)])
def test_folds_equal_separate_fits(class_weight, center, norm):
    X, y = problem(48, 200, 4)
    X = X + 3
    Cs = [0.1, 10.0]
    folds = [
        (np.flatnonzero(np.arange(48) % 3 != i), np.flatnonzero(np.arange(48) % 3 == i))
        for i in range(3)
    ]
    answers = fold_decisions(
        gram(X), y, folds, Cs, center=center, norm=norm, class_weight=class_weight, tol=1e-9
    )
    for (train, valid), decisions in zip(folds, answers, strict=True):
        scale = CenterNormalize(center=center, norm=norm).fit(X[train])
        for C, decision in zip(Cs, decisions, strict=True):
            model = LinearSVM(C, class_weight=class_weight, tol=1e-9)
            model.fit(scale.transform(X[train]), y[train])
            expected = model.decision_function(scale.transform(X[valid]))
            assert_allclose(decision[:, model.classes_], expected, atol=1e-6)


def test_folds_with_missing_classes():
    X, y = problem(20, 50, 3)
    two, one = np.flatnonzero(y != 1), np.flatnonzero(y == 2)
    all_three, both, alone = fold_decisions(
        gram(X), y, [(np.arange(20), [0]), (two, [0, 1]), (one, [0])], [1.0], center=False
    )
    assert all_three.shape == (1, 1, 3)
    assert np.isfinite(all_three).all()
    assert (both[..., 1] == -np.inf).all()
    assert_allclose(both[..., 0], -both[..., 2])
    assert alone.tolist() == [[[-np.inf, -np.inf, 0.0]]]


def test_class_weights():
    codes = np.array([0, 1, 1, 2])
    assert class_weights(codes, 3) is None
    assert_allclose(class_weights(codes, 3, [5, 6, 7])[1], [1, 6, 6, 1])
    assert_allclose(class_weights(codes, 3, None, np.arange(4.0)), np.tile(np.arange(4.0), (3, 1)))
    assert_allclose(class_weights(codes, 3, "balanced")[1], [1, 2 / 3, 2 / 3, 1])


@pytest.mark.parametrize("penalty", [0.0, 2.0])
@pytest.mark.parametrize("weights", [None, "balanced"])
@pytest.mark.parametrize(("n", "d", "k"), [(200, 20, 3), (150, 300, 2)])
def test_passes_over_features_equal_the_gram_matrix(n, d, k, weights, penalty):
    X, y = problem(n, d, k)
    options = {"penalty": penalty, "weights": class_weights(y, k, weights), "tol": 1e-6}
    exact = solve(X, y, [1.0, 0.01], **options)
    passed = solve(X, y, [1.0, 0.01], gram_examples=0, **options)
    for one, other in zip(exact, passed, strict=True):
        assert other.converged
        expected = X @ one.coef.T + one.intercept
        assert_allclose(
            X @ other.coef.T + other.intercept, expected, atol=1e-4 * max(1, abs(expected).max())
        )


@pytest.mark.parametrize("weights", [None, "balanced"])
@pytest.mark.parametrize("k", [2, 7])
def test_steps_in_the_core_equal_those_by_lapack(k, weights):
    """Also where a step leads too far, from C to C, and for examples that are repeated or have no
    weight.
    """
    X, y = problem(90, 40, k)
    X[80:] = X[:10]
    K, Y = gram(CenterNormalize().fit_transform(X)) + 1, one_vs_rest(y, k)
    sample = np.where(np.arange(90) % 9 == 3, 0.0, 1.0)
    options = {"weights": class_weights(y, k, weights, sample), "tol": 1e-6}
    fast = solve_gram(K, Y, [0.1, 1e4, 10.0], **options)
    plain = solve_gram(K, Y, [0.1, 1e4, 10.0], few=0, **options)
    assert_allclose(fast.decision, plain.decision, atol=1e-8)
    assert_allclose(fast.coef, plain.coef, atol=1e-6, rtol=1e-6)
    assert (fast.coef[:, :, sample == 0] == 0).all()
    assert (fast.converged == plain.converged).all()


@pytest.mark.parametrize("shape", [(6, 9), (9, 6)])
def test_features_that_say_nothing(shape):
    model = LinearSVM(fit_intercept=False).fit(np.zeros(shape), np.arange(shape[0]) % 3)
    assert_allclose(model.coef_, np.zeros((3, shape[1])), atol=0)


def test_singular_systems_are_solved_by_least_squares():
    A = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, -1e-30]])
    b = np.array([[2.0], [2.0], [0.0]])
    assert_allclose(solve_positive(A.copy(), b.copy()), [[1.0], [1.0], [0.0]], atol=1e-12)


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e4])
def test_hard_problems_reach_the_optimum(C):
    """Repeated, parallel, badly scaled and contradictory examples: the duality gap closes all the
    same.
    """
    rng = np.random.default_rng(5)
    base = 1 + 1e-3 * rng.standard_normal((25, 60))
    X = np.concatenate([base, base, 100 * base[:10], np.zeros((2, 60))])
    y = rng.integers(0, 3, len(X))
    y[:3] = 0, 1, 2
    K, Y = gram(X) + 1, one_vs_rest(y, 3)
    path = solve_gram(K, Y, [C])
    assert path.converged.all()
    beta, f = path.coef[0], path.decision[0]
    a, slack = Y * beta, np.maximum(0, 1 - Y * f)
    norm = (beta * f).sum(1)
    primal = 0.5 * norm + C * (slack**2).sum(1)
    a = np.clip(a, 0, None)
    dual = a.sum(1) - 0.5 * norm - (a * a).sum(1) / (4 * C)
    assert_allclose(dual, primal, rtol=1e-4)


@pytest.mark.parametrize("few", [0, 1000])
def test_line_search_is_needed_and_works(few):
    """A start far off, where full Newton steps overshoot, still ends at the same answer."""
    rng = np.random.default_rng(6)
    X = np.exp(2 * rng.standard_normal((80, 6)))
    y = (rng.random(80) > 0.5).astype(int)
    K, Y = gram(X) + 1, one_vs_rest(y, 2)
    path = solve_gram(K, Y, [1e-4, 1e4], few=few)
    assert path.converged.all()
    alone = solve_gram(K, Y, [1e4], few=few)
    assert_allclose(path.decision[1], alone.decision[0], atol=1e-4 * abs(alone.decision).max())


def test_warns_when_stopped_early():
    X, y = problem(60, 10, 3)
    with pytest.warns(ConvergenceWarning, match=r"2 Newton steps for C = \[1.0\]; raise max_iter"):
        LinearSVM(C=1.0, max_iter=2).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C must be a positive number, got 0"),
        ({"C": 1e308}, r"C must be a number in \[0, 1e\+100\], got 1e\+308"),
        (
            {"class_weight": {0: 1e308}},
            r"class_weight of 0 must be a number in \[0, 1e\+100\], got",
        ),
        (
            {"loss": "hinge"},
            r"loss='hinge' was removed in Kerneton 0.3.0: scikit-learn's LinearSVC",
        ),
        ({"loss": "log"}, "loss must be one of None, 'squared_hinge', got 'log'"),
        ({"intercept_scaling": -1.0}, "intercept_scaling must be a positive number"),
        ({"tol": 0.0}, "tol must be a positive number"),
        ({"max_iter": 1.5}, "max_iter must be a positive whole number"),
        ({"class_weight": "even"}, "class_weight must be one of None, 'balanced', got 'even'"),
        ({"class_weight": {9: 1.0}}, r"class_weight names \[9\], the labels are \[0, 1\]"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(ParameterError, match=message):
        LinearSVM(**options).fit(np.eye(2), [0, 1])


def test_data_is_checked():
    with pytest.raises(ParameterError, match="C must be a positive number, got -1"):
        solve_gram(np.eye(2), np.array([[1.0, -1.0]]), [1.0, -1])
    with pytest.raises(DataError, match="at least two classes, got one class"):
        LinearSVM().fit(np.eye(3), ["wave"] * 3)
    with pytest.raises(DataError, match="not all zero, got 0 to 0"):
        LinearSVM().fit(np.eye(2), [0, 1], sample_weight=[0, 0])
    with pytest.raises(DataError, match="zero or positive"):
        LinearSVM().fit(np.eye(2), [0, 1], sample_weight=[-1, 2])
    with pytest.raises(DataError, match=r"one sample weight for each of 2 rows, got shape \(3,\)"):
        LinearSVM().fit(np.eye(2), [0, 1], sample_weight=[1, 1, 1])


def test_labels_of_any_kind():
    X, y = problem(30, 50, 3)
    names = np.array(["bow", "clap", "wave"], dtype=object)[y]
    assert LinearSVM(10).fit(X, names).score(X, names) == 1.0


def test_the_only_loss_need_not_be_named():
    X, y = problem(30, 50, 3)
    with pytest.warns(OutdatedWarning, match="the squared hinge is the only loss"):
        named = LinearSVM(loss="squared_hinge").fit(X, y)
    assert_allclose(named.coef_, LinearSVM(C=10).fit(X, y).coef_, atol=0)  # the default of C
