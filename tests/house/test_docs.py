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
from kerneton import make_actions
from kerneton.cli import demo, main
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
        assert (site / f"{source.stem}.html").is_file()
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


# the tutorial, the README and the page of questions


# the plain kernel: six trainings in a fraction of the time
SHORTER = {"evaluate": ["--kernel", "sck"]}


def test_tutorial_does_what_it_shows(tmp_path, monkeypatch, capsys):
    """Its Python makes the folders; its commands print the words shown, ``...`` standing for any.
    Numbers may differ.
    """
    text = page("tutorial.md")
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", text, re.S)
    exec(compile(program, "tutorial.md", "exec"), {})
    assert len(list(Path("my-recordings").rglob("*.csv"))) == 60
    told = commands(text)
    assert [words[0] for words, _ in told] == ["info", "evaluate", "fit", "predict", "explain"]
    for words, shown in told:
        check(words + SHORTER.get(words[0], []), shown, capsys)
    for written in ("report.html", "model.kern", "why.png"):
        assert Path(written).stat().st_size > 10_000


def test_readme_does_what_it_shows(tmp_path, monkeypatch, capsys):
    """The folders are those that the demo leaves; the page of the report is written by the
    tutorial's test.
    """
    monkeypatch.chdir(tmp_path)
    demo._write_recordings(
        Path("kerneton-demo"), make_actions(n_subjects=6, n_takes=2), demo.strangers(2)
    )
    told = [
        (words, shown)
        for words, shown in commands((ROOT / "README.md").read_text("utf-8"))
        if shown
    ]
    assert [words[0] for words, _ in told] == ["info", "evaluate", "fit", "predict", "explain"]
    for words, shown in told:
        check([word for word in words if word not in ("--html", "report.html")], shown, capsys)


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
