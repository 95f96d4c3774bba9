from __future__ import annotations

import copy
import dataclasses
import itertools
import json

import numpy as np
import pytest
from matplotlib.text import Text
from numpy.testing import assert_allclose
from recognizers import ARMS, MODELS, branch, dck, sck, single, union
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from kerneton import (
    DCK,
    Branch,
    CenterNormalize,
    LinearSVM,
    Preprocess,
    Recognizer,
    Search,
    load_dataset,
    make_actions,
    pair,
)
from kerneton.core.poses import motion
from kerneton.data.layouts import FLORENCE_15, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, ParameterError
from kerneton.prepare.poses import mirror
from kerneton.recognize.contributions import blocks, class_importance, explain


@pytest.fixture(scope="module")
def actions():
    return make_actions(["wave", "clap", "bow"], n_subjects=3, n_takes=1)


@pytest.fixture(scope="module")
def fitted(actions):
    return single(sck()).fit(actions, actions.labels)


def as_dtype(data, dtype):
    return [s.replace(joints=s.joints.astype(dtype)) for s in data]


# exactness


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", MODELS)
def test_parts_and_intercept_sum_to_the_decision_value(name, dtype, actions):
    data = as_dtype(actions, dtype)
    model = MODELS[name]().fit(data, actions.labels)
    scores = model.decision_function(data[:2])
    assert scores.dtype == dtype
    for recording, row in zip(data[:2], scores, strict=True):
        for label, score in zip(model.classes_, row, strict=True):
            why = explain(model, recording, str(label))
            assert_allclose(why.value, score, atol=1e-6)
            assert_allclose(why.intercept + sum(p.value for p in why.parts), score, atol=1e-6)
            assert_allclose(why.intercept + sum(why.joints.values()), score, atol=1e-6)
            total = why.intercept + why.baseline.sum() + why.by_frame.sum()
            assert_allclose(total, why.value, atol=1e-9)
            assert why.by_frame.shape == (recording.n_frames, 20)


def test_parts_are_those_of_the_formula(fitted, actions):
    """By hand: the weights of a block times its centred features over the whole length."""
    steps = fitted.branches_["kernel"]
    features = steps.kernel_.transform(steps.preprocess_.transform(actions[:1]))[0]
    centred = features - steps.scale_.mean_
    centred /= np.linalg.norm(centred)
    why = explain(fitted, actions[0], "clap")
    size = steps.kernel_.block_sizes_[0]
    row = list(fitted.classes_).index("clap")
    expected = (fitted.machine_.coef_[row] * centred).reshape(-1, size).sum(axis=1)
    assert_allclose([p.value for p in why.parts], expected, atol=1e-12)
    assert [p.joints for p in why.parts] == [(name,) for name in actions.layout.joints]


def test_two_classes_speak_against_each_other(actions):
    two = [s for s in actions if s.label != "bow"]
    model = single(sck()).fit(two, [s.label for s in two])
    score = model.decision_function(two[:1])[0]
    yes, no = (explain(model, two[0], label) for label in ("wave", "clap"))
    assert_allclose([yes.value, no.value], [score, -score], atol=1e-9)
    assert_allclose([p.value for p in yes.parts], [-p.value for p in no.parts])


def test_versus_is_the_difference(fitted, actions):
    scores = dict(zip(fitted.classes_, fitted.decision_function(actions[:1])[0], strict=True))
    why = explain(fitted, actions[0], "wave", versus="bow")
    assert_allclose(why.value, scores["wave"] - scores["bow"], atol=1e-9)
    assert_allclose(why.intercept + sum(why.joints.values()), why.value, atol=1e-9)
    assert "wave rather than bow" in str(why)


def test_default_label_is_the_predicted_one(fitted, actions):
    assert explain(fitted, actions[0]).label == fitted.predict(actions[:1])[0]


