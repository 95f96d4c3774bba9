"""The benchmark: its yardstick gives our features, its parts run on small sizes, its table and
files say what they should.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
import sys
from pathlib import Path

import bench as program
import bench_parts as bench
import numpy as np
import numpy_reference
import pytest
from bench_parts import (
    before,
    dck_frames,
    gpu,
    gpu_parts,
    gpu_recognizers,
    growth,
    memory,
    msr,
    workloads,
)
from bench_parts._table import BARS, RATE, RATES, SCALE_BARS, STREAM_BARS
from bench_parts._timing import Settings, median_seconds
from numpy.testing import assert_allclose

from kerneton import DCK, SCK, Branch, CenterNormalize, Preprocess, Recognizer
from kerneton.data.sequence import SkeletonDataset
from kerneton.exceptions import MissingExtraError, ParameterError

# Ratios with a limit; those without one are told, not judged.
LARGE = ("scale-growth", "scale-dask", "scale-stopping", "scale-100k", "spotting-scale")
JUDGED = [key for key, bar in BARS.items() if not np.isnan(bar.limit)]


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    """Generated recordings in place of the published ones."""
    monkeypatch.delenv("KERNETON_DATA", raising=False)


@pytest.fixture(scope="module")
def given():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KERNETON_DATA", raising=False)
        return workloads.prepared(6, None)


# the yardstick


def test_plain_sck_gives_our_features(given):
    plain, same = numpy_reference, workloads.parameters(given.sck)
    expected = given.sck.transform(given.for_sck)
    answer = np.stack([plain.sck(s.joints, **same) for s in given.for_sck])
    errors = np.linalg.norm(answer - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert_allclose(errors, 0, atol=1e-4)  # eigenvalues that are rounding, lifted by the power


@pytest.mark.parametrize("sigma_span", [None, 3.0])
def test_plain_dck_gives_our_features(given, sigma_span):
    kernel = given.dck.set_params(sigma_span=sigma_span)
    plain, same = numpy_reference, workloads.parameters(kernel)
    expected = kernel.transform(given.for_dck)
    answer = np.stack([plain.dck(s.joints[:, kernel.joints_], **same) for s in given.for_dck])
    errors = np.linalg.norm(answer - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert_allclose(errors, 0, atol=1e-5)


def test_plain_formulas_keep_the_precision(given):
    plain = numpy_reference
    x = given.for_sck[0].joints[:, :5].astype(np.float32)
    assert plain.sck(x, **workloads.parameters(given.sck)).dtype == np.float32
    assert plain.dck(x, **workloads.parameters(given.dck)).dtype == np.float32


def test_stand_in_has_the_shape_of_msr_action3d():
    data = workloads.msr_action3d(None)
    frames = [s.n_frames for s in data]
    assert len(data) > 500
    assert {s.n_joints for s in data} == {20}
    assert 13 <= min(frames) <= max(frames) <= 76
    assert abs(np.mean(frames) - 40) < 3


# the parts


def test_kept_results_meet_the_bars_and_are_quoted():
    results = Path(__file__).parents[2] / "benchmarks" / "results"
    page = (results.parent.parent / "docs" / "performance.md").read_text(encoding="utf-8")
    cpu = json.loads((results / "cpu.json").read_text())
    for key in JUDGED:
        assert BARS[key].met(cpu["cpu"][key]), key
        rounded = {f"{cpu['cpu'][key]:.{n}f}" for n in range(3)}
        assert any(f"| {figure} |" in page for figure in rounded), key
    gpu_result = json.loads((results / "h200.json").read_text())["gpu"]
    rates = {RATE: gpu_result["sequences_per_second"]}
    rates |= {
        bar: functools.reduce(dict.__getitem__, path, gpu_result) for path, bar in RATES.items()
    }
    for bar, rate in rates.items():
        assert bar.met(rate), bar.what
        assert f"**{round(rate, -2):,.0f}**" in page


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """All parts, on small sizes, as on a machine without a GPU; those of many recordings have a
    test of their own.
    """
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KERNETON_DATA", raising=False)
        patch.setattr(gpu, "find_gpu", _no_torch)
        patch.setattr(dck_frames, "N_SEQUENCES", 1)
        parts = [part for part in bench.PARTS if part not in LARGE]
        return bench.bench(only=parts, repeats=1, quick=True, output=folder), folder


def _no_torch(device):
    raise MissingExtraError(f"no torch for {device}")


def test_figures_are_plain_data_under_the_required_keys(found):
    result, _ = found
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert set(result["cpu"]) == set(BARS)
    assert set(result["details"]) == set(bench.PARTS) - {"gpu", *LARGE}
    for key, value in result["cpu"].items():
        assert value is None if key.startswith("msr") else value > 0
    memory_of = result["details"]["memory"]
    for n in ("40", "80"):  # really measured: an interpreter with NumPy, and features on top
        assert 20 < memory_of[n]["before_mb"] < memory_of[n]["peak_mb"] < 4000
    assert_allclose(
        result["cpu"]["memory_10000_vs_1000"],
        memory_of["80"]["peak_mb"] / memory_of["40"]["peak_mb"],
    )
    assert result["gpu"] is None
    assert result["machine"]["numpy"] == np.__version__


def test_ratios_are_those_of_the_figures_beside_them(found):
    result, _ = found
    bars = BARS | SCALE_BARS | STREAM_BARS
    assert set(result["stream"]) == set(STREAM_BARS)
    for part in result["details"].values():
        for key, line in part.get("comparisons", {}).items():
            if line is not None:
                inverse = not bars[key].at_least and not np.isnan(bars[key].limit)
                ratio = line["ours"] / line["yardstick"]
                assert_allclose(line["ratio"], ratio if inverse else 1 / ratio)


def test_stages_say_what_share_of_the_peak_they_reach(found):
    stages = found[0]["details"]["stages"]
    assert set(stages["peaks"]) == {"float32_flops", "float64_flops", "copy_bytes"}
    for name in ("float32", "float64"):
        rows = [row for row in stages[name].values() if isinstance(row, dict)]
        for row in rows:
            at_peak = row["flop"] / stages["peaks"][f"{name}_flops"]
            assert_allclose(row["share_of_peak"], at_peak / row["seconds"])
        assert stages[name]["limit_s"] > 0
        assert_allclose(stages[name]["total_s"], sum(row["seconds"] for row in rows))


def test_growth_is_drawn(found):
    result, folder = found
    assert {path.name for path in folder.iterdir()} == {
        f"growth_{what}.png" for what in growth.SIZES
    }
    for what, sweep in result["details"]["growth"]["growth"].items():
        assert sweep[what] == list(growth.QUICK[what])
        assert all(seconds > 0 for seconds in sweep["sck_s"])


def test_table_shows_every_ratio_and_that_there_is_no_gpu(found):
    text = bench.to_text(found[0])
    for key in found[0]["cpu"]:
        assert BARS[key].what in text
    assert re.search(r"all of MSR-Action3D +- +- +MultiRocketHydra +not measured +≤ 1", text)
    many, few = (f"{found[0]['details']['memory'][n]['peak_mb']:.0f} MB" for n in ("80", "40"))
    assert re.search(
        rf"memory, 10,000 recordings +{many} +{few} +1,000 recordings +[0-9.]+ +≤ 1.2: ", text
    )
    assert re.search(r"GPU .*no GPU here", text)
    assert "MSR-Action3D is not here" in text


def test_a_bar_that_is_missed_is_said_aloud():
    line = {"ours": 1.0, "yardstick": 5.0, "ratio": 5.0, "unit": "s"}
    details = {"kernels": {"comparisons": {"sck_dck_vs_numpy": line}}}
    slow = {"sequences_per_second": 10_000.0}
    text = bench.to_text({"cpu": {"sck_dck_vs_numpy": 5.0}, "details": details, "gpu": slow})
    assert "≥ 15: MISSED" in text
    assert re.search(r"10,000 .*≥ 20,000 a second: MISSED", text)
    assert "≥ 45,000 a second: failed" in text
    fast = {"sequences_per_second": 30_000.0, "paper": {"decisions_per_second": 44_000.0}}
    text = bench.to_text({"cpu": {}, "details": {}, "gpu": fast})
    assert "≥ 20,000 a second: met" in text
    assert re.search(r"paper.* 44,000 .*≥ 45,000 a second: MISSED", text)


def test_medians_take_turns():
    order = []
    calls = {"a": lambda: order.append("a"), "b": lambda: order.append("b")}
    seconds = median_seconds(calls, Settings(repeats=2))
    assert order == ["a", "b"] * 3
    assert set(seconds) == {"a", "b"}


def test_mapped_files_hold_what_was_written(tmp_path):
    out = memory.Written(tmp_path / "features", dtype=np.float32, mode="w+", shape=(4, 3000))
    out[[2, 0]] = np.arange(6000).reshape(2, 3000)
    assert_allclose(np.asarray(out)[[2, 0]], np.arange(6000).reshape(2, 3000))
    assert_allclose(np.fromfile(tmp_path / "features", np.float32).reshape(4, 3000), out)


def test_msr_against_others(monkeypatch):
    data = workloads.msr_action3d(None)
    few = SkeletonDataset(
        [s.replace(subject=str(int(s.subject))) for s in data if s.label in ("wave", "clap")][:24]
    )
    halves = np.arange(0, 24, 2), np.arange(1, 24, 2)

    class Split:
        def split(self, *_):
            yield halves

    class Guess:
        def fit(self, X, y):
            self.label = y[0]
            assert X.shape[1:] == (60, msr.N_FRAMES)

        def predict(self, X):
            return np.full(len(X), self.label)

    monkeypatch.setattr(msr, "load_msr_action3d", lambda home: few)
    monkeypatch.setattr(msr, "get_protocol", lambda *_: Split())
    monkeypatch.setattr(msr, "aeon_classifiers", lambda: {"minirocket": Guess})
    found = msr.measure(Settings(repeats=1))
    assert found["comparisons"]["msr_vs_multirockethydra"] is None
    line = found["comparisons"]["msr_vs_minirocket"]
    assert_allclose(line["ratio"], found["ours"]["seconds"] / found["minirocket"]["seconds"])
    assert found["ours"]["accuracy"] > found["minirocket"]["accuracy"] - 0.5
    assert "kerneton[bench]" in found["note"]


def test_without_aeon_there_is_nothing_to_compare(monkeypatch):
    monkeypatch.setitem(sys.modules, "aeon", None)
    assert msr.aeon_classifiers() == {}


# the GPU's part, on the CPU


@pytest.fixture
def emulated(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    from emulator import EmulatedGpu

    from kerneton.kernels import engine

    found = EmulatedGpu(tmp_path)
    monkeypatch.setattr(engine, "_gpu", lambda name: found)
    return found


def test_gpu_figures(emulated, monkeypatch):
    few = functools.partial(workloads.recordings, n_frames=5)
    for part in (gpu, gpu_parts):
        monkeypatch.setattr(part, "recordings", few)
        monkeypatch.setattr(part, "kernels", lambda **options: _few_pivots(**options))
    monkeypatch.setattr(gpu, "MEMORIES", ("used", "fresh"))
    monkeypatch.setattr(gpu_parts, "SET_E", (0, 1))
    monkeypatch.setattr(gpu_parts, "ORDERS", {6: 20, 22: 20})
    for name, value in (("N_NUMBERS", 2**12), ("N_MATRIX", 32), ("N_STAGES", 1), ("N_ACCURACY", 1)):
        monkeypatch.setattr(gpu_parts, name, value)
    peaks = gpu_parts.ceilings(emulated)
    stages = gpu_parts.stages(emulated, peaks)
    assert {"sck", "dck_sums", "dck_window_sums", "dck_hosvd", "dck_entries"} == set(stages)
    rates = gpu.throughput(emulated, "cuda", 2)
    assert {row["memory"] for row in rates["rows"]} == {"used", "fresh"}
    assert rates["best"]["sequences_per_second"] > 0
    epn = gpu_parts.epn(emulated)
    assert epn["torch_eigh_22_float32"] > 0
    accuracy = gpu_parts.accuracy(emulated, "cuda")
    assert accuracy["psd_power_22_float64"] < 1e-5
    assert accuracy["sck_float32"] < 1e-2
    json.dumps([peaks, stages, rates, epn, accuracy], allow_nan=False)


def _few_pivots(**options):
    few = {"n_pivots_joint": 2, "n_pivots_time": 3, **options}
    return {
        "sck": SCK(joints=[0, 1], **few),
        "dck": DCK(joints=[0, 1], **few),
        "dck_window": DCK(joints=[0, 1], sigma_span=3.0, **few),
    }


def test_a_part_of_the_gpu_that_fails_leaves_the_others(emulated, monkeypatch):
    monkeypatch.setattr(gpu, "N_SEQUENCES", 1)
    for part in ("throughput", "machine"):
        monkeypatch.setattr(gpu, part, lambda *given: {"best": {}})
    for part in ("ceilings", "epn", "accuracy"):
        monkeypatch.setattr(gpu_parts, part, lambda *given: {})
    for part in ("paper", "measure", "fit"):
        monkeypatch.setattr(gpu_recognizers, part, lambda *given: {})
    monkeypatch.setattr(gpu_parts, "stages", lambda *given: 1 / 0)
    found = gpu.measure(Settings())
    assert "ZeroDivisionError" in found["stages"]["error"]
    assert found["default"] == {}
    assert found["sequences_per_second"] is None


def test_recognisers_on_a_gpu(emulated, monkeypatch):
    monkeypatch.setattr(gpu_recognizers, "N_FRAMES", 6)
    monkeypatch.setattr(gpu_recognizers, "N_CLASSES", 2)
    kernel = SCK(order=2, joints=[0, 1], n_pivots_joint=2, n_pivots_time=3)
    scale = CenterNormalize()
    model = Recognizer([("sck", Branch(Preprocess(dtype="float32"), kernel, scale))])
    monkeypatch.setattr(gpu_recognizers, "make_recognizer", lambda *given, **options: model)
    found = gpu_recognizers.measure(emulated, "cuda", 24)["fixed"]
    assert found["error"] < 1e-3
    assert found["decisions_per_second"] > 0


# the command


def test_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(gpu, "find_gpu", _no_torch)
    file = tmp_path / "bench.json"
    assert (
        program.main(["--only", "epn", "gpu", "--quick", "--repeats", "1", "--json", str(file)])
        == 0
    )
    result = json.loads(file.read_text())
    assert set(result["cpu"]) == {"epn_vs_eigh_f32", "epn_vs_eigh_f64"}
    assert result["gpu"] is None
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == ["what", "ours", "baseline", "ratio", "target"]
    assert "EPN of a slice, float32" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "epn", "gpa"], "only must be one of 'kernels', 'epn', .*got 'gpa'"),
        (["--repeats", "0"], "repeats must be .*got 0"),
    ],
)
def test_command_says_what_is_wrong(options, message, capsys):
    assert program.main(options) == 1
    assert re.search(message, capsys.readouterr().err)


def test_pictures_need_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match="kerneton\\[plot\\]"):
        bench.bench(only=["growth"], output=tmp_path)


def test_scale_is_told_beside_the_other_ratios(found):
    result, _ = found
    assert set(result["scale"]) == set(SCALE_BARS) - {
        "fit_growth_8000_16000",
        "peak_memory_16000",
        "dask_two_vs_one",
    }
    line = result["details"]["scale"]["comparisons"]["fit_growth_2000_4000"]
    assert line["ours"] == result["details"]["scale"]["growth"]["80"]["fit_s"]
    assert_allclose(result["scale"]["fit_growth_2000_4000"], line["ours"] / line["yardstick"])
    assert result["scale"]["fit_vs_before"] is None
    text = bench.to_text(result)
    assert re.search(r"the default fit +- +- +the checkout before +not measured +≥ 5", text)


def test_many_recordings_in_small():
    found = bench.bench(only=["scale-100k"], quick=True)["details"]["scale-100k"]
    assert {"selection_s", "encoding_s", "solver_s"} < set(found)
    assert found["wrong_of_200"] < 20


def test_a_checkout_that_is_none(tmp_path):
    with pytest.raises(ParameterError, match="has no src/kerneton: it must be a checkout"):
        before.measure(Settings(before=tmp_path))


def test_unknown_part():
    with pytest.raises(ParameterError, match="only must be one of"):
        bench.bench(only=["everything"])
