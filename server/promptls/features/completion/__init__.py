"""What may be written at a place of a prompt file. One source of items a file."""

from __future__ import annotations

import re
from typing import Final

from promptls.features.completion.in_json import in_json
from promptls.features.completion.in_tag import in_tag
from promptls.features.completion.in_yaml import in_yaml
from promptls.features.completion.item import Completion, Item
from promptls.features.completion.parts import is_one_word
from promptls.features.completion.place import TagPlace, YamlPosition, place_in
from promptls.features.completion.request import Request
from promptls.meaning.header_text import OPENING
from promptls.meaning.kind import Kind
from promptls.rendering.file_rendering import FileRendering
from promptls.systems.prompt_poet.vocabulary import PART_KEYS
from promptls.workspace.snapshot import Snapshot

__all__ = ["Completion", "Item", "complete"]

_MOST_UNDECIDED: Final = 400
"""How many characters a file may have whose first part is being written."""
_KEY_LINE: Final = re.compile(r"^(?:- |  )([A-Za-z_]\w*)[ \t]*:", re.MULTILINE)


def complete(
    snapshot: Snapshot,
    path: str,
    offset: int,
    newest: FileRendering | None = None,
    trigger: str = "",
) -> Completion | None:
    """What may stand at `offset` in the file at `path`; None where nothing can be named.

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
    """Whether the file is so short that it may be the beginning of a prompt."""
    template = snapshot.template(path)
    if template is None or snapshot.project(path).excludes(path):
        return False
    source = template.source
    if source.first_chunk.text.removeprefix("\ufeff").startswith(OPENING):
        return True  # a header that is not closed yet
    if len(source) > _MOST_UNDECIDED:
        return False
    if not any(chunk.has_content for chunk in source.chunks) or is_one_word(source.text):
        return True
    keys_there = set(_KEY_LINE.findall(source.text))
    return source.at_items and keys_there <= set(PART_KEYS)
