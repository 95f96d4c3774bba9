"""An installed Kerneton in one process: learn, save, load, predict the same. For emulators, which
start no other process.
"""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path

import numpy as np

import kerneton
from kerneton import core


def main() -> None:
    """Train on two people, test on the third."""
    data = kerneton.make_actions(["bow", "clap", "wave"], n_subjects=3, n_takes=1)
    model = kerneton.make_recognizer().fit(data[:6], data.labels[:6])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.kern")
        kerneton.save(model, path)
        again = kerneton.load(path)
    values = model.decision_function(data[6:])
    np.testing.assert_array_equal(again.decision_function(data[6:]), values)
    right = int((model.predict(data[6:]) == data.labels[6:]).sum())
    assert right == 3, f"{right} of 3 right"
    print(
        f"kerneton {kerneton.__version__} works on {platform.machine()}, levels {', '.join(core.available_levels())}"
    )


if __name__ == "__main__":
    main()