def test_a_search_is_explained_by_its_branches(actions):
    data, labels = list(actions), actions.labels
    model = Recognizer(
        [("a", branch(sck())), ("b", branch(dck()))], search=Search(sums=[{"a": 1, "b": 2}])
    ).fit(data, labels)
    why = model.explain(data[0], "bow")
    column = list(model.classes_).index("bow")
    assert_allclose(why.value, model.decision_function(data[:1])[0, column], atol=1e-6)
    assert {p.cue for p in why.parts} == {"a", "b"}
    assert {p.kind for p in why.parts} == {"joint", "pair"}


# what blocks stand for


def test_left_and_right_are_told_apart_where_actions_count_as_their_mirror_images(actions):
    steps = Preprocess(bones="size")  # the same for both sides
    kernel = Branch(steps, sck(mirror=True, joints=ARMS), CenterNormalize())
    model = Recognizer([("kernel", kernel)], machine=LinearSVM(C=10)).fit(actions, actions.labels)
    why = explain(model, actions[0], "wave")
    assert sorted(str(p) for p in why.parts) == sorted(ARMS)
    hands = [why.joints[f"{side}_wrist"] for side in ("left", "right")]
    assert max(hands) > 2 * abs(min(hands))  # one hand waves
    twin = actions.layout.mirror
    other = explain(model, mirror(actions[0]), "wave")
    assert_allclose(other.value, why.value, atol=1e-9)
    assert_allclose(other.by_frame[:, twin], why.by_frame, atol=1e-7)
    assert_allclose(other.baseline[twin], why.baseline, atol=1e-7)


def test_partly_mirrored_actions_sum_too(actions):
    kernel = Branch(Preprocess(), sck(mirror="partly", joints=ARMS), CenterNormalize())
    model = Recognizer([("kernel", kernel)], machine=LinearSVM(C=10)).fit(actions, actions.labels)
    why = explain(model, actions[0], "wave")
    assert sorted(str(p) for p in why.parts) == sorted(ARMS)
    assert_allclose(why.intercept + sum(why.joints.values()), why.value, atol=1e-9)
    assert_allclose(why.intercept + sum(p.value for p in why.parts), why.value, atol=1e-9)
    # What belongs to no frame is divided by the roots of how far both hands move.
    (poses,) = model.branches_["kernel"].preprocess_.transform([actions[0]])
    reach = (motion(poses.joints, poses.fps) ** 0.25).mean(axis=0)[[6, 10]] ** 0.5
    assert_allclose(why.baseline[6] / why.baseline[10], reach[0] / reach[1])
    assert max(reach) > 1.5 * min(reach)


def test_pairs_are_shared_by_their_joints(actions):
    model = single(dck(joints=["head", "left_wrist"])).fit(actions, actions.labels)
    why = explain(model, actions[0], "wave")
    assert [str(p) for p in why.parts] == ["head", "head–left_wrist", "left_wrist"]
    assert [p.kind for p in why.parts] == ["joint", "pair", "joint"]
    assert_allclose(why.joints["head"] + why.joints["left_wrist"], sum(p.value for p in why.parts))
    assert why.joints["right_knee"] == 0


@pytest.mark.parametrize("name", MODELS)
def test_blocks_cover_the_features(name, actions):
    model = MODELS[name]().fit(actions, actions.labels)
    covered = np.zeros(model.machine_.coef_.shape[1], dtype=int)
    for block in blocks(model):
        covered[block.columns] += 1
    assert (covered == 1).all()
    for kernel in (b.kernel_ for b in model.branches_.values()):
        assert len(kernel.block_joints()) == len(kernel.block_sizes_)
        used = {joint for tokens in kernel.block_joints() for token in tokens for joint in token}
        assert used == set(kernel.joints_)


def test_mirrored_tokens_are_mirror_images(actions):
    kernel = DCK(joints=ARMS, mirror=True, n_pivots_joint=2, n_pivots_time=2).fit(
        Preprocess().fit_transform(actions)
    )
    other = actions.layout.mirror
    for tokens in kernel.block_joints():
        image = {int(other[j]) for j in tokens[0]}
        assert image == set(tokens[-1])


