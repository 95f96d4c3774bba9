"""Write the pages that come from the code: ``python docs/generate.py``; with ``--check``, say
whether they are up to date.

``command-line.md`` holds what ``--help`` prints, ``formats.md`` what the readers' docstrings and
the layouts say, ``reference.md`` the docstrings of the public names, to be read without a built
site.
"""

import argparse
import importlib
import inspect
import os
import re
import sys
from pathlib import Path

os.environ["COLUMNS"] = "100"  # the width at which --help is set

import kerneton
from kerneton.cli import build_parser
from kerneton.data.layouts import LAYOUTS
from kerneton.data.mapping import ALIASES
from kerneton.files import readers

DOCS = Path(__file__).parent
NOTE = "<!-- Written by docs/generate.py from the code. Change it there. -->\n\n"

COMMAND_LINE = """\
# The command line

This page is what `kerneton --help` and `kerneton COMMAND --help` print. Every command takes `--json FILE` (`-` for the
screen) and `--quiet`; results go to the standard output, progress and warnings to the standard error. The exit status is
0 for success, 1 for an error in the input, 2 for wrong usage and 130 after an interruption.
"""

FORMATS = """\
# Formats and layouts

{py:func}`kerneton.read` detects the format of a file from its content, not from its name, and returns recordings in one convention:
right-handed axes, y up, z away from the camera, metres if the format has a unit. Two-dimensional formats have z = 0.
A joint that was not seen is NaN, or has zero confidence. `kerneton info FILE` shows the detected format and the contents of a file;
[Units and axes](units-and-axes.md) explains files in millimetres, with z up, or with left-handed axes.

No file can run code. A file that would need more memory than 64 MiB plus a hundred times its size is refused. Devices and
pipes are not read.

## Formats

"""

REFERENCE = """\
# Reference, as text

The docstrings of all public names, in the order of [api.md](api.md), from which `make docs` builds a page with links.
"""

LAYOUTS_TEXT = """\
## Layouts

A layout names the joints of a recording in order, its bones, its root, and sets of joints. The same name means the same
joint in all layouts, so that a model trained on one kind of recording can be used on another
({py:func}`kerneton.map_layout`). Define your own layout with {py:class}`kerneton.Layout`.

"""

STAND_INS_TEXT = """\
## Substitutes for missing joints

If a joint of the target layout is missing, `map_layout` uses the first of these substitutes that is present; for several joints, their
mean. `*` is `left` or `right`.

"""


def commands() -> dict[str, argparse.ArgumentParser]:
    """Every command's parser, by name."""
    (action,) = [a for a in build_parser()._actions if isinstance(a.choices, dict)]
    return dict(action.choices)


def command_line_page() -> str:
    """What ``--help`` prints, command after command."""
    parts = [NOTE + COMMAND_LINE, f"```text\n{_help(build_parser())}```\n"]
    parts += [
        f"## kerneton {name}\n\n```text\n{_help(parser)}```\n"
        for name, parser in commands().items()
    ]
    return "\n".join(parts)


def _help(parser: argparse.ArgumentParser) -> str:
    # Python 3.13 says "-o, --output FOLDER" where older ones said "-o FOLDER, --output FOLDER".
    return re.sub(r"(-\w) (\S+), (--\S+) \2", r"\1, \3 \2", parser.format_help())


def formats_page() -> str:
    """Every reader and every layout, from the code."""
    formats, written = readers.formats(), readers.writable()
    rows = [("format", "what it is", "written as")]
    details = []
    for name, module in formats.items():
        title, _, body = inspect.getdoc(module).partition("\n")
        endings = ", ".join(f"`{suffix}`" for suffix, writer in written.items() if writer == name)
        rows.append(
            (f"[{name}](#{name.replace('_', '-')})", _markdown(title), endings or "not written")
        )
        details.append(f"### {name}\n\n{_markdown(title)}\n{_markdown(body)}\n")
    layouts = [("layout", "joints", "root", "joint sets", "joints in order")]
    for name, layout in LAYOUTS.items():
        root = "none" if layout.root is None else layout.joints[layout.root]
        layouts.append(
            (
                f"`{name}`",
                str(len(layout.joints)),
                root,
                ", ".join(layout.sets),
                ", ".join(layout.joints),
            )
        )
    stand_ins = [("joint", "substitutes")]
    for joint, choices in ALIASES.items():
        stand_ins.append(
            (f"`{joint}`", "; ".join(" and ".join(f"`{j}`" for j in c) for c in choices))
        )
    tables = [
        _table(rows),
        "\n".join(details),
        LAYOUTS_TEXT + _table(layouts),
        STAND_INS_TEXT + _table(stand_ins),
    ]
    return NOTE + FORMATS + "\n".join(tables)


