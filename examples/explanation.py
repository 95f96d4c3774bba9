"""
Explanation
===========

Explain a prediction: which joints and pairs of joints support a class or oppose it, and when.

You learn what an explanation says in words and in numbers that sum to the decision value, how to
explain why it is this class and not another one, and which joints matter for a class in general.
"""

import sys
from pathlib import Path

import numpy as np

from kerneton import explain, make_actions, make_recognizer
from kerneton.recognize.contributions import class_importance

out = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")
out.mkdir(parents=True, exist_ok=True)

# %%
# A recogniser and a recording it has not seen
# --------------------------------------------
# Trained on three people; the recording is of a fourth. The paper's two kernels give the simplest
# explanations: SCK has one part per joint, DCK one part per pair of joints.

data = make_actions(["kick", "punch", "throw", "bow"], n_subjects=4, n_takes=2, fps=15)
is_new = data.subjects == "4"
known, new = (data.select(np.flatnonzero(side)) for side in (~is_new, is_new))
model = make_recognizer("paper").fit(known, known.labels)
kick = new[0]
print(kick, "recognised as", model.predict([kick])[0])

# %%
# Why this class?
# ---------------
# A recogniser is linear in its features, and each feature belongs to one joint (SCK) or one pair of
# joints (DCK). So the decision value is a sum: the intercept and a part for each joint and pair.
# Nothing is estimated here.

why = explain(model, kick)
total = why.intercept + sum(part.value for part in why.parts)
print(f"decision value {why.value:.6f}, intercept and parts sum to {total:.6f}")
for row in why.joint_table()[:5]:
    print(f"  {row['joint']:15} {row['value']:+.3f}")

# %%
# Frames are exact as well: the features of a joint are a power of a sum over frames, so what the
# classifier reads from them is a sum over frames. A joint is its column of ``by_frame`` and its
# baseline, which belongs to no frame: the share of the mean of all training recordings.

total = why.intercept + why.baseline.sum() + why.by_frame.sum()
print(f"intercept, baselines and frames sum to {total:.6f}")
print(why.words)
best = why.strongest
print(f"frames {best.start} to {best.stop - 1} of {kick.n_frames} carry most: {best.value:+.3f}")
why.plot().savefig(out / "explanation_kick.png", dpi=110)

# %%
# Why this class and not that one?
# --------------------------------
# The difference of two decision values is a sum of parts as well.

punch = new[[s.label for s in new].index("punch")]
versus = explain(model, punch, "punch", versus="throw")
print(f"punch over throw: {versus.value:+.3f}")
for row in versus.part_table("pair")[:3]:
    print(f"  {row['joints']:30} {row['value']:+.3f}")
versus.plot().savefig(out / "explanation_versus.png", dpi=110)

# %%
# Which joints matter for a class?
# --------------------------------
# The mean part of each joint over recordings of people the model did not see.

importance = class_importance(model, new)
importance.plot().savefig(out / "explanation_importance.png", dpi=110)
for label in importance.labels:
    print(importance.words(label))
