"""Whether a file holds a prompt object, as far as a look at its lines can tell."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Final

from promptls.systems.ragas.file import is_json_file

_OBJECT_KEY: Final = re.compile(r"^(?:instruction|metric_type)[ \t]*:", re.MULTILINE)
_ITEM: Final = re.compile(r"^- ", re.MULTILINE)
_COMMENT: Final = re.compile(r"\{#.*?#\}", re.DOTALL)


def is_object_file(path: Path) -> bool:
    """Whether the file is JSON, or has an `instruction` at its top level and no list of parts."""
    if is_json_file(path.name):
        return True
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False  # loading the template says what is wrong with it
    return _is_object(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1_000)
def _is_object(path: Path, _changed: int, _size: int) -> bool:
    try:
        text = _COMMENT.sub("", path.read_text("utf-8-sig"))
    except (OSError, ValueError):
        return False
    return _OBJECT_KEY.search(text) is not None and _ITEM.search(text) is None
