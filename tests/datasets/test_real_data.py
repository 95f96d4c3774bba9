"""The published recordings: counts, sizes, and accuracies with fixed parameters. Skipped without
KERNETON_DATA.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from sklearn.pipeline import FeatureUnion

from kerneton import DCK, SCK, Preprocess
from kerneton.datasets import load_florence3d, load_msr_action3d, load_utd_mhad, load_utkinect
from kerneton.datasets.protocols import get_protocol
from kerneton.machine.products import gram
from kerneton.paper.choice import CS, Task
from kerneton.paper.cues import dck_family, sck_family


@pytest.fixture(scope="module")
def home():
    home = os.environ.get("KERNETON_DATA")
    if not home:
        pytest.skip("KERNETON_DATA is not set")
    return home


@pytest.fixture(scope="module")
def florence(home):
    return Task.of(load_florence3d(home))


@pytest.fixture(scope="module")
def msr(home):
    return Task.of(load_msr_action3d(home), "wang")


@pytest.fixture(scope="module")
def utkinect(home):
    return Task.of(load_utkinect(home))


def accuracy(task, preprocess, kernel, C=10.0):
    """Mean over splits, from one Gram matrix."""
    K = gram(kernel.fit_transform(preprocess.fit_transform(task.data)))
    return np.mean(
        [task.recognized([(K, 1.0)], split)[CS.index(C)].mean() for split in task.splits]
    )


def raw():
    return Preprocess(center=False, bones=None)


# counts


def test_counts(home, florence, msr, utkinect):
    assert [len(task.data) for task in (florence, utkinect, msr)] == [215, 199, 557]
    assert len(load_msr_action3d(home, subset="all")) == 567
    for task in (florence, msr, utkinect):
        assert len(set(task.subjects)) == 10
    assert [len(set(task.codes)) for task in (florence, utkinect, msr)] == [9, 10, 20]


def test_fixed_splits(home, msr):
    assert [len(side) for side in msr.splits[0]] == [284, 273]
    mhad = load_utd_mhad(home)
    assert len(mhad) == 861
    ((train, test),) = get_protocol(None, mhad).split(mhad, mhad.labels, mhad.subjects)
    assert (len(train), len(test)) == (431, 430)


def test_ten_half_splits(florence, utkinect):
    for task in (florence, utkinect):
        assert len(task.splits) == 10
        for train, test in task.splits:
            assert len(train) + len(test) == len(task.data)
            assert len(set(task.subjects[train])) == 5


# sizes


@pytest.mark.parametrize(
    ("name", "sck", "dck", "both"),
    [("florence", 26_565, 16_920, 43_485), ("msr", 40_480, 16_920, 57_400)],
)
def test_sizes_are_the_papers(name, sck, dck, both, request):
    task = request.getfixturevalue(name)
    families = (sck_family(task.data[0].n_joints), dck_family("E"))
    union = FeatureUnion(
        [
            (kernel, next(f.encoders())[0])
            for kernel, f in zip(("sck", "dck"), families, strict=True)
        ]
    )
    features = union.fit_transform(task.data[:2])
    assert features.shape == (2, both)
    assert [branch["kernel"].block_sizes_.sum() for _, branch in union.transformer_list] == [
        sck,
        dck,
    ]


def test_size_of_set_d(florence):
    assert next(dck_family("D").encoders())[0].fit_transform(florence.data[:2]).shape == (2, 9_450)


# accuracies


def test_sck_and_its_power_normalisation_on_florence(florence):
    """γ = 0.36 is worth more than 2.5 points over none; the paper says 4.3."""
    with_epn, without = (
        accuracy(florence, Preprocess(bones=None), SCK(power=power, entries="upper", n_jobs=-1))
        for power in (0.36, 1.0)
    )
    assert with_epn > 0.9
    assert with_epn - without > 0.025


def test_dck_on_florence(florence):
    kernel = DCK(joints="E", sigma_joint=0.3, sigma_time=0.25, sigma_span=3.0, n_jobs=-1)
    assert accuracy(florence, raw(), kernel) > 0.89


def test_sck_on_utkinect(utkinect):
    kernel = SCK(n_pivots_time=7, joint_weight=0.3, entries="upper", n_jobs=-1)
    assert accuracy(utkinect, Preprocess(bones=None), kernel) > 0.94


def test_dck_on_msr(msr):
    kernel = DCK(
        joints="E_words",
        sigma_joint=0.3,
        sigma_time=0.25,
        sigma_span=3.0,
        entry_power=0.5,
        n_jobs=-1,
    )
    assert accuracy(msr, raw(), kernel) > 0.79


def test_sck_on_msr(msr):
    kernel = SCK(n_pivots_time=7, joint_weight=0.3, entries="upper", n_jobs=-1)
    assert accuracy(msr, Preprocess(bones=None), kernel) > 0.86


def test_utkinect_uncut_holds_the_same_actions(home):
    takes, actions = load_utkinect(home, uncut=True), load_utkinect(home)
    cut = [take.cut(s.start, s.stop) for take in takes for s in take.segments]
    assert len(takes) == 20
    assert sorted((s.label, s.n_frames) for take in takes for s in take.segments) == sorted(
        (action.label, action.n_frames) for action in actions
    )
    wanted = {action.joints.tobytes() for action in actions}
    assert all(part.joints.tobytes() in wanted for part in cut)
    labelled = sum(s.n_frames for take in takes for s in take.segments)
    assert 0.37 < labelled / sum(take.n_frames for take in takes) < 0.39
