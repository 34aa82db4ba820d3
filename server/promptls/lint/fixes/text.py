"""Fixes of YAML errors, and adaptation of fixes to JSON files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.lint.rule import Edit, Fix
from promptls.semantic.template import Template
from promptls.syntax.problem import SyntaxProblem
from promptls.syntax.source import Source
from promptls.text.positions import Span

_WORD: Final = re.compile(r"(?!(?:true|false|null)$)[A-Za-z_]\w*")


_COMMA: Final = frozenset({"", ","})


def json_fixes(fixes: tuple[Fix, ...], source: Source) -> tuple[Fix, ...]:
    """Return the fixes that are valid in JSON, with quotes around the words that they insert.

    Fixes that replace a quoted text with a word get quotes; fixes of commas are unchanged; others are left
    out because they would break JSON.
    """
    return tuple(
        fix
        if all(edit.text in _COMMA and source.slice(edit.span) in _COMMA for edit in fix.edits)
        else Fix(fix.title, tuple(Edit(edit.span, f'"{edit.text}"') for edit in fix.edits), fix.preferred)
        for fix in fixes
        if all(
            _replaces_text_with_word(edit, source)
            or (edit.text in _COMMA and source.slice(edit.span) in _COMMA)
            for edit in fix.edits
        )
    )


def _replaces_text_with_word(edit: Edit, source: Source) -> bool:
    written = source.slice(edit.span)
    quote = '"'
    is_text = len(written) > 1 and written.startswith(quote) and written.endswith(quote)
    return is_text and _WORD.fullmatch(edit.text) is not None


_KEY_WITHOUT_COLON: Final = re.compile(r"[ ]*(?:- )?([a-z_]+)(?::(?=\S)|[ ]+(?!:))")
_VALUE: Final = re.compile(r"[ ]*(?:- )?[\w-]+:[ ]+(\S.*?)[ ]*$")
_QUOTE: Final = re.compile(r"[ ]*(?:- )?[\w-]+:[ ]+(['\"])")
_UNQUOTABLE: Final = ("{{", "{%", "{#")


def yaml_fixes(template: Template, problem: SyntaxProblem) -> tuple[Fix, ...]:
    """Return the fixes for a YAML error of the file."""
    line = template.source.line_span(template.source.line_column(problem.span.start).line)
    return tuple(_fixes(template.source.slice(line), line.start, problem.message))


def _fixes(line: str, start: int, message: str) -> Iterator[Fix]:
    indent = re.match(r"\s*", line)
    if indent and "\t" in indent.group():
        spaces = indent.group().replace("\t", "  ")
        yield Fix("Indent with spaces", (Edit(Span(start, start + indent.end()), spaces),), preferred=True)
        return
    if line.startswith("-") and "behind this dash" in message:
        yield Fix("Insert a space", (Edit(Span(start + 1, start + 1), " "),), preferred=True)
        return
    key = _KEY_WITHOUT_COLON.match(line)
    if key and key.group(1) in PART_KEYS and line[key.end() :].strip():
        place = start + key.end(1)
        has_colon = line[key.end(1)] == ":"
        edit = Edit(Span(place + has_colon, place + has_colon), " " if has_colon else ":")
        yield Fix(f"Write `{key.group(1)}: `", (edit,), preferred=True)
        return
    quote = _QUOTE.match(line)
    if quote and "not closed" in message:
        end = start + len(line.rstrip())
        yield Fix("Close the quote at the end of the line", (Edit(Span(end, end), quote.group(1)),))
        return
    value = _VALUE.match(line)
    if value and "quote the value" in message and value.group(1)[0] not in "'\"|>[{":
        text = value.group(1)
        span = Span(start + value.start(1), start + value.end(1))
        yield Fix("Quote the value", (Edit(span, _quoted(text)),))


def _quoted(text: str) -> str:
    """Return the text in quotes, chosen to avoid escapes if possible; Jinja in it is unchanged."""
    if "'" not in text or any(each in text for each in _UNQUOTABLE):
        return f"'{text}'" if "'" not in text else f'"{text}"'
    return "'" + text.replace("'", "''") + "'"
