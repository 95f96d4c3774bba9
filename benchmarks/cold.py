"""Cold is warm: the first fit and prediction in a fresh environment against the second ones.

    python benchmarks/cold.py [--json FILE]

Installs this checkout without extras into a new virtual environment, with an empty home folder and
so with empty caches, and runs ``kerneton fit`` and ``kerneton predict`` on 60 generated recordings
(CSV) twice each. Says the times, their ratio (target: at most 1.3), and what the environment takes
above NumPy, SciPy, scikit-learn and the small packages they and Kerneton need (target: at most 15
MB). Wall-clock times on a busy machine are noise; processor times are less so. The system's cache
of files is not emptied: the packages were just written.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import kerneton

ROOT = Path(__file__).resolve().parents[1]
MOST, LARGEST = 1.3, 15.0  # times; MB
# What NumPy, SciPy, scikit-learn and Kerneton need; all small but the first three.
NEEDED = {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "jinja2", "markupsafe"}
NEEDED |= {"narwhals", "cloudpickle"}  # of scikit-learn and joblib
OURS = {"pip", "setuptools"}  # of the environment itself


def measure() -> dict[str, Any]:
    """All figures, in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = folder / "home"
        home.mkdir()
        given = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "OMP_NUM_THREADS")}
        given |= {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_"))}
        environment = {**given, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        python = folder / "env" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", str(ROOT)],
            check=True,
            env={**environment, **os.environ},
        )
        _write_recordings(folder / "recordings")
        command = [str(python.with_name("kerneton"))]
        fit = [*command, "fit", "recordings", "-o", "model.kern", "-q"]
        predict = [*command, "predict", "model.kern", "recordings", "-q"]
        found: dict[str, Any] = {"cores": os.cpu_count()}
        for what, call in (("fit", fit), ("predict", predict)):
            first, second = (_timed(call, folder, environment) for _ in range(2))
            ratio = {kind: first[kind] / second[kind] for kind in first}
            found[what] = {"first": first, "second": second, "ratio": ratio}
        sizes = _sizes(python, environment)
        found["above_mb"] = sum(v for k, v in sizes.items() if k not in NEEDED | OURS)
        found["sizes_mb"] = sizes
        return found


def _write_recordings(folder: Path) -> None:
    """60 recordings as a user may have them: folder/label/subject/take.csv."""
    data = kerneton.make_actions(["wave", "bow", "clap"], n_subjects=5, n_takes=4, fps=20)
    for i, recording in enumerate(data):
        place = folder / recording.label / recording.subject
        place.mkdir(parents=True, exist_ok=True)
        kerneton.write([recording], place / f"{i}.csv")


def _timed(command: list[str], folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """Seconds of the clock and of the processor that a command takes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": wall, "cpu_s": used}


_LISTED = """
import importlib.metadata as m, json
def size(d):
    return sum(p.stat().st_size for f in d.files or [] if (p := d.locate_file(f)).is_file())
print(json.dumps({d.name.lower(): size(d) / 1e6 for d in m.distributions()}))
"""


def _sizes(python: Path, environment: dict[str, str]) -> dict[str, float]:
    """Megabytes of each installed package."""
    done = subprocess.run(
        [str(python), "-c", _LISTED], env=environment, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    found = measure()
    for what in ("fit", "predict"):
        first, second, ratio = (found[what][name] for name in ("first", "second", "ratio"))
        for kind in ("wall_s", "cpu_s"):
            told = "wall" if kind == "wall_s" else "processor"
            print(
                f"{what}, {told}: first {first[kind]:.2f} s, second {second[kind]:.2f} s, "
                f"ratio {ratio[kind]:.2f} (target: at most {MOST})"
            )
    sizes = ", ".join(f"{k} {v:.1f}" for k, v in sorted(found["sizes_mb"].items()) if v > 1)
    print(f"above the packages it needs: {found['above_mb']:.1f} MB (target: at most {LARGEST})")
    print(f"MB: {sizes}")
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    kept = all(found[what]["ratio"]["cpu_s"] <= MOST for what in ("fit", "predict"))
    return 0 if kept and found["above_mb"] <= LARGEST else 1


if __name__ == "__main__":
    sys.exit(main())
