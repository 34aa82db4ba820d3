"""Where the texts of an evaluation template stand: of a text, of a dialogue's turns, of messages."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence
from promptls.systems.opencompass.template_keys import DIALOGUE_KEYS


def scalars_in(node: Node | None) -> Iterator[Scalar]:
    """The texts in which OpenCompass fills fields in: of a text, of a dialogue's turns, of messages."""
    for each in texts_in(node):
        if isinstance(each, Scalar):
            yield each
        else:
            yield from turn_texts(each)


def texts_in(node: Node | None) -> Iterator[Scalar | Mapping]:
    """Those texts; of dialogues and messages, the turns that hold them."""
    if isinstance(node, Scalar):
        yield node
    elif isinstance(node, Sequence):
        yield from (item for item in node.items if not isinstance(item, Sequence))
    elif isinstance(node, Mapping):
        for key in DIALOGUE_KEYS:
            yield from texts_in(node.value(key))


def turn_texts(turn: Mapping) -> Iterator[Scalar]:
    """The texts of a turn or a message."""
    for key in ("prompt", "content"):
        value = turn.value(key)
        if isinstance(value, Scalar):
            yield value


def turns_in(node: Node | None, section: str) -> Iterator[Mapping]:
    """The turns of a dialogue's section that are mappings."""
    items = node.value(section) if isinstance(node, Mapping) else None
    for item in items.items if isinstance(items, Sequence) else (items,):
        if isinstance(item, Mapping):
            yield item
