"""
First recognition
=================

Train a recogniser on the recordings of four people and predict the actions of a fifth.

You learn the three most important objects: a recording (`SkeletonSequence`), a set of recordings
(`SkeletonDataset`) and a recogniser (a scikit-learn classifier).
"""

import sys
from pathlib import Path

from kerneton import make_actions, make_recognizer
from kerneton.report.pictures import plot_skeleton

out = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")
out.mkdir(parents=True, exist_ok=True)

# %%
# Recordings
# ----------
# Five generated people perform four actions twice each. A recording is an array of shape (frames,
# joints, 3) with metadata: label, subject, frame rate, and the layout that names its joints.

data = make_actions(["wave", "drink", "clap", "sit down"], n_subjects=5, n_takes=2)
print(data)
print(data[0], "with joints of shape", data[0].joints.shape)

# %%
# Four people to learn from, one to test on
# -----------------------------------------
# In practice a recogniser meets new people, so the split is by people, not by recordings.

is_new = data.subjects == "5"
known = data.select((~is_new).nonzero()[0])
new = data.select(is_new.nonzero()[0])

# %%
# Fit and predict
# ---------------
# The recogniser takes recordings of any length, also with gaps. If subjects are known, it tests on
# held-out training subjects whether an action and its mirror image count as the same action, and
# whether the direction that people face matters.

model = make_recognizer()
model.fit(known, known.labels)
print(model.summary())

# %%

predicted = model.predict(new)
for recording, label in zip(new, predicted, strict=True):
    print(f"{recording.name:16} {recording.label:9} recognised as {label}")
print(f"accuracy {model.score(new, new.labels):.0%} of {len(new)} recordings")

# %%
# What it saw
# -----------
# Left limbs are orange, right limbs blue; faint lines are the paths of hands and feet.

named = [
    s.replace(label=f"{s.label}, recognised as {p}")
    for s, p in zip(new[::2], predicted[::2], strict=True)
]
plot_skeleton(named, title="One take of each action by the fifth person").savefig(
    out / "first_recognition.png", dpi=110
)

# %%
# What was fitted: branches of features, and one linear support vector machine.

print(model.summary())
