"""Branches on a GPU, which is emulated: features, decisions and fits are those of the core."""

from __future__ import annotations

import logging
import shutil

import numpy as np
import pytest
from emulator import EmulatedGpu
from sklearn.base import clone
from walks import assert_rows_close, people, walks

from kerneton import DCK, SCK, CenterNormalize, Recognizer, SkeletonSequence
from kerneton.cuda.encode import check_branches, encode
from kerneton.cuda.gpu import CannotError
from kerneton.exceptions import DataError
from kerneton.kernels import engine
from kerneton.prepare.preprocess import Preprocess
from kerneton.recognize.branch import Branch
from kerneton.recognize.training import Limits

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

LENGTHS = (7, 1, 12, 2)
FEW = {"n_pivots_joint": 2, "n_pivots_time": 3}  # so that the emulator takes seconds


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    return EmulatedGpu(tmp_path_factory.mktemp("cuda"))


@pytest.fixture
def device(gpu, monkeypatch):
    """The name of a GPU, as users write it; the emulated one answers to it."""
    monkeypatch.setattr(engine, "_gpu", lambda name: gpu)
    return "cuda"


def single(X):
    return [s.replace(joints=s.joints.astype(np.float32)) for s in X]


KERNELS = [
    SCK(order=2, **FEW),
    SCK(
        order=2, pairs=True, joints="A", signals=("direction", "velocity"), **FEW, joint_weight=0.3
    ),
    SCK(order=2, pairs=True, joints="A", signals=("bone", "velocity"), **FEW, joint_weight=0.3),
    SCK(order=2, mirror=True, joint_weight=0.3, signals=("position", "acceleration"), **FEW),
    SCK(joints="A", mirror="partly", **FEW),
    SCK(joints="A", entries="slices", pairs=True, **FEW),
    DCK(joints="A", **FEW),
    DCK(joints="A", mirror=True, sigma_span=3.0, entry_power=0.8, **FEW),
    DCK(joints="A", signals="velocity", same_joint=False, **FEW),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_by_themselves(kernel, device):
    X = single(people(LENGTHS, fps=30.0))
    expected = clone(kernel).fit_transform(X)
    found = clone(kernel).set_params(device=device).fit_transform(X)
    assert found.dtype == expected.dtype == np.float32
    tol = 5e-3 if kernel.power < 0.5 or getattr(kernel, "entry_power", 1) < 1 else 1e-4
    assert_rows_close(found, expected, tol)


def test_double_precision(device):
    X = people(LENGTHS, fps=30.0)
    expected = SCK(order=2, **FEW).fit_transform(X)
    found = SCK(order=2, device=device, **FEW).fit_transform(X)
    assert found.dtype == np.float64
    assert_rows_close(found, expected, 1e-6)


def test_flat_recordings(device):
    X = [s.replace(joints=s.joints * [1, 1, 0]) for s in single(people(LENGTHS))]
    for kernel in (SCK(order=2, **FEW), SCK(joints="A", **FEW), DCK(joints="A", **FEW)):
        expected = clone(kernel).fit_transform(X)
        found = clone(kernel).set_params(device=device).fit_transform(X)
        assert_rows_close(found, expected, 5e-3)


def test_out_and_parts(gpu, monkeypatch):
    """Recordings go to the GPU in parts; the result is the same, and written where it belongs."""
    X, y = single(people((7, 9, 12, 8, 5), fps=30.0)), list("ababa")
    branch = Branch(Preprocess(), SCK(order=2, weighting="alignment", **FEW), CenterNormalize())
    expected = branch.fit_transform(X, y)
    whole = encode([branch], X, gpu)
    assert_rows_close(whole, expected, 5e-3)
    monkeypatch.setattr("kerneton.cuda.encode._BATCH", 2 * whole[0].nbytes)
    out = np.full_like(whole, np.nan)
    assert encode([branch], X, gpu, out=out) is out
    np.testing.assert_allclose(out, whole, rtol=1e-6)
    weights = np.random.default_rng(0).normal(size=(3, whole.shape[1]))
    np.testing.assert_allclose(
        encode([branch], X, gpu, weights=weights), whole @ weights.T, rtol=1e-3, atol=1e-5
    )


def test_a_batch_that_is_too_large_is_halved(gpu, monkeypatch):
    X = single(people((7, 9, 12, 8, 5)))
    kernel = SCK(order=2, **FEW)
    branch = Branch(None, kernel).fit(X)
    expected, fetch, most = encode([branch], X, gpu), gpu.fetch, [2]

    def full(values, out):
        if len(out) > most[0]:
            raise torch.cuda.OutOfMemoryError("too large")
        fetch(values, out)

    monkeypatch.setattr(gpu, "fetch", full)
    # Lanes of a warp sweep until all have converged, so that rounding depends on the batch.
    np.testing.assert_allclose(encode([branch], X, gpu), expected, atol=1e-6)
    most[0] = 0
    with pytest.raises(DataError, match="one recording of 7 frames does not fit into the GPU"):
        encode([branch], X, gpu)


@pytest.fixture(scope="module")
def data():
    from kerneton import make_actions

    return make_actions(["wave", "bow"], n_subjects=3, n_takes=1, fps=8)


def recognizer(**options):
    """A recogniser of few pivots and joints with all that a branch can have."""
    step = Preprocess(bones="size", facing="sequence", dtype="float32")
    scale, weighted = CenterNormalize(), SCK(order=2, joints="A", weighting="alignment", **FEW)
    branches = [
        ("sck", Branch(step, weighted, scale, weight=1.5)),
        ("dck", Branch(Preprocess(dtype="float32"), DCK(joints="A", mirror=True, **FEW), scale)),
    ]
    return Recognizer(branches, **options)


def test_recognisers_answer_as_on_the_cpu(data, device, caplog):
    model = recognizer(calibrate=True).fit(data, data.labels)
    features, decisions = model.features(data), model.decision_function(data)
    expected = model.results(data)
    model.set_params(device=device)
    with caplog.at_level(logging.WARNING):
        found = model.features(data)
        assert found.dtype == features.dtype == np.float32
        assert_rows_close(found, features, 1e-3)
        np.testing.assert_allclose(model.decision_function(data), decisions, atol=5e-3)
        found = model.results(data)
    assert not caplog.messages
    assert list(found.labels) == list(expected.labels)
    for name in ("scores", "probabilities", "unknown"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-2)


def test_a_fit(data, device):
    expected = recognizer().fit(data, data.labels)
    model = recognizer(device=device).fit(data, data.labels)
    assert {branch.kernel_.device for branch in model.branches_.values()} == {device}
    np.testing.assert_allclose(
        model.decision_function(data), expected.decision_function(data), atol=5e-3
    )


def test_a_large_fit(data, device, monkeypatch):
    limits = Limits(choice=2, gram=2, block=2, settled=0.0, steps=100, tol=1e-7)
    monkeypatch.setattr(Recognizer, "limits", limits)
    expected = recognizer().fit(data, data.labels).machine_
    found = recognizer(device=device).fit(data, data.labels).machine_
    assert found.coef_.dtype == expected.coef_.dtype
    assert np.linalg.norm(found.coef_ - expected.coef_) < 5e-3 * np.linalg.norm(expected.coef_)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=5e-3)


