"""Turn plain data from untrusted files into a recogniser, or refuse it.

Sizes are checked before memory is allocated, fields for their types; learned values are checked by
``set_state`` of their object, and the whole model is tried on one generated recording.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kerneton.data.layouts import LAYOUTS, Layout
from kerneton.data.sequence import plain_text
from kerneton.exceptions import ModelFileError
from kerneton.kernels.blocks import still_recording
from kerneton.kernels.dck import DCK
from kerneton.kernels.sck import SCK
from kerneton.machine.scaling import CenterNormalize
from kerneton.machine.svm import LinearSVM
from kerneton.prepare.preprocess import Preprocess
from kerneton.recognize.branch import RUNTIME_PARAMETERS, Branch
from kerneton.recognize.calibration import Calibration
from kerneton.recognize.model_archive import LARGEST, MAX_BYTES, check_facts, read_archive
from kerneton.recognize.recognizer import Recognizer
from kerneton.recognize.search import Search
from kerneton.stream.spotter import Spotter

KNOWN: tuple[Any, ...] = (
    *(Recognizer, Branch, Search, Calibration, Spotter),
    *(Preprocess, SCK, DCK, CenterNormalize, LinearSVM),
)
_DEEPEST = 16  # depth of nested values
_LARGEST_WHOLE = 10**6
_MOST_VALUES = 10**5
_MOST_JOINTS = 1000
_LABEL_ROOM = 1 << 24  # bytes of all labels


# parameters that files of 0.2.0 name otherwise
_EARLIER_NAMES = {"DCK": {"signal": "signals"}}


class Reader:
    """Turns plain data from untrusted files into objects, or says what is wrong with it."""

    def __init__(
        self, layouts: Any, arrays: list[np.ndarray], classes: Sequence[type] = ()
    ) -> None:
        self.arrays = arrays
        self.used: set[int] = set()
        self.label_room = _LABEL_ROOM
        from kerneton.kernels.exact_features import ExactDCK, ExactSCK

        self.classes = {kind.__name__: kind for kind in (*KNOWN, ExactSCK, ExactDCK, *classes)}
        # There cannot be more features than numbers in the largest array.
        self.most_features = max((array.size for array in arrays), default=0)
        _expect(
            isinstance(layouts, list) and len(layouts) <= 100, "layouts must be a list of a few"
        )
        self.layouts = [_read_layout(layout) for layout in layouts]

    def object(self, node: Any, where: str, depth: int = 0) -> Any:
        """An estimator, with its learned values if the file has them; ``where`` is for error
        messages.
        """
        _expect(depth < _DEEPEST, f"{where} is nested too deeply")
        name = _field(node, "class", str, where)
        _expect(
            name in self.classes,
            f"{where} is of a class that model files cannot contain: {name[:80]!r}; "
            "load(path, classes=[...]) accepts your own classes",
        )
        kind: Any = self.classes[name]
        given = self._table(_field(node, "parameters", dict, where), where, depth)
        for old, new in _EARLIER_NAMES.get(name, {}).items():
            if old in given:
                given[new] = given.pop(old)
        known = set(kind._get_param_names()) - set(RUNTIME_PARAMETERS) - {"progress"}
        strange = sorted(set(given) - known)
        _expect(
            not strange,
            f"{where} has parameters that this version does not know: {', '.join(strange)[:80]}",
        )
        if "branches" in given:
            pairs = given["branches"]
            sound = isinstance(pairs, tuple) and all(
                isinstance(p, tuple) and len(p) == 2 for p in pairs
            )
            _expect(
                sound and all(isinstance(b, Branch) for _, b in pairs),
                f"{where} has broken branches",
            )
            given["branches"] = list(pairs)
        if (
            kind is LinearSVM
        ):  # files of 0.2.0 name the loss, of which one is left; weights of another stay valid
            given.pop("loss", None)
        step = kind(**given)
        if node.get("state") is not None:
            state = self._table(_field(node, "state", dict, where), where, depth)
            self._check_size(step, state, where)
            try:
                step.set_state(state)
            except KeyError as error:
                raise ModelFileError(f"{where} lacks {error}") from error
        return step

    def value(self, value: Any, where: str, depth: int = 0) -> Any:
        """A Python value; lists become tuples."""
        _expect(depth < _DEEPEST, f"{where} has a parameter nested too deeply")
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, float)):
            whole = isinstance(value, int)
            _expect(
                abs(value) <= (_LARGEST_WHOLE if whole else LARGEST),
                f"{where} has an implausible number",
            )
            return value
        if isinstance(value, list):
            _expect(len(value) <= _MOST_VALUES, f"{where} has a parameter with {len(value)} values")
            return tuple(self.value(item, where, depth + 1) for item in value)
        _expect(isinstance(value, dict), f"{where} has a value of type {type(value).__name__}")
        if "object" in value:
            return self.object(value["object"], where, depth + 1)
        if "array" in value:
            return self._array(value, where)
        if "labels" in value:
            return self._labels(value, where)
        if "layout" in value:
            place = _field(value, "layout", int, where)
            _expect(0 <= place < len(self.layouts), f"{where} has no layout {place}")
            return self.layouts[place]
        items = _field(value, "items", list, where)
        _expect(len(items) <= _MOST_VALUES, f"{where} has a parameter with {len(items)} values")
        pairs = all(
            isinstance(item, list) and len(item) == 2 and _is_key(item[0]) for item in items
        )
        _expect(pairs, f"{where} has a broken table")
        return {key: self.value(item, f"{where}.{key}"[:200], depth + 1) for key, item in items}

    def check_all_used(self) -> None:
        """Refuse files with unused arrays, which `save` does not write."""
        _expect(len(self.used) == len(self.arrays), "it contains arrays that are not used")

    def _table(self, table: dict[str, Any], where: str, depth: int) -> dict[str, Any]:
        _expect(len(table) <= 1000, f"{where} has {len(table)} fields")
        return {
            key: self.value(value, f"{where}.{key}"[:200], depth + 1)
            for key, value in table.items()
        }

    def _array(self, value: dict[str, Any], where: str) -> np.ndarray:
        number, dtype = _field(value, "array", int, where), _field(value, "dtype", str, where)
        _expect(
            0 <= number < len(self.arrays), f"{where} names array {number}, which does not exist"
        )
        _expect(dtype in ("float32", "float64"), f"{where} has numbers of type {dtype[:20]!r}")
        # Shared arrays would be copied for each use, so a small file could need any amount of
        # memory.
        _expect(number not in self.used, f"{where} names array {number}, which is used already")
        self.used.add(number)
        array = self.arrays[number].astype(dtype)
        _expect(array.size > 0, f"{where} is an empty array")
        return array

    def _labels(self, node: dict[str, Any], where: str) -> np.ndarray:
        labels, kind = _field(node, "labels", list, where), _field(node, "dtype", str, where)
        words = kind[:2] == "<U" and kind[2:].isdecimal() and len(kind) <= 9
        _expect(
            words or kind in ("<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1"),
            f"{where}: labels of {kind[:20]}",
        )
        wanted = str if words else int
        _expect(2 <= len(labels) <= _MOST_VALUES, f"{where} has {len(labels)} labels")
        _expect(
            all(type(label) is wanted for label in labels),
            f"{where} has labels that are not {wanted.__name__}",
        )
        sound = not words or all(plain_text(label) == label for label in labels)
        _expect(sound, f"{where} has labels that are not text")
        _expect(
            not words or int(kind[2:]) <= 64 + 4 * max(map(len, labels)),
            f"{where}: labels of {kind}",
        )
        # In an array every label takes as much memory as the longest one.
        self.label_room -= len(labels) * np.dtype(kind).itemsize
        _expect(
            self.label_room >= 0,
            f"{where}: {len(labels)} labels of up to {kind[2:]} characters are too many",
        )
        found = np.array(labels, dtype=kind)
        _expect(
            found.tolist() == labels and len(set(labels)) == len(labels),
            f"{where} has duplicate labels",
        )
        return found

    def _check_size(self, step: Any, state: dict[str, Any], where: str) -> None:
        """Check that a step's parameters fit the numbers in the file, before allocating memory."""
        if "n_joints" in state:
            n_joints, layout = state["n_joints"], state.get("layout")
            _expect(
                type(n_joints) is int and 0 < n_joints <= _MOST_JOINTS,
                f"{where} has {n_joints!r} joints",
            )
            sound = layout is None or (
                isinstance(layout, Layout) and len(layout.joints) == n_joints
            )
            _expect(sound, f"{where} has {n_joints} joints, but its layout has a different number")
            if hasattr(step, "size_bound"):
                bound = step.size_bound(still_recording(layout, n_joints))
                _expect(
                    bound <= 4 * self.most_features,  # DCK's bound counts pairs and entries twice
                    f"{where} asks for more features than the file has numbers",
                )


