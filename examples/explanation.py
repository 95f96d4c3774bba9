"""
Explanation
===========

Explain a prediction: which joints, which pairs of joints and which moments support a class or oppose it.

You learn what is exact in an explanation and what is measured, how to explain why it is this class and not another one, and
which joints matter for a class in general.
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
# Trained on three people; the recording is of a fourth. The paper's two kernels give the simplest explanations: SCK has
# one part per joint, DCK one part per pair of joints.

data = make_actions(["kick", "punch", "throw", "bow"], n_subjects=4, n_takes=2, fps=15)
is_new = data.subjects == "4"
known, new = (data.select(np.flatnonzero(side)) for side in (~is_new, is_new))
model = make_recognizer("paper").fit(known, known.labels)
kick = new[0]
print(kick, "recognised as", model.predict([kick])[0])

# %%
# Why this class?
# ---------------
# A recogniser is linear in its features, and each feature belongs to one joint (SCK) or one pair of joints (DCK). So the
# decision value is a sum: the intercept and a part for each joint and pair. Nothing is estimated here.

why = explain(model, kick)
total = why.intercept + sum(part.value for part in why.parts)
print(f"decision value {why.value:.6f}, intercept and parts sum to {total:.6f}")
for row in why.joint_table()[:5]:
    print(f"  {row['joint']:15} {row['value']:+.3f}")

# %%
# Moments are different, because every frame contributes to every feature. Their effect is measured by occlusion: how much
# the value falls if the body is hidden for a while. Such values do not have to sum to the decision value.

print(why.moments_kind)
best = max(why.moments, key=lambda m: m.value)
print(f"frames {best.start} to {best.stop - 1} of {kick.n_frames} carry most")
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
    print(f"{label:6} {', '.join(joint for joint, _ in importance.top(label, 3))}")
