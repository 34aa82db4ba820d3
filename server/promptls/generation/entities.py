"""Named things by how they are written: names, abbreviations, identifiers, and what is set as code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.generation.prose import prose, sentences
from promptls.generation.stop_words import STOP_WORDS

_CODE: Final = re.compile(r"(?<!`)`([^`\n]{2,40})`(?!`)")
_NAME: Final = re.compile(
    r"[^\W\d_a-z][\w'\u2019.+#-]*\w(?:\s+(?:(?:of|de|van|von|der|the)\s+)?[^\W\d_a-z][\w'\u2019.+#-]*\w)*"
)
_IDENTIFIER: Final = re.compile(r"\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*|[A-Z]{2,}[0-9]*)\b")


def entities(text: str, most: int) -> list[str]:
    """The first `most` named things of a text, in order; each once, whatever the case of its letters.

    A capital at the beginning of a sentence makes no name, unless the word is written so elsewhere as well.
    """
    found: dict[str, str] = {}
    for name in (*_CODE.findall(prose(text)), *_names(text)):
        shown = " ".join(name.split()).strip(".,;:'\u2019-")
        if len(shown) > 1 and shown.casefold() not in STOP_WORDS and any(each.isalpha() for each in shown):
            found.setdefault(shown.casefold(), shown)
    return list(found.values())[:most]


def _names(text: str) -> Iterator[str]:
    # At the beginning of a sentence a name may be no name; it is one where it stands inside of another.
    first: list[str] = []
    inside: set[str] = set()
    for sentence in sentences(text):
        yield from _IDENTIFIER.findall(sentence)
        for match in _NAME.finditer(sentence):
            if match.start() == 0:
                first.append(match[0])
            else:
                inside.add(match[0].casefold())
                yield match[0]
    for name in first:
        if name.casefold() in inside or " " in name:
            yield _without_first_stop_word(name)


def _without_first_stop_word(name: str) -> str:
    word, _, rest = name.partition(" ")
    return rest if word.casefold() in STOP_WORDS else name
