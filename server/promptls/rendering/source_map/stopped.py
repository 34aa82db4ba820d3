"""In which turns of which loops a template was when an error stopped it, and with which values."""

from __future__ import annotations

import traceback
from typing import Any

from promptls.rendering.source_map.data_paths import chain_of
from promptls.rendering.source_map.pieces import Turn
from promptls.text.shortened import shortened


def turns_at(error: BaseException | None) -> list[Turn]:
    """The turns that the code of templates was in where `error` was raised, the outermost first."""
    found: list[Turn] = []
    for frame, _ in traceback.walk_tb(error.__traceback__ if error else None):
        if "__jinja_template__" in frame.f_globals:
            found += chain_of(frame.f_locals.get("turn"))
    return found


def line_outside(error: BaseException | None, path: str) -> int | None:
    """The 0-based line of the file at `path` that was running when an error stopped another file."""
    for frame, line in traceback.walk_tb(error.__traceback__ if error else None):
        template = frame.f_globals.get("__jinja_template__")
        if template is not None and template.filename == path:
            number: int = template.get_corresponding_lineno(line)
            return number - 1
    return None


def item_words(turn: Turn) -> str:
    """What a turn's loop has bound, shortened: `message` is {'role': 'user', …}."""
    _, file, site, _, item = turn
    pairs = list(_bound(file.sites[site].targets, item))
    return " and ".join(f"`{name}` is {shortened(value)}" for name, value in pairs)


def _bound(targets: Any, item: Any) -> list[tuple[str, Any]]:
    if isinstance(targets, str):
        return [(targets, item)]
    if isinstance(targets, tuple) and isinstance(item, tuple):
        return [pair for target, each in zip(targets, item, strict=False) for pair in _bound(target, each)]
    return []
