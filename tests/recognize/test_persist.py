from __future__ import annotations

import dataclasses
import io
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from model_fuzz import members, npy, seal, try_files
from numpy.testing import assert_allclose, assert_array_equal
from recognizers import MODELS, branch, dck, sck, single, union
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from kerneton import (
    Branch,
    Layout,
    LinearSVM,
    Preprocess,
    Recognizer,
    Search,
    make_actions,
    make_recognizer,
)
from kerneton.data.mapping import sub_layout
from kerneton.exceptions import MissingDataError, ModelFileError, ParameterError
from kerneton.files.folder import load_folder
from kerneton.files.readers import write
from kerneton.recognize.contributions import explain
from kerneton.recognize.model_archive import model_info
from kerneton.recognize.model_file import save, training_summary
from kerneton.recognize.model_reader import load


@pytest.fixture(scope="module")
def actions():
    return make_actions(["wave", "clap", "bow"], n_subjects=3, n_takes=1)


@pytest.fixture(scope="module")
def calibrated(actions):
    return union(sck(weighting="alignment"), dck(mirror=True), calibrate=True).fit(
        actions, actions.labels
    )


@pytest.fixture(scope="module")
def saved(calibrated, actions, tmp_path_factory):
    return save(calibrated, tmp_path_factory.mktemp("models") / "three.kern", data=actions)


@pytest.mark.skipif(sys.platform != "linux", reason="names are text here")
def test_a_folder_name_that_is_not_utf8_is_a_label_like_any_other(actions, tmp_path):
    for s in actions:
        folder = os.fsdecode(
            os.path.join(
                os.fsencode(tmp_path), b"\xe9t\xe9", s.label.encode() + b" caf\xe9", b"\xfc"
            )
        )
        write([s.replace(label=None, subject=None)], os.path.join(folder, f"{s.name}.npz"))
    data = load_folder(
        os.path.join(os.fsencode(tmp_path), b"\xe9t\xe9").decode("utf-8", "surrogateescape")
    )
    assert set(data.labels) == {"wave café", "clap café", "bow café"}
    model = single(sck()).fit(data, data.labels)
    back = load(save(model, tmp_path / "model.kern", data=data))
    assert_array_equal(back.predict(data), model.predict(data))
    assert (back.training_["name"], back.training_["subjects"]) == ("été", {"ü": len(data)})


def test_labels_that_no_file_can_hold(actions, tmp_path):
    model = single(sck()).fit(actions, [f"{label}\ud800" for label in actions.labels])
    with pytest.raises(ParameterError, match="is not text"):
        save(model, tmp_path / "model.kern")
    long = [label * 30_000 for label in actions.labels]
    model = single(sck()).fit(actions, long)
    assert_array_equal(
        load(save(model, tmp_path / "long.kern")).predict(actions), model.predict(actions)
    )


def as_dtype(data, dtype):
    return [s.replace(joints=s.joints.astype(dtype)) for s in data]


# round trips


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", MODELS)
def test_round_trip_is_exact_to_the_bit(name, dtype, actions, tmp_path):
    data = as_dtype(actions, dtype)
    model = MODELS[name]().fit(data, actions.labels)
    back = load(save(model, tmp_path / "model.kern"))
    before, after = (m.decision_function(data) for m in (model, back))
    assert before.dtype == after.dtype == dtype
    assert_array_equal(before, after)
    assert_array_equal(back.predict(data), model.predict(data))
    assert back.predict(data).dtype == model.predict(data).dtype
    first, second = (
        (tmp_path / "model.kern").read_bytes(),
        save(back, tmp_path / "again.kern").read_bytes(),
    )
    assert first == second
    assert explain(back, data[0]).joints == explain(model, data[0]).joints


def test_calibrated_round_trip(calibrated, saved, actions, tmp_path):
    back = load(saved)
    assert isinstance(back, Recognizer)
    for method in ("predict", "decision_function", "predict_proba", "unknown_score", "is_unknown"):
        assert_array_equal(getattr(back, method)(actions), getattr(calibrated, method)(actions))
    assert back.predictions(actions[:2]) == calibrated.predictions(actions[:2])
    assert back.calibration_.held_out_ == calibrated.calibration_.held_out_
    assert back.training_ == training_summary(actions)
    assert save(back, tmp_path / "again.kern").read_bytes() == saved.read_bytes()
    before, after = calibrated.get_params(), back.get_params()
    plain = [k for k, v in before.items() if v is None or isinstance(v, (bool, int, float, str))]
    assert {k: after[k] for k in plain} == {k: before[k] for k in plain}


