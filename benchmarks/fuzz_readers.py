"""Ten thousand damaged files of every format, each read or refused in time and within memory.

    python benchmarks/fuzz_readers.py                      every format, 10,000 files each
    python benchmarks/fuzz_readers.py --count 500 npz ntu  some of them

Every format runs in a process of its own. A file must give recordings or a `KernetonError`, in less
than 5 s; the process must stay below 1 GiB. Damage is seeded: a failure names its seed and case,
with which it can be repeated.
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
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

TIME_LIMIT = 5.0  # seconds per file
MEMORY_LIMIT = 1 << 30  # bytes that a reader's process may hold
ADDRESS_LIMIT = 4 << 30  # limit of its address space


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("formats", nargs="*", help="formats to try; by default all")
    parser.add_argument(
        "--count", type=int, default=10_000, help="damaged files per format (default 10000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the damage (default 0)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measure(args.formats[0], args.count, args.seed)))
        return 0
    from samples import SAMPLES

    failed = False
    print(
        f"{'format':14} {'files':>7} {'read':>7} {'refused':>8} {'slowest':>9} {'peak':>9} {'time':>7}"
    )
    for name in args.formats or SAMPLES:
        begin = time.perf_counter()
        result = run_child(name, args.count, args.seed)
        failures = result["failures"]
        if result["peak"] > MEMORY_LIMIT:
            failures.append(f"{name}: {result['peak'] >> 20} MiB of memory")
        print(
            f"{name:14} {args.count:7} {result['n_read']:7} {result['n_refused']:8} {result['slowest']:7.2f} s "
            f"{result['peak'] >> 20:5} MiB {time.perf_counter() - begin:5.0f} s",
            flush=True,
        )
        for failure in failures:
            print(f"  {failure}", flush=True)
        failed = failed or bool(failures)
    return int(failed)


def run_child(name: str, count: int, seed: int) -> dict:
    command = [
        sys.executable,
        __file__,
        name,
        "--child",
        "--count",
        str(count),
        "--seed",
        str(seed),
    ]
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=120 + 0.2 * count
        )
    except subprocess.TimeoutExpired:
        return {
            "n_read": 0,
            "n_refused": 0,
            "slowest": 0.0,
            "peak": 0,
            "failures": [f"{name}: hangs"],
        }
    if done.returncode:
        told = f"{name}: process ended with {done.returncode}: {done.stderr.strip()[-500:]}"
        return {"n_read": 0, "n_refused": 0, "slowest": 0.0, "peak": 0, "failures": [told]}
    return json.loads(done.stdout.splitlines()[-1])


def measure(name: str, count: int, seed: int) -> dict:
    from fuzz import fuzz

    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_LIMIT, ADDRESS_LIMIT))
    warnings.simplefilter("error")
    for damage in (
        " s are missing after",
        ": the file ends inside this row",
    ):  # which is read, with a warning
        warnings.filterwarnings("ignore", message=f".*{damage}")
    total = {"n_read": 0, "n_refused": 0, "slowest": 0.0, "failures": []}
    with tempfile.TemporaryDirectory() as folder:
        for case in range(count):
            # of the processor: other work on the machine does not count
            begin = time.process_time()
            outcome = fuzz(name, 1, Path(folder), seed=seed, start=case)
            took = time.process_time() - begin
            total["slowest"] = max(total["slowest"], took)
            total["n_read"] += outcome.n_read
            total["n_refused"] += outcome.n_refused
            total["failures"] += outcome.failures
            if took > TIME_LIMIT:
                total["failures"].append(f"{name} seed {seed} case {case}: took {took:.1f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
    return total | {"peak": peak}


if __name__ == "__main__":
    sys.exit(main())
