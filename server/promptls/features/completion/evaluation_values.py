"""The values of an evaluation prompt's keys: classes, roles, marks and columns."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.features.completion.columns import column_names
from promptls.features.completion.item import Item, name_items, table_items
from promptls.features.completion.request import Request
from promptls.syntax.yaml.place import ITEM
from promptls.systems.opencompass.retriever_keys import RETRIEVERS
from promptls.systems.opencompass.vocabulary import (
    DIALOGUE_ROLES,
    INFERENCERS,
    MESSAGE_ROLES,
    MORE_INFERENCERS,
    TEMPLATE_TYPES,
    USUAL_ICE_MARK,
)


def evaluation_items(request: Request, path: tuple[str, ...]) -> Iterator[Item]:
    """What the value at `path` of an evaluation prompt may be; nothing where it is the user's own text."""
    path = path[1:] if path[:1] == ("infer_cfg",) else path
    if path == ("retriever", "type"):
        yield from table_items(RETRIEVERS)
    elif path == ("inferencer", "type"):
        yield from table_items(INFERENCERS)
        yield from table_items(dict.fromkeys(sorted(MORE_INFERENCERS), ""), 40)
    elif path[:1] == ("meta_template",) and path[-1:] == ("role",):
        yield from table_items(DIALOGUE_ROLES)
    elif path[:1] == ("meta_template",) and path[-1:] == ("api_role",):
        yield from table_items(dict.fromkeys(DIALOGUE_ROLES, ""))
    elif path[:1] in {("ice_template",), ("prompt_template",)}:
        if path[1:] == ("type",):
            yield from table_items(TEMPLATE_TYPES)
        elif path[1:] == ("ice_token",):
            yield Item(USUAL_ICE_MARK, "value", 10, detail="by custom")
        elif path[-1] in {"role", "fallback_role"}:
            yield from table_items(MESSAGE_ROLES if "messages" in path else DIALOGUE_ROLES)
    elif path in {("reader_cfg", "input_columns", ITEM), ("reader_cfg", "output_column")}:
        yield from name_items(dict.fromkeys(column_names(request)), "column")