def test_a_layout_without_bones(actions, tmp_path):
    dots = dataclasses.replace(actions[0].layout, name="dots", bones=())
    data = [s.replace(layout=dots) for s in actions]
    model = make_recognizer(view="fixed", mirror=False)
    model.fit(data, actions.labels, groups=actions.subjects)
    back = load(save(model, tmp_path / "dots.kern"))
    assert_array_equal(back.decision_function(data), model.decision_function(data))


def test_a_loaded_model_can_be_fitted_again(saved, calibrated, actions):
    again = clone(load(saved)).fit(actions, actions.labels)
    assert_array_equal(again.decision_function(actions), calibrated.decision_function(actions))


def test_parameters_come_back(actions, tmp_path):
    kernel = sck(
        signals=("position", "bone"),
        joint_weight=(0.3, 0.4),
        joints=["head", 7],
        n_jobs=2,
        batch_size=3,
    )
    poses = Preprocess(
        gaps="drop", center="head", facing="sequence", n_frames=20, reference=np.ones(19)
    )
    machine = LinearSVM(C=3, class_weight={"wave": 2.0}, tol=1e-5)
    model = Recognizer([("kernel", Branch(poses, kernel))], machine=machine).fit(
        actions, actions.labels
    )
    back = load(save(model, tmp_path / "model.kern"))
    before, after = model.get_params(), back.get_params()
    assert after["kernel__kernel__n_jobs"] is None
    assert after["kernel__kernel__batch_size"] == 32
    reference = "kernel__preprocess__reference"
    for name, value in before.items():
        if (
            name.endswith(("n_jobs", "batch_size"))
            or name == reference
            or hasattr(value, "get_params")
        ):
            continue
        if name != "branches":
            assert after[name] == (tuple(value) if isinstance(value, list) else value), name
    assert_array_equal(after[reference], np.ones(19))
    assert_array_equal(back.decision_function(actions), model.decision_function(actions))


@pytest.mark.parametrize(
    "labels", [[3, 1, 2], np.array(["b", "a", "cc"], dtype=object), ["long name", "ä", "≤"]]
)
def test_kinds_of_labels(labels, actions, tmp_path):
    y = np.asarray(labels)[np.arange(9) % 3]
    model = single(sck()).fit(actions, y)
    back = load(save(model, tmp_path / "model.kern"))
    assert back.predict(actions).tolist() == model.predict(actions).tolist()
    assert back.classes_.tolist() == model.classes_.tolist()


def test_labels_cut_from_longer_ones(actions, tmp_path):
    y = actions.labels.astype("<U40")
    back = load(save(single(sck()).fit(actions, y), tmp_path / "model.kern"))
    assert back.predict(actions).dtype == np.dtype("<U40")


def test_layouts(actions, tmp_path):
    model = single(sck()).fit(actions, actions.labels)
    # one that everybody knows
    assert load(save(model, tmp_path / "a.kern")).layout_ is actions.layout
    own = sub_layout(actions.layout, range(12), name="upper body")
    upper = [s.replace(joints=s.joints[:, :12], confidence=None, layout=own) for s in actions]
    model = single(sck()).fit(upper, actions.labels)
    found = load(save(model, tmp_path / "b.kern")).layout_
    assert found == own
    assert isinstance(found, Layout)
    bare = [s.joints for s in Preprocess().fit_transform(actions)]
    model = Recognizer([("bare", Branch(None, sck()))]).fit(bare, actions.labels)
    back = load(save(model, tmp_path / "c.kern"))
    assert back.layout_ is None
    assert_array_equal(back.decision_function(bare), model.decision_function(bare))


