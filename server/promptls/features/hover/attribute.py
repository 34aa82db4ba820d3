"""An attribute of a namespace: what it begins with, and where it is set."""

from __future__ import annotations

from promptls.features.hover.hover import Hover, code
from promptls.features.symbols.namespaces import attribute_at, attribute_places, namespace_of
from promptls.meaning.mentions import mention_at
from promptls.meaning.template import Template


def hover_attribute(path: str, template: Template, offset: int) -> Hover | None:
    """What is known of the attribute of a namespace whose name stands at `offset`."""
    symbol = attribute_at(template, path, offset)
    mention = mention_at(template.source, offset)
    owner = namespace_of(template, mention) if mention is not None else None
    if symbol is None or owner is None:
        return None
    lines: dict[str, list[int]] = {"declaration": [], "write": [], "read": []}
    for each in attribute_places(template, symbol):
        lines[each.use].append(template.source.place(each.span.start).line + 1)
    texts = [f"{code(symbol.name)}: attribute of the namespace {code(owner.name)}"]
    for use, words in (("declaration", "begins"), ("write", "set"), ("read", "read")):
        if lines[use]:
            texts.append(f"{words} in line {', '.join(map(str, dict.fromkeys(lines[use])))}")
    return Hover(symbol.span, "\n\n".join(texts))
