"""Plain data that nobody vouches for turned into the steps of a recogniser, or refused.

Every size is checked before anything of that size is made, every field for its type, every array for its shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import FeatureUnion, Pipeline

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.data.sequence import SkeletonSequence
from kerneton.data.validation import check_choice, check_in
from kerneton.exceptions import ModelFileError
from kerneton.files.model_archive import LARGEST
from kerneton.kernels.blocks import BlockTransformer, resolve_joints
from kerneton.kernels.sck import SCK
from kerneton.machine.normalize import CenterNormalize
from kerneton.machine.svm import LinearSVM
from kerneton.prepare.preprocess import Preprocess
from kerneton.recognize.calibrated_svm import CalibratedSVM
from kerneton.recognize.calibration import CalibratedRecognizer
from kerneton.recognize.model_steps import ELSEWHERE, PLAIN

_DEEPEST = 8  # steps within steps
_LARGEST_WHOLE = 10**6
_MOST_FRAMES = 10**4  # to which a model may ask recordings to be resampled
_MOST_JOINTS = 1000
_LONGEST_VECTOR = 256  # v of SCK, whose third power is taken


class Reader:
    """Turns plain data that nobody vouches for into steps, or says what is wrong with it."""

    def __init__(self, layouts: Any, arrays: list[np.ndarray]) -> None:
        self.arrays = arrays
        self.used: set[int] = set()
        # Features cannot be more than the numbers at hand: what would be larger is not worth beginning.
        self.most_features = max((array.size for array in arrays), default=0)
        _expect(isinstance(layouts, list) and len(layouts) <= 100, "layouts must be a list of a few")
        self.layouts = [_read_layout(layout) for layout in layouts]

    def step(self, node: Any, where: str, depth: int = 0) -> Any:
        """One step, with those inside it; ``where`` tells errors apart."""
        _expect(depth < _DEEPEST, f"{where} is nested too deeply")
        kind = _field(node, "class", str, where)
        if kind in ("Pipeline", "FeatureUnion"):
            steps = self._steps(node, where, depth)
            if kind == "Pipeline":
                return Pipeline(steps)
            weights = None if node.get("weights") is None else self._table(node, "weights", where)
            return FeatureUnion(steps, n_jobs=1, transformer_weights=_check_weights(weights, steps, where))
        if kind == "CalibratedRecognizer":
            return self._recognizer(node, where, depth)
        _expect(kind in PLAIN, f"{where} is of a class that model files do not hold: {kind[:80]!r}")
        step = PLAIN[kind](**self._parameters(PLAIN[kind], node, where))
        if isinstance(step, (Preprocess, BlockTransformer)):
            self._read_poses(step, node, where)
        elif isinstance(step, CenterNormalize):
            step.n_features_in_ = _field(node, "n_features", int, where)
            _expect(0 < step.n_features_in_ <= self.most_features, f"{where} has a wrong number of features")
            step.mean_ = self._array(node, "mean", (step.n_features_in_,), where) if step.center else None
        else:
            self._read_machine(step, node, where)
        return step

    def value(self, value: Any, where: str, depth: int = 0) -> Any:
        """A parameter as Python has it; lists become tuples."""
        _expect(depth < _DEEPEST, f"{where} has a parameter nested too deeply")
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, float):
            return _number(value, where)
        if isinstance(value, int):
            _expect(abs(value) <= _LARGEST_WHOLE, f"{where} has a parameter of {value}")
            return value
        if isinstance(value, list):
            _expect(len(value) <= _MOST_JOINTS, f"{where} has a parameter with {len(value)} values")
            return tuple(self.value(item, where, depth + 1) for item in value)
        if "array" in value:
            number = _field(value, "array", int, where)
            _expect(0 <= number < len(self.arrays), f"{where} names array {number}, which is not there")
            dtype = _field(value, "dtype", str, where)
            _expect(dtype in ("float32", "float64"), f"{where} has numbers of type {dtype[:20]!r}")
            self.used.add(number)
            return self.arrays[number].astype(dtype)
        items = _field(value, "items", list, where)
        _expect(len(items) <= 10**5, f"{where} has a parameter with {len(items)} values")
        _expect(
            all(isinstance(item, list) and len(item) == 2 for item in items), f"{where} has a broken table"
        )
        return {self.value(k, where, depth + 1): self.value(v, where, depth + 1) for k, v in items}

    def check_all_used(self) -> None:
        """An array that nothing asks for is not ours."""
        _expect(len(self.used) == len(self.arrays), "it holds arrays that no step uses")

    def _table(self, node: Any, name: str, where: str) -> dict[str, Any]:
        table = _field(node, name, dict, where)
        _expect(len(table) <= 1000, f"{where} has {len(table)} {name}")
        return {key: self.value(value, where) for key, value in table.items()}

    def _steps(self, node: Any, where: str, depth: int) -> list[tuple[str, Any]]:
        steps = _field(node, "steps", list, where)
        _expect(0 < len(steps) <= 100, f"{where} has {len(steps)} steps")
        pairs = [s for s in steps if isinstance(s, list) and len(s) == 2 and isinstance(s[0], str)]
        names = [name for name, _ in pairs]
        sound = len(pairs) == len(steps) == len(set(names)) and all(n and "__" not in n for n in names)
        _expect(sound, f"{where} has steps whose names are missing, double or misspelt")
        return [(name, self.step(inner, f"{where}.{name}", depth + 1)) for name, inner in pairs]

    def _recognizer(self, node: Any, where: str, depth: int) -> CalibratedRecognizer:
        chosen, held_out = (self._table(node, name, where) for name in ("parameters", "held_out"))
        recognizer = self.step(node.get("recognizer"), f"{where}.recognizer", depth + 1)
        names = {"false_alarm", "reject", "unknown_label"}
        _expect(set(chosen) <= names, f"{where} has parameters that this version does not know")
        check_in("false_alarm", chosen.get("false_alarm", 0.0), 0, 1, closed="left")
        _expect(isinstance(chosen.get("reject", False), bool), f"{where} rejects neither way")
        _expect(isinstance(chosen.get("unknown_label", ""), str), f"{where} has no name for the unknown")
        for value in held_out.values():
            _number(value, where)
        _expect(
            isinstance(recognizer, Pipeline) and isinstance(recognizer[-1], CalibratedSVM),
            f"{where} holds no calibrated pipeline",
        )
        svm = recognizer[-1]
        plain = Pipeline([*recognizer.steps[:-1], (recognizer.steps[-1][0], LinearSVM(**svm.get_params()))])
        model = CalibratedRecognizer(plain, **chosen)
        model.recognizer_, model.classes_, model.held_out_ = recognizer, svm.classes_, held_out
        return model

    def _parameters(self, kind: Any, node: Any, where: str) -> dict[str, Any]:
        """Parameters by name; those that the file lacks, being older than they are, keep their defaults."""
        given = self._table(node, "parameters", where)
        strange = sorted(set(given) - (set(kind().get_params()) - set(ELSEWHERE)))
        _expect(
            not strange, f"{where} has parameters that this version does not know: {', '.join(strange)[:80]}"
        )
        return given

    def _read_poses(self, step: Any, node: Any, where: str) -> None:
        """What steps that see recordings learnt; the rest they prepare again."""
        n_joints = _field(node, "n_joints", int, where)
        _expect(0 < n_joints <= _MOST_JOINTS, f"{where} has {n_joints} joints")
        place, layout = node.get("layout"), None
        if place is not None:
            _expect(type(place) is int and 0 <= place < len(self.layouts), f"{where} has no layout {place!r}")
            layout = self.layouts[place]
            _expect(
                len(layout.joints) == n_joints, f"{where} has {n_joints} joints, its layout another number"
            )
        still = made_up(layout, n_joints)
        if isinstance(step, Preprocess):
            frames = step.n_frames if isinstance(step.n_frames, int) else 0
            _expect(frames <= _MOST_FRAMES, f"{where} asks for {step.n_frames} frames")
            step.fit([still])
            if step.bones and layout is not None and layout.bones:
                step.reference_ = self._array(node, "reference", (len(layout.bones),), where)
                _expect(bool((step.reference_ >= 0).all()), f"{where} has bones of negative length")
            return
        step.n_joints_in_, step.layout_ = n_joints, layout
        _check_size(step, still, self.most_features, where)
        check_choice("weighting", step.weighting, [None, "alignment"])
        step._prepare([still])
        if isinstance(step, SCK):
            scales = self._table(node, "scales", where)
            _expect(set(scales) == set(step.scales_), f"{where} lacks scales")
            step.scales_ = {name: _positive(scales[name], where) for name in step.scales_}
        else:
            step.scale_ = _positive(node.get("scale"), where)
        if step.weighting is not None:
            step.weights_ = self._array(node, "weights", step.block_sizes_.shape, where)
            _expect(bool((step.weights_ >= 0).all()), f"{where} has negative weights")

    def _read_machine(self, svm: Any, node: Any, where: str) -> None:
        svm._check_parameters([svm.C])
        svm.classes_ = _read_classes(node, where)
        k = len(svm.classes_)
        svm.coef_ = self._array(node, "coef", (1 if k == 2 else k, None), where)
        svm.n_features_in_ = svm.coef_.shape[1]
        svm.intercept_ = self._array(node, "intercept", (len(svm.coef_),), where)
        svm.n_iter_ = _field(node, "n_iter", int, where)
        if isinstance(svm, CalibratedSVM):
            svm.sharpness_ = _positive(node.get("sharpness"), where)
            svm.threshold_ = _number(node.get("threshold"), where)
            svm.class_means_ = self._array(node, "class_means", (k, svm.n_features_in_), where)
            svm.usual_likeness_ = self._array(node, "usual_likeness", (k,), where)
            svm.unknown_weights_ = self._array(node, "unknown_weights", (3,), where)

    def _array(self, node: Any, name: str, shape: tuple[int | None, ...], where: str) -> np.ndarray:
        array = self.value(_field(node, name, dict, where), where)
        fits = isinstance(array, np.ndarray) and len(array.shape) == len(shape) and array.size > 0
        fits = fits and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
        _expect(fits, f"{where}: {name} has shape {getattr(array, 'shape', None)}, expected {shape}")
        return array


def _expect(condition: bool, problem: str) -> None:
    if not condition:
        raise ModelFileError(problem)


def _field(node: Any, name: str, kind: type, where: str) -> Any:
    """A field of an object; True is not a whole number."""
    _expect(isinstance(node, dict), f"{where} is not an object")
    value = node.get(name)
    sound = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    _expect(sound, f"{where} has no proper {name!r}")
    return value


def _number(value: Any, where: str) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    _expect(number and abs(value) <= LARGEST, f"{where} has {value!r} where a number must be")
    return float(value)


def _positive(value: Any, where: str) -> float:
    _expect(_number(value, where) > 0, f"{where} has {value!r} where a positive number must be")
    return float(value)


def _check_weights(
    weights: dict[str, Any] | None, steps: list[tuple[str, Any]], where: str
) -> dict[str, float] | None:
    if weights is None:
        return None
    _expect(set(weights) <= {name for name, _ in steps}, f"{where} weighs branches that it does not have")
    return {name: _positive(weight, where) for name, weight in weights.items()}


def _check_size(kernel: Any, still: SkeletonSequence, most: int, where: str) -> None:
    """Whether a kernel's parameters fit the numbers in the file, before anything of that size is made."""
    counts = kernel.n_pivots_joint if isinstance(kernel.n_pivots_joint, tuple) else (kernel.n_pivots_joint,)
    counts = (*counts, kernel.n_pivots_time)
    _expect(all(type(c) is int and 0 < c <= 10**4 for c in counts), f"{where} has pivots of {counts}")
    n = len(resolve_joints(kernel.joints, still))
    if isinstance(kernel, SCK):
        signals = 1 if isinstance(kernel.signals, str) else len(kernel.signals)
        width = 3 * sum(counts[:-1]) * (signals if len(counts) == 2 else 1) + counts[-1]
        _expect(width <= _LONGEST_VECTOR, f"{where} asks for {width} pivots in all")
        cells = (n * (n - 1) // 2 if kernel.pairs else n) * width
    else:
        cells = n * (n + 1) // 2 * 3 * counts[0] * counts[1] ** 2
    _expect(cells <= 16 * most, f"{where} asks for more features than the file has numbers")


def _read_classes(node: Any, where: str) -> np.ndarray:
    labels, kind = _field(node, "classes", list, where), _field(node, "classes_type", str, where)
    words = kind[:2] == "<U" and kind[2:].isdecimal() and len(kind) <= 7
    _expect(
        words or kind in ("<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1"),
        f"{where}: labels of {kind}",
    )
    wanted = str if words else int
    _expect(2 <= len(labels) <= 10**5, f"{where} has {len(labels)} labels")
    _expect(
        all(type(label) is wanted for label in labels), f"{where} has labels that are not {wanted.__name__}"
    )
    # Room for every label is taken at once: a type that is far too long would take far too much.
    _expect(not words or int(kind[2:]) <= 64 + 4 * max(map(len, labels)), f"{where}: labels of {kind}")
    classes = np.array(labels, dtype=kind)
    _expect(
        classes.tolist() == labels and len(set(labels)) == len(labels), f"{where} has labels that are double"
    )
    return classes


def _read_layout(found: Any) -> Layout:
    where = "a layout"
    name, joints = _field(found, "name", str, where), _field(found, "joints", list, where)
    bones, sets = _field(found, "bones", list, where), _field(found, "sets", dict, where)
    root = found.get("root")
    whole = all(isinstance(b, list) and len(b) == 2 and all(type(i) is int for i in b) for b in bones)
    whole = whole and all(
        isinstance(s, list) and len(s) <= _MOST_JOINTS and all(type(i) is int for i in s)
        for s in sets.values()
    )
    _expect(0 < len(joints) <= _MOST_JOINTS and all(isinstance(j, str) for j in joints), "a layout's joints")
    _expect(whole and (root is None or type(root) is int), "a layout's bones, root or sets are broken")
    layout = Layout(name, joints, [(a, b) for a, b in bones], root, sets)
    known = LAYOUTS.get(name)
    return known if known == layout else layout


def made_up(layout: Layout | None, n_joints: int) -> SkeletonSequence:
    """A recording of no particular movement, the same every time, with a metre between its ends."""
    t, joint, axis = np.meshgrid(np.arange(4), np.arange(n_joints), np.arange(3), indexing="ij")
    return SkeletonSequence(np.cos(1.0 + 1.7 * joint + 0.9 * axis + 0.2 * t) / 2, layout=layout)