# moments


def test_moments_are_sums_over_frames(fitted, actions):
    why = explain(fitted, actions[0], "wave")
    values = why.by_frame.sum(axis=1)
    assert why.moments[0].start == 0
    assert why.moments[-1].stop == actions[0].n_frames
    assert all(a.stop == b.start for a, b in zip(why.moments[:-1], why.moments[1:], strict=True))
    assert_allclose(
        [m.value for m in why.moments], [values[m.start : m.stop].sum() for m in why.moments]
    )
    best = why.strongest
    length = best.stop - best.start
    assert length == round(actions[0].n_frames / 6)
    sums = [values[i : i + length].sum() for i in range(len(values) - length + 1)]
    assert_allclose(best.value, max(sums))


def test_the_baseline_is_the_share_of_the_mean(fitted, actions):
    steps = fitted.branches_["kernel"]
    features = steps.kernel_.transform(steps.preprocess_.transform(actions[:1]))[0]
    length = np.linalg.norm(features - steps.scale_.mean_)
    row = list(fitted.classes_).index("clap")
    products = fitted.machine_.coef_[row] * steps.scale_.mean_ / length
    expected = -products.reshape(20, -1).sum(axis=1)
    assert_allclose(explain(fitted, actions[0], "clap").baseline, expected, atol=1e-8)


def test_frames_that_were_dropped_or_resampled_are_those_of_the_recording(actions):
    joints = actions[0].joints.copy()
    joints[30:36] = np.nan
    gap = actions[0].replace(joints=joints, confidence=None)
    for steps in (
        {"gaps": "drop"},
        {"n_frames": 25},
        {"n_frames": 200},
        {"gaps": "drop", "n_frames": 40},
    ):
        kernel = Branch(Preprocess(**steps), sck(), CenterNormalize())
        model = Recognizer([("kernel", kernel)], machine=LinearSVM(C=10)).fit(
            actions, actions.labels
        )
        plain, why = explain(model, actions[0], "wave"), explain(model, gap, "wave")
        for each in (plain, why):
            assert each.by_frame.shape == (actions[0].n_frames, 20)
            total = each.intercept + each.baseline.sum() + each.by_frame.sum()
            assert_allclose(total, each.value, atol=1e-9)
        if "gaps" in steps:
            assert not why.by_frame[30:36].any()
        # The hand that waves says most in the same part of the recording.
        hand = actions.layout.index("right_hand")
        middle = len(why.by_frame) // 4, 3 * len(why.by_frame) // 4
        inside = plain.by_frame[slice(*middle), hand].sum()
        assert inside > 0.4 * plain.by_frame[:, hand].sum()


def test_two_people(actions):
    def both(recording):
        still = recording.replace(
            joints=np.repeat(recording.joints[:1], recording.n_frames, axis=0)
        )
        return pair(recording, still.replace(joints=still.joints + [1.0, 0.0, 0.0]))

    filled = Preprocess(center=False, bones=None).fit_transform(actions)
    data = [both(s) for s in filled]
    model = single(sck(mirror="bodies")).fit(data, actions.labels)
    why = explain(model, data[0], "wave")
    assert_allclose(why.intercept + sum(why.joints.values()), why.value, atol=1e-9)
    moving = [v for joint, v in why.joints.items() if joint.endswith("_1")]
    idle = [v for joint, v in why.joints.items() if joint.endswith("_2")]
    assert sum(np.clip(moving, 0, None)) > 2 * sum(np.clip(idle, 0, None))


# what it can be turned into


