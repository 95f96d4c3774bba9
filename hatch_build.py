"""Hatchling's hook: a wheel contains the compiled core, built by core/build.py."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CoreBuildHook(BuildHookInterface):
    """Compile the core for KERNETON_TARGET (such as linux-aarch64), by default for this machine."""

    def dependencies(self) -> list[str]:
        if self.target_name != "wheel" or (
            _builder(self.root).own_compiler() and not os.environ.get("KERNETON_TARGET")
        ):
            return []
        return ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        builder = _builder(self.root)
        target = os.environ.get("KERNETON_TARGET") or builder.this_platform()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{builder.wheel_platform(target)}"
        package = Path(self.root) / "src" / "kerneton"
        if version == "editable":
            builder.build(target)
            builder.build_runtime(package / "runtime", (target,))
            return
        # Elsewhere, so that a wheel for another system leaves the checkout's own libraries alone.
        folder = Path(self.root) / "build" / f"core-{target}"
        made = builder.build(target, folder=folder)
        build_data["force_include"].update(
            {str(path): f"kerneton/core/{path.name}" for path in made}
        )
        # A wheel that is built for others brings libkerneton for every platform, as models travel.
        targets = builder.TARGETS if os.environ.get("KERNETON_TARGET") else (target,)
        runtime = Path(self.root) / "build" / f"runtime-{'all' if len(targets) > 1 else target}"
        for path in builder.build_runtime(runtime, targets):
            build_data["force_include"][str(path)] = (
                f"kerneton/runtime/{path.relative_to(runtime).as_posix()}"
            )


def _builder(root: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "kerneton_core_build", Path(root) / "core" / "build.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
