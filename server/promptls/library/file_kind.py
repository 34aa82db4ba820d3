"""Whether a file holds a prompt object or an evaluation prompt, as far as a look at its lines can tell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from promptls.text.file_stamp import kept_by_file
from promptls.text.packed import is_json_file

_OBJECT_KEY: Final = re.compile(r"^(?:instruction|metric_type)[ \t]*:", re.MULTILINE)
_EVALUATION_KEY: Final = re.compile(r"^(?:infer_cfg|ice_template|prompt_template)[ \t]*:", re.MULTILINE)
_ITEM: Final = re.compile(r"^- ", re.MULTILINE)
_COMMENT: Final = re.compile(r"\{#.*?#\}", re.DOTALL)


def is_object_file(path: Path) -> bool:
    """Whether the file is JSON, or has an `instruction` at its top level and no list of parts."""
    return is_json_file(path.name) or _holds(path, _OBJECT_KEY)


def is_evaluation_file(path: Path) -> bool:
    """Whether the file has the templates of an evaluation prompt at its top level, and no list of parts."""
    return _holds(path, _EVALUATION_KEY)


@kept_by_file(2_000)
def _holds(path: Path, key: re.Pattern[str]) -> bool:
    try:
        text = _COMMENT.sub("", path.read_text("utf-8-sig"))
    except (OSError, ValueError):
        return False  # loading the template says what is wrong with it
    return key.search(text) is not None and _ITEM.search(text) is None