def test_tables_json_and_text(fitted, actions, tmp_path):
    why = explain(fitted, actions[0], "wave")
    joints = why.frame("joints")
    assert joints["value"].abs().is_monotonic_decreasing
    assert_allclose(joints["value"].sum() + why.intercept, why.value)
    assert list(why.frame("moments")["start"]) == [m.start for m in why.moments]
    assert_allclose(
        why.frame("moments")["stop_seconds"] * actions[0].fps, why.frame("moments")["stop"]
    )
    frames = why.frame("frames")
    assert_allclose(frames.sum() + why.baseline, [why.joints[joint] for joint in frames.columns])
    assert len(why.frame("pairs")) == 0
    assert len(why.frame("parts")) == len(why.parts)
    with pytest.raises(ParameterError, match="kind must be one of"):
        why.frame("limbs")
    data = json.loads(why.to_json(tmp_path / "why.json"))
    assert data == json.loads((tmp_path / "why.json").read_text())
    assert_allclose(data["intercept"] + sum(row["value"] for row in data["parts"]), data["value"])
    assert_allclose(
        np.sum(data["frames"]["values"]) + np.sum(data["frames"]["baseline"]) + data["intercept"],
        data["value"],
    )
    text = str(why)
    assert f"{data['recording']}: {data['words']}\n" in text
    assert data["words"].startswith("wave, because ")
    assert text.splitlines()[2].split()[1] == next(
        r["joint"] for r in why.joint_table() if r["value"] > 0
    )


def test_parts_of_all_cues_are_summed(actions):
    model = union(sck(mirror=True), sck(order=1, mirror=True), dck(), dck(power=1.0)).fit(
        actions, actions.labels
    )
    why = explain(model, actions[0], "wave")
    rows = why.summed_table()
    assert len(rows) == len({(row["kind"], row["joints"]) for row in rows})
    assert len(rows) < len(why.parts)
    assert_allclose(sum(row["value"] for row in rows) + why.intercept, why.value)
    pair = why.frame("pairs").iloc[0]
    expected = [p.value for p in why.parts if str(p) == pair["joints"] and p.kind == "pair"]
    assert len(expected) == 2
    assert_allclose(pair["value"], sum(expected))
    assert [row["joints"] for row in why.to_dict()["pairs"]] == list(why.frame("pairs")["joints"])


@pytest.mark.parametrize("dark", [True, False])
def test_plot(fitted, actions, dark):
    why = explain(fitted, actions[0], "wave")
    figure = why.plot(dark=dark)
    figure.draw_without_rendering()
    bars, _, strip, *_ = figure.axes
    names = [tick.get_text() for tick in bars.get_yticklabels()]
    assert names[-2:] == ["the other 12", "intercept"]
    widths = [bar.get_width() for bar in bars.patches]
    assert_allclose(sum(widths), why.value)
    (image,) = strip.images
    assert_allclose(np.sum(image.get_array()), why.by_frame.sum())
    assert image.get_array().shape == (9, actions[0].n_frames)
    assert_allclose(image.get_extent()[:2], [0, actions[0].n_frames / actions[0].fps])
    assert why.words in " ".join(figure._suptitle.get_text().split())


def test_names_beside_the_body_do_not_cover_each_other(fitted, actions):
    recording = next(s for s in actions if s.label == "wave")
    hand = recording.layout.index("left_hand")
    arm = [recording.layout.index(f"left_{name}") for name in ("shoulder", "elbow", "wrist")]
    joints = recording.joints.copy()
    joints[:, arm, 1] = joints[:, [hand], 1]  # an arm held out, all at one height
    why = explain(fitted, recording, "wave")
    said = np.zeros_like(why.by_frame)
    said[:, [*arm[1:], hand]] = 0.1
    why = dataclasses.replace(why, sequence=recording.replace(joints=joints), by_frame=said)
    figure = why.plot()
    figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in figure.axes[1].texts]
    assert len(boxes) == 3
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_text_picture_and_json_give_a_joint_one_value(actions):
    model = union(sck(), dck(joints=ARMS)).fit(actions, actions.labels)
    why = explain(model, actions[0], "wave")
    bars, *_ = why.plot().axes
    names = [tick.get_text().replace(" ", "_") for tick in bars.get_yticklabels()]
    drawn = dict(zip(names, [bar.get_width() for bar in bars.patches], strict=True))
    for row in why.to_dict()["joints"][:5]:
        assert_allclose(drawn[row["joint"]], row["value"])
        assert f"{row['joint']} {row['value']:+.3f}" in str(why)
    until = names.index("intercept") + 1
    assert_allclose(sum([bar.get_width() for bar in bars.patches][:until]), why.value)
    assert f"{why.strongest.value:+.3f}" in str(why)


