"""Whether a file holds a prompt object or an evaluation prompt, as far as a look at its lines can tell."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Final

from promptls.text.packed import is_json_file

_OBJECT_KEY: Final = re.compile(r"^(?:instruction|metric_type)[ \t]*:", re.MULTILINE)
_EVALUATION_KEY: Final = re.compile(r"^(?:infer_cfg|ice_template|prompt_template)[ \t]*:", re.MULTILINE)
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


def is_evaluation_file(path: Path) -> bool:
    """Whether the file has the templates of an evaluation prompt at its top level, and no list of parts."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return False  # as above
    return _is_evaluation(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1_000)
def _is_object(path: Path, _changed: int, _size: int) -> bool:
    return _holds(path, _OBJECT_KEY)


@lru_cache(maxsize=1_000)
def _is_evaluation(path: Path, _changed: int, _size: int) -> bool:
    return _holds(path, _EVALUATION_KEY)


def _holds(path: Path, key: re.Pattern[str]) -> bool:
    try:
        text = _COMMENT.sub("", path.read_text("utf-8-sig"))
    except (OSError, ValueError):
        return False
    return key.search(text) is not None and _ITEM.search(text) is None
