"""Build the compiled core: `python core/build.py` puts its libraries into src/kerneton/core.

The compiler is $KERNETON_CXX, or the clang of the package `ziglang` if that is installed, or a
clang++ on the path, or any C++ compiler. One library for each level of the processor;
`kerneton.core` chooses when it is imported.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "src" / "kerneton" / "core"
FLAGS = [
    "-std=c++17",
    "-O3",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-exceptions",
    "-fno-rtti",
    "-nostdinc++",
    "-ffreestanding",
    "-fvisibility=hidden",
    "-fno-threadsafe-statics",
    "-fno-asynchronous-unwind-tables",
    "-g0",
    "-Wall",
    "-Wextra",
    "-Wno-psabi",
]
LEVELS = {"x86_64": ("v2", "v3", "v4"), "aarch64": ("v8",)}
SYSTEMS = {
    "linux": ("linux-gnu.2.17", ".so"),
    "macos": ("macos", ".dylib"),
    "windows": ("windows-gnu", ".dll"),
}
MANIFEST = "libraries.json"
TARGETS = ("linux-x86_64", "linux-aarch64", "macos-x86_64", "macos-aarch64", "windows-x86_64")


def this_platform() -> str:
    """System and processor of this machine, such as "linux-x86_64"."""
    system = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}.get(
        platform.system(), "linux"
    )
    machine = platform.machine().lower()
    return f"{system}-{ {'amd64': 'x86_64', 'arm64': 'aarch64'}.get(machine, machine) }"


def wheel_platform(target: str) -> str:
    """The platform of a wheel's name."""
    return {
        "linux-x86_64": "manylinux_2_17_x86_64.manylinux2014_x86_64",
        "linux-aarch64": "manylinux_2_17_aarch64.manylinux2014_aarch64",
        "macos-x86_64": "macosx_11_0_x86_64",
        "macos-aarch64": "macosx_11_0_arm64",
        "windows-x86_64": "win_amd64",
    }[target]


def own_compiler() -> list[str] | None:
    """The command of a compiler that needs no download, or None."""
    if os.environ.get("KERNETON_CXX"):
        return shlex.split(os.environ["KERNETON_CXX"])
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "c++"]
    # g++ is a tenth to a half slower than clang here, so it must be asked for by name.
    clang = shutil.which("clang++")
    return [clang] if clang else None


def build(
    target: str | None = None,
    compiler: list[str] | None = None,
    flags: tuple[str, ...] = (),
    folder: Path = TARGET,
    levels: tuple[str, ...] = (),
) -> list[Path]:
    """Compile ``levels`` of a platform, by default all; returns the libraries and the list of
    them that `kerneton.core` reads.
    """
    target = target or this_platform()
    system, machine = target.split("-")
    compiler = compiler or own_compiler() or _fallback()
    zig = "ziglang" in compiler
    triple, suffix = SYSTEMS[system]
    if machine not in LEVELS:
        raise SystemExit(f"no core for the processor {machine!r}; known are {', '.join(LEVELS)}")
    if not zig and target != this_platform():
        raise SystemExit(
            f"only the compiler of the package ziglang builds for {target} on {this_platform()}"
        )
    levels = levels or LEVELS[machine]
    common = [*compiler, *(["-target", f"{machine}-{triple}"] if zig else []), *FLAGS, *flags]
    if system != "windows":
        common.append("-fPIC")
    folder.mkdir(parents=True, exist_ok=True)
    libraries = []
    with tempfile.TemporaryDirectory() as scratch:
        jobs = [
            (level, source, Path(scratch) / f"{source.stem}-{level}.o")
            for level in levels
            for source in sorted(HERE.glob("*.cpp"))
        ]
        # Long files first.
        jobs.sort(key=lambda job: -job[1].stat().st_size)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda job: _compile(common, machine, zig, *job), jobs))
        for level in levels:
            objects = [str(job[2]) for job in jobs if job[0] == level]
            made = Path(scratch) / f"kerneton_core_{level}{suffix}"
            # macOS loads nothing that does not name its system library.
            system_library = ["-lSystem"] if system == "macos" and zig else []
            link = [
                "-shared",
                "-nostdlib",
                *([] if "-g" in flags else ["-s"]),
                "-o",
                str(made),
                *objects,
                *system_library,
            ]
            _run([*common, *link])
            library = folder / made.name
            partial = library.with_suffix(".part")
            shutil.copyfile(made, partial)
            os.replace(partial, library)
            libraries.append(library)
    contents = {
        "platform": target,
        "source": source_hash(),
        "libraries": {
            level: {"file": path.name, "size": path.stat().st_size}
            for level, path in zip(levels, libraries, strict=True)
        },
    }
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps(contents, indent=1) + "\n")
    return [*libraries, manifest]