def test_no_moment_supports_a_label_that_no_frame_supports(fitted, actions):
    why = explain(fitted, actions[0], "wave")
    why = dataclasses.replace(why, by_frame=-np.abs(why.by_frame))
    assert "moments  none supports this label" in str(why)


def test_the_title_of_the_bars_stays_in_the_picture_beside_long_names(actions):
    old = actions[0].layout
    names = [f"{joint}_of_the_second_of_two_people" for joint in old.joints]
    layout = Layout("long", names, old.bones, old.root)
    data = [s.replace(layout=layout) for s in actions]
    model = single(sck(joints=None)).fit(data, actions.labels)
    figure = explain(model, data[0], "wave").plot()
    figure.canvas.draw()
    (bars,) = [ax for ax in figure.axes if ax.get_title(loc="right")]
    title = bars._right_title.get_window_extent()
    assert title.x0 >= figure.bbox.x0
    assert title.x1 <= figure.bbox.x1 + 1


def test_plot_without_layout(actions):
    data = [s.joints for s in Preprocess().fit_transform(actions)]
    model = Recognizer([("bare", Branch(None, sck()))]).fit(data, actions.labels)
    why = explain(model, data[0])
    assert why.joint_table()[0]["joint"].startswith("joint ")
    why.plot().draw_without_rendering()


# classes


@pytest.mark.parametrize("absolute", [False, True])
def test_class_importance_is_the_mean_explanation(fitted, actions, absolute):
    importance = class_importance(fitted, actions, absolute=absolute)
    assert importance.labels == ("bow", "clap", "wave")
    assert importance.counts == (3, 3, 3)
    waves = [explain(fitted, s, "wave") for s in actions if s.label == "wave"]
    rows = np.array([list(why.joints.values()) for why in waves])
    assert_allclose(
        importance.values[2], (np.abs(rows) if absolute else rows).mean(axis=0), atol=1e-9
    )
    best, value = importance.top("wave", 1)[0]
    assert importance.frame().loc["wave", best] == value == importance.values[2].max()
    importance.plot().draw_without_rendering()


def test_class_importance_of_some_classes_and_of_none(fitted, actions):
    some = [s.replace(label=None) for s in actions if s.label == "bow"]
    assert class_importance(fitted, some, ["bow"] * 3).labels == ("bow",)
    with pytest.raises(
        DataError, match="no recording has a label of the model, which are bow, clap, wave"
    ):
        class_importance(fitted, some)
    with pytest.raises(DataError, match="3 recordings but 2 labels"):
        class_importance(fitted, some, ["bow", "bow"])


# mistakes


def test_errors(fitted, actions):
    with pytest.raises(ParameterError, match="no label 'fly'; its labels are bow, clap, wave"):
        explain(fitted, actions[0], "fly")
    with pytest.raises(ParameterError, match="no label 'fly'"):
        explain(fitted, actions[0], "bow", versus="fly")
    with pytest.raises(ParameterError, match="cannot be compared with itself"):
        explain(fitted, actions[0], "bow", versus="bow")
    with pytest.raises(DataError, match="lacks hip_center"):
        explain(fitted, SkeletonSequence(np.ones((4, 15, 3)), layout=FLORENCE_15))
    with pytest.raises(ParameterError, match="expected a Recognizer"):
        explain("model", actions[0])
    with pytest.raises(NotFittedError):
        explain(single(sck()), actions[0])
    other = Recognizer([("a", branch(sck()))], machine=LogisticRegression().set_params(C=1.0))
    # linear as well
    assert explain(other.fit(actions, actions.labels), actions[0], "bow").label == "bow"


