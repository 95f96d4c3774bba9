"""How the gallery runs the examples: in which order, where they write, and where their pictures
go.
"""

import shutil
from pathlib import Path

OUTPUT = Path(__file__).parent / "_generated" / "examples"
ORDER = [  # from first steps to the mathematics
    *("first_recognition", "own_csv", "folder_of_bvh", "cross_subject_report", "explanation"),
    *(
        "own_kernel",
        "own_layout",
        "unknown_actions",
        "what_sck_sees",
        "exact_against_linearised",
        "what_epn_does",
        "choosing_joints",
    ),
]


def position(filename):
    """Where an example stands in the gallery."""
    return ORDER.index(Path(filename).stem)


def arguments(gallery_conf, script_vars):  # noqa: ARG001
    """The command line of an example: an empty folder to write into."""
    folder = OUTPUT / Path(script_vars["src_file"]).stem
    shutil.rmtree(folder, ignore_errors=True)
    return [str(folder)]


def saved_pictures(block, block_vars, gallery_conf):  # noqa: ARG001
    """The pictures that a cell has saved, to be shown below it."""
    from sphinx_gallery.scrapers import figure_rst

    folder = OUTPUT / Path(block_vars["src_file"]).stem
    shown = []
    for picture in sorted(folder.glob("*.png"), key=lambda path: path.stat().st_mtime_ns):
        shown.append(next(block_vars["image_path_iterator"]))
        shutil.move(picture, shown[-1])
    return figure_rst(shown, gallery_conf["src_dir"])
