"""Plain data written in pickle's format, without Python's pickler."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import IO, Any

import numpy as np


def dump(data: Any, file: IO[bytes]) -> None:
    """Write plain containers and arrays so that every Python 3 and every NumPy can unpickle them.

    NumPy 2 pickles its arrays under names that NumPy 1 does not know; here they go by the old ones.

    >>> import io
    >>> import pickle
    >>> file = io.BytesIO()
    >>> dump({"a": [1, 2.5, None, True, ("x",)], "b": np.eye(2)}, file)
    >>> pickle.loads(file.getvalue())
    {'a': [1, 2.5, None, True, ('x',)], 'b': array([[1., 0.], [0., 1.]])}
    """
    file.write(b"\x80\x03")
    _put(data, file.write)
    file.write(b".")


def _put(data: Any, out: Callable[[bytes], Any]) -> None:
    if data is None or isinstance(data, bool):
        out({None: b"N", True: b"\x88", False: b"\x89"}[data])
    elif isinstance(data, int):
        out(b"J" + struct.pack("<i", data))
    elif isinstance(data, float):
        out(b"G" + struct.pack(">d", data))
    elif isinstance(data, str):
        encoded = data.encode("utf-8", "surrogatepass")
        out(b"X" + struct.pack("<I", len(encoded)) + encoded)
    elif isinstance(data, bytes):
        out(b"B" + struct.pack("<I", len(data)) + data)
    elif isinstance(data, (list, tuple, dict)):
        start, end = {list: (b"](", b"e"), tuple: (b"(", b"t"), dict: (b"}(", b"u")}[type(data)]
        out(start)
        for item in (part for pair in data.items() for part in pair) if isinstance(data, dict) else data:
            _put(item, out)
        out(end)
    else:
        _put_array(np.asarray(data, order="C"), out)


def _put_array(array: np.ndarray, out: Callable[[bytes], Any]) -> None:
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    out(b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n")
    _put((0,), out)
    _put(b"b", out)
    out(b"tR(K\x01")
    _put(array.shape, out)
    out(b"cnumpy\ndtype\n")
    _put((array.dtype.str[1:], False, True), out)
    out(b"R")
    _put((3, "<", None, None, None, -1, -1, 0), out)
    out(b"b\x89")
    _put(array.tobytes(), out)
    out(b"tb")
