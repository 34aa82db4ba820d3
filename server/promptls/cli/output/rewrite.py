"""Rewritten files, or the same changes as a diff."""

from __future__ import annotations

import os
import stat
from difflib import unified_diff
from pathlib import Path

from promptls.datasets.atomic import replaced
from promptls.text.errors import FilePlace, UserError


def rewrite(path: str, before: str, after: str) -> None:
    """Put `after` in the place of the text `before` of a file, as a whole or not at all.

    Permissions stay, and a link goes on leading to the same file. Raises UserError, and leaves the
    file alone, where its bytes are not those of `before`: it has changed in the meantime, or it is
    no UTF-8. Raises OSError.
    """
    target = Path(os.path.realpath(path))
    if target.read_bytes() != before.encode("utf-8", "surrogatepass"):
        raise UserError(
            "the file is left as it is: it is no UTF-8, or was changed in the meantime",
            FilePlace(path),
            "save it as UTF-8, and run the command again",
        )
    mode = stat.S_IMODE(target.stat().st_mode)
    with replaced(target) as stream:
        stream.write(after)
    target.chmod(mode)


def diff(path: str, before: str, after: str) -> str:
    """Return the change as a unified diff that `patch` and `git apply` read; empty where there is none."""
    name = Path(path).as_posix().lstrip("/")
    lines = unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> list[str]:
    # Tools for diffs know lines by "\n" alone, and keep a "\r" before it as part of the line.
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
