"""Similarity of names: whether one may be a typo of the other, or both may be intended."""

from __future__ import annotations

import re
from typing import Final

from promptls.text.suggest import is_close, is_typo

MIN_COMMON: Final = 6
"""The minimum length of a common key for a misspelling of it to be certain."""
COMMON_KEYS: Final = frozenset(
    {"answer", "author", "content", "message", "name", "question", "role", "sender", "text", "title"}
)
"""Common keys of chats and documents."""
_PART: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_SHORT_PART: Final = 2


def is_like(name: str, other: str, shortest: int) -> bool:
    """Return whether two names are one letter apart and unlikely to be both intended."""
    if min(len(name), len(other)) < shortest or not is_typo(name, other) or not is_close(name, other):
        return False
    shorter, longer = sorted((name.casefold(), other.casefold()), key=len)
    if shorter == longer:
        return True
    if longer.startswith(shorter) or longer.endswith(shorter):
        return False
    own_parts, other_parts = name_parts(name), name_parts(other)
    if len(own_parts) != len(other_parts):
        return True
    pairs = zip(own_parts, other_parts, strict=True)
    return all(own == its or _may_be_typo(own, its) for own, its in pairs)


def name_parts(name: str) -> list[str]:
    """Return the words and numbers of a name in snake case or camel case."""
    return _PART.findall(name)


def _may_be_typo(part: str, other: str) -> bool:
    """Return whether two parts of names are not both words: short ones often are, such as `bos` and `eos`."""
    shortest = min(len(part), len(other))
    is_other_letter = len(part) == len(other) and sorted(part) != sorted(other)
    return shortest > _SHORT_PART + is_other_letter


def is_obvious_typo(name: str, other: str) -> bool:
    """Return whether two names differ by swapped letters, or by a missing or doubled one inside of a word."""
    return name.casefold().replace("_", "") != other.casefold().replace("_", "") and (
        len(name) != len(other) or sorted(name) == sorted(other)
    )


def is_camel_case_of(name: str, other: str) -> bool:
    """Return whether `name` is `other` in camel case."""
    return name.casefold() == other.replace("_", "").casefold()


def misspells_common_key(key: str, common: str) -> bool:
    """Return whether a key is a common one with two letters swapped, or one missing or doubled inside."""
    if key == common or key[:1] != common[:1] or key[-1:] != common[-1:]:
        return False
    if len(common) < MIN_COMMON and sorted(key) != sorted(common):
        return False
    return is_typo(key, common) and (len(key) != len(common) or sorted(key) == sorted(common))


def different_words(name: str, other: str) -> tuple[str, str] | None:
    """Return the only words that differ in two names with `_`, the shorter one first; None if it is not one."""
    words, others = name.split("_"), other.split("_")
    different = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
    if len(words) != len(others) or len(different) != 1:
        return None
    short, long = sorted(different[0], key=len)
    return short, long


def abbreviates(short: str, long: str) -> bool:
    """Return whether a word has the first letter of another, and then some of its letters in their order."""
    letters = iter(long)
    return short[:1] == long[:1] and all(letter in letters for letter in short)
