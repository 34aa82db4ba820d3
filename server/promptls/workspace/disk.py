"""Find and read prompt files on disk, and cache them while they are unchanged."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import Final, TypeVar

from promptls.security.files import Stamp, read_bytes, stamp_of
from promptls.semantic.template import Template
from promptls.syntax.language import JINJA_YAML, JSON_FIELDS
from promptls.syntax.source import Source
from promptls.text.filenames import is_json_file, unpack_file

Found = TypeVar("Found", bound=tuple[object, ...])
ENDINGS: Final = (".yml.j2", ".yaml.j2")
_TEMPLATE_ENDINGS: Final = (".j2", ".jinja", ".jinja2")
MAX_KEPT: Final = 200
"""The maximum number of cached templates that are not open in an editor."""
SKIPPED_FOLDERS: Final = frozenset({"node_modules", "__pycache__", "site-packages", "experiments"})
"""Folders that are never searched, in addition to hidden ones."""


def has_prompt_name(path: str) -> bool:
    """Return whether a path has the extension of a prompt file."""
    return path.lower().endswith(ENDINGS)


def stem_of(path: str) -> str:
    """Return the file name without the extension, which has two parts in prompt files."""
    file = Path(path)
    return Path(file.stem).stem if has_prompt_name(path) else file.stem


def may_include(path: str) -> bool:
    """Return whether a path has the extension of a Jinja template, which may include prompt files."""
    return path.lower().endswith(_TEMPLATE_ENDINGS)


def prompt_paths(folder: Path, is_prompt: Callable[[str], bool] = has_prompt_name) -> Iterator[str]:
    """Yield the absolute paths of the files below `folder` with the extension of a prompt file, sorted.

    `is_prompt` may select other paths. Hidden folders and those of package managers are left out;
    what cannot be read is skipped.
    """
    for paths in prompt_paths_by_folder(folder, is_prompt=is_prompt):
        yield from paths


def prompt_paths_by_folder(
    folder: Path, *, is_shallow: bool = False, is_prompt: Callable[[str], bool] = has_prompt_name
) -> Iterator[list[str]]:
    """Yield the paths of `prompt_paths`, folder by folder, including folders without prompt files.

    If `is_shallow`, only direct subfolders are searched.
    """
    for current, folders, files in os.walk(folder):
        is_deepest = is_shallow and Path(current) != folder
        folders[:] = sorted(name for name in folders if not (is_deepest or _is_skipped(name)))
        yield [path for name in sorted(files) if is_prompt(path := str(Path(current) / name))]


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether the path is in one of the folders, and not in one that is left out."""
    return any(
        Path(path).is_relative_to(folder)
        and not any(map(_is_skipped, Path(path).relative_to(folder).parts[:-1]))
        for folder in folders
    )


def _is_skipped(folder: str) -> bool:
    return folder.startswith(".") or folder in SKIPPED_FOLDERS


def text_on_disk(path: str) -> str | None:
    """Return the text of a file, or None if it cannot be read.

    Line breaks are unchanged. Bytes that are not valid UTF-8 become U+FFFD, so that the rest of a damaged
    file can be used.
    """
    try:
        return unpack_file(path, read_bytes(path)).decode("utf-8", errors="replace")
    except (OSError, ValueError):  # also for invalid file names
        return None


def is_utf8(path: str) -> bool:
    """Return whether the content of a file is UTF-8, as it also counts if it cannot be read at all."""
    try:
        unpack_file(path, read_bytes(path)).decode("utf-8")
    except UnicodeDecodeError:
        return False
    except (OSError, ValueError):
        pass
    return True


def source_of(path: str, text: str) -> Source:
    """Return the source of the file at `path`; JSON contains no Jinja."""
    return Source.of(text, JSON_FIELDS if is_json_file(path) else JINJA_YAML)


class DiskFiles:
    """Templates read from disk, each cached while the file's modification time and size are unchanged.

    At most `MAX_KEPT` are cached, and the oldest are evicted first: a scan of a workspace with thousands of
    files should not fill the memory with their trees.
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


_SAVED: Final = re.compile(
    r"(?:_english|_prompt_[^/\\]*|[/\\](?:prompts|metrics|english)[/\\][^/\\]+)\.json$"
)
"""Where prompts and metrics of Ragas are saved, as the extension for VS Code has it, too."""
_SAVED_KEY: Final = re.compile(rb'\s*\{.*?"(?:instruction|metric_type)"\s*:', re.DOTALL)


def is_saved_prompt(path: str) -> bool:
    """Return whether a file is, by its name and its keys, a prompt or a metric that Ragas has saved."""
    if _SAVED.search(path) is None:
        return False
    try:
        return _SAVED_KEY.match(read_bytes(path)) is not None
    except (OSError, ValueError):
        return False


def program_paths(folder: Path) -> Iterator[str]:
    """Yield the paths of the Python files below `folder` that may contain what is checked."""
    for paths in python_paths_by_folder([str(folder)]):
        for path in paths:
            try:
                is_program = _CHECKED.search(read_bytes(path)) is not None
            except (OSError, ValueError):
                continue
            if is_program:
                yield path


_CHECKED: Final = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+(?:prompt_poet|promptls|ragas)\b"
    rb"|^[ \t]*from[ \t]+(?:opencompass\.(?:openicl|models|configs)|mmengine\.config)\b"
    rb"|^\w*(?:reader|infer)_cfg[ \t]*=",
    re.MULTILINE,
)
"""An import of a library whose uses are checked, or a setting of an OpenCompass configuration."""


def python_paths_by_folder(roots: Iterable[str], shallow: Container[str] = ()) -> Iterator[list[str]]:
    """Yield the Python files below each root by folder, except in hidden and package folders.

    Roots that are `shallow` are only searched down to their direct subfolders.
    """
    for root in roots:
        yield from prompt_paths_by_folder(
            Path(root), is_shallow=root in shallow, is_prompt=lambda path: path.endswith(".py")
        )


def scan_python(
    read: Callable[[str], Found],
    roots: Iterable[str],
    found: dict[str, Found],
    shallow: Container[str] = (),
) -> Iterator[None]:
    """Fill `found` with what `read` finds in each Python file below `roots`, if it finds anything.

    Pauses after each file and each folder, so that a server can do other work in between.
    """
    for paths in python_paths_by_folder(roots, shallow):
        for path in paths:
            if any(inside := read(path)):
                found[path] = inside
            yield
        yield
