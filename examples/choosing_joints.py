"""
Choosing joints
===============

Not every joint helps, and the number of DCK's features grows with the square of the number of
joints.

You learn how to use named joint sets and your own, what they cost, and how joints can be weighted
by the training labels.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kerneton import SCK, Preprocess, evaluate, make_actions, make_recognizer
from kerneton.datasets.protocols import SubjectKFold
from kerneton.report.scene import camera

out = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")
out.mkdir(parents=True, exist_ok=True)
data = make_actions(["wave", "clap", "punch", "kick", "pick up"], n_subjects=4, n_takes=2, fps=15)

# %%
# Named joint sets
# ----------------
# A layout has named sets; the paper's are A to I. Joints can also be given by name or by position.

layout = data.layout
for name, chosen in layout.sets.items():
    print(f"{name:8} {', '.join(layout.joints[j] for j in chosen)}")

# %%
# DCK on some of them
# -------------------
# DCK uses pairs of joints: more joints mean more pairs, more features and more time.

choices = {
    "hands": "A",
    "arms": ["left_elbow", "right_elbow", "left_hand", "right_hand"],
    "set E": "E",
    "key joints": "key",
}
protocol = SubjectKFold(n_splits=2)
accuracies = []
for name, joints in choices.items():
    model = make_recognizer(kernel="dck").set_params(dck__kernel__joints=joints)
    report = evaluate(model, data, protocol)
    n_features = model.fit(data, data.labels).features(data[:1]).shape[1]
    accuracies.append(100 * report.accuracy)
    print(
        f"{name:10} {len(layout.indices(joints)):2} joints {n_features:6,} features: {report.accuracy:.1%}"
    )

# %%
# Weights from the training labels
# --------------------------------
# ``weighting="alignment"`` measures how well each joint alone distinguishes the training labels,
# and weights its features accordingly (centred kernel alignment, squared; the mean weight is 1).

poses = Preprocess().fit_transform(data)
sck = SCK(weighting="alignment").fit(poses, data.labels)
for joint in np.argsort(-sck.weights_)[:5]:
    print(f"{layout.joints[joint]:12} {sck.weights_[joint]:.2f}")

# %%
# The same drawn on the body: joints with larger weights are larger and darker.

pose = poses[0].joints[0] @ camera(poses[0])[:2].T
figure = Figure(figsize=(8, 3.6), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=[1, 1.8])
for a, b in layout.bones:
    left.plot(*pose[[a, b]].T, color="#cccccc", linewidth=3, zorder=1)
left.scatter(
    *pose.T, s=20 + 120 * sck.weights_, c=sck.weights_, cmap="Blues", edgecolors="#444444", zorder=2
)
left.set_aspect("equal")
left.margins(0.25, 0.05)
left.set_axis_off()
left.set_title("weights of SCK's joints", loc="left", fontsize=10)
right.bar_label(right.barh(list(choices), accuracies, 0.5, color="#1f6fb4"), fmt="%.0f", padding=3)
right.set(xlim=(0, 105), xlabel="accuracy of DCK (%)")
right.invert_yaxis()
figure.savefig(out / "choosing_joints.png", dpi=110)

# %%
# Choose among them inside the training subjects: put ``dck__kernel__joints`` or
# ``sck__kernel__weighting`` into a ``GridSearchCV`` with a splitter by subject, as in the example
# on EPN.

print(
    sorted(
        p for p in make_recognizer("paper").get_params() if p.endswith(("__joints", "__weighting"))
    )
)
