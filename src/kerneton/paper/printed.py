"""What the paper prints: accuracies as fractions, sizes, points of its curves, times and ratios."""

from __future__ import annotations

_SIZES = {"sck": 40_480, "dck": 16_920, "sck+dck": 57_400}


def _cells(sizes: dict[str, int], *accuracies: float) -> dict[str, tuple[float, int]]:
    return {
        name: (accuracy, size)
        for (name, size), accuracy in zip(sizes.items(), accuracies, strict=True)
    }


# (accuracy, size) by data set, by protocol where there are two, by kernel
TABLES = {
    "florence3d": _cells(
        {"sck": 26_565, "dck_d": 9_450, "dck_e": 16_920, "sck+dck": 43_485},
        0.9298,
        0.9303,
        0.9277,
        0.9523,
    ),
    "utkinect": _cells(_SIZES, 0.9608, 0.975, 0.982),
    "wang": _cells(_SIZES, 0.9072, 0.8630, 0.9145),
    "li": _cells(_SIZES, 0.9352, 0.9171, 0.9396),
}

# Accuracies that the text gives for points of the figures
POINTS: dict[str, dict[float | str, float]] = {
    "sck_sigma_joint": {0.6: 0.9298},
    "sck_sigma_time": {0.5: 0.9298, 4.0: 0.91},
    "sck_pivots_joint": {5: 0.9298},
    "sck_pivots_time": {6: 0.9298},
    "sck_power": {0.36: 0.9298, 1.0: 0.887},
    "dck_joints": {"A": 0.8832, "D": 0.9303, "E": 0.9277, "I": 0.9165},
    "dck_power": {0.85: 0.9277, 1.0: 0.9049},
}

SECONDS = {"sck": 0.2, "dck": 1.2}  # a sequence, unoptimised MATLAB on one core
MINUTES = 13.0  # training on all of MSR-Action3D with both kernels

# How many times faster linearisation is, by kernel and number of sequences (of 50 frames)
SPEEDUPS = {("sck", 557): 3.5, ("sck", 5000): 32.0, ("dck", 557): 11_000.0}
