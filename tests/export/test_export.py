"""Exported models answer as Python does: the C library, WebAssembly in node, and what bad input
gives.
"""

from __future__ import annotations

import contextlib
import gzip
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from exported import ACTIONS, asked, assert_same, body, expected, varied
from runtimes import Library, RuntimeFailureError, in_node, library_path, node

import kerneton
from kerneton import SkeletonSequence, make_actions, make_recognizer
from kerneton.data.layouts import LAYOUTS
from kerneton.datasets.synthetic import ACTIONS as GENERATED
from kerneton.exceptions import MissingDataError, ParameterError
from kerneton.runtime import export
from kerneton.runtime.knx import checksum, model_bytes


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


def test_bad_input_in_node_is_a_sentence(folder: Path) -> None:
    _, sequences = body()
    joints = sequences[0].joints.astype(np.float32)
    crowd = np.tile(joints[:5], (1, 1000, 1))  # a thousand people
    asked = [(crowd, 30.0), (joints[:, :19], 30.0), (joints[:0], 30.0), (joints * np.nan, 30.0)]
    said = in_node(folder, [*asked, (joints, 0.0), (joints, 30.0)])["out"]
    errors = [(found.get("code"), found.get("error", "")) for found in said]
    assert errors[0][0] == 0
    assert errors[0][1] == "joints: expected 5 frames × 20 joints × 3 = 300 numbers, got 300000"
    assert [code for code, _ in errors] == [0, 0, -5, -7, -8, None]
    assert all(sentence for _, sentence in errors[:-1])
    assert said[-1]["label"]


def test_damaged_models_in_node_are_a_sentence(folder: Path, tmp_path: Path) -> None:
    content = (folder / "model.knx").read_bytes()
    for name in ("kerneton.js", "kerneton.wasm", "kerneton-plain.wasm"):
        shutil.copy(folder / name, tmp_path / name)
    for damaged, sentence in (
        (b"<!doctype html>", "no model of Kerneton"),
        (content[:-7], "the model is damaged"),
        (content[:8] + struct.pack("<I", 99) + content[12:], "written by a newer Kerneton"),
    ):
        (tmp_path / "model.knx").write_bytes(damaged)
        with pytest.raises(AssertionError, match=sentence):
            in_node(tmp_path, [])


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
            width = (1, 4, 8, 4, 8)[kind]
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
    data = make_actions(list(GENERATED)[:10], n_subjects=3, n_takes=1)
    model = make_recognizer(calibrate=True).fit(data, data.labels)
    written = export(model, tmp_path, "web")
    sizes = {path.name: path.stat().st_size for path in written}
    assert sizes["model.knx"] <= 2_500_000
    for name in ("kerneton.wasm", "kerneton-plain.wasm"):
        assert sizes[name] <= 150_000
        assert len(gzip.compress((tmp_path / name).read_bytes())) <= 60_000
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


def test_the_cmake_file_builds_the_examples(tmp_path) -> None:
    cmake = shutil.which("cmake")
    if cmake is None or shutil.which("cc") is None:
        pytest.skip("cmake or a C compiler is not installed")
    model, sequences = body()
    platform = library_path().parent.name
    export(model, tmp_path, "c")
    built = tmp_path / "built"
    for command in (
        [*("-S", str(tmp_path / "examples"), "-B", str(built)), f"-DKERNETON_PLATFORM={platform}"],
        ["--build", str(built)],
    ):
        subprocess.run([cmake, *command], check=True, capture_output=True)
    numbers = " ".join(map(str, sequences[0].joints.astype(np.float32).ravel()))
    for program in ("predict_c", "predict_cpp"):
        command = [str(built / program), str(tmp_path / "model.knx"), "30"]
        done = subprocess.run(command, input=numbers, capture_output=True, text=True, check=True)
        assert done.stdout.startswith(expected(model, sequences[0])["label"])


if __name__ == "__main__":
    print(fuzz(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None), "opened")