def test_a_search_is_kept_whole(actions, tmp_path):
    search = Search(average=2, Cs=[1.0, 10.0])
    model = Recognizer([("first cue", branch(sck())), ("dck", branch(dck()))], search=search)
    model.fit(actions, actions.labels)
    back = load(save(model, tmp_path / "search.kern"))
    assert_array_equal(back.decision_function(actions), model.decision_function(actions))
    assert back.mixtures_ == model.mixtures_
    assert back.variant_scores_ == model.variant_scores_
    assert back.search.get_params() == {**search.get_params(), "Cs": (1.0, 10.0)}
    again = clone(back).fit(actions, actions.labels)
    assert_array_equal(again.decision_function(actions), model.decision_function(actions))


def test_the_default_recogniser(actions, tmp_path):
    model = make_recognizer(calibrate=True).fit(actions, actions.labels)
    back = load(save(model, tmp_path / "model.kern", data=actions))
    assert_array_equal(back.predict_proba(actions), model.predict_proba(actions))
    assert_array_equal(back.unknown_score(actions), model.unknown_score(actions))
    why = explain(back, actions[0], "wave")
    assert_allclose(
        why.intercept + sum(why.joints.values()),
        model.decision_function(actions[:1])[0, 2],
        atol=1e-6,
    )


def test_files_are_the_same_in_another_process(saved, tmp_path):
    program = (
        f"from kerneton import load, save; save(load({str(saved)!r}), {str(tmp_path / 'x.kern')!r})"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert (tmp_path / "x.kern").read_bytes() == saved.read_bytes()


def test_size_of_the_papers_recogniser(tmp_path):
    """20 labels, 20 joints, SCK and DCK, float32: 52,340 features; the README states this size."""
    rng = np.random.default_rng(0)
    data = make_actions(["wave", "bow"], n_subjects=2, n_takes=5)
    data = [s.replace(joints=s.joints.astype(np.float32)) for s in data]
    model = make_recognizer("paper").fit(data, rng.permutation(np.arange(20).astype(str)))
    size = save(model, tmp_path / "paper.kern").stat().st_size
    assert model.machine_.coef_.shape == (20, 52340)
    # 4.4 MB: the weights, the means, and little else
    assert 4 * 21 * 52340 < size < 4 * 21 * 52340 + 20_000


def test_numbers_are_kept_in_the_narrowest_type_that_is_exact(calibrated, saved):
    kept = [
        np.load(io.BytesIO(d)) for n, d in members(saved.read_bytes()).items() if n.endswith(".npy")
    ]
    means = calibrated.calibration_.class_means_
    shapes = {a.dtype.name for a in kept if a.shape == means.shape}
    assert shapes == {
        "float64",
        "float16",
    }  # the weights as they are, the means of the classes as they were rounded
    assert load(saved).calibration_.class_means_.dtype == means.dtype == np.float64


# what a file tells


def test_info(saved, actions):
    info = model_info(saved)
    assert info["labels"] == ["bow", "clap", "wave"]
    assert info["layouts"] == [actions.layout.name]
    assert info["training"]["recordings"] == 9
    assert info["training"]["subjects"] == dict.fromkeys(sorted(set(actions.subjects)), 3)
    assert info["bytes"] == saved.stat().st_size
    assert set(info["written_by"]) == {"kerneton", "numpy", "scikit-learn"}


def test_any_zip_program_and_sha256sum_can_read_it(saved):
    parts = members(saved.read_bytes())
    assert next(iter(parts)) == "model.json"
    assert list(parts)[-1] == "SHA256SUMS"
    for name in list(parts)[1:-1]:
        assert np.load(io.BytesIO(parts[name]), allow_pickle=False).dtype in (
            np.float16,
            np.float32,
            np.float64,
        )
    lines = parts["SHA256SUMS"].decode().splitlines()
    assert [line.split("  ")[1] for line in lines] == list(parts)[:-1]
    assert not any(b"pickle" in data for data in parts.values())


# writing


def test_writing_is_whole_or_not_at_all(calibrated, saved, tmp_path, monkeypatch):
    path = tmp_path / "new" / "model.kern"
    save(calibrated, path)
    before = path.read_bytes()

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(OSError, match="disk full"):
        save(calibrated, path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["model.kern"]


def test_what_cannot_be_saved(actions, tmp_path):
    path = tmp_path / "model.kern"
    with pytest.raises(NotFittedError):
        save(single(sck()), path)
    with pytest.raises(ParameterError, match="expected a Recognizer"):
        save({"a": 1}, path)
    odd = Recognizer([("a", branch(sck()))], machine=LogisticRegression())
    with pytest.raises(ParameterError, match="LogisticRegression cannot be saved"):
        save(odd.fit(actions, actions.labels), path)
    with pytest.raises(ParameterError, match="labels of type float64 cannot be saved"):
        save(fitted_with(actions, np.arange(9) % 3 + 0.0), path)
    assert not path.exists()


def fitted_with(actions, y):
    return single(sck()).fit(actions, y)


# reading what is not sound


def refused(content, tmp_path, match, **options):
    path = tmp_path / "bad.kern"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=match) as caught:
        load(path, **options)
    assert str(path) in str(caught.value)


def with_header(saved, change):
    parts = members(saved.read_bytes())
    header = json.loads(parts["model.json"])
    change(header)
    return seal({**parts, "model.json": json.dumps(header).encode()})


def with_array(saved, change, number=None):
    parts = members(saved.read_bytes())
    largest = max((n for n in parts if n.startswith("arrays")), key=lambda n: len(parts[n]))
    name = largest if number is None else f"arrays/{number:04d}.npy"
    return seal({**parts, name: npy(change(np.load(io.BytesIO(parts[name]))))})


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(MissingDataError, match=r"none\.kern: no such file"):
        load(tmp_path / "none.kern")
    with pytest.raises(ModelFileError, match="a folder, not a model file"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"\x80\x04\x95cos\nsystem\n"])