def test_equal_weights_say_nothing_and_still_sum(fitted, actions):
    model = copy.deepcopy(fitted)
    model.machine_.coef_[1:] = 0
    why = explain(model, actions[0], "clap")
    assert why.value == why.intercept
    assert not why.by_frame.any()
    assert "nothing in the recording speaks for or against it" in str(why)
    why.plot().draw_without_rendering()
    other = explain(model, actions[0], "clap", versus="wave")
    assert other.value == other.intercept


def test_one_frame_is_explained(fitted, actions):
    filled = Preprocess(center=False, bones=None).fit_transform(actions)[0]
    why = explain(fitted, filled.replace(joints=filled.joints[:1]), "wave")
    assert why.by_frame.shape == (1, 20)
    assert_allclose(why.intercept + why.baseline.sum() + why.by_frame.sum(), why.value, atol=1e-9)
    assert str(why)
    why.plot().draw_without_rendering()


def test_a_joint_that_was_never_seen_is_one_error(fitted, actions):
    joints = actions[0].joints.copy()
    joints[:, 3] = np.nan
    with pytest.raises(DataError, match="never contains head"):
        explain(fitted, actions[0].replace(joints=joints, confidence=None))


def test_a_layout_without_sides(actions):
    joints = [
        name.replace("left_", "one ").replace("right_", "two ") for name in actions.layout.joints
    ]
    layout = Layout("no sides", joints, actions.layout.bones, actions.layout.root)
    data = [s.replace(layout=layout) for s in actions]
    why = explain(single(sck()).fit(data, actions.labels), data[0], "wave")
    assert_allclose(why.intercept + sum(why.joints.values()), why.value, atol=1e-9)
    assert "to the left" not in str(why)
    why.plot().draw_without_rendering()


# do the joints it names matter?


def freeze(sequence, joints):
    """Hold some joints still, at their mean place beside the root."""
    root = sequence.joints[:, [sequence.layout.root]]
    still = (sequence.joints - root).mean(axis=0)
    out = sequence.joints.copy()
    out[:, joints] = root + still[joints]
    return sequence.replace(joints=out)


@pytest.mark.parametrize("name", ["florence3d", "msr_action3d"])
@pytest.mark.parametrize("kernel", ["sck", "dck"])
def test_joints_named_important_matter_more_than_others(name, kernel, data_home):
    data = load_dataset(name, data_home)
    odd = np.array([int(s) % 2 == 1 for s in data.subjects])
    step = {"florence3d": 1, "msr_action3d": 3}[name]
    train, test = (
        data.select(np.flatnonzero(odd)[::step]),
        data.select(np.flatnonzero(~odd)[:: 3 * step]),
    )
    model = single(sck(n_pivots_time=5) if kernel == "sck" else dck(joints="key", sigma_joint=0.3))
    model.fit(train, train.labels)
    rng = np.random.default_rng(0)
    used = model.branches_["kernel"].kernel_.joints_
    named, drawn = [], []
    for recording in test:
        why = explain(model, recording)
        part = np.array(list(why.joints.values()))
        best = [j for j in np.argsort(-part) if j in used][:3]
        variants = [recording, freeze(recording, best)]
        variants += [freeze(recording, rng.choice(used, 3, replace=False)) for _ in range(3)]
        scores = model.decision_function(variants)[:, list(model.classes_).index(why.label)]
        named.append(scores[0] - scores[1])
        drawn.append(scores[0] - scores[2:].mean())
    difference = np.array(named) - np.array(drawn)
    assert np.mean(named) > 1.3 * np.mean(drawn)
    assert difference.mean() > 2 * difference.std() / np.sqrt(len(difference))
