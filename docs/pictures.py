"""Draw the pictures of the pages on concepts and accuracy: ``python docs/pictures.py FOLDER``."""

import runpy
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kerneton import Preprocess, make_actions
from kerneton.kernels.power_norm import psd_power
from kerneton.kernels.tensors import gaussian, gaussian_features, pivots
from kerneton.report.pictures import plot_skeleton
from kerneton.report.scene import camera

BLUE, ORANGE, GREY, FAINT = "#1f6fb4", "#d95f02", "#444444", "#cccccc"
EXAMPLES = Path(__file__).parent.parent / "examples"


def draw_pivots():
    """A coordinate as its closeness to five pivots, and the kernel that their products make."""
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    u = np.linspace(-1.3, 1.3, 400)
    left.plot(u, gaussian_features(u, sigma=0.6, n_pivots=5), color=BLUE, linewidth=1.2)
    here = 0.2
    left.axvline(here, color=GREY, linewidth=1, linestyle="--")
    left.plot(
        [here] * 5, gaussian_features(np.array(here), sigma=0.6, n_pivots=5), "o", color=ORANGE
    )
    left.plot(pivots(5, -1, 1), [0] * 5, "^", color=BLUE)
    left.set(xlabel="coordinate u, metres", title="φ(0.2): five numbers", xlim=(-1.3, 1.3))
    at = gaussian_features(np.array(0.0), sigma=0.6, n_pivots=5)
    right.plot(u, gaussian(u, 0.6), color=GREY, label="G(u), exact")
    right.plot(
        u, gaussian_features(u, sigma=0.6, n_pivots=5) @ at, "--", color=ORANGE, label="φ(u)·φ(0)"
    )
    right.set(
        xlabel="difference u, metres", title="their products make the kernel", xlim=(-1.3, 1.3)
    )
    right.legend(frameon=False, fontsize=9)
    return figure


def draw_displacements():
    """What DCK compares: from one joint at one time to another joint at another time."""
    (clap,) = Preprocess().fit_transform(
        make_actions(["clap"], n_subjects=1, n_takes=1, dropout=0, noise=0.002)
    )
    figure = Figure(figsize=(8, 3), layout="constrained")
    ax = figure.subplots()
    frames = np.linspace(0.1, 0.55, 4) * clap.n_frames
    plane, step = clap.joints @ camera(clap)[:2].T, 0.9
    hand, elbow = clap.layout.index("right_hand"), clap.layout.index("left_elbow")
    places = [plane[int(t)] + [step * i, 0] for i, t in enumerate(frames)]
    for i, pose in enumerate(places):
        for a, b in clap.layout.bones:
            ax.plot(*pose[[a, b]].T, color=FAINT, linewidth=3, solid_capstyle="round", zorder=1)
        ax.plot(*pose[hand], "o", color=BLUE, markersize=7, zorder=3)
        ax.plot(*pose[elbow], "o", color=ORANGE, markersize=7, zorder=3)
        ax.text(
            step * i,
            pose[:, 1].min() - 0.15,
            f"s = {int(frames[i])}",
            ha="center",
            fontsize=9,
            color=GREY,
        )
    arrow = {
        "arrowstyle": "->",
        "color": GREY,
        "linewidth": 1.2,
        "connectionstyle": "arc3,rad=-0.15",
    }
    for target in (*places[:1], *places[2:]):  # s = s' has no part
        ax.annotate("", target[elbow], places[1][hand], arrowprops=arrow, zorder=2)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return figure


def draw_powers():
    """What EPN does to eigenvalues, and to a matrix that a frequent pattern fills."""
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    left, *rest = figure.subplots(1, 4, width_ratios=[1.5, 1, 1, 1])
    x = np.linspace(0, 1, 200)
    for power, colour in ((1.0, GREY), (0.36, ORANGE), (0.1, BLUE)):
        left.plot(x, x**power, color=colour, label=f"γ = {power:g}")
    left.set(xlabel="eigenvalue", title="eigenvalue to the power γ")
    left.legend(frameon=False, fontsize=9)
    frequent, rare = np.zeros(12), np.zeros(12)
    frequent[:6], rare[6:] = 1, np.linspace(0.5, 1, 6)
    matrix = 20 * np.outer(frequent, frequent) + np.outer(rare, rare)
    for ax, power in zip(rest, (1.0, 0.36, 0.1), strict=True):
        ax.imshow(psd_power(matrix, power), cmap="Blues", vmin=0)
        ax.set(xticks=[], yticks=[], title=f"γ = {power:g}")
    return figure


def draw_alike():
    """Two actions that are taken for each other."""
    return plot_skeleton(
        list(make_actions(["drink", "answer phone"], n_subjects=1, n_takes=1, dropout=0))
    )


def main(folder):
    """Draw them all, and the tensor that the example on SCK shows."""
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (draw_pivots, draw_displacements, draw_powers, draw_alike):
        draw().savefig(folder / f"{draw.__name__.removeprefix('draw_')}.png", dpi=130)
    sys.argv = ["what_sck_sees.py", str(folder)]
    runpy.run_path(str(EXAMPLES / "what_sck_sees.py"), run_name="__main__")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
