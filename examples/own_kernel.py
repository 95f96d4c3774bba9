"""
A kernel of your own
====================

A kernel is a class with ``fit`` and ``transform`` that turns recordings into features. With one
file and one line it can be fitted, evaluated, saved and loaded like SCK and DCK. This one describes
a recording by how far each joint travels.

You learn what a kernel must provide, how to build a recogniser with it, and how to save it in a
model file.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from kerneton import (
    Branch,
    CenterNormalize,
    LinearSVM,
    Preprocess,
    Recognizer,
    evaluate,
    load,
    make_actions,
)

out = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")
out.mkdir(parents=True, exist_ok=True)

# %%
# The kernel
# ----------
# ``fit`` learns from the training recordings, ``transform`` gives one row of features per
# recording. ``block_sizes_`` and ``block_joints`` say which features belong to which joint: with
# them, decisions can be explained. ``get_state`` and ``set_state`` are for model files: plain
# numbers, strings, lists and arrays, never code.


class Travel(TransformerMixin, BaseEstimator):
    """How far each joint travels in each of ``n_parts`` parts of a recording."""

    def __init__(self, n_parts=4):
        self.n_parts = n_parts

    def fit(self, X, y=None):  # noqa: ARG002
        self.layout_, self.n_joints_in_ = X[0].layout, X[0].n_joints
        self.block_sizes_ = np.full(self.n_joints_in_, self.n_parts)
        return self

    def transform(self, X):
        return np.stack([self._travel(s.joints) for s in X])

    def _travel(self, joints):
        # (frames, joints)
        steps = np.linalg.norm(np.diff(joints, axis=0, prepend=joints[:1]), axis=2)
        parts = np.array_split(steps, self.n_parts)
        return np.stack([part.sum(axis=0) for part in parts], axis=1).ravel()

    def block_joints(self):
        return [((joint,),) for joint in range(self.n_joints_in_)]

    def get_state(self):
        return {"n_joints": self.n_joints_in_, "layout": self.layout_}

    def set_state(self, state):
        self.layout_, self.n_joints_in_ = state["layout"], state["n_joints"]
        self.block_sizes_ = np.full(self.n_joints_in_, self.n_parts)


# %%
# A recogniser
# ------------
# A branch is a preprocessing step, a kernel, and the centring of its features. One line per branch.

data = make_actions(["wave", "clap", "kick", "sit down"], n_subjects=4, n_takes=2)
model = Recognizer(
    [("travel", Branch(Preprocess(), Travel(), CenterNormalize()))], machine=LinearSVM(C=10)
)
print(evaluate(model, data, "leave-one-subject-out"))

# %%
# Explain it
# ----------

model.fit(data, data.labels)
why = model.explain(data[0])
print(why)
why.plot().savefig(out / "own_kernel.png", dpi=110)

# %%
# Keep it
# -------
# A model file contains no code. To load it, name the classes that it may contain.

file = model.save(out / "travel.kern")
again = load(file, classes=[Travel])
print((again.predict(data) == model.predict(data)).all())
