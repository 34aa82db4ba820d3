"""Names that a tag gives: of blocks, and of variables that are set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from promptls.features.completion.item import FIRST, Item
from promptls.features.completion.request import Request
from promptls.features.symbols.blocks import block_names, family
from promptls.meaning.names import chunk_bindings
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag

_OWN: Final = 10
_NEEDED: Final = 20


def block_items(request: Request, keyword: str) -> Iterator[Item]:
    """What a block may be called: as one of an extended template; behind `endblock`, as the open one."""
    if keyword == "endblock":
        name = _open_block(request)
        if name:
            yield Item(name, "module", FIRST, detail="the open block")
        return
    snapshot = request.snapshot
    own = set(block_names(request.template))
    for path in family(snapshot, request.path)[1:]:
        template = snapshot.template(path)
        for name in block_names(template) if template is not None else ():
            if name not in own or name == request.typed:
                yield Item(name, "module", _OWN, detail=f"block of {Path(path).name}")


def own_block_items(request: Request) -> Iterator[Item]:
    """The blocks that `self` has."""
    for path in family(request.snapshot, request.path):
        template = request.snapshot.template(path)
        for name in block_names(template) if template is not None else ():
            yield Item(name, "method", _OWN, text=f"{name}()", detail=f"block of {Path(path).name}")


def _open_block(request: Request) -> str:
    """The name of the innermost block that is open at the place."""
    opened: list[str] = []
    located = request.template.source.located(request.offset)
    for chunk, start in zip(request.template.source.chunks, request.template.source.starts, strict=False):
        if start > located.start:
            break
        for tag in chunk.tags:
            if start + tag.span.end >= request.offset:
                break
            statement = tag_tree(tag).statement if tag.kind == "statement" else None
            if statement is not None and statement.keyword == "block":
                opened.append(statement.name)
            elif statement is not None and statement.keyword == "endblock" and opened:
                opened.pop()
    return opened[-1] if opened else ""


def target_items(request: Request, tag: Tag, start: int) -> Iterator[Item]:
    """Variables that may be set: those that the file sets elsewhere, and what its includes wait for."""
    snapshot = request.snapshot
    inside = range(start, start + len(tag.text) + 1)
    found: dict[str, None] = {}
    for located_start, chunk in zip(
        request.template.source.starts, request.template.source.chunks, strict=False
    ):
        for binding in chunk_bindings(chunk):
            if binding.kind == "set" and located_start + binding.span.start not in inside:
                found[binding.name] = None
    for name in found:
        yield Item(name, "variable", _OWN, detail="set elsewhere in the file")
    for path in snapshot.included(request.path)[1:]:
        template = snapshot.template(path)
        for name in sorted(template.names.input_names) if template is not None else ():
            if name not in found and name.isidentifier():
                yield Item(name, "variable", _NEEDED, detail=f"read by {Path(path).name}")
