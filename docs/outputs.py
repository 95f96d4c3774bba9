"""Run the commands and programs of README.md and docs/tutorial.md in the order printed, and write
what they print into the pages: ``python docs/outputs.py``; with ``--check``, compare instead.

Numbers may differ by one per cent or two units of the last digit shown; durations may be anything.
``...`` stands for lines that are left out. What stands below ``<!-- not run: the reason -->`` is
not run.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "tutorial.md")
# What the Makefile runs after it has installed; the tests do not run themselves.
MADE = {"make demo": "kerneton demo -o kerneton-demo", "make test": ""}
NOT_RUN = re.compile(r"<!-- not run: .*? -->\s*\Z")
NUMBER = re.compile(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?=[\s%,:);]|$)")
DURATION = re.compile(r"[\d.]+ (?:ms|s) per (?:split|recording)|in [\d.]+ s$", re.M)


@dataclass(frozen=True)
class Step:
    """A command or a program of a page, and the place of its output there."""

    words: tuple[str, ...]
    start: int
    stop: int  # of the output in the page's text


def steps(text: str) -> Iterator[Step]:
    """What a page runs, in the order printed."""
    program = None
    for block in re.finditer(r"```(console|python|text)\n(.*?)```", text, re.S):
        kind, start = block[1], block.start(2)
        if NOT_RUN.search(text[: block.start()]):
            continue
        if program is not None:  # its output may stand in the block below it
            place = (start, block.end(2)) if kind == "text" else (start, start)
            yield Step(("python", "-c", program), *place)
            program = None
        if kind == "python":
            program = block[2]
        if kind == "console":
            for each in re.finditer(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)", block[2]):
                line = each[1].partition("  #")[0].strip()
                if words := shlex.split(MADE.get(line, line)):
                    yield Step(tuple(words), start + each.start(2), start + each.end(2))
    if program is not None:
        yield Step(("python", "-c", program), len(text), len(text))


def run(step: Step, folder: Path) -> str:
    """What the step prints on the standard output."""
    python = {
        "kerneton": [sys.executable, "-m", "kerneton", *step.words[1:]],
        "python": [sys.executable, *step.words[1:]],
    }
    if step.words[0] not in python:
        raise SystemExit(f"cannot run {shlex.join(step.words)}: mark it as not run")
    done = subprocess.run(
        python[step.words[0]],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path if place),
            "PYTHONIOENCODING": "utf-8",
            "MPLBACKEND": "agg",
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{shlex.join(step.words)[:200]}\n{done.stdout}{done.stderr}")
    return done.stdout


def shortened(said: str, shown: str) -> str:
    """The printed lines that the page shows: as many as now, with ``...`` at the same places.

    >>> shortened("a 1\\nb\\nc 2\\nd\\n", "a 3\\n...\\nc 4\\n")
    'a 1\\n...\\nc 2\\n'
    """
    lines, found, at = said.splitlines(), [], 0
    parts = [part.splitlines() for part in re.split(r"(?m)^\.\.\.\n", shown)]
    for k, part in enumerate(parts):
        found += ["..."] * (k > 0)
        if k and part:
            alike = (i for i in range(at, len(lines)) if same_words(part[0], lines[i]))
            at = next(alike, len(lines))
        size = len(part) if len(parts) > 1 else len(lines)
        found += lines[at : at + size]
        at += size
    return "".join(f"{line}\n" for line in found)


def same_words(shown: str, said: str) -> bool:
    """Whether two texts differ in nothing but numbers and blanks."""
    return _words(shown) == _words(said)


def difference(shown: str, said: str) -> str:
    """What differs between the page and the output; empty if it is the same to the tolerance.

    >>> difference("accuracy 95.0 %, in 2.0 s\\n", "accuracy 95.1 %, in 7.3 s\\n")
    ''
    >>> difference("accuracy 95.0 %\\n", "accuracy 97.5 %\\n")
    'shown accuracy 95.0 %\\nsaid  accuracy 97.5 %'
    """
    said = shortened(said, shown)
    for old, new in zip(shown.splitlines(), said.splitlines(), strict=False):
        pairs = zip(_numbers(old), _numbers(new), strict=False)
        if not same_words(old, new) or not all(_near(a, b) for a, b in pairs):
            return f"shown {old}\nsaid  {new}"
    if len(shown.splitlines()) != len(said.splitlines()):
        return f"shown {len(shown.splitlines())} lines, said {len(said.splitlines())}:\n{said}"
    return ""


def _words(text: str) -> list[str]:
    return re.sub(r"#(\s*#)*", "#", NUMBER.sub("#", DURATION.sub("", text))).split()


def _numbers(text: str) -> list[str]:
    return NUMBER.findall(DURATION.sub("", text))


def _near(shown: str, said: str) -> bool:
    digits = len(shown.partition(".")[2])
    slack = 0.01 * abs(float(shown)) + (2 * 10.0**-digits if digits else 0)
    return abs(float(shown) - float(said)) <= slack


def written(page: Path, folder: Path) -> tuple[str, list[str]]:
    """The page with the outputs of now, and what differs from the page."""
    text = page.read_text(encoding="utf-8")
    new, end, wrong = "", 0, []
    for step in steps(text):
        said, shown = run(step, folder), text[step.start : step.stop]
        if shown and (problem := difference(shown, said)):
            wrong.append(f"{page.name}: {shlex.join(step.words)[:200]}\n{problem}")
        new += text[end : step.start] + (shortened(said, shown) if shown else "")
        end = step.stop
    return new + text[end:], wrong


def main(check: bool) -> int:
    """Bring the pages up to date, or say what is not."""
    problems = []
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            text, wrong = written(page, Path(folder))
        problems += wrong
        if not check:
            page.write_text(text, encoding="utf-8")
    for problem in problems:
        print(problem if check else f"changed: {problem}")
    return 1 if check and problems else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    sys.exit(main(parser.parse_args().check))
