"""
Unknown actions
===============

A recogniser that knows five actions always predicts one of the five. Train it to answer "none of
these", and to give probabilities.

You learn calibrated probabilities, the score of being unknown, and how its threshold follows from a
false alarm rate that you choose.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score

from kerneton import make_actions, make_recognizer

out = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")
out.mkdir(parents=True, exist_ok=True)

# %%
# Actions that are taught, and actions that are not
# -------------------------------------------------
# Six people are in the training data, three others are recognised. Three actions are not in the
# training data.

taught = ["wave", "clap", "drink", "kick", "sit down"]
others = ["bow", "throw", "draw circle"]
data = make_actions([*taught, *others], n_subjects=9, n_takes=1, fps=15)
is_taught = np.isin(data.labels, taught)
is_new = np.isin(data.subjects, ["7", "8", "9"])
train, known, unknown = (
    data.select(np.flatnonzero(mask))
    for mask in (is_taught & ~is_new, is_taught & is_new, ~is_taught & is_new)
)

# %%
# Fit
# ---
# Probabilities and the threshold are learned on training subjects held out in turn; for "none of
# these", classes are also left out. ``false_alarm`` is the share of recordings of known actions
# that may be rejected.

model = make_recognizer(kernel="sck", calibrate=True, false_alarm=0.1, reject=True)
model.set_params(sck__kernel__joints="key")
model.fit(train, train.labels)
for name, value in model.calibration_.held_out_.items():
    print(f"training subjects held out, {name}: {value:.3g}")

# %%
# Predict
# -------

for said, recording in list(zip(model.predictions(known), known, strict=True))[:5]:
    doubt = "unknown" if said.unknown else f"{said.label} ({said.probability:.0%})"
    print(f"{recording.label:12} {doubt}")
for said, recording in list(zip(model.predictions(unknown), unknown, strict=True))[:3]:
    doubt = "unknown" if said.unknown else f"{said.label} ({said.probability:.0%})"
    print(f"{recording.label:12} {doubt}, never taught")

# %%
# How well are they distinguished?
# --------------------------------
# A point is a recording of a new person. Those to the right of the line are rejected.

scores = model.unknown_score(known), model.unknown_score(unknown)
truth = np.repeat([0, 1], [len(known), len(unknown)])
auc = roc_auc_score(truth, np.concatenate(scores))
threshold = model.calibration_.threshold_
print(f"area under the ROC curve {auc:.2f}")
print(
    f"refused: {np.mean(scores[0] > threshold):.0%} of known, {np.mean(scores[1] > threshold):.0%} of unknown actions"
)

figure = Figure(figsize=(7, 3.4), layout="constrained")
ax = figure.subplots()
for row, label in enumerate([*taught, *others]):
    part, colour = ((known, "#1f6fb4"), (unknown, "#d95f02"))[label in others]
    values = model.unknown_score([s for s in part if s.label == label])
    ax.plot(values, [row] * len(values), "o", color=colour, markersize=7, alpha=0.7)
ax.axvline(threshold, color="#444444", linewidth=1)
ax.set_yticks(
    range(len(taught) + len(others)), [*taught, *(f"{label} (not taught)" for label in others)]
)
ax.invert_yaxis()
ax.set_xlabel("score of being unknown; refused right of the line")
figure.savefig(out / "unknown_actions.png", dpi=110)