def test_not_an_archive(content, tmp_path):
    refused(content, tmp_path, "not a model file, or damaged")


def test_truncated_and_flipped(saved, tmp_path):
    content = saved.read_bytes()
    for length in (10, len(content) // 2, len(content) - 1):
        refused(content[:length], tmp_path, "bad.kern")
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    refused(bytes(flipped), tmp_path, "damaged")


def test_checksum(saved, tmp_path):
    parts = members(saved.read_bytes())
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data.replace(b"wave", b"Wave") if name == "model.json" else data)
    refused(out.getvalue(), tmp_path, "does not match its checksums; copy or download it again")


def test_too_large(saved, tmp_path):
    refused(saved.read_bytes(), tmp_path, "more than the 1000 that are read", max_bytes=1000)


def test_versions(saved, tmp_path):
    refused(
        with_header(saved, lambda h: h.update(version=3)),
        tmp_path,
        "version 3 of the format.*pip install --upgrade",
    )
    refused(
        with_header(saved, lambda h: h.update(version=1)),
        tmp_path,
        "older Kerneton: fit the model again",
    )
    refused(
        with_header(saved, lambda h: h.update(version="1")),
        tmp_path,
        "not a model file of Kerneton",
    )
    refused(
        with_header(saved, lambda h: h.update(format="x")), tmp_path, "not a model file of Kerneton"
    )


def test_older_files_without_newer_parameters_take_the_defaults(saved, actions, tmp_path):
    def forget(header):
        assert at(header, *KERNEL)["parameters"].pop("pivot_margin") == 0

    path = tmp_path / "older.kern"
    path.write_bytes(with_header(saved, forget))
    assert_array_equal(
        load(path).decision_function(actions), load(saved).decision_function(actions)
    )


def test_compressed_members(saved, tmp_path):
    """What unpacks to a thousand times its size is refused before it is unpacked."""
    parts = members(saved.read_bytes())
    parts["arrays/0000.npy"] += bytes(10**7)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    assert len(out.getvalue()) < 10**6
    refused(out.getvalue(), tmp_path, "is compressed or encrypted")


@pytest.mark.parametrize(
    "name", ["../evil.npy", "/etc/passwd", "arrays/../../x.npy", "arrays/9999.npy", "model.pkl"]
)
def test_paths(saved, tmp_path, name):
    parts = members(saved.read_bytes())
    refused(
        seal({**parts, name: b"x"}),
        tmp_path,
        "expected the members model.json, arrays and SHA256SUMS",
    )
    assert not (tmp_path.parent / "evil.npy").exists()


