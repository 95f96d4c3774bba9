"""The live half of exported models: current labels and hands-free movements, in C and in node."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from exported import CLOSE, body, expected
from runtimes import Library, RuntimeFailureError, in_node

from kerneton import SkeletonSequence
from kerneton.runtime.knx import model_bytes

Stream = list[tuple[float, np.ndarray]]
FPS = 30


def stream(sequences: list[SkeletonSequence], rest: float = 1.5) -> Stream:
    """Somebody who stands still, moves, and stands still again; poses at 30 a second."""
    still = int(rest * FPS)
    poses: list[np.ndarray] = []
    for sequence in sequences:
        joints = sequence.joints.astype(np.float32)
        if poses:  # not a jump, which would be a movement
            way = np.linspace(0, 1, still)[:, None, None]
            poses += list(poses[-1] * (1 - way) + joints[0] * way)
        poses += [joints[0]] * still + list(joints) + [joints[-1]] * still
    return [(s / FPS, pose) for s, pose in enumerate(poses)]


def test_the_current_label_is_that_of_the_last_seconds() -> None:
    model, sequences = body()
    poses = stream(sequences[:1])
    live = Library().open(model_bytes(model)).live(window=1.0)
    for k, (seconds, pose) in enumerate(poses):
        told = live.push(seconds, pose)
        if k < 4:
            assert told["current"] is None
        if k % 20 == 10:
            last = np.array([p for t, p in poses[: k + 1] if t >= seconds - 1.0])
            recording = sequences[0].replace(joints=last, confidence=None, fps=float(FPS))
            wanted = expected(model, recording)
            assert told["current"]["label"] == wanted["label"]
            for name in ("decisions", "probabilities", "unknown"):
                np.testing.assert_allclose(told["current"][name], wanted[name], atol=CLOSE)


def test_a_movement_ends_when_somebody_stands_still() -> None:
    model, sequences = body()
    chosen = [s for s in sequences if s.label != "sit down"][:2]
    live = Library().open(model_bytes(model)).live()
    rest = 1.5
    for sequence in chosen:
        start = 0.0 if sequence is chosen[0] else 100.0  # a pause: the stream starts anew
        told = [live.push(start + t, pose) for t, pose in stream([sequence], rest)]
        segments = [event["segment"] for event in told if event["segment"]]
        assert [segment["label"] for segment in segments] == [sequence.label]
        begin, end = segments[0]["begin"] - start, segments[0]["end"] - start
        assert begin == pytest.approx(rest, abs=0.6)
        assert end == pytest.approx(rest + sequence.n_frames / FPS, abs=0.8)
        assert any(event["moving"] for event in told)
        assert not told[-1]["moving"]


def test_node_tells_the_same(folder) -> None:
    model, sequences = body()
    poses = stream(sequences[:1])
    poses[40] = (poses[40][0], np.full_like(poses[40][1], np.nan))
    poses[50] = (poses[40][0] - 3, poses[50][1])  # a clock that runs backwards
    library = Library()
    live = library.open(model_bytes(model)).live()
    found = in_node(folder, [], streams=[poses, poses])
    assert found["told"][0] == found["told"][1]  # the second view has the memory of the first
    for (seconds, pose), other in zip(poses, found["told"][0], strict=True):
        if "error" in other:
            assert seconds == poses[50][0]
            with pytest.raises(RuntimeFailureError) as caught:
                live.push(seconds, pose)
            assert (caught.value.code, str(caught.value)) == (other["code"], other["error"])
            assert other["code"] == -11
            continue
        told = live.push(seconds, pose)
        assert told["moving"] == other["moving"]
        assert (told["segment"] is None) == (other["segment"] is None)
        assert (told["current"] is None) == (other["current"] is None)
        if told["current"]:
            assert told["current"]["label"] == other["current"]["label"]
            for name in ("decisions", "probabilities"):
                np.testing.assert_allclose(
                    told["current"][name], other["current"][name], atol=CLOSE
                )
        if told["segment"]:
            assert told["segment"]["label"] == other["segment"]["label"]
            assert told["segment"]["begin"] == pytest.approx(other["segment"]["begin"])


def test_bad_poses_are_codes_and_the_stream_goes_on() -> None:
    model, sequences = body()
    poses = stream(sequences[:1])
    live = Library().open(model_bytes(model)).live()
    for seconds, pose in poses[:60]:
        live.push(seconds, pose)
    for seconds, pose, code in (
        (1.0, poses[0][1], -11),
        (float("nan"), poses[0][1], -11),
        (10.0, np.full_like(poses[0][1], np.inf), -6),
        (10.1, np.full_like(poses[0][1], 1e7), -6),
    ):
        with pytest.raises(RuntimeFailureError) as caught:
            live.push(seconds, pose)
        assert caught.value.code == code
    nobody = live.push(20.0, np.full_like(poses[0][1], np.nan))
    assert nobody == {"current": None, "segment": None, "moving": False}
    told = [live.push(30 + seconds, pose) for seconds, pose in poses]
    assert [event["segment"]["label"] for event in told if event["segment"]] == [sequences[0].label]


def test_many_models_in_many_threads() -> None:
    model, sequences = body()
    library, content = Library(), model_bytes(model)
    models = [library.open(content) for _ in range(3)]
    lives = [opened.live(window=0.5 + 0.5 * k) for k, opened in enumerate(models)]

    def work(k: int) -> tuple[np.ndarray, list[str | None]]:
        opened, live = models[k % 3], lives[k % 3] if k < 3 else models[k % 3].live()
        labels = []
        for seconds, pose in stream(sequences[:1])[:80:2]:
            current = live.push(seconds, pose)["current"]
            labels.append(current and current["label"])
        return opened.predict(sequences[k].joints, FPS)["decisions"], labels

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(work, range(6)))
    for k, (decisions, labels) in enumerate(together):
        wanted = models[0].predict(sequences[k].joints, FPS)["decisions"]
        np.testing.assert_array_equal(decisions, wanted)
        alone = models[k % 3].live(window=0.5 + 0.5 * k if k < 3 else 0)
        again = [alone.push(t, pose)["current"] for t, pose in stream(sequences[:1])[:80:2]]
        assert labels == [current and current["label"] for current in again]