@pytest.mark.filterwarnings("ignore:.*taken for padding")  # the first frame of one is lost
@pytest.mark.parametrize("lost", ["fill", "drop"])
def test_gaps(data, lost, device):
    model = recognizer().fit(data, data.labels)
    for branch in model.branches_.values():
        branch.preprocess_.set_params(gaps=lost)
    torn = [s.joints.copy() for s in data[:2]]
    torn[0][3, 5], torn[1][[0, 4, 5]] = np.nan, 0
    asked = [s.replace(joints=x) for s, x in zip(data[:2], torn, strict=True)]
    asked += [data[2], data[3].replace(confidence=np.ones(data[3].joints.shape[:2]))]
    expected = model.decision_function(asked)
    model.set_params(device=device)
    np.testing.assert_allclose(model.decision_function(asked), expected, atol=1e-2)
    joints = data[0].joints.copy()
    for value, told in ((np.inf, "infinite"), (np.nan, "never contains")):
        joints[:, 5] = value
        with pytest.raises(DataError, match=rf"recording #{len(asked)} .*{told}"):
            model.decision_function([*asked, data[0].replace(joints=joints, name="")])
    with pytest.raises(DataError, match="recording"):
        model.decision_function([data[1], data[0].joints[:, 1:]])


@pytest.mark.parametrize("kernel", [SCK(order=2, **FEW), DCK(**FEW)], ids=repr)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e12, "zero", "unsure"])
def test_bad_numbers_are_told_as_on_the_cpu(kernel, wrong, device):
    X = [SkeletonSequence(x) for x in walks((9, 4, 7, 5), 3, dtype=np.float32)]
    fitted = [clone(kernel).set_params(device=d).fit(X) for d in (None, device)]
    bad, confidence = X[2].joints.copy(), None
    if wrong == "unsure":
        confidence = np.ones((7, 3))
        confidence[3, 1] = 0
    else:
        bad[3, slice(None) if wrong == "zero" else 2] = 0 if wrong == "zero" else wrong
    X[2] = X[2].replace(joints=bad, confidence=confidence)
    messages = []
    for model in fitted:
        with pytest.raises(DataError, match=r"recording #2 .*frame 3") as told:
            model.transform(X)
        messages.append(str(told.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("kernel", "told"),
    [
        (SCK(order=1), "SCK with order=1"),
        (SCK(power=1.0), "power=1"),
        (SCK(epn="hosvd"), "SCK with epn='hosvd'"),
        (SCK(entries="upper", mirror=True), "mirrored entries='upper'"),
        (DCK(power=0.5), "DCK with power=0.5"),
        (DCK(), "double precision"),
        (SCK(order=2, n_pivots_joint=25), "order 81, which is not 3 to 64"),
    ],
    ids=repr,
)
def test_what_it_cannot_do_the_cpu_does_and_says_so_once(kernel, told, device, caplog):
    engine._tell.cache_clear()
    X = people((7, 9))
    expected = clone(kernel).fit_transform(X)
    for _ in range(2):
        found = clone(kernel).set_params(device=device).fit_transform(X)
        np.testing.assert_array_equal(found, expected)
    assert len(caplog.messages) == 1
    assert "the GPU does not compute" in caplog.messages[0]
    assert told in caplog.messages[0]


def test_steps_of_ones_own_are_the_cpus():
    branch = Branch(None, SCK(order=2), CenterNormalize()).fit(people((7, 9)))
    branch.scale_ = object()
    with pytest.raises(CannotError, match="object"):
        check_branches([branch])
    branch.kernel_ = object()
    with pytest.raises(CannotError, match="object"):
        check_branches([branch])
