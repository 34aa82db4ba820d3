"""Key phrases by a light method: runs of words between stop words, scored by the company they keep.

Source followed: Rose, Engel, Cramer and Cowley, Automatic keyword extraction from individual documents
(2010).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from promptls.generation.prose import sentences
from promptls.generation.stop_words import STOP_WORDS

_PIECES: Final = re.compile(r"[,;:()\[\]“\u201d\"`*|/\u2013—!?]|\.\s|\.$")
_PARTS: Final = re.compile(r"\S+")
_WORD: Final = re.compile(r"[^\W\d_][\w'\u2019.+#-]*")

# Words that one phrase may have; longer runs are hardly a term.
_LONGEST: Final = 3
_SHORTEST_WORD: Final = 3


def keyphrases(text: str, most: int) -> list[str]:
    """The `most` best phrases of a text, the best first; each as it stands there for the first time."""
    phrases = [phrase for sentence in sentences(text) for phrase in _candidates(sentence)]
    frequency: Counter[str] = Counter()
    degree: Counter[str] = Counter()
    for phrase in phrases:
        for word in phrase:
            frequency[word.casefold()] += 1
            degree[word.casefold()] += len(phrase)
    shown: dict[str, str] = {}
    scores: dict[str, float] = {}
    times = Counter(" ".join(phrase).casefold() for phrase in phrases)
    for phrase in phrases:
        key = " ".join(phrase).casefold()
        shown.setdefault(key, " ".join(phrase))
        company = sum(degree[word.casefold()] / frequency[word.casefold()] for word in phrase)
        # What a text comes back to is what it is about, and so counts more than company alone.
        scores[key] = company * times[key]
    best = sorted(scores, key=lambda key: -scores[key])
    return [shown[key] for key in best[:most]]


def _candidates(sentence: str) -> Iterator[list[str]]:
    for piece in _PIECES.split(sentence):
        run: list[str] = []
        for part in [*_PARTS.findall(piece), ""]:
            word = part.strip(".'\u2019-")
            if _WORD.fullmatch(word) and len(word) >= _SHORTEST_WORD and word.casefold() not in STOP_WORDS:
                run.append(word)
                continue
            if 0 < len(run) <= _LONGEST:
                yield run
            run = []