def build_runtime(
    folder: Path, targets: tuple[str, ...], compiler: list[str] | None = None
) -> list[Path]:
    """libkerneton for C and as WebAssembly; only the compiler of the package ziglang makes all of
    it.
    """
    compiler = compiler or own_compiler() or _fallback()
    if "ziglang" not in compiler:
        return []
    kept = folder / "native" / "built.json"  # wheels for several platforms share one build
    wanted = {"source": source_hash(), "targets": list(targets)}
    if kept.is_file() and json.loads(kept.read_text()) == wanted:
        found = [*folder.joinpath("native").rglob("*"), *folder.joinpath("js").glob("*.wasm")]
        return sorted(path for path in found if path.is_file() and path != kept)
    runtime, made = HERE / "runtime", []
    flags = [*compiler, *FLAGS, "-DKN_RUNTIME", "-ffunction-sections"]
    names = re.findall(
        r"^KN_(?:API|PUBLIC) [\w ]+?\*?(kn_\w+)\(",
        (runtime / "kerneton.h").read_text() + (HERE / "kerneton_core.h").read_text(),
        re.M,
    )
    public = re.findall(
        r"^KN_PUBLIC [\w ]+?\*?(kn_\w+)\(", (runtime / "kerneton.h").read_text(), re.M
    )
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        # every level has names of its own, so that one library holds all
        for level in LEVELS["x86_64"]:
            renamed = "".join(f"#define {function} {function}_{level}\n" for function in names)
            (scratch / f"{level}.h").write_text(f"{renamed}#define kn kn_{level}\n")
        jobs = [(flags, runtime, scratch, target) for target in targets]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for target, library in zip(
                targets, pool.map(lambda job: _runtime_library(*job), jobs), strict=True
            ):
                (folder / "native" / target).mkdir(parents=True, exist_ok=True)
                for part in library:
                    made.append(Path(shutil.copy(part, folder / "native" / target / part.name)))
        made.append(Path(shutil.copy(runtime / "kerneton.h", folder / "native" / "kerneton.h")))
        exports = [f"-Wl,--export={function}" for function in (*public, "__heap_base")]
        # -Os is smaller by a third and ten times as slow; the plain one is for engines of long ago.
        for wasm, simd, small in (
            ("kerneton.wasm", "-msimd128", "-O2"),
            ("kerneton-plain.wasm", "-mno-simd128", "-Os"),
        ):
            options = [
                "-target",
                "wasm32-freestanding",
                simd,
                small,
                "-nostdlib",
                "-Wl,--no-entry",
                "-Wl,--gc-sections",
                "-s",
            ]
            (folder / "js").mkdir(parents=True, exist_ok=True)
            made.append(folder / "js" / wasm)
            _run([*flags, *options, *exports, str(runtime / "runtime.cpp"), "-o", str(made[-1])])
    kept.write_text(json.dumps(wanted) + "\n")
    return made


