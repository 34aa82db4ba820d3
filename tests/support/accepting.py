"""The text after accepting a completion item, as an editor does it."""

from __future__ import annotations

import re

from promptls.ide.completion import CompletionItem, CompletionList

_CHOICE = re.compile(r"\$\{\d+\|([^,|]*)[^|]*\|\}")
_NAMED = re.compile(r"\$\{\d+:((?:[^}\\]|\\.)*)\}")
_STOP = re.compile(r"\$\{?\d+\}?")


def accepted(text: str, found: CompletionList, item: CompletionItem, *, with_snippets: bool = True) -> str:
    """Return the text with `item` in place of the word; placeholders keep their default text."""
    new = item.snippet if item.snippet and with_snippets else item.plain_text
    if item.snippet and with_snippets:
        line_start = text.rfind("\n", 0, found.insert.start) + 1
        line = text[line_start : found.insert.start]
        indent = line[: len(line) - len(line.lstrip(" "))]
        new = filled(new).replace("\n", f"\n{indent}")
    return text[: found.replace.start] + new + text[found.replace.end :]


def filled(snippet: str) -> str:
    """Return the text of a snippet, with the default texts of its placeholders."""
    text = _CHOICE.sub(lambda match: match[1], snippet)
    text = _NAMED.sub(lambda match: match[1].replace("\\}", "}"), text)
    return _STOP.sub("", text)