def test_missing_and_double_members(saved, tmp_path):
    parts = members(saved.read_bytes())
    refused(
        seal({k: v for k, v in parts.items() if k != "model.json"}),
        tmp_path,
        "expected the members",
    )
    refused(
        seal({k: v for k, v in parts.items() if k != "arrays/0000.npy"}),
        tmp_path,
        "expected the members",
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("model.json", parts["model.json"])
    refused(out.getvalue(), tmp_path, "expected the members")


def test_object_arrays_are_never_unpickled(saved, tmp_path):
    parts = members(saved.read_bytes())

    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "gotcha"),)

    out = io.BytesIO()
    np.save(out, np.array([Evil()], dtype=object), allow_pickle=True)
    refused(
        seal({**parts, "arrays/0000.npy": out.getvalue()}),
        tmp_path,
        "only plain numbers and strings",
    )
    assert not (tmp_path / "gotcha").exists()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            lambda a: np.where(np.arange(a.size).reshape(a.shape) == 3, np.nan, a),
            "contains NaN or infinity",
        ),
        (lambda a: a * np.inf, "contains NaN or infinity"),
        (lambda a: a.astype(np.complex64), "only plain numbers"),
        (lambda a: a.astype(np.int64), "is of type int64"),
        (lambda a: a[:, :-1], "features"),
        (lambda a: a[:-1], "of shape"),
        (lambda a: a[None], "of shape|dimension|axis"),
        (lambda a: a[:0], "empty array"),
    ],
)
def test_arrays(saved, tmp_path, change, match):
    with np.errstate(invalid="ignore"):
        refused(with_array(saved, change), tmp_path, match)


def at(header, *path):
    """The node of an object: ``branch``, ``step`` or "machine", "calibration"."""
    state = header["model"]["state"]
    if path[0] in ("machine", "calibration"):
        return state[path[0]]["object"]
    branches = {name: node["object"] for name, node in state["branches"]["items"]}
    return branches[path[0]]["state"][path[1]]["object"]


KERNEL, OTHER, POSES = ("cue 0", "kernel"), ("cue 1", "kernel"), ("cue 0", "preprocess")
SVM, TRUST = ("machine",), ("calibration",)


def labels(*values, dtype="<U4"):
    return {"classes": {"labels": list(values), "dtype": dtype}}


@pytest.mark.parametrize(
    ("path", "change", "match"),
    [
        (SVM, labels("a", "b"), "of shape .* for 2 labels"),
        (SVM, labels("a", "a", "b"), "duplicate labels"),
        (SVM, labels("a", 2, "b"), "labels that are not str"),
        (SVM, labels("a", "b", "c", dtype="<U99999"), "labels of <U99999"),
        (SVM, labels("a", "b", "c", dtype="|O"), "labels of"),
        (SVM, {"coef": {"array": 99, "dtype": "float32"}}, "array 99, which does not exist"),
        (SVM, {"coef": {"array": 0, "dtype": "object"}}, "numbers of type 'object'"),
        (SVM, {"coef": {"array": 0, "dtype": "float32"}}, "array 0, which is used already"),
        (SVM, {"coef": [[1.0]]}, "parts are inconsistent"),
        (TRUST, {"sharpness": -1.0}, "positive"),
        (TRUST, {"sharpness": None}, "parts are inconsistent"),
        (TRUST, {"held_out": {"items": [["a", "b"]]}}, "are not numbers"),
        (KERNEL, {"n_joints": 10**9}, "implausible number"),
        (KERNEL, {"n_joints": 10**4}, "has 10000 joints"),
        (KERNEL, {"n_joints": 3}, "its layout has a different number"),
        (KERNEL, {"layout": {"layout": 5}}, "has no layout 5"),
        (KERNEL, {"weights": None}, r"weights of shape \(\) for"),
        (KERNEL, {"scales": {"items": []}}, "scales {}, expected positive ones of position"),
        (KERNEL, {"scales": {"items": [["position", -1]]}}, "positive"),
    ],
)
def test_states(saved, tmp_path, path, change, match):
    refused(with_header(saved, lambda h: at(h, *path)["state"].update(change)), tmp_path, match)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"class": "os.system"}, "of a class that model files cannot contain: 'os.system'"),
        ({"class": 3}, "has no proper 'class'"),
        ({"parameters": None}, "has no proper 'parameters'"),
        ({"state": 3}, "has no proper 'state'"),
        ({"state": {}}, "lacks 'classes'"),
    ],
)
def test_objects(saved, tmp_path, change, match):
    refused(with_header(saved, lambda h: at(h, *SVM).update(change)), tmp_path, match)


