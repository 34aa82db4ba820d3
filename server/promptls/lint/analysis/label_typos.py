"""Names in tags that are spelled differently from a word of the text beside them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.lint.analysis.similar_names import is_like, is_obvious_typo
from promptls.lint.analysis.unmatched_names import given_names
from promptls.lint.rule import File, Finding
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.jinja.nodes import Attribute, Name, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.positions import Span

_MIN_LENGTH: Final = 5
_WORD: Final = re.compile(r"[A-Za-z]{5,}")
_RUN: Final = re.compile(r"\w+")
_TAG: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}")
_NEAR: Final = 80
"""How many characters around a tag are searched for words."""


class _Beside(NamedTuple):
    """A printed name or key that is a typo of a word of the text on its line, and the name with that word."""

    name: str
    span: Span
    meant: str


@chunk_fact
def _beside(chunk: Chunk) -> tuple[_Beside, ...]:
    """Return the printed names and keys with a part that is a typo of a word on their line."""
    return tuple(found for tag in chunk.tags if tag.kind == "output" for found in _beside_tag(chunk, tag))


def _beside_tag(chunk: Chunk, tag: Tag) -> Iterator[_Beside]:
    first = chunk.text.rfind("\n", 0, tag.span.start) + 1
    last = (chunk.text.find("\n", tag.span.end) + 1 or chunk.length + 1) - 1
    before = chunk.text[max(first, tag.span.start - _NEAR) : tag.span.start]
    after = chunk.text[tag.span.end : min(last, tag.span.end + _NEAR)]
    words = {word.casefold() for word in _WORD.findall(_TAG.sub(" ", f"{before} {after}"))}
    for expression in tag_tree(tag).statement.expressions if words else ():
        for node in walk(expression):
            if isinstance(node, Name | Attribute):
                place = node.name_span if isinstance(node, Attribute) else node.span
                meant = _with_word(node.name, words)
                if meant is not None:
                    yield _Beside(node.name, place.shifted(tag.span.start), meant)


_has_beside: Final = summary(lambda chunk: bool(_beside(chunk)), any)


def _with_word(name: str, words: set[str]) -> str | None:
    """Return a name with the word that one of its parts is a typo of, if the words have all its other parts."""
    parts = name.split("_")
    strange = [index for index, part in enumerate(parts) if part.casefold() not in words]
    if len(strange) != 1 or len(parts[strange[0]]) < _MIN_LENGTH:
        return None
    part = parts[strange[0]]
    similar = [word for word in words if is_like(part, word, _MIN_LENGTH) and is_obvious_typo(part, word)]
    if len(similar) != 1 or _american(part) == _american(similar[0]):
        return None
    return "_".join([*parts[: strange[0]], similar[0], *parts[strange[0] + 1 :]])


def _american(word: str) -> str:
    return word.replace("our", "or").replace("ise", "ize").replace("isa", "iza")


def typos_of_labels(file: File) -> Iterator[Finding]:
    """Yield a hint for each name that the file has once, and that is a typo of a word beside it."""
    if not _has_beside(file.chunks):
        return
    given = given_names(file) | file.template.names.called_names
    found = [
        (each, located.start)
        for located in file.chunks.where(_has_beside)
        for each in _beside(located.chunk)
        if each.name not in given
    ]
    times = _times({each.name for each, _ in found}, file.template.source.text) if found else Counter[str]()
    for each, start in found:
        if times[each.name] == 1:
            message = "a word beside this is spelled differently"
            yield Finding.suggest(each.span.shifted(start), message, each.meant, severity="hint")


def _times(names: set[str], text: str) -> Counter[str]:
    """Return how often each of the names is in a text, alone or as words of a longer name."""
    lengths = {name.count("_") + 1 for name in names}
    return Counter(
        name
        for words in (run.split("_") for run in _RUN.findall(text))
        for length in lengths
        for start in range(len(words) - length + 1)
        if (name := "_".join(words[start : start + length])) in names
    )
