"""Suggestions for misspelled names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from itertools import islice
from typing import Final

_LONGEST: Final = 100
"""Longer names are not compared: that takes quadratic time."""
_MANY: Final = 100
"""Among more names than this, only typos are looked up, and at most as many are compared."""
_CLOSE: Final = 0.75
_ENDING: Final = 2
"""How many extra letters a misspelled name may have at its end, such as those of a plural."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to `name`, or None if none is similar.

    Among more than 100 known names, only those that differ as in `is_typo` are considered.
    """
    folded = {candidate.casefold(): candidate for candidate in known}
    word = name.casefold()
    if len(word) > _LONGEST:
        return None
    among: Iterable[str] = folded
    if len(folded) > _MANY:
        among = islice(typos_among(frozenset(folded))(word), _MANY)
    found = get_close_matches(word, among, n=1, cutoff=0.65)
    return folded[found[0]] if found else None


@lru_cache(maxsize=4)
def typos_among(names: frozenset[str]) -> Callable[[str], list[str]]:
    """Return a function from a word to the sorted names that it may misspell, as in `is_typo`.

    The time of a look-up does not depend on the number of names.
    """
    by_key: dict[str, list[str]] = {}
    for name in sorted(names):
        for key in _typo_keys(name):
            by_key.setdefault(key, []).append(name)

    def found(word: str) -> list[str]:
        near = {name for key in _typo_keys(word) for name in islice(by_key.get(key, ()), _MANY)}
        return sorted(near)

    return found


def _typo_keys(name: str) -> set[str]:
    """Return keys for looking up typos: names that differ as in `is_typo` have a key in common."""
    folded = name.casefold()
    if len(folded) > _LONGEST:
        return {folded}
    return {folded, "".join(sorted(folded)), *(folded[:at] + folded[at + 1 :] for at in range(len(folded)))}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message that names the nearest known name, or nothing."""
    found = nearest(name, known)
    return f"; did you mean `{found}`?" if found else ""


def is_close(word: str, meant: str) -> bool:
    """Return whether `word` is so similar to `meant` that it can be corrected without review.

    Names with different digits, names such as `textA` and `textB`, and names that contain one another, are
    often both correct.
    """
    if len(word) == len(meant) and word[:-1] == meant[:-1] and word[-1:].isupper() and meant[-1:].isupper():
        return False
    first, second = word.casefold(), meant.casefold()
    if [letter for letter in first if letter.isdigit()] != [letter for letter in second if letter.isdigit()]:
        return False
    shorter, longer = sorted((first, second), key=len)
    if len(longer) > _LONGEST:
        return first == second
    if len(longer) - len(shorter) > _ENDING and (longer.startswith(shorter) or longer.endswith(shorter)):
        return False
    return SequenceMatcher(None, first, second).ratio() >= _CLOSE


def only_typo(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that `word` is a typo of, as in `is_typo`; None unless it is exactly one."""
    found = [each for each in known if is_typo(word, each)]
    return found[0] if len(found) == 1 else None


_MIN_MAPPINGS: Final = 3
"""The minimum number of mappings for a key of one of them to be an exception."""


def odd_keys(mappings: Iterable[Iterable[str]]) -> Iterator[tuple[int, str, str]]:
    """Yield the keys that only one of three or more mappings has, and that are typos of the one it lacks.

    Each is the index of the mapping, its key, and the key that all others have.
    """
    keys = [dict.fromkeys(each) for each in mappings]
    if len(keys) < _MIN_MAPPINGS:
        return
    times = Counter(name for names in keys for name in names)
    usual = {name for name, count in times.items() if count == len(keys) - 1}
    for index, names in enumerate(keys):
        for name in names:
            meant = only_typo(name, usual - names.keys()) if times[name] == 1 else None
            if meant is not None:
                yield index, name, meant


def is_typo(word: str, meant: str) -> bool:
    """Return whether `word` is `meant` except for case, order, or one added, missing or different letter."""
    first, second = word.casefold(), meant.casefold()
    if word == meant or abs(len(first) - len(second)) > 1:
        return False
    if first == second or sorted(first) == sorted(second):
        return True
    shorter, longer = sorted((first, second), key=len)
    same = next((index for index, letter in enumerate(shorter) if letter != longer[index]), len(shorter))
    if len(shorter) == len(longer):
        return shorter[same + 1 :] == longer[same + 1 :]
    return shorter[same:] == longer[same + 1 :]
