"""An installed Kerneton in an environment with nothing else: learn, keep, load, predict, report,
and say the version.

Run by ``make dist`` with the interpreter of that environment; needs nothing but the package itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

import kerneton
from kerneton.datasets import make_actions


def kerneton_command(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "kerneton", *map(str, arguments)], check=True)


def main() -> None:
    package = Path(kerneton.__file__).parent
    assert "site-packages" in package.parts, f"not the installed package: {package}"
    assert kerneton.__version__ == metadata.version("kerneton")
    assert (package / "py.typed").is_file(), "py.typed is not in the package"
    assert list(package.rglob("*.html")), "the report's page is not in the package"
    assert list(package.rglob("*.cu")), "the GPU's kernels are not in the package"

    data = make_actions(["bow", "clap", "wave"], n_subjects=3, n_takes=1)
    with tempfile.TemporaryDirectory() as home:
        folder, model, answers = (
            Path(home, "recordings"),
            Path(home, "model.kern"),
            Path(home, "answers.json"),
        )
        for n, sequence in enumerate(data):
            (folder / str(sequence.label) / str(sequence.subject)).mkdir(
                parents=True, exist_ok=True
            )
            kerneton.write(
                [sequence], folder / str(sequence.label) / str(sequence.subject) / f"{n}.csv"
            )
        kerneton_command("fit", folder, "-o", model, "-q")
        kerneton_command("predict", model, folder, "--json", answers, "-q")
        said = json.loads(answers.read_text(encoding="utf-8"))
        right = [answer["label"] == Path(answer["file"]).parts[-3] for answer in said]
        assert len(right) == len(data), f"{len(right)} answers for {len(data)} recordings"
        assert sum(right) > 0.9 * len(right), f"{sum(right)} of {len(right)} right"
        kerneton_command("evaluate", folder, "--html", Path(home, "report.html"), "-q")
        assert Path(home, "report.html").stat().st_size > 10_000
    versions = ", ".join(
        f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "scikit-learn")
    )
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"kerneton {kerneton.__version__} works: Python {python}, {versions}")


if __name__ == "__main__":
    main()
