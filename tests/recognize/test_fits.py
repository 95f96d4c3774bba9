"""What every fit holds to, whatever its size: subjects, interrupted fits, kernels of others,
progress.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import numpy as np
import pytest
from large_fits import large, limit, recognizer  # noqa: F401 (a fixture)
from sklearn.base import BaseEstimator, TransformerMixin

from kerneton import (
    Branch,
    CenterNormalize,
    LinearSVM,
    Preprocess,
    Recognizer,
    Search,
    make_actions,
    make_recognizer,
)
from kerneton.data import units
from kerneton.data.sequence import absent
from kerneton.datasets.protocols import LeaveOneSubjectOut
from kerneton.exceptions import DataError
from kerneton.files.summary import summarize
from kerneton.recognize import answers


@pytest.fixture(scope="module")
def data():
    return make_actions(["wave", "clap", "bow"], n_subjects=4, n_takes=3)


@pytest.mark.parametrize("nobody", [None, float("nan"), np.nan])
@pytest.mark.parametrize("most", [10, 3000], ids=["many", "few"])
def test_subjects_of_which_some_are_missing_are_refused(data, monkeypatch, most, nobody):
    """Were they taken as they are, all of them would be one person."""
    limit(monkeypatch, gram=most)
    people = [str(s) for s in data.subjects]
    people[4] = people[9] = nobody
    told = f"2 of 36 recordings have no subject, .*{data[4].name}.*; give all of them one, or none"
    with pytest.raises(DataError, match=told):
        recognizer(calibrate=True).fit(data, data.labels, people)
    with pytest.raises(DataError, match="2 of 36 recordings have no subject"):
        list(LeaveOneSubjectOut().split(data, data.labels, people))
    kept = recognizer().fit(data[:9], data.labels[:9], keep=True)
    with pytest.raises(DataError, match="1 of 9 recordings have no subject"):
        kept.add(data[9:18], data.labels[9:18], [nobody, *people[10:18]])


class Travel(TransformerMixin, BaseEstimator):
    """A kernel of others with what is required and nothing more: how far each joint travels, along
    each axis.
    """

    def fit(self, X, y=None):
        self.layout_, self.n_joints_in_ = X[0].layout, X[0].n_joints
        return self

    def transform(self, X):
        return np.stack([np.abs(np.diff(s.joints, axis=0)).sum(axis=0).ravel() for s in X])


class Kept(Travel):
    """One that can be in a model file."""

    def get_state(self):
        return {"n_joints": self.n_joints_in_, "layout": self.layout_}

    def set_state(self, state):
        self.layout_, self.n_joints_in_ = state["layout"], state["n_joints"]


@pytest.mark.parametrize("kernel", [Travel, Kept])
@pytest.mark.parametrize("gram", [10, 3000], ids=["passes", "gram matrices"])
@pytest.mark.parametrize("search", [None, Search(sums="all", Cs=(10,))])
def test_a_kernel_of_others_on_many_recordings(data, large, tmp_path, gram, search, kernel):  # noqa: F811
    travel = Branch(Preprocess(), kernel(), CenterNormalize())
    hands = recognizer().branches[0]
    machine = LinearSVM(C=10, tol=1e-9)

    def fitted(**options):
        model = Recognizer([("travel", travel), hands], machine=machine, search=search)
        return model.fit(data, data.labels, **options).machine_.coef_

    limit(large, gram=3000)
    limit(large, choice=3000)
    few = fitted()
    limit(large, gram=gram)
    limit(large, choice=10)
    many = fitted()
    assert np.linalg.norm(many - few) < 1e-4 * np.linalg.norm(few)
    np.testing.assert_array_equal(
        fitted(scratch=tmp_path), fitted(scratch=tmp_path)
    )  # the second one resumes


@pytest.mark.parametrize("most", [10, 3000], ids=["many", "few"])
def test_an_interrupted_fit_leaves_the_model_as_it_was(data, monkeypatch, most):
    """Whatever is interrupted: half of it would be old, half new."""
    limit(monkeypatch, choice=most, gram=most, block=7)
    two = data.select(np.flatnonzero(np.isin(data.labels, ["wave", "bow"]))[:9])
    model = make_recognizer(view="free", mirror=False, calibrate=True).fit(
        two, two.labels, keep=True
    )
    before = dict(vars(model))
    interrupted = 0
    for at in 2 ** np.arange(12):
        monkeypatch.setattr(model, "progress", stopping(at))
        try:
            model.fit(data, data.labels)
            break
        except KeyboardInterrupt:
            interrupted += 1
        with suppress(KeyboardInterrupt):
            if at < 8:
                model.add(data[9:], data.labels[9:])
        monkeypatch.setattr(model, "progress", None)
        assert vars(model) == before
    assert interrupted > 2
    assert model.predict_proba(data).shape[1] == 3
    model.set_params(progress=None, search=None).fit(two, two.labels)
    assert model.variant_ is None  # not that of the fit before


def stopping(at):
    """A progress that is interrupted at a step."""
    steps = iter(range(at + 1))

    def progress(items, **_):
        for item in items:
            if next(steps, None) is None:
                raise KeyboardInterrupt
            yield item

    return progress


def test_a_person_may_have_any_name():
    assert absent(["None", "nan", np.str_("nan"), 0, "", False]) == []


class Seen:
    """A progress that remembers what was done and how often."""

    def __init__(self):
        self.counts, self.totals = Counter(), {}

    def __call__(self, items, *, total=None, desc=""):
        self.totals[desc] = total
        for item in items:
            self.counts[desc] += 1
            yield item


def test_long_steps_of_a_fit_are_seen(data, large, tmp_path):  # noqa: F811
    limit(large, sample=18)
    seen = Seen()
    model = make_recognizer(view="free", calibrate=True, progress=seen)
    model.fit(data, data.labels, scratch=tmp_path)
    steps = {
        "comparing recordings",
        "kernels",
        "candidates",
        "features",
        "inner products",
        "machines",
        "calibration",
    }
    steps |= {
        "likeness",
        "encoding blocks",
        "inner products of the sample",
        "passes over the features",
    }
    assert seen.counts.keys() == steps
    assert seen.counts["comparing recordings"] == seen.totals["comparing recordings"] == len(data)
    limit(large, gram=100)
    model.set_params(progress=(seen := Seen())).fit(data, data.labels)
    assert {"encoding blocks", "inner products", "machines"} <= seen.counts.keys()
    assert seen.counts["encoding blocks"] == 3  # those of the sample are known
    few = model.set_params(progress=None).fit(data[:18], data.labels[:18], keep=True)
    few.set_params(progress=(seen := Seen())).add(data[18:], data.labels[18:])
    assert "kernels" in seen.counts


@pytest.mark.parametrize("calibrate", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_answers_come_in_blocks(data, monkeypatch, calibrate, n_classes):
    train = [s for s in data if n_classes == 3 or s.label != "bow"]
    model = recognizer(calibrate=calibrate, reject=calibrate).fit(train, [s.label for s in train])
    whole, decided = model.results(data), model.decision_function(data)
    monkeypatch.setattr(answers, "BLOCK", 7)
    model.set_params(progress=(seen := Seen()))
    for X in (data, list(data), iter(list(data))):
        seen.counts.clear()
        found = model.results(X)
        assert seen.counts == {"predicting": 6}
        assert found.labels.tolist() == whole.labels.tolist()
        for name in ("scores", "probabilities", "unknown"):
            expected = getattr(whole, name)
            assert (getattr(found, name) is None) == (expected is None)
            if expected is not None:
                np.testing.assert_allclose(getattr(found, name), expected, atol=1e-5)
    np.testing.assert_allclose(model.decision_function(data), decided, atol=1e-5)
    broken = [*data[:20], data[20].replace(joints=data[20].joints * np.inf), *data[21:]]
    with pytest.raises(DataError, match=f"1 of 36 recordings cannot be used: .*{data[20].name}"):
        model.predict(broken)


def test_many_recordings_are_looked_at_with_progress_and_their_axes_seen_in_some(monkeypatch):
    """A hundred thousand recordings must not keep anyone waiting without a word."""
    one = make_actions(["wave"], n_subjects=1, n_takes=1)[0]
    seen, looked, trunk = Seen(), [], units._trunk
    monkeypatch.setattr(
        units, "_trunk", lambda *given: looked.append(given[0].name) or trunk(*given)
    )
    told = summarize([one.replace(name=str(i)) for i in range(3000)], seen)
    assert seen.counts == {"looking at recordings": 3000}
    assert len(set(looked)) == 1000
    assert told.axes == summarize([one]).axes
    assert "occur more than once" in str(told.warnings) or "3000 times" in str(told.warnings)
