"""How the names in includes lead to files.

Prompt Poet hands them to Jinja's file system loader, whose only folder is that of the
entry template: names count from there and not from the file that they stand in, `..` is
refused, and `./`, a leading `/` and `//` say nothing.
"""

from __future__ import annotations

from pathlib import Path


def parts_of_name(name: str) -> tuple[str, ...] | None:
    """The folders and the file of an include's name, or None where Jinja refuses the name."""
    parts = []
    for part in name.split("/"):
        if part == "..":
            return None
        if part and part != ".":
            parts.append(part)
    return tuple(parts) or None


def path_in(folder: str, name: str) -> str | None:
    """The path that `name` has when the entry template lies in `folder`."""
    parts = parts_of_name(name)
    return str(Path(folder, *parts)) if parts else None


def ancestors(path: str, roots: tuple[str, ...]) -> tuple[str, ...]:
    """The folders around a file, nearest first, up to the workspace root that holds it.

    Outside every root only the file's own folder.
    """
    folder = Path(path).parent
    found = [str(folder)]
    while str(folder) not in roots and folder.parent != folder:
        if not any(str(folder).startswith(root.rstrip("/\\")) for root in roots):
            break
        folder = folder.parent
        found.append(str(folder))
    return tuple(found)
