"""Containers, service users, full and read-only disks, threads and forks: the same answers, or one
clear sentence.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from walks import walks

import kerneton
from kerneton import DCK, SCK

PACKAGE = Path(kerneton.__file__).parent
NOWHERE = "/proc/nowhere"  # a folder that nobody can make
posix = pytest.mark.skipif(os.name != "posix", reason="needs a Unix")

SUMS = """
import numpy as np
from kerneton.core.grams import weighted_sums
X = np.random.default_rng(0).normal(size=(3, 5, 5))
print(repr(weighted_sums(X[:, 0, :3], X).tolist()))
"""


def python(program, *, path=PACKAGE.parent, limit=None, **environment):
    """Run a program with a package's folder and an environment; its output and the lines it
    complained in.
    """
    import resource

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        preexec_fn=None
        if limit is None
        else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, [line for line in done.stderr.splitlines() if "Warning" in line]


def sums():
    from kerneton.core.grams import weighted_sums

    X = np.random.default_rng(0).normal(size=(3, 5, 5))
    return weighted_sums(X[:, 0, :3], X)


# The compiled core


@posix
def test_another_user_without_a_home_and_with_a_package_that_is_read_only():
    # pytest's own folders are closed to others
    folder = Path(tempfile.mkdtemp(prefix="kerneton-readonly-"))
    try:
        shutil.copytree(PACKAGE, folder / "kerneton", ignore=shutil.ignore_patterns("__pycache__"))
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        become = "import os, scipy, sklearn, threadpoolctl\n"
        become += "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        homeless = {"HOME": NOWHERE, "XDG_CACHE_HOME": NOWHERE}
        said, warned = python(become + SUMS, path=folder, **homeless)
    finally:
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)
        shutil.rmtree(folder)
    assert_array_equal(eval(said), sums())
    assert warned == []


@posix
def test_a_disk_with_no_room():
    said, warned = python(SUMS, limit=1000)
    assert_array_equal(eval(said), sums())
    assert warned == []


# Threads and forks


def test_threads_that_share_estimators():
    X = walks((9, 30, 17), 5)
    kernels = [SCK().fit(X), SCK(order=2).fit(X), DCK(sigma_span=4.0).fit(X), DCK().fit(X)]
    expected = [kernel.transform(X) for kernel in kernels]
    found: dict[tuple[int, int], np.ndarray] = {}

    def work(n):
        for k, kernel in enumerate(kernels):
            found[n, k] = kernel.transform(X)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (_, k), features in found.items():
        assert_array_equal(features, expected[k])
    assert len(found) == 8 * len(kernels)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_after_kernels_were_used():
    program = """
import multiprocessing, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which users of old programs have
import numpy as np
from walks import walks
from kerneton import DCK, SCK, LinearSVM
X, y = walks((9, 30, 17, 12), 5), [0, 0, 1, 1]

def work(_):
    return [k.fit_transform(X) for k in (SCK(n_jobs=2), DCK(sigma_span=4.0), DCK())]

expected = work(0)
svm = LinearSVM().fit(expected[0], y)
with multiprocessing.get_context("fork").Pool(2) as pool:
    for found in pool.map(work, range(2)):
        assert all((a == b).all() for a, b in zip(found, expected, strict=True))
    assert (pool.apply(svm.predict, (expected[0],)) == svm.predict(expected[0])).all()
print("same")
"""
    path = os.pathsep.join([str(PACKAGE.parent), str(Path(__file__).parents[1])])
    assert python(program, path=path)[0] == "same\n"
