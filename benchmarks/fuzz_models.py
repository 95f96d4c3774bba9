"""Damage model files many times: each is refused or works. ``python benchmarks/fuzz_models.py
[COUNT]``.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from model_fuzz import try_files
from recognizers import MODELS, dck, sck, union

from kerneton import make_actions
from kerneton.recognize.model_file import save


def main(count: int = 10_000) -> None:
    warnings.simplefilter("error")  # as in the tests: nothing may even warn
    folder = Path(tempfile.mkdtemp())
    actions = make_actions(["wave", "clap", "bow"], n_subjects=3, n_takes=1)
    models = [
        MODELS[name]().fit(actions, actions.labels)
        for name in ("sck, order 3", "both, weighed", "dck")
    ]
    calibrated = union(sck(weighting="alignment"), dck(mirror=True), calibrate=True)
    models.append(calibrated.fit(actions, actions.labels))
    contents = [save(model, folder / "sound.kern", data=actions).read_bytes() for model in models]
    start = time.perf_counter()
    found = try_files(contents, list(actions[:2]), folder, count, seed=0)
    print(f"{count} damaged files in {time.perf_counter() - start:.0f} s: {dict(found)}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
