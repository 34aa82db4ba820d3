"""Completion in prompt files. One source of items per module."""

from __future__ import annotations

import re
from typing import Final

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.ide.completion.in_json import in_json
from promptls.ide.completion.in_tag import in_tag
from promptls.ide.completion.in_yaml import in_yaml
from promptls.ide.completion.items import Completion, Item, Request
from promptls.ide.completion.keys import is_one_word
from promptls.ide.completion.place import TagPlace, YamlPosition, place_in
from promptls.rendering.file_rendering import FileRendering
from promptls.semantic.header import OPENING
from promptls.semantic.kind import Kind
from promptls.workspace.snapshot import Snapshot

__all__ = ["Completion", "Item", "complete"]

_MAX_UNDECIDED: Final = 400
"""How many characters a file may have whose first part is being written."""
_KEY_LINE: Final = re.compile(r"^(?:- |  )([A-Za-z_]\w*)[ \t]*:", re.MULTILINE)


def complete(
    snapshot: Snapshot,
    path: str,
    offset: int,
    newest: FileRendering | None = None,
    trigger: str = "",
) -> Completion | None:
    """Return what may stand at `offset` in the file at `path`; None if nothing can be named.

    `trigger` is the character that was typed to ask, or empty where the user asked or wrote a word:
    what a character cannot have meant is not answered.
    """
    template = snapshot.template(path)
    if template is None:
        return None
    inside = min(max(offset, 0), len(template.source))
    if not template.source.has_jinja:
        return in_json(Request(snapshot, path, template, Kind.OTHER, inside, newest), trigger)
    kind = snapshot.kind(path)
    if kind is Kind.OTHER:
        if not _may_become_prompt(snapshot, path):
            return None
        kind = Kind.PARTS
    request = Request(snapshot, path, template, kind, inside, newest)
    place = place_in(template, request.offset)
    if isinstance(place, TagPlace):
        return in_tag(request, place, trigger)
    return in_yaml(request, place, trigger) if isinstance(place, YamlPosition) else None


def _may_become_prompt(snapshot: Snapshot, path: str) -> bool:
    """Return whether the file is so short that it may be the beginning of a prompt."""
    template = snapshot.template(path)
    if template is None or snapshot.project(path).excludes(path):
        return False
    source = template.source
    if source.first_chunk.text.removeprefix("\ufeff").startswith(OPENING):
        return True  # a header that is not closed yet
    if len(source) > _MAX_UNDECIDED:
        return False
    if not any(chunk.has_content for chunk in source.chunks) or is_one_word(source.text):
        return True
    keys_there = set(_KEY_LINE.findall(source.text))
    return source.at_items and keys_there <= set(PART_KEYS)
