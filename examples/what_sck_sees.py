"""
What SCK sees
=============

Look into the tensor that the sequence compatibility kernel computes for one joint.

You learn what pivots are, why the tensor is a soft histogram of positions over time, and why it
contains the order in which positions were visited.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kerneton import Preprocess, make_actions
from kerneton.kernels.tensors import gaussian_features, outer_power_sum

out = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")
out.mkdir(parents=True, exist_ok=True)

# %%
# The path of a hand
# ------------------
# Two actions of one person, centred on the hips, with every bone scaled to the same length.

labels = ["draw circle", "draw X"]
data = make_actions(labels, n_subjects=1, n_takes=1, dropout=0, noise=0.004)
circle, cross = Preprocess().fit_transform(data)
moved = [
    np.ptp(circle.joints[:, circle.layout.index(f"{side}_hand")], axis=0).sum()
    for side in ("left", "right")
]
hand = f"{['left', 'right'][int(np.argmax(moved))]}_hand"
ways = [s.joints[:, s.layout.index(hand)] for s in (circle, cross)]
print(f"the {hand}: {len(ways[0])} and {len(ways[1])} frames, the person draws with this one")

# %%
# Pivots
# ------
# A coordinate becomes its closeness to each of Z pivots, φ(x), and a time likewise, z(s/T). Dot
# products of two such vectors approximate a Gaussian kernel. The paper uses 5 pivots per axis and 6
# in time; with more, the picture is sharper.

N_SPACE, N_TIME = 30, 6
SIGMA_SPACE, SIGMA_TIME = 0.08, 0.15


def vectors(way):
    """v_s = [φ(x); φ(y); z(s/T)] of every frame; (T, d)."""
    centre = np.mean(np.concatenate(ways), axis=0)
    place = gaussian_features(
        (way - centre)[:, :2], sigma=SIGMA_SPACE, n_pivots=N_SPACE, low=-0.6, high=0.6
    )
    time = np.arange(1, len(way) + 1) / len(way)
    clock = gaussian_features(time, sigma=SIGMA_TIME, n_pivots=N_TIME, low=0.0, high=1.0)
    return np.concatenate([place.reshape(len(way), -1), clock], axis=1)


figure = Figure(figsize=(8, 3.4), layout="constrained")
for ax, label, way in zip(figure.subplots(1, 2, sharey=True), labels, ways, strict=True):
    ax.imshow(vectors(way).T, aspect="auto", cmap="Blues", origin="lower", interpolation="nearest")
    for edge in (N_SPACE, 2 * N_SPACE):
        ax.axhline(edge - 0.5, color="#d95f02", linewidth=1)
    ax.set_yticks(
        [N_SPACE / 2, 1.5 * N_SPACE, 2 * N_SPACE + N_TIME / 2],
        ["pivots of x", "pivots of y", "of time"],
    )
    ax.set_xlabel("frame")
    ax.set_title(label, loc="left", fontsize=10)
figure.savefig(out / "what_sck_sees_pivots.png", dpi=110)

# %%
# The tensor
# ----------
# T = 1/T Σ_s v⊗v⊗v. Its block of x pivots × y pivots at one time pivot is a blurred picture of
# where the hand was around that time. Summed over all times it shows where the hand was, but not in
# which order: sitting down and standing up would look alike.

figure = Figure(figsize=(9, 3.1), layout="constrained")
for row, label, way in zip(figure.subplots(2, N_TIME + 1), labels, ways, strict=True):
    v = vectors(way)
    tensor = outer_power_sum(v[None, None], 3)[0, 0] / len(v)  # (d, d, d)
    pictures = tensor[N_SPACE : 2 * N_SPACE, :N_SPACE, 2 * N_SPACE :]  # y × x × time
    shown = [*np.moveaxis(pictures, 2, 0), pictures.sum(axis=2)]
    for i, (ax, picture) in enumerate(zip(row, shown, strict=True)):
        ax.imshow(picture[:, ::-1], cmap="Blues", origin="lower")  # x runs to the picture's left
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"time pivot {i + 1}" if i < N_TIME else "all times", fontsize=9)
    row[0].set_ylabel(label)
figure.savefig(out / "what_sck_sees_tensor.png", dpi=110)

# %%
# The whole tensor contains every such product, also x pivots × x pivots × time. It is symmetric, so
# only its unique entries are kept for every joint: those are the features that ``kerneton.SCK``
# returns.

d = vectors(ways[0]).shape[1]
print(f"{d} numbers per frame, {d**3:,} entries, of which {d * (d + 1) * (d + 2) // 6:,} differ")
