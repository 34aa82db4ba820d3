"""A block: which files fill it in, and which one has what stands there otherwise."""

from __future__ import annotations

from pathlib import Path

from promptls.features.hover.hover import Hover, code
from promptls.features.symbols.blocks import blocks_in, family
from promptls.meaning.mentions import mention_at
from promptls.meaning.template import Template
from promptls.workspace.snapshot import Snapshot


def hover_block(snapshot: Snapshot, path: str, template: Template, offset: int) -> Hover | None:
    """What is known of the block whose name stands at `offset`."""
    mention = mention_at(template.source, offset)
    if mention is None or mention.kind != "block":
        return None
    places = []
    for other in family(snapshot, path):
        file = snapshot.template(other)
        for each in blocks_in(file, other, mention.name) if file is not None else ():
            if each.use == "declaration" and file is not None:
                line = file.source.place(each.span.start).line + 1
                places.append(f"- {code(Path(other).name)}, line {line}{' (here)' if other == path else ''}")
    said = f"{code(mention.name)}: block, which a template that extends this one may fill in"
    return Hover(mention.span, "\n\n".join([said, "\n".join(places)]) if places else said)
