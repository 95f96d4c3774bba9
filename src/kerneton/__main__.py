"""``python -m kerneton`` is the ``kerneton`` command."""

import sys

from kerneton.cli import main

if __name__ == "__main__":
    sys.exit(main())
