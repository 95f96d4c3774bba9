"""The paper's tables, comparisons of presets, benchmarks: imported only by the command line."""

import os

AnyPath = str | os.PathLike[str]
