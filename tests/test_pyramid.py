"""The temporal pyramid in place of a kernel."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline

from kerneton import DCK, SCK, CenterNormalize, KernelSearch, LinearSVM, Preprocess, Pyramid, make_actions
from kerneton.exceptions import DataError, ParameterError
from kerneton.pyramid import cut, parts
from kerneton.sequence import SkeletonSequence


@pytest.fixture(scope="module")
def data():
    return make_actions(["wave", "clap"], n_subjects=3, n_takes=2)


@pytest.fixture(scope="module")
def poses(data):
    return Preprocess(dtype="float32").fit_transform(data)


def test_parts_cover_the_recording_and_overlap():
    for n, overlap in [(1, 0.5), (2, 0.0), (3, 0.5), (4, 0.25)]:
        ends = parts(n, overlap)
        assert len(ends) == n
        assert ends[0][0] == 0
        assert_allclose(ends[-1][1], 1)
        lengths = [end - start for start, end in ends]
        assert_allclose(lengths, lengths[0])
        for (_, end), (start, _) in itertools.pairwise(ends):
            assert_allclose(end - start, overlap * lengths[0], atol=1e-12)


@pytest.mark.parametrize("n_frames", [1, 2, 3, 7])
def test_every_part_has_a_frame(n_frames):
    walk = SkeletonSequence(np.ones((n_frames, 2, 3)), confidence=np.ones((n_frames, 2)))
    for n in (1, 2, 3, 5):
        for start, end in parts(n, 0.5):
            part = cut(walk, start, end)
            assert 1 <= part.n_frames <= n_frames
            assert part.confidence.shape == (part.n_frames, 2)


def test_features_are_those_of_the_parts(poses):
    kernel = SCK(order=2, joints="A")
    features = Pyramid(kernel, levels=(1, 2), overlap=0.0).fit_transform(poses)
    fitted = clone(kernel).fit(poses)
    halves = [[cut(s, 0, 0.5) for s in poses], [cut(s, 0.5, 1) for s in poses]]
    expected = [fitted.transform(poses), *(fitted.transform(half) / 2**0.5 for half in halves)]
    assert_allclose(features, np.hstack(expected), rtol=1e-6)
    assert features.dtype == np.float32


def test_one_level_is_the_kernel_itself(poses):
    kernel = SCK(order=2, joints="A", signals=("position", "velocity"), joint_weight=(0.4, 0.35))
    assert_allclose(Pyramid(kernel, levels=(1,)).fit_transform(poses), kernel.fit_transform(poses))


def test_every_level_weighs_the_same_on_a_still_recording():
    still = SkeletonSequence(np.full((60, 3, 3), 0.2))
    pyramid = Pyramid(SCK(order=2, n_pivots_time=1, power=1.0), levels=(1, 3)).fit([still])
    whole, rest = np.split(pyramid.transform([still])[0], [pyramid.kernel_.block_sizes_.sum()])
    assert_allclose(whole @ whole, rest @ rest, rtol=0.1)


@pytest.mark.parametrize("kernel", [SCK(order=2, joints="A"), DCK(joints="A", n_pivots_time=3)])
def test_in_a_pipeline_with_weights(data, kernel):
    steps = [
        ("preprocess", Preprocess()),
        ("kernel", Pyramid(kernel, weighting="alignment")),
        ("scale", CenterNormalize()),
        ("svm", LinearSVM(C=10)),
    ]
    model = Pipeline(steps).fit(data, data.labels)
    assert model.score(data, data.labels) == 1
    pyramid = model["kernel"]
    assert len(pyramid.weights_) == len(pyramid.block_sizes_) == 4 * len(pyramid.kernel_.block_sizes_)
    assert pyramid.get_feature_names_out().shape == (pyramid.block_sizes_.sum(),)


def test_as_a_cue_of_a_search(data):
    def cue(weighting):
        pyramid = Pyramid(SCK(order=2, joints="A"), weighting=weighting)
        return Pipeline([("preprocess", Preprocess()), ("kernel", pyramid)])

    search = KernelSearch({"plain": cue(None), "weighted": cue("alignment")}, Cs=[10.0])
    search.fit(data, data.labels, groups=data.subjects)
    assert {t.cues for t in search.trials_} == {("plain",), ("weighted",)}
    assert search.predict(data).tolist() == data.labels.tolist()


def test_writes_into_what_is_given(poses):
    pyramid = Pyramid(SCK(order=2, joints="A")).fit(poses)
    out = np.empty((len(poses), pyramid.block_sizes_.sum()), dtype=np.float32)
    assert pyramid.transform(poses, out=out) is out
    assert_allclose(out, pyramid.transform(poses))


def test_bad_input(poses):
    with pytest.raises(NotFittedError):
        Pyramid(SCK()).transform(poses)
    with pytest.raises(ParameterError, match="levels is empty"):
        Pyramid(SCK(), levels=()).fit(poses)
    with pytest.raises(ParameterError, match="level must be"):
        Pyramid(SCK(), levels=(1, 2.5)).fit(poses)
    with pytest.raises(ParameterError, match="overlap"):
        Pyramid(SCK(), overlap=1.0).fit(poses)
    with pytest.raises(ParameterError, match="no weighting of its own"):
        Pyramid(SCK(weighting="alignment")).fit(poses)
    with pytest.raises(DataError, match="learns from labels"):
        Pyramid(SCK(order=2), weighting="alignment").fit(poses)
