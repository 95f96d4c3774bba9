"""Pages agree with the code, the tutorial's commands do what it shows, and the site builds without
a warning.
"""

from __future__ import annotations

import doctest
import html.parser
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import kerneton
from kerneton.cli import main
from kerneton.data.layouts import LAYOUTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MEASURED = ("reproduction", "accuracy", "performance")
BUILD_NEEDS = (
    "sphinx",
    "myst_parser",
    "furo",
    "sphinx_gallery",
    "latex2mathml",
    "matplotlib",
    "pandas",
)


@pytest.fixture(scope="module")
def generate():
    """The script that writes pages from the code."""
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "")  # so that the script's own setting is undone afterwards
        spec.loader.exec_module(module)
        yield module


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


# pages made from the code


@pytest.mark.parametrize("name", ["command-line.md", "formats.md"])
def test_generated_page_is_up_to_date(generate, name):
    assert generate.is_current(name), f"docs/{name} is out of date: run python docs/generate.py"


def test_stale_page_is_noticed_and_written(generate, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(generate, "DOCS", tmp_path)
    text = page("formats.md")
    (tmp_path / "api.md").write_text(page("api.md"), encoding="utf-8")  # its names
    (tmp_path / "formats.md").write_text(text.replace("kinect25", "kinect26"), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    assert generate.main() == 1
    assert "docs/formats.md is out of date: run python docs/generate.py" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["generate.py"])
    assert generate.main() == 0
    assert (tmp_path / "formats.md").read_text(encoding="utf-8") == text
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    assert generate.main() == 0


def test_every_command_is_on_the_page_with_its_options(generate):
    text = page("command-line.md")
    for name, parser in generate.commands().items():
        section = text.partition(f"## kerneton {name}\n")[2].partition("\n## ")[0]
        for action in parser._actions:
            assert all(option in section for option in action.option_strings)


def test_every_reader_and_layout_is_on_the_page():
    text = page("formats.md")
    for path in (ROOT / "src/kerneton/files/readers").glob("[a-z]*.py"):
        assert f"\n### {path.stem}\n" in text
    for name, layout in LAYOUTS.items():
        assert f"| `{name}` | {len(layout.joints)} |" in text


def test_every_public_name_is_in_the_reference():
    documented = re.findall(
        r"\.\. auto(?:class|function):: (?:kerneton\.(?:\w+\.)*)?(\w+)", page("api.md")
    )
    assert sorted(set(kerneton.__all__) - {"__version__"} - set(documented)) == []


def test_every_example_has_a_place_in_the_gallery(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    import gallery_hooks

    assert sorted(gallery_hooks.ORDER) == sorted(
        path.stem for path in (ROOT / "examples").glob("*.py")
    )


# the site


class Links(html.parser.HTMLParser):
    """Where a page's links lead, what it loads, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if "id" in found:
            self.anchors.add(found["id"])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif found.get("src"):
            self.loaded.append(found["src"])
        elif tag == "link" and found.get("rel") == "stylesheet":
            self.loaded.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built with warnings as errors; examples are shown but not run, which test_examples
    does.
    """
    for package in BUILD_NEEDS:
        pytest.importorskip(
            package, reason=f"the site needs {package}: pip install 'kerneton[docs]'"
        )
    root = tmp_path_factory.mktemp("repository")
    shutil.copytree(
        DOCS, root / "docs", ignore=shutil.ignore_patterns("_build", "_generated", "gallery")
    )
    for name in ("src", "examples", "README.md", "pyproject.toml"):
        (root / name).symlink_to(ROOT / name)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "--keep-going",
            "-q",
            "-D",
            "plot_gallery=0",
            "docs",
            "site",
        ],
        cwd=root,
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return root / "site"


def test_site_has_every_page(site):
    for source in DOCS.glob("*.md"):
        # reference.md is the site's api.md for those who read the source
        assert (site / f"{source.stem}.html").is_file() != (source.stem == "reference")
    for example in (ROOT / "examples").glob("*.py"):
        assert (site / "gallery" / f"{example.stem}.html").is_file()


def test_site_needs_no_network_and_its_links_lead_somewhere(site):
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    unwritten = {f"#{name}.md" for name in MEASURED if not (DOCS / f"{name}.md").is_file()}
    broken = []
    for path, found in pages.items():
        assert not [url for url in found.loaded if url.startswith(("http:", "https:", "//"))]
        for link in found.links + found.loaded:
            if re.match(r"[a-z]+:", link) or link in unwritten:
                continue
            url, anchor = urldefrag(unquote(link))
            target = (path.parent / url.partition("?")[0]).resolve() if url else path
            there = target.is_file() and (
                target not in pages or anchor in {"", *pages[target].anchors}
            )
            if not there:
                broken.append(f"{path.name}: {link}")
    assert broken == []


def test_formulas_are_drawn_by_the_browser(site):
    text = (site / "method.html").read_text(encoding="utf-8")
    assert text.count("<math ") > 20
    formulas = re.findall(r"<math .*?</math>", text, re.S)
    assert not [f for f in formulas if "<mtext>\\" in f or "<mo>&amp;</mo>" in f], (
        "TeX that was not understood"
    )


@pytest.mark.parametrize("width", [400, 1100, 1500])
def test_no_page_of_the_site_is_wider_than_the_window(site, width):
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if (chromium := shutil.which("chromium")) is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as driver:
        window = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = window.new_page(viewport={"width": width, "height": 800})
        for name in ("scale", "accuracy", "command-line", "method"):
            tab.goto((site / f"{name}.html").as_uri())
            assert tab.evaluate("document.documentElement.scrollWidth") == width, name
        window.close()


# the README, the tutorial and the page of questions


@pytest.fixture(scope="module")
def outputs():
    spec = importlib.util.spec_from_file_location("outputs", ROOT / "docs" / "outputs.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["outputs"] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_pages_print_what_they_show(outputs, name, tmp_path):
    """Every command and program, in the order printed, in a folder of its own; what the README's
    commands write in a clone is ignored by git.
    """
    _, wrong = outputs.written(ROOT / name, tmp_path)
    assert not wrong, "bring the page up to date: python docs/outputs.py\n" + "\n".join(wrong)
    if name == "README.md":
        left = sorted(path.name for path in tmp_path.iterdir())
        assert {"kerneton-demo", "report.html", "model.kern", "why.png", "page.html"} <= set(left)
        told = subprocess.run(
            ["git", "check-ignore", *(f"{n}/" if (tmp_path / n).is_dir() else n for n in left)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        if told.returncode == 128:
            pytest.skip("not a git checkout")
        assert [line.rstrip("/") for line in told.stdout.split()] == left


def test_what_differs_from_a_page_is_noticed(outputs):
    shown = "accuracy 95.0 %, in 1.0 s\n...\nwrote a.kern\n"
    said = "accuracy 95.1 %, in 9.0 s\nmore\nwrote a.kern\n"
    assert outputs.difference(shown, said) == ""
    assert outputs.difference(shown, said.replace("95.1", "97.1")).startswith("shown accuracy 95.0")
    assert outputs.difference(shown, said.replace("a.kern", "b.kern"))
    assert outputs.difference(shown, "accuracy 95.0 %, in 1.0 s\n")
    text = "```console\n$ make demo\n```\n<!-- not run: time -->\n```console\n$ rm x\n```\n"
    assert [step.words[0] for step in outputs.steps(text)] == ["kerneton"]
    assert outputs.MADE["make demo"] in (ROOT / "Makefile").read_text("utf-8")


def test_questions_have_answers_that_run(tmp_path, monkeypatch, capsys):
    text = page("how-do-i.md")
    assert re.findall(r"\n### (\d+)\. How do I ", text) == [str(n) for n in range(1, 21)]
    monkeypatch.chdir(tmp_path)
    namespace: dict = {}
    for kind, block in re.findall(r"```(python|console)\n(.*?)```", text, re.S):
        if kind == "python":
            exec(compile(block, "how-do-i.md", "exec"), namespace)
        for words, _ in commands(f"```console\n{block}```") if kind == "console" else ():
            assert main(words) == 0, f"kerneton {' '.join(words)}: {capsys.readouterr().err}"
    for written in (
        "wave.gif",
        "wave.npz",
        "part.csv",
        "report.html",
        "report.json",
        "labels.csv",
        "why.png",
    ):
        assert Path(written).stat().st_size > 0


def commands(text: str) -> list[tuple[list[str], str]]:
    """The words after ``$ kerneton``, and what the page says is printed."""
    blocks = re.findall(r"```console\n(.*?)```", text, re.S)
    found = [
        part
        for block in blocks
        for part in re.split(r"(?m)^\$ ", block)
        if part.startswith("kerneton ")
    ]
    lines = [part.partition("\n") for part in found]
    return [(shlex.split(first, comments=True)[1:], shown) for first, _, shown in lines]


def check(words: list[str], shown: str, capsys) -> None:
    assert main(words) == 0
    said = capsys.readouterr().out
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    same = doctest.OutputChecker().check_output(
        without_numbers(shown), without_numbers(said), options
    )
    assert same, f"kerneton {' '.join(words)} said\n{said}"


def without_numbers(text: str) -> str:
    return re.sub(r"(?<![\w.])[+-]?\d+(\.\d+)?(?=[\s%,:)]|$)", "#", text)
