"""A fit with default BLAS threads, with one BLAS thread, and together with one busy process per
core.

    python benchmarks/threads.py --json threads.json

Fits the default recogniser on 108 generated recordings (six actions, six people, three takes). The
kinds of fits run alternately, each in its own process, so that a slow machine affects all of them.
Targets: ``as_it_comes_vs_one_thread`` ≤ 1.1 and ``busy_vs_idle`` ≤ 2.5.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ACTIONS = ("wave", "clap", "kick", "throw", "bow", "punch")
BARS = {"as_it_comes_vs_one_thread": 1.1, "busy_vs_idle": 2.5}
_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def fit_on_request() -> None:
    """Fit once per input line and print the seconds; the first fit may compile."""
    from kerneton import make_actions, make_recognizer

    data = make_actions(list(ACTIONS), n_subjects=6, n_takes=3)
    make_recognizer(calibrate=False).fit(data, data.labels, groups=data.subjects)
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        make_recognizer(calibrate=False).fit(data, data.labels, groups=data.subjects)
        print(time.perf_counter() - start, flush=True)


class Fitter:
    """A process that fits on request."""

    def __init__(self, **environment: str) -> None:
        clean = {name: value for name, value in os.environ.items() if name not in _LIMITS}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--fit"],
            env=clean | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"

    def seconds(self) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write("fit\n")
        self.process.stdin.flush()
        return float(self._line())

    def close(self) -> None:
        self.process.communicate()

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line:
            raise SystemExit(f"a fit failed with exit status {self.process.wait()}")
        return line


def measure(repeats: int) -> dict[str, float]:
    as_it_comes, one_thread = Fitter(), Fitter(**dict.fromkeys(_LIMITS, "1"))
    seconds: dict[str, list[float]] = {"as_it_comes": [], "one_thread": [], "busy": []}
    for _ in range(repeats):
        seconds["as_it_comes"].append(as_it_comes.seconds())
        seconds["one_thread"].append(one_thread.seconds())
        busy = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(os.cpu_count() or 1)
        ]
        try:
            seconds["busy"].append(as_it_comes.seconds())
        finally:
            for process in busy:
                process.kill()
                process.wait()
    as_it_comes.close()
    one_thread.close()
    found = {f"{name}_s": statistics.median(times) for name, times in seconds.items()}
    found["as_it_comes_vs_one_thread"] = found["as_it_comes_s"] / found["one_thread_s"]
    found["busy_vs_idle"] = found["busy_s"] / found["as_it_comes_s"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", help="write the figures to this file")
    parser.add_argument("--fit", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        return fit_on_request()
    found = measure(options.repeats)
    for name, value in found.items():
        verdict = (
            f"  ≤ {BARS[name]}: {'met' if value <= BARS[name] else 'MISSED'}"
            if name in BARS
            else ""
        )
        print(f"{name:28s} {value:.3g}{verdict}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=2)
    return None


if __name__ == "__main__":
    main()