def _runtime_library(flags: list[str], runtime: Path, scratch: Path, target: str) -> list[Path]:
    """libkerneton of a platform; on Windows also what a linker needs of it."""
    system, machine = target.split("-")
    triple, suffix = SYSTEMS[system]
    work = scratch / target
    work.mkdir()
    common = [*flags, "-target", f"{machine}-{triple}", *(["-fPIC"] if system != "windows" else [])]
    units = [(runtime / "runtime.cpp", [], "runtime")]
    if machine == "x86_64":
        units = [
            (
                runtime / "runtime.cpp",
                ["-include", str(scratch / f"{level}.h"), f"-march=x86_64_{level}", "-DKN_PUBLIC="],
                level,
            )
            for level in LEVELS[machine]
        ]
        units += [(runtime / "dispatch.cpp", ["-march=x86_64"], "dispatch")]
        units += [(HERE / "processor.cpp", ["-march=x86_64"], "processor")]
    objects = []
    for source, more, name in units:
        objects.append(str(work / f"{name}.o"))
        # The functions that compilers call by themselves come once.
        once = [] if name in ("runtime", "v2") else ["-DKN_NO_MEMORY"]
        _run([*common, *more, *once, "-c", str(source), "-o", objects[-1]])
    library = work / f"{'' if system == 'windows' else 'lib'}kerneton{suffix}"
    link = ["-shared", "-nostdlib", "-s", "-o", str(library), *objects]
    if system == "macos":
        link += ["-lSystem", "-Wl,-install_name,@rpath/libkerneton.dylib"]
    elif system == "linux":
        link += ["-Wl,--gc-sections", "-Wl,-soname,libkerneton.so"]
    else:
        link += [f"-Wl,--out-implib,{work / 'kerneton.lib'}"]
    _run([*common, *link])
    return [library, work / "kerneton.lib"] if system == "windows" else [library]


def source_hash() -> str:
    """A checksum of the sources, so that a stale build is noticed."""
    digest = hashlib.sha256()
    for path in sorted([*HERE.rglob("*.cpp"), *HERE.rglob("*.h"), Path(__file__)]):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _compile(
    common: list[str], machine: str, zig: bool, level: str, source: Path, made: Path
) -> None:
    oldest = source.stem == "processor"  # runs before the level is known
    flags = []
    if machine == "x86_64":
        name = "x86-64" if oldest else f"x86-64-{level}"
        flags = [f"-march={name.replace('-', '_') if zig else name}"]
        if level == "v4" and not oldest:
            flags.append("-mprefer-vector-width=512")
    _run([*common, *flags, "-c", str(source), "-o", str(made)])


def _fallback() -> list[str]:
    for name in ("c++", "g++"):
        if shutil.which(name):
            return [name]
    raise SystemExit(
        "Kerneton's core needs a C++ compiler to be built, and there is none: pip install ziglang, or name one "
        "in the environment variable KERNETON_CXX"
    )


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"building Kerneton's core failed: {shlex.join(command)}\n{done.stderr.strip()}"
        )
    if done.stderr.strip():
        sys.stderr.write(done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--target", help="system-processor, such as linux-aarch64 (this machine's by default)"
    )
    parser.add_argument("--compiler", type=shlex.split, help="command of the compiler")
    parser.add_argument("--folder", type=Path, default=TARGET, help="where the libraries go")
    parser.add_argument(
        "--flag", action="append", default=[], help="more flags, such as -fsanitize=address"
    )
    parser.add_argument(
        "--level", action="append", default=[], help="one level alone, such as v3; may be repeated"
    )
    parser.add_argument(
        "--if-needed",
        action="store_true",
        help="do nothing if the libraries belong to these sources",
    )
    chosen = parser.parse_args()
    listed = TARGET / MANIFEST
    if (
        chosen.if_needed
        and listed.exists()
        and json.loads(listed.read_text()).get("source") == source_hash()
    ):
        sys.exit(0)
    levels = tuple(chosen.level)
    made = build(chosen.target, chosen.compiler, tuple(chosen.flag), chosen.folder, levels)
    if chosen.folder == TARGET and not chosen.target:
        made += build_runtime(TARGET.parent / "runtime", (this_platform(),), chosen.compiler)
    for path in made:
        print(path)
