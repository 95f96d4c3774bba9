"""The targets of the ratios ("bars"), and the table that shows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kerneton.report.tables import aligned


@dataclass(frozen=True)
class Bar:
    """What a ratio measures, the baseline, and how large or small the ratio must be; a limit of NaN
    is no target.
    """

    what: str
    yardstick: str
    limit: float
    at_least: bool = True

    def __str__(self) -> str:
        return "" if math.isnan(self.limit) else f"{'≥' if self.at_least else '≤'} {self.limit:g}"

    def met(self, ratio: float) -> bool:
        """Whether a ratio is good enough.

        >>> Bar("growth", "half the frames", 2.3, at_least=False).met(2.1)
        True
        """
        return ratio >= self.limit if self.at_least else ratio <= self.limit


NONE = float("nan")
BARS = {
    "sck_dck_vs_numpy": Bar("SCK + DCK of a sequence, float32", "NumPy formulas", 15),
    "sck_dck_vs_numpy_f64": Bar("SCK + DCK of a sequence, float64", "NumPy formulas", NONE),
    "epn_vs_eigh_f32": Bar("EPN of a slice, float32", "numpy.linalg.eigh", 4),
    "epn_vs_eigh_f64": Bar("EPN of a slice, float64", "numpy.linalg.eigh", 2.5),
    "dck_growth_200_400": Bar("DCK, 400 frames", "200 frames", 2.3, at_least=False),
    "dck_growth_400_800": Bar("DCK, 800 frames", "400 frames", 2.3, at_least=False),
    "dck_800_vs_direct": Bar("DCK, 800 frames", "direct sum", 50),
    "linear_svm_vs_linear_svc": Bar("LinearSVM's fit", "LinearSVC's fit", 1),
    "msr_vs_multirockethydra": Bar("all of MSR-Action3D", "MultiRocketHydra", 1, at_least=False),
    "msr_vs_minirocket": Bar("all of MSR-Action3D", "MiniRocket", NONE),
    "memory_10000_vs_1000": Bar(
        "memory, 10,000 recordings", "1,000 recordings", 1.2, at_least=False
    ),
}
SCALE_BARS = {
    "fit_growth_2000_4000": Bar(
        "a fit of 4,000 recordings", "2,000 recordings", 2.4, at_least=False
    ),
    "fit_growth_8000_16000": Bar(
        "a fit of 16,000 recordings", "8,000 recordings", 2.4, at_least=False
    ),
    "peak_memory_16000": Bar("memory above 16,000 recordings", "1 GiB", 3, at_least=False),
    "dask_two_vs_one": Bar("8,000 recordings, two workers", "one worker", 1.6),
    "fit_vs_before": Bar("the default fit", "the checkout before", 5),
    "predict_one_vs_before": Bar("one recording recognised", "the checkout before", 3),
    "msr_default_vs_multirockethydra": Bar(
        "MSR-Action3D by the default", "MultiRocketHydra", 1, at_least=False
    ),
}
STREAM_BARS = {
    "stream_8_bodies": Bar("a frame of 8 bodies", "a thirtieth of a second", 1),
    "stream_last_vs_first": Bar(
        "an hour of stream, last minute", "first minute", 1.1, at_least=False
    ),
    "stream_memory": Bar("memory that a day of stream adds", "5 MB", 1, at_least=False),
    "stream_false_alarms": Bar("false alarms in an hour of unknown motion", "3", 1, at_least=False),
}
SPOTTING_BARS = {
    "spotting_growth_27000_54000": Bar(
        "spotting learnt from 54,000 frames", "27,000 frames", 2.2, at_least=False
    ),
    "spotting_growth_54000_108000": Bar(
        "spotting learnt from 108,000 frames", "54,000 frames", 2.2, at_least=False
    ),
    "spotting_hour": Bar("spotting learnt from an hour", "120 s", 1, at_least=False),
    "spotting_memory": Bar("memory above an hour of recordings", "1 GiB", 2, at_least=False),
    "spotting_rate": Bar("frames searched a second and core", "", 2000),
    "spotting_day": Bar("memory that a day adds", "5 MB", 1, at_least=False),
}
_UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "µs"))
RATE = Bar("SCK + DCK, features to the host", "", 20_000)
# Rates of recognisers, from recordings on the host: path in the result, and target.
RATES = {
    ("paper", "decisions_per_second"): Bar("the paper's recogniser, decisions", "", 45_000),
    ("default", "fixed", "page-locked_per_second"): Bar(
        "the default recogniser, features to the host", "", 20_000
    ),
}


def to_text(result: Mapping[str, Any]) -> str:
    """One line per ratio: our figure, the baseline's, their ratio and the target."""
    rows = [["what", "ours", "baseline", "", "ratio", "target"]]
    lines = {
        key: c
        for part in result["details"].values()
        for key, c in part.get("comparisons", {}).items()
    }
    sections = ("cpu", "scale", "stream", "spotting")
    ratios = {key: ratio for name in sections for key, ratio in result.get(name, {}).items()}
    for key, bar in {**BARS, **SCALE_BARS, **STREAM_BARS, **SPOTTING_BARS}.items():
        if key not in ratios:
            continue
        line, ratio = lines.get(key), ratios[key]
        if line is None or ratio is None:
            rows.append([bar.what, "-", "-", bar.yardstick, "not measured", str(bar)])
            continue
        figures = [_figure(line[side], line["unit"]) for side in ("ours", "yardstick")]
        verdict = "" if math.isnan(bar.limit) else f"{bar}: {'met' if bar.met(ratio) else 'MISSED'}"
        rows.append([bar.what, *figures, bar.yardstick, f"{ratio:.3g}", verdict])
    if "gpu" in result:
        rows += _gpu_rows(result["gpu"])
    notes = [note for part in result["details"].values() if (note := part.get("note"))]
    return "\n".join([aligned(rows), *notes])


def _gpu_rows(gpu: Mapping[str, Any] | None) -> list[list[str]]:
    if gpu is None:
        return [["GPU", "-", "-", "", "no GPU here", f"≥ {RATE.limit:,.0f} a second"]]
    rows = [_rate_row(RATE, gpu["sequences_per_second"])]
    for path, bar in RATES.items():
        found: Any = gpu
        for key in path:
            found = found.get(key) if found else None
        rows.append(_rate_row(bar, found))
    return rows


def _rate_row(bar: Bar, rate: float | None) -> list[str]:
    figure = f"{rate:,.0f}" if rate else "-"
    verdict = ("met" if bar.met(rate) else "MISSED") if rate else "failed"
    return [bar.what, figure, "-", "", "-", f"≥ {bar.limit:,.0f} a second: {verdict}"]


def _figure(value: float, unit: str) -> str:
    """A figure with its unit; seconds as s, ms or µs.

    >>> _figure(0.0123, "s"), _figure(3.2e-6, "s"), _figure(151.2, "MB")
    ('12.3 ms', '3.2 µs', '151 MB')
    """
    if unit == "s":
        factor, unit = next(((f, name) for f, name in _UNITS if value * f >= 1), _UNITS[-1])
        value *= factor
    return f"{value:.3g} {unit}"