def try_out(model: Any) -> None:
    """Try the whole model on a generated recording, so that a broken model fails here and not at
    its first use.
    """
    _expect(
        isinstance(model, Recognizer) and hasattr(model, "machine_"),
        "it contains no fitted recogniser",
    )
    recording = still_recording(model.layout_, model.n_joints_in_)
    with np.errstate(all="ignore"):
        found = model.results([recording])
        if model.spotter_ is not None and model.spotter_.judge_ is not None:
            odds = model.spotter_.judge_.decision_function([recording])
            _expect(np.isfinite(odds).all(), "its decision values are not finite")
    values = [v for v in (found.scores, found.probabilities, found.unknown) if v is not None]
    _expect(all(np.isfinite(v).all() for v in values), "its decision values are not finite")


def _expect(condition: bool, problem: str) -> None:
    if not condition:
        raise ModelFileError(problem)


def _is_key(key: Any) -> bool:
    return (
        key is None
        or isinstance(key, (str, bool))
        or (isinstance(key, (int, float)) and abs(key) <= LARGEST)
    )


def _field(node: Any, name: str, kind: type, where: str) -> Any:
    """A field of an object; True is not a whole number."""
    _expect(isinstance(node, dict), f"{where} is not an object")
    value = node.get(name)
    sound = isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    _expect(sound, f"{where} has no proper {name!r}")
    return value


