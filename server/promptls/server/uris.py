"""URIs of documents, and paths."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pygls.uris import from_fs_path, to_fs_path


@lru_cache(maxsize=4096)
def path_of(uri: str) -> str:
    """Return the path of a file URI; the unquoted URI if it is of no file."""
    if urlsplit(uri).scheme not in {"", "file"}:
        return unquote(uri)
    path = to_fs_path(uri)
    return os.path.normpath(path) if path else unquote(uri)


def is_file(path: str) -> bool:
    """Return whether `path_of` gave the path of a file, and not the URI of something else."""
    return Path(path).is_absolute()


@lru_cache(maxsize=4096)
def uri_of(path: str) -> str:
    """Return the URI of the file at `path`, as VS Code writes it."""
    return (from_fs_path(path) or path) if is_file(path) else path
