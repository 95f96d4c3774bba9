"""What several test files share: a small data set and a recogniser that needs nothing but
scikit-learn.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from samples import mean_pose
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from kerneton.cli import _bar
from kerneton.data.layouts import FLORENCE_15
from kerneton.data.sequence import SkeletonDataset, SkeletonSequence

TOY_LABELS = ("bow", "clap", "wave")


def toy_sequence(label: str, subject: int, take: int) -> SkeletonSequence:
    """Random poses whose mean height tells the label, with noise that confuses some of them."""
    rng = np.random.default_rng([TOY_LABELS.index(label), subject, take])
    joints = rng.normal(size=(8 + subject + take, 15, 3))
    joints[..., 1] += TOY_LABELS.index(label) * 0.5 + rng.normal(scale=0.25)
    return SkeletonSequence(
        joints,
        layout=FLORENCE_15,
        label=label,
        subject=f"s{subject}",
        name=f"{label}-{subject}-{take}",
        fps=30,
    )


@pytest.fixture(autouse=True)
def no_progress_in_logs(monkeypatch):
    """A machine that is busy, or compiles for the first time, prints no more than an idle one."""
    monkeypatch.setattr(_bar, "_REPEAT", float("inf"))


@pytest.fixture
def toy() -> SkeletonDataset:
    """Three labels, four subjects, three takes each."""
    return SkeletonDataset(
        [toy_sequence(k, s, t) for k in TOY_LABELS for s in range(1, 5) for t in range(3)],
        name="toy",
    )


@pytest.fixture
def toy_model():
    return make_pipeline(FunctionTransformer(mean_pose), LogisticRegression(C=0.3))


@pytest.fixture
def data_home() -> Path:
    """Where the real recordings lie; without them the test is skipped."""
    home = os.environ.get("KERNETON_DATA")
    if not home:
        pytest.skip("KERNETON_DATA is not set")
    return Path(home)