def _read_layout(found: Any) -> Layout:
    where = "a layout"
    name, joints = _field(found, "name", str, where), _field(found, "joints", list, where)
    bones, sets = _field(found, "bones", list, where), _field(found, "sets", dict, where)
    root = found.get("root")
    whole = all(
        isinstance(b, list) and len(b) == 2 and all(type(i) is int for i in b) for b in bones
    )
    whole = whole and all(
        isinstance(s, list) and len(s) <= _MOST_JOINTS and all(type(i) is int for i in s)
        for s in sets.values()
    )
    _expect(
        0 < len(joints) <= _MOST_JOINTS and all(isinstance(j, str) for j in joints),
        "a layout's joints",
    )
    _expect(
        whole and (root is None or type(root) is int), "a layout's bones, root or sets are broken"
    )
    layout = Layout(name, joints, [(a, b) for a, b in bones], root, sets)
    known = LAYOUTS.get(name)
    return known if known == layout else layout


def load(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, classes: Sequence[type] = ()
) -> Recognizer:
    """Read a recogniser from a file; predictions are the same to the bit as before saving.

    ``classes`` are kernels and classifiers of your own that the file may hold. The file's summary
    of the training recordings becomes the attribute ``training_``. Anything but a valid model file
    of at most ``max_bytes`` is refused with a `ModelFileError`; see `save` for an example.

    >>> load("no-such.kern")
    Traceback (most recent call last):
    kerneton.exceptions.MissingDataError: no-such.kern: no such file
    """

    path = Path(path)
    header, arrays = read_archive(path, max_bytes)
    check_facts(path, header)
    try:
        reader = Reader(header.get("layouts"), arrays, classes)
        model = reader.object(header.get("model"), "model")
        reader.check_all_used()
        try_out(model)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from error
    except Exception as error:  # inconsistent parts can raise anything
        raise ModelFileError(f"{path}: its parts are inconsistent: {error}") from error
    if header.get("training") is not None:
        model.training_ = header["training"]
    return model
