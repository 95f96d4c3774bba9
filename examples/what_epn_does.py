"""
What EPN does
=============

Eigenvalue power normalisation raises the spectrum of the tensors to a power γ < 1. See the effect
on a spectrum, on a kernel, and on the accuracy.

You learn what the parameter ``power`` means and how to choose it without looking at the test
subjects.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV

from kerneton import Preprocess, evaluate, make_actions, make_recognizer
from kerneton.datasets.protocols import SubjectKFold
from kerneton.kernels.power_norm import slice_power
from kerneton.kernels.tensors import gaussian_features, outer_power_sum
from kerneton.report.pictures import plot_sweep

out = Path(sys.argv[1] if len(sys.argv) > 1 else "examples-out")
out.mkdir(parents=True, exist_ok=True)

# %%
# The spectrum of a slice
# -----------------------
# The hands of a person who waves are at rest for a while, then swing. The resting pose fills many
# frames, so it has by far the largest eigenvalue, although it contains no information about waving:
# a burst.

data = make_actions(n_subjects=8, n_takes=1, fps=15)
wave = Preprocess().fit_transform(data[:1])[0]
x = wave.joints[:, wave.layout.index("right_hand")]
v = gaussian_features(x, sigma=0.6, n_pivots=5).reshape(len(x), -1)  # (T, 15)
tensor = outer_power_sum(v[None, None], 3)[0, 0] / len(v)

powers = [1.0, 0.6, 0.36, 0.2]
shares = {}
for power in powers:
    middle = slice_power(tensor, power)[7]
    spectrum = np.linalg.eigvalsh(middle)[::-1][:8]
    shares[f"γ = {power:g}"] = 100 * spectrum / spectrum.sum()
    print(
        f"γ {power:4}: the largest eigenvalue holds {100 * spectrum[0] / spectrum.sum():.0f}% of the slice"
    )

figure = plot_sweep(
    np.arange(1, 9), shares, xlabel="eigenvalue of one slice", ylabel="share of their sum (%)"
)
figure.savefig(out / "what_epn_does_spectrum.png", dpi=110)

# %%
# Effect on the accuracy
# ----------------------
# γ = 1 is no normalisation. Each half of the people is recognised by a model trained on the other
# half; to save time only nine of the twenty joints are used, the set called "key".

protocol = SubjectKFold(n_splits=2)
recognizer = make_recognizer(kernel="sck").set_params(sck__kernel__joints="key")
reports = [
    evaluate(recognizer.set_params(sck__kernel__power=power), data, protocol) for power in powers
]
for power, report in zip(powers, reports, strict=True):
    print(f"γ {power:4}: {report!r}")
figure = plot_sweep(
    powers,
    {"SCK": [100 * r.accuracy for r in reports]},
    spread={"SCK": [100 * r.accuracy_sd for r in reports]},
    xlabel="power γ",
)
figure.savefig(out / "what_epn_does_accuracy.png", dpi=110)

# %%
# Choosing it
# -----------
# Taking the best γ from the curve above would be a choice on the test subjects. Search inside the
# training subjects instead, again with a split by people.

training = data.select(np.flatnonzero(data.subjects < "5"))
search = GridSearchCV(recognizer, {"sck__kernel__power": [1.0, 0.36]}, cv=SubjectKFold(n_splits=2))
search.fit(training, training.labels)
print("chosen inside the training subjects:", search.best_params_)
