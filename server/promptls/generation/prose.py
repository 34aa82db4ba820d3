"""What the rule-based extractors read a text by: its sentences and words, without its markup."""

from __future__ import annotations

import re
from typing import Final

from promptls.generation.stop_words import STOP_WORDS

_FENCE: Final = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
_COMMENT: Final = re.compile(r"<!--.*?-->|\{#.*?#\}", re.DOTALL)
_LINK: Final = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_TABLE: Final = re.compile(r"^\s*\|.*$", re.MULTILINE)
_RULE: Final = re.compile(r"^\s*([-=*_~^])\1{2,}\s*$", re.MULTILINE)
_FRAME: Final = re.compile(r"^\s*(#{1,6}|[-*+]|\d+[.)]|>)\s+", re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,6}\s.*$", re.MULTILINE)
_MARKS: Final = re.compile(r"[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}")
_ENDS: Final = re.compile(r"(?<=[.!?])[\"\u201d)\u2019]*\s+|(?<=[。\uff01\uff1f])|\n+")
_WORD: Final = re.compile(r"[^\W\d_](?:[\w'\u2019-]*\w)?")

# Characters of a line that may be a sentence.
_SHORTEST: Final = 20


def prose(text: str) -> str:
    """The text without code blocks, tables, comments and the targets of links."""
    for pattern in (_FENCE, _COMMENT, _TABLE, _RULE):
        text = pattern.sub("", text)
    return _LINK.sub(r"\1", text)


def sentences(text: str) -> list[str]:
    """The sentences of a text in Markdown, in order, without its headings and marks."""
    plain = _MARKS.sub("", _FRAME.sub("", _HEADING.sub("", prose(text))))
    found = (" ".join(piece.split()) for piece in _ENDS.split(plain))
    return [each for each in found if len(each) >= _SHORTEST]


def words(text: str) -> list[str]:
    """The words of a text as they stand there."""
    return _WORD.findall(text)


def subject_words(text: str) -> list[str]:
    """The words of a text that carry its subject, in small letters."""
    return [word for each in words(text) if (word := each.casefold()) not in STOP_WORDS and len(word) > 1]