def reference_page() -> str:
    """Signatures and docstrings of what ``api.md`` lists, class by class and function by
    function.
    """
    parts = [NOTE + REFERENCE]
    for line in (DOCS / "api.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## ") and line != "## What stays stable":
            parts.append(f"{line}\n")
        if found := re.match(r"\.\. auto(class|function|module):: (\S+)", line):
            parts.append(_described(found[1], found[2]))
    return "\n".join(parts)


def _described(kind: str, name: str) -> str:
    module, _, short = name.rpartition(".")
    if kind == "module":
        thing = importlib.import_module(name)
        inside = [
            (each, getattr(thing, each))
            for each in sorted(vars(thing))
            if getattr(getattr(thing, each), "__module__", "") == name and not each.startswith("_")
        ]
        texts = [f"{each}{_signature(value)}\n{_indented(value)}" for each, value in inside]
        return _section(name, inspect.getdoc(thing) or "", texts)
    thing = getattr(importlib.import_module(module) if module else kerneton, short)
    methods = [
        f"{each}{_signature(getattr(thing, each))}\n{_indented(getattr(thing, each))}"
        for each, value in (vars(thing).items() if kind == "class" else ())
        if not each.startswith("_") and inspect.isfunction(value)
    ]
    return _section(short, f"{short}{_signature(thing)}\n\n{inspect.getdoc(thing) or ''}", methods)


def _section(name: str, text: str, parts: list[str]) -> str:
    body = "\n\n".join([text, *parts]).rstrip()
    return f"### {name}\n\n```text\n{body}\n```\n"


def _signature(thing: object) -> str:
    """The parameters with their defaults, without types."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    empty = inspect.Parameter.empty
    plain = [p.replace(annotation=empty) for p in signature.parameters.values() if p.name != "self"]
    text = str(inspect.Signature(plain))
    return text if "<" not in text else re.sub(r"=<[^>]*>", "=...", text)


def _indented(thing: object) -> str:
    lines = (inspect.getdoc(thing) or "").splitlines()
    return "\n".join(f"    {line}" if line else "" for line in lines)


def _markdown(docstring: str) -> str:
    """A docstring's reStructuredText, of which readers use little, as Markdown."""
    text = re.sub(r"``(.+?)``", r"`\1`", docstring)
    return re.sub(
        r"(?m)^((?: {4}.*\n?)+)", lambda m: f"```text\n{inspect.cleandoc(m[1])}\n```\n", text
    )


def _table(rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    lines.insert(1, "| " + " | ".join("---" for _ in rows[0]) + " |")
    return "\n".join(lines) + "\n"


PAGES = {
    "command-line.md": command_line_page,
    "formats.md": formats_page,
    "reference.md": reference_page,
}


def is_current(name: str) -> bool:
    """Whether the page says what the code says; argparse's line breaks differ between versions of
    Python.
    """
    path = DOCS / name
    return path.is_file() and path.read_text(encoding="utf-8").split() == PAGES[name]().split()


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description="Write the pages that come from the code.")
    parser.add_argument("--check", action="store_true", help="only say which pages are out of date")
    stale = [name for name in PAGES if not is_current(name)]
    if parser.parse_args().check:
        for name in stale:
            print(f"docs/{name} is out of date: run python docs/generate.py", file=sys.stderr)
        return bool(stale)
    for name in stale:
        (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
