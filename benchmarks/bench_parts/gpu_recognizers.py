"""Recognisers on a GPU: recordings per second from the host to features on the host, or to
decisions.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from kerneton.cuda.encode import encode
from kerneton.cuda.gpu import Gpu
from kerneton.data.layouts import KINECT_25
from kerneton.data.sequence import SkeletonSequence
from kerneton.paper.stopwatch import repeated, timed
from kerneton.recognize.presets import make_recognizer
from kerneton.recognize.recognizer import Recognizer

N_FRAMES, N_CLASSES, N_TRAINING = 80, 20, 120


def recordings(n: int, seed: int = 0) -> list[SkeletonSequence]:
    """Recordings of 25 joints and 80 frames of 20 classes by 20 people, made in single precision,
    many at a time.
    """
    rng = np.random.default_rng(seed)
    body = np.random.default_rng(1).uniform(-0.6, 0.6, size=(25, 3)).astype(np.float32)
    swing = np.random.default_rng(2).normal(scale=0.15, size=(N_CLASSES, 25, 3)).astype(np.float32)
    turns = np.linspace(0, 2 * np.pi, N_FRAMES, dtype=np.float32)
    made = []
    for i in range(n):
        phase = np.float32(rng.uniform(0, 1))
        wave = np.sin(turns + phase)[:, None, None] * swing[i % N_CLASSES]
        x = (
            body
            + wave
            + rng.standard_normal((N_FRAMES, 25, 3), dtype=np.float32) * np.float32(0.01)
        )
        label, subject = str(i % N_CLASSES), str(i // N_CLASSES % 20)
        made.append(SkeletonSequence(x, layout=KINECT_25, label=label, subject=subject, fps=30))
    return made


def measure(gpu: Gpu, device: str, n: int) -> dict[str, Any]:
    """Rates with features in page-locked and in ordinary memory of the host, and with decisions
    only; each branch alone; errors.
    """
    X = recordings(n)
    return {
        "n": n,
        "shape": [N_FRAMES, 25, 3],
        "fixed": _rates(
            gpu, device, X, make_recognizer(view="fixed", mirror=False, calibrate=False)
        ),
        "free, mirrored": _rates(
            gpu, device, X, make_recognizer(view="free", mirror=True, calibrate=False)
        ),
    }


def paper(gpu: Gpu, device: str, n: int) -> dict[str, Any]:
    """The same for the paper's recogniser: bones of one length, SCK with tensors of order 22, DCK
    in its window.
    """
    model = make_recognizer("paper", calibrate=False)
    dict(model.branches)["sck"].set_params(kernel__n_pivots_time=7)
    return {"n": n, "shape": [N_FRAMES, 25, 3], **_rates(gpu, device, recordings(n), model)}


def _rates(gpu: Gpu, device: str, X: list[SkeletonSequence], model: Recognizer) -> dict[str, Any]:
    few, n = X[:N_TRAINING], len(X)
    model.set_params(n_jobs=-1).fit(few, [s.label for s in few])
    branches = list(model.branches_.values())
    errors = encode(branches, few[:16], gpu) - model.features(few[:16])
    width = sum(int(b.kernel_.block_sizes_.sum()) for b in branches)
    row: dict[str, Any] = {
        "n_features": width,
        "error": float(np.linalg.norm(errors, axis=1).max()),
    }
    call: Callable[[], Any] = partial(model.set_params(device=device).decision_function, X)
    row["decisions_per_second"] = n / statistics.median(repeated(call, 3))
    for memory, repeats in (("page-locked", 3), ("used", 1)):
        pinned = memory == "page-locked" and gpu.device.type == "cuda"
        out = gpu.torch.empty(n, width, pin_memory=pinned).fill_(1).numpy()
        call = partial(encode, branches, X, gpu, out=out)
        row[f"{memory}_per_second"] = n / statistics.median(repeated(call, repeats))
        del out, call
    row["stages_us"] = {
        f"branch {i}": statistics.median(repeated(partial(encode, [b], X[:1024], gpu), 3))
        / len(X[:1024])
        * 1e6
        for i, b in enumerate(branches)
    }
    return row


def fit(gpu: Gpu, device: str, n: int) -> dict[str, Any]:
    """Seconds of a fit on n recordings: features from the GPU, choices and solver on the host."""
    X = recordings(n)
    labels = [s.label for s in X]
    model = make_recognizer(device=device, n_jobs=-1, calibrate=False)
    model.fit(X[:400], labels[:400])  # compiles
    seconds_fit, _ = timed(lambda: model.fit(X, labels))
    found: dict[str, Any] = {"n": n, "fit_s": seconds_fit, **model.timing_}
    if gpu.device.type == "cuda":
        found["gpu_bytes"] = gpu.torch.cuda.max_memory_allocated()
    test = recordings(400, seed=1)
    found["wrong_of_400"] = int((model.predict(test) != np.array([s.label for s in test])).sum())
    return found
