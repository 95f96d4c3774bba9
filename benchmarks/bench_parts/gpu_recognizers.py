"""Recognisers on a GPU: recordings per second from the host to features on the host, or to
decisions.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench_parts.gpu_parts import seconds
from kerneton.data.layouts import KINECT_25
from kerneton.data.sequence import SkeletonSequence
from kerneton.paper.stopwatch import repeated, timed
from kerneton.prepare.on_device import prepare
from kerneton.recognize.on_device import _branch, encode_batch, features_on
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


def measure(torch: Any, device: str, n: int) -> dict[str, Any]:
    """Rates with features in page-locked and in ordinary memory of the host, and with decisions
    only; stages; errors.
    """
    X = recordings(n)
    return {
        "n": n,
        "shape": [N_FRAMES, 25, 3],
        "fixed": _rates(torch, device, X, make_recognizer(view="fixed", mirror=False)),
        "free, mirrored": _rates(torch, device, X, make_recognizer(view="free", mirror=True)),
    }


def paper(torch: Any, device: str, n: int) -> dict[str, Any]:
    """The same for the paper's recogniser: bones of one length, SCK with tensors of order 22, DCK
    in its window.
    """
    model = make_recognizer("paper")
    dict(model.branches)["sck"].set_params(kernel__n_pivots_time=7)
    return {"n": n, "shape": [N_FRAMES, 25, 3], **_rates(torch, device, recordings(n), model)}


def _rates(torch: Any, device: str, X: list[SkeletonSequence], model: Recognizer) -> dict[str, Any]:
    few, n = X[:N_TRAINING], len(X)
    model.set_params(n_jobs=-1).fit(few, [s.label for s in few])
    branches = list(model.branches_.values())
    errors = features_on(branches, few[:16], device) - model.features(few[:16])
    width = sum(int(b.kernel_.block_sizes_.sum()) for b in branches)
    row: dict[str, Any] = {
        "n_features": width,
        "error": float(np.linalg.norm(errors, axis=1).max()),
    }
    call: Callable[[], Any] = partial(model.set_params(device=device).decision_function, X)
    row["decisions_per_second"] = n / statistics.median(repeated(call, 3))
    for memory, repeats in (("page-locked", 3), ("used", 1)):
        pinned = memory == "page-locked" and device.startswith("cuda")
        out = torch.empty(n, width, pin_memory=pinned).fill_(1).numpy()
        call = partial(features_on, branches, X, device, out)
        row[f"{memory}_per_second"] = n / statistics.median(repeated(call, repeats))
        del out, call
    row["stages_us"] = _stages(torch, device, branches, X[:1024])
    return row


def fit(torch: Any, device: str, n: int) -> dict[str, Any]:
    """Seconds of a fit on n recordings: features from the device, choices and solver on the
    host.
    """
    X = recordings(n)
    labels = [s.label for s in X]
    model = make_recognizer(device=device, n_jobs=-1)
    model.fit(X[:400], labels[:400])  # compiles
    seconds_fit, _ = timed(lambda: model.fit(X, labels))
    found: dict[str, Any] = {"n": n, "fit_s": seconds_fit, **model.timing_}
    if torch.device(device).type == "cuda":
        found["gpu_bytes"] = torch.cuda.max_memory_allocated()
    test = recordings(400, seed=1)
    found["wrong_of_400"] = int((model.predict(test) != np.array([s.label for s in test])).sum())
    return found


def _stages(
    torch: Any, device: str, branches: list[Any], X: list[SkeletonSequence]
) -> dict[str, float]:
    """Device microseconds per recording: everything, poses, and each branch after its poses are
    computed.
    """

    def micros(call: Callable[[], Any]) -> float:
        return seconds(torch, call, 3) / len(X) * 1e6

    x = torch.as_tensor(np.stack([s.joints for s in X]), device=device)
    lengths = torch.full((len(X),), x.shape[1], device=device)
    fps = [30.0] * len(X)
    rate = torch.full((len(X),), 30.0, device=device)
    found = {"all": micros(lambda: encode_batch(branches, x, lengths, fps))}
    found["poses"] = micros(lambda: prepare(branches[0].preprocess_, x, lengths))
    for i, branch in enumerate(branches):
        known = {"position": prepare(branch.preprocess_, x, lengths)}
        found[f"branch {i}"] = micros(partial(_branch, branch, known, lengths, rate))
    return found
