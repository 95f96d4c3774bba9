"""Exported models answer as Python does: the C library, WebAssembly in node, and what bad input
gives.
"""

from __future__ import annotations

import contextlib
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtimes import Library, Model, RuntimeFailureError, in_node, library_path, node

import kerneton
from kerneton import SkeletonSequence, make_actions, make_recognizer
from kerneton.data.layouts import LAYOUTS
from kerneton.exceptions import MissingDataError, ParameterError
from kerneton.runtime import export
from kerneton.runtime.knx import checksum, model_bytes

CLOSE = 1e-4
ACTIONS = ["wave", "clap", "sit down"]


def of_layout(
    name: str, n_axes: int = 3, seed: int = 0
) -> tuple[list[SkeletonSequence], np.ndarray]:
    """Smooth random motion in a layout: three actions of three people, twice."""
    layout, rng = LAYOUTS[name], np.random.default_rng(seed)
    J, rows, labels = len(layout.joints), [], []
    base = rng.normal(scale=0.4, size=(J, 3))
    for action in range(3):
        wave = rng.normal(scale=0.15, size=(2, J, 3))
        for person in range(3):
            for take in range(2):
                T = int(rng.integers(12, 60))
                t = np.linspace(0, 1, T)[:, None, None] * 2 * np.pi * (1 + 0.1 * take)
                joints = base * (1 + 0.05 * person) + np.sin(t) * wave[0] + np.cos(2 * t) * wave[1]
                joints += rng.normal(scale=0.01, size=(T, J, 3))
                if n_axes == 2:
                    joints[..., 2] = 0
                rows.append(
                    SkeletonSequence(
                        joints, layout=layout, label=f"a{action}", subject=f"p{person}", fps=30
                    )
                )
                labels.append(f"a{action}")
    return rows, np.array(labels)


def expected(model: Any, sequence: SkeletonSequence) -> dict[str, Any]:
    # what the runtimes are given
    sequence = sequence.replace(joints=sequence.joints.astype(np.float32))
    results = model.results([sequence])
    why = model.explain(sequence)
    return {
        "label": str(model.predict([sequence])[0]),
        "decisions": np.asarray(results.scores, float)[0],
        "probabilities": None if results.probabilities is None else results.probabilities[0],
        "unknown": None if results.unknown is None else float(results.unknown[0]),
        "contributions": np.array(list(why.joints.values())),
        "intercept": why.intercept,
    }


def asked(opened: Model, sequence: SkeletonSequence) -> dict[str, Any]:
    """What the C library says of a recording, and why."""
    found = opened.predict(sequence.joints, sequence.fps)
    label = opened.labels.index(found["label"])
    joints, intercept = opened.explain(sequence.joints, sequence.fps, label)
    return {**found, "contributions": joints, "intercept": intercept}


def assert_same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found["label"] == wanted["label"]
    np.testing.assert_allclose(found["decisions"], wanted["decisions"], atol=CLOSE)
    if wanted["probabilities"] is not None:
        np.testing.assert_allclose(found["probabilities"], wanted["probabilities"], atol=CLOSE)
        assert abs(found["unknown"] - wanted["unknown"]) <= CLOSE
    np.testing.assert_allclose(found["contributions"], wanted["contributions"], atol=CLOSE)
    assert abs(found["intercept"] - wanted["intercept"]) <= CLOSE


@cache
def body() -> tuple[Any, list[SkeletonSequence]]:
    """A calibrated default model of generated actions, and recordings of a person it has not
    seen.
    """
    data = make_actions(ACTIONS, n_subjects=5, n_takes=2)
    train = [s for s in data if s.subject != data[-1].subject]
    model = make_recognizer(calibrate=True).fit(train, [s.label for s in train])
    return model, [s for s in data if s.subject == data[-1].subject]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    node()
    path = tmp_path_factory.mktemp("module")
    export(body()[0], path)
    return path


