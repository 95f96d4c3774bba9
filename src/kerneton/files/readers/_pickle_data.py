"""Plain data in pickle's format, read without executing it.

A pickle is a program for a small stack machine. This module executes only the instructions that
build numbers, strings, lists, tuples, dicts and NumPy arrays. Functions are never looked up: the
few names that NumPy writes are recognised as words, all others are refused. Nothing is imported or
called because a file says so.
"""

from __future__ import annotations

import io
import math
import pickletools
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from kerneton.exceptions import FormatError, MissingDataError
from kerneton.files.readers._arrays import is_text
from kerneton.files.readers._text import check_regular, shorten
from kerneton.files.readers._values import Budget

MAX_STEPS = 1 << 23  # instructions; an annotation of PYSKL takes about 70
_STEP = 100  # bytes that an instruction may make: an empty dict, its places on stack and in memo
_MARK = object()


class _Name(str):
    """A function or class that the file names; only a word here."""


class _Type:
    """A NumPy type in the making: its code, then its byte order."""

    def __init__(self, code: str) -> None:
        if len(code) > 4 or code[:1] not in "biufSU" or not code[1:].isdigit():
            raise FormatError(
                f"an array of type {shorten(code)!r} holds more than numbers and strings"
            )
        self.dtype = np.dtype(code)


class _Array:
    """A NumPy array in the making; ``value`` arrives with its state."""

    value: Any = None


def load(path: Path) -> Any:
    """The data in a pickle: plain containers, numbers, strings and NumPy arrays, or a
    `FormatError`.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "data.pkl"
    >>> import pickle
    >>> _ = file.write_bytes(pickle.dumps({"keypoint": np.zeros((1, 4, 17, 2)), "label": 3}))
    >>> data = load(file)
    >>> data["keypoint"].shape, data["label"]
    ((1, 4, 17, 2), 3)
    """
    size = check_regular(path)
    if not size:
        raise FormatError(f"{path}: empty")
    try:
        with path.open(
            "rb"
        ) as file:  # not mapped: a mapped file that is cut short ends the interpreter
            return _run(_Content(file, size), Budget(size, "refused"))
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    except OSError as error:
        raise MissingDataError(f"{path}: cannot be read: {error.strerror or error}") from error


def loads(content: bytes, where: str) -> Any:
    """The data in a pickle that is part of another file, as `load`."""
    try:
        return _run(_Content(io.BytesIO(content), len(content)), Budget(len(content), "refused"))
    except FormatError as error:
        raise FormatError(f"{where}: {error}") from None


