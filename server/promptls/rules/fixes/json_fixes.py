"""The fixes that stay right where a prompt is JSON, and not YAML."""

from __future__ import annotations

import re
from typing import Final

from promptls.rules.rule import Edit, Fix
from promptls.syntax.source import Source

_WORD: Final = re.compile(r"(?!(?:true|false|null)$)[A-Za-z_]\w*")


def json_fixes(fixes: tuple[Fix, ...], source: Source) -> tuple[Fix, ...]:
    """Those of `fixes` that put a word in the place of a text in quotes, with quotes around the word.

    What else mends YAML would break JSON.
    """
    return tuple(
        Fix(fix.title, tuple(Edit(edit.span, f'"{edit.text}"') for edit in fix.edits), fix.preferred)
        for fix in fixes
        if all(_is_word_for_text(edit, source) for edit in fix.edits)
    )


def _is_word_for_text(edit: Edit, source: Source) -> bool:
    written = source.slice(edit.span)
    quote = '"'
    is_text = len(written) > 1 and written.startswith(quote) and written.endswith(quote)
    return is_text and _WORD.fullmatch(edit.text) is not None
