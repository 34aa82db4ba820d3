"""`python -m promptls.docgen`: writes the generated files of a checkout; `--check` only lists stale ones."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from promptls.docgen.generated_files import PACKAGE, generated_files, stale_files
from promptls.security.written_files import replace_file


def main() -> int:
    """Write and list stale files; with `--check`, write nothing, and return 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m promptls.docgen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file is stale")
    only_check = parser.parse_args().check
    checkout = Path(__file__).resolve().parents[3]
    if not (checkout / PACKAGE).is_file():
        sys.stderr.write("The generated files are part of a checkout of promptls: run this in one.\n")
        return 2
    stale = stale_files(checkout)
    texts = generated_files(checkout)
    for path in stale:
        sys.stdout.write(f"{'stale' if only_check else 'written'}: {path.relative_to(checkout)}\n")
        if not only_check:
            path.parent.mkdir(exist_ok=True)
            with replace_file(path) as stream:
                stream.write(texts[path])
    return int(only_check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
