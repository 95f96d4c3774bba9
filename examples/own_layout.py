"""
Layouts of animals
==================

Kerneton knows bodies and hands. For anything else, a layout says which joints there are and which
bones connect them: here those of a mouse, a fly and a horse, as DeepLabCut and SLEAP name their
points. The drawings are made from such recordings.

You learn how to describe a skeleton of your own, which joints Kerneton takes for the important
ones, and how sides are found.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from kerneton import Layout, SkeletonSequence

out = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")
out.mkdir(parents=True, exist_ok=True)

# %%
# A mouse from above
# ------------------
# Bones are pairs of names, in any order. The root and the key joints follow from them; ``left_``
# and ``right_`` (or ``L``, ``_l``) make the sides.
mouse = Layout(
    "mouse",
    [
        "snout",
        "left_ear",
        "right_ear",
        "neck",
        "center",
        "left_hip",
        "right_hip",
        "tail_base",
        "tail_end",
    ],
    bones=[
        *(("neck", joint) for joint in ("snout", "left_ear", "right_ear", "center")),
        *(("center", joint) for joint in ("left_hip", "right_hip", "tail_base")),
        ("tail_base", "tail_end"),
    ],
    root="center",
)

# %%
# A fly and a horse
# -----------------
# Six legs, or four, are chains of the same names: a loop writes them.
legs = [f"{side}_{leg}" for side in ("left", "right") for leg in ("fore", "mid", "hind")]
fly = Layout(
    "fly",
    [
        "head",
        "thorax",
        "abdomen",
        *(f"{leg}_{part}" for leg in legs for part in ("coxa", "tibia", "tip")),
    ],
    bones=[("thorax", "head"), ("thorax", "abdomen")]
    + [("thorax", f"{leg}_coxa") for leg in legs]
    + [
        (f"{leg}_{a}", f"{leg}_{b}")
        for leg in legs
        for a, b in (("coxa", "tibia"), ("tibia", "tip"))
    ],
    root="thorax",
)
limbs = [f"{side}_{limb}" for side in ("left", "right") for limb in ("front", "hind")]
horse = Layout(
    "horse",
    [
        "nose",
        "poll",
        "withers",
        "croup",
        *(f"{limb}_{part}" for limb in limbs for part in ("top", "knee", "hoof")),
    ],
    bones=[("nose", "poll"), ("poll", "withers"), ("withers", "croup")]
    + [("withers" if "front" in limb else "croup", f"{limb}_top") for limb in limbs]
    + [
        (f"{limb}_{a}", f"{limb}_{b}")
        for limb in limbs
        for a, b in (("top", "knee"), ("knee", "hoof"))
    ],
    root="withers",
)
for layout in (mouse, fly, horse):
    key = ", ".join(layout.joints[joint] for joint in layout.sets["key"])
    print(
        f"{layout.name}: {len(layout.joints)} joints, root {layout.joints[layout.root]}, key joints {key}"
    )

# %%
# A recording with such a layout
# ------------------------------
# Files that name their joints need no layout object: ``kerneton.read`` finds the names. Arrays are
# given one.
places = {
    "mouse": [
        (0, 5),
        (-0.9, 4),
        (0.9, 4),
        (0, 3.4),
        (0, 1.8),
        (-0.8, 0.4),
        (0.8, 0.4),
        (0, 0),
        (0.5, -2.5),
    ],
    "fly": [(0, 3), (0, 2), (0, -1)]
    + [
        (s * x, y)
        for s in (-1, 1)
        for y0 in (2.6, 1.6, 0.6)
        for x, y in ((0.5, y0), (1.6, y0 + 0.5), (2.4, y0 - 0.6))
    ],
    "horse": [(4.4, 4.4), (3.7, 5), (2.3, 4), (-0.6, 4)]
    + [(x + s, y) for s in (0, 0.5) for x in (1.7, -1.2) for y in (3.2, 1.8, 0)],
}
noise = np.random.default_rng(0).normal(0, 0.02, (30, 21, 3))
figure, axes = plt.subplots(1, 3, figsize=(12, 4))
for axis, layout in zip(axes, (mouse, fly, horse), strict=True):
    x = np.pad(np.array(places[layout.name], dtype=float), ((0, 0), (0, 1)))  # z = 0
    moving = SkeletonSequence(x + noise[:, : len(x)], layout=layout, name=layout.name)
    for parent, child in layout.bones:
        axis.plot(*moving.joints[0, [parent, child], :2].T, color="tab:blue", linewidth=2)
    axis.plot(*moving.joints[0, :, :2].T, "o", color="tab:orange")
    axis.set_title(f"{layout.name}: {len(layout.joints)} joints")
    axis.set_aspect("equal")
    axis.set_axis_off()
figure.savefig(out / "own_layout.png", dpi=100)
