"""
First recognition
=================

Train a recogniser on the recordings of four people and let it name the actions of a fifth.

You learn the three objects that everything else is made of: a recording (`SkeletonSequence`), a set of recordings
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
# Five generated people perform four actions twice each. A recording is an array of shape (frames, joints, 3) with what
# is known about it: label, subject, frame rate, and the layout that names its joints.

data = make_actions(["wave", "drink", "clap", "sit down"], n_subjects=5, n_takes=2)
print(data)
print(data[0], "with joints of shape", data[0].joints.shape)

# %%
# Four people to learn from, one to test on
# -----------------------------------------
# What matters in practice is a person the machine has not seen, so people are divided, not recordings.

is_new = data.subjects == "5"
known = data.select((~is_new).nonzero()[0])
new = data.select(is_new.nonzero()[0])

# %%
# Fit and predict
# ---------------
# The recogniser takes recordings of any length as they come, gaps included. Told who is in them, it tries on its own
# training subjects whether left and right are one, and whether it matters how people stand to the camera.

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
# Left limbs are orange, right limbs blue; a faint line is the way a hand or foot came.

named = [
    s.replace(label=f"{s.label}, recognised as {p}") for s, p in zip(new[::2], predicted[::2], strict=True)
]
plot_skeleton(named, title="One take of each action by the fifth person").savefig(
    out / "first_recognition.png", dpi=110
)

# %%
# What was fitted: branches of features, and one linear support vector machine.

print(model.summary())
