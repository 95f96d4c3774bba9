"""Repetitions and comparisons over HTTP."""

from __future__ import annotations

import numpy as np
import pytest

from kerneton import read
from kerneton.files.readers import write
from kerneton.stream.executions import align, repetitions

CLAP, OTHER, MANY = "clap/s1/s01_clap_t1.npz", "clap/s2/s02_clap_t1.npz", "clap/s1/many.npz"


def test_repetitions_are_told_and_compared_with_a_chosen_one(server, folder):
    (take,) = read(folder / CLAP)
    take = take.replace(joints=np.concatenate([take.joints] * 3), confidence=None)
    write([take], folder / MANY)
    server.studio.library.scan()
    found = repetitions(take)
    assert len(found) == 3
    told = server.post("executions", id=MANY)
    assert [(r["start"], r["stop"]) for r in told["repetitions"]] == [
        (r.start, r.stop) for r in found
    ]
    assert told["repetitions"][0]["range"] == found[0].ranges[told["angle"]]
    compared = server.post("executions", id=MANY, chosen=0)["repetitions"]
    assert compared[0]["distance"] == 0
    cuts = [take.cut(r.start, r.stop) for r in found]
    assert compared[1]["distance"] == pytest.approx(align(*cuts[:2]).mean)


def test_two_recordings_are_aligned(server, folder):
    told = server.post("compare", first={"id": CLAP}, second={"id": OTHER, "start": 2, "stop": 40})
    one, other = read(folder / CLAP)[0], read(folder / OTHER)[0]
    assert told["mean"] == pytest.approx(align(one, other.cut(2, 40)).mean, abs=1e-3)
    assert len(told["at"]) == len(told["moments"]) == one.n_frames
    assert told["at"][-1] == 37
    assert set(told["names"]) == set(told["joints"])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("executions", {"id": CLAP, "chosen": 99}),
        ("executions", {"id": CLAP, "chosen": "0"}),
        ("executions", {"id": 3}),
        ("compare", {"first": {"id": CLAP}}),
        ("compare", {"first": {"id": CLAP}, "second": {"id": OTHER, "start": -1}}),
        ("compare", {"first": {"id": CLAP}, "second": {"id": OTHER, "stop": 10**9}}),
        ("compare", {"first": [CLAP], "second": {"id": OTHER}}),
    ],
)
def test_wrong_questions_are_refused(server, path, body):
    assert server.ask(f"/api/{path}", body)[0] == 400