def varied(sequences: list[SkeletonSequence]) -> list[SkeletonSequence]:
    """The recordings, and some of 1, 2, 7 and 500 frames, with gaps and lost frames."""
    first = sequences[0]
    long = np.concatenate([first.joints] * (500 // first.n_frames + 1))[:500]
    gaps = first.joints.copy()
    gaps[3:9, 5] = np.nan
    gaps[20] = 0
    gaps[:4, 7] = np.nan
    made = [first.replace(joints=x, confidence=None) for x in (first.joints[:1], first.joints[:2])]
    made += [first.replace(joints=x, confidence=None) for x in (first.joints[:7], long, gaps)]
    return [*sequences, *made]


def test_the_library_answers_as_python_does() -> None:
    model, sequences = body()
    opened = Library().open(model_bytes(model))
    assert opened.labels == [str(c) for c in model.classes_]
    assert opened.joints == list(model.layout_.joints)
    for sequence in varied(sequences):
        assert_same(asked(opened, sequence), expected(model, sequence))


@pytest.mark.parametrize("plain", [False, True])
def test_webassembly_answers_as_python_does(folder: Path, plain: bool) -> None:
    model, sequences = body()
    every = varied(sequences)
    said = in_node(folder, [(s.joints, s.fps) for s in every], plain=plain)
    assert said["labels"] == [str(c) for c in model.classes_]
    for found, sequence in zip(said["out"], every, strict=True):
        assert_same(found, expected(model, sequence))


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_every_layout(name: str) -> None:
    sequences, labels = of_layout(name)
    mirrored = len(LAYOUTS[name].joints) % 2 == 0 and bool(LAYOUTS[name].sides.any())
    model = make_recognizer(view="free", mirror=mirrored).fit(sequences, labels)
    opened = Library().open(model_bytes(model))
    for sequence in sequences[::4]:
        assert_same(asked(opened, sequence), expected(model, sequence))


def test_flat_recordings() -> None:
    sequences, labels = of_layout("coco17", n_axes=2)
    model = make_recognizer(view="free", mirror=False).fit(sequences, labels)
    opened = Library().open(model_bytes(model))
    for sequence in sequences[::5]:
        assert_same(asked(opened, sequence), expected(model, sequence))


def test_two_persons() -> None:
    rng, rows, labels = np.random.default_rng(1), [], []
    for person in range(3):
        for action in range(2):
            for _ in range(2):
                both = []
                for side in (0.0, 1.5):
                    joints = rng.normal(scale=0.4, size=(1, 20, 3)) + np.array([0, 0, side])
                    motion = np.sin(np.linspace(0, 6, 30))[:, None, None] * (0.1 + 0.3 * action)
                    both.append(
                        SkeletonSequence(joints + motion, layout=LAYOUTS["kinect20"], fps=30)
                    )
                rows.append(kerneton.pair(*both).replace(subject=str(person)))
                labels.append(f"a{action}")
    for mirror in (False, "bodies"):
        model = make_recognizer(view="free", mirror=mirror).fit(rows, np.array(labels))
        opened = Library().open(model_bytes(model))
        for sequence in rows[::4]:
            assert_same(asked(opened, sequence), expected(model, sequence))


@pytest.mark.parametrize("preset", [None, "auto"])
def test_presets_of_second_order(preset: str | None) -> None:
    data = make_actions(ACTIONS, n_subjects=4, n_takes=1)
    model = make_recognizer(preset).fit(data, data.labels)
    opened = Library().open(model_bytes(model))
    for sequence in data[:6]:
        assert_same(asked(opened, sequence), expected(model, sequence))


def test_a_partly_mirrored_model() -> None:
    data = make_actions(ACTIONS, n_subjects=4, n_takes=1)
    model = make_recognizer(view="free", mirror="partly").fit(data, data.labels)
    opened = Library().open(model_bytes(model))
    for sequence in data[:4]:
        assert_same(asked(opened, sequence), expected(model, sequence))


def test_a_model_of_another_sensor() -> None:
    from kerneton.recognize.sensors import centred_on

    model, sequences = body()
    moved = centred_on(model, sequences)
    opened = Library().open(model_bytes(moved))
    assert_same(asked(opened, sequences[0]), expected(moved, sequences[0]))


def test_what_is_not_exported_is_refused_before_any_work(tmp_path) -> None:
    data = make_actions(ACTIONS, n_subjects=3, n_takes=1)
    model = make_recognizer("paper", kernel="sck").fit(data, data.labels)
    with pytest.raises(ParameterError, match="order 3, and only order 2 is exported"):
        export(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# --- bad input
# ----------------------------------------------------------------------------------------------


def test_bad_recordings_are_codes_with_sentences() -> None:
    model, sequences = body()
    opened = Library().open(model_bytes(model))
    joints = sequences[0].joints.astype(np.float32)
    for bad, fps, code in (
        (joints[:0], 30, -5),
        (np.where(np.arange(20)[:, None] == 3, np.inf, joints), 30, -6),
        (np.where(np.arange(20)[:, None] == 3, np.nan, joints), 30, -7),
        (joints * np.nan, 30, -7),
        (np.zeros_like(joints), 30, -7),
        (joints, 0, -8),
        (joints, float("nan"), -8),
    ):
        with pytest.raises(RuntimeFailureError) as caught:
            opened.predict(bad, fps)
        assert caught.value.code == code, caught.value
    with pytest.raises(RuntimeFailureError) as caught:
        opened.explain(joints, 30, 17)
    assert caught.value.code == -10


def test_damaged_models_are_refused() -> None:
    content = model_bytes(body()[0])
    library = Library()
    for damaged, code in (
        (b"", -1),
        (b"PK\3\4" + content[4:], -1),
        (content[:-1], -3),
        (content[: len(content) // 2], -3),
        (content + b"\0", -3),
        (content[:8] + struct.pack("<I", 99) + content[12:], -2),
    ):
        with pytest.raises(RuntimeFailureError) as caught:
            library.open(damaged)
        assert caught.value.code == code, caught.value


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, most of them where sizes and positions are, with a checksum that fits."""
    data = bytearray(content)
    n_entries = struct.unpack_from("<I", content, 12)[0]
    first = 32 + 32 * n_entries
    for _ in range(int(rng.integers(1, 4))):
        choice = rng.random()
        if choice < 0.4:
            at = int(rng.integers(32, first))
        elif choice < 0.8:  # an array of whole numbers
            entry = 32 + 32 * int(rng.integers(n_entries))
            kind, _, offset, count = struct.unpack_from("<IIQQ", content, entry + 8)
            width = (1, 4, 8, 4, 8, 2)[kind]
            at = offset + int(rng.integers(max(1, count * width)))
        else:
            at = int(rng.integers(8, len(data)))
        data[min(at, len(data) - 1)] = int(
            rng.choice([0, 1, 2, 127, 128, 255, int(rng.integers(256))])
        )
    if rng.random() < 0.1:
        data = data[: int(rng.integers(len(data)))]
    if len(data) >= 32:
        struct.pack_into("<QQ", data, 16, len(data), checksum(bytes(data[32:])))
    return bytes(data)


def fuzz(n: int, path: Path | None = None, seed: int = 0) -> int:
    """Open and ask n mutated models, with recordings of all kinds; returns how many opened."""
    data = make_actions(ACTIONS[:2], n_subjects=3, n_takes=1)
    model = make_recognizer(view="free", mirror=True, calibrate=False).fit(data, data.labels)
    content, library, rng, opened = (
        model_bytes(model),
        Library(path),
        np.random.default_rng(seed),
        0,
    )
    for _ in range(n):
        try:
            found = library.open(mutated(content, rng))
        except RuntimeFailureError:
            continue
        opened += 1
        if found.facts.n_joints * found.facts.n_labels > 10**5:
            continue
        joints = rng.normal(size=(int(rng.integers(1, 12)), found.facts.n_joints, 3))
        joints[rng.random(joints.shape) < 0.05] = rng.choice([np.nan, np.inf, 1e30, 0.0])
        with contextlib.suppress(RuntimeFailureError):
            found.predict(joints, float(rng.choice([30.0, 0.0, -1.0, 1e300])))
    return opened


def test_mutated_models_never_crash() -> None:
    library_path()
    assert fuzz(400) > 0


def test_the_page_needs_the_pose_package_it_names(tmp_path) -> None:
    node()
    with pytest.raises(MissingDataError, match="is not npm's package @mediapipe/pose: it lacks"):
        export(body()[0], tmp_path / "page", "web", pose=tmp_path)
    assert not (tmp_path / "page").exists()


def test_sizes(tmp_path) -> None:
    node()
    written = export(body()[0], tmp_path, "web")
    sizes = {path.name: path.stat().st_size for path in written}
    assert sizes["kerneton.wasm"] <= 150_000
    without = sum(
        size for name, size in sizes.items() if name not in ("model.knx", "kerneton-plain.wasm")
    )
    assert without <= 300_000


@pytest.mark.parametrize("language", ["c", "cpp", "py"])
def test_the_examples_run(tmp_path, language: str) -> None:
    library_path()
    model, sequences = body()
    export(model, tmp_path, "c")
    platform = library_path().parent.name
    numbers = " ".join(map(str, sequences[0].joints.astype(np.float32).ravel()))
    source = tmp_path / "examples" / f"predict.{language}"
    if language == "py":
        command = [sys.executable, str(source), str(tmp_path / platform / library_path().name)]
    else:
        import shutil

        compiler = shutil.which("cc" if language == "c" else "c++")
        if compiler is None:
            pytest.skip("no C compiler")
        where = tmp_path / platform
        link = [f"-L{where}", "-lkerneton", f"-Wl,-rpath,{where}", "-o", str(tmp_path / "predict")]
        subprocess.run([compiler, "-Wall", str(source), f"-I{tmp_path}", *link], check=True)
        command = [str(tmp_path / "predict")]
    done = subprocess.run(
        [*command, str(tmp_path / "model.knx"), "30"],
        input=numbers,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[0] in expected(model, sequences[0])["label"]


if __name__ == "__main__":
    print(fuzz(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None), "opened")
