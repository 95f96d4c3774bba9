"""Check the wheels of all platforms: size, contents, what each library exports and what it imports.

    python .ci/check_wheels.py dist linux-x86_64 macos-aarch64 ...

The library for this machine is also loaded and asked for a power of a matrix.
"""

from __future__ import annotations

import importlib.util
import json
import platform
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 6 * 2**20
# What a library may take from the system: nothing but the loader's own hooks.
HARMLESS = {
    "__cxa_finalize",
    "__gmon_start__",
    "_ITM_deregisterTMCloneTable",
    "_ITM_registerTMCloneTable",
}


def declared() -> set[str]:
    """Functions that the C header declares."""
    header = (ROOT / "core" / "kerneton_core.h").read_text(encoding="utf-8")
    return set(re.findall(r"^KN_API [\w ]+?\*?(kn_\w+)\(", header, re.M))


def elf_symbols(data: bytes) -> tuple[set[str], set[str]]:
    """Exported and imported dynamic symbols of an ELF file of 64 bits."""
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + size * k) for k in range(count)]
    exported, imported = set(), set()
    for header in headers:
        if header[1] != 11:  # SHT_DYNSYM
            continue
        strings = headers[header[6]][4]
        for at in range(header[4], header[4] + header[5], 24):
            name, _, _, where, _, _ = struct.unpack_from("<IBBHQQ", data, at)
            if name:
                end = data.index(b"\0", strings + name)
                text = data[strings + name : end].decode()
                (exported if where else imported).add(text)
    return exported, imported


def mach_symbols(data: bytes) -> tuple[set[str], set[str]]:
    """Exported and imported symbols of a Mach-O file of 64 bits."""
    (n_commands,) = struct.unpack_from("<I", data, 16)
    at, exported, imported = 32, set(), set()
    for _ in range(n_commands):
        command, size = struct.unpack_from("<II", data, at)
        if command == 2:  # LC_SYMTAB
            first, count, strings, _ = struct.unpack_from("<IIII", data, at + 8)
            for k in range(count):
                name, kind, _, _, _ = struct.unpack_from("<IBBHQ", data, first + 16 * k)
                text = data[strings + name : data.index(b"\0", strings + name)].decode()
                if kind & 1:  # external
                    (imported if kind & 0x0E == 0 else exported).add(text.removeprefix("_"))
        at += size
    return exported, imported - {"dyld_stub_binder"}


def pe_symbols(data: bytes) -> tuple[set[str], set[str]]:
    """Exported names and imported libraries of a PE file of 64 bits."""
    (header,) = struct.unpack_from("<I", data, 60)
    n_sections, options = (
        struct.unpack_from("<H", data, header + 6)[0],
        struct.unpack_from("<H", data, header + 20)[0],
    )
    tables = header + 24 + 112
    sections = [
        struct.unpack_from("<IIII", data, header + 24 + options + 40 * k + 8)
        for k in range(n_sections)
    ]

    def place(address: int) -> int:
        _, start, _, raw = next(s for s in sections if s[1] <= address < s[1] + max(s[0], s[2]))
        return raw + address - start

    def text(address: int) -> str:
        at = place(address)
        return data[at : data.index(b"\0", at)].decode()

    exports, _, imports, n_imports = struct.unpack_from("<IIII", data, tables)
    at = place(exports)
    count, names = (
        struct.unpack_from("<I", data, at + 24)[0],
        struct.unpack_from("<I", data, at + 32)[0],
    )
    exported = {text(a) for a in struct.unpack_from(f"<{count}I", data, place(names))}
    imported = set()
    if n_imports:
        at = place(imports)
        while (entry := struct.unpack_from("<IIIII", data, at))[3]:
            imported.add(text(entry[3]))
            at += 20
    return exported, imported


SYMBOLS = {".so": elf_symbols, ".dylib": mach_symbols, ".dll": pe_symbols}


def check(wheel: Path, target: str) -> str:
    """One wheel; returns a line about it."""
    size = wheel.stat().st_size
    assert size < LARGEST, f"{wheel.name}: {size / 2**20:.1f} MB"
    with zipfile.ZipFile(wheel) as archive:
        listed = json.loads(archive.read("kerneton/core/libraries.json"))
        assert listed["platform"] == target, f"{wheel.name} is for {listed['platform']}"
        own = {
            name
            for name in archive.namelist()
            if Path(name).suffix in SYMBOLS and name.startswith("kerneton/core/")
        }
        assert own == {
            f"kerneton/core/{entry['file']}" for entry in listed["libraries"].values()
        }, own
        for entry in listed["libraries"].values():
            data = archive.read(f"kerneton/core/{entry['file']}")
            assert len(data) == entry["size"], entry
            exported, imported = SYMBOLS[Path(entry["file"]).suffix](data)
            missing, foreign = declared() - exported, imported - HARMLESS
            assert not missing, f"{entry['file']} of {target} lacks {sorted(missing)}"
            assert not foreign, f"{entry['file']} of {target} needs {sorted(foreign)}"
    return f"{wheel.name}: {size / 2**20:.1f} MB, {', '.join(listed['libraries'])}, exports all, imports nothing"


def main() -> None:
    """Check every wheel that the command line names."""
    folder, targets = Path(sys.argv[1]), sys.argv[2:]
    spec = importlib.util.spec_from_file_location("core_build", ROOT / "core" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    for target in targets:
        name = builder.wheel_platform(target).split(".")[0]
        (wheel,) = (path for path in folder.glob("*.whl") if name in path.name)
        print(check(wheel, target))
    if (
        platform.system() == "Linux"
        and "linux-x86_64" in targets
        and platform.machine() == "x86_64"
    ):
        with tempfile.TemporaryDirectory() as scratch:
            (wheel,) = folder.glob("*manylinux_2_17_x86_64*.whl")
            zipfile.ZipFile(wheel).extractall(scratch)
            subprocess.run(
                [sys.executable, "-m", "doctest", f"{scratch}/kerneton/core/powers.py"],
                check=True,
                env={"PYTHONPATH": scratch},
            )


if __name__ == "__main__":
    main()
