"""The templates that a file leads to for certain, also where an expression puts their names together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from promptls.meaning.references import TemplateReference
from promptls.meaning.template import Template
from promptls.meaning.template_names import WrittenName, certain_names, declared_texts
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import united

_MOST_KEPT: Final = 64
_Names: TypeAlias = tuple[WrittenName, ...]
"""The names of one reference."""


def leading_references(template: Template) -> tuple[TemplateReference, ...]:
    """The references of a file; in the place of one by an expression those by all names that it may give.

    Where some of these are not known, the reference stays, without a name.
    """
    references = template.references
    if all(reference.name is not None for reference in references):
        return references
    # Prose between the tags says nothing of names, and the rest is often as it was before an edit.
    key = (_tags(template.source.root), declared_texts(template))
    named = _known.get(key)
    if named is None:
        if len(_known) >= _MOST_KEPT:
            _known.clear()
        named = _known[key] = tuple([_names(template, reference) for reference in references])
    return tuple(
        [each for reference, names in zip(references, named, strict=True) for each in _led(reference, names)]
    )


_known: Final[dict[object, tuple[_Names, ...]]] = {}


def _tag_texts(chunk: Chunk) -> tuple[str, ...]:
    return tuple([tag.text for tag in chunk.tags if tag.kind in {"output", "statement"}])


def _joined(texts: list[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple([text for each in texts for text in each])


_tags: Final = united(_tag_texts, _joined, of_tags=True)


def _names(template: Template, reference: TemplateReference) -> _Names:
    is_open = reference.name is None and not reference.is_unfinished
    return certain_names(template, reference) if is_open else ()


def _led(reference: TemplateReference, names: _Names) -> Iterator[TemplateReference]:
    for each in names:
        alternatives = each.names if len(each.names) > 1 else ()
        is_choice = reference.is_choice or bool(each.where)
        yield reference._replace(
            name=each.names[0], alternatives=alternatives, is_choice=is_choice, where=each.where
        )
    if not names:
        yield reference
