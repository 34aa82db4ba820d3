"""`python -m promptls`, which is the same as the console script `promptls`."""

from __future__ import annotations

import sys

from promptls.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
