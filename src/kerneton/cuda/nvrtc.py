"""CUDA source compiled at run time with the libraries that PyTorch installs: NVRTC and the driver.

PyTorch has no public function for this. But it installs NVRTC, and its context is the driver's
current one, so a few calls through ctypes are enough, without CUDA toolkit, compiler or build step.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def compile_kernel(source: str, name: str, *, shared: int = 0) -> Callable[..., None]:
    """A kernel of the current device as a function of (blocks, threads, *arguments).

    ``name`` is a function or template instance such as ``"power<22, float>"``; ``shared`` its
    dynamic shared memory in bytes. Arguments are tensors, whole numbers (``int``) and real ones
    (two ``int``, the halves of a double).
    """
    import torch

    cubin, lowered = _cubin(source, name, torch.cuda.get_device_capability())
    driver = _library("libcuda.so.1", "nvcuda.dll")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _check(driver.cuModuleLoadData(ctypes.byref(module), cubin), "cuModuleLoadData")
    _check(
        driver.cuModuleGetFunction(ctypes.byref(function), module, lowered), "cuModuleGetFunction"
    )
    _check(driver.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, shared), "cuFuncSetAttribute")

    def launch(blocks: int, threads: int, *arguments: Any) -> None:
        values = [value for a in arguments for value in arguments_of(a)]
        pointers = (ctypes.c_void_p * len(values))(
            *(ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values)
        )
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        shape = (blocks, 1, 1, threads, 1, 1)
        _check(
            driver.cuLaunchKernel(function, *shape, shared, stream, pointers, None),
            "cuLaunchKernel",
        )

    return launch


def halves(x: float) -> tuple[int, int]:
    """The upper and lower 32 bits of a double.

    >>> halves(1.0)
    (1072693248, 0)
    """
    low, high = struct.unpack("<ii", struct.pack("<d", x))
    return high, low


def arguments_of(argument: Any) -> list[Any]:
    """What a kernel takes for a tensor, a whole number or a real one, as values of ctypes."""
    if isinstance(argument, int):
        return [ctypes.c_int(argument)]
    if isinstance(argument, float):
        return [ctypes.c_int(half) for half in halves(argument)]
    return [ctypes.c_void_p(argument.data_ptr())]


@functools.lru_cache(maxsize=64)
def _cubin(source: str, name: str, capability: tuple[int, int]) -> tuple[bytes, bytes]:
    """Machine code for a device, and the kernel's name in it."""
    rtc = _nvrtc()
    program = ctypes.c_void_p()
    text = source.encode()
    _check(
        rtc.nvrtcCreateProgram(ctypes.byref(program), text, b"kerneton.cu", 0, None, None), "NVRTC"
    )
    try:
        _check(rtc.nvrtcAddNameExpression(program, name.encode()), "NVRTC")
        options = [b"--gpu-architecture=sm_%d%d" % capability, b"--std=c++17", b"--use_fast_math"]
        if rtc.nvrtcCompileProgram(
            program, len(options), (ctypes.c_char_p * len(options))(*options)
        ):
            raise RuntimeError(f"NVRTC cannot compile {name}: {_log(rtc, program)}")
        lowered = ctypes.c_char_p()
        _check(rtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(lowered)), "NVRTC")
        size = ctypes.c_size_t()
        _check(rtc.nvrtcGetCUBINSize(program, ctypes.byref(size)), "NVRTC")
        cubin = ctypes.create_string_buffer(size.value)
        _check(rtc.nvrtcGetCUBIN(program, cubin), "NVRTC")
        return cubin.raw, lowered.value or b""
    finally:
        rtc.nvrtcDestroyProgram(ctypes.byref(program))


def _log(rtc: Any, program: Any) -> str:
    size = ctypes.c_size_t()
    rtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    rtc.nvrtcGetProgramLog(program, log)
    return log.value.decode(errors="replace")


@functools.cache
def _nvrtc() -> Any:
    """NVRTC of the CUDA version that torch was built for, from torch's wheels or the system."""
    import torch

    if torch.version.cuda is None:
        raise RuntimeError("this PyTorch was not built for CUDA")
    major = torch.version.cuda.partition(".")[0]
    packages = Path(torch.__file__).parent.parent / "nvidia"
    bundled = sorted(packages.glob(f"**/libnvrtc.so.{major}*")) + sorted(
        packages.glob("**/nvrtc64_*_0.dll")
    )
    names = [f"libnvrtc.so.{major}", f"nvrtc64_{major}0_0.dll", *map(str, bundled)]
    return _library(*names)


def _library(*names: str) -> Any:
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise RuntimeError(f"cannot load {names[0]}")


def _check(status: int, call: str) -> None:
    if status:
        raise RuntimeError(f"{call} failed with error {status}")
