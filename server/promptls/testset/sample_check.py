"""Validation of a model's answer: a query with a reference answer that is based on the contexts."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from promptls.metrics.grading import NoVerdictError, read_verdict
from promptls.testset.scenarios import ANSWER, QUERY, SAMPLE_SCHEMA
from promptls.testset.transforms.extractors import STOP_WORDS, subject_words, words

# The minimum proportion of an answer's words that occur in the contexts, compared by word beginnings.
# Paraphrases still reach this proportion.
GROUNDED: Final = 0.4
_STEM: Final = 4

# The same for the words of a query.
ABOUT: Final = 0.3

# Minimum words to detect English, and proportions of function words above and below which it is detected.
_ENOUGH: Final = 6
_ENGLISH: Final = 0.2
_FOREIGN: Final = 0.05

_FRAME: Final = re.compile(r"</?text-\d|\btext-?\s?\d\b", re.IGNORECASE)
_META: Final = re.compile(r"\b(?:text|context|question|quer(?:y|ies)|answer)s?\b", re.IGNORECASE)
_CODE: Final = re.compile(r"`([^`]+)`")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")

# A phrase of this many words that occurs this many times indicates a degenerate answer.
_PHRASE: Final = 4
_TIMES: Final = 3


class Draft(NamedTuple):
    """A query and its reference answer."""

    query: str
    answer: str


def read_sample(text: str, contexts: Sequence[str]) -> Draft | str:
    """Return the query and reference in a model's answer, or a sentence that says what is wrong with it."""
    try:
        found = read_verdict(text, SAMPLE_SCHEMA)
    except NoVerdictError:
        return "no JSON with a query and an answer" if text.strip() else "an empty answer"
    draft = Draft(*(" ".join(str(found[name]).split()) for name in (QUERY, ANSWER)))
    return _problem(draft, contexts) or draft


def _problem(draft: Draft, contexts: Sequence[str]) -> str | None:
    query, answer = draft
    whole = "\n".join(contexts)
    if not words(query):
        return "no query"
    if not (words(answer) or _NUMBER.search(answer)):
        return "no reference answer"
    if query.casefold() == answer.casefold():
        return "a query that is its own answer"
    if any(_is_about_the_task(text, whole) for text in draft):
        return "talk about the task itself"
    if _repeats_itself(answer) or _repeats_itself(query):
        return "an answer that repeats itself"
    if any(_is_other_language(text, whole) for text in draft):
        return "another language than that of the documents"
    if not _is_about(query, whole):
        return "a query that is not about the documents"
    if not _is_grounded(answer, whole):
        return "an answer that the documents do not hold"
    return None


def _is_about_the_task(text: str, contexts: str) -> bool:
    """Return whether a text mentions texts, questions or answers although the contexts do not."""
    if _FRAME.search(text) is not None:
        return True
    there = {match[0].casefold().rstrip("s") for match in _META.finditer(contexts)}
    return any(match[0].casefold().rstrip("s") not in there for match in _META.finditer(text))


def _repeats_itself(text: str) -> bool:
    found = [word.casefold() for word in words(text)]
    phrases = Counter(zip(*(found[begin:] for begin in range(_PHRASE)), strict=False))
    return any(count >= _TIMES for count in phrases.values())


def _is_about(query: str, contexts: str) -> bool:
    """Return whether the contexts contain enough of the query's words; a few may be misspelled."""
    there = {word[:_STEM] for word in subject_words(contexts)}
    said = [word[:_STEM] for word in subject_words(query)]
    return sum(word in there for word in said) >= ABOUT * len(said)


def _is_grounded(answer: str, contexts: str) -> bool:
    """Return whether the contexts contain the answer's numbers, code, and enough of its words."""
    if answer.casefold() in contexts.casefold():
        return True
    if not set(_NUMBER.findall(answer)) <= set(_NUMBER.findall(contexts)):
        return False
    if any(code not in contexts for code in _CODE.findall(answer)):
        return False
    there = {word[:_STEM] for word in subject_words(contexts)}
    said = [word[:_STEM] for word in subject_words(answer)]
    return bool(said) and sum(word in there for word in said) >= GROUNDED * len(said)


def _is_other_language(text: str, contexts: str) -> bool:
    """Return whether a text uses a different script than the contexts, or only one of them is English."""
    if (script := _script(text)) is not None and (known := _script(contexts)) is not None and script != known:
        return script not in _scripts(contexts)
    found = [word.casefold() for word in words(text)]
    if len(found) < _ENOUGH:
        return False
    share, usual = _english(found), _english([word.casefold() for word in words(contexts)])
    return (share >= _ENGLISH and usual < _FOREIGN) or (
        share < _FOREIGN and usual >= _ENGLISH and len(found) > 2 * _ENOUGH
    )


def _english(found: Sequence[str]) -> float:
    return sum(word in STOP_WORDS for word in found) / max(len(found), 1)


def _script(text: str) -> str | None:
    """Return the script of most letters; None if there are no letters."""
    counted = _counted(text)
    return counted.most_common(1)[0][0] if counted else None


def _scripts(text: str) -> set[str]:
    """Return the scripts of at least a tenth of the letters."""
    counted = _counted(text)
    return {script for script, count in counted.items() if count * 10 >= counted.total()}


def _counted(text: str) -> Counter[str]:
    letters = Counter(each for each in text if each.isalpha())
    counted: Counter[str] = Counter()
    for letter, count in letters.items():
        script = unicodedata.name(letter, "?").split()[0]
        # Japanese uses all three scripts.
        counted["CJK" if script in {"CJK", "HIRAGANA", "KATAKANA"} else script] += count
    return counted
