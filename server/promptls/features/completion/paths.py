"""Files by their path: templates as Prompt Poet finds them, and files beside the prompt."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from promptls.features.completion.item import Item
from promptls.features.completion.request import Request
from promptls.workspace.disk import has_prompt_name

MOST_FILES: Final = 400
"""How many files of a folder are offered."""
_MOST_LOOKED_AT: Final = 4000
_DATA: Final = frozenset(
    {".py", ".pyc", ".csv", ".jsonl", ".parquet", ".png", ".jpg", ".gz", ".zip", ".db", ".toml", ".lock"}
)
"""How the names of files end that nobody includes."""
_JINJA: Final = frozenset({".j2", ".jinja", ".jinja2"})
"""How the names of templates end."""
_SKIPPED: Final = frozenset({"node_modules", "__pycache__", "site-packages", "experiments"})


def template_paths(request: Request, keyword: str = "include") -> Iterator[Item]:
    """The templates that a tag may name, as it names them: from the entry template's folder.

    Prompt files first, then other texts, of which only `include` makes something; never the file itself,
    nor what the file declares as its data.
    """
    settings = request.declarations.settings
    named = [settings.samples, *(each.dataset for each in (settings.experiments or {}).values())]
    seen = {name for name in named if name}
    folders = request.snapshot.search_folders(request.path)
    for rank, folder in enumerate(folders[:3]):
        for name in _files_below(folder, ()):
            path = str(Path(folder, name))
            if path == request.path or name in seen or not _is_template(name, keyword):
                continue
            seen.add(name)
            detail = "" if rank == 0 else f"from {Path(folder).name}"
            yield Item(name, "file", (10 if has_prompt_name(name) else 30) + rank, detail=detail)
    for path in request.snapshot.open_files:
        for folder in folders[:1]:
            if path != request.path and Path(path).is_relative_to(folder):
                name = Path(path).relative_to(folder).as_posix()
                if name not in seen and _is_template(name, keyword):
                    yield Item(name, "file", 10)


def file_paths(folder: str, endings: tuple[str, ...]) -> Iterator[Item]:
    """The files below a folder whose names end in one of these ways, by their path from the folder."""
    for name in _files_below(folder, endings):
        yield Item(name, "file", 10 + min(name.count("/"), 5))


def _is_template(name: str, keyword: str) -> bool:
    suffix = PurePosixPath(name).suffix.lower()
    if keyword == "include":
        return suffix not in _DATA
    return has_prompt_name(name) or suffix in _JINJA


def _files_below(folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """The files below a folder, nearest first, by their path from it; hidden folders are left out."""
    looked_at = found = 0
    waiting = [""]
    while waiting and looked_at < _MOST_LOOKED_AT:
        inside = waiting.pop(0)
        try:
            with os.scandir(Path(folder, inside)) as entries:
                known = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except (OSError, ValueError):
            continue
        for name, is_folder in known:
            looked_at += 1
            path = f"{inside}/{name}" if inside else name
            if name.startswith(".") or not name.isprintable():
                continue
            if is_folder:
                if name not in _SKIPPED:
                    waiting.append(path)
            elif not endings or name.lower().endswith(endings):
                found += 1
                yield path
                if found >= MOST_FILES:
                    return