@pytest.mark.parametrize(
    ("path", "change", "match"),
    [
        (KERNEL, {"n_pivots_joint": 10**6}, "pivots in all"),
        (KERNEL, {"n_pivots_joint": 5000}, "15003 pivots in all"),
        (KERNEL, {"n_pivots_joint": 4}, "features"),
        (KERNEL, {"signals": ["position"] * 900, "joint_weight": 0.001}, "pivots in all"),
        (KERNEL, {"power": 7}, "power must be a number in"),
        (KERNEL, {"order": 3}, "features"),
        (KERNEL, {"joints": "nowhere"}, "no joint or joint set 'nowhere'"),
        (KERNEL, {"weighting": "none"}, "weighting must be one of"),
        (KERNEL, {"new_idea": 1}, "parameters that this version does not know: new_idea"),
        (KERNEL, {"n_jobs": 10**5}, "parameters that this version does not know: n_jobs"),
        (OTHER, {"n_pivots_time": 9000}, "more features than the file has numbers"),
        (OTHER, {"sigma_joint": 10**9}, "implausible number"),
        (POSES, {"n_frames": 10**5}, "recordings of 100000 frames"),
        (POSES, {"center": "tail"}, "has no joint 'tail'"),
        (POSES, {"reference": [1.0] * 2000}, "reference must contain 19 bone lengths"),
        (SVM, {"C": -1}, "C must be a positive number"),
    ],
)
def test_parameters(saved, tmp_path, path, change, match):
    refused(
        with_header(saved, lambda h: at(h, *path)["parameters"].update(change)), tmp_path, match
    )


def test_broken_json(saved, tmp_path):
    parts = members(saved.read_bytes())
    for text, match in [
        (b"{", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b"[]", "contains no JSON object"),
        (b'{"a": 1, "a": 2}', "a name occurs twice"),
        (b'{"format": NaN}', "NaN is not a finite number"),
        (b'{"format": 1e999}', "1e999 is not a finite number"),
        (b"\xff\xfe", "cannot be read"),
        (b"9" * 5000, "cannot be read"),
    ]:
        refused(seal({**parts, "model.json": text}), tmp_path, match)


def test_structure(saved, tmp_path):
    def deep(header):
        value = 1
        for _ in range(20):
            value = [value]
        header["model"]["parameters"]["unknown_label"] = value

    refused(with_header(saved, deep), tmp_path, "nested too deeply")
    refused(with_header(saved, lambda h: h.update(model=None)), tmp_path, "model is not an object")
    refused(
        with_header(saved, lambda h: h.update(layouts=None)), tmp_path, "layouts must be a list"
    )
    refused(
        with_header(saved, lambda h: h["layouts"][0].update(bones=[[0, 1], [1, 2], [2, 0]])),
        tmp_path,
        "loop",
    )
    refused(with_header(saved, lambda h: h["layouts"][0].update(root=99)), tmp_path, "99")
    refused(
        with_header(saved, lambda h: h["model"]["parameters"].update(estimator=1)),
        tmp_path,
        "does not know",
    )
    alone = with_header(saved, lambda h: h.update(model=at(h, *SVM)))
    refused(alone, tmp_path, "it contains arrays that are not used")
    gone = with_header(saved, lambda h: h["model"]["state"]["branches"]["items"].pop())
    refused(gone, tmp_path, "shares of branches that it does not have|features")


def test_damaged_files_are_refused_or_work(saved, actions, tmp_path):
    plain = save(
        single(sck(signals=("velocity", "bone"), joint_weight=0.3)).fit(actions, actions.labels),
        tmp_path / "a",
    )
    contents = [saved.read_bytes(), plain.read_bytes()]
    found = try_files(contents, list(actions[:2]), tmp_path, 300, seed=1)
    assert found["refused"] > 150
    assert found["works"] > 10
    assert not set(found) - {"refused", "works", "works elsewhere"}
