"""Prompt files on disk: found, read, and known again while they do not change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from promptls.security.files import Stamp, read_bytes, stamp_of
from promptls.semantic.template import Template
from promptls.syntax.language import JINJA_YAML, JSON_FIELDS
from promptls.syntax.source import Source
from promptls.text.packed import is_json_file, unpacked

ENDINGS: Final = (".yml.j2", ".yaml.j2")
"""How the names of prompt files end."""
MAX_KEPT: Final = 200
"""How many templates are held that no editor has open."""
MAX_BYTES: Final = 20_000_000
"""Files above this size are left alone: no prompt is that long."""
SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "site-packages", "experiments"})
"""Folders that are never walked, beside hidden ones."""


def has_prompt_name(path: str) -> bool:
    """Return whether a file's name ends as a prompt file's does."""
    return path.lower().endswith(ENDINGS)


def prompt_paths(folder: Path, is_prompt: Callable[[str], bool] = has_prompt_name) -> Iterator[str]:
    """Yield the absolute paths of the files below `folder` whose names end as a prompt file's, sorted.

    `is_prompt` may choose other paths. Hidden folders and those of package managers are left out;
    what cannot be read is skipped.
    """
    for paths in prompt_paths_by_folder(folder, is_prompt=is_prompt):
        yield from paths


def prompt_paths_by_folder(
    folder: Path, *, is_shallow: bool = False, is_prompt: Callable[[str], bool] = has_prompt_name
) -> Iterator[list[str]]:
    """Yield the paths of `prompt_paths`, folder by folder: also of those that hold no prompt file.

    No deeper than the folders right in it where it `is_shallow`.
    """
    for current, folders, files in os.walk(folder):
        is_deepest = is_shallow and Path(current) != folder
        folders[:] = sorted(name for name in folders if not (is_deepest or _is_skipped(name)))
        yield [path for name in sorted(files) if is_prompt(path := str(Path(current) / name))]


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether `prompt_paths` of one of the folders would give the path, were there a file."""
    return has_prompt_name(path) and any(
        Path(path).is_relative_to(folder)
        and not any(map(_is_skipped, Path(path).relative_to(folder).parts[:-1]))
        for folder in folders
    )


def _is_skipped(folder: str) -> bool:
    return folder.startswith(".") or folder in SKIPPED_FOLDERS


def text_on_disk(path: str) -> str | None:
    """Return the text of a file, or None if it cannot be read.

    Line ends stay as they are. Bytes that are no UTF-8 become U+FFFD, so that the rest of a
    damaged file keeps its meaning.
    """
    try:
        return unpacked(path, read_bytes(path, MAX_BYTES)).decode("utf-8", errors="replace")
    except (OSError, ValueError):  # of names that no file can have, too
        return None


def source_of(path: str, text: str) -> Source:
    """Return the text of the file at `path`; in JSON nothing is Jinja."""
    return Source.of(text, JSON_FIELDS if is_json_file(path) else JINJA_YAML)


class DiskFiles:
    """Templates read from disk, each kept as long as the file's time and size stay what they were.

    No more than `MAX_KEPT` are held at a time, the oldest go first: a workspace of thousands of
    files is gone through once, and is not to stay in memory with all its trees.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Stamp, Template]] = {}

    def template(self, path: str) -> Template | None:
        """Return the template at `path`, or None if there is no readable file."""
        stamp = stamp_of(path)
        if stamp is None:
            self._known.pop(path, None)
            return None
        known = self._known.get(path)
        if known and known[0] == stamp:
            return known[1]
        text = text_on_disk(path)
        if text is None:
            return None
        template = Template(source_of(path, text))
        self._known.pop(path, None)
        while len(self._known) >= MAX_KEPT:
            del self._known[next(iter(self._known))]
        self._known[path] = (stamp, template)
        return template
