"""What tests of fits of many recordings share: limits that make every fit a large one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kerneton import SCK, Branch, CenterNormalize, LinearSVM, Preprocess, Recognizer, make_actions


@pytest.fixture(scope="module")
def data():
    return make_actions(["wave", "clap", "bow"], n_subjects=4, n_takes=3)


def recognizer(**options):
    kernel = SCK(order=2, joints=["left_hand", "right_hand", "head"], weighting="alignment")
    branch = Branch(Preprocess(), kernel, CenterNormalize())
    machine = LinearSVM(C=10, within_class_penalty=3, tol=1e-9)
    return Recognizer([("hands", branch)], machine=machine, **options)


def limit(patch, **numbers):
    """Other limits of all recognisers."""
    patch.setattr(Recognizer, "limits", replace(Recognizer.limits, **numbers))


@pytest.fixture
def large(monkeypatch):
    """Everything is large, and everything is in the sample."""
    limit(monkeypatch, choice=10, gram=10, block=7, settled=0.0, steps=100, tol=1e-7)
    return monkeypatch


def difference(a, b):
    a, b = a.machine_.coef_, b.machine_.coef_
    return np.linalg.norm(a - b) / np.linalg.norm(b)