class _Content:
    """A file that is never read beyond its size, whatever lengths it states."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.file, self.size, self.at = file, size, 0

    def tell(self) -> int:
        return self.at  # counted here, since asking the system at each instruction is slow

    def read(self, n: int) -> bytes:
        return self._moved(self.file.read(min(n, max(self.size - self.at, 0))))

    def readline(self) -> bytes:
        return self._moved(self.file.readline(self.size))

    def _moved(self, part: bytes) -> bytes:
        self.at += len(part)
        return part


def _run(content: _Content, budget: Budget) -> Any:
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    steps = pickletools.genops(cast(IO[bytes], content))
    decode = _Decoder(budget.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes in old strings
        for count in range(MAX_STEPS):
            try:
                opcode, argument, _ = next(steps)
            except StopIteration:
                raise FormatError("the pickle has no end") from None
            except (ValueError, OverflowError, struct.error, MemoryError) as error:
                raise FormatError(f"damaged pickle: {shorten(str(error), 80)}") from error
            if opcode.name == "STOP":
                break
            budget.take(_STEP)
            try:
                _step(opcode.name, argument, stack, memo, decode)
            except FormatError:
                raise
            except (
                IndexError,
                KeyError,
                TypeError,
                ValueError,
                AttributeError,
                OverflowError,
            ) as error:
                raise FormatError(
                    f"damaged pickle: {opcode.name} at step {count} does not fit"
                ) from error
        else:
            raise FormatError(f"more than {MAX_STEPS} instructions")
    if len(stack) != 1:
        raise FormatError(f"damaged pickle: {len(stack)} values at its end")
    return stack[0]


class _Decoder:
    """Bytes and scalars from parts of the file; in total no more than its size, also if parts are
    repeated.
    """

    def __init__(self, room: int) -> None:
        self.room = room

    def __call__(self, text: Any, encoding: Any = "latin1") -> bytes:
        """Bytes that old protocols write as text."""
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise FormatError("damaged pickle: text that is not bytes in latin1")
        self._copy(len(text))
        return text.encode("latin-1")

    def scalar(self, kind: _Type, data: Any) -> Any:
        """One value of a NumPy type."""
        self._copy(len(data))
        return _from_buffer(data, kind, (), "C").item()

    def _copy(self, size: int) -> None:
        self.room -= size
        if self.room < 0:
            raise FormatError("refused: the pickle copies its text again and again")


def _step(
    name: str, argument: Any, stack: list[Any], memo: dict[int, Any], decode: _Decoder
) -> None:
    """Carry out one instruction on the stack."""
    if name in _VALUES:
        stack.append(argument)
    elif name in _CONSTANTS:
        stack.append(_CONSTANTS[name]())
    elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
        memo[len(memo) if name == "MEMOIZE" else argument] = stack[-1]
    elif name in ("GET", "BINGET", "LONG_BINGET"):
        value = memo[argument]
        stack.append(
            value.value if isinstance(value, _Array) and value.value is not None else value
        )
    elif name in _COLLECT:
        _COLLECT[name](stack, _since_mark(stack))
    elif name in ("APPEND", "SETITEM"):
        items = [stack.pop() for _ in range(1 if name == "APPEND" else 2)][::-1]
        _COLLECT[name + "S"](stack, items)
    elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
        size = int(name[-1])
        if len(stack) < size:
            raise IndexError
        stack[-size:] = [tuple(stack[-size:])]
    elif name in ("POP", "POP_MARK"):
        _since_mark(stack) if name == "POP_MARK" else stack.pop()
    elif name in ("GLOBAL", "STACK_GLOBAL"):
        stack.append(
            _name(argument if name == "GLOBAL" else " ".join([stack.pop(), stack.pop()][::-1]))
        )
    elif name == "REDUCE":
        arguments, function = stack.pop(), stack.pop()
        calls: dict[str, Callable[..., Any]] = {_ENCODE: decode, _SCALAR: decode.scalar}
        if type(function) is not _Name:
            raise TypeError
        call = calls.get(function) or _CALLS[function]
        stack.append(call(*arguments))
    elif name == "BUILD":
        state, target = stack.pop(), stack.pop()
        stack.append(_build(target, state, decode))
    elif name == "PROTO" and argument > 5:
        raise FormatError(f"pickle protocol {argument} is not known")
    elif name not in ("PROTO", "FRAME"):
        raise FormatError(f"refused: the pickle uses {name}, which plain data does not need")


def _since_mark(stack: list[Any]) -> list[Any]:
    items = []
    while (item := stack.pop()) is not _MARK:
        items.append(item)
    return items[::-1]


def _name(text: str) -> _Name:
    """The text "module name" as a word, if arrays and plain containers are written with it."""
    module, _, function = text.partition(" ")
    known = f"{module.replace('numpy._core', 'numpy.core')}.{function}"
    if known not in _CALLS and known not in (_ENCODE, _SCALAR):
        name = shorten(f"{module}.{function}")
        raise FormatError(f"refused: the pickle asks for {name}, which is not data")
    return _Name(known)


def _new_array(kind: _Name, shape: Any, code: Any) -> _Array:  # noqa: ARG001
    if type(kind) is not _Name or kind != "numpy.ndarray":
        raise FormatError("damaged pickle: an array of an unknown kind")
    return _Array()


def _build(target: Any, state: tuple[Any, ...], decode: _Decoder) -> Any:
    if isinstance(target, _Type):
        _, order, sub, names, fields, *_ = state
        if (
            sub is not None
            or names is not None
            or fields is not None
            or order not in ("<", ">", "|", "=")
        ):
            raise FormatError("refused: an array of records")
        target.dtype = target.dtype.newbyteorder(order)
        return target
    if not isinstance(target, _Array):
        raise FormatError("refused: the pickle sets the state of something that is not an array")
    _, shape, kind, fortran, data = state
    if isinstance(data, str):
        data = decode(data)  # Python 2's strings of bytes
    target.value = _from_buffer(data, kind, shape, "F" if fortran is True or fortran == 1 else "C")
    return target.value


def _from_buffer(data: Any, kind: _Type, shape: tuple[int, ...], order: Any) -> np.ndarray:
    if not isinstance(data, (bytes, bytearray)):
        raise FormatError("refused: an array of objects")
    dtype = kind.dtype
    if not all(type(size) is int and 0 <= size < 1 << 40 for size in shape) or len(shape) > 8:
        raise FormatError("damaged pickle: an array of an impossible shape")
    if math.prod(shape) * dtype.itemsize != len(data) or not dtype.itemsize:
        raise FormatError(f"an array of shape {shape} and type {dtype} in {len(data)} bytes")
    array = np.frombuffer(data, dtype) if data else np.zeros(0, dtype)
    if not is_text(array):
        raise FormatError("an array of strings of an unknown encoding")
    return array.reshape(shape, order="F" if order == "F" else "C")


def _plain_array(shape: tuple[int, ...], code: str, data: Any) -> np.ndarray:
    """An array as `kerneton.files.readers.pyskl` writes it."""
    kind = _Type(code[1:])
    kind.dtype = kind.dtype.newbyteorder(code[:1])  # type: ignore[arg-type]
    return _from_buffer(data, kind, shape, "C")


_ENCODE, _SCALAR = "_codecs.encode", "numpy.core.multiarray.scalar"
_CALLS: dict[str, Callable[..., Any]] = {
    "numpy.core.multiarray._reconstruct": _new_array,
    "numpy.core.numeric._frombuffer": _from_buffer,
    "numpy.ndarray": _plain_array,
    "numpy.dtype": lambda code, *_: _Type(code),
    "collections.OrderedDict": lambda: {},
    "builtins.bytes": lambda: b"",
    "builtins.bytearray": lambda data=b"": data,
    "__builtin__.bytes": lambda: b"",
}
_VALUES = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *(
        "STRING",
        "BINSTRING",
        "SHORT_BINSTRING",
        "UNICODE",
        "SHORT_BINUNICODE",
        "BINUNICODE",
        "BINUNICODE8",
    ),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
    "MARK": lambda: _MARK,
}


def _append(stack: list[Any], items: list[Any]) -> None:
    if type(stack[-1]) is not list:
        raise TypeError
    stack[-1].extend(items)


def _pairs(items: list[Any]) -> dict[str, Any]:
    """A dict with text keys: numbers could be chosen so that all have the same hash."""
    if not all(isinstance(key, (str, int, float)) for key in items[::2]):
        raise FormatError("refused: a dict whose keys are neither text nor numbers")
    return dict(zip(map(str, items[::2]), items[1::2], strict=True))


def _update(stack: list[Any], items: list[Any]) -> None:
    if type(stack[-1]) is not dict:
        raise TypeError
    stack[-1].update(_pairs(items))


_COLLECT: dict[str, Callable[[list[Any], list[Any]], None]] = {
    "APPENDS": _append,
    "SETITEMS": _update,
    "LIST": lambda stack, items: stack.append(items),
    "TUPLE": lambda stack, items: stack.append(tuple(items)),
    "DICT": lambda stack, items: stack.append(_pairs(items)),
}
