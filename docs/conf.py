"""How the documentation is built: ``make docs``, or ``sphinx-build -W docs docs/_build``.

Pages are Markdown (MyST), the gallery runs ``examples/*.py``, the reference comes from docstrings.
Formulas become MathML, which browsers draw themselves: the site needs no network.
"""

import subprocess
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from latex2mathml.converter import convert

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
GENERATED = DOCS / "_generated"

sys.path.insert(0, str(DOCS))  # for gallery_hooks

project = "Kerneton"
author = "The Kerneton developers"
copyright = "2026, the Kerneton developers"
version = release = version_of("kerneton")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
# reference.md is api.md for those who read the source
exclude_patterns = [
    "reference.md",
    "_build",
    "_generated",
    "gallery/*.ipynb",
    "gallery/*.py",
    "gallery/*.md5",
]
default_role = "py:obj"  # `sck_kernel` in a docstring is a link where there is something to link to
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"Kerneton {release}"
html_math_renderer = "mathml"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["kerneton.css"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say shapes, which types cannot
napoleon_google_docstring = False

sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery_hooks.position",
    "image_scrapers": ("gallery_hooks.saved_pictures",),
    "reset_argv": "gallery_hooks.arguments",
    "reset_modules": (),
    "notebook_extensions": set(),  # the scripts take an argument, notebooks have none
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "abort_on_example_error": True,
}


def _mathml(display):
    def visit(translator, node):
        from docutils import nodes

        formula = convert(node.astext(), display=display)
        translator.body.append(
            f'<div class="formula">{formula}</div>' if display == "block" else formula
        )
        raise nodes.SkipNode

    return visit


def _draw(app):  # noqa: ARG001
    """Draw the pictures of the concepts, in a process of its own: drawing must not change this
    one.
    """
    command = [sys.executable, str(DOCS / "pictures.py"), str(GENERATED)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _live_example(app, error):
    """An exported model, which the page "Out of Python" runs in the reader's browser."""
    if error is None and app.builder.format == "html":
        command = [sys.executable, str(DOCS / "live_example.py"), str(Path(app.outdir, "live"))]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def setup(app):
    """Register what is ours."""
    app.connect("build-finished", _live_example)
    app.add_html_math_renderer("mathml", (_mathml("inline"), None), (_mathml("block"), None))
    app.connect("builder-inited", _draw, priority=100)  # before the gallery is made
